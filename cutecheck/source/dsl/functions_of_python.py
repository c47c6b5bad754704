"""Functions of Python's builtins module."""

from __future__ import annotations

import functools
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import ints
from cutecheck.model.expr import ANY
from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.dsl import classes, enumerations, protocol, reductions
from cutecheck.source.dsl.builtins import FUNCTIONS, Function, builtin, known, sequence
from cutecheck.source.dsl.flow import Perhaps
from cutecheck.source.dsl.values import (
    SPREAD,
    Builtin,
    BuiltinType,
    Enumerator,
    HostTensor,
    Iterated,
    Module,
    Partial,
    RunTimeRange,
    Super,
)
from cutecheck.source.dsl.versions import lacks
from cutecheck.source.eval.containers import changes, unsure
from cutecheck.source.eval.intrinsics.registry import Call
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.statements.joins import join
from cutecheck.source.eval.statements.loops import range_length
from cutecheck.source.eval.threads import some, varies
from cutecheck.source.eval.values import Closure, Extern, FuncSet, Intrinsic, Object, Scalar, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


_MAX_DIGITS = 400  # more than a float has
_OWN = (Enumerator, BuiltinType, ScalarType, str, int, float, tuple, list, dict, type(None))

# -------------------------------------------------------------------- functions


@builtin("len")
def _len(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = enumerations.plain(args[0])
    if isinstance(v, range):
        return range_length(v)
    if isinstance(v, (list, tuple, str, dict)):
        bad = unsure(v)
        if isinstance(v, tuple) and any(x is SPREAD for x in v):
            return Unknown("the length of a tuple of items that are not known", span)
        return bad if bad is not None else len(v)
    if isinstance(v, (Object, ClassInst)):
        said = protocol.length(m, v, span)
        return said if said is not None else Unknown("the length of this value", span)
    if isinstance(v, (Layout, ComposedLayout)):
        from cutecheck.model import algebra

        return algebra.rank(v)
    if isinstance(v, HostTensor):
        return v.shape[0]
    return v if isinstance(v, Unknown) else Unknown("the length of this value", span)


def limits(args: list[Value]) -> tuple[Any, Any, Any]:
    start: Any = 0
    step: Any = 1
    if len(args) == 1:
        stop = args[0]
    else:
        start, stop = args[0], args[1]
        step = args[2] if len(args) > 2 else 1
    return start, stop, step


@builtin("range")
def _range(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.dsl.functions import in_device_body

    bad = known(m, args, span)
    if bad is not None:
        return bad
    start, stop, step = limits(args)
    static = all(isinstance(x, int) for x in (start, stop, step))
    if static and not in_device_body(m):
        return range(start, stop, step)
    return RunTimeRange(start, stop, step)


_OF_RANGES = ("unroll", "unroll_full", "prefetch_stages", "vectorize", "at_least_once", "pipelining", "loc", "ip")
_ALIKE = 0.8  # of letters


@builtin("dsl.range", "dsl.range_dynamic")
def _device_range(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    for given in kwargs:
        meant = get_close_matches(given, _OF_RANGES, 1, _ALIKE) if given not in _OF_RANGES else []
        if meant:  # the DSL passes over what it does not know
            m.recorder.called(m, Call(m, "keyword", (), ["range", given, meant[0]], span), None)
    bad = known(m, args, span)
    return bad if bad is not None else RunTimeRange(*limits(args), kwargs.get("unroll_full") is True)


@builtin("dsl.range_constexpr")
def _static_range(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    bad = known(m, args, span)
    if bad is not None:
        return bad
    start, stop, step = limits(args)
    if all(isinstance(x, int) for x in (start, stop, step)):
        return range(start, stop, step)
    return Unknown("the number of iterations is not known", span)


@builtin("dsl.const_expr", "dsl.dynamic_expr", "dsl.as_numeric", "dsl.static", "id_")
def _same(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0]


@builtin("min", "max")
def _min_max(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    raise NotImplementedError


def _extreme(which: str) -> Function:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        items = sequence(m, args[0], span) if len(args) == 1 else args
        if isinstance(items, Unknown):
            return items
        bad = known(m, items, span)
        if bad is not None:
            return bad
        if "key" in kwargs:
            from cutecheck.source.eval.calls import apply

            keys = [apply(m, kwargs["key"], [i], {}, span) for i in items]
            return _pick(m, which, items, keys, span) if items else kwargs.get("default")
        if not items:
            return kwargs.get("default", Unknown(f"{which} of nothing", span))
        if all(isinstance(v, (int, float, str)) for v in items):
            return (min if which == "min" else max)(items)
        if all(isinstance(v, (int, Dyn, Sym)) for v in items):
            f = ints.minimum if which == "min" else ints.maximum
            return functools.reduce(f, items)
        if all(isinstance(v, (Object, Enumerator, tuple)) for v in items):
            return _pick(m, which, items, items, span)
        return reductions.passed(m, Scalar(None, "float"), list(items), span)

    return run


def _pick(m: Machine, which: str, items: list[Value], keys: list[Value], span: Span) -> Value:
    """The first item with the least or greatest key."""
    order = protocol.ordered(m, keys, span, which == "max")
    return Unknown(f"{which} by keys that are not known", span) if order is None else items[order[0]]


FUNCTIONS["min"], FUNCTIONS["max"] = _extreme("min"), _extreme("max")


@builtin("sum")
def _sum(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.expressions.operators import binary

    items = sequence(m, args[0], span)
    if isinstance(items, Unknown):
        return items
    out: Value = args[1] if len(args) > 1 else kwargs.get("start", 0)
    for v in items:
        out = binary(m, "+", out, v, span)
    return out


@builtin("abs")
def _abs(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0]
    return abs(v) if isinstance(v, (int, float)) else ints.absolute(v) if isinstance(v, Dyn) else v


@builtin("round")
def _round(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v, digits = args[0], args[1] if len(args) > 1 else kwargs.get("ndigits")
    if not isinstance(v, (int, float)):
        return v
    if digits is None:
        return round(v)
    if not isinstance(digits, int) or abs(digits) > _MAX_DIGITS:  # a power of ten with as many digits is computed
        return Unknown("a number rounded to digits that are not known", span)
    return round(v, digits)


@builtin("pow")
def _pow(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if len(args) == 3:
        if all(isinstance(a, int) for a in args) and args[2]:
            return pow(*args)
        return Unknown("a power that is not known", span)
    return m.dialect.binary("**", args[0], args[1], span)


@builtin("divmod")
def _divmod(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    for obj, method, other in ((args[0], "__divmod__", args[1]), (args[1], "__rdivmod__", args[0])):
        said = protocol.asked(m, obj, method, [other], span) if isinstance(obj, Object) else None
        if isinstance(said, tuple) and not any(isinstance(v, Unknown) for v in said):
            return said
    if any(isinstance(a, (Dyn, Scalar)) for a in args) and not all(isinstance(a, (int, Dyn)) for a in args):
        own = any(varies(a) for a in args)  # an integer of the device by a precomputed divisor
        return (some(m, "quotient", ANY, own), some(m, "remainder", ANY, own))
    return (m.dialect.binary("//", args[0], args[1], span), m.dialect.binary("%", args[0], args[1], span))


@builtin("zip")
def _zip(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    given = [a if isinstance(a, Iterated) and unsure(a) is None else sequence(m, a, span) for a in args]
    bad = next((p for p in given if isinstance(p, Unknown)), None)
    if bad is not None:
        return bad
    rows: list[tuple[Value, ...]] = []
    # an iterator may be given twice
    parts: list[list[Value]] = [p if isinstance(p, Iterated) else list(p) for p in given if isinstance(p, list)]
    for p in parts:
        if isinstance(p, Iterated):
            changes(m, p)
    while parts:
        row: list[Value] = []
        for p in parts:
            if not p:
                return Iterated(rows)
            row.append(p.pop(0))
        rows.append(tuple(row))
    return Iterated(rows)


@builtin("enumerate")
def _enumerate(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = sequence(m, args[0], span)
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    return items if isinstance(items, Unknown) else Iterated(enumerate(items, start))


@builtin("reversed", "sorted", "any", "all")
def _whole(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    raise NotImplementedError


def _reversed(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = sequence(m, args[0], span)
    return items if isinstance(items, Unknown) else Iterated(reversed(items))


FUNCTIONS["reversed"] = _reversed


def _sorted(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    items = sequence(m, args[0], span)
    if isinstance(items, Unknown):
        return items
    key = kwargs.get("key")
    keys = [apply(m, key, [i], {}, span) for i in items] if key is not None else items
    reverse = m.dialect.truth(kwargs.get("reverse", False))
    order = None if reverse is None else protocol.ordered(m, keys, span, reverse)
    return Unknown("an order that is not known", span) if order is None else [items[i] for i in order]


FUNCTIONS["sorted"] = _sorted


def _quantifier(which: str) -> Function:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        items = sequence(m, args[0], span)
        if isinstance(items, Unknown):
            return Scalar(None, "bool")
        answers = [m.dialect.truth(i) for i in items]
        stop = which == "any"
        if stop in answers:
            return stop
        return Scalar(None, "bool") if None in answers else not stop

    return run


FUNCTIONS["any"], FUNCTIONS["all"] = _quantifier("any"), _quantifier("all")
FUNCTIONS["dsl.any_"], FUNCTIONS["dsl.all_"] = FUNCTIONS["any"], FUNCTIONS["all"]


@builtin("dsl.select_")
def _select(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    given = dict(zip(("cond", "if_value", "else_value"), args, strict=False)) | kwargs
    cond, chosen, other = given.get("cond"), given.get("if_value"), given.get("else_value")
    known = m.dialect.truth(cond)
    if known is not None:
        return chosen if known else other
    return join(m, chosen, other, "what `select_` chooses", span, cond, varying=True)


@builtin("map", "filter")
def _map(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    parts = [sequence(m, a, span) for a in args[1:]]
    bad = next((p for p in parts if isinstance(p, Unknown)), None)
    if bad is not None:
        return bad
    return Iterated(apply(m, args[0], list(row), {}, span) for row in zip(*parts))  # noqa: B905


@builtin("filter")
def _filter(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    items = sequence(m, args[1], span)
    if isinstance(items, Unknown):
        return items
    kept = []
    for i in items:
        keep = m.dialect.truth(i if args[0] is None else apply(m, args[0], [i], {}, span))
        if keep is None:
            return Unknown("a filter that is not known", span)
        if keep:
            kept.append(i)
    return Iterated(kept)


@builtin("print", "breakpoint", "setattr_", "os.makedirs", "warnings.warn")
def _nothing(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return None


@builtin("sys.exit", "exit", "quit", "os._exit")
def _exit(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return BuiltinType("SystemExit")  # what the statement raises


@builtin("contextlib.nullcontext")
def _null_context(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0] if args else kwargs.get("enter_result")


@builtin("getattr")
def _getattr(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.expressions.names import attribute

    if not isinstance(args[1], str):
        return Unknown("an attribute whose name is not known", span)
    found = attribute(m, args[0], args[1], span)
    absent = isinstance(found, Unknown) and not isinstance(found, Perhaps)
    if absent and len(args) > 2 and not isinstance(args[0], Unknown):
        return args[2]
    return found


@builtin("hasattr")
def _hasattr(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.expressions.names import attribute

    if isinstance(args[0], (Unknown, Extern)) or not isinstance(args[1], str):
        return Scalar(None, "bool")
    found = attribute(m, args[0], args[1], span)
    if isinstance(found, Perhaps) or (isinstance(found, Extern) and classes.inherits_unread(args[0], args[1])):
        return Scalar(None, "bool")
    if isinstance(found, (Unknown, Extern)) and isinstance(args[0], Module) and lacks(m, args[0].name, args[1]):
        return False
    if isinstance(found, Unknown) and not isinstance(args[0], (Object, ClassInst, *_OWN)):
        return Scalar(None, "bool")  # what the DSL's own modules and values have is known in part
    return not isinstance(found, Unknown)


@builtin("object.__new__")
def _object_new(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if len(args) > 3:
        return FUNCTIONS["type.__new__"](m, args, kwargs, span)
    if args and isinstance(args[0], ClassInst):
        return Object(args[0])
    return Unknown("an object of what is not known", span)


@builtin("object.__init__", "super_init")
def _object_init(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return None


@builtin("callable")
def _callable(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0]
    if isinstance(v, (FuncSet, Closure, Intrinsic, Builtin, BuiltinType, ClassInst, Partial, ScalarType)):
        return True
    return Scalar(None, "bool") if isinstance(v, (Unknown, Extern, Object)) else False


@builtin("id")
def _id(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The same for the same object, for no other; numbers and texts may share theirs."""
    v = args[0]
    if not isinstance(v, (Object, ClassInst)):
        return m.fresh("id")
    known = m.functions.setdefault("dsl objects", {})  # holds them: nothing else gets the address of one that is gone
    return Builtin(f"id {known.setdefault(id(v), (len(known), v))[0]}")


@builtin("hash")
def _hash(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return m.fresh("hash")


@builtin("super")
def _super(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    cls, obj = args[1:3] if len(args) > 2 else args[0] if isinstance(args[0], tuple) else args
    if isinstance(cls, ClassInst) and isinstance(obj, (Object, ClassInst)):
        return Super(obj, cls)
    return Unknown("super() outside a method", span)
