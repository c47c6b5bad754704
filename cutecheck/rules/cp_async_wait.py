"""CUT213 cp-async-not-waited."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call, Event
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context
from cutecheck.rules.derive.chunks import unwaited
from cutecheck.rules.derive.early import read_early, stored_over
from cutecheck.rules.derive.some_threads import missed_wait
from cutecheck.rules.derive.uses import uses_of
from cutecheck.rules.replayed import Replayed


class CpAsyncNotWaited(Replayed):
    """Shared memory is read or stored to that cp.async or TMA fills, and nothing has waited for the copy.

    What it checks
        In the order a kernel reaches them: between the first ``cp.async`` or TMA load into a buffer and a read of the
        buffer by a copy or an MMA, something waits (``cp_async_wait``, a pipeline's or barrier's wait). Where all waits
        are ``cp_async_wait<N>``: more than N groups can have been committed since that ``cp.async`` when the read is
        first reached, so that the wait waits for something; a loop that fills and reads commits its copies, and waits;
        and the tile of each later pass has been waited for, also in the last passes, which copy no more, and after the
        loop. Kernels that read in a loop what they fill in one are run pass by pass, at numbers of cutecheck's
        choice, as far as what they do is known: no tile is read before its group has been waited for; one that TMA
        brings, by no thread that has not waited for the barrier that says so, in the phase of this pass. ``cp.async``
        and ``ldmatrix`` in assembly of the program's own count by the bytes that each thread names. Before other
        stores to a buffer (an epilogue's), something waits for the ``cp.async`` into it that every pass makes; run pass
        by pass, nothing is stored where another tensor's tile may still land.

    Why
        An asynchronous copy returns before the data is there, and ``__syncthreads()`` does not wait for it. The kernel
        computes with what was in the tile before; small problems often come out right by luck.

    Example
        copy(g2s, tAgA, tAsA);
        cp_async_fence();
        __syncthreads();
        copy(s2r, tXsA, tXrA);

    Use instead
        copy(g2s, tAgA, tAsA);
        cp_async_fence();
        cp_async_wait<0>();
        __syncthreads();
        copy(s2r, tXsA, tXrA);

    Assumptions
        Any other call with wait in its name waits for the copy. Loops before the one that reads must have known
        lengths. A commit under a condition counts as made, but where the condition is on what the loop changes: then
        the last passes, which read what others have copied, make none. Tiles are read in the order they are copied in,
        one a pass or later ones; the last read after a loop is of the last tile.

    Fix
        Wait for the group of the copy before the barrier: a main loop that has N groups under way when it waits, and
        reads the oldest, needs ``cp_async_wait<N - 1>``.

    References
        PTX ISA, cp.async.wait_group; cute/arch/copy_sm80.hpp (cp_async_wait)
    """

    kinds = ("early", "unready", "landing")
    code = "CUT213"
    name = "cp-async-not-waited"
    family = "lint"
    severity = "warning"
    confidence = "heuristic"
    unasked = "None: it compares the order of copies, commits and waits, and counts groups."
    valid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        using Tile = Layout<Shape<_8, _64>, Stride<_64, _1>>;
        __global__ void __launch_bounds__(128) through(float const* in, float* out) {
          __shared__ alignas(16) float smem[cosize_v<Tile>];
          Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
          Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
          Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
          auto t = Load{}.get_slice(threadIdx.x);
          copy(Load{}, t.partition_S(g), t.partition_D(s));
          cp_async_fence();
          cp_async_wait<0>();
          __syncthreads();
          copy(AutoVectorizingCopy{}, t.partition_S(s), t.partition_D(o));
        }
        """,
    )
    invalid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        using Tile = Layout<Shape<_8, _64>, Stride<_64, _1>>;
        __global__ void __launch_bounds__(128) through(float const* in, float* out) {
          __shared__ alignas(16) float smem[cosize_v<Tile>];
          Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
          Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
          Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
          auto t = Load{}.get_slice(threadIdx.x);
          copy(Load{}, t.partition_S(g), t.partition_D(s));
          cp_async_fence();
          __syncthreads();
          copy(AutoVectorizingCopy{}, t.partition_S(s), t.partition_D(o));
        }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        yield from super().on_call(call, context)
        missed = missed_wait(call, context)
        if missed is not None:
            yield self.finding(
                call.span,
                f"thread {missed[1]} does not wait here for the cp.async that it has made, nor elsewhere: what it "
                "copies need not be there when others read it",
                label=f"not for thread {missed[1]}",
                help="let all threads that copy wait for their copies, then come to the barrier",
                related=[Related(missed[0].span, "the condition")],
                enclosing=call.enclosing,
                arch=call.arch,
            )
        yield from self._by_bytes(call, context)

    def _by_bytes(self, read: Call | Event, context: Context) -> Iterable[Finding]:
        """One of the two accesses is by assembly, or of a single element."""
        found = unwaited(read, context)
        if found is not None:
            mine, filled = found
            yield self.finding(
                read.span,
                f"`{mine.name}` is read where cp.async copies to, and nothing has waited for it: the data need not be "
                "there",
                label=f"filled at line {filled.at.span.line}, no wait since",
                help="put cp_async_wait<N>() before the barrier",
                related=[Related(filled.at.span, "filled asynchronously here")],
                enclosing=read.enclosing,
                arch=read.arch,
            )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for use in uses_of(event):
            fault = stored_over(use, context) if use.written else read_early(use, context)
            if fault is not None:
                yield self.finding(
                    event.span,
                    fault.message,
                    label=fault.label,
                    help=fault.help,
                    related=[Related(span, text) for span, text in fault.related],
                    enclosing=event.enclosing,
                    arch=event.arch,
                )
                return
        yield from self._by_bytes(event, context)
