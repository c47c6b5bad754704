"""What the ISA tier compiles: one copy or gemm call with the operands' own layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, Union

from cutecheck.model.atoms import CopyAtom
from cutecheck.model.dtype import DType
from cutecheck.model.layout import AnyLayout
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.units import Bits

Space = Literal["gmem", "smem", "rmem", "tmem"]


@dataclass(frozen=True, slots=True)
class Side:
    """One operand of a copy: its memory and its layout in elements, every number known."""

    space: Space
    layout: AnyLayout


@dataclass(frozen=True, slots=True)
class CopyCall:
    """``copy(how, src, dst)`` of one thread. ``how`` None: ``copy(src, dst)``, or ``copy_aligned`` with ``limit`` 128.

    ``limit``: the bits that a copy of automatic width may assume; 0 where the atom fixes the width.
    """

    how: TiledCopy | CopyAtom | None
    dtype: DType
    src: Side
    dst: Side
    limit: int = 0
    aligned: bool = False

    @property
    def atom(self) -> CopyAtom | None:
        return self.how.atom if isinstance(self.how, TiledCopy) else self.how

    @property
    def automatic(self) -> bool:
        return self.limit > 0

    @property
    def element_bits(self) -> Bits:
        assert self.dtype.bits is not None
        return self.dtype.bits


@dataclass(frozen=True, slots=True)
class MmaCall:
    """``gemm(mma, a, b, c)`` of fragments. ``smem_a``, ``smem_b``: partitioned tiles that the MMA reads itself."""

    mma: TiledMMA
    a: AnyLayout
    b: AnyLayout
    c: AnyLayout
    smem_a: AnyLayout | None = None
    smem_b: AnyLayout | None = None


@dataclass(frozen=True, slots=True)
class FragmentCall:
    """``make_fragment_A/B`` of a partitioned shared-memory tile that the MMA reads through a descriptor.

    ``refused``: what CuTe is taken to say against the layout, empty where it is one that a descriptor can state.
    """

    mma: TiledMMA
    operand: Literal["A", "B"]
    tile: AnyLayout
    dtype: DType
    refused: str = ""


IsaCall: TypeAlias = Union[CopyCall, MmaCall, FragmentCall]
