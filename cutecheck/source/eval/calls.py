"""Calls: functions of the tree, closures, and where each kind of callee goes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from cutecheck.facts import NOT_WALKED, Span, Unknown
from cutecheck.source.eval import (
    answers,
    callbacks,
    chosen,
    classes,
    comparisons,
    constness,
    conversions,
    intrinsics,
    ir,
    leaks,
    left_out,
    observed,
    places,
    references,
    steps,
    temporaries,
)
from cutecheck.source.eval.alike import host_kind
from cutecheck.source.eval.budget import CallIsDone, NothingNewError
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.entrances import enter, reached
from cutecheck.source.eval.handed import hand
from cutecheck.source.eval.linkage import linked
from cutecheck.source.eval.lookup import member
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.open_arguments import unsettled
from cutecheck.source.eval.overloads import Candidate, bind, deduced
from cutecheck.source.eval.parameters import bind_parameters
from cutecheck.source.eval.ranking import best_of, undecided
from cutecheck.source.eval.record.ways import Ways, holds_after
from cutecheck.source.eval.repeats import repeat
from cutecheck.source.eval.returns import result, unevaluated, unfollowed
from cutecheck.source.eval.scope import ClassInst, Entry, Env, Frame, self_of
from cutecheck.source.eval.specialised import arguments, specialised
from cutecheck.source.eval.statements.exits import Exits, finish, unless_left
from cutecheck.source.eval.statements.recurrences import recurring
from cutecheck.source.eval.types import class_name, is_type, spell, type_key
from cutecheck.source.eval.unwalked import _BLIND_RECURSION, forget_captured, leap, leapt, may_write, refusal
from cutecheck.source.eval.values import (
    TAKES_OTHERS,
    BudgetExceeded,
    Closure,
    Extern,
    ExternType,
    FuncSet,
    Intrinsic,
    Object,
    Pointer,
    Scalar,
    TemplateRef,
    Value,
)

STREAM = "stream_wait"  # as if the kernel waited for what its stream holds
# launches that are function calls are the evaluator's own, also where CUTLASS is in the tree
LAUNCHERS = ("launch_kernel_on_cluster", "kernel_launch", "cudaLaunchKernelEx", "cudaLaunchKernelExC")
# of cutlass::ClusterLauncher, which keeps the cluster's shape in an array that is a member of what it makes
_OF_CLUSTERS = {"launch": "launch_cluster", "launch_with_fallback_cluster": "launch_fallback_cluster"}


def _is_of_cutlass(cls: ClassInst) -> bool:
    return cls.decl.name == "ClusterLauncher" and cls.decl.span.path.endswith("cutlass/cluster_launch.hpp")


def apply(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Call any callable value."""
    steps.noted(m, fn, args, kwargs, span)
    own = m.dialect.apply(m, fn, args, kwargs, span)
    if own is not DEFER:
        return own
    if isinstance(fn, Intrinsic):
        return intrinsics.call(m, fn, args, kwargs, span)
    if isinstance(fn, FuncSet) and fn.name in LAUNCHERS and fn.cls is None:
        return intrinsics.call(m, Intrinsic(fn.name, fn.targs), args, kwargs, span)
    if isinstance(fn, FuncSet) and fn.name in _OF_CLUSTERS and fn.cls is not None and _is_of_cutlass(fn.cls):
        return intrinsics.call(m, Intrinsic(_OF_CLUSTERS[fn.name]), args, kwargs, span)
    if isinstance(fn, FuncSet):
        return call_functions(m, fn, args, kwargs, span)
    if isinstance(fn, Closure):
        return call_closure(m, fn, args, kwargs, span)
    if isinstance(fn, TemplateRef):
        return intrinsics.deduce_class(m, fn, args, span)
    if is_type(fn):
        return classes.construct(m, fn, args, [None] * len(args), span)
    if isinstance(fn, Object):
        method = method_of_object(m, fn, "operator()", span)
        if isinstance(method, FuncSet):
            return call_functions(m, method, args, kwargs, span)
    if isinstance(fn, chosen.OneOf):
        chosen.walk(m, fn, lambda f: call_functions(m, f, args, dict(kwargs), span))
    m.recorder.escape(m, args, span)
    if isinstance(fn, Unknown):
        return fn
    if isinstance(fn, Extern):
        if isinstance(fn.type, ExternType) and fn.type.args and is_type(fn.type.args[0]):
            return Pointer(fn.what, "gmem", fn.type.args[0])  # the data of a container of the standard library's kind
        return Extern(f"{fn.what}(...)", span)
    return intrinsics.call_value(m, fn, [conversions.coordinate(m, a, span) for a in args], span)


def method_of_object(m: Machine, obj: Object, name: str, span: Span) -> Value:
    return member(m, obj.cls, name, obj, span)


def call_functions(m: Machine, fset: FuncSet, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Choose an overload and run it."""
    (given, of_object), m.given = m.given, ((), "")
    m.kinds = (args, given)
    open_pointers = ""
    found = [c for c in (bind(m, entry, fset, args, kwargs, given) for entry in fset.entries) if c is not None]
    if m.leads[0] is args:
        found = constness.by_pointers(found, m.leads[1])
        open_pointers = constness.open_pointers(found, m.leads[1])
    if not found:
        fallback = intrinsics.find(m, "", fset.name, span)
        if isinstance(fallback, Intrinsic) and fset.cls is None:
            return intrinsics.call(m, Intrinsic(fallback.name, fset.targs), args, kwargs, span)
        for entry in fset.entries:
            may_write(m, entry.decl, args, span, fset.self_)
        m.recorder.escape(m, args, span)
        missing = next((a for a in args if isinstance(a, Extern)), None)
        if missing is not None:
            return Unknown(f"`{fset.name}` of `{missing.what}`, whose type is not in the scanned files", span)
        return Unknown(f"no overload of `{fset.name}` in the scanned files takes these {len(args)} arguments", span)
    unsure = open_pointers or undecided(found, given, of_object)
    if unsure:
        for c in found:
            may_write(m, c.fn, args, span, fset.self_)
        return Unknown(f"which `{fset.name}` is called is not known: {unsure}", span)
    best = best_of(found, given, of_object)
    unsure = unsettled(m, found, best, args)
    if unsure:
        for c in found:
            may_write(m, c.fn, args, span, fset.self_)
        return Unknown(f"which `{fset.name}` is called is not known: {unsure}", span)
    if best.fn.name in m.history.handing and not m.recorder.rehearsal and not m.recorder.is_unevaluated():
        m.history.met.add(id(m.recorder.call))
    if any(e.decl.tparams == () for e in fset.entries):
        special = specialised(m, fset.entries, best)
        if isinstance(special, Unknown):
            for entry in fset.entries:
                may_write(m, entry.decl, args, span, fset.self_)
            return special
        best = special
    if best.fn.body is None:
        own = comparisons.defaulted(m, best.fn, [*([] if fset.self_ is None else [fset.self_]), *args], span)
        if own is not None:
            return own
        if best.fn.name in m.history.handing:
            _hand(m, best, fset, args)
        may_write(m, best.fn, args, span, fset.self_)
        if m.recorder.is_unevaluated():
            return unevaluated(m, best.fn, best.env, span)
        known = answers.answer(m, best, fset.self_, args, span)
        if known is not None:
            return known
        return Unknown(f"`{fset.name}` is declared but not defined in the scanned files", span)
    if fset.self_ is None and not kwargs and left_out.leaves_out(m, best, args):
        return left_out.result(m, best.fn, best.env, span)
    asked, known = answers.again(m, best, fset.self_, args)
    if known is not None:
        return known
    env = Env(best.env, "function", self_=fset.self_)
    again = None if m.history.handing else repeat(m, best, fset.self_, [*args, *kwargs.values()])
    if again is not None and again.is_left_out():
        if not m.recorder.rehearsal:
            m.history.launches.repeats(f"{best.fn.span}:{best.fn.name}")
        may_write(m, best.fn, args, span, fset.self_)
        reason = f"further calls of `{best.fn.name}`, which came to nothing, were not walked"
        return unfollowed(m, best.fn, env, Unknown(reason, span), span)
    kind = None if m.history.handing else host_kind(m, best.entry, best.fn, best.env, fset)
    if kind is None:
        value = run_function(m, best.entry, best.fn, env, args, kwargs, span)
    else:
        value = _run_counted(m, best, env, args, kwargs, span, kind)
    if again is not None:
        again.walked()
    if asked is not None:
        value = answers.remember(m, fset.self_, asked, value)
    m.chosen = best.fn
    return value


def _hand(m: Machine, best: Candidate, fset: FuncSet, args: list[Value]) -> None:
    """A function is called that another unit may define: what is known of its arguments goes there."""
    if m.recorder.rehearsal or m.recorder.is_unevaluated():
        return
    function = linked(m, best.entry, best.fn, best.env)
    if function is None:
        return  # which no other can define
    rest = [m.eval(p.default, best.env) for p in best.fn.params[len(args) :] if p.default is not None]
    of = [fset.self_] if fset.self_ is not None and "static" not in best.fn.flags else []
    told = {i: observed.told_of(m, c) for i, c in enumerate(places.of_arguments(m, args), len(of))}
    if not hand(m, function, arguments(m, best.fn, best.env), [*of, *args, *rest], told):
        m.history.unsure.add(best.fn.name)


def _run_counted(
    m: Machine, best: Candidate, env: Env, args: list[Value], kwargs: dict[str, Value], span: Span, kind: str
) -> Value:
    """Run a host template, unless enough calls that are alike were run."""
    launches = m.history.launches
    given = [
        (v, leading)
        for v in best.env.vars.values()
        if isinstance(v, ClassInst)
        if (leading := m.history.entrances(v)).first
    ]
    if given and m.budget.limits.many:
        for inst, _ in given:
            enter(m, inst, span)
        may_write(m, best.fn, args, span, env.self_)
        return Unknown(f"of `{best.fn.name}` only the kernels of its arguments were walked", span)
    if not launches.ask_host(f"{best.fn.span}:{best.fn.name}", kind):
        may_write(m, best.fn, args, span, env.self_)
        return Unknown(f"further calls of `{best.fn.name}` with arguments of the same kind were not walked", span)
    before = m.recorder.found()
    mark = m.journal.mark()

    def met() -> int | None:
        if m.recorder.in_kernel():
            return None
        return len(m.recorder.events) if all(reached(m, inst, leading) for inst, leading in given) else 0

    try:
        with m.budget.calling(met) if given else nullcontext():
            return run_function(m, best.entry, best.fn, env, args, kwargs, span)
    except CallIsDone as done:
        m.journal.undo(mark)
        may_write(m, best.fn, args, span, env.self_)
        return Unknown(str(done), span)
    finally:
        if m.recorder.found() == before:
            launches.came_to_nothing(kind)


def _left(m: Machine, frame: Frame, fn: ir.Function) -> None:
    """A function was left in the middle: what its kernel does after that nobody has seen."""
    if frame.kernel:
        m.recorder.synchronises(m, "budget", [], fn.span, NOT_WALKED)


def run_function(
    m: Machine, entry: Entry, fn: ir.Function, env: Env, args: list[Value], kwargs: dict[str, Value], span: Span
) -> Value:
    """Run a bound function: parameters into its frame, then its body."""
    caller = env.frame
    current = m.recorder.frame
    depth = 0 if current is None else current.depth + 1
    refused = refusal(m, fn, args, env, current, depth)
    if refused:
        m.budget.refused += depth > m.budget.limits.call_depth
        may_write(m, fn, args, span, env.self_)
        return Unknown(refused, span)
    shown = tuple(spell(v) for v in arguments(m, fn, env.parent))
    symbol = instance_symbol(entry, fn, shown + m.dialect.configured(m, fn), m.dialect.owner(m, fn))
    bindings = tuple(zip((p.name for p in fn.tparams or () if p.name), shown, strict=False))
    if m.dialect.supposing is not None:
        bindings = (*bindings, m.dialect.supposing.binding)
    frame = Frame(symbol, fn, entry.unit, current, bindings, depth)
    frame.given = (env.self_, *args, *kwargs.values(), id(entry.env.cls if m.dialect.by_value else entry.env))
    if _repeats(frame):
        may_write(m, fn, args, span, env.self_)
        return unfollowed(m, fn, env, Unknown(f"`{fn.name}` calls itself with nothing new", span), span)
    frame.called = span
    frame.constexpr = "constexpr" in fn.flags and "kernel" not in fn.flags
    frame.kernel = symbol if "kernel" in fn.flags else (current.kernel if current is not None else "")
    frame.returns = []
    frame.deduces = isinstance(fn.ret, ir.DeclType) and fn.ret.expr is None
    frame.refers = m.dialect.by_value and (frame.deduces or references.stands(m, fn.ret, env))
    env.frame = frame
    if "const" in fn.flags and env.self_ is not None:
        env.fix("this")
    m.history.functions.add(id(fn))
    if shown and not m.recorder.rehearsal:
        m.history.walked.add((id(fn), id(entry.env.cls), shown))
    if entry.env.cls is not None and not m.recorder.rehearsal:
        m.history.methods.add((id(entry.env.cls), id(fn)))
    m.recorder.defined.setdefault(symbol, fn.span.path)
    known = len(m.recorder.hypotheses)
    leaps = leap(m, fn, args, env, span)
    bind_parameters(m, fn.params, args, kwargs, env, span)
    before, m.recorder.frame = m.recorder.frame, frame
    try:
        m.recorder.entered(m, fn, env)
        if "kernel" in fn.flags:
            m.recorder.kernel(m, fn, env)
            m.recorder.synchronises(m, STREAM, [], span)  # what was launched before is done
        kernel = "kernel" in fn.flags
        patient = m.budget.in_kernel() if kernel else nullcontext()
        device = m.recorder.on_device() if kernel else nullcontext()
        with recurring(m, None), patient, device, temporaries.activation(m, fn, env, span):
            _run_body(m, fn, env, frame, span, leaps)
        callbacks.walk_rest(m, frame)
        leaks.gone(m, env)
    except BudgetExceeded as error:
        if not m.dialect.by_value or not isinstance(error, NothingNewError):
            m.recorder.cut.setdefault(fn.full_span, str(error))
        _left(m, frame, fn)
        raise
    except Exception as error:
        if type(error).__module__ == "builtins":  # an internal error, none of those that the evaluation goes on by
            _left(m, frame, fn)
        raise
    finally:
        m.recorder.frame = before
        env.frame = caller
        del m.recorder.hypotheses[known:]
    if "kernel" not in fn.flags:
        holds_after(m, frame)
    return result(m, fn, frame, env, span)


def _repeats(frame: Frame) -> bool:
    """Whether the function is active with the same template arguments, object and arguments as far as they are known.

    Walking it once more would meet what it met before. Arguments that are objects may have changed in between, as may
    the object of a method: those are walked a few times.
    """
    fn, at = frame.function, frame.caller
    key: Any = None
    alike = 0
    while at is not None:
        if at.function is fn and at.bindings == frame.bindings and len(at.given) == len(frame.given):
            key = type_key(frame.given) if key is None else key
            alike += type_key(at.given) == key
        at = at.caller
    return alike >= (_BLIND_RECURSION if any(isinstance(a, Object) for a in frame.given) else 1)


def _run_body(
    m: Machine, fn: ir.Function | ir.Lambda, env: Env, frame: Frame, span: Span, leaps: Unknown | None
) -> None:
    """Run a body; what was written on the way to each ``return`` holds after it. ``leaps``: why it is not walked."""
    assert fn.body is not None
    body = fn.body.get()
    if leaps is not None:
        leapt(m, fn, env, leaps)
        frame.returns = [leaps]
        return
    frame.exits = Exits(m.journal.mark())
    frame.ways = Ways(m, body)
    finish(m, frame.exits, span, not unless_left(m, lambda: m.run(body, env), frame.exits))


def instance_symbol(entry: Entry, fn: ir.Function, shown: tuple[str, ...], owner: str = "") -> str:
    cls = entry.env.cls
    scope = entry.env.namespace()
    prefix = class_name(cls) if cls is not None else (scope.path if scope is not None else "")
    name = f"{fn.name}<{','.join(shown)}>" if shown else fn.name
    name = f"{owner}::{name}" if owner else name
    return f"{prefix}::{name}" if prefix else name


def call_closure(m: Machine, fn: Closure, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A lambda: its names are those of the place it was written."""
    fn.called |= not m.recorder.rehearsal
    if m.dialect.by_value and not kwargs and not fn.takes(len(args)):
        leaks.leak(m, *args)
        return Unknown(f"{TAKES_OTHERS} {len(args)} arguments", span)
    (given, _), m.given = m.given, ((), "")
    m.kinds = (args, given)
    env = Env(fn.env, "function")
    current = m.recorder.frame
    depth = 0 if current is None else current.depth + 1
    if depth > m.budget.limits.call_depth:
        return Unknown(f"calls nested deeper than {m.budget.limits.call_depth}", span)
    outer = fn.env.frame or current
    if fn.node.tparams:
        bound = deduced(m, fn, args, kwargs, given)
        if bound is None:
            may_write(m, fn.node, args, span, self_of(fn.env))
            forget_captured(m, fn, span)
            return Unknown("the template arguments of this lambda are not known", span)
        env = Env(bound, "function")
    unit = outer.unit if outer is not None else m.program.units.get(fn.node.span.path)
    frame = Frame(outer.symbol if outer else "lambda", None, unit, current, outer.bindings if outer else (), depth)
    frame.kernel = current.kernel if current is not None else ""
    frame.called = span
    frame.closure = (outer, fn.node)
    numbers = all(isinstance(a.value if isinstance(a, Scalar) else a, int) for a in args)
    frame.constexpr = numbers and not (fn.node.captures or fn.node.default)  # it may be part of a constant expression
    frame.returns = []
    frame.deduces = isinstance(fn.node.ret, ir.DeclType) and fn.node.ret.expr is None
    frame.refers = m.dialect.by_value and (frame.deduces or references.stands(m, fn.node.ret, env))
    env.frame = frame
    known = len(m.recorder.hypotheses)
    leaps = leap(m, fn.node, args, env, span)
    bind_parameters(m, fn.node.params, args, kwargs, env, span)
    before, m.recorder.frame = m.recorder.frame, frame
    try:
        with recurring(m, None), temporaries.activation(m, fn.node, env, span):
            _run_body(m, fn.node, env, frame, span, leaps)
        callbacks.walk_rest(m, frame)
        leaks.gone(m, env)
    finally:
        m.recorder.frame = before
        del m.recorder.hypotheses[known:]
    holds_after(m, frame)
    return result(m, fn.node, frame, env, span)
