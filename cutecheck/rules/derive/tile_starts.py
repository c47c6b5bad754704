"""Where tiles start along the modes of their matrix, by block indices and its extents, and whose extents limits are."""

from __future__ import annotations

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Var
from cutecheck.model.ints import Int, as_expr, known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import (
    Guarded,
    block_modes,
    guarded,
    left_of,
    predicates_of,
    variables_of,
)
from cutecheck.rules.derive.guarded_stores import stored_elements


def foreign(limit: Int, mode: int, part: Guarded, event: Event, context: Context) -> str | None:
    """The global tensor of the same kernel whose extent a limit is, where it is none of this tensor's.

    Only one that another block index moves along that mode, or in other steps, is certainly another matrix's: code that
    computes one predicate for all operands of an elementwise kernel means tensors of one shape. So is any where the
    tile is counted from the end of this tensor's own mode (the last one of ``ceil_div(rows, 64)``), and other copies of
    the kernel are compared with that one's extent.
    """
    if known_value(limit) is not None or any(left_of(limit, e) is not None for e in part.extents):
        return None
    from_end = _from_end(part, mode) and _is_limit(part.extents[mode], event, context)
    if any(known_value(e) is not None for e in part.extents):
        return None
    found: str | None = None
    every: list[Event | Call] = [*context.facts.events, *stored_elements(context)]
    for other in every:
        alike = other.kernel == event.kernel if event.kernel else other.enclosing == event.enclosing
        if not alike or other.arch != event.arch:
            continue  # helpers copy each operand of a kernel in an instantiation of their own
        for tensor in other.operands if isinstance(other, Event) else other.arguments[:1]:
            if not isinstance(tensor, TensorFact):
                continue
            whole = guarded(tensor)
            if whole is None:
                continue
            its = [i for i, e in enumerate(whole.extents) if left_of(limit, e) is not None]
            walks, mine = [_walk(whole, i) for i in its], _walk(part, mode)
            if not from_end and any(walk is None or mine in (None, walk) for walk in walks):
                return None
            if its:
                found = found or tensor.name
    return found


def _is_limit(extent: Int, event: Event, context: Context) -> bool:
    """Some other copy of the kernel is compared with an extent, or with what is left of it."""
    where = (event.kernel, event.arch, "copy")
    others = [e for e in context.facts.events if (e.kernel, e.arch, e.kind) == where and e.span != event.span]
    around = [b for e in others for g in e.guards for b in g.bounds]
    asked = [b for e in others for ps in predicates_of(e, context) for p in ps for b in p.bounds]
    return any(left_of(b.limit, extent) is not None for b in (*around, *asked))


def _from_end(part: Guarded, mode: int) -> bool:
    """The tile is counted from the end of its own mode, whatever block it is of."""
    own, start, of_block = only(as_expr(part.extents[mode])), along(part, mode), block_start(part, mode)
    if own is None or start is None or of_block is None:
        return False
    return own in ex.sub(start, of_block).variables()


def _walk(part: Guarded, mode: int) -> tuple[str, int] | None:
    """What of the block indices moves a tensor along a mode, and the tile's extent."""
    index, size = block_modes(part).get(mode), known_value(part.tile[mode])
    own = {v.name: ex.var(f"extent {i}") for i, e in enumerate(part.extents) if (v := only(as_expr(e))) is not None}
    start = block_start(part, mode)
    if start is None or not start.terms or not size:
        return None if index is None or size is None else (index, size)
    return None if any(many % size for _, many in start.terms) else (str(start.substitute(own)), size)


def along(part: Guarded, mode: int) -> Expr | None:
    """Where the thread's first element stands along a mode: what the mode's stride is multiplied by.

    None where strides do not tell modes apart: each is a variable of its own, or 1.
    """
    strides = (*part.strides, *(s for _, s in part.left))
    alone = [only(as_expr(s)) for s in strides]
    if not all(v is not None or known_value(s) == 1 for v, s in zip(alone, strides, strict=True)):
        return None
    names = [v.name if v is not None else "" for v in alone]
    if len(set(names)) < len(names):
        return None
    found = []
    for factors, many in part.offset.terms:
        steps = [f for f in factors if isinstance(f, Var) and f.name in names]
        mine = [f for f in steps if f.name == names[mode]]
        if len(steps) == len(mine) == (1 if names[mode] else 0):
            found.append((tuple(f for f in factors if f not in mine), many))
    return Expr(tuple(found))


def block_start(part: Guarded, mode: int) -> Expr | None:
    """The part of ``along`` that block indices say, in whatever way (``64 * (blockIdx.x / n)``)."""
    whole = along(part, mode)
    if whole is None:
        return None
    of_block = [t for t in whole.terms if any(v.name.startswith("blockIdx.") for f in t[0] for v in variables_of(f))]
    return Expr(tuple(of_block))


def only(e: Expr) -> Var | None:
    """The variable that an expression is, and nothing else."""
    first = next(iter(e.variables()), None)
    return first if first is not None and e == ex.atom_expr(first) else None
