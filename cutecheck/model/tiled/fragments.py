"""Layouts of fragments: registers, and views of shared-memory descriptors (``MMA_Atom::make_fragment_*``)."""

from __future__ import annotations

from cutecheck.model.algebra import (
    is_static,
    make_fragment_like,
    make_layout,
    rank,
    recast_layout,
    replace,
    shape,
    size,
)
from cutecheck.model.atoms import MMAAtom
from cutecheck.model.ints import CuteError, NotModelledError, equal
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, SmemPtrFlag, Swizzle
from cutecheck.model.memo import memoised
from cutecheck.model.tiled.descriptors import UNIT, operand_descriptor
from cutecheck.model.tiled.tmem import tmem_fragment
from cutecheck.model.units import Bits

_INDEX = {"A": 0, "B": 1, "C": 2}


def make_fragment_c(atom: MMAAtom, extents: IntTuple) -> AnyLayout:
    """The accumulator of a partitioned shape: registers, mode 0 first; tensor memory where the traits say so.

    CuteError for run-time extents.
    """
    if "tmem_frg" in atom.frg_types[2]:
        return tmem_fragment(atom.frg_types[2], extents)
    return _owning(make_layout(extents))


def _owning(layout: AnyLayout) -> AnyLayout:
    """The layout of a tensor that owns its registers: must be static."""
    if not is_static(shape(layout)):
        raise CuteError("Dynamic owning tensors not supported", layout)
    return layout


@memoised
def make_fragment(
    atom: MMAAtom, operand: str, part: AnyLayout, element_bits: Bits | None = None, swizzle: Swizzle | None = None
) -> AnyLayout:
    """``make_fragment_A/B/C`` of a partitioned layout (V, Rest0, Rest1, ...).

    ``element_bits`` is the width of the tensor's elements (the atom's value type when None), ``swizzle`` the pointer's
    byte swizzle where the layout does not carry it. CuteError where CuTe asserts: the first mode must hold the atom's
    values, and a descriptor must be able to state a shared-memory operand.
    """
    tv = {"A": atom.a_tv, "B": atom.b_tv, "C": atom.c_tv}[operand]
    if rank(part) < 3:
        raise CuteError(f"make_fragment_{operand}: rank(tensor) >= 3 (is it partitioned?)", part)
    if not equal(size(part, 0), size(tv, 1)):
        raise CuteError(f"make_fragment_{operand}: size<0>(tensor) == size<1>(Layout{operand}_TV)", part, tv)
    if operand == "C":
        return make_fragment_c(atom, shape(part))
    kind = atom.frg_types[_INDEX[operand]]
    if "tmem_" in kind:
        return tmem_fragment(kind, shape(part))
    if "smem_desc" in kind:
        return _descriptors(atom, operand, part, element_bits, swizzle)
    return _owning(make_fragment_like(part))


def _check_descriptor(part: AnyLayout, kind: str, bits: Bits, swizzle: Swizzle | None) -> None:
    if isinstance(part, ComposedLayout) and not isinstance(part.offset, SmemPtrFlag):
        a = part.a
        if isinstance(a, Swizzle) and (a.base, a.shift) in ((4, 3), (5, 2)):
            return  # a byte swizzle after slicing: the pointer carries it
    elif isinstance(part, Layout) and swizzle is not None:
        part = ComposedLayout(swizzle, SmemPtrFlag(bits), part)
    operand_descriptor(part, kind, bits)


def _descriptors(
    atom: MMAAtom, operand: str, part: AnyLayout, element_bits: Bits | None, swizzle: Swizzle | None
) -> AnyLayout:
    """One descriptor an atom: mode 0 becomes ``_1:_0``, the others step in units of 16 bytes."""
    bits = element_bits or atom.val_types[_INDEX[operand]].bits
    if bits is None:
        name = atom.val_types[_INDEX[operand]].name
        raise NotModelledError(f"the width of the operand's value type {name} is not known")
    kind = atom.frg_types[_INDEX[operand]]
    if "sparse" not in kind and not atom.val_types[_INDEX[operand]].name.startswith("sparse_elem"):
        _check_descriptor(part, kind, bits, swizzle)
    if isinstance(part, ComposedLayout) and isinstance(part.offset, SmemPtrFlag):
        part = part.b  # type: ignore[assignment]  # the swizzle belongs to the pointer
    result: AnyLayout = replace(recast_layout(part, bits, UNIT), 0, make_layout(1, 0))
    return result
