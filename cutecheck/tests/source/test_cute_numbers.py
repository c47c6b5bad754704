"""Numbers that CuTe's functions and members give: g++ 12 prints the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
using namespace cute;
using SwL = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}),
Shape<_128, _64>{}));
enum class Mask : short { None, Causal };
template <Mask M> constexpr int mask_of(std::integral_constant<Mask, M>) { return M == Mask::Causal ? 7 : 3; }
template <class T> constexpr bool of_mask = is_same<typename T::value_type, Mask>::value;
template <class T> constexpr int of_type(T) { if constexpr (of_mask<T>) return T{}() == Mask::Causal; else return 5; }
using Causal = std::integral_constant<Mask, Mask::Causal>;
""",
    "int tid = threadIdx.x;",
)
TOLD = {
    ("", "mask_of(Causal{}) + 10 * of_type(Causal{}) + 100 * of_type(_1{}) + 1000 * int(Causal::value)"): 1517,
    ("", "sizeof(Causal::value) + 10 * is_same<Causal, integral_constant<short, 1>>::value"): 2,
    (
        "auto t = make_tensor(s + 0, Layout<Shape<_8, _4>, Stride<_4, _1>>{});",
        "(&t(3, 2) - &t(0, 0)) + (&t(5) - &t(0)) * 100",
    ): 2014,
    ("auto t = make_tensor(s + 0, SwL{});", "(&t(3, 20) - &t(0, 0))"): 204,
    ("", "std::min(3, 5) + std::max({1, 9, 4}) * 10 + std::min({7, 2}) * 1000"): 2093,
    (
        "",
        "cute::max(make_tuple(3, make_tuple(9, 2))) + cute::min(4, 3, 9) * 100 + cute::max(_3{}, "
        "make_tuple(_5{}, _4{})) * 1000",
    ): 5309,
    (
        "",
        "sizeof(std::max({1l, 9l})) + is_static<decltype(cute::max(_3{}, _5{}))>::value * 10 + "
        "sizeof(cute::max(3, int64_t(5))) * 100",
    ): 818,
    (
        "",
        "elem_leq(make_coord(2, 3), make_shape(2, 3)) + elem_geq(make_coord(2, 3), make_shape(2, 4)) * "
        "10 + elem_gtr(make_coord(3, 5), make_shape(2, 4)) * 100 + elem_leq(make_coord(3, 3), "
        "make_shape(2, 3)) * 1000",
    ): 1111,
    ("", "elem_leq(make_coord(1, 5), make_shape(2, 4)) + elem_geq(make_coord(1, 5), make_shape(2, 4)) * 10"): 11,
    ("", "std::abs(-4) * 100 + std::clamp(7, 0, 5) * 1000"): 5400,
    ("", "gcd(_12{}, _8{}) + lcm(4, 6) * 10 + gcd(12, 18) * 1000"): 6124,
    ("", "cute::countr_zero(8u) + cute::popcount(255u) * 10 + cute::bit_width(17u) * 100"): 583,
    ("", "Swizzle<2, 3, 3>{}(777)"): 777,
    ("", "Swizzle<3, 4, 3>::apply(1234)"): 1218,
    ("", "get_swizzle_portion(composition(Swizzle<3, 3, 3>{}, Layout<_64>{})).num_bits"): 3,
    ("", "Swizzle<3, 4, 3>::num_bits + Swizzle<3, 4, 3>::num_base * 10 + Swizzle<3, 4, 3>::num_shft * 100"): 343,
    ("", "cute::inner_product(make_tuple(1, 2), make_tuple(3, 4))"): 11,
    (
        "",
        "int(any_of(make_tuple(1, 2), [](auto x) { return x > 1; })) + all_of(make_tuple(1, 2), [](auto "
        "x) { return x > 1; }) * 10",
    ): 1,
}


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_a_number_of_cute(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]
