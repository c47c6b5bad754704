"""First tiles that start before their matrix: the short one, ``k - 32 * ceil_div(k, 32)``, taken before the others."""

from __future__ import annotations

import math
from dataclasses import replace

from cutecheck.facts import Event, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import INDICES, Guarded, guarded, predicates_of
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.tile_starts import along, only


@record(frozen=True, slots=True)
class Before:
    """A global tensor, the mode along which the thread's first element may be one before the first, and where it is."""

    tensor: TensorFact
    mode: int
    extent: Expr
    position: Expr


def before_start(event: Event, context: Context) -> Before | None:
    """A copy that takes what lies before a matrix: nothing that it is under says that its coordinates are not negative.

    Of tensors that were moved back along a mode by what its extent lacks to whole tiles, and of tiles whose position
    the extent, threads, and numbers that are not negative say.
    """
    for tensor in event.operands[:2]:
        part = guarded(tensor)
        if part is None or _not_followed(event, context):
            continue
        for mode, extent in enumerate(part.extents):
            name, position = only(as_expr(extent)), along(part, mode)
            short = None if name is None or position is None else lacks(position, name)
            if position is None or short is None or _asked(event, part, mode, context):
                continue
            if _refuted(event, position, short, context):
                return Before(tensor, mode, as_expr(extent), position)
    return None


@record(frozen=True, slots=True)
class Short:
    """``lacking``: ``extent - tile * ceil_div(extent, tile)``, which is not greater than 0."""

    extent: Var
    tile: int
    lacking: Expr


def lacks(position: Expr, extent: Var) -> Short | None:
    """By how much the extent is no whole number of tiles, where a position is that and more that is not negative."""
    back = [
        (factors[0], many) for factors, many in position.terms
        if len(factors) == 1 and isinstance(factors[0], Op) and factors[0].kind == "div" and many < 0
    ]  # fmt: skip
    if len(back) != 1:
        return None
    (tiles, many), = back  # fmt: skip
    whole = ex.op("div", ex.add(ex.atom_expr(extent), ex.const(-many - 1)), ex.const(-many))
    lacking = ex.sub(ex.atom_expr(extent), ex.mul(ex.const(-many), whole))
    rest = ex.sub(position, lacking)
    if whole != ex.atom_expr(tiles) or extent in rest.variables():
        return None
    if any(n < 0 for _, n in rest.terms) or any(map(_may_be_negative, rest.variables())):
        return None
    return Short(extent, -many, lacking)


def _may_be_negative(v: Var) -> bool:
    low, _ = v.domain.bounds()
    return not v.name.startswith(INDICES) and (low is None or low < 0)


def _not_followed(event: Event, context: Context) -> bool:
    """Some part of what decides whether the element is copied is not known."""
    if any(not (g.bounds and g.complete) and not g.holds and not g.alike for g in inner(event.guards)):
        return True
    asked = predicates_of(event, context) if event.predicated else []
    return event.predicated and (not asked or not all(p.complete and p.bounds for ps in asked for p in ps))


def _asked(event: Event, part: Guarded, mode: int, context: Context) -> bool:
    """A predicate says of some element's coordinate that it is more than a number: ``-1 < coordinates(0, i, k)[1]``."""
    many, kept = part.kept or (len(part.extents), tuple(range(len(part.extents))))
    for bound in (b for ps in predicates_of(event, context) for p in ps for b in p.bounds):
        if known_value(bound.value) is None:
            continue
        own = kept[mode] if len(bound.coordinates) == many else mode
        if own >= len(bound.coordinates) or as_expr(bound.limit) == as_expr(bound.coordinates[own]):
            return True
    return False


def _refuted(event: Event, position: Expr, short: Short, context: Context) -> bool:
    """What the extent lacks to whole tiles stands for it where nothing is known of it: any number below the tile's."""
    extent, guards = short.extent, [c for g in inner(event.guards) for c in g.holds]
    known = [h.condition for h in event.hypotheses]
    lack = ex.var("lacking", Domain(0, short.tile - 1, math.gcd(extent.domain.step, short.tile)))

    def of_extent(*sides: Expr) -> bool:
        return any(v.name == extent.name for side in sides for v in side.variables())

    def put(e: Expr) -> Expr:
        times = sum(many for factors, many in e.terms if factors == (extent,))
        rest = ex.sub(e, ex.mul(ex.const(times), short.lacking))
        return e if of_extent(rest) else ex.sub(rest, ex.mul(ex.const(times), lack))

    inside = Condition(Rel.LE, ex.const(0), put(position))
    given = [replace(c, lhs=put(c.lhs), rhs=put(c.rhs)) for c in guards]
    bounded = extent.domain.values is not None or extent.domain.bounds()[1] is not None
    if bounded or any(of_extent(c.lhs, c.rhs) for c in (*known, *given)):
        inside = Condition(Rel.LE, ex.const(0), position)
        given = [Condition(Rel.LT, ex.const(0), ex.atom_expr(extent)), *guards]  # there are elements
    of_it = {*inside.rhs.variables()}
    given = [c for c in given if of_it & {*c.lhs.variables(), *c.rhs.variables()}]
    outcome = context.prove(
        make_obligation(Holds((inside,), "first element"), (event.event_id,), arch=event.arch, span=event.span,
                        hypotheses=[*known, *given])
    )  # fmt: skip
    return outcome.verdict is Verdict.REFUTED
