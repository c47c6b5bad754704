"""The memory instruction a copy atom issues on each side."""

from __future__ import annotations

import math
import re
from typing import Literal

from cutecheck.model.algebra import max_alignment, max_common_vector, size
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, known_value
from cutecheck.model.layout import AnyLayout, Layout
from cutecheck.model.units import Bits
from cutecheck.records import record

COMMON_VECTOR = "common vector"  # of the `extra` of an atom: it moves what is adjacent on both sides, in any modes
Side = Literal["src", "dst"]
Kind = Literal["ld", "st", "ldmatrix", "stmatrix", "cp.async.ca", "cp.async.cg"]
_MATRIX = re.compile(r"^(ldmatrix|stmatrix)\.sync\.aligned\.(?:m(\d+)n(\d+)\.)?(?:x(\d))?")
_COUNT = re.compile(r"\.x(\d)\b")


@record(frozen=True, slots=True)
class Instruction:
    """What one thread issues for one copy of the atom.

    ``bits`` a thread moves at its address (a row of 128 for matrices), ``matrices`` of an ``.xN``. ``automatic``:
    the width is chosen by CuTe from the layouts (AutoVectorizingCopy), ``bits`` is then the limit.
    """

    kind: Kind
    bits: Bits
    matrices: int = 0
    transposed: bool = False
    automatic: bool = False
    name: str = ""


def instruction(op: str, ptx: tuple[str, ...], bits_layout: Layout, side: Side) -> Instruction | None:
    """The shared- or global-memory instruction of an atom on one side; None where it has none of its own.

    ``bits_layout`` is the atom's (thread, value) to bit layout of that side.
    """
    text = ptx[0] if ptx else ""
    matrix = _MATRIX.match(text)
    if matrix:
        wanted: Side = "src" if matrix[1] == "ldmatrix" else "dst"
        if side != wanted:
            return None
        count = _COUNT.search(text)
        tall = 2 if "m16n16" in text else 1  # a 16x16 matrix has sixteen rows of 16 bytes
        kind: Kind = "ldmatrix" if matrix[1] == "ldmatrix" else "stmatrix"
        return Instruction(kind, Bits(128), int(count[1]) * tall if count else tall, ".trans" in text, name=op)
    per_thread = _bits(bits_layout)
    if op.startswith("SM80_CP_ASYNC"):
        if per_thread is None:
            return None
        if side == "src":
            return Instruction("ld", per_thread, name=op)
        return Instruction("cp.async.cg" if "CACHEGLOBAL" in op else "cp.async.ca", per_thread, name=op)
    if op.startswith("AutoVectorizingCopyWithAssumedAlignment"):
        return Instruction("ld" if side == "src" else "st", Bits(0), automatic=True, name=op)
    if op in ("UniversalCopy", "SM100_LOAD_256bit_CACHE_NOALLOCATION", "SM100_STORE_256bit_CACHE_NOALLOCATION"):
        return None if per_thread is None else Instruction("ld" if side == "src" else "st", per_thread, name=op)
    return None


def _bits(layout: Layout) -> Bits | None:
    shape = layout.shape
    if isinstance(shape, tuple) and len(shape) == 2:
        found = known_value(size(Layout(shape[1], 0)))
        return None if found is None else Bits(found)
    return None


def automatic_bits(src: AnyLayout, dst: AnyLayout, element_bits: Bits, limit: Bits) -> Bits:
    """Bits of one access of ``copy(AutoVectorizingCopyWithAssumedAlignment<limit>, src, dst)``."""
    try:
        common = max_common_vector(src, dst)
        if not isinstance(common, int) or common <= 1:
            return element_bits
        align = math.gcd(_layout_alignment(src), _layout_alignment(dst)) * int(element_bits)
        align = math.gcd(align, limit)
    except (CuteError, NotModelledError, UndecidedError):
        return element_bits
    bits = Bits(math.gcd(common * int(element_bits), align))
    return bits if int(bits) % 8 == 0 and bits > element_bits else element_bits


def _layout_alignment(layout: AnyLayout) -> int:
    value = max_alignment(layout)
    return value if isinstance(value, int) else 1
