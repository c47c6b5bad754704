"""``GMMA::ss_op_selector`` and its kin: the largest warp-group MMA for a tile (``cute/arch/mma_sm90.hpp``)."""

from __future__ import annotations

from typing import Any, Literal

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import size
from cutecheck.model.atoms import MMAAtom, is_mma_op, mma_op
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, NotModelledError, divides
from cutecheck.model.units import Bits

_SHORT = {
    "half_t": "F16", "bfloat16_t": "BF16", "tfloat32_t": "TF32", "float_e4m3_t": "E4M3", "float_e5m2_t": "E5M2",
    "int8_t": "S8", "uint8_t": "U8", "float": "F32", "int32_t": "S32", "int": "S32", "signed char": "S8",
    "unsigned char": "U8",
}  # fmt: skip
_SIZES = (256, 192, 128, 96, 64, 32, 16, 8)
_EXTENDED = tuple(range(256, 0, -8))


def gmma_op_selector(
    source: Literal["SS", "RS"],
    elements: tuple[DType, DType, DType],
    tile_shape_mnk: Any,
    majors: tuple[str, str] = ("GMMA::Major::K", "GMMA::Major::K"),
    args: tuple[object, ...] = (),
    *,
    sparse: bool = False,
    extended: bool = False,
) -> MMAAtom:
    """``GMMA::ss_op_selector``, ``rs_op_selector`` (``RS``: A from registers); ``sparse`` the ``_sparse`` ones.

    ``elements`` are A, B and C; ``args`` further template arguments (scales). ``extended``: the tree defines
    ``CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED``. CuteError where the selector asserts.
    """
    if not it.is_static(tile_shape_mnk):
        raise CuteError("TileShape_MNK must be static.", tile_shape_mnk)
    if not isinstance(tile_shape_mnk, tuple) or len(tile_shape_mnk) != 3:
        raise CuteError("TileShape_MNK must be rank 3.", tile_shape_mnk)
    tile_m, tile_n, tile_k = (size(tile_shape_mnk, i) for i in range(3))
    if not divides(64, tile_m):
        raise CuteError("Tile_M must be a multiple of 64.", tile_m)
    major_a, major_b = (m.rsplit("::", 1)[-1] for m in majors)
    if source == "RS" and major_a != "K":
        raise CuteError("Register source A operand GMMAs must have K-major A layout.", majors[0])
    a, b, c = (_SHORT.get(e.name) for e in elements)
    bits = elements[0].bits
    if c not in ("F16", "F32", "S32"):
        raise CuteError("Unknown ElementC accumulator type.", elements[2].name)
    for e in elements:
        if e.bits is None:
            raise NotModelledError(f"the width of {e.name} is not known")
    depth = Bits(512 if sparse else 256) // bits if bits else 0
    prefix = "SM90::GMMA::SPARSE::GMMA" if sparse else "SM90::GMMA::MMA"
    transposable = bits == 16
    suffix = source if transposable else f"{source}_TN"
    if not is_mma_op(f"{prefix}_64x64x{depth}_{c}{a}{b}_{suffix}"):
        names = [e.name for e in elements]
        raise CuteError("No eligible GMMA operator for request configuration.", *names)
    if not transposable:
        for name, major in (("MajorA", major_a), ("MajorB", major_b)):
            if major != "K":
                raise CuteError(f"{name} must be GMMA::Major::K for this config.", major)
    if not divides(depth, tile_k):
        raise CuteError(f"Tile_K must be a multiple of {depth}.", tile_k)
    for n in _EXTENDED if extended else _SIZES:
        name = f"{prefix}_64x{n}x{depth}_{c}{a}{b}_{suffix}"
        if divides(n, tile_n) and is_mma_op(name):
            given = (*(f"GMMA::Major::{m}" for m in (major_a, major_b)), *args) if transposable else args
            return mma_op(name, given)
    raise CuteError("Tile_N must be a multiple of 8.", tile_n)
