"""CUT302 atom-too-few-threads."""

from __future__ import annotations

import re

from cutecheck.rules.rejected import Rejected


class AtomThreadCount(Rejected):
    """A tiled copy has fewer threads than its atom needs, or not a multiple of them.

    What it checks
        The threads of a TiledCopy are a whole number of the atom's: 32 for ldmatrix, stmatrix and warp-wide copies.

    Why
        A warp-collective instruction with part of a warp has no meaning; CuTe's assertion names neither number.

    Example
        make_tiled_copy(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, Layout<Shape<_8, _2>>{}, Layout<Shape<_1, _8>>{})

    Use instead
        make_tiled_copy(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, Layout<Shape<_16, _2>>{}, Layout<Shape<_1, _8>>{})

    Assumptions
        None.

    Fix
        Enlarge the thread layout to a multiple of the atom's threads.

    References
        cute/atom/copy_atom.hpp (TiledCopy)
    """

    code = "CUT302"
    name = "atom-too-few-threads"
    family = "atom-count"
    unasked = "None: it repeats what CuTe refuses."
    pattern = re.compile(r"too few thrs")
    advice = "use a thread layout whose size is a multiple of the atom's threads"
    valid = (
        """
        using Read = decltype(make_tiled_copy(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{},
            Layout<Shape<_16, _2>>{}, Layout<Shape<_1, _8>>{}));
        """,
    )
    invalid = (
        """
        using Read = decltype(make_tiled_copy(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{},
            Layout<Shape<_8, _2>>{}, Layout<Shape<_1, _8>>{}));
        """,
    )

    def explain(self, gist: str) -> str:
        found = re.search(r"too few thrs .*: (\d+), (\d+)$", gist)
        return f"the copy has {found[1]} threads, the atom needs {found[2]}" if found else ""
