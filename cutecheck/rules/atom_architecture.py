"""CUT306 atom-wrong-architecture."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.targets import atom_of_event, earliest, lacking


class AtomArchitecture(Rule):
    """A copy or MMA runs an instruction that the architecture it is compiled for does not have.

    What it checks
        The operation of every copy and gemm against the architectures that ``--arch``, the configuration or the
        compilation database names: wgmma exists on sm_90a only, TMA from sm_90 on, ``cp.async`` from sm_80 on, tcgen05
        on sm_100a and its relatives, the block-scaled ``mma`` on sm_120a.

    Why
        CuTe compiles it all the same: without its ``CUTE_ARCH_..._ENABLED`` macro the operation's body is a message and
        a trap. ``-arch=sm_90`` instead of ``sm_90a`` is enough, and the kernel stops at its first wgmma.

    Example
        nvcc -arch=sm_90 gemm.cu      // SM90_64x128x16_F32F16F16_SS

    Use instead
        nvcc -gencode arch=compute_90a,code=sm_90a gemm.cu

    Assumptions
        Where several architectures are named, one that has the instruction is enough: the host may choose the kernel.
        Architectures guessed from names in the sources are not judged.

    Fix
        Compile for the architecture of the operation, or choose an operation of the architecture.

    References
        cute/arch/config.hpp; PTX ISA, target notes of each instruction
    """

    code = "CUT306"
    name = "atom-wrong-architecture"
    family = "atom-count"
    severity = "error"
    confidence = "proved"
    unasked = "None: it compares the atom's architectures with the one that was asked for."
    arch = ("sm_75",)
    valid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        __global__ void __launch_bounds__(128) load(float const* A) {
          __shared__ alignas(128) float tile[8 * 64];
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
          Tensor sA = make_tensor(make_smem_ptr(tile), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
          auto thr = Load{}.get_slice(threadIdx.x);
          copy(Load{}, thr.partition_S(gA), thr.partition_D(sA));
        }
        """,
    )
    invalid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        __global__ void __launch_bounds__(128) load(float const* A) {
          __shared__ alignas(128) float tile[8 * 64];
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
          Tensor sA = make_tensor(make_smem_ptr(tile), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
          auto thr = Load{}.get_slice(threadIdx.x);
          copy(Load{}, thr.partition_S(gA), thr.partition_D(sA));
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        atom = atom_of_event(event)
        if atom is None or event.span.is_python or not lacking(atom, event.arch, context):
            return
        yield self.finding(
            event.span,
            f"{atom.op} needs {earliest(atom.targets)}, this is compiled for {event.arch}: CuTe compiles it to a trap",
            label=f"an operation of {atom.targets[0]}",
            help="choose an operation of the architecture, or compile for that of the operation",
            related=[Related(event.tiled_span, f"{atom.op}")] if event.tiled_span else [],
            enclosing=event.enclosing,
            arch=event.arch,
        )
