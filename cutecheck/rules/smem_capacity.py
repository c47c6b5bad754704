"""CUT702 smem-too-large."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cutecheck.facts import Launch, SmemBuffer
from cutecheck.findings import Finding, Related, Severity
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.model.units import ByteCount, Bytes
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.guards import asks_device
from cutecheck.rules.derive.launches import allocated, in_dynamic, kernel_name, only_tried
from cutecheck.rules.derive.limits import STATIC_SMEM, smem_limit, static_smem


class SmemCapacity(Rule):
    """The shared memory of one kernel exceeds what a block can have.

    What it checks
        The shared-memory buffers of one kernel together fit the architecture's limit for a block: 227 KB on sm_90 and
        sm_100, 163 KB on sm_80 and sm_87, 99 KB on sm_86, sm_89 and sm_120, 64 KB on sm_75. So do the bytes of dynamic
        shared memory of every launch; ``__shared__`` arrays of a size known to the compiler fit 48 KB, those
        of a target like sm_90a the block's limit since CUDA 13.0.
        What a kernel of the Python DSL allocates fits the ``smem=`` of its launch.

    Why
        The launch fails at run time, or the kernel silently does not run where nobody reads the launch's status. Static
        arrays beyond 48 KB do not compile ("uses too much shared data"). What a kernel
        of the DSL has past ``smem=`` is not its own.

    Example
        __shared__ float stages[4][64 * 64];  // 64 KB

    Use instead
        __shared__ float stages[3][64 * 64];

    Assumptions
        Buffers that the kernel places itself inside one dynamic allocation are not counted twice: aliasing members are
        one buffer. A kernel of the DSL that is only launched inside a ``try`` is one that may be refused. Where nobody
        asked for an architecture, a block may have the 227 KB of sm_90.

    Fix
        Fewer stages, a smaller tile, buffers that share storage in turn, or dynamic shared memory for static arrays.

    References
        CUDA C++ Programming Guide, technical specifications per compute capability
    """

    code = "CUT702"
    name = "smem-too-large"
    family = "smem-capacity"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        __global__ void __launch_bounds__(64) stages(float* out) {
          __shared__ float tile[3][64 * 64];
          Tensor s = make_tensor(make_smem_ptr(&tile[0][0]), Layout<Shape<_64, _64>>{});
          Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>>{});
          copy(s(threadIdx.x, _), g(threadIdx.x, _));
        }
        """,
    )
    invalid = (
        """
        __global__ void __launch_bounds__(64) stages(float* out) {
          __shared__ float tile[4][64 * 64];
          Tensor s = make_tensor(make_smem_ptr(&tile[0][0]), Layout<Shape<_64, _64>>{});
          Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>>{});
          copy(s(threadIdx.x, _), g(threadIdx.x, _));
        }
        """,
    )

    def on_buffer(self, buffer: SmemBuffer, context: Context) -> Iterable[Finding]:
        limit = _limit(buffer.arch, context)
        group = [
            b for b in context.index.buffers_in.get((buffer.enclosing, buffer.arch), []) if b.size_bytes is not None
        ]
        if limit is None or not group or group[0] is not buffer or only_tried(buffer, context):
            return
        # one member of the objects of several kernels; one place of the DSL allocates several buffers
        group = list({(b.buffer_id if b.span.is_python else b.span): b for b in group}.values())
        fixed = [b for b in group if b.enclosing and _is_declared(b, context)]
        over = self._over(fixed, STATIC_SMEM, context) if fixed else None
        if over is not None:
            most = static_smem(buffer.arch)
            if over > most or most == STATIC_SMEM:
                yield self._finding(fixed, f"static arrays of {over} bytes, a kernel can declare {most}", buffer)
                return
            older = f"more than the {STATIC_SMEM} that CUDA before 13.0 lets a kernel declare"
            yield self._finding(fixed, f"static arrays of {over} bytes, {older}", buffer, "note")
        over = self._over(group, limit, context)
        if over is not None:
            yield self._finding(
                group, f"{over} bytes of shared memory, a block on {_named(buffer.arch, limit)} has {limit}", buffer
            )

    def on_launch(self, launch: Launch, context: Context) -> Iterable[Finding]:
        limit = _limit(launch.arch, context)
        if launch.origin != "launch" or limit is None or launch.smem_bytes is None or asks_device(launch.guards):
            return
        if launch.tried:
            return
        payload = Holds((Condition(Rel.LE, as_expr(launch.smem_bytes), as_expr(limit)),), "shared memory of the launch")
        outcome = context.prove(make_obligation(payload, arch=launch.arch, span=launch.span))
        size = known_value(launch.smem_bytes)
        if outcome.verdict is Verdict.REFUTED and size is None:
            reason = "the shared memory that the kernel is launched with is not known"
            context.record(replace(outcome, verdict=Verdict.UNKNOWN, reason=reason, witness=None))
        elif outcome.verdict is Verdict.REFUTED:
            yield self.finding(
                launch.span,
                f"`{kernel_name(launch)}` is launched with {size} bytes of shared memory, a block on "
                f"{_named(launch.arch, limit)} has {limit}",
                label=f"{size} bytes",
                help="use fewer stages or a smaller tile",
                enclosing=launch.kernel,
                arch=launch.arch,
            )
        elif size is not None:
            group = allocated(launch, context)
            over = self._over(group, size, context) if group else None
            if over is not None:
                yield self.finding(
                    launch.span,
                    f"`{kernel_name(launch)}` allocates {over} bytes of shared memory and is launched with {size}",
                    label=f"smem={size}",
                    help="leave `smem` out, the DSL then takes what the kernel allocates, or pass the storage's size",
                    related=[Related(b.span, f"{b.size_bytes} bytes") for b in group],
                    enclosing=launch.kernel,
                    arch=launch.arch,
                )

    def _over(self, group: list[SmemBuffer], limit: int, context: Context) -> int | None:
        """The bytes of the buffers where they are more than the limit."""
        total = _bytes(group)
        payload = Holds((Condition(Rel.LE, as_expr(total), as_expr(limit)),), "shared memory of the block")
        first = group[0]
        outcome = context.prove(
            make_obligation(payload, tuple(b.buffer_id for b in group), arch=first.arch, span=first.span)
        )
        return known_value(total) if outcome.verdict is Verdict.REFUTED else None

    def _finding(
        self, group: list[SmemBuffer], what: str, buffer: SmemBuffer, severity: Severity | None = None
    ) -> Finding:
        biggest = max(group, key=lambda b: known_value(b.size_bytes) or 0)  # type: ignore[arg-type]
        return self.finding(
            biggest.span,
            f"`{buffer.enclosing}` uses {what}",
            label=f"{known_value(biggest.size_bytes)} bytes here",  # type: ignore[arg-type]
            help="use fewer stages or a smaller tile, or dynamic shared memory",
            severity=severity,
            related=[Related(b.span, f"{b.size_bytes} bytes") for b in group if b is not biggest],
            enclosing=buffer.enclosing,
            arch=buffer.arch,
        )


_MOST = "sm_90"  # no architecture has more


def _bytes(group: list[SmemBuffer]) -> ByteCount:
    """What they take together: members of one structure up to where the last one ends, since unions overlay some.

    A member of which it is not known where it starts may lie before that end.
    """
    total: ByteCount = Bytes(0)
    ends: dict[str, int] = {}
    floating: list[tuple[str, ByteCount]] = []
    for b in group:
        if b.size_bytes is None or any(b.buffer_id.startswith(f"{o.buffer_id}.") for o in group):
            continue
        size, start = known_value(b.size_bytes), None if b.start_bytes is None else known_value(b.start_bytes)
        kernel, _, member = b.buffer_id.rpartition("::")
        root = f"{kernel}::{member.partition('.')[0]}"
        if size is None or start is None:
            floating.append((root, b.size_bytes))
        else:
            ends[root] = max(ends.get(root, 0), start + size)
    for root, size_bytes in floating:
        total = total + (Bytes(0) if root in ends else size_bytes)  # type: ignore[assignment]
    return total + sum(ends.values())  # type: ignore[return-value]


def _limit(arch: str, context: Context) -> int | None:
    """Bytes of a block on the architecture; of the one with the most where it was only guessed."""
    return smem_limit(arch if context.facts.archs else _MOST)


def _named(arch: str, limit: int) -> str:
    return arch if smem_limit(arch) == limit else f"any architecture (`{arch}` was not asked for)"


def _is_declared(buffer: SmemBuffer, context: Context) -> bool:
    """Whether it is a ``__shared__`` variable: in Python what ``alloc_smem`` makes, all else the launch gives."""
    return "::array@" in buffer.buffer_id if buffer.span.is_python else not in_dynamic(buffer, context.facts)
