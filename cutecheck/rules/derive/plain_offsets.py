"""Predicates that compare plain numbers, ``offset < n``, with the extent of the only mode that a copy goes along."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import Event, Predicate, TensorFact
from cutecheck.facts.core import Bound
from cutecheck.model.ints import as_expr, known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import thread_count
from cutecheck.rules.derive.coordinates import Guarded, block_modes, guarded
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.instructions import astray
from cutecheck.rules.derive.predicates import Fault, elsewhere

_FAR = 1 << 24  # elements of a row


def of_other_offsets(event: Event, context: Context) -> tuple[TensorFact, Fault] | None:
    """A number that is compared with an extent is the offset of another element than the copy's."""
    asked = _asked(event, context)
    threads = thread_count(event)
    for tensor in event.operands[:2] if asked and threads is not None else ():
        part = guarded(tensor)
        if part is None or threads is None or not _alone(asked, part):
            continue
        own = [replace(p, bounds=tuple(map(_itself, p.plain)), complete=True) for p in asked]
        row = replace(part, tile=(_FAR,))  # the copies go past its end, and there is no other mode
        apart = astray(_under(event), own, tensor, row, threads)
        if apart is not None:
            which = f"instruction {apart.instruction}" if any(apart.instruction) else f"thread {apart.thread}"
            first = "that of the first" if any(apart.instruction) else "that of thread 0"
            return tensor, elsewhere(apart, which, first, tensor)
    return None


def _asked(event: Event, context: Context) -> list[Predicate]:
    """Of one place of the source: what is compared for a predicate tensor, or for its element that is asked for."""
    if event.predicate is not None:
        found = context.index.plain(event)
        return found if len({p.span for p in found}) == 1 else []
    guards = [g for g in inner(event.guards) if g.plain and not g.negated]
    if len(guards) != 1 or any(g.bounds for g in inner(event.guards)):
        return []
    return [Predicate("", g.span, (), True, event.enclosing, event.arch, plain=g.plain) for g in guards]


def _alone(asked: list[Predicate], part: Guarded) -> bool:
    """The comparisons are with the extent of the copy's only mode, along which no block goes on."""
    if len(part.extents) != 1 or block_modes(part):
        return False
    extent, bounds = as_expr(part.extents[0]), [b for p in asked for b in p.plain]
    values = {v.name for b in bounds for v in as_expr(b.value).variables()}
    alike = all(as_expr(b.limit) == extent for b in bounds)
    return alike and not any(n.startswith("blockIdx.") for n in values) and known_value(part.tile[0]) != 1


def _itself(bound: Bound) -> Bound:
    return replace(bound, coordinates=(bound.value,))


def _under(event: Event) -> Event:
    """The copy under what it compares, where that is a condition."""
    guards = tuple(
        replace(g, bounds=tuple(map(_itself, g.plain)), complete=True) if g.plain else g for g in event.guards
    )
    return replace(event, guards=guards)


__all__ = ["of_other_offsets"]
