"""CUT211 accepted-silently."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cutecheck.facts import Call, Site
from cutecheck.findings import Finding
from cutecheck.model import algebra
from cutecheck.model.algebra import size
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError, known_value
from cutecheck.model.inttuple import leaves
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledMMA
from cutecheck.rules.base import Context, Family, Rule


class AcceptedSilently(Rule):
    """Layout algebra that C++ CuTe refuses and the Python DSL takes.

    What it checks
        ``tile_to_shape`` gives the shape it was asked for; ``composition`` and ``complement`` are given what C++ CuTe
        takes; ``make_swizzle`` gives the swizzle that was written; an MMA's atom layout gives each warp its own work.

    Why
        The DSL asserts none of these. ``tile_to_shape`` of a target that is no multiple of the atom comes out larger,
        a composition that does not divide maps to other elements, and ``make_swizzle(3, 4, 2)``, whose shift is smaller
        than its bits, silently becomes ``S<0,4,3>``: no swizzle at all.

    Example
        cute.make_swizzle(3, 4, 2)

    Use instead
        cute.make_swizzle(3, 4, 3)

    Assumptions
        None.

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
        if not call.span.is_python:
            return
        if call.function == "tile_to_shape" and len(call.arguments) > 1:
            yield from self._grown(call)
        elif call.function == "make_swizzle" and isinstance(call.result, Swizzle):
            wanted, made = call.arguments[:3], call.result
            if len(wanted) == 3 and wanted != (made.bits, made.base, made.shift) and wanted[0] != 0:
                text = f"make_swizzle{tuple(wanted)} is no swizzle: the DSL silently makes `{made}`, which does nothing"
                yield self._said(call, text, "the shift is at least as large as the bits", "swizzle-params")
        elif call.function in ("composition", "complement") and isinstance(call.result, (Layout, ComposedLayout)):
            yield from self._refused(call)

    def _grown(self, call: Call) -> Iterable[Finding]:
        if not isinstance(call.result, (Layout, ComposedLayout)):
            return
        asked = 1
        for extent in leaves(call.arguments[1]):
            number = known_value(extent) if isinstance(extent, (int, Dyn, Sym)) else None
            if number is None:
                return
            asked *= number
        has = known_value(size(call.result))
        if has is not None and has > asked:
            text = f"tile_to_shape gives {has} elements for {asked}: the target is no multiple of the atom, it grows"
            yield self._said(call, text, "make each extent a multiple of the atom's", "tile-divisibility")

    def _refused(self, call: Call) -> Iterable[Finding]:
        arguments = call.arguments[:2]
        if len(arguments) < 2 or not isinstance(arguments[0], Layout):
            return
        try:
            getattr(algebra, call.function)(*arguments)
        except UndecidedError:
            return
        except (TypeError, ValueError, AttributeError, IndexError):
            return
        except CuteError as error:
            text = f"C++ CuTe refuses this {call.function} ({error}); the DSL makes `{call.result}` of it"
            yield self._said(call, text, "use layouts that divide", "tile-divisibility")

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        mma = site.value
        if not site.call or not isinstance(mma, TiledMMA) or not context.leads(site):
            return
        layout = mma.atom_layout_mnk
        modes = [(n, s, d) for n, s, d in zip("MNK", _three(layout.shape), _three(layout.stride), strict=True)]
        idle = [n for n, s, d in modes if known_value(s) not in (1, None) and known_value(d) == 0]
        if idle:
            text = f"the atom layout {layout} repeats the same threads along {', '.join(idle)}: they do the same work"
            yield self.finding(site.span, text, label=f"stride 0 in {', '.join(idle)}", family="coverage",
                               help="number the warps without repeats", arch=site.arch)  # fmt: skip
        elif known_value(modes[2][1]) not in (1, None):
            text = f"{modes[2][1]} groups of warps split K: each holds partial sums, which the kernel has to add"
            yield self.finding(site.span, text, label="more than one atom along K", family="coverage", severity="note",
                               help="reduce the accumulators over the groups", arch=site.arch)  # fmt: skip

    def _said(self, call: Call, text: str, help_: str, family: Family) -> Finding:
        return self.finding(
            call.span, text, label="accepted silently", help=help_, family=family, enclosing=call.enclosing,
            arch=call.arch,
        )  # fmt: skip


def _three(v: Any) -> tuple[Any, Any, Any]:
    return v if isinstance(v, tuple) and len(v) == 3 else (v, 1, 1)
