"""Indices of warps, lanes and blocks of a cluster, and values that lanes take from one another."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.model import ints
from cutecheck.model.expr import ANY, NATURAL, Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.prove.domains import per_thread
from cutecheck.source.eval.intrinsics.cuda import thread_index
from cutecheck.source.eval.intrinsics.registry import Call, function
from cutecheck.source.eval.threads import some, varies
from cutecheck.source.eval.tuples import Components
from cutecheck.source.eval.values import Scalar, Value

RANK = "block_rank_in_cluster"


@function(
    "canonical_warp_idx",
    "canonical_warp_idx_sync",
    "canonical_warp_group_idx",
    "canonical_lane_idx",
    "canonical_thread_idx_in_warp",
)
def _warp_index(c: Call) -> Value:
    tid = thread_index(c.m, "threadIdx.x")
    if "lane" in c.name or "thread" in c.name:
        return ints.mod(tid, Dyn.of(32))
    return ints.div(tid, Dyn.of(128 if "group" in c.name else 32))


def _of_another_row(name: str) -> bool:
    """The variable is not known of another lane, also where lanes are numbered by x alone."""
    return per_thread(name) or name in ("threadIdx.y", "threadIdx.z")


def _whole_rows(block: tuple[int | None, ...]) -> bool:
    """The lanes of a warp have consecutive threadIdx.x, from a multiple of 32 on."""
    return all(extent == 1 for extent in block[1:]) or (block[0] is not None and block[0] % 32 == 0)


@function("__shfl_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync")
def _shuffle(c: Call) -> Value:
    """The value of another lane: where it is computed from the thread's index alone, at that lane's."""
    if len(c.raw) < 2:
        return Unknown("shuffle", c.span)
    if not varies(c.raw[1]):
        return c.raw[1]
    value, lane = c.arg(1), c.args[2] if len(c.args) > 2 else None
    known = isinstance(value, Dyn) and not any(_of_another_row(v.name) for v in value.expr.variables())
    known = known and _whole_rows(c.m.recorder.block_shape())
    if c.name == "__shfl_sync" and len(c.args) < 4 and isinstance(lane, (int, Dyn)) and known:
        warp = ints.div(thread_index(c.m, "threadIdx.x"), Dyn.of(32))
        return c.m.dialect.from_model(Dyn(value.expr.substitute({"threadIdx.x": ints.as_expr(warp * 32 + lane)})))
    return c.m.dialect.from_model(some(c.m, "shuffled", ANY, True))


@function("block_rank_in_cluster")
def _rank(c: Call) -> Value:
    return rank()


def rank() -> Value:
    """The block's number in its cluster: the same in all threads of a block, and each time."""
    return Scalar(Dyn.named(RANK, NATURAL), "uint32_t")


@function("cluster_grid_dims", "cluster_id_in_grid", "block_id_in_cluster", "cluster_shape")
def _place(c: Call) -> Value:
    least = 1 if c.name in ("cluster_grid_dims", "cluster_shape") else 0
    return Components(Scalar(Dyn.named(f"{c.name}.{axis}", Domain(least, 2**31 - 1)), "unsigned int") for axis in "xyz")
