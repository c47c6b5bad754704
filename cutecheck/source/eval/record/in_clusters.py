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

_RANK = ("cluster", "block_rank_in_cluster", "block_id_in_cluster")
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


__all__ = ["arrivals", "is_by_thread", "tells_blocks_apart"]
