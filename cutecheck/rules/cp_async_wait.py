"""CUT213 cp-async-not-waited."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import side_instruction
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.derive.uses import Use, exclusive, order, uses_of


class CpAsyncNotWaited(Rule):
    """Shared memory is read that cp.async or TMA fills, and nothing has waited for the copy.

    What it checks
        In the order a kernel reaches them: between the first ``cp.async`` or TMA load into a buffer and a read of the
        buffer by a copy or an MMA, something waits (``cp_async_wait``, a pipeline's or barrier's wait).

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
        Any call with wait in its name waits for the copy. How many groups a wait leaves open is not judged.

    Fix
        Wait for the group of the copy before the barrier.

    References
        PTX ISA, cp.async.wait_group; cute/arch/copy_sm80.hpp (cp_async_wait)
    """

    code = "CUT213"
    name = "cp-async-not-waited"
    family = "lint"
    severity = "warning"
    confidence = "heuristic"
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

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for use in uses_of(event):
            if use.written:
                continue
            reached = order(context)
            filled = next((u for u in reached.before(use) if _fills(u) and _overlaps(u, use)), None)
            if filled is None or filled.event.order < reached.waited(use) or exclusive(filled.event, event):
                continue
            atom = atom_of_event(filled.event)
            kind = "TMA" if atom is not None and "TMA_LOAD" in atom.op else "cp.async"
            yield self.finding(
                event.span,
                f"`{use.tensor.name}` reads shared memory that {kind} fills through `{filled.tensor.name}`, and "
                "nothing has waited for it: the data need not be there",
                label=f"filled at line {filled.event.span.line}, no wait since",
                help="wait for the barrier of the load"
                if kind == "TMA"
                else "put cp_async_wait<N>() before the barrier",
                related=[Related(filled.event.span, "filled asynchronously here")],
                enclosing=event.enclosing,
                arch=event.arch,
            )
            return


def _fills(use: Use) -> bool:
    """A cp.async or TMA load writes the buffer."""
    if not use.written:
        return False
    atom, used = atom_of_event(use.event), side_instruction(use.event, "dst")
    return (atom is not None and "TMA_LOAD" in atom.op) or (used is not None and used.kind.startswith("cp.async"))


def _overlaps(a: Use, b: Use) -> bool:
    return a.first < b.last and b.first < a.last
