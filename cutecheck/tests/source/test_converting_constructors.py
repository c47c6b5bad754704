"""Numbers that become objects by constructors, and bits of numbers as other types: g++ 12 prints the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
using namespace cute;
struct Num { int v; Num(int q) : v(q * 2) {} operator int() const { return v; } }; struct FD { int d; FD() : d(0) {}
FD(int x) : d(x) {} int div(int a) const { return a / d; } };
int take(Num q) { return q.v; } int takec(Num const& q) { return q.v; } Num give(int a) { return a + 1; } template
<class T> struct Wrap { T t; Wrap(T a) : t(a) {} template <class U> Wrap(U u, int) : t(u) {} };
int usew(Wrap<int> w) { return w.t; } struct Hold { Num n = 4; FD f = 3; Num arr[2] = {1, 2}; Hold(int a) : n(a) {}
Hold() = default; };
enum class Ec { A, B = 5 }; struct FromE { int v; constexpr FromE(Ec e) : v(int(e) + 1) {} };
struct Agg { Num n; int k; }; int ov(Num) { return 1; } int ov(long) { return 2; }
""",
    "int tid = threadIdx.x;",
)
TOLD = {
    ("Num q = 4; int r = 3 + Num(5);", "q + r * 100"): 1308,
    ("Num q = 4; q = 7;", "q.v"): 14,
    ("", "take(3) + takec(4) * 100"): 806,
    ("", "give(3).v"): 8,
    ("FD f; f = 6;", "f.div(40)"): 6,
    ("FD f = 5; const FD g = 8;", "f.div(40) + g.div(80) * 100"): 1008,
    ("Hold h(9);", "h.n.v + h.f.d * 10"): 48,
    ("Hold h = 9;", "h.n.v"): 18,
    ("", "usew(6)"): 6,
    ("FromE e = Ec::B;", "e.v"): 6,
    ("Agg a{3, 4}; Agg b = {5, 6};", "a.n.v + b.n.v * 100"): 1006,
    ("Num a[3] = {1, 2, 3}; a[1] = 9;", "a[1].v + a[2].v * 100"): 618,
    ("", "ov(3)"): 2,
    ("auto f = [](Num q) { return q.v; };", "f(4)"): 8,
    ("Num q(3); q = q + 1;", "q.v"): 14,
    ("float f = 1.0f; uint32_t u = reinterpret_cast<uint32_t&>(f);", "u >> 20"): 1016,
    ("half_t h(1.5f);", "reinterpret_cast<uint16_t&>(h) >> 8"): 62,
    ("int a = -1;", "reinterpret_cast<uint32_t&>(a) >> 28"): 15,
}


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_what_a_number_becomes(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]
