"""Types of computed numbers, texts, enumerators and what is static: g++ 12 prints the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
using namespace cute;




enum Bits : unsigned { F1 = 1u << 0, F2 = 1u << 3, F3 = F1 | F2, F4 = ~0u }; constexpr Bits operator|(Bits a, Bits
b) { return Bits(unsigned(a) | unsigned(b)); }
enum E8 : uint8_t { a8 = 200, b8 }; enum En { en = -1, ez }; enum EL : int64_t { el = 1ll << 40 }; enum Big { bg =
0x80000000, bh };
""",
    "int tid = threadIdx.x;",
)
TOLD = {
    ("auto v = size(make_shape(int64_t(4),5));", "sizeof(v)"): 8,
    ("", "sizeof(size(make_shape(int64_t(4),5)))"): 8,
    ("", "sizeof(size(make_shape(4,5)))"): 4,
    ("", "sizeof(size(make_shape(4u,5l)))"): 8,
    ("", "sizeof(size(make_shape(_4{},5l)))"): 8,
    ("", "sizeof(decltype(size(make_shape(int64_t(4),_2{}))))"): 8,
    ("", "std::is_same_v<decltype(size(make_shape(uint32_t(4),5))), unsigned>"): 1,
    (
        "",
        "sizeof(size(make_shape(uint8_t(4)))) + sizeof(size(make_shape(uint8_t(4), _2{}))) * 10 + "
        "sizeof(size(make_shape(uint8_t(4), _1{}))) * 100 + sizeof(size<0>(make_shape(uint8_t(4), "
        "_1{}))) * 1000",
    ): 1441,
    (
        "auto l = make_layout(make_shape(n, 5), make_stride(int64_t(n), _1{}));",
        "sizeof(l(2, 3)) + sizeof(cosize(l)) * 10 + sizeof(size(l)) * 100 + sizeof(stride<0>(l)) * 1000",
    ): 8488,
    (
        "auto l = make_layout(make_shape(n, int64_t(5)));",
        "sizeof(l(2, 3)) + sizeof(cosize(l)) * 10 + sizeof(size(l)) * 100 + sizeof(stride<1>(l)) * 1000",
    ): 4884,
    (
        "auto l = make_layout(make_shape(n, int64_t(5)), LayoutRight{});",
        "sizeof(l(2, 3)) + sizeof(cosize(l)) * 10 + sizeof(size(l)) * 100 + sizeof(stride<0>(l)) * 1000",
    ): 8888,
    (
        "",
        "sizeof(ceil_div(int64_t(5), 2)) + sizeof(ceil_div(5, _2{})) * 10 + "
        "sizeof(get<0>(ceil_div(make_shape(int64_t(7), 2), Shape<_2, _1>{}))) * 100",
    ): 848,
    (
        "",
        "sizeof(shape_div(int64_t(8), _2{})) + sizeof(cute::max(int64_t(3), 4)) * 10 + sizeof(cute::min(3u, 4)) * 100",
    ): 488,
    (
        "",
        "(get<0>(make_tuple(3u, 1)) - 5 > 0) + (size(make_shape(3u, 1)) - 5 > 0) * 10 + "
        "(cosize(make_layout(make_shape(3u, 2), make_stride(1, 4))) > 0) * 100",
    ): 111,
    (
        "",
        "sizeof(crd2idx(make_coord(1, 2), make_shape(3, 4), make_stride(int64_t(1), 4))) + "
        "sizeof(crd2idx(make_coord(int64_t(1), 2), make_shape(3, 4))) * 10",
    ): 88,
    (
        "",
        "sizeof(get<0>(idx2crd(int64_t(7), make_shape(3, 4)))) + sizeof(get<1>(idx2crd(7, "
        "make_shape(int64_t(3), 4)))) * 10",
    ): 88,
    (
        "",
        "sizeof(inner_product(make_tuple(int64_t(1), 2), make_tuple(3, 4))) + "
        "sizeof(product(make_tuple(int64_t(1), 2))) * 10",
    ): 88,
    ("", "sizeof(get<0>(zipped_divide(make_layout(make_shape(int64_t(64), 5)), make_tile(_4{}, _1{})).shape()))"): 1,
    ("", "sizeof(size<1>(zipped_divide(make_layout(make_shape(int64_t(64), 5)), make_tile(_4{}, _1{}))))"): 8,
    ("", "sizeof(size(make_shape(short(3), short(4)))) + sizeof(size(make_shape(true, _1{}))) * 10"): 44,
    ("", "1 + sizeof(int64_t(3))"): 9,
    ("", "sizeof(int64_t(3)) + 1"): 9,
    ("", "sizeof(int) + sizeof(int64_t(3))"): 12,
    ("", "sizeof(int64_t(3)) + sizeof(int)"): 12,
    ("int q = sizeof(int64_t(3)) + sizeof(int);", "q"): 12,
    ("int q = sizeof(int64_t(3)) + 1;", "q"): 9,
    ("int q = sizeof(int64_t(3));", "q"): 8,
    ("", 'sizeof(R"(abc)")'): 4,
    ("", 'sizeof(R"x(abc)x")'): 4,
    ("", 'sizeof("ab" "cd")'): 5,
    ("", 'sizeof("ab" u"cd")'): 10,
    ("", 'sizeof(u"ab")'): 6,
    ("", 'sizeof(U"ab") + sizeof(L"ab") * 100 + sizeof(u8"ab")*10000'): 31212,
    ("", 'sizeof("a\\n\\t\\x41")'): 5,
    ("", 'sizeof("a\\0b\\101")'): 5,
    ("", 'sizeof("")'): 1,
    ("auto l = make_layout(make_shape(_8{}, n), make_stride(_1{}, 16));", "is_static<decltype(l)>::value"): 0,
    (
        "auto l = make_layout(make_shape(_8{}, n), make_stride(_1{}, 16));",
        "max_common_vector(l, Layout<Shape<_8, _4>, Stride<_1, _8>>{})",
    ): 8,
    (
        "auto l = make_layout(make_shape(_8{}, 4), make_stride(_1{}, _16{}));",
        "is_static<decltype(l)>::value + 10 * is_static<decltype(shape(l))>::value + 100 * "
        "is_static<decltype(l.stride())>::value + is_static<decltype(4)>::value",
    ): 100,
    (
        "",
        "is_static_v<Layout<Shape<_8, int>, Stride<_1, _8>>> + is_static<int>::value * 10 + "
        "is_static_v<_8> * 100 + is_static<Shape<_8, _3>>::value * 1000",
    ): 1100,
    (
        "auto l = make_layout(make_shape(n, _2{}));",
        "is_static_v<decltype(l)> + is_static<decltype(get<1>(l.shape()))>::value * 10",
    ): 10,
    (
        "",
        "is_static_v<decltype(composition(Swizzle<3,3,3>{}, Layout<Shape<_8, _64>>{}))> + "
        "is_static_v<decltype(composition(Swizzle<3,3,3>{}, make_layout(make_shape(n, _2{}))))> * 10",
    ): 1,
    (
        "",
        "is_static_v<E<0>> + is_static_v<decltype(make_stride(E<0>{}, _2{}))> * 10 + is_static_v<Underscore> * 100",
    ): 111,
    ("", "(F1 | F2) + F3 * 10 + (F4 >> 31) * 1000"): 1099,
    ("", "(F1 - 2 > 0) + (a8 - 201 < 0) * 10 + (en - 1 < 0) * 100 + (el >> 38) * 1000 + sizeof(F1 + 1) * 10000"): 44111,
    ("", "(bg >> 31) + (bg > 0) * 10"): 11,
    ("Bits b = F2;", "(b - 9 > 0) + (~b >> 31) * 10 + (-b > 0) * 100"): 111,
    ("auto b = F1 | F2; switch (b) { case F3: x = 3; break; default: x = 4; }", "x"): 3,
    ("", "sizeof(+el) + sizeof(+a8) * 10 + sizeof(el + 1) * 100"): 848,
}


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_the_type_of_what_is_computed(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]
