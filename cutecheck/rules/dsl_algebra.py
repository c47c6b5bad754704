"""CUT211 accepted-silently."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cutecheck.facts import Call, Site
from cutecheck.findings import Finding
from cutecheck.model.ints import known_value
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accepted import of_call, of_tiled_copy


class AcceptedSilently(Rule):
    """Layout algebra that C++ CuTe refuses and the Python DSL takes.

    What it checks
        ``tile_to_shape`` and the divides give as many elements as there are; ``composition`` and ``complement`` are
        given what C++ CuTe takes; ``make_swizzle`` gives the swizzle that was written, and in a composed layout it does
        not do the same to every row; an MMA's atom layout gives each warp its own work; a copy is of whole warps. A
        number of Python that picks from a mode of a tensor in shared or tensor memory or registers is one of its own.
        Keywords of ``cutlass.range`` are not misspelt. ``llvm.inline_asm`` is given no operands that it passes over.

    Why
        The DSL asserts none of these. ``tile_to_shape`` of a target that is no multiple of the atom comes out larger,
        a composition that does not divide maps to other elements, and ``make_swizzle(3, 4, 2)``, whose shift is smaller
        than its bits, silently becomes ``S<0,4,3>``: no swizzle at all. ``S<3,0,3>`` over rows of 64 elements takes its
        bits from inside the row: rows that met in a bank still meet.

    Example
        cute.make_swizzle(3, 4, 2)

    Use instead
        cute.make_swizzle(3, 4, 3)

    Assumptions
        Blocks of scale factors, atoms with several coordinates for one element, are padded on purpose.

    Fix
        Pad the target to a multiple of the atom; write parameters with ``shift >= bits >= 0``.

    References
        cute/layout.hpp (composition, complement); cutlass/cute/core.py of nvidia-cutlass-dsl
    """

    code = "CUT211"
    name = "accepted-silently"
    family = "tile-divisibility"
    severity = "warning"
    confidence = "proved"
    unasked = "None: it computes what the DSL gives, and compares it with what was asked for."
    valid = (
        """
        import cutlass
        import cutlass.cute as cute

        @cute.jit
        def host():
            atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
            smem = cute.tile_to_shape(atom, (128, 64), (0, 1))

        host()
        """,
    )
    invalid = (
        """
        import cutlass
        import cutlass.cute as cute

        @cute.jit
        def host():
            smem = cute.tile_to_shape(cute.make_layout((8, 64), stride=(64, 1)), (100, 64), (0, 1))

        host()
        """,
        """
        import cutlass
        import cutlass.cute as cute

        @cute.jit
        def host():
            swizzle = cute.make_swizzle(3, 4, 2)

        host()
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        found = of_call(call) if call.span.is_python else None
        if found is not None:
            yield self.finding(call.span, found.text, label="accepted silently", help=found.help, family=found.family,
                               severity=found.severity, enclosing=call.enclosing, arch=call.arch)  # fmt: skip

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        mma = site.value
        if not site.call or not context.leads(site):
            return
        if isinstance(mma, TiledCopy):
            found = of_tiled_copy(mma)
            if found is not None:
                yield self.finding(site.span, found.text, label="no whole warps", help=found.help, family=found.family,
                                   severity=found.severity, arch=site.arch)  # fmt: skip
        if not isinstance(mma, TiledMMA):
            return
        layout = mma.atom_layout_mnk
        modes = [(n, s, d) for n, s, d in zip("MNK", _three(layout.shape), _three(layout.stride), strict=True)]
        if any(isinstance(x, tuple) for _, s, d in modes for x in (s, d)):
            return  # modes of several: which of them repeat threads is not asked
        idle = [n for n, s, d in modes if known_value(s) not in (1, None) and known_value(d) == 0]
        if idle:
            text = f"the atom layout {layout} repeats the same threads along {', '.join(idle)}: they do the same work"
            yield self.finding(site.span, text, label=f"stride 0 in {', '.join(idle)}", family="coverage",
                               help="number the warps without repeats", arch=site.arch)  # fmt: skip
        elif known_value(modes[2][1]) not in (1, None):
            text = f"{modes[2][1]} groups of warps split K: each holds partial sums, which the kernel has to add"
            yield self.finding(site.span, text, label="more than one atom along K", family="coverage", severity="note",
                               help="reduce the accumulators over the groups", arch=site.arch)  # fmt: skip


def _three(v: Any) -> tuple[Any, Any, Any]:
    return v if isinstance(v, tuple) and len(v) == 3 else (v, 1, 1)
