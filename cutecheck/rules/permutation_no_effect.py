"""CUT204 permutation-no-effect."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Site
from cutecheck.findings import Finding
from cutecheck.model.algebra import coalesce, size
from cutecheck.model.ints import known_value
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import TiledMMA
from cutecheck.model.tiled.ownership import explained
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.tiles import usable

_NAMES = "MNK"


class PermutationNoEffect(Rule):
    """A layout given as a permutation orders nothing.

    What it checks
        A permutation written as a layout that coalesces to ``N:1``.

    Why
        ``Layout<Shape<_2, _8>>`` has compact strides and is the identity: the same as writing ``_16``. It enlarges the
        tile as the plain size does and moves no column, so the wider store that it was written for does not come.

    Example
        Tile<_32, Layout<Shape<_2, _8>>, _16>

    Use instead
        Tile<_32, Layout<Shape<_2, _4, _2>, Stride<_1, _4, _2>>, _16>

    Assumptions
        None.

    Fix
        Give strides that interleave the atoms, or write the plain size.

    References
        cute/atom/mma_atom.hpp (PermutationMNK)
    """

    code = "CUT204"
    name = "permutation-no-effect"
    family = "permutation"
    severity = "note"
    confidence = "proved"
    unasked = "None: it coalesces the permutation."
    valid = (
        """
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _1, _1>>,
                             Tile<_32, Layout<Shape<_2, _4, _2>, Stride<_1, _4, _2>>, _16>>;
        using GmemC = Layout<Shape<_32, _16>, Stride<_16, _1>>;
        """,
    )
    invalid = (
        """
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _1, _1>>,
                             Tile<_32, Layout<Shape<_2, _8>>, _16>>;
        using GmemC = Layout<Shape<_32, _16>, Stride<_16, _1>>;
        """,
    )

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        mma = site.value
        if not usable(site) or not context.leads(site) or not isinstance(mma, TiledMMA):
            return
        for mode, entry in enumerate(mma.permutation_mnk):
            if not isinstance(entry, Layout) or not isinstance(entry.shape, tuple):
                continue
            atoms = mma.atoms_extent(mode)
            if known_value(mma.tile_size(mode) % atoms) != 0:
                continue
            flat = coalesce(entry)
            total = known_value(size(entry))
            if isinstance(flat, Layout) and flat.stride == 1 and not isinstance(flat.shape, tuple):
                yield self.finding(
                    site.span,
                    f"the permutation {entry} of {_NAMES[mode]} in `{site.symbol}` is the identity: it has no effect "
                    f"beyond the plain size {total}",
                    label=f"same as _{total}",
                    help=f"{_told(mma, mode)}give strides that interleave the atoms, or write the plain size",
                    enclosing=", ".join(f"{k}={v}" for k, v in site.bindings),
                    arch=site.arch,
                )


def _told(mma: TiledMMA, mode: int) -> str:
    text = explained(mma, mode)
    return f"{text}; " if text else ""
