"""Bank conflicts of the accesses of a copy, shared by the rules that report them under different names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from cutecheck.facts import Event, TensorFact
from cutecheck.findings import Related, Severity
from cutecheck.model.identity import once
from cutecheck.model.layout import SwizzleUnit
from cutecheck.model.prove import Obligation, Options, Outcome, Verdict, make_obligation
from cutecheck.model.tiled import TiledMMA
from cutecheck.records import record
from cutecheck.rules.base import Context, LeftToParentError
from cutecheck.rules.derive import heat
from cutecheck.rules.derive.accesses import Access, Opaque, sides
from cutecheck.rules.derive.alignment import vector_faults
from cutecheck.rules.derive.buffers import Suggestion, groups, offered, suggestions
from cutecheck.rules.derive.lanes import lone_thread, undecided

Cause = Literal["read", "write", "epilogue", "swizzle"]


@record(frozen=True, slots=True)
class Conflict:
    """A refuted obligation: one warp instruction takes ``wavefronts`` where ``ideal`` would do."""

    access: Access
    outcome: Outcome
    wavefronts: int
    ideal: int
    cause: Cause

    @property
    def excess(self) -> int:
        return self.wavefronts - self.ideal


def conflicts(event: Event, context: Context) -> Iterator[Conflict]:
    """The conflicts of a copy. Accesses whose vectors are split or misaligned are left to the rules for those."""
    for access in sides(event):
        if isinstance(access, Opaque):
            if access.tensor.space == "smem":
                context.unknown("bank-conflict-free", event, access.side, access.reason)
            continue
        obligation = _obligation(access)
        if obligation is None or vector_faults(access, context):
            continue
        outcome = context.prove(obligation)
        waves, ideal = outcome.number("wavefronts"), outcome.number("ideal")
        if outcome.verdict is Verdict.REFUTED and waves and ideal:
            if lone_thread(event) and undecided(event):
                context.record(replace(outcome, verdict=Verdict.UNKNOWN, witness=None, reason="a guard selects lanes"))
                continue
            if _same_bytes(outcome) and any(not p.complete for p in context.index.predicates_for(event)):
                why = "a predicate may select one of the lanes that copy to the same bytes"
                context.record(replace(outcome, verdict=Verdict.UNKNOWN, witness=None, reason=why))
                continue
            yield Conflict(access, outcome, waves, ideal, cause(access))


def _same_bytes(outcome: Outcome) -> bool:
    """Whether the lanes that meet in a bank copy to the same bytes there."""
    met = dict(outcome.witness.values) if outcome.witness is not None else {}
    return "byte_a" in met and met["byte_a"] == met["byte_b"]


@once
def _obligation(access: Access) -> Obligation | None:
    payload, event = access.bank(), access.event
    if payload is None:
        return None
    hypotheses = [h.condition for h in event.hypotheses]
    return make_obligation(payload, (event.event_id,), hypotheses=hypotheses, arch=event.arch, span=event.span)


def cause(access: Access) -> Cause:
    """Which rule an access belongs to."""
    if mismatched_swizzle(access):
        return "swizzle"
    if access.side == "src":
        return "read"
    source = access.event.operands[0]
    accumulators = source.provenance == "retile" or isinstance(source.source, TiledMMA)
    return "epilogue" if source.space == "rmem" and accumulators else "write"


def mismatched_swizzle(access: Access) -> bool:
    """An element swizzle whose granule is neither 16 bytes nor the access's width: parameters of another type."""
    swizzle = access.root_swizzle
    if swizzle is None or swizzle.unit is not SwizzleUnit.ELEMENT:
        return False
    granule = access.element_bits << swizzle.base
    return granule not in (128, access.bits)


def severity(conflict: Conflict, context: Context) -> Severity:
    """A note where it is paid once, before the main loop or, unless dear, after it."""
    found, ideal = conflict.wavefronts, conflict.ideal
    return heat.severity(conflict.access.event, found, ideal, heat.DEAR_WAVEFRONTS, context)


def message(conflict: Conflict) -> str:
    """What happens, in numbers."""
    access = conflict.access
    verb = {"ld": "load", "st": "store"}.get(access.instruction.kind, access.instruction.kind)
    width = f"{access.width_bytes}-byte {verb}" if verb in ("load", "store") else verb
    preposition = "of" if access.side == "src" else "to"
    article = "an" if width.startswith("ldm") else "a"
    return (
        f"{article} {width} {preposition} `{access.tensor.name}` takes {conflict.wavefronts} wavefronts "
        f"a warp instruction where {conflict.ideal} would do ({conflict.excess} in excess)"
    )


def cost(conflict: Conflict) -> str:
    """How much of it there is."""
    event, count = conflict.access.event, conflict.access.instructions
    where = "inside a loop" if event.loop_depth else "outside any loop"
    if count is None:
        return f"{where}, an open number of instructions"
    warps = -(-conflict.access.threads // 32)
    extra = conflict.excess * count * warps * 128
    return (
        f"{where}; up to {extra} bytes of extra shared-memory bandwidth each time ({count} instructions, {warps} warps)"
    )


# buffers of one run that a layout is sought for: a search takes seconds where the buffer has many accesses
MAX_REMEDIES = 8


def remedy(conflict: Conflict, context: Context, generic: str) -> str:
    """The layout proved for every known access of the buffer; ``generic`` where there is none."""
    if _same_bytes(conflict.outcome):
        return "cp.async does not merge threads that copy to the same bytes, whatever the layout: let one of them copy"
    event, buffer = conflict.access.event, conflict.access.tensor.buffer
    if buffer is None:
        return generic
    key = (buffer, event.enclosing, event.arch)
    found = suggestion(key, context)
    if key not in context.remedies:
        return f"{generic}; `cutecheck suggest {event.span.path}:{event.span.line}` looks for a proved one"
    if found is None:
        return generic
    return found.text + ("" if found.safe else " (unsafe: not every access of the buffer is known)")


def suggestion(key: tuple[str, str, str], context: Context, unlimited: bool = False) -> Suggestion | None:
    """The one layout that frees a buffer (id, instantiation, architecture), sought for the first few of a run only."""
    if key not in context.remedies and context.journal is not None:
        raise LeftToParentError
    if key not in context.remedies and (unlimited or len(context.remedies) < MAX_REMEDIES):
        context.remedies[key] = _suggestion(key, context)
    return context.remedies.get(key)


def _suggestion(key: tuple[str, str, str], context: Context) -> Suggestion | None:
    for group in groups(context.facts, key):
        found = suggestions(group, context.facts, Options(cache={}))
        if len(found) == 1 and not isinstance(found[0], str) and offered(found[0].synthesis):
            return found[0]
    return None


def shown(tensor: TensorFact) -> str:
    """The whole tensor's layout, or the operand's own where it was not partitioned."""
    if tensor.root_layout is not None:
        return f"part of {tensor.root_layout}"
    return f"layout {tensor.layout}"


def related(conflict: Conflict) -> list[Related]:
    """The operand and the copy it goes through."""
    access = conflict.access
    found = [Related(access.tensor.span, shown(access.tensor))]
    if access.event.tiled_span:
        found.append(Related(access.event.tiled_span, f"{access.instruction.name}"))
    return found
