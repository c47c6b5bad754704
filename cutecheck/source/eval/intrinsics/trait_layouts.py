"""Layouts that CuTe names for its own traits, and that those of a tree name, too (cute/atom/mma_traits_sm*.hpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.model.layout import Layout
from cutecheck.model.notation import parse
from cutecheck.source.eval.intrinsics.registry import CONSTANTS, Unsupported, type_maker
from cutecheck.source.eval.intrinsics.types import static_value
from cutecheck.source.eval.values import Value, ValueType

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_NAMED = {
    "SM70_QuadPair": "(_4,_2):(_1,_16)",
    "SM70_8x4_Row": "(_8,_4):(_1,_8)",
    "SM70_8x4_Col": "((_4,_2),_4):((_8,_4),_1)",
    "SM70_8x8_16b": "(_8,_8):(_1,_8)",
    "SM70_8x8_32b": "((_2,_2,_2),(_2,_2,_2)):((_1,_16,_4),(_8,_2,_32))",
    "SM80_8x4": "((_4,_8),_1):((_8,_1),_0)",
    "SM80_8x8_Row": "((_4,_8),_2):((_16,_1),_8)",
    "SM80_8x16_Row": "((_4,_8),_4):((_32,_1),_8)",
    "SM80_16x8_Row": "((_4,_8),(_2,_2)):((_32,_1),(_16,_8))",
    "SM120_16x8_Row": "((_4,_8),(_2,_2)):((_32,_1),(_16,_8))",
    "GMMA::ALayout_64x8": "((_4,_8,_4),(_2,_2)):((_64,_1,_16),(_8,_256))",
    "GMMA::ALayout_64x16": "((_4,_8,_4),(_2,_2,_2)):((_128,_1,_16),(_64,_8,_512))",
    "GMMA::ALayout_64x32": "((_4,_8,_4),(_4,_2,_2)):((_256,_1,_16),(_64,_8,_1024))",
    "GMMA::ALayout_64x64": "((_4,_8,_4),(_8,_2,_2)):((_512,_1,_16),(_64,_8,_2048))",
}
CONSTANTS.update((name, ValueType(parse(text))) for name, text in _NAMED.items())


def _accumulator(n: int) -> Layout:
    return Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))


for _n in (8, 16, 32, 64, 96, 128, 192, 256):
    CONSTANTS[f"GMMA::CLayout_64x{_n}"] = ValueType(_accumulator(_n))


def _numbers(m: Machine, targs: tuple[Value, ...]) -> list[int]:
    numbers = [static_value(m, t) for t in targs]
    if not all(isinstance(n, int) for n in numbers):
        raise Unsupported("the extents of a layout are not known")
    return numbers


@type_maker("GMMA::CLayout_64xN")
def _c_layout(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    (n,) = _numbers(m, targs)
    return ValueType(_accumulator(n))


@type_maker("GMMA::ABLayout")
def _ab_layout(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    rows, depth = _numbers(m, targs)
    return ValueType(Layout((128, (rows, depth)), (0, (1, rows))))
