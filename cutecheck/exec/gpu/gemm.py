"""The reference GEMM as a configuration: exactly the checked MMA, shared-memory layouts and copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cutecheck.exec.gpu.order import operand_rows, result_places
from cutecheck.exec.gpu.predict import Traffic
from cutecheck.exec.gpu.probe import CopyProbe, Tile, room
from cutecheck.model.algebra import cosize, make_fragment_like, size
from cutecheck.model.atoms import copy_op
from cutecheck.model.dtype import DType
from cutecheck.model.ints import known_value
from cutecheck.model.layout import AnyLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA, make_tiled_copy


@dataclass(frozen=True)
class Operand:
    """A or B. ``gmem`` is (rows, k, tiles of k), ``smem`` (rows, k); ``read`` is None where the MMA reads it itself.

    ``copy`` is that of one tile; one of a tensor map is made for the whole of :attr:`matrix`.
    """

    dtype: DType
    gmem: Layout
    smem: AnyLayout
    copy: TiledCopy
    read: TiledCopy | None

    @property
    def matrix(self) -> Layout:
        """The whole operand in global memory as (rows, k of all tiles): what a tensor map is made for."""
        return whole_of(self.gmem)

    @cached_property
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


def whole_of(gmem: Layout) -> Layout:
    """(rows, k, tiles) as (rows, k of all tiles); ValueError where the tiles of k do not follow each other."""
    shape: Any = gmem.shape
    stride: Any = gmem.stride
    if stride[2] != shape[1] * stride[1]:
        raise ValueError("the tiles of k do not follow each other")
    return Layout((shape[0], shape[1] * shape[2]), stride[:2])


@dataclass(frozen=True)
class GemmProbe:
    """One block's D = A B^T, and its epilogue.

    ``write`` is None where the accumulators are stored element by element. With ``stage`` they go into shared memory of
    layout ``smem_d`` by that copy and from there to global memory by ``write``, which may be one of a tensor map.
    """

    mma: TiledMMA
    a: Operand
    b: Operand
    d_dtype: DType
    gmem_d: Layout
    write: TiledCopy | None = None
    stage: TiledCopy | None = None
    smem_d: AnyLayout | None = None

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
        for tiled in (self.a.copy, self.a.read, self.b.copy, self.b.read, self.write, self.stage):
            if tiled is not None and (known_value(tiled.num_thr) or 0) > count:
                raise ValueError("a copy has more threads than the MMA")
        return count

    @property
    def extents(self) -> tuple[int, int, int]:
        """(M, N, K) of the whole problem."""
        shape_a: Any = self.a.gmem.shape
        shape_b: Any = self.b.gmem.shape
        return shape_a[0], shape_b[0], shape_a[1] * shape_a[2]

    @cached_property
    def b_offset(self) -> int:
        """Byte at which B starts in shared memory."""
        return -(-self.a.bytes // 1024) * 1024

    @cached_property
    def d_offset(self) -> int:
        """Byte at which the epilogue's tile starts."""
        return self.b_offset + -(-self.b.bytes // 1024) * 1024

    @cached_property
    def bar_offset(self) -> int:
        """Byte at which the barrier of tensor-map loads lies: after everything else."""
        if self.smem_d is None:
            return self.b_offset + -(-self.b.bytes // 16) * 16
        probe = self._staged()
        assert probe.dst is not None
        size = room(self.smem_d, probe.table("dst", probe.dst)) * probe.element_bits // 8
        return self.d_offset + -(-size // 16) * 16

    @cached_property
    def shared_bytes(self) -> int:
        return self.bar_offset + 16

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The rows of A and of B that the MMA takes as its rows; NoOrderError where it computes no GEMM."""
        shapes: Any = self.a.gmem.shape, self.b.gmem.shape
        a, b = (
            operand_rows(self.mma, letter, o.read, s[0], s[1])
            for letter, o, s in zip("AB", (self.a, self.b), shapes, strict=True)
        )
        return a, b

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Where each element of the result is stored (row + M * column); NoOrderError where it is no such place."""
        m, n, _ = self.extents
        return result_places(self.mma, self.stage or self.write, m, n)

    def _staged(self) -> CopyProbe:
        assert self.stage is not None and self.smem_d is not None
        part, _ = self.stage.partition_D(self.smem_d, 0)
        return CopyProbe(self.stage, self.d_dtype, None, Tile("smem", self.smem_d), _fragment(part))

    def copies(self) -> Iterator[tuple[CopyProbe, int]]:
        """Every copy that the kernel runs with shared or global memory, and how often."""
        tiles: Any = self.a.gmem.shape
        for operand in (self.a, self.b):
            yield operand.fill(0), tiles[2]
            if operand.read is not None:
                yield read_probe(operand), tiles[2]
        if self.stage is not None and self.smem_d is not None:
            yield self._staged(), 1
            if self.write is not None:
                yield CopyProbe(self.write, self.d_dtype, Tile("smem", self.smem_d), Tile("gmem", self.gmem_d)), 1
        elif self.write is not None:
            part, _ = self.write.partition_D(self.gmem_d, 0)
            yield CopyProbe(self.write, self.d_dtype, None, Tile("gmem", self.gmem_d), _fragment(part)), 1

    def traffic(self, merged: Sequence[int] = ()) -> Traffic:
        """What one run of the kernel does; FaultError where a copy faults. ``merged``: a factor for each copy."""
        out = Traffic()
        for i, (probe, times) in enumerate(self.copies()):
            factor = merged[i] if i < len(merged) else 1
            operand = self.a if i == 0 else self.b
            out.copy(probe, times, factor, int(i > 0), _starts(operand) if probe.tiled == operand.copy else (0,))
        return out


def _starts(operand: Operand) -> tuple[int, ...]:
    """Bytes at which the operand's tiles of k start in global memory."""
    shape: Any = operand.gmem.shape
    stride: Any = operand.gmem.stride
    return tuple(k * stride[2] * int(operand.dtype.bits or 8) // 8 for k in range(shape[2]))


def read_probe(operand: Operand) -> CopyProbe:
    """The copy from shared memory to registers."""
    assert operand.read is not None
    part, _ = operand.read.partition_D(operand.smem, 0)
    return CopyProbe(operand.read, operand.dtype, Tile("smem", operand.smem), None, _fragment(part))


def _fragment(part: AnyLayout) -> Layout:
    made = make_fragment_like(part)
    assert isinstance(made, Layout)
    return made


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
