"""``if (pred(i, j)) copy(...)``: what an element of a register tensor of bools was computed from.

Only of tensors to which one place of the source assigns, with the coordinates in terms of that place's own variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cutecheck.facts import Bound, Span
from cutecheck.model.expr import Expr, Var
from cutecheck.model.ints import Dyn, Int, as_expr, known_value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

Said = tuple[tuple[Bound, ...], bool]  # comparisons that all hold, and whether they are all that is asked
Flags = tuple[Span | None, dict[tuple[Int, ...], Said]]  # the place that assigns, None of several


def assigned(
    m: Machine, buffer: str, span: Span, coordinate: Sequence[Int] | None, bounds: Sequence[Bound], complete: bool
) -> None:
    """``pred(coordinate) = ...``; an unrolled loop assigns to each element by itself."""
    key = _key(m, buffer)
    if key is None:
        return
    at, found = m.recorder.flags.get(key, (span, {}))
    if at != span or coordinate is None:
        m.recorder.flags[key] = None, {}
        return
    one_by_one = all(known_value(x) is not None for x in coordinate)
    m.recorder.flags[key] = span, {**(found if one_by_one else {}), tuple(coordinate): (tuple(bounds), complete)}


def asked(m: Machine, buffer: str, coordinate: Sequence[Int] | None) -> tuple[list[Bound], bool]:
    """What is known where an element is true."""
    key = _key(m, buffer)
    _, found = m.recorder.flags.get(key, (None, {})) if key is not None else (None, {})
    if coordinate is None:
        return [], False
    same = found.get(tuple(coordinate))
    if same is not None:
        return list(same[0]), same[1]
    if len(found) != 1:
        return [], False
    (written, (bounds, complete)), = found.items()  # fmt: skip
    instead = _renamed(written, coordinate)
    return ([], False) if instead is None else ([_with(b, instead) for b in bounds], complete)


def _key(m: Machine, buffer: str) -> tuple[str, str] | None:
    return None if m.recorder.frame is None else (buffer, m.recorder.frame.kernel)


def _renamed(written: Sequence[Int], asked: Sequence[Int]) -> dict[str, Expr] | None:
    """What stands for the variables that an element was assigned to by, in terms of those that ask."""
    instead: dict[str, Expr] = {}
    if len(written) != len(asked):
        return None
    for mine, theirs in zip(written, asked, strict=True):
        if known_value(mine) is not None:
            if known_value(mine) != known_value(theirs):
                return None
            continue
        terms = as_expr(mine).terms
        bare = len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1
        v = terms[0][0][0] if bare else None
        if not isinstance(v, Var) or v.name in instead:
            return None
        instead[v.name] = as_expr(theirs)
    return instead


def _with(bound: Bound, instead: dict[str, Expr]) -> Bound:
    value, limit, *coordinates = (_put(x, instead) for x in (bound.value, bound.limit, *bound.coordinates))
    return Bound(value, limit, tuple(coordinates))


def _put(value: Int, instead: dict[str, Expr]) -> Int:
    if known_value(value) is not None:
        return value
    found = as_expr(value).substitute(instead)
    return Dyn(found) if found.constant is None else found.constant
