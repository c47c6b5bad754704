"""Sums that a thread goes on with in its next tile: accumulators that nothing sets anew, though each tile uses them."""

from __future__ import annotations

from cutecheck.facts import Span
from cutecheck.facts.replayed import Place, Step, Thread
from cutecheck.rules.derive.faults import Fault

_FEW = 2  # uses of a sum that tell of several tiles
_NO_REGISTERS = ("barrier", "named", "load", "drain", "call")


def carried(threads: tuple[Thread, ...], tiles: int) -> Fault | None:
    """The first product of a next tile, of a run in which a block has some: since the first product nothing sets these
    accumulators, and what computes with them, or stores them, is asked for again and again after products.

    What a statement computes of them and puts back (``acc *= scale``) sets nothing anew. A sum over all tiles is used
    once, behind them; one that goes on over parts of a tile is begun anew with the next one.
    """
    for thread in threads if tiles > 1 else ():
        if not thread.complete:
            continue
        for buffer in dict.fromkeys(s.places[-1].buffer for s in thread.steps if _adds(s)):
            found = _goes_on([s for s in thread.steps if any(p.buffer == buffer for p in s.places)], buffer)
            if found is not None:
                return Fault("carried", found[0], _place(found[0], buffer), found[1])
    return None


def _adds(step: Step) -> bool:
    """A product that is added to registers."""
    return step.kind == "gemm" and step.adds is not False and step.places[-1].space == "rmem"


def _goes_on(steps: list[Step], buffer: str) -> tuple[Step, Step] | None:
    """A product behind a use of the sum, and the use, where no step but those sets it."""
    products = [i for i, s in enumerate(steps) if s.kind == "gemm" and s.places[-1].buffer == buffer]
    if not products or any(steps[i].adds is not True for i in products[1:]):
        return None
    used: dict[Span, list[int]] = {}
    reads = [s.span for s in steps if s.kind == "use" or (s.kind == "copy" and s.places[0].buffer == buffer)]
    written: list[Span] = []
    for at, step in enumerate(steps[products[0] + 1 :], products[0] + 1):
        if step.kind == "gemm" or step.kind in _NO_REGISTERS:
            if step.kind == "gemm" and at not in products:
                return None  # an operand of another product
            continue
        if step.kind == "use" or (step.kind == "copy" and step.places[0].buffer == buffer):
            used.setdefault(step.span, []).append(at)
            continue
        if step.kind == "computes":
            continue
        if not any(step.span == read or step.span.holds(read) for read in reads):
            return None  # set anew, perhaps
        written.append(step.span)
    for span, ats in used.items():
        itself = any(w == span or w.holds(span) or span.holds(w) for w in written)
        between = [i for i in products if ats[0] < i < ats[-1]]
        if not itself and len(ats) >= _FEW and between:
            return steps[between[0]], steps[ats[0]]
    return None


def _place(step: Step, buffer: str) -> Place:
    return next(p for p in step.places if p.buffer == buffer)


__all__ = ["carried"]
