"""CUT203 permutation-not-bijective."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Site
from cutecheck.findings import Finding, Severity
from cutecheck.model.algebra import coalesce, size
from cutecheck.model.ints import CuteError, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Bijective, Divides, Division
from cutecheck.model.tiled import TiledMMA
from cutecheck.model.tiled.ownership import explained
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.tiles import usable

_NAMES = "MNK"


class PermutationNotBijective(Rule):
    """A permutation of a TiledMMA skips, repeats or cuts its mode.

    What it checks
        Every layout given as a permutation of M, N or K maps ``0 .. size-1`` onto itself, and every permutation, also
        a plain size, is a whole number of the atoms that lie along that mode.

    Why
        CuTe applies the permutation by composition. One with a gap or an overlap compiles: some rows or columns are
        multiplied twice and others never. One that is smaller than its atoms makes the partition larger than the tile.
        A third ``Layout`` argument of ``make_tiled_mma`` was a value layout before CuTe 3.4 and is a permutation now.

    Example
        Tile<_32, Layout<Shape<_2, _4, _2>, Stride<_1, _2, _4>>, _16>

    Use instead
        Tile<_32, Layout<Shape<_2, _4, _2>, Stride<_1, _4, _2>>, _16>

    Assumptions
        None.

    Fix
        Choose strides that make the layout a permutation of its size.

    References
        cute/atom/mma_atom.hpp (TiledMMA, PermutationMNK); https://github.com/NVIDIA/cutlass/discussions/1345
    """

    code = "CUT203"
    name = "permutation-not-bijective"
    family = "permutation"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Op = MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>;
        using Mma = TiledMMA<Op, Layout<Shape<_2, _1, _1>>,
            Tile<_32, Layout<Shape<_2, _4, _2>, Stride<_1, _4, _2>>, _16>>;
        """,
    )
    invalid = (
        """
        using Op = MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>;
        using Mma = TiledMMA<Op, Layout<Shape<_2, _1, _1>>,
            Tile<_32, Layout<Shape<_2, _4, _2>, Stride<_1, _2, _4>>, _16>>;
        """,
    )

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        mma = site.value
        if not usable(site) or not context.leads(site) or not isinstance(mma, TiledMMA):
            return
        enclosing = ", ".join(f"{k}={v}" for k, v in site.bindings)
        try:
            extents = [(mma.tile_size(mode), mma.atoms_extent(mode)) for mode in range(len(mma.permutation_mnk))]
        except CuteError:  # what CuTe refuses where it is asked for, not where the type is named
            return
        for mode, entry in enumerate(mma.permutation_mnk):
            name, (tile, atoms) = _NAMES[mode], extents[mode]
            if isinstance(entry, Layout):
                payload = Bijective(entry, size(entry), what=f"permutation of {name}")
                outcome = context.prove(make_obligation(payload, (site.site_id,), arch=site.arch, span=site.span))
                if outcome.verdict is Verdict.REFUTED:
                    yield self.finding(
                        site.span,
                        f"the permutation {entry} of {name} in `{site.symbol}` is no permutation of "
                        f"{known_value(size(entry))}",
                        label="skips some and repeats others",
                        help="; ".join(
                            filter(None, (explained(mma, mode), f"every {name} must be reached exactly once"))
                        ),
                        witness=outcome.witness,
                        enclosing=enclosing,
                        arch=site.arch,
                    )
                    continue
            division = Division(f"tile {name}", tile, atoms)
            outcome = context.prove(
                make_obligation(Divides((division,), site.symbol), (site.site_id,), arch=site.arch, span=site.span)
            )
            if outcome.verdict is Verdict.REFUTED:
                yield self.finding(
                    site.span,
                    severity=_severity(entry),
                    message=f"the permutation of {name} in `{site.symbol}` covers {known_value(tile)}, "
                    f"its atoms cover {known_value(atoms)}",
                    label=f"not a multiple of {known_value(atoms)}",
                    help="since CuTe 3.4 the third argument is a permutation (Tile), not a value layout",
                    witness=outcome.witness,
                    enclosing=enclosing,
                    arch=site.arch,
                )


def _severity(entry: object) -> Severity:
    """An identity prefix changes no partition, only ``tile_size``: what is left of a value layout of old CuTe."""
    if isinstance(entry, Layout):
        flat = coalesce(entry)
        if isinstance(flat, Layout) and not isinstance(flat.shape, tuple) and flat.stride in (0, 1):
            return "note" if flat.shape == 1 else "warning"
    return "error"
