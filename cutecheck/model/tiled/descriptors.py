"""Shared-memory descriptors of warp-group MMA and UMMA: which layouts they can state, and with what offsets.

``make_gmma_desc`` (``cute/atom/mma_traits_sm90_gmma.hpp``) and ``make_umma_desc`` (``cute/arch/mma_sm100_desc.hpp``).
All numbers are in units of 16 bytes.
"""

from __future__ import annotations

from typing import Literal

from cutecheck.model.algebra import congruent, layout, logical_divide, rank, recast_layout, size, stride
from cutecheck.model.ints import CuteError, divides, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, SmemPtrFlag, Swizzle
from cutecheck.model.units import Bits
from cutecheck.records import record

Engine = Literal["GMMA", "UMMA"]
UNIT = Bits(128)  # what descriptors count in
_PROFILE = ((1, 1), (1, 1))


@record(frozen=True, slots=True)
class SmemDescriptor:
    """``layout_type`` is the swizzle span; the byte offsets are in 16-byte units, as its fields hold them."""

    layout_type: str
    stride_byte_offset: int
    leading_byte_offset: int


def _span(swizzle: Swizzle, engine: Engine) -> tuple[str, int, int]:
    """Name of the swizzle mode, and its core tile of W x K units of 16 bytes."""
    bits, base, shift = swizzle.bits, swizzle.base, swizzle.shift
    if engine == "UMMA" and base == 5:
        if (bits, shift) != (2, 2):
            raise CuteError("Expected B = 2 and S = 2 when M == 5. Unsupported layout swizzle.", swizzle)
        return "128B_BASE32B", 8, 4
    if base != 4:
        gist = "Only 16B and 32B Atoms are supported for UMMA. " if engine == "UMMA" else ""
        raise CuteError(f"{gist}Unsupported layout swizzle", swizzle)
    if not 0 <= bits <= 3 or shift != 3:
        raise CuteError("Unsupported layout swizzle", swizzle)
    return ("INTERLEAVE", "32B", "64B", "128B")[bits], 1 << bits, 8


def smem_descriptor(part: AnyLayout, major: str, element_bits: Bits, engine: Engine = "GMMA") -> SmemDescriptor:
    """The descriptor of one instruction's operand (mode 0 of a partition); CuteError when its layout has none.

    ``part`` is a plain layout (a pointer without swizzle) or ``Sw o smem_ptr o layout``; a swizzle on element offsets
    cannot be stated. ``major`` ends in ``K`` or ``MN``.
    """
    swizzle, plain = Swizzle(0, 4, 3), part
    if isinstance(part, ComposedLayout):
        if not isinstance(part.a, Swizzle) or not isinstance(part.offset, SmemPtrFlag):
            gist = "Unsupported layout swizzle: it acts on element offsets, descriptors state byte swizzles"
            raise CuteError(gist, part)
        swizzle, plain = part.a, part.b  # type: ignore[assignment]
    if not isinstance(plain, Layout) or rank(plain) != 2:
        raise CuteError(f"{engine} Descriptors can only be constructed on rank-2 tensors.", part)
    units: Layout = recast_layout(plain, element_bits, UNIT)
    name, width, depth = _span(swizzle, engine)
    if major.rsplit("::", 1)[-1] == "MN":
        return _mn_major(units, name, width, depth, element_bits, engine)
    return _k_major(units, name, width, engine)


def _stride(canonical: Layout, i: int, j: int) -> int:
    value = known_value(stride(canonical, i, j))
    if value is None or not isinstance(stride(canonical, i, j), int):
        raise CuteError("a descriptor needs static strides", canonical)
    return value


def _canonical(units: Layout, tile: tuple[Layout, Layout], kind: str) -> Layout:
    canonical = logical_divide(units, tile)
    if not isinstance(canonical, Layout) or not congruent(canonical.shape, _PROFILE):
        raise CuteError(f"Not a canonical {kind} Layout: Expected profile failure.", canonical)
    return canonical


def _mn_major(units: Layout, name: str, width: int, depth: int, bits: int, engine: Engine) -> SmemDescriptor:
    kind = f"{engine}_MN"
    if engine == "GMMA" and size(units, 1) not in (256 // bits, 128 // bits, 512 // bits):
        gist = "Expected K-size 256/sizeof_bits<T> for dense or (128|512)/sizeof_bits<T> for sparse."
        raise CuteError(f"Not a canonical GMMA_MN Layout: {gist}", units)
    canonical = _canonical(units, (Layout(width, 1), Layout(depth, 1)), kind)
    interleaved = name == "INTERLEAVE"
    if (not interleaved and _stride(canonical, 0, 0) != 1) or _stride(canonical, 1, 0) != width:
        raise CuteError(f"Not a canonical {kind} Layout: Expected stride failure.", canonical)
    inner, outer = _stride(canonical, 0, 1), _stride(canonical, 1, 1)
    return SmemDescriptor(name, inner, outer) if interleaved else SmemDescriptor(name, outer, inner)


def _k_major(units: Layout, name: str, width: int, engine: Engine) -> SmemDescriptor:
    kind = f"{engine}_K"
    if name == "128B_BASE32B":
        raise CuteError("SWIZZLE_128B_BASE32B is invalid for Major-K. Unsupported layout swizzle", units)
    if not divides(8, size(units, 0)):
        raise CuteError(f"Not a canonical {kind} Layout: Expected MN-size multiple of 8.", units)
    if engine == "GMMA" and size(units, 1) not in (2, 4):
        gist = "Expected K-size 2 for dense or 4 for sparse (in units of uint128_t)."
        raise CuteError(f"Not a canonical GMMA_K Layout: {gist}", units)
    canonical = _canonical(units, (Layout(8, 1), Layout(2, 1)), kind)
    if _stride(canonical, 0, 0) != width or (name != "INTERLEAVE" and _stride(canonical, 1, 0) != 1):
        raise CuteError(f"Not a canonical {kind} Layout: Expected stride failure.", canonical)
    return SmemDescriptor(name, _stride(canonical, 0, 1), _stride(canonical, 1, 0))


def operand_descriptor(part: AnyLayout, fragment_type: str, element_bits: Bits) -> SmemDescriptor:
    """The descriptor of a partition (V, Rest...) for a fragment ``GMMA::smem_desc<Major>``; CuteError as above."""
    engine: Engine = "UMMA" if "UMMA::" in fragment_type else "GMMA"
    major = fragment_type.rsplit("<", 1)[1].rstrip(">")
    return smem_descriptor(layout(part, 0), major, element_bits, engine)
