"""Layout values as CuTe has them: Layout, Swizzle, ComposedLayout, Tile."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, Union

from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.ints import Int

# A hierarchical tuple of integers; strides may also hold basis elements.
IntTuple: TypeAlias = Union[Int, ScaledBasis, tuple["IntTuple", ...]]


class SwizzleUnit(Enum):
    """What a swizzle's bits count: elements of an offset, or bytes of a shared-memory address."""

    ELEMENT = "element"
    BYTE = "byte"


@dataclass(frozen=True, slots=True)
class Swizzle:
    """``Swizzle<bits, base, shift>``: XOR ``bits`` bits at ``base + shift`` into those at ``base``.

    ``unit`` says whether it permutes element offsets (``Sw o _0 o L``) or byte addresses
    (``Sw o smem_ptr[16b](unset) o L``, as GMMA, UMMA and TMA use it).
    """

    bits: int
    base: int
    shift: int
    unit: SwizzleUnit = SwizzleUnit.ELEMENT


@dataclass(frozen=True, slots=True)
class SmemPtrFlag:
    """The unset shared-memory pointer in the middle of a composed layout; ``bits`` an element."""

    bits: int


@dataclass(frozen=True, slots=True)
class Layout:
    """``shape:stride``, congruent hierarchical tuples; maps coordinates to offsets in elements."""

    shape: IntTuple
    stride: IntTuple


@dataclass(frozen=True, slots=True)
class ComposedLayout:
    """``a o offset o b``: ``a(offset + b(c))``. ``a`` is a swizzle, a layout or another composed layout."""

    a: Swizzle | Layout | ComposedLayout
    offset: IntTuple | SmemPtrFlag
    b: Layout | ComposedLayout


AnyLayout: TypeAlias = Union[Layout, ComposedLayout]

# One entry a mode of a by-mode tiler: a layout, an extent, `_`, or a nested tile.
Tile: TypeAlias = tuple[Union[Layout, Int, Underscore, "Tile"], ...]
