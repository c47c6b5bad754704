"""Layout values as CuTe has them: Layout, Swizzle, ComposedLayout, Tile; their text is ``cute::print``'s."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeAlias, Union, cast

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.expr import Expr
from cutecheck.model.ints import CuteError, Dyn, Int, Sym
from cutecheck.model.units import Bits
from cutecheck.model.version import cute_version
from cutecheck.records import record

# A hierarchical tuple of integers; strides may also hold basis elements.
IntTuple: TypeAlias = Union[Int, ScaledBasis, tuple["IntTuple", ...]]

# A coordinate: an IntTuple whose leaves may be `_`.
Coord: TypeAlias = Union[Int, ScaledBasis, Underscore, tuple["Coord", ...]]


class SwizzleUnit(Enum):
    """What a swizzle's bits count: elements of an offset, or bytes of a shared-memory address."""

    ELEMENT = "element"
    BYTE = "byte"


@record(frozen=True, slots=True)
class Swizzle:
    """``Swizzle<bits, base, shift>``: XOR ``bits`` bits at ``base + shift`` into those at ``base``.

    ``unit`` says whether it permutes element offsets (``Sw o _0 o L``) or byte addresses
    (``Sw o smem_ptr[16b](unset) o L``, as GMMA, UMMA and TMA use it). A negative shift moves the
    bits at ``base`` into those at ``base - shift``. CuteError where the template does not
    instantiate (``cute/swizzle.hpp``).
    """

    bits: int
    base: int
    shift: int
    unit: SwizzleUnit = SwizzleUnit.ELEMENT

    def __post_init__(self) -> None:
        if self.base < 0:
            raise CuteError("MBase must be positive", self)
        if self.bits < 0:
            raise CuteError("BBits must be positive", self)
        if abs(self.shift) < self.bits:
            raise CuteError("abs(SShift) must be more than BBits", self)

    @property
    def acts_on(self) -> Literal["offset", "pointer"]:
        """What is permuted: an offset counted in elements, or the pointer's byte address."""
        return "pointer" if self.unit is SwizzleUnit.BYTE else "offset"

    @property
    def yyy_mask(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def zzz_mask(self) -> int:
        """The bits that change."""
        return ((1 << self.bits) - 1) << (self.base - min(0, self.shift))

    def __call__(self, offset: Int) -> Int:
        from cutecheck.model.swizzle import apply_swizzle

        return apply_swizzle(self, offset)

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"


@record(frozen=True, slots=True)
class SmemPtrFlag:
    """The unset shared-memory pointer in the middle of a composed layout; ``bits`` an element.

    ``sparsity`` is set for ``smem_sparse_ptr_flag_bits<S,B>``.
    """

    bits: Bits
    sparsity: int | None = None

    def __str__(self) -> str:
        sparse = "smem_ptr" if self.sparsity is None else f"smem_sparse<{self.sparsity}>_ptr"
        return f"{sparse}[{self.bits}b](unset)"


@record(frozen=True, slots=True)
class MixedBits:
    """CuTe's ``MixedBits<static, flags>``: an unsigned integer some of whose bits are static.

    ``static`` and ``flags`` are disjoint masks; ``dynamic`` is a run-time value within ``flags``. It arises where
    a swizzled layout is sliced at a run-time coordinate.
    """

    static: int
    flags: int
    dynamic: Expr

    @property
    def value(self) -> Dyn:
        """The integer it stands for."""
        return Dyn(ex.add(ex.const(self.static), self.dynamic))

    def __str__(self) -> str:
        return f"M_{self.static}|({text(Dyn(self.dynamic))}&{self.flags})={text(self.value)}"


class Major(Enum):
    """The tags ``LayoutLeft`` (column major) and ``LayoutRight`` (row major)."""

    LEFT = "LayoutLeft"
    RIGHT = "LayoutRight"

    def __str__(self) -> str:
        return self.value


Offset: TypeAlias = Union[IntTuple, SmemPtrFlag, MixedBits]


_apply: Callable[[Layout | ComposedLayout, Coord], Any] | None = None


def _apply_layout(layout: Layout | ComposedLayout, coord: tuple[Coord, ...]) -> Any:
    """``layout(coord...)``; the algebra is imported on the first call, since it imports this module."""
    global _apply
    if _apply is None:
        from cutecheck.model.algebra.coordinates import apply_layout

        _apply = apply_layout
    return _apply(layout, coord[0] if len(coord) == 1 else coord)


@dataclass(frozen=True, slots=True, init=False)
class Layout:
    """``shape:stride``, congruent hierarchical tuples; maps coordinates to offsets in elements."""

    shape: IntTuple
    stride: IntTuple

    def __init__(self, shape: IntTuple, stride: IntTuple) -> None:
        # The slots are set directly: twice as fast as what a frozen dataclass generates, and layouts are made a lot.
        _set_shape(self, shape)
        _set_stride(self, stride)

    def __call__(self, *coord: Coord) -> IntTuple | Layout:
        """The offset of a coordinate; a sublayout when the coordinate holds ``_``."""
        return _apply_layout(self, coord)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return f"{text(self.shape)}:{text(self.stride)}"


_set_shape: Callable[[Layout, IntTuple], None] = Layout.__dict__["shape"].__set__
_set_stride: Callable[[Layout, IntTuple], None] = Layout.__dict__["stride"].__set__


@record(frozen=True, slots=True)
class ComposedLayout:
    """``a o offset o b``: ``a(offset + b(c))``. ``a`` is a swizzle, a layout or another composed layout."""

    a: Swizzle | Layout | ComposedLayout
    offset: Offset
    b: Layout | Swizzle | ComposedLayout

    @property
    def shape(self) -> IntTuple:
        if isinstance(self.b, Swizzle):
            raise CuteError("a composed layout that ends in a swizzle has no shape", self)
        return self.b.shape

    def __call__(self, *coord: Coord) -> IntTuple | AnyLayout:
        """The offset of a coordinate; a sublayout when the coordinate holds ``_``."""
        return _apply_layout(self, coord)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return f"{self.a} o {text(self.offset)} o {self.b}"


AnyLayout: TypeAlias = Union[Layout, ComposedLayout]

# One entry a mode of a by-mode tiler: a layout, an extent, `_`, or a nested tile.
Tile: TypeAlias = tuple[Union[Layout, Int, Underscore, "Tile"], ...]
Tiler: TypeAlias = Union[Layout, Int, Underscore, Tile]


def text(value: object) -> str:
    """What ``cute::print`` writes for any model value.

    Static integers carry an underscore, run-time ones do not. Where CuTe would print a number that is not known
    here, the expression stands in its place: a bare name (``lda``, ``_kHeadDim``) or, compound, in braces
    (``{8*q + 1}``, ``_{2*kBlockM}``).
    """
    kind = type(value)
    if kind is tuple:
        return "(" + ",".join([f"_{v}" if type(v) is int else text(v) for v in cast("tuple[object, ...]", value)]) + ")"
    if kind is int:
        return f"_{value}"
    if isinstance(value, int) and kind is not bool:
        return f"_{int(value)}"
    if isinstance(value, Dyn):
        return _expression(value.expr)
    if isinstance(value, Sym):
        return f"_{_expression(value.expr)}"
    if isinstance(value, ScaledBasis):
        path = value.path if cute_version() == (4, 1) else value.path[::-1]  # 4.1 printed the outermost index first
        return text(value.value) + "".join(f"@{i}" for i in path)
    if kind is bool:
        return f"_{int(cast(bool, value))}"
    return str(value)


def _expression(e: Expr) -> str:
    number = e.constant
    if number is not None:
        return str(number)
    shown = str(e)
    if shown[0] == "?" and shown[1:].isdecimal():
        return "?"
    return (
        shown
        if len(e.terms) == 1 and len(e.terms[0][0]) == 1 and shown.replace(".", "_").isidentifier()
        else f"{{{shown}}}"
    )
