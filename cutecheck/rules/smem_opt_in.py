"""CUT705 dynamic-smem-not-opted-in."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Launch
from cutecheck.findings import Finding
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.launches import kernel_name
from cutecheck.rules.derive.limits import STATIC_SMEM


class DynamicSmemOptIn(Rule):
    """A launch asks for more than 48 KiB of dynamic shared memory that nothing allowed its kernel.

    What it checks
        For every launch with more than 49152 bytes of dynamic shared memory, the scanned sources raise the kernel's
        ``cudaFuncAttributeMaxDynamicSharedMemorySize`` somewhere, to at least as many bytes where both are known.

    Why
        Without the attribute the launch fails with "invalid argument", and the kernel does not run: a tile that grew by
        one stage gives stale results where nobody checks the error.

    Example
        kernel<<<grid, block, 65536>>>(...);

    Use instead
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
        kernel<<<grid, block, 65536>>>(...);

    Assumptions
        An attribute that is set for a kernel that cannot be told is taken to be for this one.

    Fix
        Set the attribute once before the first launch.

    References
        CUDA C++ Programming Guide, shared memory of compute capability 7.x and later
    """

    code = "CUT705"
    name = "dynamic-smem-not-opted-in"
    family = "smem-capacity"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        __global__ void __launch_bounds__(128) tiles(float* out) {
          extern __shared__ float smem[];
          smem[threadIdx.x] = 0;
          Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_128, _128>>{});
          Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_128, _128>>{});
          copy(s(threadIdx.x, _), g(threadIdx.x, _));
        }
        void run(float* out) {
          cudaFuncSetAttribute(tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
          tiles<<<1, 128, 65536>>>(out);
        }
        """,
    )
    invalid = (
        """
        __global__ void __launch_bounds__(128) tiles(float* out) {
          extern __shared__ float smem[];
          smem[threadIdx.x] = 0;
          Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_128, _128>>{});
          Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_128, _128>>{});
          copy(s(threadIdx.x, _), g(threadIdx.x, _));
        }
        void run(float* out) { tiles<<<1, 128, 65536>>>(out); }
        """,
    )

    def on_launch(self, launch: Launch, context: Context) -> Iterable[Finding]:
        wanted = None if launch.smem_bytes is None else known_value(launch.smem_bytes)
        if launch.origin != "launch" or wanted is None or launch.span.is_python:  # the DSL sets the attribute
            return
        allowed = [_allows(x, launch) for x in context.facts.launches if x.origin == "attribute"]
        if None in allowed:
            return
        limit = max([STATIC_SMEM, *(a for a in allowed if a is not None)])
        payload = Holds((Condition(Rel.LE, as_expr(wanted), as_expr(limit)),), "dynamic shared memory allowed")
        outcome = context.prove(make_obligation(payload, arch=launch.arch, span=launch.span))
        if outcome.verdict is Verdict.REFUTED:
            yield self.finding(
                launch.span,
                f"`{kernel_name(launch)}` is launched with {wanted} bytes of dynamic shared memory, without "
                f"cudaFuncSetAttribute a kernel has {limit}: the launch fails"
                if limit == STATIC_SMEM
                else f"`{kernel_name(launch)}` is launched with {wanted} bytes of dynamic shared memory, its attribute "
                f"allows {limit}: the launch fails",
                label=f"{wanted} bytes",
                help=f"cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, {wanted}) before it",
                enclosing=launch.kernel,
                arch=launch.arch,
            )


def _allows(attribute: Launch, launch: Launch) -> int | None:
    """Bytes that an attribute allows the launched kernel; None where that is open."""
    name = kernel_name(launch).rsplit("::", 1)[-1]
    if attribute.kernel and attribute.kernel.rsplit("::", 1)[-1] != name:
        return 0
    return None if attribute.smem_bytes is None else known_value(attribute.smem_bytes)
