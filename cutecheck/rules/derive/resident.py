"""Operands that stay in shared memory because their matrix is one tile, and tiles there that conditions leave out."""

from __future__ import annotations

from cutecheck.facts import Call, Event, Span, TensorFact, Unknown
from cutecheck.model.algebra import get, rank, size
from cutecheck.model.ints import CuteError, UndecidedError, known_value
from cutecheck.model.layout import AnyLayout
from cutecheck.rules.base import Context
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.stored_over import in_each_pass


def one_tile(fault: Fault, call: Call, context: Context) -> bool:
    """Whether the copy that fills what stays (or is multiplied with several tiles: one of the two operands) brings all
    of a matrix, which is no longer along K than other tiles are.

    A matrix of several tiles along K, all of which are in shared memory at a time, has more than one.
    """
    if fault.kind == "mixed":
        copies = [e for e in context.facts.events if (e.kernel, e.arch, e.kind) == (call.kernel, call.arch, "copy")]
        loads = {e.span for e in copies if e.operands[-1].space == "smem" and e.operands[0].space == "gmem"}
        return any(loads_one_tile(at, call, context) for at in loads)
    return fault.other is not None and loads_one_tile(fault.other.span, call, context)


def loads_one_tile(at: Span, of: Call | Event, context: Context) -> bool:
    """So it is of the copy at a place of a kernel."""
    copies = [e for e in context.facts.events if (e.kernel, e.arch, e.kind) == (of.kernel, of.arch, "copy")]
    stays = [e for e in copies if e.span == at and len(e.operands) > 1]
    others = [e.operands[1] for e in copies if e not in stays and len(e.operands) > 1 and e.operands[1].space == "smem"]
    known = [depth for t in others if (depth := _extent(t, 1)) is not None]
    return bool(stays and known) and all(
        _is_whole(e) and (depth := _extent(e.operands[1], 1)) is not None and depth <= max(known) for e in stays
    )


def read_in_some_passes(fault: Fault, call: Call, context: Context) -> bool:
    """Whether all that reads the buffer does so under a condition that leaves out passes of a loop, and is not the
    fill's, too."""
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (call.kernel, call.arch)]
    reads = [
        e for e in mine for at, t in enumerate(e.operands)
        if t.space == "smem" and t.buffer == fault.place.buffer and not (e.kind == "copy" and at == 1)
    ]  # fmt: skip
    fills = [set(e.guards) for e in mine if e.span == fault.step.span]
    both = set.intersection(*fills) if fills else set()
    return bool(reads) and all(not all(map(in_each_pass, inner(g for g in e.guards if g not in both))) for e in reads)


def _is_whole(copy: Event) -> bool:
    """All threads together copy as many elements as the matrix has; of registers it is not known which that is."""
    source, threads = copy.operands[0], None if copy.threads is None else known_value(copy.threads)
    if source.space == "rmem":
        return False
    whole, mine = _size(source.root_layout), _size(source.layout)
    return None not in (whole, mine, threads) and (mine or 0) * (threads or 0) >= (whole or 0)


def _size(layout: AnyLayout | Unknown | None) -> int | None:
    try:
        return None if layout is None or isinstance(layout, Unknown) else known_value(size(layout))
    except (CuteError, UndecidedError):
        return None


def _extent(tensor: TensorFact, mode: int) -> int | None:
    root = tensor.root_layout
    try:
        return known_value(size(get(root, mode))) if root is not None and rank(root) > mode else None
    except (CuteError, UndecidedError):
        return None
