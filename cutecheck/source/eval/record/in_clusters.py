"""Arrivals at the first block's barriers in a run of its threads: each block of the cluster makes the same ones.

So it is where a thread says by its own index alone which block it tells, and nothing before it, in its run, depended on
which block of the cluster its own is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.model.expr import Expr, Op
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.source.eval.values import Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.record.running import Running

RANK, _ID = "block_rank_in_cluster", "block_id_in_cluster"
_RANK = ("cluster", RANK, _ID)
_AXES = "xyz"
_PART = ("mod", "and")


def tells_blocks_apart(expr: Expr) -> bool:
    """Whether blocks of one cluster may answer differently: by their rank, or by what is left of their index."""
    if any(v.name.startswith(_RANK) for v in expr.variables()):
        return True
    return any(_is_rest(atom) for monomial, _ in expr.terms for atom in monomial)


def _is_rest(atom: object) -> bool:
    if not isinstance(atom, Op):
        return False
    of_blocks = any(v.name.startswith("blockIdx.") for a in atom.args for v in a.variables())
    return of_blocks and (
        atom.kind in _PART or any(_is_rest(inner) for a in atom.args for monomial, _ in a.terms for inner in monomial)
    )


def is_by_thread(value: Value) -> bool:
    """A number that is the same for the same thread of each block."""
    number = value.value if isinstance(value, Scalar) else value
    if not isinstance(number, (int, Dyn, Sym)):
        return False
    return all(v.name.startswith("threadIdx.") for v in as_expr(number).variables())


def axis_of_neighbour(run: Running) -> str | None:
    """The first axis along which the clusters of the kernel that is run have several blocks, in all launches of it.

    None too where something that the run did hung on which of them its own block is.
    """
    frame = run.machine.recorder.frame
    if run.apart or run.by_source or frame is None:
        return None
    launches = [x for x in run.machine.recorder.launches.values() if x.kernel == frame.kernel and x.origin == "launch"]
    shapes = {x.cluster_shape for x in launches}
    shape = shapes.pop() if len(shapes) == 1 else ()
    wide = [axis for axis, n in zip(_AXES, shape, strict=False) if n is not None and n > 1]
    return wide[0] if wide and None not in shape else None


def beside(run: Running, at: Expr, axis: str) -> int | None:
    """A number of the first block as the next one along an axis of its cluster has it."""
    if any(v.name.startswith("threadIdx.") for v in at.variables()):
        return None
    own = {
        v.name: int(v.name.endswith(f".{axis}") or "." not in v.name)
        for v in at.variables() if v.name.startswith(("blockIdx.", *_RANK))
    }  # fmt: skip
    known = all(name.startswith(("blockIdx.", RANK, f"{_ID}.")) for name in own)
    return run.number(at, others=own) if known else None


def arrivals(run: Running, kernel: str, to: tuple[Value, ...]) -> int | None:
    """How often a thread of this number arrives, in all blocks of the cluster, at a barrier of the first one."""
    if not to or run.apart or not all(map(is_by_thread, to)):
        return None
    known = {
        None if x.cluster is None else known_value(x.cluster)
        for x in run.machine.recorder.launches.values()
        if x.kernel == kernel and x.origin == "launch"
    }
    sure = run.whole(to[0], False) == 0 and (len(to) == 1 or run.whole(to[1], False) == 1)
    return next(iter(known)) if sure and len(known) == 1 else None


__all__ = ["arrivals", "axis_of_neighbour", "beside", "is_by_thread", "tells_blocks_apart"]
