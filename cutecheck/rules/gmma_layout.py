"""CUT503 gmma-layout."""

from __future__ import annotations

import re

from cutecheck.rules.rejected import Rejected


class GmmaLayout(Rejected):
    """A shared-memory operand of WGMMA or UMMA is not one of the layouts its descriptor can state.

    What it checks
        The layout of every shared-memory operand that an SM90 or SM100 MMA makes a descriptor of is canonical for its
        major mode, with one of the swizzles ``Sw<0..3,4,3>`` on byte addresses.

    Why
        The instruction takes no strides, only a swizzle mode and two offsets between core matrices of 8 rows by 16
        bytes. A plain row-major tile, an element-wise swizzle or a shift of 4 cannot be stated.

    Example
        using SmemA = Layout<Shape<_64, _64>, Stride<_64, _1>>;

    Use instead
        using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));

    Assumptions
        None.

    Fix
        Tile one of ``GMMA::Layout_{K,MN}_{INTER,SW32,SW64,SW128}_Atom`` to the shape.

    References
        PTX ISA, wgmma matrix descriptors; cute/arch/mma_sm90_desc.hpp; https://github.com/NVIDIA/cutlass/issues/3078
    """

    code = "CUT503"
    name = "gmma-layout"
    family = "gmma-layout"
    pattern = re.compile(r"canonical [GU]MMA|Unsupported layout swizzle|Not a canonical|layout_type")
    advice = "tile one of GMMA::Layout_K_SW128_Atom and its like to the shape"
