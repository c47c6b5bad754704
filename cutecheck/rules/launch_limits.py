"""CUT704 launch-too-many-threads."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Launch
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.launches import kernel_name

_MOST_THREADS = 1024


class LaunchLimits(Rule):
    """A kernel is launched with more threads than a block, or its own ``__launch_bounds__``, can have.

    What it checks
        The block of every launch has at most 1024 threads, and at most those of the kernel's ``__launch_bounds__``.
        No grid is known to have no blocks.

    Why
        The launch fails at run time (invalid configuration, too many resources requested), which nobody sees until an
        error is asked for. ``__launch_bounds__`` is a promise to ptxas: it may use all registers for that many threads.

    Example
        __global__ void __launch_bounds__(128) kernel(...);
        kernel<<<grid, size(TiledCopy{})>>>(...);   // a copy of 256 threads

    Use instead
        __global__ void __launch_bounds__(decltype(size(TiledCopy{}))::value) kernel(...);

    Assumptions
        None.

    Fix
        Derive both numbers from one constant of the configuration.

    References
        CUDA C++ Programming Guide, launch bounds; technical specifications per compute capability
    """

    code = "CUT704"
    name = "launch-too-many-threads"
    family = "launch"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(256) fill(half_t* out) {
          Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_32, _64>, Stride<_64, _1>>{});
          Tensor t = Load{}.get_slice(threadIdx.x).partition_D(g);
          Tensor r = make_fragment_like(t);
          clear(r);
          copy(Load{}, r, t);
        }
        void run(half_t* out) { fill<<<1, size(Load{})>>>(out); }
        """,
    )
    invalid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) fill(half_t* out) {
          Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_32, _64>, Stride<_64, _1>>{});
          Tensor t = Load{}.get_slice(threadIdx.x).partition_D(g);
          Tensor r = make_fragment_like(t);
          clear(r);
          copy(Load{}, r, t);
        }
        void run(half_t* out) { fill<<<1, size(Load{})>>>(out); }
        """,
    )

    def on_launch(self, launch: Launch, context: Context) -> Iterable[Finding]:
        if launch.origin not in ("launch", "launch_bounds") or launch.block_threads is None:
            return
        empty = next((i for i, n in enumerate(launch.grid) if known_value(n) == 0), None)
        if launch.origin == "launch" and empty is not None:
            yield self.finding(
                launch.span, f"`{kernel_name(launch)}` is launched with a grid of 0 blocks along {'xyz'[empty]}: the "
                "launch fails, and nothing is computed",
                label="no blocks", help="round up: (extent + tile - 1) / tile blocks",
                enclosing=launch.kernel, arch=launch.arch,
            )  # fmt: skip
        bounds = None
        if launch.origin == "launch":
            bounds = next(
                (x for x in context.index.launches_of.get(launch.kernel, [])
                 if x.origin == "launch_bounds" and x.arch == launch.arch), None
            )  # fmt: skip
        allowed = known_value(bounds.block_threads) if bounds and bounds.block_threads is not None else None
        limit = min(allowed or _MOST_THREADS, _MOST_THREADS)
        threads = launch.block_threads
        payload = Holds((Condition(Rel.LE, as_expr(threads), as_expr(limit)),), "threads of the block")
        outcome = context.prove(make_obligation(payload, arch=launch.arch, span=launch.span))
        if outcome.verdict is not Verdict.REFUTED or known_value(threads) is None:
            return
        what = "a block has at most" if limit == _MOST_THREADS else "its __launch_bounds__ allow"
        yield self.finding(
            launch.span,
            f"`{kernel_name(launch)}` is launched with {known_value(threads)} threads a block, {what} {limit}",
            label=f"{known_value(threads)} threads",
            help="derive the block size and the launch bounds from one constant",
            related=[Related(bounds.span, f"__launch_bounds__({allowed})")] if bounds is not None else [],
            enclosing=launch.kernel,
            arch=launch.arch,
        )
