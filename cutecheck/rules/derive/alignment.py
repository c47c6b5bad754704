"""Contiguity and alignment of the vectors of an access: they come before bank conflicts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

from cutecheck.model.identity import once
from cutecheck.model.ints import as_expr, known_value
from cutecheck.model.layout import SwizzleUnit
from cutecheck.model.prove import Obligation, Outcome, Verdict, make_obligation
from cutecheck.model.prove.properties import THREAD, Alignment
from cutecheck.model.units import BYTE, Bytes
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import SMEM_BASE, Access
from cutecheck.rules.derive.contracts import open_variables, prove_or_contract
from cutecheck.rules.derive.vectors import contiguous_elements


def splits(access: Access) -> str:
    """Why the elements of one instruction are not one vector in memory; empty when they are."""
    if access.instruction.automatic:
        return ""
    if swizzle_splits(access):
        return "the swizzle moves parts of a vector"
    run = contiguous_elements(access.vector)
    if run < access.count:
        dynamic = next((s for e, s in access.vector if e != 1 and not isinstance(s, int)), None)
        if dynamic is not None and any(v.name == THREAD for v in as_expr(dynamic).variables()):
            dynamic = None  # of a swizzled tile that was sliced: how far it is depends on the thread
        if run == 1 and dynamic is not None:
            return f"the stride of its contiguous mode is the run-time `{dynamic}`, not a static 1"
        return f"{run} contiguous, the instruction needs {access.count}"
    return ""


def swizzle_splits(access: Access) -> bool:
    """The tensor's swizzle moves pieces smaller than a vector."""
    swizzle = access.root_swizzle
    if swizzle is None:
        return False
    unit = access.element_bits if swizzle.unit is SwizzleUnit.ELEMENT else BYTE
    return unit << swizzle.base < access.bits


def alignment_outcome(access: Access, context: Context) -> Outcome | None:
    """The outcome for ``every vector is aligned``; None where a vector is one byte or is split."""
    if access.bits <= BYTE or splits(access):
        return None
    start = misplaced(access, context)
    if start is not None:  # an allocation starts at a multiple of 16 bytes, its member does not
        access = replace(access, base=Bytes(math.gcd(int(SMEM_BASE), start)), base_known=True)
    obligation = _obligation(access)
    payload = cast(Alignment, obligation.objects)
    variables = open_variables(payload.offset, payload.rest.stride)
    return prove_or_contract(obligation, variables, access.count, context)


def misplaced(access: Access, context: Context) -> int | None:
    """Where in its struct a member starts, if no vector can be aligned for that; None of all others."""
    if access.tensor.space != "smem" or access.base_known or int(access.width_bytes) > int(SMEM_BASE):
        return None
    found = context.index.buffers.get((access.tensor.buffer or "", access.event.arch), [])
    starts = {None if b.start_bytes is None else known_value(b.start_bytes) for b in found}
    start = next(iter(starts)) if len(starts) == 1 else None
    return int(start) if start is not None and int(start) % int(access.width_bytes) else None


@once
def _obligation(access: Access) -> Obligation:
    event = access.event
    assumptions = () if access.base_known else (f"`{access.tensor.name}` starts at a multiple of {access.base} bytes",)
    return make_obligation(
        access.alignment(),
        (event.event_id,),
        hypotheses=[h.condition for h in event.hypotheses],
        assumptions=assumptions,
        arch=event.arch,
        span=event.span,
    )


def vector_faults(access: Access, context: Context) -> bool:
    """True when the access has no meaning as whole aligned vectors."""
    if splits(access):
        return True
    outcome = alignment_outcome(access, context)
    return outcome is not None and outcome.verdict is Verdict.REFUTED
