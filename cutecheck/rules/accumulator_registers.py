"""CUT703 accumulators-exceed-registers."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call, TensorFact, Unknown
from cutecheck.findings import Finding, Related, Severity
from cutecheck.model.algebra import size
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.pressure import accumulators, most, of_operands, together


class AccumulatorRegisters(Rule):
    """The accumulators of one thread alone fill its registers.

    What it checks
        The accumulator fragments of a thread (``partition_fragment_C``, ``make_fragment_C``), each and those of one
        function that are alive together, take no more 32-bit registers than a thread can have: 255, and its share of
        65536. With the operands' fragments of one step along K, which the MMA needs beside them, a note.

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
    name = "accumulators-exceed-registers"
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
        taken = accumulators(call)
        if taken is None:
            return
        limit, why = most(call, context)
        tensor = call.result
        assert isinstance(tensor, TensorFact) and tensor.dtype is not None and not isinstance(tensor.layout, Unknown)
        if self._exceeds(call, taken, limit, context):
            yield self._finding(
                call,
                f"{taken} registers of accumulators a thread ({known_value(size(tensor.layout))} {tensor.dtype.name}), "
                f"a thread has {limit}{why}",
                f"{taken} registers",
            )
            return
        live = together(call, context)
        if not live or live[-1] is not call:
            return
        parts = [r for c in live if (r := accumulators(c)) is not None]
        if len(parts) > 1 and max(parts) <= limit and self._exceeds(call, sum(parts), limit, context):
            yield self._finding(
                call,
                f"{sum(parts)} registers of accumulators a thread in {len(parts)} fragments "
                f"({' + '.join(map(str, parts))}), a thread has {limit}{why}",
                f"{taken} of {sum(parts)} registers",
                [Related(c.span, f"{accumulators(c)} registers") for c in live if c is not call],
            )
            return
        operands = of_operands(call, context)
        total = sum(parts) + sum(n for n, _ in operands)
        if operands and max(parts) <= limit and self._exceeds(call, total, limit, context):
            yield self._finding(
                call,
                f"{sum(parts)} registers of accumulators and {total - sum(parts)} of operands for one step along K a "
                f"thread, together {total}, a thread has {limit}{why}",
                f"{taken} of {total} registers",
                [Related(c.span, f"{n} registers a step") for n, c in operands],
                severity="note",
            )

    def _exceeds(self, call: Call, registers: int, limit: int, context: Context) -> bool:
        payload = Holds((Condition(Rel.LE, as_expr(registers), as_expr(limit)),), "accumulators fit the registers")
        hypotheses = [h.condition for h in call.hypotheses]
        outcome = context.prove(make_obligation(payload, hypotheses=hypotheses, arch=call.arch, span=call.span))
        return outcome.verdict is Verdict.REFUTED

    def _finding(
        self, call: Call, message: str, label: str, related: Iterable[Related] = (), severity: Severity | None = None
    ) -> Finding:
        return self.finding(
            call.span,
            message,
            label=label,
            help="share the tile among more warpgroups, or make it smaller",
            related=related,
            severity=severity,
            enclosing=call.enclosing,
            arch=call.arch,
        )
