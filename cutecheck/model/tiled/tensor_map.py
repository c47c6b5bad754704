"""Tensor maps: the box and strides a TMA copy is encoded with (``cute/atom/copy_traits_sm90_tma.hpp``).

A tensor map counts elements of the internal type; strides are in bytes.
"""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import (
    coalesce,
    composition,
    group,
    make_identity_layout,
    make_layout,
    rank,
    recast_layout,
    right_inverse,
    shape,
    size,
    stride,
    take,
)
from cutecheck.model.basis import ScaledBasis, whole
from cutecheck.model.expr import Domain
from cutecheck.model.ints import CuteError, Dyn, Int, NotModelledError, is_constant, known_value
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, Swizzle
from cutecheck.model.units import Bits, ByteCount, Bytes, Elements
from cutecheck.records import record

_MAX_BOX = Elements(256)
_CLUSTERS = (1, 2, 4, 8, 16)  # CTAs along one mode of a cluster, at most 16 in all
_COUNT = itertools.count()
_MULTICAST = "assertion smem_box_shape[i] % multicast == 0 || multicast % smem_box_shape[i] == 0 fails on the host"


class UnsupportedTmaError(NotModelledError):
    """The copy may be fine, but this construction is not modelled."""


@record(frozen=True, slots=True)
class TensorMap:
    """What ``cuTensorMapEncodeTiled`` is given.

    ``basis`` maps each TMA mode to the modes of the tensor; ``box`` counts elements of the internal type
    (``internal_bits`` each) that one CTA transfers, after multicast: the most where ``num_multicast`` is None, which
    is known at run time alone; ``gmem_shape`` and ``gmem_stride_bytes`` are None
    where they depend on several run-time values. ``tensor_stride`` are the strides of the TMA coordinate tensor.
    """

    basis: Layout
    box: tuple[Elements, ...]
    gmem_shape: tuple[Int | None, ...]
    gmem_stride_bytes: tuple[ByteCount | None, ...]
    swizzle: Swizzle
    internal_bits: Bits
    num_multicast: int | None
    tensor_stride: IntTuple

    def coordinates(self, extents: IntTuple) -> Layout:
        """``get_tma_tensor(extents)``: the layout of the coordinate tensor the copy takes as its source."""
        return Layout(extents, self.tensor_stride)

    def boxes(self) -> tuple[tuple[Elements, ...], ...]:
        """The largest boxes of each innermost extent, of all numbers of CTAs that may share the transfer."""
        if self.num_multicast is not None:
            return (self.box,)
        found: dict[Elements, tuple[Elements, ...]] = {}
        for multicast in _CLUSTERS:
            with suppress(CuteError):
                made = box(self.basis, multicast)
                found.setdefault(made[0], made)
        return tuple(found.values())

    def other_major(self) -> bool:
        """The mode of one element's stride is not the first, which has a run-time one."""
        strides = [None if s is None else known_value(s) for s in self.gmem_stride_bytes]
        if self.gmem_stride_bytes[0] is None or strides[0] is not None:
            return False
        return any(s is not None and 8 * int(s) == int(self.internal_bits) for s in strides[1:])

    def violations(self) -> tuple[str, ...]:
        """Limits of the tensor map that are certainly broken (run-time asserts of ``make_tma_copy_desc``)."""
        out = [f"box extent {b} of mode {i} exceeds {_MAX_BOX}" for i, b in enumerate(self.box) if b > _MAX_BOX]
        first = known_value(self.gmem_stride_bytes[0]) if self.gmem_stride_bytes[0] is not None else None
        if self.other_major() or (first is not None and 8 * int(first) != int(self.internal_bits)):
            out.append("Majorness of smem doesn't match majorness of gmem")
        for i, s in enumerate(self.gmem_stride_bytes[1:], 1):
            number = None if s is None else known_value(s)
            if number is not None and number % 16:
                out.append(f"stride {number} bytes of mode {i} is no multiple of 16")
            if number is not None and number >= 1 << 40:
                out.append(f"stride {number} bytes of mode {i} is not below 2^40")
        return tuple(out)


def check_swizzle(swizzle: Swizzle) -> None:
    bits, base, shift = swizzle.bits, swizzle.base, swizzle.shift
    if base == 4 and 0 <= bits <= 3 and shift == 3:
        return
    if (base == 5 and bits == 2 and shift == 2) or (base == 6 and bits == 2):
        return
    raise CuteError("TMA: Unsupported layout swizzle.", swizzle)


def _coalesce_256(layout: Layout) -> Layout:
    """Merge neighbouring modes up to 256 elements; run-time modes are kept apart."""
    shapes, strides = it.flatten_to_tuple(layout.shape), it.flatten_to_tuple(layout.stride)
    new: list[tuple[Any, Any]] = [(shapes[0], strides[0])]
    for s, d in list(zip(shapes, strides, strict=True))[1:]:
        if is_constant(1, s):
            continue
        back_s, back_d = new[-1]
        if len(new) == 1 and is_constant(1, back_s):
            new[-1] = (s, d)
        elif all(isinstance(v, int) for v in (s, d, back_s, back_d)) and back_s * back_d == d and s * back_s <= 256:
            new[-1] = (s * back_s, back_d)
        else:
            new.append((s, d))
    if len(new) == 1:
        return Layout(1, 0) if is_constant(1, new[0][0]) else Layout(*new[0])
    return Layout(tuple(s for s, _ in new), tuple(d for _, d in new))


def _unit(basis: object) -> bool:
    value = basis.value if isinstance(basis, ScaledBasis) else basis
    return is_constant(1, value)


def _basis_leaves(t: object) -> list[ScaledBasis]:
    return [e for e in it.leaves(t) if isinstance(e, ScaledBasis)]


def gbasis(gmem: Layout, element_bits: Bits, internal_bits: Bits, slayout: AnyLayout, cta_v_map: AnyLayout) -> Layout:
    """``construct_tma_gbasis``: TMA modes (box extents) to modes of the global tensor."""
    if size(slayout) != size(cta_v_map):
        raise CuteError("TMA requires CTA_Tile and SLayout top-level size equivalence.", slayout, cta_v_map)
    full = coalesce(composition(cta_v_map, right_inverse(slayout)))
    strides = stride(full) if isinstance(stride(full), tuple) else (stride(full),)
    kept = next((i for i, e in enumerate(strides) if not _unit(e)), len(strides))
    if kept == 0:
        gist = "Could not find a common tile-gmem vectorization. Does the Tile select out major GMEM modes?"
        raise CuteError(gist, slayout, cta_v_map)
    sidx2gmode = (
        take(full, 0, kept) if isinstance(stride(full), tuple) else make_layout((shape(full),), (stride(full),))
    )
    tile_gstride = recast_layout(composition(gmem, sidx2gmode), element_bits, internal_bits)
    tma_gstride = _coalesce_256(tile_gstride)
    tile_gbasis = make_layout(shape(tile_gstride), stride(composition(make_identity_layout(shape(gmem)), sidx2gmode)))
    tile = composition(tile_gbasis, make_layout(it.wrap(shape(tma_gstride))))
    present = _basis_leaves(stride(tile))
    recast = recast_layout(gmem, element_bits, internal_bits)
    triples = zip(
        it.flatten_to_tuple(shape(recast)),
        it.flatten_to_tuple(stride(recast)),
        it.flatten_to_tuple(stride(make_identity_layout(shape(gmem)))),
        strict=True,
    )
    missing = [e for s, d, e in triples if not is_constant(1, s) and not is_constant(0, d) and e not in present]
    shapes = (*it.wrap(shape(tile)), *([1] * len(missing)))
    whole = Layout(shapes, (*it.wrap(stride(tile)), *missing))
    modes = len(shapes)
    return group(whole, min(modes, 4), modes) if modes > 4 else whole


def _at(path: tuple[int, ...], t: Any) -> Any:
    for i in path:
        t = t[i] if isinstance(t, tuple) else t
    return t


def extents(gmem: Layout, basis: Layout) -> tuple[list[Int | None], list[Int | None]]:
    """``fill_tma_gmem_shape_stride``: shape and stride (elements) of the tensor map's modes."""
    shapes: list[Int | None] = []
    strides: list[Int | None] = []
    for mode in it.wrap(basis.stride):
        terms = [(_at(e.path, gmem.shape), _at(e.path, gmem.stride)) for e in _basis_leaves(mode)]
        if len(terms) == 1:
            shapes.append(terms[0][0])
            strides.append(terms[0][1])
            continue
        numbers = [(known_value(s), known_value(d)) for s, d in terms]
        if any(s is None or d is None for s, d in numbers):
            shapes.append(None)
            strides.append(None)
            continue
        extent, step = 1, 0
        for s, d in numbers:
            assert s is not None and d is not None
            old, step = step, math.gcd(step, d)
            extent = (extent - 1) * (old // step) + (s - 1) * (d // step) + 1 if step else s
        shapes.append(Dyn.of(extent))
        strides.append(Dyn.of(step))
    return shapes, strides


def tensor_stride(
    gmem: Layout, element_bits: Bits, internal_bits: Bits, basis: Layout, step_bytes: list[ByteCount | None]
) -> IntTuple:
    """The strides of the coordinate tensor: the TMA mode that each mode of the tensor steps."""
    modes = it.wrap(basis.stride)
    recast = recast_layout(gmem, element_bits, internal_bits)

    def leaf(e: ScaledBasis) -> Int | ScaledBasis:
        extent, step = _at(e.path, recast.shape), _at(e.path, recast.stride)
        if is_constant(1, extent) or is_constant(0, step):
            return 0
        j = next((i for i, mode in enumerate(modes) if e in _basis_leaves(mode)), None)
        if j is None:
            return 0
        if j == 0:
            scale = _at(e.path, gmem.stride) * int(element_bits)
            if internal_bits != element_bits and not isinstance(scale, int):
                raise UnsupportedTmaError("a TMA type of another width with a run-time scale")
            if isinstance(scale, int):
                return ScaledBasis(whole(Fraction(scale, int(internal_bits))), (0,))
            return ScaledBasis(_at(e.path, gmem.stride), (0,))
        if len(_basis_leaves(modes[j])) == 1:
            return ScaledBasis(1, (j,))
        bytes_j, number = step_bytes[j], known_value(step)
        if bytes_j is None or number is None:  # CuTe divides by the common stride when the program runs
            return ScaledBasis(Dyn.named(f"tma_step{next(_COUNT)}", Domain(0)), (j,))
        units = number * int(internal_bits) // max(known_value(bytes_j) or 0, 16)
        return ScaledBasis(Dyn.of(-(-units // 8)), (j,))

    identity: Any = stride(make_identity_layout(shape(gmem)))
    result: IntTuple = it.transform_leaf(identity, leaf)
    return result


def box(basis: Layout, num_multicast: int | None) -> tuple[Elements, ...]:
    """Box extents of one CTA: the basis' modes, cut from the last one by the CTAs that share the transfer.

    Of a number that is known at run time alone those of one CTA, which are the largest.
    """
    box = []
    for i in range(rank(basis)):
        extent = known_value(size(basis, i))
        if extent is None:
            raise UnsupportedTmaError(f"a box of run-time extents: {basis}")
        box.append(extent)
    i, multicast = len(box) - 1, num_multicast or 1
    while multicast > 1 and i >= 0:
        if box[i] % multicast and multicast % box[i]:
            raise CuteError(_MULTICAST, box[i], multicast)
        rest = -(-multicast // box[i])
        box[i] = -(-box[i] // multicast)
        multicast, i = rest, i - 1
    return tuple(map(Elements, box))


def stride_bytes(step: Int, internal_bits: Bits) -> ByteCount:
    """A stride of ``step`` internal elements as the tensor map holds it; CuTe cuts off a fraction of a byte."""
    scaled = step * int(internal_bits) // 8
    return Bytes(scaled) if isinstance(scaled, int) else scaled


def tensor_map(
    gmem: Layout,
    slayout: Any,
    cta_v_map: AnyLayout,
    *,
    swizzle: Swizzle,
    element_bits: Bits,
    internal_bits: Bits,
    num_multicast: int | None,
) -> TensorMap:
    """``make_tma_copy_desc`` for a tile: ``slayout`` without its swizzle, ``cta_v_map`` from values to tensor modes."""
    basis = gbasis(gmem, element_bits, internal_bits, slayout, cta_v_map)
    check_swizzle(swizzle)
    shapes, steps = extents(recast_layout(gmem, element_bits, internal_bits), basis)
    in_bytes = [None if s is None else stride_bytes(s, internal_bits) for s in steps]
    return TensorMap(
        basis=basis,
        box=box(basis, num_multicast),
        gmem_shape=tuple(shapes),
        gmem_stride_bytes=tuple(in_bytes),
        swizzle=swizzle,
        internal_bits=internal_bits,
        num_multicast=num_multicast,
        tensor_stride=tensor_stride(gmem, element_bits, internal_bits, basis, in_bytes),
    )
