"""Sums that each pass of a loop begins anew, where the passes are those of one sum."""

from __future__ import annotations

from cutecheck.facts import Call, Event, Loop, TensorFact
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import INDICES
from cutecheck.rules.derive.stored_over import fixed, loops_of, variables


def goes_on(loop: Loop, call: Call, context: Context) -> bool:
    """Whether something that a kernel copies or multiplies in a loop is another part of its tensor in each pass: else
    the same work may be done several times, as to time it."""
    if loop.trips is not None and loop.trips < 2:
        return False
    for event in context.facts.events:
        at = next((i for i, x in enumerate(event.loops) if x.span == loop.span), None)  # when it was entered, too,
        if (event.kernel, event.arch) == (
            call.kernel,
            call.arch,
        ) and at is not None:  # is counted anew where units meet
            read = event.operands[-3:-1] if event.kind == "gemm" else event.operands[:1]
            if any(_moves(t, event, at) for t in read):
                return True
    return False


def _moves(tensor: TensorFact, event: Event, at: int) -> bool:
    """Whether where a tensor starts hangs on a pass of one of the loops around: on as many counters as there are loops
    to this one, not counting those of loops inside of it, whose numbers of passes are known."""
    where = variables(tensor) or set()
    known = loops_of(where, event)
    if any(x.trips is None for x in event.loops[at + 1 :]):
        return False
    still = fixed(tensor) | {known[x] for x in event.loops[at + 1 :] if x in known}
    open_ = {v.name for v in where if "#" in v.name and not v.name.startswith(INDICES)}
    return event.loops[at] in known or len(open_ - still) > at
