"""``copy``, ``copy_if``, ``gemm`` and the calls around them that say what touches which memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Unknown
from cutecheck.model.atoms import CopyAtom, MMAAtom, UnknownAtomError
from cutecheck.model.ints import CuteError, Dyn, NotModelledError, UndecidedError, mod
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.source.eval import ir
from cutecheck.source.eval.intrinsics import cuda
from cutecheck.source.eval.intrinsics.atoms import copy_atom
from cutecheck.source.eval.intrinsics.cooperative import parts, policy
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.intrinsics.tensors import OBJECT
from cutecheck.source.eval.mentions import parts_in
from cutecheck.source.eval.record.pointers import pointers
from cutecheck.source.eval.record.running import WARP
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import CuteOp, Extern, Intrinsic, Scalar, Slice, Tag, TensorVal, Value, Zipped

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

NOTHING = Scalar(None, "void")


_COPIES = ("copy", "copy_if", "copy_aligned", "copy_vec", "cooperative_copy", "autovec_copy")
_GEMMS = ("gemm", "cooperative_gemm")
_WRITERS = frozenset((*_COPIES, *_GEMMS, "clear", "fill", "axpby", "transform"))


@function(*_COPIES, tolerant=True)
def _copy(c: Call) -> Value:
    args = list(c.args)
    tiled = None
    if args and isinstance(args[0], (TiledCopy, CopyAtom, Slice)):
        first = args.pop(0)
        tiled = first.tiled if isinstance(first, Slice) else first
    elif len(args) > 2 and isinstance(args[0], (Unknown, Extern, Tag)) and c.name in ("copy", "copy_if"):
        tiled = args.pop(0)
    elif c.name == "cooperative_copy" and len(args) > 2:
        return _cooperative(c, args)
    elif len(args) > 2 and isinstance(args[0], CuteOp):
        said = args.pop(0)  # traits without a type of values: `Copy_Traits<SM90_BULK_COPY_AUTO>{}.with(barrier)`
        tiled = c.m.recorder.telling_as(said, _as_atom(c, said, args[-2]))
    predicate: Value = None
    if c.name == "copy_if" and len(args) >= 3:
        predicate = args.pop(0)
    operands = args[:2]
    replay = c.m.recorder.acts()
    if replay is not None:
        replay.telling = c.m.recorder.told_at(tiled)
    c.m.recorder.event(c.m, "copy", c, tiled, operands, predicate, signals=c.m.recorder.told_by(tiled))
    c.m.recorder.multicast(tiled, c.span)
    return NOTHING


def _cooperative(c: Call, args: list[Value]) -> Value:
    """One event for each copy that a thread makes; one that tells why where that is not known."""
    tid, src, dst, *given = args
    try:
        if not isinstance(src, TensorVal) or not isinstance(dst, TensorVal) or isinstance(tid, (Unknown, Extern)):
            raise Unsupported("the tensors of this cooperative_copy are not known")
        made = [policy(c, given, part) for part in parts(c, tid, src, dst)]
    except (Unsupported, NotModelledError, UndecidedError) as error:
        c.m.recorder.event(c.m, "copy", c, Unknown(str(error), c.span), [src, dst], None)
        return NOTHING
    for atom, part in made:
        c.m.recorder.event(c.m, "copy", c, atom, [part.source, part.target], None, part.active)
    return NOTHING


def _as_atom(c: Call, op: CuteOp, source: Value) -> Value:
    """``copy(policy, src, dst)``: the operation as an atom over the source's elements."""
    if not isinstance(source, TensorVal) or source.dtype is None:
        return Unknown("the element type of the copied tensor is not known", c.span)
    try:
        return copy_atom(c.m, op, source.dtype, c.span)
    except (UnknownAtomError, Unsupported, CuteError, NotModelledError) as error:
        return Unknown(str(error), c.span)


@function(*_GEMMS, tolerant=True)
def _gemm(c: Call) -> Value:
    args = list(c.args)
    tiled: Value = None
    if c.name == "cooperative_gemm":
        args.pop(0)
    if args and isinstance(args[0], (TiledMMA, MMAAtom, Slice, Unknown, Extern)):
        first = args.pop(0)
        tiled = first.tiled if isinstance(first, Slice) else first
    beside = [part for a in args if isinstance(a, Zipped) for part in a.parts[1:]]
    c.m.recorder.escape(c.m, list(beside), c.span)  # what an operation reads of scale factors and metadata is its own
    operands = [a.parts[0] if isinstance(a, Zipped) else a for a in args if isinstance(a, (TensorVal, Zipped, Unknown))]
    c.m.recorder.event(c.m, "gemm", c, tiled, operands[:4], None)
    return NOTHING


@function(
    "clear", "fill", "axpby", "print", "print_latex", "print_layout", "print_tensor", "cp_async_fence",
    "cp_async_wait", "__syncthreads", "__syncwarp", "syncthreads", "printf", "warpgroup_arrive",
    "warpgroup_commit_batch", "warpgroup_wait", "warpgroup_fence_operand",
    "prefetch", "cluster_sync", "cluster_arrive_relaxed", "cluster_wait",
    "tma_store_arrive", "tma_store_wait", "tma_store_fence", "set_barrier_transaction_bytes", "initialize_barrier",
    "wait_barrier", "arrive_barrier", "fence_barrier_init", "fence_view_async_shared", "cudaFuncSetAttribute", "memset",
    "cudaDeviceSynchronize", "cudaGetLastError", "__trap", "assert", "static_assert", "launch_dependent_grids",
    "wait_on_dependent_grids", "griddepcontrol_wait", "tma_desc_commit_group", "tma_desc_wait_group",
    "prefetch_tma_descriptor", "tma_descriptor_fence_acquire", "tma_descriptor_fence_release",
    "tma_descriptor_cp_fence_release", "cluster_arrive", "__nanosleep",
    "fprintf", "exit", "cudaMemcpy", "cudaMalloc", "cudaFree", "srand", "sleep",
    tolerant=True,
)  # fmt: skip
def _no_effect(c: Call) -> Value:
    if c.name in ("clear", "fill", "axpby"):
        c.m.recorder.overwritten(c, [a for a in c.args if isinstance(a, TensorVal)])
    replay = c.m.recorder.acts()
    if c.name == "memset" and replay is not None:
        for held in pointers(c.args):
            replay.touched(held.buffer, held.space)
    if c.name == "axpby":
        c.m.recorder.totals(c.args[:-1], c.span)
    elif c.name == "memset" or "print" in c.name:
        c.m.recorder.takes(a for a in c.args if not isinstance(a, TensorVal) or a.space != "tmem")  # where it lies
    return NOTHING


@function("thread0", "thread", "block0", "block", "cluster_elect_one_sync", "elect_one_sync", tolerant=True)
def _elected(c: Call) -> Value:
    replay = c.m.recorder.acts()
    if replay is not None and replay.thread is not None and "elect" in c.name:
        lane = mod(cuda.thread_index(c.m, "threadIdx.x"), Dyn.of(WARP))  # asked only where it decides something
        return c.m.dialect.binary("==", lane, 0, c.span)
    return Scalar(None, "bool")


def writes_object(name: str, args: Sequence[Value]) -> bool:
    """Whether a call of CuTe writes a tensor of registers that an object lies in (of 4 operands a gemm's first)."""
    return any(t.pointer is not None and t.pointer.buffer.startswith(OBJECT) for t in written(name, args))


def written(name: str, args: Sequence[Value]) -> list[TensorVal]:
    """The tensors that a call of CuTe writes: what is copied to, of four operands a gemm's first, of three its last."""
    if name not in _WRITERS:
        return []
    tensors = [a.parts[0] if isinstance(a, Zipped) else a for a in args if isinstance(a, (TensorVal, Zipped))]
    if not tensors:
        return []
    return tensors if name not in (*_COPIES, *_GEMMS) else [tensors[0 if len(tensors) > 3 else -1]]


def not_walked(m: Machine, body: Any, env: Env, why: Unknown) -> None:
    """The copies and gemms of a body that is not walked: that they are there, and why nothing is known of them."""
    for at in parts_in(body):
        if not isinstance(at, ir.Call) or getattr(at.fn, "ident", "") not in (*_COPIES, *_GEMMS):
            continue
        with m.recorder.rehearsing():
            called = m.eval(at.fn, env) if not isinstance(at.fn, ir.Attr) else None
        if isinstance(called, Intrinsic) and called.name in (*_COPIES, *_GEMMS):
            kind = "gemm" if called.name in _GEMMS else "copy"
            m.recorder.event(m, kind, Call(m, called.name, (), [], at.span), None, [why, why], None)
