"""Numbers that a thread makes of its part of a fragment, and the lanes with which shuffles bring them together.

``tensor.load().reduce(...)`` is followed by the objects that stand for its values: through arithmetic with other
values, and through ``op(x, shuffle(x))``, whatever ``op`` is. What is stored and loaded again is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.model.ints import Dyn, known_value
from cutecheck.records import record
from cutecheck.source.eval.values import Extern, Scalar, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_WARP = 32
_MOST = 256  # values that are followed at a time: they are used soon


@record(frozen=True, slots=True)
class Lanes:
    """Values of ``tensor``, or one number that they were reduced to at ``span`` and that ``offsets`` brought together.

    ``by``: it is what the lane at this offset has.
    """

    tensor: TensorVal
    span: Span | None = None
    offsets: frozenset[int] = frozenset()
    by: int | None = None


def made(m: Machine, value: Value, lanes: Lanes | None) -> Value:
    """The value, of which is known from now on where it comes from."""
    if lanes is not None and isinstance(value, (Scalar, Extern, Dyn)):
        latest = m.recorder.lanes
        if len(latest) >= _MOST:
            del latest[next(iter(latest))]
        latest[id(value)] = value, lanes
    return value


def of(m: Machine, value: Value) -> Lanes | None:
    """Where a value comes from; None where that is not followed."""
    held = m.recorder.lanes.get(id(value)) if m.recorder.lanes else None
    return held[1] if held is not None and held[0] is value else None


def passed(m: Machine, value: Value, given: list[Value], span: Span) -> Value:
    """What an operator or function makes of the values that it is given."""
    if not m.recorder.lanes:
        return value
    known = [x for x in (of(m, v) for v in given) if x is not None]
    if not known:
        return value
    own = [x for x in known if x.by is None]
    others = [x for x in known if x.by is not None]
    if not others:
        vectors = {x.span is None for x in own}
        return made(m, value, own[0]) if len(own) == 1 or vectors == {True} else value
    same = own and all(x.span is not None and x.span == own[0].span for x in known)
    if not same or len(own) != 1 or len(others) != 1:
        return value
    return _together(m, value, own[0], {others[0].by or 0}, span)


def reduced(m: Machine, value: Value, vector: Value, span: Span) -> Value:
    """One number of all values of a vector."""
    lanes = of(m, vector)
    return made(m, value, None if lanes is None else Lanes(lanes.tensor, span))


def shuffled(m: Machine, value: Value, given: Value, by: Value, span: Span) -> Value:
    """What another lane has."""
    lanes, offset = of(m, given), known_value(by) if isinstance(by, (int, Dyn)) else None
    known = lanes is not None and lanes.span is not None and lanes.by is None and offset in (1, 2, 4, 8, 16)
    if not known or lanes is None:
        elsewhere(m, given, span)
        return value
    return made(m, value, Lanes(lanes.tensor, lanes.span, lanes.offsets, offset))


def elsewhere(m: Machine, given: Value, span: Span) -> None:
    """A number goes to lanes that are not told apart here: it may come to all of them."""
    lanes = of(m, given)
    if lanes is not None and lanes.span is not None:
        m.recorder.across(lanes.tensor, lanes.span, lanes.offsets | {1, 2, 4, 8, 16}, span)


def grouped(m: Machine, value: Value, given: Value, group: Value, span: Span) -> Value:
    """What ``warp_reduction`` makes of each ``group`` lanes side by side."""
    lanes, many = of(m, given), known_value(group) if isinstance(group, (int, Dyn)) else None
    if lanes is None or lanes.span is None or lanes.by is not None or many not in (1, 2, 4, 8, 16, _WARP):
        elsewhere(m, given, span)
        return value
    return _together(m, value, lanes, {1 << i for i in range(5) if 1 << i < (many or 0)}, span)


def _together(m: Machine, value: Value, lanes: Lanes, more: set[int], span: Span) -> Value:
    whole = Lanes(lanes.tensor, lanes.span, lanes.offsets | more)
    if lanes.span is not None:
        m.recorder.across(lanes.tensor, lanes.span, whole.offsets, span)
    return made(m, value, whole)
