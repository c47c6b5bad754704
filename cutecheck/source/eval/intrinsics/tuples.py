"""Functions of CuTe that apply another function to the elements of tuples (cute/algorithm/tuple_algorithms.hpp)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.eval import leaks, losses
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function, type_maker
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.tuples import IntegerSequence
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import (
    Closure,
    Extern,
    ExternType,
    FuncSet,
    Object,
    Pack,
    Scalar,
    ScalarType,
    TensorVal,
    Value,
    ValueType,
    constant,
    is_variant,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_LONGEST = 1 << 14  # numbers of a sequence
_ALTERNATIVES = 256  # that one visit walks
COORDINATES = "ForwardCoordIterator"
NOTHING = Scalar(None, "void")


def _numbers(targs: Iterable[Value]) -> list[int]:
    numbers = [constant(t) for t in targs]
    found = [n for n in numbers if n is not None]
    if len(found) < len(numbers):
        raise Unsupported("a sequence of numbers that are not known")
    return found


def _counted(targs: Iterable[Value], ctype: str) -> IntegerSequence:
    """From nothing, or the first limit, up to the last."""
    limits = _numbers(targs)
    if len(limits) not in (1, 2) or limits[-1] - (limits[0] if len(limits) == 2 else 0) > _LONGEST:
        raise Unsupported(f"a sequence that is not of 0 to {_LONGEST} numbers")
    return IntegerSequence(range(*limits), ctype)


def _element(t: Value) -> str:
    if not isinstance(t, ScalarType):
        raise Unsupported("a sequence of numbers of an unknown type")
    return t.dtype.name


@type_maker("seq", "int_sequence")
def _sequence(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(IntegerSequence(_numbers(targs), "int"))


@type_maker("make_seq", "make_int_sequence", "make_range")
def _range(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(_counted(targs, "int"))


@type_maker("make_rseq", "make_int_rsequence")
def _backwards(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(IntegerSequence(reversed(_counted(targs, "int")), "int"))


@type_maker("tuple_seq")
def _places(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(IntegerSequence(range(_length(targs)), "int"))


@type_maker("tuple_rseq")
def _places_backwards(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(IntegerSequence(reversed(range(_length(targs))), "int"))


def _length(targs: Sequence[Value]) -> int:
    """How many elements a tuple has; what is no tuple has no such number."""
    held = targs[0].value if len(targs) == 1 and isinstance(targs[0], ValueType) else None
    if isinstance(held, tuple):
        return len(held)
    raise Unsupported("the places of something that is no tuple")


@type_maker("index_sequence")
def _indices(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(IntegerSequence(_numbers(targs), "size_t"))


@type_maker("make_index_sequence")
def _index_range(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(_counted(targs, "size_t"))


@type_maker("index_sequence_for")
def _indices_of(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(IntegerSequence(range(len(targs)), "size_t"))


@type_maker("integer_sequence")
def _typed_sequence(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(IntegerSequence(_numbers(targs[1:]), _element(targs[0])))


@type_maker("make_integer_sequence")
def _typed_range(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(_counted(targs[1:], _element(targs[0])))


@function("make_coord_iterator")
def _coordinates(c: Call) -> Value:
    """An iterator over the coordinates of a shape, the last argument, from one of them on (cute/int_tuple.hpp).

    In a run pass by pass it is the number that it points to, where the shape is one number.
    """
    begin = c.args[0] if len(c.args) > 1 else 0
    if c.m.dialect.replaying is not None and all(isinstance(n, (int, Dyn)) for n in (begin, c.args[-1])):
        return Scalar(begin, "int")
    return Extern("coordinates", c.span, ExternType(COORDINATES, (ValueType(c.args[-1]),)))


def iterates(v: Value) -> bool:
    """An iterator over coordinates."""
    return isinstance(v, Extern) and isinstance(v.type, ExternType) and v.type.name == COORDINATES


def any_coordinate(m: Machine, shape: Value) -> Value:
    """A run-time coordinate of a shape: what an iterator over it points to somewhere in a loop."""
    if isinstance(shape, ValueType):
        shape = shape.value
    if isinstance(shape, tuple):
        return tuple(any_coordinate(m, s) for s in shape)
    return m.fresh("coordinate", Domain(0, shape - 1 if isinstance(shape, int) and shape > 0 else None))


@function("transform", tolerant=True)
def _transform(c: Call) -> Value:
    """``transform(t, f)`` and ``transform(t, u, f)`` of tuples; of tensors it writes elements: not followed."""
    from cutecheck.source.eval.intrinsics.lazy import flags

    *operands, f = c.args
    lazy = flags(c)
    if lazy is not None:
        return lazy
    c.m.recorder.escape(c.m, [t for t in operands if isinstance(t, TensorVal)], c.span)
    if not operands or not all(isinstance(t, tuple) and len(t) == len(operands[0]) for t in operands):
        return unwalked(c, f, next((t for t in operands if isinstance(t, Unknown)), NOTHING))
    out = []
    for items in zip(*operands, strict=True):
        value = c.m.dialect.to_model(applied(c, f, list(items)))
        if isinstance(value, Unknown):
            return value
        out.append(value)
    return tuple(out)


@function("transform_leaf", tolerant=True)
def _transform_leaf(c: Call) -> Value:
    """``transform_leaf(t, f)`` and ``transform_leaf(t, u, f)``: of what is no tuple in ``t``, with what ``u`` has."""
    *operands, f = c.args
    return c.m.dialect.to_model(_leaves(c, f, operands)) if operands else NOTHING


def _leaves(c: Call, f: Value, at: list[Value]) -> Value:
    first = at[0]
    if isinstance(first, tuple):
        if not all(isinstance(t, tuple) and len(t) == len(first) for t in at):
            why = next((t for t in at if isinstance(t, Unknown)), Unknown("tuples that do not match", c.span))
            return unwalked(c, f, why)
        made = tuple(_leaves(c, f, list(items)) for items in zip(*at, strict=True))
        return next((v for v in made if isinstance(v, Unknown)), made)
    if isinstance(first, (Layout, ComposedLayout, Unknown)):  # a layout is a tuple of its shape and stride
        return unwalked(c, f, first if isinstance(first, Unknown) else Unknown(f"`{c.name}` of a layout", c.span))
    return c.m.dialect.to_model(applied(c, f, at))


@function("transform_apply", tolerant=True)
def _transform_apply(c: Call) -> Value:
    """``transform_apply(t, f, g)`` and ``transform_apply(t, u, f, g)``: ``g(f(t0, u0), f(t1, u1), ...)``."""
    *operands, f, g = c.args
    known = [t.items if isinstance(t, Pack) else t for t in operands]
    same = all(isinstance(t, tuple) and len(t) == len(known[0]) for t in known)
    return _gathered(c, known, range(len(known[0])) if known and same else None, f, g)


@function("tapply", tolerant=True)
def _tapply(c: Call) -> Value:
    """``detail::tapply(t, f, g, seq<I...>)``, and of two or three tuples: ``g(f(get<I>(t)...)...)``."""
    *operands, f, g, numbers = c.args
    known = [t.items if isinstance(t, Pack) else t for t in operands]
    places = [n for n in numbers if isinstance(n, int)] if isinstance(numbers, tuple) else None
    if places is not None and len(places) < len(numbers):
        places = None
    return _gathered(c, known, places, f, g)


def _gathered(c: Call, known: Sequence[Value], places: Iterable[int] | None, f: Value, g: Value) -> Value:
    """``g`` of what ``f`` makes of the elements at these places of tuples; None where it is not known which."""
    at = None if places is None else [*places]
    if at is None or not all(isinstance(t, tuple) and all(i < len(t) for i in at) for t in known):
        why = next((t for t in known if isinstance(t, Unknown)), Unknown("the elements to walk are not known", c.span))
        return unwalked(c, g, unwalked(c, f, why))
    return applied(c, g, [applied(c, f, [t[i] for t in known]) for i in at])


@function("transform_layout", tolerant=True)
def _transform_layout(c: Call) -> Value:
    """A layout of what a function makes of each mode of one, or of those at the same places of two (cute/layout.hpp).

    Modes of the longer one that have no partner stay.
    """
    *operands, f = c.args
    modes = [_modes(t) for t in operands]
    if not modes or len(modes) > 2 or any(m is None for m in modes):
        why = next((t for t in operands if isinstance(t, Unknown)), Unknown("the modes to walk are not known", c.span))
        return unwalked(c, f, why)
    known = [m for m in modes if m is not None]
    made = [c.m.dialect.to_model(applied(c, f, list(items))) for items in zip(*known, strict=False)]
    made += max(known, key=len)[len(made) :]
    refused = next((v for v in made if isinstance(v, Unknown)), None)
    return refused if refused is not None else alg.make_layout(*made)


def _modes(value: Value) -> list[Value] | None:
    if isinstance(value, tuple):
        return list(value)
    return [alg.get(value, i) for i in range(alg.rank(value))] if isinstance(value, (Layout, ComposedLayout)) else None


@function("apply", tolerant=True)
def _apply(c: Call) -> Value:
    """``cute::apply(t, f)`` and ``std::apply(f, t)``: a function of the elements of a tuple."""
    f, items = (c.arg(1), c.arg(0)) if isinstance(c.arg(0), tuple) else (c.arg(0), c.arg(1))
    if not isinstance(items, tuple):
        why = items if isinstance(items, Unknown) else Unknown("the tuple to apply a function to is not known", c.span)
        return unwalked(c, f, why)
    return applied(c, f, list(items))


@function("visit", tolerant=True)
def _visit(c: Call) -> Value:
    """``std::visit(f, v...)`` of ``std::variant``s: which of their types they hold is not known, so all are walked.

    What ``f`` writes is lost before, and each walk undone.
    """
    f = c.arg(0)
    held = [_alternatives(c, v) for v in c.args[1:]]
    first = [values[0] for values in held if values]
    why = Unknown("which of its types a variant holds is not known", c.span)
    done = unwalked(c, f, why, first if len(first) == len(held) else None)
    if not isinstance(f, Closure):
        leaks.leak(c.m, f)
        losses.lost_leaked(c.m, c.span)
    if c.m.dialect.by_value and not c.m.recorder.rehearsal and not c.m.recorder.in_kernel():
        for values in islice(product(*held), _ALTERNATIVES):
            mark = c.m.journal.mark()
            applied(c, f, list(values))
            c.m.journal.undo(mark)
    return done


def _alternatives(c: Call, v: Value) -> list[Value]:
    """What a variant may hold: a value of each of its types, or the object that it was given last."""
    kind = type_of(v)
    if is_variant(kind):
        return [symbolic(c.m, t, "alternative", c.span) for t in kind.args]
    return [v] if isinstance(v, Object) else []


@function("invoke", tolerant=True)
def _invoke(c: Call) -> Value:
    """``std::invoke(f, ...)`` of a function or an object that is called like one."""
    return applied(c, c.arg(0), list(c.args[1:]))


@function("for_each", tolerant=True)
def _for_each(c: Call) -> Value:
    items, f = c.arg(0), c.arg(1)
    if not isinstance(items, tuple):
        why = items if isinstance(items, Unknown) else Unknown("the elements to walk are not known", c.span)
        return unwalked(c, f, why)
    for item in items:
        applied(c, f, [item])
    return NOTHING


def unwalked(c: Call, f: Value, why: Value, arguments: list[Value] | None = None) -> Value:
    """A function is called as often as there are elements, which is not known; with such ``arguments``, if given."""
    from cutecheck.source.eval.unwalked import may_run

    if isinstance(f, Closure) and c.m.dialect.by_value:
        may_run(c.m, f, c.span, arguments)
    return why


def applied(c: Call, f: Value, items: list[Value]) -> Value:
    from cutecheck.source.eval import calls

    if not isinstance(f, (Closure, FuncSet, Object)):
        raise Unsupported(f"`{c.name}` of this function")
    return calls.apply(c.m, f, [c.m.dialect.from_model(x) for x in items], {}, c.span)
