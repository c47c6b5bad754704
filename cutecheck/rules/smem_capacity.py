"""CUT702 smem-capacity."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import SmemBuffer
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.model.units import ByteCount, Bytes
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.limits import smem_limit


class SmemCapacity(Rule):
    """The shared memory of one kernel exceeds what a block can have.

    What it checks
        The shared-memory buffers of one kernel together fit the architecture's limit for a block: 227 KB on sm_90 and
        sm_100, 163 KB on sm_80 and sm_87, 99 KB on sm_86, sm_89 and sm_120, 64 KB on sm_75.

    Why
        The launch fails at run time, or the kernel silently does not run where nobody reads the launch's status.

    Example
        __shared__ float stages[4][128 * 128];  // 256 KB

    Use instead
        __shared__ float stages[2][128 * 128];

    Assumptions
        Buffers that the kernel places itself inside one dynamic allocation are not counted twice: aliasing members are
        one buffer.

    Fix
        Fewer stages, a smaller tile, or buffers that share storage in turn.

    References
        CUDA C++ Programming Guide, technical specifications per compute capability
    """

    code = "CUT702"
    name = "smem-capacity"
    family = "smem-capacity"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        __global__ void __launch_bounds__(128) stages(float* out) {
          __shared__ float tile[2][128 * 128];
          Tensor s = make_tensor(make_smem_ptr(&tile[0][0]), Layout<Shape<_128, _128>>{});
          Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_128, _128>>{});
          copy(s(threadIdx.x, _), g(threadIdx.x, _));
        }
        """,
    )
    invalid = (
        """
        __global__ void __launch_bounds__(128) stages(float* out) {
          __shared__ float tile[4][128 * 128];
          Tensor s = make_tensor(make_smem_ptr(&tile[0][0]), Layout<Shape<_128, _128>>{});
          Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_128, _128>>{});
          copy(s(threadIdx.x, _), g(threadIdx.x, _));
        }
        """,
    )

    def on_buffer(self, buffer: SmemBuffer, context: Context) -> Iterable[Finding]:
        limit = smem_limit(buffer.arch)
        group = [
            b for b in context.facts.buffers
            if b.enclosing == buffer.enclosing and b.arch == buffer.arch and b.size_bytes is not None
        ]  # fmt: skip
        if limit is None or not group or group[0] is not buffer:
            return
        total: ByteCount = Bytes(0)
        for b in group:
            total = total + b.size_bytes  # type: ignore[operator, assignment]
        payload = Holds((Condition(Rel.LE, as_expr(total), as_expr(limit)),), "shared memory of the block")
        outcome = context.prove(
            make_obligation(payload, tuple(b.buffer_id for b in group), arch=buffer.arch, span=buffer.span)
        )
        size = known_value(total)
        if outcome.verdict is Verdict.REFUTED and size is not None:
            biggest = max(group, key=lambda b: known_value(b.size_bytes) or 0)  # type: ignore[arg-type]
            yield self.finding(
                biggest.span,
                f"`{buffer.enclosing}` uses {size} bytes of shared memory, a block on {buffer.arch} has {limit}",
                label=f"{known_value(biggest.size_bytes)} bytes here",  # type: ignore[arg-type]
                help="use fewer stages or a smaller tile",
                related=[Related(b.span, f"{b.size_bytes} bytes") for b in group if b is not biggest],
                enclosing=buffer.enclosing,
                arch=buffer.arch,
            )
