"""Copies in and out of tensor memory (``cute/atom/copy_traits_sm100.hpp``)."""

from __future__ import annotations

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import coalesce, composition, filter, left_inverse, make_layout, shape, size, upcast
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.ints import CuteError, Int
from cutecheck.model.layout import AnyLayout, Layout, Tile
from cutecheck.model.notation import parse
from cutecheck.model.tiled.copy import TiledCopy, make_cotiled_copy
from cutecheck.model.tiled.tmem import dp_stride
from cutecheck.model.units import Bits


def _value_layout(atom: CopyAtom, bits: Bits) -> AnyLayout:
    text = dict(atom.extra).get("ValID")
    if text is None:
        raise CuteError("make_tmem_copy: the traits have no ValID, they do not address tensor memory", atom.op)
    result: AnyLayout = coalesce(upcast(parse(text), int(bits)))
    return result


def make_tmem_copy(atom: CopyAtom, tmem: AnyLayout, element_bits: Bits) -> TiledCopy:
    """``make_tmem_copy``: four warps, each over its own sub-partition of the tensor-memory layout ``tmem``.

    CuteError when the atom's value type and the tensor's elements differ in width.
    """
    if atom.value_type.bits != element_bits:
        raise CuteError(
            "Expected a CopyAtom with the same type-width as the Tensor.", atom.value_type.name, element_bits
        )
    threads = Layout((32, 4), (0, 32 * dp_stride(element_bits)))
    return make_cotiled_copy(atom, make_layout(threads, _value_layout(atom, element_bits)), tmem)  # type: ignore[arg-type]


def make_utccp_copy(atom: CopyAtom, tmem: AnyLayout, element_bits: Bits) -> TiledCopy:
    """``make_utccp_copy``: shared memory to the tensor-memory layout ``tmem``, by one thread (or CTA pair)."""
    threads = make_layout(size(atom.thr_id), 0)
    return make_cotiled_copy(atom, make_layout(threads, _value_layout(atom, element_bits)), tmem)  # type: ignore[arg-type]


def make_tmem_warp_partitioner(tmem: AnyLayout, element_bits: Bits) -> tuple[AnyLayout, Tile]:
    """``make_tmem_warp_partitioner``: (layout of the four warps over the tile, by-mode tiler)."""
    warps = Layout(4, 32 * dp_stride(element_bits))
    over_data = composition(make_layout(left_inverse(tmem), make_layout(1, 0)), warps)
    extents: tuple[Int, ...] = it.product_each(shape(tmem))
    tiler = tuple(
        filter(composition(make_layout(extents, tuple(int(j == i) for j in range(len(extents)))), over_data))
        for i in range(len(extents))
    )
    tile2data = composition(make_layout(extents), tiler)
    return composition(left_inverse(tile2data), over_data), tiler
