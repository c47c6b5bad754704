"""Operands of one sum that go on with a loop, and others that stay at one tile though they might go on, too."""

from __future__ import annotations

from cutecheck.facts import Event, Loop, TensorFact
from cutecheck.model.expr import Var
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import INDICES
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.resident import loads_one_tile
from cutecheck.rules.derive.stored_over import fixed, in_each_pass, loops_of, variables


@record(frozen=True, slots=True)
class Lone:
    """``stays`` is the same in each pass of a loop that ``moves`` goes on with, at ``at``."""

    at: Event
    stays: TensorFact
    moves: TensorFact
    loads: bool


def lone(gemm: Event, context: Context) -> Lone | None:
    """Of the operands of a product that goes on from pass to pass, one that changes and one that does not."""
    if gemm.kind != "gemm" or len(gemm.operands) < 3 or not gemm.loops or not gemm.kernel or gemm.reason is not None:
        return None
    accumulators = gemm.operands[0 if len(gemm.operands) > 3 else -1]
    first, second = gemm.operands[-3:-1]
    sliced = _slices(gemm, first, second, accumulators)
    if sliced is not None:
        return Lone(gemm, *sliced, False)
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (gemm.kernel, gemm.arch)]
    for loop in gemm.loops:
        if loop.trips is None and not _starts_anew(loop, accumulators, mine, gemm, context):
            loads = [_loads(loop, operand, mine) for operand in (first, second)]
            for a, b in (loads, loads[::-1]):
                if not a or len(b) != 1 or not all(map(_goes_on, a)) or _moves(b[0]):
                    continue
                if all(map(in_each_pass, inner(b[0].guards))) and not loads_one_tile(b[0].span, gemm, context):
                    return Lone(b[0], b[0].operands[0], a[0].operands[0], True)
    return None


def _slices(
    gemm: Event, first: TensorFact, second: TensorFact, sums: TensorFact
) -> tuple[TensorFact, TensorFact] | None:
    """One operand in shared memory of which a loop takes all slices, and another of which it takes one."""
    held, here = variables(sums), [variables(t) for t in (first, second)]
    if held is None or {first.space, second.space} != {"smem"}:
        return None
    for (a, mine), (b, theirs) in (((first, here[0]), (second, here[1])), ((second, here[1]), (first, here[0]))):
        if mine is None or theirs is None:
            continue
        counted = loops_of(mine, gemm)
        for loop, name in counted.items():
            other = theirs | held
            if loop.trips is not None and loop.trips > 1 and not any("#" in v.name for v in other) and name:
                return b, a
    return None


def _starts_anew(loop: Loop, sums: TensorFact, events: list[Event], gemm: Event, context: Context) -> bool:
    """Whether each pass begins other sums, or stores what it has."""
    for e in events:
        takes = e.kind == "copy" and any(t.buffer == sums.buffer for t in e.operands)
        if takes and loop in e.loops:
            return True
    mine = (c for c in context.facts.calls if (c.kernel, c.arch) == (gemm.kernel, gemm.arch) and loop in c.loops)
    return any(
        c.function in ("clear", "fill", "axpby", "transform") or any(
            isinstance(t, TensorFact) and t.buffer == sums.buffer for t in c.arguments
        )
        for c in mine
    )  # fmt: skip


def _loads(loop: Loop, operand: TensorFact, events: list[Event]) -> list[Event]:
    """Copies from global memory to where an operand is, in a loop."""
    return [
        e for e in events
        if e.kind == "copy" and len(e.operands) > 1 and loop in e.loops and operand.space == "smem"
        and e.operands[1].buffer == operand.buffer and operand.buffer and _overlap(e.operands[1], operand)
        and e.operands[0].space in ("gmem", "coord")
    ]  # fmt: skip


def _overlap(one: TensorFact, other: TensorFact) -> bool:
    """The same member of a storage, as far as that is known."""
    return one.root_start_bits == other.root_start_bits


def _changing(event: Event) -> set[Var] | None:
    found = variables(event.operands[0])
    still = fixed(event.operands[0])
    if found is None:
        return None
    return {v for v in found if "#" in v.name and not v.name.startswith(INDICES) and v.name not in still}


def _goes_on(event: Event) -> bool:
    return bool(_changing(event))


def _moves(event: Event) -> bool:
    """Whether it may be another tile in the next pass."""
    found = _changing(event)
    return found is None or bool(found)
