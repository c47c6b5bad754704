"""The reference GEMM as a configuration: exactly the checked MMA, shared-memory layouts and copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cutecheck.exec.gpu.predict import Traffic, issues
from cutecheck.exec.gpu.probe import CopyProbe, Tile, room
from cutecheck.model.algebra import cosize, make_fragment_like, size
from cutecheck.model.atoms import copy_op
from cutecheck.model.dtype import DType
from cutecheck.model.ints import known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA, make_tiled_copy


@dataclass(frozen=True)
class Operand:
    """A or B. ``gmem`` is (rows, k, tiles of k), ``smem`` (rows, k); ``read`` is None where the MMA reads it itself."""

    dtype: DType
    gmem: Layout
    smem: AnyLayout
    copy: TiledCopy
    read: TiledCopy | None

    @property
    def bytes(self) -> int:
        """Bytes of shared memory, with room for what a copy writes beyond the layout."""
        assert self.dtype.bits is not None
        probe = self.fill(0)
        assert probe.dst is not None
        return room(self.smem, probe.table("dst", probe.dst)) * int(self.dtype.bits) // 8

    def fill(self, k: int) -> CopyProbe:
        """The copy from global to shared memory of one tile of k."""
        shape: Any = self.gmem.shape
        stride: Any = self.gmem.stride
        tile = Layout(shape[:2], stride[:2])
        return CopyProbe(self.copy, self.dtype, Tile("gmem", tile), Tile("smem", self.smem))


@dataclass(frozen=True)
class GemmProbe:
    """One block's D = A B^T. ``write`` is None where the accumulators are stored element by element."""

    mma: TiledMMA
    a: Operand
    b: Operand
    d_dtype: DType
    gmem_d: Layout
    write: TiledCopy | None = None

    @property
    def warpgroup(self) -> bool:
        return self.mma.atom.kind == "wgmma"

    @cached_property
    def block(self) -> int:
        """Threads of the MMA; ValueError where that is no block of whole warps without gaps."""
        count = known_value(size(self.mma.thr_layout_vmnk))
        top = known_value(cosize(self.mma.thr_layout_vmnk))
        if count is None or count != top:
            raise ValueError("the MMA's thread layout has gaps")
        if count % 32 or count > 1024:
            raise ValueError(f"{count} threads are no block of whole warps")
        for operand in (self.a, self.b):
            for tiled in (operand.copy, operand.read):
                if tiled is not None and (known_value(tiled.num_thr) or 0) > count:
                    raise ValueError("a copy has more threads than the MMA")
        return count

    @property
    def extents(self) -> tuple[int, int, int]:
        """(M, N, K) of the whole problem."""
        shape_a: Any = self.a.gmem.shape
        shape_b: Any = self.b.gmem.shape
        return shape_a[0], shape_b[0], shape_a[1] * shape_a[2]

    @property
    def b_offset(self) -> int:
        """Byte at which B starts in shared memory."""
        return -(-self.a.bytes // 1024) * 1024

    @property
    def shared_bytes(self) -> int:
        return self.b_offset + -(-self.b.bytes // 16) * 16

    def copies(self) -> Iterator[tuple[CopyProbe, int]]:
        """Every copy that the kernel runs with shared or global memory, and how often."""
        tiles: Any = self.a.gmem.shape
        for operand in (self.a, self.b):
            yield operand.fill(0), tiles[2]
            if operand.read is not None:
                yield read_probe(operand), tiles[2]
        if self.write is not None:
            part, _ = self.write.partition_D(self.gmem_d, 0)
            yield CopyProbe(self.write, self.d_dtype, None, Tile("gmem", self.gmem_d), _fragment(part)), 1

    def traffic(self, merged: Sequence[int] = ()) -> Traffic:
        """What one run of the kernel does; FaultError where a copy faults. ``merged``: a factor for each copy."""
        out = Traffic()
        for i, (probe, times) in enumerate(self.copies()):
            factor = merged[i] if i < len(merged) else 1
            for memory, issue in issues(probe, factor):
                out.add(issue, memory, times)
        return out


def read_probe(operand: Operand) -> CopyProbe:
    """The copy from shared memory to registers."""
    assert operand.read is not None
    part, _ = operand.read.partition_D(operand.smem, 0)
    return CopyProbe(operand.read, operand.dtype, Tile("smem", operand.smem), None, _fragment(part))


def _fragment(part: AnyLayout) -> Layout:
    made = make_fragment_like(part)
    assert isinstance(made, Layout)
    return made


def rows_of(layout: AnyLayout) -> AnyLayout:
    """The first two modes of a layout: one stage of a pipelined buffer."""
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.a, layout.offset, rows_of(layout.b))  # type: ignore[arg-type]
    shape: Any = layout.shape
    stride: Any = layout.stride
    return Layout(shape[:2], stride[:2]) if isinstance(shape, tuple) and len(shape) > 2 else layout


def element_copy(dtype: DType, rows: int, depth: int, threads: int, k_major: bool) -> TiledCopy:
    """A copy that moves one element a thread at a time, neighbours along the contiguous mode."""
    atom = copy_op("UniversalCopy", (dtype,), dtype)
    along, across = (depth, rows) if k_major else (rows, depth)
    first = _fits(along, min(threads, 32))
    second = _fits(across, threads // first)
    if k_major:
        return make_tiled_copy(atom, Layout((second, first), (first, 1)), Layout((1, 1), (0, 0)))
    return make_tiled_copy(atom, Layout((first, second), (1, first)), Layout((1, 1), (0, 0)))


def _fits(extent: int, most: int) -> int:
    """The largest divisor of an extent that is at most ``most``."""
    return max(n for n in range(1, max(1, min(extent, most)) + 1) if extent % n == 0)
