"""TiledCopy, ThrCopy and their constructors (``cute/atom/copy_atom.hpp``).

Partitioning works on layouts: where CuTe slices a tensor by a thread, these return the sliced layout and the offset of
its first element. The thread index may be a run-time integer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import (
    coalesce,
    composition,
    filter,
    get,
    layout,
    left_inverse,
    logical_product,
    make_layout,
    raked_product,
    rank,
    right_inverse,
    shape,
    size,
    slice,
    slice_and_offset,
    upcast,
    with_shape,
    zip,
    zipped_divide,
)
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.basis import X
from cutecheck.model.ints import CuteError, Int, equal, less_equal
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, Tile
from cutecheck.model.memo import memoised
from cutecheck.model.notation import show
from cutecheck.model.tiled.mma import TiledMMA

_UNCHECKED: ContextVar[bool] = ContextVar("unchecked", default=False)


@contextmanager
def unchecked() -> Iterator[None]:
    """Within: a TiledCopy whose thread-value layout does not suit its atom is made all the same, as the DSL does."""
    token = _UNCHECKED.set(True)
    try:
        yield
    finally:
        _UNCHECKED.reset(token)


@dataclass(frozen=True)
class TiledCopy:
    """``TiledCopy<Copy_Atom, TiledLayout_TV, Tiler_MN>``.

    ``layout_tv`` maps (thread, value) to the linear coordinate in the tile that ``tiler_mn`` extracts.
    """

    atom: CopyAtom
    layout_tv: AnyLayout
    tiler_mn: Any

    def __post_init__(self) -> None:
        if _UNCHECKED.get():
            return
        if not equal(size(self.layout_tv, 0) % self.atom_num_thr, 0):
            raise CuteError(
                "TiledCopy uses too few thrs for selected CopyAtom", size(self.layout_tv, 0), self.atom_num_thr
            )
        if not equal(size(self.layout_tv, 1) % self.atom_num_val, 0):
            raise CuteError(
                "TiledCopy uses too few vals for selected CopyAtom", size(self.layout_tv, 1), self.atom_num_val
            )

    @property
    def atom_num_thr(self) -> Int:
        return size(self.atom.val_layout_ref, 0)

    @property
    def atom_num_val(self) -> Int:
        return size(self.atom.val_layout_ref, 1)

    @property
    def num_thr(self) -> Int:
        """``TiledNumThr``, ``size(TiledCopy)``: the threads that take part."""
        return size(self.layout_tv, 0)

    @property
    def num_val(self) -> Int:
        """``TiledNumVal``: the values of each thread in a tile."""
        return size(self.layout_tv, 1)

    @property
    def tiler_shape(self) -> IntTuple:
        """``shape(Tiler_MN{})``: layouts of a by-mode tiler contribute their shapes."""
        result: IntTuple = _tiler_shape(self.tiler_mn)
        return result

    def _ref2trg(self, side: str) -> AnyLayout:
        target = self.atom.val_layout_src if side == "S" else self.atom.val_layout_dst
        result: AnyLayout = composition(right_inverse(self.atom.val_layout_ref), target)
        return result

    def tile2thrfrg(self, tiled: AnyLayout, ref2trg: AnyLayout) -> AnyLayout:
        """((TileM,TileN,...),(RestM,RestN,...)) to (Thr,(FrgV,FrgX),(RestM,RestN,...))."""
        atom_tv = zipped_divide(self.layout_tv, (self.atom_num_thr, self.atom_num_val))
        target_tv = composition(atom_tv, (ref2trg, X))
        thrval2mn = coalesce(zip(target_tv), (1, (1, 1)))
        tv = composition(tiled, (thrval2mn, X))
        result: AnyLayout = slice(((X, X), X), tv)
        return result

    @memoised
    def _tidfrg(self, side: str, layout: AnyLayout) -> AnyLayout:
        tiler_rank = len(self.tiler_mn) if isinstance(self.tiler_mn, tuple) else 1
        if rank(layout) < tiler_rank:
            raise CuteError("Rank of tensor to be partitioned too small.", layout, show(self.tiler_mn))
        return self.tile2thrfrg(zipped_divide(layout, self.tiler_mn), self._ref2trg(side))

    def tidfrg_S(self, layout: AnyLayout) -> AnyLayout:  # noqa: N802 - CuTe's name
        """(M,N,...) to (Thr,(FrgV,FrgX),(RestM,RestN,...)) of the source."""
        return self._tidfrg("S", layout)

    def tidfrg_D(self, layout: AnyLayout) -> AnyLayout:  # noqa: N802
        """(M,N,...) to (Thr,(FrgV,FrgX),(RestM,RestN,...)) of the destination."""
        return self._tidfrg("D", layout)

    @memoised
    def retile(self, layout: AnyLayout) -> AnyLayout:
        """A fragment's layout (V,RestM,RestN,...) seen as ((atom values, rest),RestM,...) of this copy."""
        values = size(layout, 0)
        inverse = with_shape(right_inverse(self.layout_tv), self.tiler_shape)
        frg_mn = upcast(inverse, self.num_thr * values)  # type: ignore[arg-type]
        frg_v = zipped_divide(
            logical_product(make_layout(values), right_inverse(frg_mn)), make_layout(self.atom_num_val)
        )
        tiled = zipped_divide(layout, it.prepend(it.product_each(shape(frg_mn)), values))
        v = composition(tiled, (frg_v, X))
        result: AnyLayout = slice((X, it.append(0, X, rank(layout))), v)
        return result

    def _layout_tv(self, side: str) -> AnyLayout:
        reference = make_layout((self.tiler_shape, 1))
        result: AnyLayout = slice((X, X, 0), self.tile2thrfrg(reference, self._ref2trg(side)))
        return result

    def get_layoutS_TV(self) -> AnyLayout:  # noqa: N802
        """(thr_idx, val_idx) of the source to the tile's coordinate, linearised."""
        return self._layout_tv("S")

    def get_layoutD_TV(self) -> AnyLayout:  # noqa: N802
        """(thr_idx, val_idx) of the destination to the tile's coordinate, linearised."""
        return self._layout_tv("D")

    def _layout_mn(self, side: str) -> tuple[AnyLayout, AnyLayout]:
        inverse = with_shape(right_inverse(self._layout_tv(side)), self.tiler_shape)
        return inverse, make_layout(self.num_thr)

    def get_layoutS_MN(self) -> tuple[AnyLayout, AnyLayout]:  # noqa: N802
        """(M, N) to (thread, value) of the source, and the thread layout (CuTe 3.x only)."""
        return self._layout_mn("S")

    def get_layoutD_MN(self) -> tuple[AnyLayout, AnyLayout]:  # noqa: N802
        """(M, N) to (thread, value) of the destination, and the thread layout (CuTe 3.x only)."""
        return self._layout_mn("D")

    @memoised
    def partition_S(self, layout: AnyLayout, thr_idx: Int) -> tuple[AnyLayout, IntTuple]:  # noqa: N802
        """``get_slice(thr_idx).partition_S``: the thread's ((FrgV,FrgX),RestM,...) layout, and where it starts."""
        return _thread(self.tidfrg_S(layout), thr_idx, rank(layout))

    @memoised
    def partition_D(self, layout: AnyLayout, thr_idx: Int) -> tuple[AnyLayout, IntTuple]:  # noqa: N802
        """``get_slice(thr_idx).partition_D``: the thread's ((FrgV,FrgX),RestM,...) layout, and where it starts."""
        return _thread(self.tidfrg_D(layout), thr_idx, rank(layout))

    def get_slice(self, thr_idx: Int) -> ThrCopy:
        return ThrCopy(self, thr_idx)

    def tile_size(self, *modes: int) -> Int:
        """``tile_size<I...>(tiled_copy)``: the extent of the tiler's mode."""
        return size(get(self.tiler_shape, *modes))

    def __str__(self) -> str:
        return f"TiledCopy\n  Tiler_MN:       {show(self.tiler_mn)}\n  TiledLayout_TV: {self.layout_tv}\n{self.atom}"


def _tiler_shape(tiler: Any) -> Any:
    return tuple(map(_tiler_shape, tiler)) if isinstance(tiler, tuple) else shape(tiler)


def _thread(layout: AnyLayout, thr_idx: Int, modes: int) -> tuple[AnyLayout, IntTuple]:
    return slice_and_offset((thr_idx, X, it.repeat(X, modes)), layout)


@dataclass(frozen=True)
class ThrCopy:
    """``tiled_copy.get_slice(thr_idx)``."""

    tiled_copy: TiledCopy
    thr_idx: Int

    def partition_S(self, layout: AnyLayout) -> tuple[AnyLayout, IntTuple]:  # noqa: N802
        return self.tiled_copy.partition_S(layout, self.thr_idx)

    def partition_D(self, layout: AnyLayout) -> tuple[AnyLayout, IntTuple]:  # noqa: N802
        return self.tiled_copy.partition_D(layout, self.thr_idx)

    def retile_S(self, layout: AnyLayout) -> AnyLayout:  # noqa: N802
        return self.tiled_copy.retile(layout)

    def retile_D(self, layout: AnyLayout) -> AnyLayout:  # noqa: N802
        return self.tiled_copy.retile(layout)

    def __str__(self) -> str:
        return f"ThrCopy\n  ThrIdx: {show(self.thr_idx)}\n{self.tiled_copy}"


def make_tiled_copy_impl(atom: CopyAtom, layout_tv: AnyLayout, tiler: Any) -> TiledCopy:
    """A TiledCopy of exactly this thread-value layout and tiler; CuteError when the atom does not fit it."""
    return TiledCopy(atom, layout_tv, tiler)


def make_tiled_copy(atom: CopyAtom, thr_layout: Layout | None = None, val_layout: Layout | None = None) -> TiledCopy:
    """``thr_layout`` maps (m,n) to thread index, ``val_layout`` (m,n) to value index; the tile: their raked product."""
    thr = make_layout(1) if thr_layout is None else thr_layout
    val = make_layout(1) if val_layout is None else val_layout
    layout_mn = raked_product(thr, val)
    layout_tv = with_shape(right_inverse(layout_mn), (size(thr), size(val)))
    return TiledCopy(atom, layout_tv, it.product_each(shape(layout_mn)))


def make_tiled_copy_A(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:  # noqa: N802
    """A copy whose threads and values are those of the MMA's A operand."""
    return TiledCopy(atom, mma.get_layoutA_TV(), (mma.tile_size(0), mma.tile_size(2)))


def make_tiled_copy_B(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:  # noqa: N802
    """A copy whose threads and values are those of the MMA's B operand."""
    return TiledCopy(atom, mma.get_layoutB_TV(), (mma.tile_size(1), mma.tile_size(2)))


def make_tiled_copy_C(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:  # noqa: N802
    """A copy whose threads and values are those of the MMA's accumulator."""
    return TiledCopy(atom, mma.get_layoutC_TV(), (mma.tile_size(0), mma.tile_size(1)))


def make_tiled_copy_S(atom: CopyAtom, tiled_copy: TiledCopy) -> TiledCopy:  # noqa: N802
    """A copy with the source thread-value layout of another."""
    return TiledCopy(atom, tiled_copy.get_layoutS_TV(), tiled_copy.tiler_mn)


def make_tiled_copy_D(atom: CopyAtom, tiled_copy: TiledCopy) -> TiledCopy:  # noqa: N802
    """A copy with the destination thread-value layout of another."""
    return TiledCopy(atom, tiled_copy.get_layoutD_TV(), tiled_copy.tiler_mn)


def _active(extents: tuple[Int, ...], layout_tv: AnyLayout) -> tuple[Tile, AnyLayout]:
    """The by-mode tiler of the elements a layout reaches, and the layout over that tile's coordinates."""
    modes = len(extents)
    tiler = tuple(
        filter(composition(make_layout(extents, tuple(1 if j == i else 0 for j in range(modes))), layout_tv))
        for i in range(modes)
    )
    tile2data = composition(make_layout(extents), tiler)
    return tiler, composition(left_inverse(tile2data), layout_tv)


def make_tiled_copy_C_atom(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:  # noqa: N802
    """The smallest copy that can retile the accumulator's layout, one atom of values a thread."""
    layout_c = mma.get_layoutC_TV()
    values = atom.num_val_src
    if not less_equal(values, size(layout_c, 1)):
        raise CuteError("make_tiled_copy_C_atom: copy_V <= size<1>(layoutC_TV)", values, size(layout_c, 1))
    layout_tv = composition(layout_c, make_layout((size(layout_c, 0), values)))
    tiler, over_tile = _active((mma.tile_size(0), mma.tile_size(1)), layout_tv)
    return TiledCopy(atom, over_tile, tiler)


def make_cotiled_copy(atom: CopyAtom, atom_tv_layout: Layout, data_layout: AnyLayout) -> TiledCopy:
    """A copy from (thread, value) to data *address* and the data's layout; CuteError when addresses fall outside."""
    if not it.is_static((atom_tv_layout.shape, atom_tv_layout.stride)) or not _static(data_layout):
        raise CuteError("make_cotiled_copy: is_static", atom_tv_layout, data_layout)
    outside = make_layout(1, 0)
    tv_data = composition(make_layout(left_inverse(data_layout), outside), atom_tv_layout)
    reached = coalesce(composition(make_layout(data_layout, outside), layout(tv_data, 1)))
    if reached != coalesce(layout(atom_tv_layout, 1)):
        raise CuteError(
            "The memory pointed to by AtomTVLayout does not exist in the DataLayout.", atom_tv_layout, data_layout
        )
    tiler, over_tile = _active(it.product_each(shape(data_layout)), tv_data)
    return TiledCopy(atom, over_tile, tiler)


def _static(layout: AnyLayout) -> bool:
    if isinstance(layout, Layout):
        return it.is_static((layout.shape, layout.stride))
    return it.is_static(layout.offset) and _static(layout.b)  # type: ignore[arg-type]
