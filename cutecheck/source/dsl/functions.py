"""Python definitions, assignments and calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import (
    attributes,
    barriers,
    classes,
    command_lines,
    containers,
    cute_values,
    defining,
    dispatching,
    flow,
    handed,
    inline_asm,
    made_classes,
    modules,
    protocol,
    reductions,
    repeats,
    uncalled,
    vectors,
)
from cutecheck.source.dsl.builtins import FUNCTIONS
from cutecheck.source.dsl.expressions import YIELD
from cutecheck.source.dsl.statements import spelled
from cutecheck.source.dsl.values import (
    Builtin,
    BuiltinType,
    Compiled,
    Dispatch,
    Distinct,
    Enumerator,
    KernelCall,
    Manager,
    Module,
    OpValue,
    Partial,
    Sink,
)
from cutecheck.source.eval import calls, ir, steps
from cutecheck.source.eval.containers import written
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.statements.loops import iterate
from cutecheck.source.eval.values import (
    Closure,
    EnumVal,
    Extern,
    FuncSet,
    Intrinsic,
    Object,
    ScalarType,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

NONLOCAL = "nonlocal "  # never a Python name
GLOBAL = "global "
_RECURSION = 12  # activations of a function
_COUNTED = 100  # of one whose arguments are numbers and text


def frame_of(env: Env) -> Env:
    """The environment in which an assignment binds a name."""
    at = env
    while at.kind in ("block", "template") and at.parent is not None:
        at = at.parent
    return at


def bound_in(env: Env, name: str) -> Env:
    """The environment in which an assignment binds a name: the function's own but for what it declares as another's."""
    at = frame_of(env)
    if NONLOCAL + name in at.vars and at.parent is not None:
        return at.parent.find_var(name) or at
    return modules.scope_around(env).env if GLOBAL + name in at.vars else at


def declare(m: Machine, decl: ir.Decl, env: Env) -> bool:
    at = frame_of(env)
    if isinstance(decl, ir.Function):
        made_of = FuncSet(decl.name, (Entry(decl, flow.closed(m, decl.params, at), modules.unit_of(env)),))
        m.journal.set(at.vars, decl.name, made_of)
        for mark in decl.decorators:
            if isinstance(mark, ir.Call) and spelled(mark) == "torch.library.custom_op" and mark.args:
                name = m.eval(mark.args[0].value, env)
                modules.state(m).setdefault("operators", {})[name if isinstance(name, str) else ""] = made_of
        around = made_classes.wrapped(m, made_of, env)
        if around is not made_of:
            at.vars[f"undecorated {decl.name}"] = made_of
            m.journal.set(at.vars, decl.name, around)
    elif isinstance(decl, ir.Class):
        made = defining.define(m, decl, at, modules.unit_of(env))
        m.journal.set(at.vars, decl.name, made)
        if decl.decorators:
            m.journal.set(at.vars, decl.name, made_classes.decorated(m, made, decl, at))
    elif isinstance(decl, ir.Import):
        if not modules.run_import(m, decl, at):
            flow.may_miss(m)
    elif isinstance(decl, ir.Variable):
        if decl.init is not None:
            _bind(m, at, decl.name, m.eval(decl.init, env))
    elif isinstance(decl, ir.Using) and isinstance(decl.target, ir.Name):
        at.vars[f"{decl.name} {decl.target.ident}"] = True
    return True


def _bind(m: Machine, at: Env, name: str, value: Value) -> None:
    if isinstance(value, TensorVal) and value.name != name:
        value = replace(value, name=name)
    m.journal.set(at.vars, name, value)


def assign(m: Machine, target: ir.Expr, value: Value, env: Env, span: Span) -> bool:
    if isinstance(target, ir.Name):
        _bind(m, bound_in(env, target.ident), target.ident, value)
    elif isinstance(target, ir.Attr):
        base = m.eval(target.base, env)
        attributes.store(m, base, target.ident, value, span)
    elif isinstance(target, ir.Sequence_):
        _unpack(m, target, value, env, span)
    elif isinstance(target, ir.Index):
        base = m.eval(target.base, env)
        keys = [m.eval(a, env) for a in target.args]
        key = keys[0] if keys else None
        if isinstance(base, (dict, list)):
            containers.put(m, base, key, value, span)
        elif isinstance(base, Unknown):
            written(m, base)
        elif isinstance(base, Object):
            protocol.asked(m, base, "__setitem__", [key, value], span)
        elif isinstance(base, TensorVal):
            cute_values.stored(m, base, key, value, span)
    return True


def augmented(m: Machine, op: str, old: Value, value: Value, span: Span) -> Value:
    """``old op= value`` of what is changed in place."""
    written(m, old)
    if isinstance(old, list) and op == "+":
        containers.extend(m, old, value, span)
        return old
    if isinstance(old, dict) and op == "|":
        FUNCTIONS["dict.update"](m, [old, value], {}, span)
        return old
    if isinstance(old, Distinct) and op in ("|", "&", "-", "^"):
        words = {"|": "update", "&": "intersection_update", "-": "difference_update"}
        FUNCTIONS[f"list.{words.get(op, 'symmetric_difference_update')}"](m, [old, value], {}, span)
        return old
    if isinstance(old, Object):
        return classes.in_place(m, op, old, value, span)
    return DEFER


def _unpack(m: Machine, target: ir.Sequence_, value: Value, env: Env, span: Span) -> None:
    parts = m.dialect.items(m, value, span)
    items: list[Value] | None = parts if isinstance(parts, list) else None
    if isinstance(value, (dict, range)):
        found = iterate(m, value, span)
        items = None if isinstance(found, Unknown) else list(found)
    star = next((i for i, a in enumerate(target.items) if a.star), None)
    count = len(target.items)
    if isinstance(value, Object) and value.cls.memo.get("namedtuple"):
        items = list(value.fields.values())
    if items is None or (len(items) != count if star is None else len(items) < count - 1):
        if m.dialect.supposing is not None:
            m.dialect.supposing.unpacked(m, value, count - (star is not None), span)
        reason: Value = value if isinstance(value, Unknown) else Unknown("cannot take this value apart", span)
        if isinstance(value, Extern):
            reason = Extern(f"{value.what}[...]", span)
        for a in target.items:
            assign(m, a.value, reason, env, span)
        return
    if star is not None:
        after = count - star - 1
        items = [*items[:star], items[star : len(items) - after], *items[len(items) - after :]]
    for a, item in zip(target.items, items, strict=True):
        assign(m, a.value, item, env, span)


# -------------------------------------------------------------------- calls

_LEAVE_EVENTS = frozenset({"dsl.gemm", "dsl.copy", "dsl.autovec_copy", "dsl.basic_copy"})
# of a tensor's contents they take nothing, or leave an event that says what
_NOT_CONTENTS = frozenset({"functools.partial",
    *_LEAVE_EVENTS, "tensor_value.fill", "tensor_value.store", "tensor_value.load", "dsl.size", "types.SimpleNamespace",
    "dsl.rank", "dsl.depth", "dsl.shape", "dsl.cosize", "dsl.make_rmem_tensor_like", "dsl.make_fragment_like",
})  # fmt: skip


def apply(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if isinstance(fn, Extern):
        inline_asm.applied(m, fn, args, kwargs, span)
    value = _apply(m, fn, args, kwargs, span)
    if isinstance(fn, (Builtin, Intrinsic)) and (
        fn.name.partition(" ")[0] not in _NOT_CONTENTS
        or (fn.name in _LEAVE_EVENTS and any(isinstance(a, (Extern, Unknown)) for a in args))  # none of what is foreign
    ):
        contents = [
            v for v in (fn.self_, *args, *kwargs.values()) if isinstance(v, (TensorVal, tuple, Object, Closure))
        ]
        if contents and not _are_views(value):
            m.recorder.takes(contents)
    return value


def _are_views(value: Value) -> bool:
    """A function made tensors of tensors, as ``partition_S`` makes one and ``tma_partition`` two."""
    made = value if isinstance(value, tuple) else (value,)
    return bool(made) and all(isinstance(v, TensorVal) for v in made)


def _apply(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.dsl import builtins

    if isinstance(fn, Unknown):
        m.recorder.escape(m, [*args, *kwargs.values()], span)
        written(m, fn)
        return fn
    if isinstance(fn, FuncSet):
        return call_function(m, fn, args, kwargs, span)
    if isinstance(fn, Closure):
        return calls.call_closure(m, fn, args, kwargs, span)
    if isinstance(fn, Intrinsic):
        from cutecheck.source.dsl.api import call_api

        return call_api(m, fn, args, kwargs, span)
    if isinstance(fn, ClassInst):
        return classes.instantiate(m, fn, args, kwargs, span)
    if isinstance(fn, Object):
        method = classes.attribute(m, fn, "__call__", span)
        return apply(m, method, args, kwargs, span)
    if isinstance(fn, Partial):
        # as it were called here: it may be a barrier
        return calls.apply(m, fn.fn, [*fn.args, *args], {**dict(fn.kwargs), **kwargs}, span)
    if isinstance(fn, (Builtin, BuiltinType, ScalarType)):
        return builtins.call(m, fn, args, kwargs, span)
    if isinstance(fn, Compiled):
        return None
    if isinstance(fn, Sink):
        return flow.yielded(m, fn, args[0], "all" in kwargs, span)
    if isinstance(fn, Dispatch):
        return dispatching.call(m, fn, args, kwargs, span)
    found = cute_values.call(m, fn, args, kwargs, span)
    if found is not None:
        return found
    if not steps.frees(fn):
        m.recorder.escape(m, [*args, *kwargs.values()], span)
    if isinstance(fn, Extern):
        handed.call_handed(m, args, kwargs, span)
        named = barriers.made(fn, args, kwargs, span) or vectors.computed(fn, args, span)
        if named is None:
            named = Extern(f"{fn.what}(...)" if len(fn.what) < 200 else fn.what, span)
        return reductions.passed(m, named, args, span)
    return Unknown(f"a call of {builtins.describe(fn)}", span)


def call_function(m: Machine, fn: FuncSet, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A function or method of the tree; a kernel waits for its launch."""
    entry = fn.entries[-1]
    decl: ir.Function = entry.decl
    if fn.self_ is not None:
        args = [fn.self_, *args]
    if "kernel" in decl.flags:
        return KernelCall(fn, tuple(args), tuple(kwargs.items()))
    marks = {spelled(d).split(".")[-1] for d in decl.decorators}
    if "contextmanager" in marks and "generator" in decl.flags:
        return Manager(fn, tuple(args), tuple(kwargs.items()))
    if not marks.isdisjoint(("contextmanager", "asynccontextmanager", "fixture")):
        return Extern(f"{decl.name}(...)", span)
    if not args and not kwargs and not marks.isdisjoint(("command", "group")):
        kwargs = command_lines.options(m, fn)
    key = _cache_key(decl, marks, args, kwargs)
    cache = modules.state(m).setdefault("cached", {})
    if key is not None and key in cache:
        return cache[key]
    value = run(m, fn, entry, args, kwargs, span)
    if key is not None:
        m.journal.set(cache, key, value)  # what it made is undone with a test
    from cutecheck.source.dsl import sites

    sites.helper_called(m, fn, entry, args, kwargs, value, span)
    return value


def _cache_key(decl: ir.Function, marks: set[str], args: list[Value], kwargs: dict[str, Value]) -> object | None:
    """What a function that caches its results has them by; None when it does not, or its arguments are no key."""
    if "cache" not in " ".join(marks):
        return None
    try:
        key = (id(decl), tuple(map(keyed, args)), tuple((k, keyed(v)) for k, v in sorted(kwargs.items())))
        hash(key)
    except TypeError:
        return None
    return key


def keyed(v: Value) -> object:
    """A value that is equal to another exactly if Python's are, and hashable; TypeError where there is none."""
    if v is None or isinstance(v, (bool, int, float, str, ScalarType, Enumerator, EnumVal)):
        return type(v), v
    if isinstance(v, tuple):
        return tuple(map(keyed, v))
    if isinstance(v, Object) and (v.cls.memo.get("namedtuple") or v.cls.memo.get("dataclass")):
        return id(v.cls), tuple((k, keyed(x)) for k, x in classes.compared(v).items())
    raise TypeError


def run(
    m: Machine, fn: FuncSet, entry: Entry, args: list[Value], kwargs: dict[str, Value], span: Span,
    sink: Sink | None = None,
) -> Value:  # fmt: skip
    """Run the body of a function; ``sink`` takes what it yields."""
    decl: ir.Function = entry.decl
    if "generator" in decl.flags and sink is None:
        return flow.collected(m, lambda sink: run(m, fn, entry, args, kwargs, span, sink))
    frame = m.recorder.frame
    if m.recorder.open and frame is not None:
        how = uncalled.followed(m, entry, args, kwargs, on_device(m))
        if how is None:
            return Unknown(f"`{decl.name}` is called with values that nothing binds", span)
        if how:
            m.recorder.open = False  # whoever calls it gives it these values
            try:
                return run(m, fn, entry, args, kwargs, span, sink)
            finally:
                m.recorder.open = True
    if not m.recorder.open or frame is None:  # else it is looked at on its own, too
        modules.state(m).setdefault("walked", set()).add(id(decl))
    device = bool(decl.flags & {"jit", "kernel"})
    host = device and not on_device(m)
    if device:
        args, kwargs = device_arguments(m, decl, list(args), kwargs, host or "kernel" in decl.flags, entry.env, span)
    if frame is not None and frame.depth > m.budget.limits.call_depth:
        return Unknown(f"calls nested deeper than {m.budget.limits.call_depth}", span)
    at: Any = frame
    again = 0
    while at is not None:
        again += at.function is decl
        at = at.caller
    if again > (_RECURSION if not all(map(flow.plain, args)) else _COUNTED):
        return Unknown(f"`{decl.name}` calls itself", span)
    if again > 1 and any(isinstance(a, (Unknown, Extern)) for a in args):
        # what ends its recursion is not known, and each activation may make several more
        return Unknown(f"`{decl.name}` calls itself with values that are not known", span)
    env = Env(Env(entry.env, "template"), "function")
    if fn.cls is not None:
        env.vars["__class__"] = fn.cls
    if sink is not None:
        env.vars[YIELD] = sink

    def walk() -> Value:
        return calls.run_function(m, entry, decl, env, args, kwargs, span)

    if sink is not None or "kernel" in decl.flags or (device and not host):
        return walk()
    return (repeats.once if host else repeats.unless_idle)(m, fn, entry, args, kwargs, span, walk)


def on_device(m: Machine) -> bool:
    """Whether the code that runs now is inside a ``@cute.jit`` or ``@cute.kernel`` function."""
    frame = m.recorder.frame
    while frame is not None:
        if frame.function is not None and frame.function.flags & {"jit", "kernel"}:
            return True
        frame = frame.caller
    return False


def in_device_body(m: Machine) -> bool:
    """Whether the innermost function is one whose loops the DSL turns into device loops."""
    frame = m.recorder.frame
    while frame is not None and frame.function is None:
        frame = frame.caller
    return frame is not None and frame.function is not None and bool(frame.function.flags & {"jit", "kernel"})


def device_arguments(
    m: Machine, decl: ir.Function, args: list[Value], kwargs: dict[str, Value], convert: bool, env: Env, span: Span
) -> tuple[list[Value], dict[str, Value]]:
    """Arguments as the device function sees them: tensors of the host become CuTe tensors, numbers run-time."""
    params = [p for p in decl.params if p.kind in ("normal", "keyword", "positional")]
    by_name = {p.name: p for p in params}

    def one(p: ir.Param | None, value: Value) -> Value:
        kind = _annotation(m, p, env) if p is not None else ""
        return cute_values.to_parameter(m, value, kind, convert, p.name if p is not None else "argument")

    out = [one(params[i] if i < len(params) else None, a) for i, a in enumerate(args)]
    return out, {k: one(by_name.get(k), v) for k, v in kwargs.items()}


def _annotation(m: Machine, p: ir.Param, env: Env) -> str:
    """``constexpr``, the name of an element type, or what the annotation is spelled as."""
    if p.type is None:
        return ""
    node = p.type
    text = spelled(node.base if isinstance(node, ir.Index) else node)
    if isinstance(node, ir.Lit) and isinstance(node.value, str):
        text = node.value.split("[")[0]
    if isinstance(node, ir.Index) and text.endswith("Optional") and node.args:
        inner = node.args[0]
        text = spelled(inner.base if isinstance(inner, ir.Index) else inner)
    return "constexpr" if text.split(".")[-1] == "Constexpr" else text.split(".")[-1]


__all__ = ["Enumerator", "Module", "OpValue", "apply", "assign", "declare", "in_device_body", "on_device"]
