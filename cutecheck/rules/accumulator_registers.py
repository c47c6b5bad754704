"""CUT703 accumulator-registers."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call, TensorFact, Unknown
from cutecheck.findings import Finding
from cutecheck.model.algebra import size
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.model.units import Bits
from cutecheck.rules.base import Context, Rule

REGISTERS = 255
_MAKERS = ("partition_fragment_C", "make_fragment_C")


class AccumulatorRegisters(Rule):
    """The accumulators of one thread alone fill its registers.

    What it checks
        The accumulator fragment of a thread (``partition_fragment_C``, ``make_fragment_C``) takes fewer 32-bit
        registers than the 255 that a thread can have.

    Why
        ptxas spills, or serialises wgmma ("insufficient register resources"), and the kernel loses most of its speed
        without an error. A 128x256 tile of one consumer warpgroup needs 256 float accumulators a thread.

    Example
        partition_fragment_C(mma_of_one_warpgroup, Shape<_128, _256>{})

    Use instead
        partition_fragment_C(mma_of_two_warpgroups, Shape<_128, _256>{})

    Assumptions
        Addresses, fragments and loop variables need registers too: fewer accumulators can also be too many.
        Accumulators of 16 bits, which share registers, are not judged.

    Fix
        More warpgroups for the tile, or a smaller tile.

    References
        CUDA C++ Programming Guide, technical specifications; https://github.com/NVIDIA/cutlass/issues/1840
    """

    code = "CUT703"
    name = "accumulator-registers"
    family = "register-pressure"
    severity = "warning"
    confidence = "proved"
    valid = (
        """
        static constexpr int kConsumers = 2;
        static constexpr int kThreads = 128 * (1 + kConsumers);
        using Mma = decltype(make_tiled_mma(SM90_64x256x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>{},
            Layout<Shape<Int<kConsumers>, _1, _1>>{}));
        using CtaTile = Shape<_128, _256, _64>;
        CUTE_HOST_DEVICE auto accumulators() {
          Mma mma;
          return partition_fragment_C(mma, take<0, 2>(CtaTile{}));
        }
        __global__ void __launch_bounds__(kThreads, 1) mainloop(float* out) {
          if (threadIdx.x < 128) return;
          auto acc = accumulators();
          clear(acc);
          out[threadIdx.x - 128] = acc(0);
        }
        void run(float* out) { mainloop<<<1, kThreads>>>(out); }
        """,
    )
    invalid = (
        """
        static constexpr int kConsumers = 1;
        static constexpr int kThreads = 128 * (1 + kConsumers);
        using Mma = decltype(make_tiled_mma(SM90_64x256x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>{},
            Layout<Shape<Int<kConsumers>, _1, _1>>{}));
        using CtaTile = Shape<_128, _256, _64>;
        CUTE_HOST_DEVICE auto accumulators() {
          Mma mma;
          return partition_fragment_C(mma, take<0, 2>(CtaTile{}));
        }
        __global__ void __launch_bounds__(kThreads, 1) mainloop(float* out) {
          if (threadIdx.x < 128) return;
          auto acc = accumulators();
          clear(acc);
          out[threadIdx.x - 128] = acc(0);
        }
        void run(float* out) { mainloop<<<1, kThreads>>>(out); }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        tensor = call.result
        if call.function not in _MAKERS or not isinstance(tensor, TensorFact) or tensor.space != "rmem":
            return
        if isinstance(tensor.layout, Unknown) or tensor.dtype is None or tensor.dtype.bits is None:
            return
        if tensor.dtype.bits < Bits(32):
            return
        bits = size(tensor.layout) * int(tensor.dtype.bits)
        payload = Holds((Condition(Rel.LT, as_expr(bits), as_expr(32 * REGISTERS)),), "accumulators fit the registers")
        hypotheses = [h.condition for h in call.hypotheses]
        outcome = context.prove(make_obligation(payload, hypotheses=hypotheses, arch=call.arch, span=call.span))
        total = known_value(bits)
        if outcome.verdict is Verdict.REFUTED and total is not None:
            yield self.finding(
                call.span,
                f"{total // 32} registers of accumulators a thread ({known_value(size(tensor.layout))} "
                f"{tensor.dtype.name}), a thread has {REGISTERS}",
                label=f"{total // 32} registers",
                help="share the tile among more warpgroups, or make it smaller",
                enclosing=call.enclosing,
                arch=call.arch,
            )
