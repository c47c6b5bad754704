"""CUT201 tile-not-covered."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Site
from cutecheck.findings import Finding, Related
from cutecheck.model.atoms import MMAAtom
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Coverage
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.version import REFERENCE, cute_version
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.tiles import extent, usable


class TileNotCovered(Rule):
    """A tiled copy misses elements of its tile, moves some twice, or leaves the tile.

    What it checks
        The thread-value layout of a TiledCopy maps its threads and values onto the tile: each element once. Threads
        whose stride is 0 hold copies of the same elements (operands of an MMA) and count once. So do the layouts of A,
        B and C in ``MMA_Traits`` of the program's own, and in those of a CUTLASS older than the reference (the
        ``BLayout`` of eight integer operations, ``SM80_16x8x32_S32S4S4S32_TN`` and its kin, is wrong up to 4.4).

    Why
        A thread-value layout written by hand is not checked by CuTe. One wrong stride compiles, leaves elements of
        shared memory unwritten, and reads what was there before.

    Example
        TiledCopy<Atom, Layout<Shape<_8, _4>, Stride<_1, _4>>, Shape<_8, _4>>

    Use instead
        TiledCopy<Atom, Layout<Shape<_8, _4>, Stride<_1, _8>>, Shape<_8, _4>>

    Assumptions
        TMA and bulk copies are not judged: their "threads" are the CTAs of a cluster.

    Fix
        Let ``make_tiled_copy`` build the layout from a thread and a value layout, or correct the strides.

    References
        cute/atom/copy_atom.hpp (TiledCopy)
    """

    code = "CUT201"
    name = "tile-not-covered"
    family = "coverage"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Atom = Copy_Atom<UniversalCopy<float>, float>;
        using Move = TiledCopy<Atom, Layout<Shape<_8, _4>, Stride<_1, _8>>, Shape<_8, _4>>;
        """,
    )
    invalid = (
        """
        using Atom = Copy_Atom<UniversalCopy<float>, float>;
        using Move = TiledCopy<Atom, Layout<Shape<_8, _4>, Stride<_1, _4>>, Shape<_8, _4>>;
        """,
    )

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        copy = site.value
        if usable(site) and context.leads(site) and isinstance(copy, TiledMMA):
            yield from self._operands(site, copy.atom, context)
        if (
            not usable(site)
            or not context.leads(site)
            or not isinstance(copy, TiledCopy)
            or not isinstance(copy.layout_tv, Layout)
        ):
            return
        if "_TMA_" in copy.atom.op or "BULK" in copy.atom.op:
            return
        tile = copy.tiler_shape
        payload = Coverage(copy.layout_tv, tile, replicated=True, what=site.symbol)
        outcome = context.prove(
            make_obligation(payload, (site.site_id,), arch=site.arch, span=site.span,
                            hypotheses=[h.condition for h in site.hypotheses])
        )  # fmt: skip
        if outcome.verdict is not Verdict.REFUTED:
            return
        counts = [f"{outcome.number(n)} {n}" for n in ("missed", "doubled", "outside") if outcome.number(n)]
        yield self.finding(
            site.span,
            f"the thread-value layout of `{site.symbol}` does not cover its {extent(tile)} tile once"
            + (f": {', '.join(counts)}" if counts else ""),
            label=f"{copy.layout_tv}",
            help="give make_tiled_copy a thread and a value layout, or correct the strides",
            witness=outcome.witness,
            related=[Related(site.call_span, "built here")] if site.call_span.line != site.span.line else [],
            enclosing=", ".join(f"{k}={v}" for k, v in site.bindings),
            arch=site.arch,
        )

    def _operands(self, site: Site, atom: MMAAtom, context: Context) -> Iterable[Finding]:
        """Of an instruction that is the program's own, or of an older CuTe's: some of those were wrong."""
        if atom.kind != "custom" and (atom.kind != "mma" or cute_version() == REFERENCE):
            return
        if not isinstance(atom.shape_mnk, tuple) or len(atom.shape_mnk) != len("MNK"):
            return
        m, n, k = atom.shape_mnk
        for name, layout, tile in (("A", atom.a_tv, (m, k)), ("B", atom.b_tv, (n, k)), ("C", atom.c_tv, (m, n))):
            payload = Coverage(layout, tile, replicated=True, what=f"{name} of {atom.op}")
            outcome = context.prove(make_obligation(payload, (site.site_id,), arch=site.arch, span=site.span))
            if outcome.verdict is Verdict.REFUTED:
                yield self.finding(
                    site.span,
                    f"the layout of {name} in the traits of `{atom.op}`, which `{site.symbol}` is made of, does not "
                    f"cover its {extent(tile)} tile once: threads are given elements of others, and some go to none",
                    label=f"{name}Layout {layout}",
                    help="correct the strides in MMA_Traits, or use a newer CUTLASS",
                    witness=outcome.witness,
                    enclosing=", ".join(f"{k}={v}" for k, v in site.bindings),
                    arch=site.arch,
                )
