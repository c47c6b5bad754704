"""Pairs, and the types of numbers in tuples, as g++ 12 prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
using namespace cute;
struct M { int v; int f() { return 1; } int f() const { return 2; } };
""")
TOLD = {
    ("", "sizeof(std::get<1>(std::make_tuple(1, 2L)))"): 8,
    ("", "(std::get<0>(std::make_tuple(3u, 1)) - 4 > 0) + 5"): 6, ("", "(get<0>(make_tuple(3u, 1)) - 4 > 0) + 5"): 6,
    ("", "(get<0>(make_shape(3u, 1)) - 4 > 0) + 5"): 6, ("", "sizeof(get<1>(make_shape(1, int64_t(2))))"): 8,
    ("auto t = make_tuple(uint8_t(200), 1);", "get<0>(t) + 100"): 300,
    ("auto t = make_tuple(3u, 1);", "(get<0>(t) - 4 > 0) + 5"): 6,
    ("std::tuple<unsigned, int> t{3, 4};", "(std::get<0>(t) - 4 > 0) + 5"): 6,
    ("std::tuple<uint8_t, int> t{300, 4};", "std::get<0>(t)"): 44,
    ("std::tuple<int64_t, int> t{300, 4};", "sizeof(std::get<0>(t))"): 8,
    ("Shape<uint8_t, int> t{44, 4};", "sizeof(get<0>(t))"): 1,
    ("auto t = make_tuple(true, 1);", "sizeof(get<0>(t))"): 1,
    ("auto t = make_tuple(2.5f, 1);", "int(get<0>(t) * 2)"): 5,
    ("std::pair<int, long> p{3, 4};", "p.first * 10 + p.second"): 34,
    ("auto p = std::make_pair(3, 4.5);", "p.first * 10 + int(p.second)"): 34,
    ("std::pair p(3, 4); p.first = 7;", "p.first * 10 + p.second"): 74,
    ("std::pair<int, int> p{3, 4}; auto [a, b] = p; a = 9;", "p.first * 10 + a"): 39,
    ("std::pair p(1, 2L);", "p.first + sizeof(p.second)"): 9,
    ("std::pair<uint8_t, int> p{1, 2}; p.first = 300;", "p.first + p.second"): 46,
    ("std::pair<uint8_t, int> p(300, 2);", "p.first + p.second"): 46,
    ("auto p = std::make_pair(1, 2); p = std::make_pair(3, 4);", "p.first * 10 + p.second"): 34,
    ("std::pair<M, int> p{M{4}, 1};", "p.first.f() + p.first.v * 10"): 41,
    ("std::pair<M, int> p{M{4}, 1}; p.first.v = 8;", "p.first.v"): 8,
    ("std::pair<int, int> p{3, 4}; p.second += 5;", "p.second"): 9,
    ("std::pair<int, int> p{3, 4}; auto q = p; q.first = 8;", "p.first * 10 + q.first"): 38,
    ("std::pair<int, int> a[2] = {{1, 2}, {3, 4}}; int s0 = 0; for (auto [u, v] : a) s0 += u * v;", "s0"): 14,
    ("std::pair<int, std::pair<int, int>> p{1, {2, 3}}; p.second.first = 7;", "p.second.first * 10 + p.first"): 71,
    ("std::pair<int, int> p{3, 4}; if (n > 2) p.first = 9;", "p.second"): 4,
    ("std::pair<int, int> p{3, 4}; for (int i = 0; i < 3; ++i) p.first += i;", "p.first"): 6,
    ("", "std::make_pair(3, 4).second"): 4,
    ("std::tuple<uint8_t, int> t{1, 2}; std::get<0>(t) = 300;", "std::get<0>(t)"): 44,
    ("auto t = std::make_tuple(1, 2); std::get<0>(t) += 5;", "std::get<0>(t)"): 6,
    ("auto t = make_tuple(1, _2{}); get<0>(t) = 7;", "get<0>(t)"): 7,
    ("std::array<uint8_t, 3> a{3, 1, 2}; std::get<1>(a) = 300;", "a[1]"): 44,
    ("auto t = make_tuple(int64_t(65536), 1);", "(get<0>(t) * 65536) >> 30"): 4,
    ("auto t = make_shape(int64_t(5), 7); auto u = append(t, 3);", "sizeof(get<0>(u))"): 8,
    (
        "auto t = make_stride(int64_t(5), _1{}); auto L = make_layout(make_shape(2, 3), t);",
        "sizeof(stride<0>(L)) + L(1, 1)",
    ): 14,
    ("Stride<int64_t, _1> t{5, {}};", "sizeof(get<0>(t)) + get<0>(t)"): 13,
}  # fmt: skip


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_an_element_of_a_tuple_has_its_type(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]
