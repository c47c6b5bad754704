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
from cutecheck.model.ints import CuteError, equal
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, SmemPtrFlag

_INDEX = {"A": 0, "B": 1, "C": 2}


def make_fragment_c(atom: MMAAtom, extents: IntTuple) -> AnyLayout:
    """The accumulator of a partitioned shape: compact, mode 0 first. CuteError for run-time extents."""
    return _owning(make_layout(extents))


def _owning(layout: AnyLayout) -> AnyLayout:
    """The layout of a tensor that owns its registers: must be static."""
    if not is_static(shape(layout)):
        raise CuteError("Dynamic owning tensors not supported", layout)
    return layout


def make_fragment(atom: MMAAtom, operand: str, part: AnyLayout, element_bits: int | None = None) -> AnyLayout:
    """``make_fragment_A/B/C`` of a partitioned layout (V, Rest0, Rest1, ...).

    ``element_bits`` is the width of the tensor's elements (the atom's value type when None). CuteError where CuTe
    asserts: the first mode must hold the atom's values.
    """
    tv = {"A": atom.a_tv, "B": atom.b_tv, "C": atom.c_tv}[operand]
    if rank(part) < 3:
        raise CuteError(f"make_fragment_{operand}: rank(tensor) >= 3 (is it partitioned?)", part)
    if not equal(size(part, 0), size(tv, 1)):
        raise CuteError(f"make_fragment_{operand}: size<0>(tensor) == size<1>(Layout{operand}_TV)", part, tv)
    if operand == "C":
        return make_fragment_c(atom, shape(part))
    kind = atom.frg_types[_INDEX[operand]]
    if "smem_desc" in kind:
        return _descriptors(atom, operand, part, element_bits)
    return _owning(make_fragment_like(part))


def _descriptors(atom: MMAAtom, operand: str, part: AnyLayout, element_bits: int | None) -> AnyLayout:
    """One descriptor an atom: mode 0 becomes ``_1:_0``, the others step in units of 16 bytes."""
    if isinstance(part, ComposedLayout) and isinstance(part.offset, SmemPtrFlag):
        part = part.b  # type: ignore[assignment]  # the swizzle belongs to the pointer
    bits = element_bits or atom.val_types[_INDEX[operand]].bits
    if bits is None:
        raise CuteError("sizeof_bits of the operand's value type is not known", atom.val_types[_INDEX[operand]].name)
    result: AnyLayout = replace(recast_layout(part, bits, 128), 0, make_layout(1, 0))
    return result
