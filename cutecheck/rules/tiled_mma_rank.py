"""CUT307 tiled-mma-not-rank-3."""

from __future__ import annotations

import re

from cutecheck.rules.rejected import Rejected


class TiledMmaRank(Rejected):
    """A TiledMMA whose atoms or permutation are not given for M, N and K.

    What it checks
        The layout of atoms and the permutation of a ``TiledMMA<...>`` have three modes.

    Why
        ``make_tiled_mma`` adds what is missing, the class template does not: after a change from one to the other the
        compiler stops at an assertion deep in ``mma_atom.hpp``, and at a dozen errors after it.

    Example
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2>>>;

    Use instead
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>>;

    Assumptions
        None.

    Fix
        Write a mode for each of M, N and K, ``_1`` for one atom.

    References
        cute/atom/mma_atom.hpp (TiledMMA, make_tiled_mma)
    """

    code = "CUT307"
    name = "tiled-mma-not-rank-3"
    family = "atom-count"
    unasked = "None: it repeats what CuTe refuses."
    pattern = re.compile(r"requires rank-3")
    advice = (
        "write a mode for each of M, N and K, `_1` for one atom, or call make_tiled_mma, which adds what is missing"
    )
    valid = (
        """
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
        using Made = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{}));
        """,
    )
    invalid = (
        """
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2>>>;
        """,
        """
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32>>;
        """,
    )
