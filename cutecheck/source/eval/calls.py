"""Calls: overloads of the tree, closures, constructors, kernel launches, and CuTe's own functions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import classes, intrinsics, ir, templates
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.lookup import is_auto, member
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst, Entry, Env, Frame
from cutecheck.source.eval.statements import join
from cutecheck.source.eval.types import class_name, is_type, spell, type_key, type_of
from cutecheck.source.eval.values import (
    Closure,
    Extern,
    ExternType,
    FuncSet,
    Intrinsic,
    Object,
    Pack,
    Pointer,
    PtrType,
    Scalar,
    SubstitutionFailure,
    TemplateRef,
    TensorVal,
    Value,
)

_SYNCHRONISES = re.compile(r"sync|barrier|wait|expect_t|transaction_bytes", re.IGNORECASE)


def apply(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Call any callable value."""
    called = getattr(fn, "name", None) or getattr(fn, "what", None)
    if isinstance(called, str) and _SYNCHRONISES.search(called):
        m.recorder.synchronises(m, called, args, span)
    own = m.dialect.apply(m, fn, args, kwargs, span)
    if own is not DEFER:
        return own
    if isinstance(fn, Intrinsic):
        return intrinsics.call(m, fn, args, kwargs, span)
    if isinstance(fn, FuncSet) and fn.name in LAUNCHERS and fn.cls is None:
        return intrinsics.call(m, Intrinsic(fn.name, fn.targs), args, kwargs, span)
    if isinstance(fn, FuncSet):
        return call_functions(m, fn, args, kwargs, span)
    if isinstance(fn, Closure):
        return call_closure(m, fn, args, kwargs, span)
    if isinstance(fn, TemplateRef):
        return intrinsics.deduce_class(m, fn, args, span)
    if is_type(fn):
        return classes.construct(m, fn, args, [None] * len(args), span)
    if isinstance(fn, Object):
        method = _method(m, fn, "operator()", span)
        if isinstance(method, FuncSet):
            return call_functions(m, method, args, kwargs, span)
    m.recorder.escape(m, args, span)
    if isinstance(fn, Unknown):
        return fn
    if isinstance(fn, Extern):
        if isinstance(fn.type, ExternType) and fn.type.args and is_type(fn.type.args[0]):
            return Pointer(fn.what, "gmem", fn.type.args[0])  # the data of a container of the standard library's kind
        return Extern(f"{fn.what}(...)", span)
    return intrinsics.call_value(m, fn, args, span)


def _method(m: Machine, obj: Object, name: str, span: Span) -> Value:
    return member(m, obj.cls, name, obj, span)


_BLIND_RECURSION = 3  # activations of a function on unknown arguments: each may double the work


class _Candidate:
    __slots__ = ("entry", "env", "fn", "score")

    def __init__(self, score: int, entry: Entry, fn: ir.Function, env: Env) -> None:
        self.score = score
        self.entry = entry
        self.fn = fn
        self.env = env


def call_functions(m: Machine, fset: FuncSet, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Choose an overload and run it."""
    best: _Candidate | None = None
    for entry in fset.entries:
        candidate = _bind(m, entry, fset, args, kwargs)
        if candidate is not None and (best is None or candidate.score > best.score):
            best = candidate
    if best is None:
        fallback = intrinsics.find(m, "", fset.name, span)
        if isinstance(fallback, Intrinsic) and fset.cls is None:
            return intrinsics.call(m, Intrinsic(fallback.name, fset.targs), args, kwargs, span)
        m.recorder.escape(m, args, span)
        return Unknown(f"no overload of `{fset.name}` in the scanned files takes these {len(args)} arguments", span)
    if best.fn.body is None:
        m.recorder.escape(m, args, span)
        return Unknown(f"`{fset.name}` is declared but not defined in the scanned files", span)
    env = Env(best.env, "function", self_=fset.self_)
    return run_function(m, best.entry, best.fn, env, args, kwargs, span)


def _bind(m: Machine, entry: Entry, fset: FuncSet, args: list[Value], kwargs: dict[str, Value]) -> _Candidate | None:
    """Deduce an overload's template arguments; None when it cannot take the arguments."""
    fn = entry.decl
    params = fn.params
    pack = bool(params) and (params[-1].pack or params[-1].kind in ("varargs", "varkw"))
    required = sum(1 for p in params if p.default is None and not p.pack and p.kind not in ("varargs", "varkw"))
    if (not pack and len(args) > len(params)) or len(args) + len(kwargs) < required:
        return None
    env = Env(entry.env, "template")
    tparams = fn.tparams or ()
    names = {p.name: p for p in tparams if p.name}
    given = list(fset.targs or ())
    for p in tparams:
        if p.pack and given:
            env.vars[p.name] = Pack(tuple(given))
            given = []
        elif given:
            value = given.pop(0)
            if not isinstance(value, Unknown) and p.kind != "template" and is_type(value) == (p.kind == "value"):
                return None  # a type where a value is needed, or the other way round
            if p.name:
                env.vars[p.name] = value
    explicit = {n for n, v in env.vars.items() if not isinstance(v, Pack)}
    score = 1 if fn.body is not None else 0
    try:
        for i, p in enumerate(params):
            if p.pack:
                rest = args[i:]
                inner = p.type
                while isinstance(inner, (ir.TypeMod, ir.Expand)):
                    inner = inner.inner if isinstance(inner, ir.TypeMod) else inner.pattern
                if isinstance(inner, ir.Name) and inner.ident in names:
                    env.vars[inner.ident] = Pack(tuple(type_of(a) for a in rest))
                break
            if p.kind in ("varargs", "varkw", "keyword"):
                break
            if i >= len(args) or p.type is None:
                continue
            gain = _match_param(m, p.type, args[i], names, explicit, env)
            if gain is None:
                return None
            score += gain
        templates.bind_missing(m, tparams, env)
        if fn.ret is not None and _constrained(m, fn):
            m.eval(fn.ret, env)
    except SubstitutionFailure:
        return None
    return _Candidate(score, entry, fn, env)


def _constrained(m: Machine, fn: ir.Function) -> bool:
    """True when a return type removes the overload for some arguments (``enable_if``)."""
    known = m.history.constrained.get(id(fn))
    if known is None:
        known = m.history.constrained[id(fn)] = templates.mentions(fn.ret, ("enable_if", "enable_if_t"))
    return known


def _match_param(
    m: Machine, pattern: ir.Expr, value: Value, names: dict[str, Any], explicit: set[str], env: Env
) -> int | None:
    """How well a parameter takes a value: None not at all, more for more structure."""
    if isinstance(value, Unknown):
        return 0
    dependent = set(templates.names_in(pattern)) & set(names)
    if not dependent:
        wanted = m.eval(pattern, env)
        return _accepts(m, wanted, value)
    if dependent <= explicit:
        return 2
    actual = type_of(value)
    if not templates.match(m, pattern, actual, names, env):
        bare = pattern
        while isinstance(bare, ir.TypeMod) and bare.kind in ("const", "ref", "rref"):
            bare = bare.inner
        return 0 if isinstance(bare, ir.Name) and bare.ident in explicit else None
    return 1 + templates.weight(pattern, names)


def _accepts(m: Machine, wanted: Value, value: Value) -> int | None:
    if isinstance(wanted, Unknown):
        return 0
    actual = type_of(value)
    if type_key(wanted) == type_key(actual):
        return 6
    if isinstance(wanted, ClassInst):
        if isinstance(value, Object):
            return 3 if _derives(m, value.cls, wanted) else None
        return 0
    if isinstance(value, (Object, TensorVal)) and not isinstance(wanted, Unknown):
        return None
    return 2


def _derives(m: Machine, cls: ClassInst, base: ClassInst) -> bool:
    return cls is base or any(_derives(m, b, base) for b in classes.bases(m, cls))


def run_function(
    m: Machine, entry: Entry, fn: ir.Function, env: Env, args: list[Value], kwargs: dict[str, Value], span: Span
) -> Value:
    """Run a bound function: parameters into its frame, then its body."""
    caller = env.frame
    current = m.recorder.frame
    depth = 0 if current is None else current.depth + 1
    if depth > m.budget.limits.call_depth:
        return Unknown(f"calls nested deeper than {m.budget.limits.call_depth}", span)
    if depth >= _BLIND_RECURSION and any(isinstance(a, Unknown) for a in args) and _blind(current, fn):
        return Unknown(f"`{fn.name}` calls itself with values that are not known", span)
    shown = tuple(
        spell(env.parent.vars[p.name])
        for p in fn.tparams or ()
        if p.name and env.parent is not None and p.name in env.parent.vars
    )
    symbol = _symbol(entry, fn, shown)
    frame = Frame(
        symbol,
        fn,
        entry.unit,
        current,
        tuple(zip((p.name for p in fn.tparams or () if p.name), shown, strict=False)),
        depth,
    )
    frame.constexpr = "constexpr" in fn.flags and "kernel" not in fn.flags
    frame.kernel = symbol if "kernel" in fn.flags else (current.kernel if current is not None else "")
    frame.returns = []
    env.frame = frame
    m.history.functions.add(id(fn))
    known = len(m.recorder.hypotheses)
    bind_parameters(m, fn.params, args, kwargs, env, span)
    before, m.recorder.frame = m.recorder.frame, frame
    try:
        if "kernel" in fn.flags:
            m.recorder.kernel(m, fn, env)
        assert fn.body is not None
        m.run(fn.body.get(), env)
    finally:
        m.recorder.frame = before
        env.frame = caller
        del m.recorder.hypotheses[known:]
    m.outs = {i: env.vars[p.name] for i, p in enumerate(fn.params) if _writable(p) and p.name in env.vars}
    value = join_returns(m, frame.returns, span)
    if fn.ret is not None and not is_auto(fn.ret) and isinstance(value, (Scalar, int, Extern, tuple)):
        typed = m.eval(fn.ret, env)
        if not isinstance(typed, Unknown):
            return classes.convert(m, typed, value, span)
    if isinstance(value, Unknown) and fn.ret is not None and not is_auto(fn.ret):
        typed = m.eval(fn.ret, env)
        if isinstance(typed, classes.ScalarType):
            return classes.symbolic(m, typed, f"{fn.name}()#{m.fresh('').expr}", span)
    return value


def _blind(frame: Frame | None, fn: ir.Function) -> bool:
    """Whether a function is active so often that what ends its recursion must be among the values not known."""
    count = 0
    while frame is not None:
        count += frame.function is fn
        if count >= _BLIND_RECURSION:
            return True
        frame = frame.caller
    return False


def _writable(p: ir.Param) -> bool:
    """True for a parameter through which the caller's variable can be written."""
    return isinstance(p.type, ir.TypeMod) and p.type.kind == "ref" and not _is_const(p.type.inner)


def _is_const(t: ir.Expr) -> bool:
    return isinstance(t, ir.TypeMod) and t.kind == "const"


def _symbol(entry: Entry, fn: ir.Function, shown: tuple[str, ...]) -> str:
    cls = entry.env.cls
    scope = entry.env.namespace()
    prefix = class_name(cls) if cls is not None else (scope.path if scope is not None else "")
    name = f"{fn.name}<{','.join(shown)}>" if shown else fn.name
    return f"{prefix}::{name}" if prefix else name


def bind_parameters(
    m: Machine, params: tuple[ir.Param, ...], args: list[Value], kwargs: dict[str, Value], env: Env, span: Span
) -> None:
    for i, p in enumerate(params):
        if p.pack or p.kind == "varargs":
            value: Value = Pack(tuple(args[i:])) if p.pack else tuple(args[i:])
        elif i < len(args) and p.kind != "keyword":
            value = args[i]
            if p.type is not None and isinstance(value, (Scalar, int, Extern, tuple)) and not is_auto(p.type):
                typed = m.eval(p.type, env)
                if isinstance(value, Scalar) and value.ctype == "nullptr_t" and isinstance(typed, PtrType):
                    value = classes.symbolic(m, typed, p.name or "argument", p.span)  # any pointer would do
                elif isinstance(typed, ClassInst if isinstance(value, tuple) else classes.ScalarType):
                    value = classes.convert(m, typed, value, span)
        elif p.name in kwargs:
            value = kwargs[p.name]
        elif p.default is not None:
            value = m.eval(p.default, env)
        else:
            value = Unknown(f"no argument for `{p.name}`", span)
        if p.kind == "varkw":
            named = {q.name for q in params}
            value = {k: v for k, v in kwargs.items() if k not in named}
        if isinstance(value, TensorVal) and not value.name:
            value = replace(value, name=p.name)
        if p.name:
            env.vars[p.name] = value


def join_returns(m: Machine, returns: list[Value], span: Span) -> Value:
    if not returns:
        return m.dialect.no_value(span)
    value = returns[0]
    for other in returns[1:]:
        value = join(m, value, other, "returned value", span)
    return value


def call_closure(m: Machine, fn: Closure, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A lambda: its names are those of the place it was written."""
    env = Env(fn.env, "function")
    current = m.recorder.frame
    depth = 0 if current is None else current.depth + 1
    if depth > m.budget.limits.call_depth:
        return Unknown(f"calls nested deeper than {m.budget.limits.call_depth}", span)
    outer = fn.env.frame or current
    frame = Frame(
        outer.symbol if outer else "lambda", None, outer.unit if outer else None, current,
        outer.bindings if outer else (), depth,
    )  # fmt: skip
    frame.kernel = current.kernel if current is not None else ""
    frame.returns = []
    env.frame = frame
    bind_parameters(m, fn.node.params, args, kwargs, env, span)
    before, m.recorder.frame = m.recorder.frame, frame
    try:
        m.run(fn.node.body.get(), env)
    finally:
        m.recorder.frame = before
    m.outs = {i: env.vars[p.name] for i, p in enumerate(fn.node.params) if _writable(p) and p.name in env.vars}
    return join_returns(m, frame.returns, span)


def construct_with(m: Machine, entries: tuple[Entry, ...], obj: Object, args: list[Value], span: Span) -> None:
    """Run the constructor that takes the arguments: initialisers, then the body."""
    fset = FuncSet(obj.cls.name, entries, obj, obj.cls)
    found = [c for c in (_bind(m, e, fset, args, {}) for e in entries) if c is not None]
    if not found:
        return
    best = max(found, key=lambda c: c.score)
    env = Env(best.env, "function", self_=obj)
    bind_parameters(m, best.fn.params, args, {}, env, span)
    types = {d.name: (o, d) for o, d in classes.fields(m, obj.cls)}
    for name, init in best.fn.inits:
        values = [m.eval(a.value, env) for a in init]
        if name in types:
            owner, decl = types[name]
            typed = m.eval(decl.type, owner.env) if decl.type is not None else None
            value = (
                values[0]
                if len(values) == 1 and typed is None
                else classes.construct(m, typed, values, [None] * len(values), span)
            )
            m.journal.set(obj.fields, name, value)
    run_function(m, best.entry, best.fn, env, args, {}, span)


# launches that are function calls are the evaluator's own, also where CUTLASS is in the tree
LAUNCHERS = ("launch_kernel_on_cluster", "kernel_launch", "cudaLaunchKernelEx", "cudaLaunchKernelExC")


def launch(
    m: Machine, fn: Value, args: list[Value] | None, block: Any, smem: Any, span: Span, cluster: Any = None
) -> Value:
    """Run a launched kernel; each instantiation of its template once, up to the limit.

    ``args`` None: values of the parameters' types, where the template arguments are written.
    """
    if isinstance(fn, Intrinsic) and fn.name == "device_kernel" and fn.targs and isinstance(fn.targs[0], ClassInst):
        return _launch_operator(m, fn.targs[0], args, block, smem, span, cluster)
    if not isinstance(fn, FuncSet):
        return fn if isinstance(fn, Unknown) else Unknown("the launched kernel is not known", span)
    if args is None:
        args = _symbolic_arguments(m, fn, span)
    best: _Candidate | None = None
    for entry in fn.entries:
        candidate = _bind(m, entry, fn, args, {})
        if candidate is not None and (best is None or candidate.score > best.score):
            best = candidate
    if best is None or best.fn.body is None:
        return Unknown(f"no overload of kernel `{fn.name}` takes these arguments", span)
    values = [best.env.vars[p.name] for p in best.fn.tparams or () if p.name in best.env.vars]
    shown = tuple(spell(v) for v in values)
    symbol = _symbol(best.entry, best.fn, shown)
    types = "|".join(spell(v) for v in values if not (isinstance(v, Scalar) and v.ctype == "bool"))
    signature = f"{symbol}({','.join(spell(type_of(a)) for a in args)})"
    answer = m.history.launches.ask(f"{best.fn.span}:{best.fn.name}", types, signature)
    if answer == "before":
        return Unknown("walked before", span)
    if answer == "dropped":
        m.recorder.dropped(best.fn, span)
        return Unknown(f"further instantiations of `{fn.name}` were not walked", span)
    m.recorder.launched(symbol, span, block, smem, cluster)
    env = Env(best.env, "function", self_=fn.self_)
    return run_function(m, best.entry, best.fn, env, args, {}, span)


def _symbolic_arguments(m: Machine, fn: FuncSet, span: Span) -> list[Value]:
    """An argument for each parameter of a kernel, of which only the type is known."""
    entry = next((e for e in fn.entries if e.decl.body is not None), None)
    if entry is None:
        return []
    env = Env(entry.env, "template")
    for p, value in zip(entry.decl.tparams or (), fn.targs or (), strict=False):
        env.vars[p.name] = value
    out = []
    for p in entry.decl.params:
        typed = m.eval(p.type, env) if p.type is not None else None
        known = is_type(typed) or typed is None
        shown = typed if known else Unknown(f"the type of `{p.name}` is not known", p.span)
        out.append(classes.symbolic(m, shown, p.name or "argument", span))
    return out


def _launch_operator(
    m: Machine, cls: ClassInst, args: list[Value] | None, block: Any, smem: Any, span: Span, cluster: Any
) -> Value:
    """``cutlass::device_kernel<Kernel>``: ``Kernel{}(params, shared memory)``."""
    from cutecheck.source.eval.types import class_name

    obj = Object(cls)
    method = _method(m, obj, "operator()", span)
    if not isinstance(method, FuncSet):
        return method if isinstance(method, Unknown) else Unknown(f"`{cls.name}` has no operator()", span)
    symbol = f"cutlass::device_kernel<{class_name(cls)}>"
    if m.history.launches.ask(f"{cls.decl.span}:{cls.name}", symbol, symbol, capped=False) != "walk":
        return Unknown("walked before", span)
    if args is None:
        params = _method(m, obj, "Params", span)
        known = is_type(params)
        shown = params if known else Unknown(f"the type of `{cls.name}::Params` is not known", span)
        args = [classes.symbolic(m, shown, "params", span)]
    m.recorder.launched(symbol, span, block, smem, cluster)
    current = m.recorder.frame
    frame = Frame(symbol, None, cls.entry.unit, current, (), 0 if current is None else current.depth + 1)
    frame.kernel = symbol
    before, m.recorder.frame = m.recorder.frame, frame
    try:
        return call_functions(m, method, [*args, m.recorder.dynamic_shared(symbol, span)], {}, span)
    finally:
        m.recorder.frame = before


def deduce_instance(m: Machine, ref: TemplateRef, args: list[Value], span: Span) -> Value:
    """``Name{args}`` of a class template: arguments deduced from its constructors or members."""
    primary = next((e for e in ref.entries if getattr(e.decl, "spec_args", None) is None), ref.entries[0])
    decl = primary.decl
    if not isinstance(decl, ir.Class):
        return Unknown(f"cannot deduce the arguments of `{ref.name}`", span)
    names = {p.name: p for p in decl.tparams or () if p.name}
    patterns: list[list[ir.Expr | None]] = [
        [p.type for p in d.params] for d in decl.members if isinstance(d, ir.Function) and d.name == decl.name
    ]
    patterns.append(
        [d.type for d in decl.members if isinstance(d, ir.Variable) and not d.flags & {"static", "constexpr"}]
    )
    for types in patterns:
        env = Env(primary.env, "template")
        if len(types) < len(args):
            continue
        if all(t is None or templates.match(m, t, type_of(a), names, env) for t, a in zip(types, args, strict=False)):
            if not all(p.name in env.vars or p.default is not None for p in decl.tparams or ()):
                continue
            given = tuple(env.vars[p.name] for p in decl.tparams or () if p.name in env.vars)
            cls = templates.apply_template(m, ref, given, span)
            return classes.construct(m, cls, args, [None] * len(args), span)
    return Unknown(f"cannot deduce the arguments of `{ref.name}`", span)
