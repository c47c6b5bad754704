"""CuTe's functions of nested tuples that take functions of Python: ``cute.find_if``, ``cute.transform_leaf`` ..."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.dsl.builtins import builtin, sequence
from cutecheck.source.dsl.containers import MAX_ITEMS
from cutecheck.source.eval.values import Extern, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

Named = dict[str, Value]


def _given(args: list[Value], kwargs: Named, at: int, name: str) -> Value:
    return args[at] if len(args) > at else kwargs.get(name)


def _call(m: Machine, fn: Value, args: list[Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    return apply(m, fn, args, {}, span)


@builtin("cute.wrap")
def _wrap(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    x = args[0]
    return x if isinstance(x, (tuple, Unknown, Extern)) else (x,)


@builtin("cute.unwrap")
def _unwrap(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    x = args[0]
    while isinstance(x, tuple) and len(x) == 1:
        x = x[0]
    return x


@builtin("cute.tuple_cat")
def _concatenated(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    unknown = next((a for a in args if isinstance(a, (Unknown, Extern))), None)
    return unknown if unknown is not None else sum((a if isinstance(a, tuple) else (a,) for a in args), ())


@builtin("cute.repeat_as_tuple")
def _repeated(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    x, count = args[0], _given(args, kwargs, 1, "n")
    if not isinstance(count, int) or not 0 < count <= MAX_ITEMS:
        return Unknown("how often a tuple repeats", span)
    return (x,) * count


@builtin("cute.repeat_like")
def _repeated_like(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    """``repeat_like(x, target)``: in C++ the other way round."""
    x, target = _given(args, kwargs, 0, "x"), _given(args, kwargs, 1, "target")
    return target if isinstance(target, (Unknown, Extern)) else it.repeat_like(target, x)


@builtin("cute.basis_value")
def _basis_value(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    e = _given(args, kwargs, 0, "e")
    return e.value if isinstance(e, ScaledBasis) else e


@builtin("cute.basis_get")
def _basis_get(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    basis, t = _given(args, kwargs, 0, "basis"), _given(args, kwargs, 1, "t")
    if isinstance(basis, (Unknown, Extern)) or not isinstance(t, (tuple, Layout, ComposedLayout)):
        return Unknown("the parts of a value that is not known", span)
    if not isinstance(basis, ScaledBasis) or not basis.path:
        return t
    from cutecheck.source.eval.intrinsics import guarded

    path = basis.path
    if isinstance(t, tuple):
        return guarded(m, "basis_get", span, lambda: it.get(t, *path))
    return guarded(m, "basis_get", span, lambda: alg.get(t, *path))


@builtin("cute.transform_leaf")
def _transformed(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    fn, *trees = args

    def walk(parts: list[Value]) -> Value:
        if all(isinstance(p, tuple) for p in parts):
            return tuple(walk(list(row)) for row in zip(*parts))  # noqa: B905
        if any(isinstance(p, tuple) for p in parts):
            return Unknown("tuples of other profiles", span)
        return _call(m, fn, parts, span)

    return walk(trees)


@builtin("cute.unflatten")
def _unflattened(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    items = sequence(m, args[0], span)
    profile = _given(args, kwargs, 1, "profile")
    if isinstance(items, Unknown):
        return items
    if isinstance(profile, (Unknown, Extern)) or len(list(it.leaves(profile))) > len(items):
        return Unknown("a profile that the items do not fill", span)
    rest = iter(items)

    def walk(p: Value) -> Value:
        return tuple(map(walk, p)) if isinstance(p, tuple) else next(rest)

    return walk(profile)


@builtin("cute.transform_apply", "cute.filter_tuple")
def _applied(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    """``g(f(leaf), f(leaf), ...)``; without ``g`` the results are tuples that are put together."""
    flat = [list(it.leaves(a)) for a in args]
    if any(isinstance(a, (Unknown, Extern)) for a in args) or len({len(f) for f in flat}) != 1:
        return Unknown("tuples of other profiles", span)
    made = [_call(m, kwargs["f"], list(row), span) for row in zip(*flat, strict=True)]
    if "g" in kwargs:
        return _call(m, kwargs["g"], made, span)
    return _concatenated(m, made, {}, span) if isinstance(args[0], tuple) else made[0]


@builtin("cute.find", "cute.find_if")
def _found(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    """The first position, nested, of a leaf that is a number, or of which a function holds."""
    tree, wanted = args[0], args[1] if len(args) > 1 else kwargs.get("x", kwargs.get("pred_fn"))
    whole = _given(args, kwargs, 2, "hierarchical")
    if isinstance(tree, (Unknown, Extern)):
        return tree

    def holds(leaf: Value, at: tuple[int, ...]) -> bool | None:
        if isinstance(wanted, int):
            return leaf == wanted if isinstance(leaf, int) else False
        return m.dialect.truth(_call(m, wanted, [leaf, at if len(at) > 1 else at[0]], span))

    def walk(t: Value, at: tuple[int, ...]) -> tuple[int, ...] | Unknown | None:
        if not isinstance(t, tuple):
            answer = holds(t, at)
            return Unknown("which leaf is found", span) if answer is None else at if answer else None
        return next((f for i, x in enumerate(t) if (f := walk(x, (*at, i))) is not None), None)

    found = walk(tree if isinstance(tree, tuple) else (tree,), ())
    if not isinstance(found, tuple):
        return found
    return found[0] if len(found) == 1 or whole is False else found


@builtin("cute.is_integer")
def _is_integer(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    return False if isinstance(args[0], tuple) else _is_int_tuple(m, args, kwargs, span)


@builtin("cute.is_int_tuple")
def _is_int_tuple(m: Machine, args: list[Value], kwargs: Named, span: Span) -> Value:
    leaves = list(it.leaves(args[0]))
    answers = [None if isinstance(x, (Unknown, Extern, Scalar)) else isinstance(x, (int, Dyn)) for x in leaves]
    return False if False in answers else Scalar(None, "bool") if None in answers else True
