"""Kernel launches: ``<<<...>>>``, ``cutlass::device_kernel`` and the launch functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.integers import INTEGERS
from cutecheck.source.eval import chosen, ir
from cutecheck.source.eval.alike import element_types, kind_of, without_elements
from cutecheck.source.eval.budget import CallIsDone
from cutecheck.source.eval.calls import STREAM, call_functions, instance_symbol, method_of_object, run_function
from cutecheck.source.eval.contexts import Known, stated
from cutecheck.source.eval.launches import key_of
from cutecheck.source.eval.limits import FILES_SHARE
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.one_run import apart
from cutecheck.source.eval.outputs import numbers, outputs
from cutecheck.source.eval.overloads import bind
from cutecheck.source.eval.ranking import best_of
from cutecheck.source.eval.record.library import in_library
from cutecheck.source.eval.reruns import replay
from cutecheck.source.eval.scope import ClassInst, Env, Frame
from cutecheck.source.eval.specialised import arguments, specialised
from cutecheck.source.eval.symbolic import symbolic, symbolic_parameter
from cutecheck.source.eval.threads import uniform
from cutecheck.source.eval.types import class_name, is_type, spell, type_of
from cutecheck.source.eval.values import FuncSet, Intrinsic, Object, Scalar, Value

_FLAG = re.compile(r"\b(?:true|false)\b")  # of classes in their spelling
_ELSEWHERE = "the kernel is of files that this run does not report"


def launch(
    m: Machine, fn: Value, args: list[Value] | None, block: Any, smem: Any, span: Span, cluster: Any = None
) -> Value:
    """Run a launched kernel; each instantiation of its template once a size of the block, up to the limit.

    ``args`` None: values of the parameters' types, where the template arguments are written.
    """
    if m.recorder.rehearsal or m.recorder.is_unevaluated():
        return Unknown("a launch that leaves no facts", span)
    if isinstance(fn, Intrinsic) and fn.name == "device_kernel" and fn.targs and isinstance(fn.targs[0], ClassInst):
        return _launch_operator(m, fn.targs[0], args, block, smem, span, cluster)
    if isinstance(fn, chosen.OneOf):
        chosen.walk(m, fn, lambda f: launch(m, f, args, block, smem, span, cluster))
    if not isinstance(fn, FuncSet):
        return fn if isinstance(fn, Unknown) else Unknown("the launched kernel is not known", span)
    args = symbolic_arguments(m, fn, span) if args is None else [_unless_object(a) for a in args]
    found = [c for c in (bind(m, entry, fn, args, {}) for entry in fn.entries) if c is not None]
    best = best_of(found) if found else None
    special = best if best is None else specialised(m, fn.entries, best)
    if isinstance(special, Unknown):
        return special
    best = special
    if best is None or best.fn.body is None:
        return Unknown(f"no overload of kernel `{fn.name}` takes these arguments", span)
    values = arguments(m, best.fn, best.env)
    if not m.history.wanted((best.entry,), (*values, *args, fn), span):
        return Unknown(_ELSEWHERE, span)
    chore = m.history.chore(best.entry, best.fn, (*values, *args))
    if chore and m.budget.limits.many:
        return Unknown("the kernel uses nothing of CuTe", span)
    shown = tuple(spell(v) for v in values)
    symbol = instance_symbol(best.entry, best.fn, shown)
    threads = str(m.recorder.block(block))
    types = "|".join([*(spell(v) for v in values if not _is_flag(v)), threads])
    flags = tuple(_letter(spell(v)) for v in values if _is_flag(v))
    alike = ""
    if len(values) == 1 and isinstance(cls := values[0], ClassInst) and _is_called(m, cls, span):
        types, flags = _told(types)
        alike = kind_of(m, f"{cls.decl.span}:{cls.name}", (cls,))
    types, flags = _with_twins(m, values, types, flags)
    signature = f"{symbol}({','.join(spell(type_of(a)) for a in args)}){threads}"
    key = key_of(best.fn)
    if _is_told(m, key):
        return Unknown(f"further instantiations of `{fn.name}` were not walked", span)
    given = stated(m, args) if m.dialect.by_value else Known()
    answer = m.history.launches.ask(
        key, types, signature, alike=alike, flags=flags, given=given.lines(), unbound=m.recorder.open
    )
    m.history.walked.add((id(best.fn), id(best.entry.env.cls), shown))
    if answer == "dropped":
        return Unknown(f"further instantiations of `{fn.name}` were not walked", span)
    if cluster is None and best.fn.cluster_dims:
        cluster = m.recorder.in_clusters(m, best.fn, best.env)
    m.recorder.launched(symbol, span, block, smem, cluster)
    if answer == "before" or (answer == "again" and _holds_still(m, symbol, threads, given)):
        return Unknown("walked before", span)
    m.history.given.setdefault((symbol, threads), []).append(given)
    env = Env(best.env, "function", self_=fn.self_)
    if answer == "open":
        args = [symbolic_parameter(m, p, best.env, span) for p in best.fn.params]
    args = [_of_type(m, best.fn, best.env, i, uniform(a, f"argument {i}"), span) for i, a in enumerate(args)]
    try:
        held = m.recorder.as_of(((), m.recorder.standing()[1])) if answer == "open" else nullcontext()
        patient = m.budget.at_most(m.budget.limits.idle_steps // FILES_SHARE) if chore else nullcontext()
        cut = m.recorder.left_out()
        with apart(m), held, patient, _telling(m, key):
            value = run_function(m, best.entry, best.fn, env, args, {}, span)
        if answer != "open" and m.recorder.left_out() == cut:
            m.recorder.leaves(symbol, best.fn.span, outputs(best.fn, args), numbers(args))
        replay(m, best, fn.self_, args, symbol, span)
        return value
    except CallIsDone as done:
        m.unseen = True
        return Unknown(str(done), span)


@contextmanager
def _telling(m: Machine, kernel: str) -> Iterator[None]:
    """A walk of a kernel. Where templates that nothing instantiates launch it, further ones of it are left out after
    one that said nothing of any place that the walks before it did not say."""
    before = m.budget.places()
    yield
    if before is not None and m.budget.places() == before:
        m.history.told.add(kernel)


def _is_told(m: Machine, kernel: str) -> bool:
    """Whether walks of a kernel say nothing new any more."""
    if kernel in m.history.told:
        m.history.launches.repeats(kernel)
    return kernel in m.history.told


def _holds_still(m: Machine, symbol: str, threads: str, given: Known) -> bool:
    """Whether what this unit found of the kernel holds of this launch as well, once fewer conditions are taken to hold.

    A walk depends on no condition that holds at run time: what it leaves names those that held.
    """
    alike = [g for g in m.history.given.get((symbol, threads), ()) if g.arguments == given.arguments]
    if not alike:
        return False
    lost = [c for line, c in alike[0].conditions.items() if line not in given.conditions]
    m.recorder.no_longer(symbol, frozenset(lost))
    return True


def _of_type(m: Machine, fn: ir.Function, env: Env, index: int, value: Value, span: Span) -> Value:
    """An argument that is not known is a value of its parameter's type, where that is: one number for all threads."""
    number = isinstance(value, Scalar) and value.value is None and value.ctype in INTEGERS and value.ctype != "bool"
    if not (number or isinstance(value, Unknown)) or index >= len(fn.params) or fn.params[index].pack:
        return value
    typed = symbolic_parameter(m, fn.params[index], env, span)
    return value if isinstance(typed, Unknown) else typed


def _told(kernel: str) -> tuple[str, tuple[str, ...]]:
    """Of a class that is a kernel what it is made of but for flags, and these."""
    return _FLAG.sub("_", kernel), tuple(map(_letter, _FLAG.findall(kernel)))


def _with_twins(m: Machine, values: Iterable[Value], types: str, flags: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Of many units element types of one width count as flags do."""
    elements = element_types(values) if m.budget.limits.twins else {}
    return without_elements(types, elements), (*flags, *elements)


def _is_called(m: Machine, cls: ClassInst, span: Span) -> bool:
    return isinstance(method_of_object(m, Object(cls), "operator()", span), FuncSet)


def _is_flag(value: Value) -> bool:
    return isinstance(value, Scalar) and value.ctype == "bool"


def _letter(flag: str) -> str:
    return "T" if flag == "true" else "F" if flag == "false" else "?"


def _unless_object(value: Value) -> Value:
    """As an argument of a kernel; objects, of which no type says what they hold, once the kernel is walked."""
    return value if isinstance(value, Object) else uniform(value)


def symbolic_arguments(m: Machine, fn: FuncSet, span: Span) -> list[Value]:
    """An argument for each parameter of a kernel, of which only the type is known."""
    entry = next((e for e in fn.entries if e.decl.body is not None), None)
    if entry is None:
        return []
    env = Env(entry.env, "template")
    for p, value in zip(entry.decl.tparams or (), fn.targs or (), strict=False):
        env.vars[p.name] = value
    return [symbolic_parameter(m, p, env, span) for p in entry.decl.params]


def _launch_operator(
    m: Machine, cls: ClassInst, args: list[Value] | None, block: Any, smem: Any, span: Span, cluster: Any
) -> Value:
    """``cutlass::device_kernel<Kernel>``: ``Kernel{}(params, shared memory)``."""

    obj = Object(cls)
    method = method_of_object(m, obj, "operator()", span)
    if not isinstance(method, FuncSet):
        return method if isinstance(method, Unknown) else Unknown(f"`{cls.name}` has no operator()", span)
    if not m.history.wanted((), (cls, *(args or ())), span):
        return Unknown(_ELSEWHERE, span)
    symbol = f"cutlass::device_kernel<{class_name(cls)}>"
    walked = f"{symbol}{m.recorder.block(block)}"
    kernel = f"{cls.decl.span}:{cls.name}"
    if _is_told(m, kernel):
        return Unknown(f"further instantiations of `{cls.name}` were not walked", span)
    m.history.launched.add(id(cls))
    types, flags = _with_twins(m, (cls,), *_told(walked))
    alike = kind_of(m, kernel, (cls,))
    answer = m.history.launches.ask(
        kernel, types, walked, capped=False, alike=alike, flags=flags, unbound=m.recorder.open
    )
    if answer == "dropped":
        return Unknown(f"further instantiations of `{cls.name}` were not walked", span)
    if answer == "before":
        m.recorder.launched(symbol, span, block, smem, cluster)
        return Unknown("walked before", span)
    if args is None:
        params = method_of_object(m, obj, "Params", span)
        known = is_type(params)
        shown = params if known else Unknown(f"the type of `{cls.name}::Params` is not known", span)
        args = [symbolic(m, shown, "params", span)]
    args = [uniform(a, f"argument {i}") for i, a in enumerate(args)]
    m.recorder.launched(symbol, span, block, smem, cluster)
    current = m.recorder.frame
    frame = Frame(symbol, None, cls.entry.unit, current, (), 0 if current is None else current.depth + 1)
    frame.kernel = symbol
    m.recorder.defined.setdefault(symbol, cls.decl.span.path)
    before, m.recorder.frame = m.recorder.frame, frame
    try:
        m.recorder.synchronises(m, STREAM, [], span)
        cut = m.recorder.left_out()
        with apart(m), m.recorder.on_device(), m.budget.in_kernel(), _telling(m, kernel):
            given = [*args, m.recorder.dynamic_shared(symbol, span)]
            value = call_functions(m, method, given, {}, span)
        if m.recorder.left_out() == cut:
            m.recorder.leaves(symbol, cls.decl.span)
        _replay_operator(m, method, given, symbol, span)
        return value
    finally:
        m.recorder.frame = before


def _replay_operator(m: Machine, method: FuncSet, args: list[Value], symbol: str, span: Span) -> None:
    """Run such a kernel pass by pass, where some of what it copies or multiplies is not CUTLASS's own."""
    asked = m.recorder.asked
    if all(in_library(e.span.path, asked) for e in m.recorder.events.values() if e.kernel == symbol):
        return
    found = [c for c in (bind(m, entry, method, args, {}) for entry in method.entries) if c is not None]
    best = best_of(found) if found else None
    if best is not None and best.fn.body is not None:
        with m.recorder.on_device(), m.budget.in_kernel():
            replay(m, best, method.self_, args, symbol, span)
