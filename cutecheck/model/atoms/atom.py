"""MMA and copy atoms: what ``MMA_Atom<Op>`` and ``Copy_Atom<Op, T>`` know (``cute/atom/{mma,copy}_atom.hpp``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cutecheck.model.algebra import recast_layout, size
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, Int, NotModelledError, equal
from cutecheck.model.layout import IntTuple, Layout
from cutecheck.model.notation import show
from cutecheck.model.units import Bits


@dataclass(frozen=True)
class MMAAtom:
    """An ``MMA_Atom``. ``a_tv`` maps (thread, value) to (m, k), ``b_tv`` to (n, k), ``c_tv`` to (m, n), linearised.

    ``args`` are the template arguments as given, defaults not filled in. ``frg_types`` are the traits' fragment types
    of A, B and C as text (``SM90::GMMA::smem_desc<GMMA::Major::K>``), empty where the value type is used. ``targets``
    lists the architectures the operation compiles for; ``extra`` further traits members as printed (``ELayout`` ...).
    """

    op: str
    args: tuple[object, ...]
    thr_id: Layout
    shape_mnk: IntTuple
    a_tv: Layout
    b_tv: Layout
    c_tv: Layout
    val_types: tuple[DType, DType, DType, DType]  # A, B, C, D
    arch: str = ""
    ptx: tuple[str, ...] = ()
    kind: str = "custom"
    frg_types: tuple[str, str, str] = ("", "", "")
    targets: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    via_traits: bool = False  # named as MMA_Atom<MMA_Traits<Op>>

    def __str__(self) -> str:
        return (
            f"MMA_Atom\n  ThrID:      {self.thr_id}\n  Shape_MNK:  {show(self.shape_mnk)}\n"
            f"  LayoutA_TV: {self.a_tv}\n  LayoutB_TV: {self.b_tv}\n  LayoutC_TV: {self.c_tv}"
        )


@dataclass(frozen=True)
class CopyAtom:
    """A ``Copy_Atom``. ``src_bits``, ``dst_bits``, ``ref_bits`` map (thread, value) to **bits**; the ``val_layout_*``
    properties map to elements of ``value_type``.
    """

    op: str
    args: tuple[object, ...]
    thr_id: Layout
    src_bits: Layout
    dst_bits: Layout
    ref_bits: Layout
    value_type: DType
    arch: str = ""
    ptx: tuple[str, ...] = ()
    kind: str = "custom"
    targets: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    via_traits: bool = False  # named as Copy_Atom<Copy_Traits<Op>, T>
    tensor_map: object | None = None  # the TensorMap of a TMA copy (cutecheck.model.tiled.tma)

    def __post_init__(self) -> None:
        for name in ("src", "dst", "ref"):
            threads = size(getattr(self, f"val_layout_{name}"), 0)
            if not equal(threads, size(self.thr_id)):
                raise CuteError(
                    f"CopyOperation is not valid for {name.capitalize()} of ValType", self.op, self.value_type.name
                )

    def _in_values(self, bits: Layout) -> Layout:
        if self.value_type.bits is None:
            raise NotModelledError(f"the width of the copy atom's value type {self.value_type.name} is not known")
        result = recast_layout(bits, Bits(1), self.value_type.bits)
        assert isinstance(result, Layout)
        return result

    @cached_property
    def val_layout_src(self) -> Layout:
        """``ValLayoutSrc``: (thread, value) to element of the source."""
        return self._in_values(self.src_bits)

    @cached_property
    def val_layout_dst(self) -> Layout:
        """``ValLayoutDst``: (thread, value) to element of the destination."""
        return self._in_values(self.dst_bits)

    @cached_property
    def val_layout_ref(self) -> Layout:
        """``ValLayoutRef``: (thread, value) to element of the reference layout."""
        return self._in_values(self.ref_bits)

    @property
    def num_val_src(self) -> Int:
        """``NumValSrc``: elements a thread reads per instruction."""
        return size(self.val_layout_src, 1)

    @property
    def num_val_dst(self) -> Int:
        """``NumValDst``: elements a thread writes per instruction."""
        return size(self.val_layout_dst, 1)

    def __str__(self) -> str:
        return (
            f"Copy_Atom\n  ThrID:        {self.thr_id}\n  ValLayoutSrc: {self.val_layout_src}\n"
            f"  ValLayoutDst: {self.val_layout_dst}\n  ValLayoutRef: {self.val_layout_ref}\n"
            f"  ValueType:    {self.value_type.bits}b"
        )
