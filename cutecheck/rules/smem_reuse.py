"""CUT212 smem-reuse-without-barrier."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call, Event
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.elements import Access, is_element, of_copy, of_element, unheld_access
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.overlaid import lies_under
from cutecheck.rules.derive.passes import overtaken, unheld
from cutecheck.rules.derive.reuse import overtakes
from cutecheck.rules.derive.some_threads import missed_barrier
from cutecheck.rules.derive.unmet_stores import unmet_store
from cutecheck.rules.derive.uses import Use, uses_of
from cutecheck.rules.derive.warps import Across, across_warps
from cutecheck.rules.replayed import Replayed
from cutecheck.rules.wgmma_wait import WgmmaNotWaited

_PASSES = """
        using Tile = Layout<Shape<_32, _32>, Stride<Int<40>, _1>>;
        using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
            Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
        using Columns = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
            Layout<Shape<_4, _32>, Stride<_1, _4>>{}, Layout<Shape<_1, _1>>{}));
        __global__ void __launch_bounds__(128) turn(float const* in, float* out, int n) {
          __shared__ float smem[cosize_v<Tile>];
          auto tiles = make_layout(make_shape(_32{}, _32{}, n), make_stride(_32{}, _1{}, _1024{}));
          Tensor g = make_tensor(make_gmem_ptr(in), tiles);
          Tensor o = make_tensor(make_gmem_ptr(out), tiles);
          Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
          auto w = Rows{}.get_slice(threadIdx.x);
          auto r = Columns{}.get_slice(threadIdx.x);
          for (int i = 0; i < n; ++i) {
            copy(Rows{}, w.partition_S(g(_, _, i)), w.partition_D(s));
            __syncthreads();
            copy(Columns{}, r.partition_S(s), r.partition_D(o(_, _, i)));%s
          }
        }
        """


class SmemReuseWithoutBarrier(Replayed):
    """Shared memory that a copy or MMA has read is written as another tile before the block's threads meet.

    What it checks
        In the order a kernel reaches them: between a read of shared memory and a later write of the same bytes through
        another layout or element type, or another member of a union, and between a write and the read of it by other
        threads, there is a barrier or wait, also where a helper reads what results are stored over; and all threads of
        the block come to ``__syncthreads()``. Of a buffer with stages that run-time indices choose, only a read with
        no barrier since the first write. In a loop that writes one place and then lets other threads read it, there
        is a barrier after the read, too: the next pass writes
        there again. Nor are single elements (of tensors, arrays, shared numbers) read that threads of other warps have
        stored or copied since the last barrier, or stored that these have read, in the pass before of a loop either;
        nor copied that these have stored; nor are bytes that ``cp.async``, ``ldmatrix`` or ``stmatrix`` of assembly
        access. A loop that writes stages and lets other threads read them has a barrier. Run
        pass by pass, no stage is filled that was read since the last barrier, or read with no barrier since the wait
        for it (by WGMMAs where several warpgroups multiply all of what each has copied a part of: one waits for its own
        warps alone), or stored over while other threads' ``cp.async`` may still land there; and TMA fills none of which
        another thread has not said, by a barrier that was waited for, that its reads are done (of a WGMMA any thread of
        the warpgroup says so, once its group has been waited for), nor, at once or for one phase, two tiles to the same
        bytes; threads
        write nowhere that another tensor lies which an MMA may still read, or TMA still fill, and TMA stores nothing
        that other threads have written (by copies, or single elements) since the last barrier, also in kernels without
        barriers in shared memory. No
        UMMA begins a new sum in tensor memory that others need not have copied yet, nor is the memory given back. In
        runs of each role: what other warps store, or copy by ``cp.async``, is multiplied once they have waited for it
        and said so, and is filled anew once the WGMMAs that read it have been waited for. What a run finds of two
        accesses is said beside what is found of one of them and another tensor. ``__syncwarp()`` alone does
        not stand between two copies of all threads of a block, where a thread comes to a byte of another warp's.

    Why
        An epilogue that stores its tile over the operands' memory is right only when every warp has finished reading
        them. Without ``__syncthreads()`` the first warp to leave the main loop overwrites what the others still
        multiply: wrong results that come and go with timing.

    Example
        gemm(mma, rA, rB, acc);                       // from sA
        copy(r2s, thr.retile_S(acc), thr.partition_D(sC));   // sC lies over sA

    Use instead
        gemm(mma, rA, rB, acc);
        __syncthreads();
        copy(r2s, thr.retile_S(acc), thr.partition_D(sC));

    Assumptions
        Any call with sync, barrier or wait in its name holds all threads back, under whatever condition, but waits for
        a thread's own copies. A function that is not followed has no barrier (of single elements: may have one); blocks
        of one warp are not judged, nor are single elements under conditions, or read in loops, of which it is not known
        which threads come there.

    Fix
        Put ``__syncthreads()``, or a named barrier of the warps involved, between the two.

    References
        CUDA C++ Programming Guide, synchronization functions
    """

    kinds = (
        "unseen", "overwritten", "unreleased", "overlaid", "unstored", "undue", "unsettled", "replaced early",
        "loaded over", "heaped", "unlanded", "given back",
    )  # fmt: skip
    code = "CUT212"
    name = "smem-reuse-without-barrier"
    family = "epilogue"
    severity = "warning"
    confidence = "heuristic"
    unasked = "None: it compares the order of accesses and barriers."
    valid = (
        """
        using Tile = Layout<Shape<_32, _32>, Stride<_32, _1>>;
        using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
            Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
        __global__ void __launch_bounds__(128) through(float const* in, float* out) {
          __shared__ float smem[32 * 33];
          Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
          Tensor w = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<Int<33>, _1>>{});
          Tensor r = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_1, Int<33>>>{});
          Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
          auto t = Rows{}.get_slice(threadIdx.x);
          copy(Rows{}, t.partition_S(g), t.partition_D(w));
          __syncthreads();
          copy(Rows{}, t.partition_S(r), t.partition_D(o));
        }
        """,
        _PASSES % "\n            __syncthreads();",
    )
    invalid = (
        """
        using Tile = Layout<Shape<_32, _32>, Stride<_32, _1>>;
        using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
            Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
        __global__ void __launch_bounds__(128) through(float const* in, float* out) {
          __shared__ float smem[32 * 33];
          Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
          Tensor w = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<Int<33>, _1>>{});
          Tensor r = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_1, Int<33>>>{});
          Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
          auto t = Rows{}.get_slice(threadIdx.x);
          copy(Rows{}, t.partition_S(g), t.partition_D(w));
          copy(Rows{}, t.partition_S(r), t.partition_D(o));
        }
        """,
        _PASSES % "",
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        yield from self._unmet(event, context)
        if event.threads is not None and (known_value(event.threads) or 33) <= 32:
            return
        for use in uses_of(event):
            earlier = overtakes(use, context)
            if earlier is None:
                later = overtaken(use, context) if use.written else None
                write = None if use.written else unheld(use, context)
                if later is not None:
                    yield self._next_pass(use, later)
                    return
                if write is not None:
                    yield self._without_barrier(use, write)
                    return
                under = lies_under(use, context)
                if under is not None:
                    yield self._shared_storage(use, under)
                    return
                copied = of_copy(use)
                other = None if copied is None else unheld_access(copied, context)
                if copied is not None and other is not None:
                    yield self._element(copied, *other)
                    return
                across = across_warps(use, context)
                if across is not None:
                    yield self._of_warps(use, across)
                    return
                continue
            done = "written" if earlier.written else "read"
            now = "writes" if use.written else "reads"
            lost = (
                "what was written is lost"
                if earlier.written and use.written
                else "other threads may not be done with it"
            )
            yield self.finding(
                event.span,
                f"`{use.tensor.name}` {now} shared memory that `{earlier.tensor.name}` has {done} before, and no "
                f"barrier comes between: {lost}",
                label=f"{done} at line {earlier.event.span.line}, no barrier since",
                help="put __syncthreads() between the two",
                related=[Related(earlier.event.span, f"{done} here, through {earlier.root}")],
                enclosing=event.enclosing,
                arch=event.arch,
            )
            return

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        yield from super().on_call(call, context)
        missed = missed_barrier(call, context)
        if missed is not None:
            yield self.finding(
                call.span,
                f"thread {missed[1]} does not come to this barrier of the block, and goes on with shared memory that "
                "others use: it is not held back, or they wait for ever",
                label=f"not for thread {missed[1]}",
                help="put __syncthreads() where all threads come to it, or use a NamedBarrier of those that do",
                related=[Related(missed[0].span, "the condition")],
                enclosing=call.enclosing,
                arch=call.arch,
            )
        yield from self._unmet(call, context)
        if is_element(call):
            access = of_element(call)
            other = unheld_access(access, context)
            if other is not None:
                yield self._element(access, *other)

    def _unmet(self, at: Event | Call, context: Context) -> Iterable[Finding]:
        """A store by TMA, which one thread tells of, of what others have stored."""
        found = unmet_store(at, context)
        if found is None:
            return
        store, stored = found
        yield self.finding(
            at.span,
            f"TMA stores `{store.name}`, whose elements threads of other warps have stored before, and no barrier "
            "comes between: what they have stored need not be there",
            label=f"stored at line {stored.span.line}, no barrier since",
            help="put __syncthreads() between the two, behind the fence of the stores",
            related=[Related(stored.span, "stored here")],
            enclosing=at.enclosing,
            arch=at.arch,
        )

    def _is_said(self, fault: Fault, call: Call, context: Context) -> bool:
        """Of WGMMAs that are not waited for another rule says so."""
        if fault.kind == "unreleased" and fault.other is not None and fault.other.function == "wgmma":
            own = (e for e in context.facts.events if (e.kind, e.kernel, e.arch) == ("gemm", call.kernel, call.arch))
            if any(True for e in own for _ in WgmmaNotWaited().on_event(e, context)):
                return True
        return super()._is_said(fault, call, context)

    def _element(self, access: Access, other: Access, earlier: bool) -> Finding:
        now, done = ("stored", "read") if access.stored else ("read", "stored")
        what = "an element of shared memory" if access.use is None else f"a part of `{access.tensor.name}`"
        where = "in the pass before" if earlier else "before"
        why = "they need not be done with it" if access.stored else "what they have stored need not be there"
        at = access.at
        via = "" if at.enclosing == at.kernel else f" (called by `{at.kernel}`)"
        return self.finding(
            at.span,
            f"{what} is {now} that threads of other warps have {done} {where}, and no barrier comes between: "
            f"{why}{via}",
            label=f"{done} at line {other.at.span.line}, no barrier {'from there to here' if earlier else 'since'}",
            help=f"put __syncthreads() {'at the end of the loop' if earlier else 'between the two'}",
            related=[Related(other.at.span, f"{done} here")],
            enclosing=at.enclosing,
            arch=at.arch,
        )

    def _of_warps(self, use: Use, across: Across) -> Finding:
        earlier = across.earlier
        now, done = ("writes", "read") if use.written else ("reads", "written")
        return self.finding(
            use.event.span,
            f"`{use.tensor.name}` {now} shared memory that `{earlier.tensor.name}` has {done}, and between the two "
            f"stand barriers of warps alone (__syncwarp): thread {across.thread} comes to a byte of thread "
            f"{across.other}, of another warp, at {across.byte} of the buffer",
            label=f"{done} at line {earlier.event.span.line}, held back by __syncwarp alone",
            help="put __syncthreads() in place of __syncwarp()",
            related=[Related(earlier.event.span, f"{done} here, through {earlier.root}")],
            enclosing=use.event.enclosing,
            arch=use.event.arch,
        )

    def _next_pass(self, use: Use, read: Use) -> Finding:
        return self.finding(
            use.event.span,
            f"`{use.tensor.name}` writes shared memory that `{read.tensor.name}` reads in the same loop, and no "
            "barrier holds the next pass back: other threads may not be done with it",
            label=f"read at line {read.event.span.line}, no barrier from there to here",
            help="put __syncthreads() at the end of the loop's body",
            related=[Related(read.event.span, f"read here, through {read.root}")],
            enclosing=use.event.enclosing,
            arch=use.event.arch,
        )

    def _shared_storage(self, use: Use, read: Use) -> Finding:
        return self.finding(
            use.event.span,
            f"`{use.tensor.name}` writes shared memory that `{read.tensor.name}` has read, another member of the same "
            "storage, and no barrier comes between: other threads may not be done with it",
            label=f"read at line {read.event.span.line}, no barrier since",
            help="put __syncthreads() between the two, or give each a place of its own",
            related=[Related(read.event.span, "read here: the two lie over one another")],
            enclosing=use.event.enclosing,
            arch=use.event.arch,
        )

    def _without_barrier(self, use: Use, write: Use) -> Finding:
        return self.finding(
            use.event.span,
            f"`{use.tensor.name}` reads shared memory that other threads write through `{write.tensor.name}` in the "
            "same loop, and no barrier stands in the loop: what they have written need not be there",
            label=f"written at line {write.event.span.line}, no barrier in the loop",
            help="put __syncthreads() between a pass's writes, or the wait for them, and its reads",
            related=[Related(write.event.span, f"written here, through {write.root}")],
            enclosing=use.event.enclosing,
            arch=use.event.arch,
        )
