"""CUT205 tile-does-not-divide."""

from __future__ import annotations

import re

from cutecheck.rules.rejected import Rejected


class TileDoesNotDivide(Rejected):
    """A shape is not a whole number of the shape it is divided or tiled by, and CuTe stops.

    What it checks
        ``tile_to_shape``, ``shape_div``, the divides and compositions of static layouts: every extent is a whole number
        of tiles, as CuTe's divisibility assertions demand.

    Why
        The assertion fires inside ``layout.hpp`` or ``int_tuple.hpp`` without naming the layout, the mode or the
        numbers. The usual causes: a head dimension of 96 with a 64-column swizzle atom, an epilogue tile that does not
        divide the CTA tile.

    Example
        tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, Int<96>>{})  // the atom is 64 wide

    Use instead
        tile_to_shape(GMMA::Layout_K_SW64_Atom<half_t>{}, Shape<_128, Int<96>>{})

    Assumptions
        None.

    Fix
        Choose an atom or tile that divides the shape.

    References
        cute/int_tuple.hpp (shape_div); cute/layout.hpp (composition, tile_to_shape)
    """

    code = "CUT205"
    name = "tile-does-not-divide"
    family = "tile-divisibility"
    unasked = "None: it repeats what CuTe refuses."
    pattern = re.compile(r"does not divide|[Dd]ivisibility|safe_div")
    advice = "choose a tile or atom that divides the shape, mode by mode"
    valid = (
        """
        using Elem = half_t;
        static constexpr int kHeadDim = 96;
        using SmemK = decltype(tile_to_shape(GMMA::Layout_K_SW64_Atom<Elem>{}, Shape<_128, Int<kHeadDim>>{}));
        static constexpr int kBytes = cosize_v<SmemK> * sizeof(Elem);
        """,
    )
    invalid = (
        """
        using Elem = half_t;
        static constexpr int kHeadDim = 96;
        using SmemK = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Elem>{}, Shape<_128, Int<kHeadDim>>{}));
        static constexpr int kBytes = cosize_v<SmemK> * sizeof(Elem);
        """,
    )

    def explain(self, gist: str) -> str:
        """Of two shapes of plain numbers, the first mode that leaves something."""
        found = re.search(r"block shape .*: \(([_\d,]+)\), \(([_\d,]+)\)$", gist)
        if found is None:
            return ""
        block, target = ([int(n.strip("_")) for n in group.split(",")] for group in found.groups())
        left = [(m, n, b) for m, (b, n) in enumerate(zip(block, target, strict=False)) if b and n % b]
        return f"mode {left[0][0]}: {left[0][1]} is no multiple of {left[0][2]}" if left else ""
