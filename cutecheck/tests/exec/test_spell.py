"""Spelling model values as C++ of real CuTe types."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutecheck.exec.spell import UnspellableError, expression
from cutecheck.model.atoms import copy_op
from cutecheck.model.dtype import DType
from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.notation import parse


@pytest.mark.parametrize(
    ("printed", "spelled"),
    [
        ("_8:_1", "make_layout(Int<8>{}, Int<1>{})"),
        (
            "(8,(_4,_2)):(_1,(_8,-3))",
            "make_layout(cute::make_tuple(int(8), cute::make_tuple(Int<4>{}, Int<2>{})), "
            "cute::make_tuple(Int<1>{}, cute::make_tuple(Int<8>{}, int(-3))))",
        ),
        ("_4:_1@1@0", "make_layout(Int<4>{}, (Int<1>{} * E<0,1>{}))"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o _8:_1",
         "make_composed_layout(Swizzle<3,4,3>{}, smem_ptr_flag_bits<16>{}, make_layout(Int<8>{}, Int<1>{}))"),
        ("(_4:_1,_8,_)", "cute::make_tuple(make_layout(Int<4>{}, Int<1>{}), Int<8>{}, Underscore{})"),
        ("_5000000000:_1", "make_layout(Int<5000000000LL>{}, Int<1>{})"),
    ],
)  # fmt: skip
def test_values(printed: str, spelled: str) -> None:
    assert expression(parse(printed)) == spelled


def test_atoms() -> None:
    atom = copy_op("SM80_CP_ASYNC_CACHEGLOBAL", (DType("uint128_t", 128),), DType("half_t", 16))
    assert expression(atom) == "Copy_Atom<cute::SM80_CP_ASYNC_CACHEGLOBAL<cutlass::uint128_t>, cutlass::half_t>{}"


@pytest.mark.parametrize("value", [Dyn.named("lda"), Sym.named("kBlockM"), (8, Dyn.named("n")), object()])
def test_what_is_open_is_not_spelled(value: object) -> None:
    with pytest.raises(UnspellableError):
        expression(value)


def test_what_only_a_device_has_is_not_spelled() -> None:
    with pytest.raises(UnspellableError, match="tensor map"):
        expression(replace(copy_op("SM75_U32x4_LDSM_N", (), DType("half_t", 16)), kind="tma"))
    with pytest.raises(UnspellableError, match="not one of CuTe's own"):
        expression(replace(copy_op("SM75_U32x4_LDSM_N", (), DType("half_t", 16)), op="MY_OWN"))
