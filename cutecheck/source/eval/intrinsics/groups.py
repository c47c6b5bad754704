"""Cooperative groups: which thread of its block or warp, and which block of its cluster, a thread is."""

from __future__ import annotations

from cutecheck.model import ints
from cutecheck.model.expr import Domain
from cutecheck.model.expr.terms import NATURAL
from cutecheck.model.ints import Dyn
from cutecheck.source.eval.intrinsics import cuda
from cutecheck.source.eval.intrinsics.registry import Call, function, method_of
from cutecheck.source.eval.values import Extern, ExternType, Scalar, Value, constant

_GROUPS = "cooperative_groups::"
_BUILTINS = {"thread_index": "threadIdx", "group_index": "blockIdx", "dim_threads": "blockDim"}


@function("this_thread_block", "this_cluster", tolerant=True)
def _group(c: Call) -> Value:
    return Extern(c.name, c.span, ExternType(_GROUPS + c.name.removeprefix("this_")))


@function("tiled_partition", tolerant=True)
def _tile(c: Call) -> Value:
    return Extern(c.name, c.span, ExternType(f"{_GROUPS}tile", tuple(c.targs[:1])))


@method_of("Extern", "thread_rank", "meta_group_rank", "block_rank", "num_blocks", *_BUILTINS)
def _number(c: Call) -> Value:
    of = c.arg(0).type
    kind = of.name.removeprefix(_GROUPS) if isinstance(of, ExternType) and of.name.startswith(_GROUPS) else ""
    lanes = constant(of.args[0]) if kind == "tile" and of.args else None
    if kind == "thread_block" and c.name == "thread_rank":
        return Scalar(cuda.thread_number(c.m), "unsigned int")
    if kind == "thread_block" and c.name in _BUILTINS:
        return cuda.builtin(_BUILTINS[c.name])
    if lanes and c.name in ("thread_rank", "meta_group_rank"):
        thread, width = cuda.thread_number(c.m), Dyn.of(lanes)
        return Scalar(
            ints.div(thread, width) if c.name == "meta_group_rank" else ints.mod(thread, width), "unsigned int"
        )
    if kind == "cluster" and c.name == "block_rank":  # as cute::block_rank_in_cluster()
        return Scalar(Dyn.named("block_rank_in_cluster", NATURAL), "unsigned int")
    if kind == "cluster" and c.name == "num_blocks":
        return Scalar(Dyn.named("blocks of a cluster", Domain(1, 16)), "unsigned int")
    return Extern(f"{c.arg(0).what}.{c.name}(...)", c.span)
