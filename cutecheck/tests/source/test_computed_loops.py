"""Loops that only compute, and elements of arrays, have the values that g++ 12 prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.eval.threads import varies
from cutecheck.source.extract import ExtractRequest, extract
from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
using namespace cute;
int early(int k) { for (int i = 0; i < 10; ++i) { if (i == k) return i * 10; } return 7; }
int host_sum(int a, int b) { int s = 0; while (a < b) { s += a; a += 2; } return s; }
int square(int a) { return a * a; } constexpr int tri(int n) { int t = 0; for (int i = 1; i <= n; ++i) t += i;
return t; }
struct Acc { int v = 0; void add(int q) { v += q; } };
struct Cfg { int bm, bn; constexpr int v() const { return bm * 100 + bn; } };
constexpr std::array<Cfg, 3> cfgs{{{1, 2}, {3, 4}, {5, 6}}};
constexpr std::array<int, 4> mk() { std::array<int, 4> a{}; for (int i = 0; i < 4; ++i) a[i] = i * i; return a; }
constexpr auto sq = mk();
constexpr int best(std::array<int, 3> const& a) { int b = a[0]; for (int v : a) if (v > b) b = v; return b; }
template <size_t N> constexpr int total(std::array<int, N> const& a) { int s = 0; for (size_t i = 0; i < a.size();
++i) s += a[i]; return s; }
void fill(std::array<int, 3>& a, int v) { for (auto& e : a) e = v; a[0] = v + 1; }
void fillp(int* a, int v) { a[0] = v; a[1] = v; }
void fillr(int (&a)[3], int v) { a[0] = v; a[1] = v; }
void set(int& a, int v) { a = v; }
struct Hold { int a[3] = {1, 2, 3}; std::array<int, 2> b{4, 5}; void put(int i, int v) { a[i] = v; b[i & 1] = v; }
int sum() const { int s = 0; for (int v : a) s += v; return s; } };
template <int N> struct Cnt { int c[N]; constexpr Cnt() : c{} { for (int i = 0; i < N; ++i) c[i] = i + N; } };
constexpr int lut[2][3] = {{1, 2, 3}, {4, 5, 6}};
struct Sh { int m[2][2]; };
struct Cf { int bm, bn; };
""")
LOOPS = {
    ("auto L = make_layout(make_shape(_4{}, _8{})); for (int i = 0; i < size(L); ++i) x += L(i) & 3;", "x"): 48,
    ("int s0 = 0; for (int i = 0; i < 4; ++i) s0 += i * 2;", "s0"): 12,
    ("int s0 = 0; for (int i = 0; i < 4; ++i) for (int j = 0; j < i; ++j) s0 += j;", "s0"): 4,
    ("int s0 = 0; for (int i = 0; i < 8; ++i) { s0 += square(i); }", "s0"): 140,
    ("int s0 = 0; for (int i = 0; i < 8; ++i) { s0 += tri(i); }", "s0"): 84, ("", "early(3) + early(20)"): 37,
    ("", "host_sum(1, 10)"): 25, ("int i; for (i = 0; i < 7; ++i) if (i * i > 10) break;", "i"): 4,
    ("int v = 1; while (v < 100) v *= 3;", "v"): 243,
    ("int v = 100, c = 0; while (v != 1) { v = v % 2 ? 3 * v + 1 : v / 2; ++c; }", "c"): 25,
    ("int a = 48, b = 36; while (b) { int t = a % b; a = b; b = t; }", "a"): 12,
    ("unsigned v = 0xF0F0; int c = 0; for (; v; v &= v - 1) ++c;", "c"): 8,
    ("int st = 0, ph = 0; for (int i = 0; i < 10; ++i) { if (++st == 4) { st = 0; ph ^= 1; } }", "st * 10 + ph"): 20,
    ("Acc a; for (int i = 0; i < 5; ++i) a.v += i;", "a.v"): 10,
    ("Acc a; for (int i = 0; i < 5; ++i) a.add(i);", "a.v"): 10,
    ("int s0 = 0; int* p = &s0; for (int i = 0; i < 5; ++i) *p += i;", "s0"): 10,
    ("int s0 = 0; int& p = s0; for (int i = 0; i < 5; ++i) p += i;", "s0"): 10,
    ("int s0 = 0; auto f = [&](int q) { s0 += q; }; for (int i = 0; i < 5; ++i) f(i);", "s0"): 10,
    ("int s0 = 0; auto f = [](int q) { return q * 2; }; for (int i = 0; i < 5; ++i) s0 += f(i);", "s0"): 20,
    ("int s0 = 0; for (auto i : {1, 2, 3}) s0 += i;", "s0"): 6,
    ("uint8_t s0 = 0; for (int i = 0; i < 100; ++i) s0 += 7;", "s0"): 188,
    ("int s0 = 0; for (int i = 10; i --> 0;) s0 = s0 * 2 + (i & 1);", "s0"): 682,
    (
        "int s0 = 0; for (int i = 0; i < 3; ++i) { switch (i) { case 0: s0 += 1; break; "
        "case 1: s0 += 10; default: s0 += 100; } }",
        "s0",
    ): 211,
    ("int s0 = 0; for (int i = 0; i < 3; ++i) { int loc = i; loc *= 2; s0 += loc; }", "s0"): 6,
    ("int s0 = 0; for (int i = 0; i < 3; ++i) { if (i == 1) { s0 = 50; break; } s0++; }", "s0"): 50,
    (
        "int kstages = 0; for (int s0 = 8; s0 > 0; --s0) { if (s0 * 48000 <= 232448) { kstages = s0; break; } }",
        "kstages",
    ): 4,
    ("int s0 = 0; for (int i = 0; i < 3; ++i) { s0 += threadIdx.x * 0 + i; }", "s0"): 3,
    ("std::array<int, 3> a = {1, 2, 3}; for (auto& e : a) e += 1;", "a[0] * 100 + a[1] * 10 + a[2]"): 234,
    ("std::array<Cfg, 2> a{Cfg{1, 2}, Cfg{3, 4}}; for (auto c : a) c.bm = 9;", "a[1].v()"): 304,
}  # fmt: skip
ARRAYS = {
    ("int s0 = 0; { half_t r[8]; for (int i = 0; i < 8; ++i) { r[i] = half_t(0); s0++; } }", "s0"): 8,
    ("int a[3] = {1, 2, 3}; int v = 0; for (int i = 0; i < 3; ++i) v += a[i];", "v"): 6,
    ("int a[3] = {1, 2, 3}; for (int i = 0; i < 3; ++i) a[i] *= i;", "a[0] * 100 + a[1] * 10 + a[2]"): 26,
    ("int a[3] = {1, 2, 3}; a[1] = 7;", "a[0] * 100 + a[1] * 10 + a[2]"): 173,
    ("int a[2][2] = {{1, 2}, {3, 4}}; a[1][0] = 9;", "a[1][0] * 10 + a[0][1]"): 92,
    ("int a[4]; for (int i = 0; i < 4; ++i) a[i] = i * i;", "a[3] + a[2]"): 13,
    ("int a[4]; a[0] = 1; for (int i = 1; i < 4; ++i) a[i] = a[i - 1] * 3;", "a[3]"): 27,
    ("int a[3] = {1, 2, 3}; a[0]++; ++a[1]; a[2] += a[0]--;", "a[0] * 100 + a[1] * 10 + a[2]"): 135,
    ("int a[3] = {1, 2, 3}; int i = 0; a[i++] = 5;", "a[0] * 10 + i"): 51,
    ("uint8_t a[2] = {250, 1}; a[0] += 10;", "a[0]"): 4,
    ("int a[3] = {1, 2, 3}; for (int& e : a) e *= 2;", "a[0] * 100 + a[1] * 10 + a[2]"): 246,
    ("std::array<int, 3> a{1, 2, 3};", "a[1] + a.size() * 10"): 32,
    ("std::array<int, 3> a{1, 2, 3}; a[1] = 9;", "a[1] + a[2]"): 12,
    ("std::array<int, 3> a{}; for (int i = 0; i < 3; ++i) a[i] = i + 5;", "a[0] * 100 + a[1] * 10 + a[2]"): 567,
    ("std::array<int, 3> a = {1, 2, 3}; auto b = a; b[0] = 5;", "a[0] * 10 + b[0]"): 15,
    ("std::array<int, 3> a = {1, 2, 3}; auto& b = a; b[0] = 5;", "a[0] * 10 + b[0]"): 55,
    ("std::array<int, 3> a{1, 2, 3};", "a.back() * 100 + a.front() * 10 + a.at(1)"): 312,
    ("std::array<int, 3> a{1, 2, 3};", "std::get<1>(a) + std::tuple_size<std::array<int, 4>>::value * 10"): 42,
    ("std::array<int, 3> a{1, 2, 3}; auto [p, q, r] = a;", "p * 100 + q * 10 + r"): 123,
    ("cute::array<int, 3> a{1, 2, 3}; a[2] = 8;", "a[2] * 10 + a[1]"): 82, ("", "cfgs[1].v() + cfgs[2].bm"): 309,
    ("", "sq[3] * 10 + sq[2] + sq.size() * 100"): 494,
    ("std::array<int, 3> a{4, 9, 2};", "best(a) + total(a) * 10"): 159, ("", "best({1, 7, 3})"): 7,
    ("std::array<int, 3> a{4, 9, 2}; fill(a, 3);", "a[0] * 10 + a[2]"): 43,
    ("std::array<int, 3> a{4, 9, 2}; auto b = a; fill(b, 3);", "a[0] * 10 + b[0]"): 44,
    ("int a[3] = {1, 2, 3}; fillr(a, 7);", "a[0] * 10 + a[2]"): 73,
    ("Hold h; h.a[1] = 9;", "h.a[1] * 10 + h.a[0]"): 91,
    ("Hold h; h.put(1, 9);", "h.a[1] * 100 + h.a[0] * 10 + h.b[1]"): 919,
    ("Hold h; h.a[1] = 9; Hold g = h; g.a[1] = 1;", "h.sum() * 100 + g.sum()"): 1305,
    ("Hold h; Hold& g = h; g.a[1] = 1;", "h.sum()"): 5, ("Hold h; Hold* g = &h; g->a[1] = 1;", "h.sum()"): 5,
    ("", "Cnt<4>().c[3] + Cnt<2>().c[0]"): 9, ("", "lut[1][2] * 10 + lut[0][1]"): 62,
    ("Sh s0{{{1, 2}, {3, 4}}}; s0.m[1][0] = 8;", "s0.m[1][0] * 10 + s0.m[0][1]"): 82,
    ("int a[3] = {1, 2, 3}; if (n > 2) a[1] = 7;", "a[0] + a[2]"): 4,
    ("int a[3] = {1, 2, 3}; if (n > 2) a[1] = 7; else a[2] = 8;", "a[0]"): 1,
    ("int a[3] = {1, 2, 3}; for (int i = 0; i < n; ++i) a[1] += 2;", "a[0] + a[2]"): 4,
    ("int a[3] = {1, 2, 3}; int i = 0; while (a[i] != 3) ++i;", "i"): 2,
    ("int a[3] = {1, 2, 3}; auto f = [&](int i, int v) { a[i] = v; }; f(1, 9);", "a[1] * 10 + a[0]"): 91,
    (
        "int a[3] = {1, 2, 3}; auto f = [=](int i, int v) mutable { a[i] = v; return a[i]; };",
        "f(1, 9) * 10 + a[1]",
    ): 92,
    ("int a[3] = {1, 2, 3}; auto f = [&] { return a[1]; }; a[1] = 8;", "f()"): 8,
    ("int a[3] = {1, 2, 3}; auto f = [=] { return a[1]; }; a[1] = 8;", "f()"): 2,
    ("int a[3] = {1, 2, 3}; int (&r)[3] = a; r[1] = 8;", "a[1] * 10 + r[0]"): 81,
    ("int a[3] = {1, 2, 3}; auto& r = a; a[1] = 8;", "r[1]"): 8,
    ("int a[3] = {1, 2, 3}; int* p = a; *p = 5; a[1] = 8;", "a[1] * 10"): 80,
    ("int a[3] = {1, 2, 3}; int& r = a[2]; r = 4; a[1] = 8;", "a[1] * 10"): 80,
    (
        "int a[] = {3, 1, 2}; for (int i = 0; i < 3; ++i) for (int j = 0; j + 1 < 3; ++j) "
        "if (a[j] > a[j + 1]) { int t = a[j]; a[j] = a[j + 1]; a[j + 1] = t; }",
        "a[0] * 100 + a[1] * 10 + a[2]",
    ): 123,
    ("int a[4] = {};", "a[3] + 5"): 5, ("int a[4] = {7};", "a[0] * 10 + a[3]"): 70,
    ("int a[2] = {1, 2}, b[2] = {3, 4}; a[0] = b[1]; b[1] = 9;", "a[0] * 10 + b[1]"): 49,
    ("int a[3];", "sizeof(a) + sizeof(a[0]) * 100"): 412, ("int a[3]; for (auto& e : a) e = 4;", "a[0] + a[2]"): 8,
    ("unsigned a[2]; a[0] = 0; a[0]--;", "a[0] == 4294967295u"): 1,
    ("uint8_t a[3]; for (int i = 0; i < 3; ++i) a[i] = 100 * (i + 1);", "a[2] + a[1]"): 244,
    ("bool a[3] = {}; a[1] = 5;", "a[1] + a[0]"): 1, ("half_t a[2]; a[0] = half_t(1);", "3"): 3,
    ("int a[2][3]; for (int i = 0; i < 2; ++i) for (int j = 0; j < 3; ++j) a[i][j] = i * 10 + j;", "a[1][2]"): 12,
    ("std::array<std::array<int, 2>, 2> a{{{1, 2}, {3, 4}}}; a[1][0] = 7;", "a[1][0] * 10 + a[0][1]"): 72,
    ("std::array<Cfg, 2> a{Cfg{1, 2}, Cfg{3, 4}}; a[1].bm = 9;", "a[1].v()"): 904,
    ("std::array<Cfg, 2> a{Cfg{1, 2}, Cfg{3, 4}}; auto b = a; b[1].bm = 9;", "a[1].v()"): 304,
    ("std::array<Cfg, 2> a{Cfg{1, 2}, Cfg{3, 4}}; Cfg& c = a[1]; c.bm = 9;", "a[1].v()"): 904,
    ("std::array<Cfg, 2> a{Cfg{1, 2}, Cfg{3, 4}}; a[0] = a[1]; a[1].bm = 7;", "a[0].v()"): 304,
    ("Cfg a[2] = {{1, 2}, {3, 4}}; a[1].bm = 9;", "a[1].v()"): 904,
    ("Cfg a[2] = {{1, 2}, {3, 4}}; a[0] = a[1];", "a[0].v()"): 304,
    ("Cfg a[2] = {{1, 2}, {3, 4}}; a[0] = a[1]; a[1].bm = 5;", "a[0].v()"): 304,
    ("Cfg a[2] = {{1, 2}, {3, 4}}; Cfg b = a[1]; b.bm = 8;", "a[1].v()"): 304,
    ("std::array<int, 3> a; a[0] = 1; a[1] = 2; a[2] = a[0] + a[1];", "a[2]"): 3,
    ("std::array<int, 3> a{3, 1, 2}, b{3, 1, 2};", "(a == b) + 3"): 4,
    ("std::array<int, 3> a{3, 1, 2}; for (int i = 0; i < n; ++i) a[0]++;", "a[1]"): 1,
    ("std::array<int, 3> a{3, 1, 2}; a = {7, 8, 9};", "a[1]"): 8,
    ("int a[3] = {1, 2, 3}; for (int i : {0, 2}) a[i] = 9;", "a[0] + a[1] + a[2]"): 20,
    ("int a[3] = {1, 2, 3}; for_each(make_int_sequence<3>{}, [&](auto i) { a[i] *= 2; });", "a[0] + a[1] + a[2]"): 12,
    ("int a[3] = {1, 2, 3};", "sizeof(a)"): 12, ("int a[3] = {1, 2, 3};", "sizeof(a[0])"): 4,
    ("int a[3] = {1, 2, 3};", "sizeof(a) / sizeof(a[0])"): 3, ("int a[3] = {1, 2, 3};", "sizeof(a) / sizeof(int)"): 3,
    ("int a[3] = {1, 2, 3}; decltype(a) b = {4, 5, 6};", "b[1] + sizeof(b)"): 17,
    ("int a[2][3] = {};", "sizeof(a) / sizeof(a[0]) + a[1][2]"): 2,
    ("Cf a[2] = {{1, 2}, {3, 4}}; for (auto c : a) c.bm = 9;", "a[1].bm"): 3,
    ("Cf a[2] = {{1, 2}, {3, 4}}; int s0 = 0; for (auto const& c : a) s0 += c.bm * c.bn;", "s0"): 14,
    ("Cf a[2] = {{1, 2}, {3, 4}}; int s0 = 0; for (auto [p, q] : a) s0 += p * q;", "s0"): 14,
}  # fmt: skip
OPEN = {
    ("int a[3] = {1, 2, 3}; int& r = a[1]; r = 7;", "a[1]"): 7,
    ("int a[3] = {1, 2, 3}; int* p = a; p[1] = 7;", "a[1]"): 7,
    ("int a[3] = {1, 2, 3}; int* p = &a[1]; *p = 7;", "a[1]"): 7, ("int a[3] = {1, 2, 3}; fillp(a, 7);", "a[1]"): 7,
    ("int a[3]; a[1] = 2; set(a[1], 9);", "a[1]"): 9, ("int a[3] = {1, 2, 3}; std::swap(a[0], a[2]);", "a[0]"): 3,
    ("std::array<int, 3> a{1, 2, 3}; int* p = a.data(); p[1] = 9;", "a[1]"): 9,
    ("std::array<int, 3> a{1, 2, 3}; a.fill(4);", "a[1]"): 4,
    ("std::array<int, 3> a{3, 1, 2}; auto& [p, q, r] = a; q = 8;", "a[1]"): 8,
    ("int a[3] = {1, 2, 3}; for (auto& e : a) { if (e == 2) break; e = 9; }", "a[0]"): 9,
    ("std::array<Cfg, 2> a{Cfg{1, 2}, Cfg{3, 4}}; for (auto& c : a) c.bm = 9;", "a[1].v()"): 904,
    ("int a[3]; a[0] = 1; asm volatile(\"movl $3, %0\" : \"=r\"(a[0]) :);", "a[0]"): 3,
}  # fmt: skip


@pytest.mark.parametrize(("body", "shown"), [*LOOPS, *ARRAYS], ids=str)
def test_what_a_loop_computes_and_what_is_written_to_elements_is_known(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == (LOOPS | ARRAYS)[body, shown]


@pytest.mark.parametrize(("body", "shown"), OPEN, ids=str)
def test_what_is_written_through_pointers_is_not_taken_for_what_was_there(
    body: str, shown: str, tmp_path: Path
) -> None:
    assert number(tmp_path, KERNEL, body, shown) in (None, OPEN[body, shown])


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("int s0 = 0; for (int i = 0; i < 4; ++i) { if (threadIdx.x == i) break; s0 += i; }", "s0"),
        ("int s0 = 0; for (int i = 0; i < 4; ++i) { if (threadIdx.x == i) continue; s0 += i; }", "s0"),
        ("int a[2] = {1, 2}; a[threadIdx.x & 1] = 7;", "a[1]"),
        ("int a[2] = {1, 2}; for (int i = 0; i < 2; ++i) { if (threadIdx.x == i) a[i] = 7; }", "a[1]"),
    ],
)
def test_what_threads_decide_apart_is_of_each_its_own(body: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("BODY", body).replace("SHOWN", shown))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert varies(event.operands[0].offset)
