"""CUT605 wrong-thread-slice."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.findings import Finding, Related
from cutecheck.model.algebra import size
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, as_expr, known_value
from cutecheck.model.prove.properties import THREAD
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.derive.guards import inner, leaves_out_blocks, same_in_all_blocks
from cutecheck.rules.derive.lanes import might
from cutecheck.rules.derive.takers import past_the_last

_EXAMPLE = """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
        using Tile32 = Layout<Shape<_32, _32>, Stride<_32, _1>>;
        __global__ void __launch_bounds__(128) load(float const* A) {
          __shared__ alignas(16) float smem[cosize_v<Tile32>];
          Tensor gA = make_tensor(make_gmem_ptr(A), Tile32{});
          Tensor sA = make_tensor(make_smem_ptr(smem), Tile32{});
          Load tiled;
          Tensor from = tiled.get_slice(threadIdx.x).partition_S(gA);
          Tensor to = tiled.get_slice(%s).partition_D(sA);
          copy(tiled, from, to);
        }
        """
_OF_A_WARP = 32
_OF_A_WARPGROUP = 128


class SliceOfOneThread(Rule):
    """All threads of a block read or store what is one thread's part of a tile.

    What it checks
        Copies that all threads run, of a part that a tiled copy or MMA of several threads gave a constant thread
        (``get_slice(0)``), and ``axpby`` to one; and slices that a TiledCopy does not have (``get_slice(threadIdx.x)``
        in threads 128 to 383 for one of 256), where the conditions around the copy say which threads make it. Of an MMA
        of several warpgroups no slice is one of the second or a later one (``get_slice(threadIdx.x / 128)``).

    Why
        The shapes of all slices are the same, so it compiles. All threads store to the same elements, of which one
        value stays, or read the same ones, and the rest of the tile is never touched.

    Example
        Tensor tBsB = copy_b.get_slice(0).partition_D(sB);
        copy(copy_b, tBgB(_, _, _, k), tBsB);

    Use instead
        Tensor tBsB = copy_b.get_slice(threadIdx.x).partition_D(sB);

    Assumptions
        Copies by TMA, which one thread issues, copies under conditions that threads may answer differently, and blocks
        of unknown size are not judged.

    Fix
        Take the slice of ``threadIdx.x``, the same for all operands.

    References
        cute/atom/copy_atom.hpp (get_slice)
    """

    code = "CUT605"
    name = "wrong-thread-slice"
    family = "retile"
    severity = "error"
    confidence = "proved"
    unasked = "None: the slice's index is a constant."
    arch = ("sm_80",)
    valid = (_EXAMPLE % "threadIdx.x",)
    invalid = (_EXAMPLE % "0",)

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        threads = None if event.threads is None else known_value(event.threads)
        atom = atom_of(event.tiled)
        if event.kind == "gemm" and event.kernel and threads is not None:
            yield from self._one_warpgroup(event, threads)
        if event.kind != "copy" or not event.kernel or threads is None or threads < 2:
            return
        if atom is None or not ("TMA" in atom.op or "BULK" in atom.op):
            yield from self._found(event, event.operands, threads)
            yield from self._past(event)

    def _one_warpgroup(self, event: Event, threads: int) -> Iterable[Finding]:
        """A product of several warpgroups of which each takes a slice of the first one."""
        for tensor in event.operands[-3:-1] if len(event.operands) > 2 else ():
            many = _warpgroups(tensor.source)
            if many < 2 or tensor.thread is None or threads < many * _OF_A_WARPGROUP:
                continue
            index = as_expr(tensor.thread)
            if any(v.name != THREAD for v in index.variables()):
                continue
            there = list(might(inner(event.guards), threads))
            if len(there) < many * _OF_A_WARPGROUP:
                continue  # one warpgroup makes its part here, the others theirs elsewhere
            last = max(index.evaluate({THREAD: t}) for t in there)
            if last >= _OF_A_WARPGROUP:
                continue
            yield self.finding(
                event.span,
                f"`{tensor.name}` is a part of the first of the {many} warpgroups that the TiledMMA divides its tile "
                f"among, whichever thread asks: the slices are {index}, and the parts of the others are never computed",
                label=f"slices 0 .. {last} of 0 .. {many * _OF_A_WARPGROUP - 1}",
                help="take the slice of threadIdx.x, or of the first thread of the warpgroup (128 times its number)",
                related=[Related(tensor.span, f"part of {tensor.tile_layout or tensor.layout}")],
                enclosing=event.enclosing,
                arch=event.arch,
            )
            return

    def _past(self, event: Event) -> Iterable[Finding]:
        past = past_the_last(event) if inner(event.guards) else None  # of all threads the block's size says it
        if past is not None:
            tensor, thread, index, count = past
            yield self.finding(
                event.span,
                f"thread {thread} takes slice {index} of a TiledCopy of {count} threads for `{tensor.name}`: there is "
                "no such slice, and what lies elsewhere is copied",
                label=f"slice {index} of 0 .. {count - 1}",
                help="count the threads that copy from 0: threadIdx.x less those before them",
                related=[Related(tensor.span, f"part of {tensor.tile_layout or tensor.layout}")],
                enclosing=event.enclosing,
                arch=event.arch,
            )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if call.function != "axpby" or not call.kernel or len(call.arguments) < 4:
            return
        block = [e.threads for e in context.facts.events if (e.kernel, e.arch) == (call.kernel, call.arch)]
        threads = min((known_value(t) or 1 for t in block if t is not None), default=1)
        if threads > 1:
            yield from self._found(call, [t for t in call.arguments[3:4] if isinstance(t, TensorFact)], threads)

    def _found(self, at: Event | Call, tensors: Iterable[TensorFact], threads: int) -> Iterable[Finding]:
        of_blocks = [g for g in inner(at.guards) if isinstance(at, Event) and leaves_out_blocks(g, at)]
        if not all(g in of_blocks or same_in_all_blocks(g) for g in inner(at.guards)):
            return
        for tensor in tensors:
            index = None if tensor.thread is None else known_value(tensor.thread)
            if tensor.space not in ("smem", "gmem") or index is None or not _of_several(tensor.source):
                continue
            yield self.finding(
                at.span,
                f"`{tensor.name}` is the part of thread {index} in all {threads} threads of the block: threads 0 and 1 "
                "take the same elements, and those of the others are never touched",
                label=f"`get_slice({index})`",
                help="take the slice of threadIdx.x",
                related=[Related(tensor.span, f"part of {tensor.tile_layout or tensor.layout}")],
                enclosing=at.enclosing,
                arch=at.arch,
            )
            return


def _warpgroups(source: object) -> int:
    """How many warpgroups divide the tile of an MMA of warpgroups among them."""
    if not isinstance(source, TiledMMA):
        return 0
    try:
        atom, count = known_value(size(source.atom.thr_id)), known_value(size(source.thr_layout_vmnk))
    except (CuteError, NotModelledError, UndecidedError, AttributeError):
        return 0
    return 0 if atom != _OF_A_WARPGROUP or count is None else count // _OF_A_WARPGROUP


def _of_several(source: object) -> bool:
    """A tiled copy or an MMA that divides a tile among a warp or more; not one that CTAs divide among them."""
    if not isinstance(source, (TiledCopy, TiledMMA)):
        return False
    try:
        count = known_value(
            size(source.layout_tv, 0) if isinstance(source, TiledCopy) else size(source.thr_layout_vmnk)
        )
    except (CuteError, NotModelledError, UndecidedError, AttributeError):
        return False
    return count is not None and count >= (2 if isinstance(source, TiledCopy) else _OF_A_WARP)
