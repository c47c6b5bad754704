"""Tiles that all blocks along an index store to one place, though memory that they read by it says what they load."""

from __future__ import annotations

from cutecheck.facts import Event, Guard, TensorFact
from cutecheck.facts.leftovers import leftovers_of
from cutecheck.model.expr import bounds
from cutecheck.model.ints import Dyn, Rel, as_expr
from cutecheck.model.layout import Layout
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import INDICES, predicates_of
from cutecheck.rules.derive.guards import inner, same_threads_in_all_blocks
from cutecheck.rules.derive.targets import is_own
from cutecheck.rules.derive.vectors import leaves

_BLOCK = "blockIdx."


def stored_by_all(event: Event, context: Context) -> tuple[TensorFact, str] | None:
    """What a kernel with products loads from where numbers in memory say, and the index that no address has, though the
    kernel asks for it: it says which numbers are read. Conditions leave out what is behind ends, and no block."""
    if event.kind != "copy" or len(event.operands) < 2 or event.operands[1].space != "gmem" or event.loops:
        return None
    target = event.operands[1]
    names = _names(target)
    if is_own(event) or names is None or not any(n.startswith(_BLOCK) for n in names):
        return None
    if any(("#" in n or PER_THREAD in n) for n in names - _sizes(target)) or not _by_all(event, context):
        return None
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (event.kernel, event.arch)]
    copies = [e for e in mine if e.kind == "copy" and len(e.operands) > 1]
    if not any(e.kind == "gemm" for e in mine) or any(c.operands[0].buffer == target.buffer for c in copies):
        return None  # the others may add to it
    named = {n for e in mine for t in e.operands for n in _names(t) or ()}
    left = _asked(event, context) - named
    for load in copies if left else ():
        read = (_names(load.operands[0]) or set()) - _sizes(load.operands[0])
        if load.operands[0].space == "gmem" and any(n.startswith("*") for n in read):
            return load.operands[0], min(left)
    return None


def _asked(event: Event, context: Context) -> set[str]:
    """The block indices that a kernel asks for."""
    found: set[str] = set()
    for call in context.facts.calls:
        if (call.kernel, call.arch) == (event.kernel, event.arch):
            told = leftovers_of(call)
            found |= set() if told is None else set(told.blocks)
    return found


def _by_all(event: Event, context: Context) -> bool:
    """Threads of all blocks come there, where ends of matrices and sequences are far away."""
    if event.predicated:
        asked = [p for place in predicates_of(event, context) for p in place]
        if event.predicate is None or not asked or not all(p.complete and p.bounds for p in asked):
            return False
    return all(_of_ends(g) or same_threads_in_all_blocks(g) for g in inner(event.guards))


def _of_ends(guard: Guard) -> bool:
    """A coordinate, or where the tile starts, is compared with an end that may be as far away as one likes."""
    if guard.negated or len(guard.holds) != 1:
        return False
    (c,) = guard.holds
    names = [v.name for v in c.lhs.variables()]  # none: a number from memory may be a flag
    near = bool(names) and all(n.startswith(INDICES) for n in names)
    return c.rel in (Rel.LT, Rel.LE) and near and bounds(c.rhs)[1] is None and PER_THREAD not in str(c.rhs)


def _names(tensor: TensorFact) -> set[str] | None:
    offsets = tensor.offset if isinstance(tensor.offset, tuple) else (tensor.offset,)
    if not all(isinstance(o, (int, Dyn)) for o in offsets):
        return None
    return {v.name for o in offsets if isinstance(o, (int, Dyn)) for v in as_expr(o).variables()}


def _sizes(tensor: TensorFact) -> set[str]:
    root = tensor.root_layout
    modes = leaves(root.shape, root.stride) if isinstance(root, Layout) else None
    return {v.name for mode in modes or () for n in mode if isinstance(n, Dyn) for v in as_expr(n).variables()}


__all__ = ["stored_by_all"]
