"""Braced lists that leave out braces, or initialise bases: g++ 12 prints the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
using namespace cute;
struct In { int a, b; }; struct Out { In i; In j[2]; int z; }; struct Ag { int a; int b[2]; struct { int c; } e; int
f[2]; }; struct Ct { int v; Ct(int q) : v(q) {} }; struct Hc { Ct c; int d; }; struct De : In { int c; };
template <class T, int N> struct Arr { T d[N]; constexpr T const& operator[](int i) const { return d[i]; } };
""")
TOLD = {
    ("Out a = {1, 2, 3, 4, 5, 6, 7};", "a.i.b * 1000 + a.j[0].a * 100 + a.j[1].b * 10 + a.z"): 2367,
    ("Out a = {1, 2};", "a.i.b * 10 + a.z"): 20,
    ("Out a = {{1, 2}, {{3, 4}, {5, 6}}, 7};", "a.i.b * 1000 + a.j[0].a * 100 + a.j[1].b * 10 + a.z"): 2367,
    ("Out a = {{1, 2}, 3, 4, 5, 6, 7};", "a.i.b * 1000 + a.j[0].a * 100 + a.j[1].b * 10 + a.z"): 2367,
    ("In q{8, 9}; Out a = {q, 3, 4, 5, 6, 7};", "a.i.b * 1000 + a.j[0].a * 100 + a.j[1].b * 10 + a.z"): 9367,
    ("In a[2] = {1, 2, 3, 4};", "a[1].a"): 3,
    ("In a[] = {{1, 2}, {3, 4}, {5, 6}};", "a[2].a * 10 + sizeof(a) / sizeof(In)"): 53,
    ("int m[2][2] = {1, 2, 3, 4};", "m[1][0]"): 3, ("int m[2][2] = {{1}, {3}};", "m[1][0] * 10 + m[0][1]"): 30,
    ("Ag a = {1, 2, 3, 4, 5, 6};", "a.e.c * 100 + a.f[0] * 10 + a.f[1]"): 456,
    ("Hc h{Ct(3), 4};", "h.c.v * 10 + h.d"): 34, ("De d{{1, 2}, 3};", "d.b * 10 + d.c"): 23,
    ("De d{1, 2, 3};", "d.b * 10 + d.c"): 23, ("Arr<int, 3> a{1, 2, 3};", "a[1] * 10 + a[2]"): 23,
    ("Arr<In, 2> a{1, 2, 3, 4};", "a[1].a"): 3, ("Arr<Arr<int, 2>, 2> a{1, 2, 3, 4};", "a[1][0]"): 3,
    ("std::array<Arr<int, 2>, 2> a{{{1, 2}, {3, 4}}};", "a[1][0]"): 3,
}  # fmt: skip


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_each_part_of_a_list_initialises_what_it_does_for_the_compiler(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]
