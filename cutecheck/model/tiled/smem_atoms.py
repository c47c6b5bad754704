"""Canonical shared-memory layouts of GMMA and UMMA operands, and the selectors that pick one.

Sources: ``cute/atom/mma_traits_sm90_gmma{,_sparse}.hpp``, ``cute/atom/mma_traits_sm100.hpp``,
``cutlass/gemm/collective/builders/{sm90,sm100,sm120}_common.inl``. Their swizzles act on byte addresses.
"""

from __future__ import annotations

from typing import Any, Literal

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import (
    blocked_product,
    get,
    make_layout,
    size,
    take,
    tile_to_shape,
    tiled_divide,
    upcast,
    zip,
)
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, Int, NotModelledError, divides
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, Major, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.units import BYTE, Bits, bytes_to_hold

MajorMode = Literal["K", "MN"]
Span = Literal["INTER", "SW32", "SW64", "SW128", "SW128_32B"]

_BITS = {"INTER": (0, 128), "SW32": (1, 256), "SW64": (2, 512), "SW128": (3, 1024)}
_WIDEST_FIRST: tuple[Span, ...] = ("SW128", "SW64", "SW32", "INTER")


def smem_layout_atom(major: MajorMode, span: Span, element: DType) -> ComposedLayout:
    """``GMMA::Layout_{major}_{span}_Atom<element>`` (also ``UMMA::``); ``SW128_32B`` exists for MN only."""
    if element.bits is None:
        raise NotModelledError(f"the width of the element type {element.name} is not known")
    if span == "SW128_32B":
        if major != "MN":
            raise CuteError("Layout_K_SW128_32B_Atom does not exist", element.name)
        swizzle, plain = Swizzle(2, 5, 2, SwizzleUnit.BYTE), Layout((1024, 4), (1, 1024))
    else:
        bits, width = _BITS[span]
        swizzle = Swizzle(bits, 4, 3, SwizzleUnit.BYTE)
        plain = Layout((width, 8), (1, width)) if major == "MN" else Layout((8, width), (width, 1))
    result = upcast(ComposedLayout(swizzle, SmemPtrFlag(Bits(1)), plain), int(element.bits))
    assert isinstance(result, ComposedLayout)
    return result


def smem_sparse_layout_atom(major: MajorMode, span: Span, element: DType, sparsity: int) -> ComposedLayout:
    """``GMMA::Layout_{major}_{span}_SpAtom<element, sparsity>``."""
    dense = smem_layout_atom(major, span, element)
    assert element.bits is not None
    product = blocked_product(make_layout((1, sparsity)), dense.b)  # type: ignore[arg-type]
    return ComposedLayout(dense.a, SmemPtrFlag(element.bits, sparsity), product)


def _select(major: MajorMode, element: DType, extent: Int, spans: tuple[Span, ...], sparsity: int = 0) -> AnyLayout:
    mode = 0 if major == "MN" else 1
    for span in spans:
        atom = (
            smem_sparse_layout_atom(major, span, element, sparsity)
            if sparsity
            else smem_layout_atom(major, span, element)
        )
        if divides(size(atom, mode), extent):
            return atom
    name = "BLK_MN0" if major == "MN" else "BLK_K0"
    suffix = "SpAtom" if sparsity else "Atom"
    gist = f"{name} must be a multiple of size<{mode}>(Layout_{major}_{spans[-1]}_{suffix}<{element.name}>)"
    raise CuteError(gist, extent)


def _extents(blk_mn: Any, blk_k: Any) -> tuple[Int, Int]:
    first = (size(blk_mn, 0), size(blk_k, 0))
    for name, extent in (("BLK_MN0", first[0]), ("BLK_K0", first[1])):
        if not divides(8, extent):
            raise CuteError(f"{name} must be a multiple of 8.", extent)
    return first


def ss_smem_selector(major: MajorMode, element: DType, blk_mn: Any, blk_k: Any) -> AnyLayout:
    """``cutlass::gemm::collective::detail::ss_smem_selector``: the widest swizzle that divides the tile."""
    mn0, k0 = _extents(blk_mn, blk_k)
    if major == "K":
        return _select(major, element, k0, _WIDEST_FIRST)
    try:
        return _select(major, element, mn0, _WIDEST_FIRST[:-1])
    except CuteError:
        return _select(major, element, size(blk_mn), ("INTER",))


def ss_smem_selector_sparse(major: MajorMode, element: DType, blk_mn: Any, blk_k: Any, sparsity: int) -> AnyLayout:
    """``cutlass::gemm::collective::detail::ss_smem_selector_sparse``."""
    mn0, k0 = _extents(blk_mn, blk_k)
    return _select(major, element, mn0 if major == "MN" else k0, _WIDEST_FIRST, sparsity)


def rs_smem_selector(
    major: MajorMode, element: DType, blk_mn: Any, blk_k: Any, is_ws_transposed_b: bool = False
) -> AnyLayout:
    """``cutlass::gemm::collective::detail::rs_smem_selector``: as ``ss``, but MN-major words prefer SW32."""
    mn0, k0 = _extents(blk_mn, blk_k)
    if major == "K":
        return _select(major, element, k0, _WIDEST_FIRST)
    if element.bits is None:
        raise NotModelledError(f"the width of the element type {element.name} is not known")
    octets = int(bytes_to_hold(element.bits))
    spans: tuple[Span, ...]
    if octets % 4 == 0:
        spans = ("SW32",) if is_ws_transposed_b else ("SW32", "INTER")
    elif octets in (1, 2):
        spans = ("SW128",) if octets == 1 and is_ws_transposed_b else _WIDEST_FIRST
    else:
        raise CuteError("Smem selector does not support this element type", element.name)
    return _select(major, element, mn0, spans)


def sm100_smem_selector(major: MajorMode, element: DType, blk_mn: Any, blk_k: Any) -> AnyLayout:
    """``cutlass::gemm::collective::detail::sm100_smem_selector``."""
    mn0, k0 = _extents(blk_mn, blk_k)
    if major == "K":
        return _select(major, element, k0, _WIDEST_FIRST)
    return _select(major, element, mn0, ("SW128_32B",) if element.bits == 32 else _WIDEST_FIRST)


def sm100_smem_selector_sparse(major: MajorMode, element: DType, blk_mn: Any, blk_k: Any, sparsity: int) -> AnyLayout:
    """``cutlass::gemm::collective::detail::sm100_smem_selector_sparse``."""
    mn0, k0 = _extents(blk_mn, blk_k)
    if major == "K":
        return _select(major, element, k0, _WIDEST_FIRST, sparsity)
    spans: tuple[Span, ...] = ("SW128_32B", *_WIDEST_FIRST) if element.bits == 32 else _WIDEST_FIRST
    return _select(major, element, mn0, spans, sparsity)


def sm120_rr_smem_selector(element: DType, major_size: Int) -> AnyLayout:
    """``cutlass::gemm::collective::detail::sm120_rr_smem_selector``: K-major operands of at most 8 bits."""
    if element.bits is None:
        raise NotModelledError(f"the width of the element type {element.name} is not known")
    if element.bits > BYTE:
        raise CuteError("Unsupported element size.", element.name)
    return _select("K", element, major_size, _WIDEST_FIRST)


def tile_to_mma_shape(atom: AnyLayout, mma_tile_shape: IntTuple, order: Any = Major.LEFT) -> AnyLayout:
    """``UMMA::tile_to_mma_shape``: a (MN)-logical atom tiled to ((MMA_M,MMA_N),M_MMAs,N_MMAs,...)."""
    modes = len(mma_tile_shape) if isinstance(mma_tile_shape, tuple) else 1
    if modes < 3:
        raise CuteError("tile_to_mma_shape: expected ((MMA_M,MMA_N),M_MMAs,N_MMAs,...)", mma_tile_shape)
    first = get(mma_tile_shape, 0)
    extents = (*zip(first, take(mma_tile_shape, 1, 3)), *take(mma_tile_shape, 3, modes))
    tiled = tile_to_shape(atom, extents, order)
    result: AnyLayout = tiled_divide(tiled, it.product_each(first))
    return result
