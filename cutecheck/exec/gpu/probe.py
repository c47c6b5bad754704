"""What the GPU tier runs: one copy between tiles of exactly the checked types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutecheck.exec.gpu.plain import PlainCopy
from cutecheck.model.algebra import cosize, offsets
from cutecheck.model.dtype import DType
from cutecheck.model.ints import known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, SmemPtrFlag, Swizzle
from cutecheck.model.tiled import TiledCopy

Memory = Literal["smem", "gmem"]


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile in memory that a copy partitions; every number of ``layout`` (in elements) is known."""

    memory: Memory
    layout: AnyLayout


@dataclass(frozen=True, slots=True)
class CopyProbe:
    """``copy(tiled, src, dst)``. A side that is None is registers, with ``fragment`` as the checked code has it.

    Of a PlainCopy the tiles have the layouts of what one thread copies.
    """

    tiled: TiledCopy | PlainCopy
    dtype: DType
    src: Tile | None
    dst: Tile | None
    fragment: Layout | None = None

    @property
    def element_bits(self) -> int:
        """Bits of an element; ValueError for one that is no whole number of bytes."""
        bits = self.dtype.bits
        if bits is None or bits % 8 or bits > 128:
            raise ValueError(f"elements of type {self.dtype.name} are not probed: not a whole number of bytes")
        return int(bits)

    @property
    def threads(self) -> int:
        """Threads that take part in the copy."""
        count = known_value(self.tiled.num_thr)
        if count is None or not 1 <= count <= 1024:
            raise ValueError(f"a copy of {count} threads does not fit one block")
        return count

    @property
    def block(self) -> int:
        """Threads of the block: whole warps."""
        return -(-self.threads // 32) * 32

    def table(self, side: Literal["src", "dst"], tile: Tile) -> list[int]:
        """Element offsets of a tile by value * threads + thread, as that side partitions it."""
        if isinstance(self.tiled, PlainCopy):
            return self.tiled.table(side, tile.layout)
        return partition_table(self.tiled, side, tile.layout, self.element_bits)


def partition_table(tiled: TiledCopy, side: Literal["src", "dst"], layout: AnyLayout, element_bits: int) -> list[int]:
    """Offsets in elements of ``partition_S`` or ``partition_D``: entry ``value * threads + thread``."""
    divided = tiled.tidfrg_S if side == "src" else tiled.tidfrg_D
    if isinstance(layout, ComposedLayout) and isinstance(layout.offset, SmemPtrFlag):
        # the swizzle belongs to the pointer: it acts on byte addresses
        assert isinstance(layout.a, Swizzle)
        size = element_bits // 8
        assert isinstance(layout.b, Layout)
        return [_number(layout.a(o * size)) // size for o in offsets(divided(layout.b))]
    return offsets(divided(layout))


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise ValueError(f"an offset is not a number: {value}")
    return value


def room(layout: AnyLayout, table: list[int]) -> int:
    """Elements of memory to set aside: the layout's cosize, or more where a partition goes beyond it."""
    inner = layout.b if isinstance(layout, ComposedLayout) else layout
    size = known_value(cosize(inner)) if isinstance(inner, Layout) else None
    return max([size or 0, *(o + 1 for o in table)])
