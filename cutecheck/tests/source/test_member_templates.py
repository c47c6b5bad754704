"""Alias and variable templates that are members, numbers written ``int(I)`` in template lists, and traits of own
operations where CuTe's headers are not there: the numbers are what g++ says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.shown import kernel, number

DECLARATIONS = """
#include <cute/tensor.hpp>
using namespace cute;
template <class T, int N> struct Of {
  template <int... S> using type = Int<N * int(sizeof(T)) + (S + ... + 0)>;
  template <int K> static constexpr int v = N + K;
  template <class U> using Next = Of<U, N + 1>;
};
template <size_t... I> constexpr int sum(std::index_sequence<I...>) { return (Int<int(I)>{} + ... + 0); }
template <int I> constexpr int cast() { return std::integral_constant<unsigned, unsigned(I)>::value + Int<int(I)>{}; }
"""


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("typename Of<half_t, 4>::template type<1, 2>{} + 10 * typename Of<char, 4>::template type<1, 2>{}", 81),
        ("typename Of<char, 4>::template type<1>{} + 10 * typename Of<char, 8>::template type<1>{}", 95),
        ("100 * (Of<char, 8>::template v<3>) + (Of<char, 9>::template v<3>)", 1112),
        ("(Of<char, 8>::template v<3>) + 100 * (Of<char, 9>::template v<3>)", 1211),
        ("(Of<char, 8>::template v<3>) * 2 + (Of<char, 9>::v<3>) - (Of<char, 8>::v<1>)", 25),
        ("(Of<char, 9>::template Next<int>::template v<3>)", 13),
        ("(Of<char, 1>::template Next<int>::template v<3>)", 5),
        ("sum(std::make_index_sequence<4>{})", 6),
        ("cast<5>()", 10),
    ],
)
def test_values(tmp_path: Path, shown: str, value: int) -> None:
    assert number(tmp_path, kernel(DECLARATIONS), "", shown) == value


OWN = """
#include <cute/tensor.hpp>
namespace kit {
struct Fp8 {
  using DRegisters = float[4]; using ARegisters = uint32_t[4]; using BRegisters = uint32_t[2];
  using CRegisters = float[4];
};
template <class T> struct Wide {
  using DRegisters = float[4]; using ARegisters = uint32_t[4]; using BRegisters = uint32_t[2];
  using CRegisters = float[4];
};
struct Narrow { using SRegisters = cute::uint128_t[1]; using DRegisters = cute::uint128_t[1]; };
}
namespace cute {
template <> struct MMA_Traits<kit::Fp8> {
  using ValTypeD = float; using ValTypeA = float_e4m3_t; using ValTypeB = float_e4m3_t; using ValTypeC = float;
  using Shape_MNK = Shape<_16, _8, _32>;
  using ThrID = Layout<_32>;
  using ALayout = Layout<Shape<Shape<_4, _8>, Shape<_4, _2, _2>>, Stride<Stride<_64, _1>, Stride<_16, _8, _256>>>;
  using BLayout = Layout<Shape<Shape<_4, _8>, Shape<_4, _2>>, Stride<Stride<_32, _1>, Stride<_8, _128>>>;
  using CLayout = Layout<Shape<Shape<_4, _8>, Shape<_2, _2>>, Stride<Stride<_32, _1>, Stride<_16, _8>>>;
};
template <class T> struct MMA_Traits<kit::Wide<T>> : MMA_Traits<SM80_16x8x16_F32F16F16F32_TN> { using ValTypeA = T; };
template <> struct Copy_Traits<kit::Narrow> : Copy_Traits<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>> {};
}
using namespace cute;
using A = TiledMMA<MMA_Atom<kit::Fp8>, Layout<Shape<_2, _2, _1>>>;
using B = TiledMMA<MMA_Atom<kit::Wide<bfloat16_t>>, Layout<Shape<_2, _1, _1>>>;
using C = decltype(make_tiled_copy(Copy_Atom<kit::Narrow, half_t>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                                   Layout<Shape<_1, _8>>{}));
using D = decltype(make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, bfloat16_t>{}, B{}));
using A_ = TiledMMA<MMA_Atom<SM89_16x8x32_F32E4M3E4M3F32_TN>, Layout<Shape<_2, _2, _1>>>;
using B_ = TiledMMA<MMA_Atom<SM80_16x8x16_F32BF16BF16F32_TN>, Layout<Shape<_2, _1, _1>>>;
using C_ = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                                    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using D_ = decltype(make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, bfloat16_t>{}, B_{}));
"""


def printed(value: object) -> str:
    """What a tiled object is, but for the name of its operation."""
    assert isinstance(value, (TiledCopy, TiledMMA))
    return str(replace(value, atom=replace(value.atom, op="", args=())))


def test_traits_of_own_operations_beside_those_of_cute(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(OWN)
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    found = {s.symbol: printed(s.value) for s in facts.sites if s.symbol[0] in "ABCD" and "tiled" in s.kind}
    for name in "ABCD":
        assert found[name] == found[f"{name}_"] and found[name], name
