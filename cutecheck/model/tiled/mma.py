"""TiledMMA and ThrMMA (``cute/atom/mma_atom.hpp``).

Partitioning works on layouts: where CuTe slices a tensor by a thread, these return the sliced layout and the offset of
its first element, so that a tensor can be built at any base. The thread index may be a run-time integer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import (
    append,
    complement,
    composition,
    get,
    get_flat_coord,
    logical_divide,
    make_layout,
    rank,
    right_inverse,
    shape,
    size,
    slice,
    slice_and_offset,
    tiled_product,
    with_shape,
    zipped_divide,
)
from cutecheck.model.atoms import MMAAtom
from cutecheck.model.basis import Underscore, X
from cutecheck.model.ints import CuteError, Int, UndecidedError
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, Swizzle, Tile
from cutecheck.model.memo import memoised
from cutecheck.model.notation import show
from cutecheck.model.tiled import fragments
from cutecheck.model.units import Bits

_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


@dataclass(frozen=True)
class TiledMMA:
    """``TiledMMA<MMA_Atom, AtomLayoutMNK, PermutationMNK>``; build with :func:`make_tiled_mma`."""

    atom: MMAAtom
    atom_layout_mnk: Layout
    permutation_mnk: Tile

    def __post_init__(self) -> None:
        if rank(self.atom_layout_mnk) != 3:
            raise CuteError("TiledMMA requires rank-3 AtomLayoutMNK", self.atom_layout_mnk)
        if not isinstance(self.permutation_mnk, tuple):
            raise CuteError("TiledMMA requires independent permutations of MNK.", self.permutation_mnk)
        if len(self.permutation_mnk) != 3:
            raise CuteError("TiledMMA requires rank-3 PermutationMNK", show(self.permutation_mnk))
        if not it.is_static(self.permutation_mnk):
            raise CuteError("TiledMMA requires static permutations of MNK.", show(self.permutation_mnk))

    @cached_property
    def thr_layout_vmnk(self) -> Layout:
        """(ThrV, ThrM, ThrN, ThrK) to thread index."""
        result = tiled_product(self.atom.thr_id, self.atom_layout_mnk)
        assert isinstance(result, Layout)
        return result

    def permutation(self, mode: int) -> Any:
        """``permutation_mnk<mode>()``: the tile of that mode, the atoms' extent where it is ``_``."""
        given = self.permutation_mnk[mode]
        if isinstance(given, Underscore):
            return self.atoms_extent(mode)
        return given

    def atoms_extent(self, mode: int) -> Int:
        """Elements of the mode that the atoms along it cover."""
        try:
            atoms = size(self.thr_layout_vmnk, mode + 1)
        except UndecidedError:  # of open strides; composed with any layout, a layout keeps the sizes of its modes
            atoms = size(self.atom_layout_mnk, mode)
        return size(get(self.atom.shape_mnk, mode)) * atoms

    def tile_size(self, mode: int) -> Int:
        """``tile_size<mode>``: elements of the M, N or K mode that one tiled MMA covers."""
        return size(self.permutation(mode))

    @property
    def tile_shape(self) -> tuple[Int, Int, Int]:
        return self.tile_size(0), self.tile_size(1), self.tile_size(2)

    @property
    def size(self) -> Int:
        """``size(TiledMMA)``: the number of (thread) coordinates; not the thread count when the layout has gaps."""
        return size(self.thr_layout_vmnk)

    @memoised
    def thrfrg(self, operand: str, layout: AnyLayout) -> AnyLayout:
        """``thrfrg_A/B/C``: a (M,K)/(N,K)/(M,N) layout as ((ThrV,(Thr0,Thr1)),(FrgV,(Rest0,Rest1,...)))."""
        if rank(layout) < 2:
            raise CuteError(f"thrfrg_{operand}: rank(tensor) >= 2", layout)
        m, n = _MODES[operand]
        atom_tv = {"A": self.atom.a_tv, "B": self.atom.b_tv, "C": self.atom.c_tv}[operand]
        # reorder for the tiled atom, cut into atoms, turn each atom's coordinates into (thread, value)
        permuted = logical_divide(layout, (self.permutation(m), self.permutation(n)))
        extents = [size(get(self.atom.shape_mnk, mode)) for mode in (m, n)]
        atoms = zipped_divide(permuted, tuple(make_layout(e) for e in extents))
        tv = composition(atoms, (atom_tv, X))
        threads = tuple(make_layout(size(self.thr_layout_vmnk, mode + 1)) for mode in (m, n))
        result: AnyLayout = zipped_divide(tv, (X, threads))
        return result

    def thrfrg_A(self, layout: AnyLayout) -> AnyLayout:  # noqa: N802 - CuTe's name
        return self.thrfrg("A", layout)

    def thrfrg_B(self, layout: AnyLayout) -> AnyLayout:  # noqa: N802
        return self.thrfrg("B", layout)

    def thrfrg_C(self, layout: AnyLayout) -> AnyLayout:  # noqa: N802
        return self.thrfrg("C", layout)

    def _thridx_2_thrid(self) -> AnyLayout:
        """Thread index to (ThrV,ThrM,ThrN,ThrK); a second mode of extent 1 absorbs the gaps of the thread layout."""
        layout = self.thr_layout_vmnk
        whole = make_layout((size(layout), 1), (1, 0))
        result: AnyLayout = composition(whole, right_inverse(make_layout(layout, complement(layout))))
        return result

    def _layout_tv(self, operand: str) -> AnyLayout:
        m, n = _MODES[operand]
        reference = make_layout((self.tile_size(m), self.tile_size(n)))
        result = self.thrfrg(operand, reference)
        if operand != "C":
            # (ThrV,(Thr0,ThrK)) -> (ThrV,(ThrM,ThrN,ThrK)): the other mode's threads repeat
            extents = (size(self.thr_layout_vmnk, 1), size(self.thr_layout_vmnk, 2))
            strides = (1, 0) if operand == "A" else (0, 1)
            result = composition(result, ((X, (make_layout(extents, strides), X)), X))
        return composition(result, (self._thridx_2_thrid(), X))  # type: ignore[no-any-return]

    def get_layoutA_TV(self) -> AnyLayout:  # noqa: N802
        """(thr_idx, val) to (M, K) of one tile, linearised."""
        return self._layout_tv("A")

    def get_layoutB_TV(self) -> AnyLayout:  # noqa: N802
        """(thr_idx, val) to (N, K) of one tile, linearised."""
        return self._layout_tv("B")

    def get_layoutC_TV(self) -> AnyLayout:  # noqa: N802
        """(thr_idx, val) to (M, N) of one tile, linearised."""
        return self._layout_tv("C")

    def _layout_mn(self, operand: str) -> tuple[AnyLayout, AnyLayout]:
        m, n = _MODES[operand]
        reference = make_layout((self.tile_size(m), self.tile_size(n)))
        inverse = with_shape(right_inverse(self.thrfrg(operand, reference)), shape(reference))
        fixed: tuple[Any, ...] = {"A": (X, X, 0, X), "B": (X, 0, X, X), "C": (X, X, X, 0)}[operand]
        return inverse, slice(fixed, self.thr_layout_vmnk)

    def get_layoutA_MK(self) -> tuple[AnyLayout, AnyLayout]:  # noqa: N802
        """(M, K) to (thread, value), and (V, M, K) to thread index (CuTe 3.x only)."""
        return self._layout_mn("A")

    def get_layoutB_NK(self) -> tuple[AnyLayout, AnyLayout]:  # noqa: N802
        """(N, K) to (thread, value), and (V, N, K) to thread index (CuTe 3.x only)."""
        return self._layout_mn("B")

    def get_layoutC_MN(self) -> tuple[AnyLayout, AnyLayout]:  # noqa: N802
        """(M, N) to (thread, value), and (V, M, N) to thread index (CuTe 3.x only)."""
        return self._layout_mn("C")

    def get_slice(self, thr_idx: Int) -> ThrMMA:
        """The view of one thread (or CTA of a pair, for UMMA)."""
        return ThrMMA(self, get_flat_coord(self.thr_layout_vmnk, thr_idx))

    def partition_shape(self, operand: str, extents: IntTuple) -> IntTuple:
        """``partition_shape_A/B/C``: the shape a thread's part of a tile has."""
        dummy = make_layout(shape(extents) if not isinstance(extents, tuple) else extents)
        tv = self.thrfrg(operand, dummy)
        result: IntTuple = shape(slice((0, (X, it.repeat(X, rank(dummy)))), tv))
        return result

    def partition_fragment_C(self, extents: IntTuple) -> AnyLayout:  # noqa: N802
        """``partition_fragment_C(tiled_mma, shape)``: the accumulator's layout."""
        return fragments.make_fragment_c(self.atom, self.partition_shape("C", extents))

    def __str__(self) -> str:
        return (
            f"TiledMMA\n  ThrLayoutVMNK:  {self.thr_layout_vmnk}\n"
            f"  PermutationMNK: {show(self.permutation_mnk)}\n{self.atom}"
        )


@dataclass(frozen=True)
class ThrMMA:
    """``tiled_mma.get_slice(thr_idx)``; ``thr_vmnk`` is the thread's coordinate."""

    tiled_mma: TiledMMA
    thr_vmnk: Any

    @memoised
    def partition(self, operand: str, layout: AnyLayout) -> tuple[AnyLayout, IntTuple]:
        """This thread's (FrgV, Rest0, Rest1, ...) part of a tile's layout, and where it starts."""
        m, n = _MODES[operand]
        tv = self.tiled_mma.thrfrg(operand, layout)
        thread = (get(self.thr_vmnk, 0), (get(self.thr_vmnk, m + 1), get(self.thr_vmnk, n + 1)))
        rest = it.repeat(X, rank(tv, 1, 1))
        return slice_and_offset((thread, (X, rest)), tv)

    def partition_A(self, layout: AnyLayout) -> tuple[AnyLayout, IntTuple]:  # noqa: N802
        return self.partition("A", layout)

    def partition_B(self, layout: AnyLayout) -> tuple[AnyLayout, IntTuple]:  # noqa: N802
        return self.partition("B", layout)

    def partition_C(self, layout: AnyLayout) -> tuple[AnyLayout, IntTuple]:  # noqa: N802
        return self.partition("C", layout)

    def partition_fragment(
        self, operand: str, layout: AnyLayout, element_bits: Bits | None = None, swizzle: Swizzle | None = None
    ) -> AnyLayout:
        """``partition_fragment_A/B/C``: the layout of the fragment for this thread's part.

        ``element_bits``: width of the tensor's elements; ``swizzle``: byte swizzle of its pointer (descriptors only).
        """
        part, _ = self.partition(operand, layout)
        return self.make_fragment(operand, part, element_bits, swizzle)

    def make_fragment(
        self, operand: str, part: AnyLayout, element_bits: Bits | None = None, swizzle: Swizzle | None = None
    ) -> AnyLayout:
        """``make_fragment_A/B/C`` of an already partitioned layout."""
        return fragments.make_fragment(self.tiled_mma.atom, operand, part, element_bits, swizzle)

    def __str__(self) -> str:
        return f"ThrMMA\n  Thr VMNK: {show(self.thr_vmnk)}\n{self.tiled_mma}"


def make_tiled_mma(
    atom: MMAAtom, atom_layout_mnk: Layout | None = None, permutation_mnk: Tile | Layout | None = None
) -> TiledMMA:
    """``make_tiled_mma(atom, thr_layout, permutations)``; missing modes are ``_1:_0`` and ``_``.

    A ``Layout`` as third argument (the ValLayout of CuTe before 3.4) compiles and becomes the permutation of M alone.
    CuteError where TiledMMA's static assertions fail.
    """
    layout = make_layout((1, 1, 1)) if atom_layout_mnk is None else atom_layout_mnk
    layout = append(layout, make_layout(1, 0), rank=3)
    permutation: Any = () if permutation_mnk is None else permutation_mnk
    if not isinstance(permutation, tuple):
        permutation = (permutation,)
    return TiledMMA(atom, layout, (*permutation, *([X] * (3 - len(permutation)))))
