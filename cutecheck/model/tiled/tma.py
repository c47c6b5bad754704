"""TMA copies built on the host: ``make_tma_copy``, ``make_tma_atom`` (``cute/atom/copy_traits_sm90_tma.hpp``)."""

from __future__ import annotations

from dataclasses import replace as with_fields
from typing import Any

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import (
    append,
    coalesce,
    composition,
    cosize,
    domain_offset,
    get_nonswizzle_portion,
    get_swizzle_portion,
    layout,
    logical_divide,
    make_identity_layout,
    make_layout,
    rank,
    right_inverse,
    shape,
    size,
    slice,
    tile_to_shape,
)
from cutecheck.model.atoms import CopyAtom, copy_op
from cutecheck.model.basis import X
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, Int, NotModelledError, known_value
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, Swizzle, SwizzleUnit
from cutecheck.model.tiled.copy import TiledCopy
from cutecheck.model.tiled.mma import TiledMMA
from cutecheck.model.tiled.tensor_map import TensorMap, UnsupportedTmaError, tensor_map

_GATHER = ("SM100_TMA_LOAD_2D_GATHER4", "SM100_TMA_LOAD_MULTICAST_2D_GATHER4", "SM100_TMA_STORE_2D_SCATTER4")


def atom_of_map(
    op: str,
    gmem: Layout,
    element: DType,
    slayout: AnyLayout,
    cta_v_map: AnyLayout,
    *,
    num_multicast: int | None,
    internal: DType,
) -> CopyAtom:
    """``make_tma_copy_atom``: the atom of a descriptor whose box goes through the tensor as ``cta_v_map`` says."""
    if element.bits is None or internal.bits is None:
        raise NotModelledError(f"the width of {element.name} or {internal.name} is not known")
    swizzle = get_swizzle_portion(slayout)
    swizzle = Swizzle(swizzle.bits, swizzle.base, swizzle.shift, SwizzleUnit.BYTE)
    if op in _GATHER:
        raise UnsupportedTmaError(f"{op}: gather and scatter boxes are not modelled")
    found = tensor_map(
        gmem,
        get_nonswizzle_portion(slayout),
        cta_v_map,
        swizzle=swizzle,
        element_bits=element.bits,
        internal_bits=internal.bits,
        num_multicast=num_multicast,
    )
    atom = copy_op(op, (size(found.basis) * int(internal.bits), "AuxTmaParams"), element, via_traits=True)
    return with_fields(atom, tensor_map=found)


def make_tma_atom(
    op: str,
    gmem: Layout,
    element: DType,
    slayout: AnyLayout,
    cta_tiler: Any,
    *,
    cluster_size: int | None = 1,
    internal: DType | None = None,
) -> CopyAtom:
    """``make_tma_atom``: a Copy_Atom for the CTA's tile; ``tensor_map`` holds box and strides.

    ``cluster_size`` is None where it is known at run time alone: nothing but the box depends on it.

    CuteError where CuTe asserts; UnsupportedTmaError where the construction is not modelled.
    """
    cta_v_map = composition(make_identity_layout(shape(gmem)), cta_tiler)
    return atom_of_map(op, gmem, element, slayout, cta_v_map, num_multicast=cluster_size, internal=internal or element)


def make_tma_copy(
    op: str,
    gmem: Layout,
    element: DType,
    slayout: AnyLayout,
    cta_tiler: Any = None,
    *,
    cluster_size: Int = 1,
    internal: DType | None = None,
) -> TiledCopy:
    """``make_tma_copy``: a TiledCopy over the CTAs of a cluster that share the transfer (its "threads")."""
    tiler = it.product_each(shape(slayout)) if cta_tiler is None else cta_tiler
    if "IM2COL" in op:
        raise UnsupportedTmaError("im2col copies are not modelled")
    cta_v_map = composition(make_identity_layout(shape(gmem)), tiler)
    cta_t_map = make_layout(cluster_size)
    multicast = known_value(cosize(cta_t_map))
    if multicast is None:
        raise UnsupportedTmaError("a multicast over a run-time number of CTAs")
    atom = atom_of_map(op, gmem, element, slayout, cta_v_map, num_multicast=multicast, internal=internal or element)
    per_tma: Any = size(atom.val_layout_ref, 1)
    inverse = right_inverse(get_nonswizzle_portion(slayout))
    layout_v = tile_to_shape(make_layout(composition(inverse, make_layout(per_tma))), size(cta_v_map))
    if per_tma % multicast:
        raise CuteError("TMA: Static safe_div: a % b == 0", per_tma, multicast)
    layout_t = composition(inverse, composition(make_layout(multicast, per_tma // multicast), cta_t_map))
    return TiledCopy(atom, make_layout(layout_t, layout_v), it.product_each(shape(cta_v_map)))


def make_tma_copy_sm90(
    operand: str,
    op: str,
    gmem: Layout,
    element: DType,
    slayout: AnyLayout,
    *,
    cta_tiler_mnk: tuple[Any, ...],
    cluster_mnk: tuple[Any, ...] = (1, 1, 1),
    internal: DType | None = None,
) -> TiledCopy:
    """``make_tma_copy_A/B/C_sm90``: the tile without the other operand's mode, multicast along that mode."""
    dropped = {"A": 1, "B": 0, "C": 2}[operand]
    tiler = tuple(t for i, t in enumerate(cta_tiler_mnk) if i != dropped)
    cluster = 1 if operand == "C" else size(cluster_mnk[dropped])
    return make_tma_copy(op, gmem, element, slayout, tiler, cluster_size=cluster, internal=internal)


def make_tma_atom_sm100(
    operand: str,
    op: str,
    gmem: Layout,
    element: DType,
    slayout: AnyLayout,
    *,
    mma_tiler: tuple[Any, ...],
    mma: TiledMMA,
    cluster_vmnk: AnyLayout | IntTuple = (1, 1, 1, 1),
    internal: DType | None = None,
) -> CopyAtom:
    """``make_tma_atom_A/B_sm100``: the tile as the UMMA partitions it, multicast along the other mode's CTAs; of ``C``,
    which the DSL has too, the tile that is stored."""
    dropped = {"A": 1, "B": 0, "C": 2}[operand]
    tiler = tuple(t for i, t in enumerate(mma_tiler) if i != dropped)
    tile = composition(make_identity_layout(shape(gmem)), tiler)
    values = layout(mma.thrfrg(operand, tile), 1)
    cta_v_map = slice((X, it.repeat(X, rank(tile))), values)
    multicast = size(cluster_vmnk, 2 if operand == "A" else 1) if "MULTICAST" in op else 1
    number = known_value(multicast)
    return atom_of_map(op, gmem, element, slayout, cta_v_map, num_multicast=number, internal=internal or element)


def tma_partition(
    atom: CopyAtom, cta_coord: Any, cta_layout: Layout, stensor: AnyLayout, *gtensors: AnyLayout
) -> tuple[tuple[AnyLayout, IntTuple], ...]:
    """``tma_partition``: ((TMA,TMA_Iter),Rest...) and first offset of each tensor, the shared-memory one last."""
    inverse = right_inverse(get_nonswizzle_portion(layout(stensor, 0)))
    layout_v = tile_to_shape(make_layout(inverse), size(stensor, 0))
    one: Any = atom.num_val_src
    tiled = logical_divide(layout_v, make_layout(one))
    share: Any = size(make_layout(one)) // cosize(cta_layout)
    start = cta_layout(cta_coord) * share
    out = []
    for tensor in (*gtensors, stensor):
        if size(stensor, 0) != size(tensor, 0):
            raise CuteError("tma_partition: size<0>(stensor) == size<0>(tensor)", stensor, tensor)
        modes = rank(tensor)
        tiler = append((tiled,), X, rank=modes)
        partitioned = coalesce(composition(tensor, tiler), ((1, 1),))
        coord = append(((start, 0),), 0, rank=modes)
        out.append(domain_offset(coord, partitioned))
    return tuple(out)


__all__ = [
    "TensorMap",
    "UnsupportedTmaError",
    "make_tma_atom",
    "make_tma_atom_sm100",
    "make_tma_copy",
    "make_tma_copy_sm90",
    "tma_partition",
]
