"""Elements of arrays by pointers and references: g++ 12 prints the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
using namespace cute;
void fill(int* p, int v) { for (int i = 0; i < 3; ++i) p[i] = v + i; }
void put(int* p, int i, int v) { p[i] = v; }
void bump(int& r) { r += 10; }
int* pick(int* a, int* b, bool c) { return c ? a : b; }
int* next(int* p) { return p + 1; }
int& at(int* p, int i) { return p[i]; }
template <class T> T total(T const* p, int n) { T s = 0; while (n-- > 0) s += *p++; return s; }
int rec(int* p, int n) { if (n == 0) return 0; *p += n; return *p + rec(p + 1, n - 1); }
struct Ring { int buf[4] = {0, 0, 0, 0}; int head = 0; int* slot() { return &buf[head]; } void push(int v) { *slot()
= v; head = (head + 1) % 4; } int operator[](int i) const { return buf[i]; } int* begin() { return buf; } int* end()
{ return buf + 4; } int const* cbegin() const { return buf; } };
struct View { int* p; int s; int& operator()(int i) const { return p[i * s]; } int& operator[](int i) { return p[i *
s]; } View sub(int o) const { return {p + o, s}; } };
template <int N> struct Arr { int d[N]; int& operator[](int i) { return d[i]; } int const& operator[](int i) const {
return d[i]; } int* data() { return d; } };
struct P2 { int x, y; }; void setp(P2* p, int n) { for (int i = 0; i < n; ++i) { p[i].x = i; p[i].y = i * i; } }
void bumpp(P2& p) { p.x += 100; }
struct Two { Arr<2> a[2]; }; void sw(int* a, int* b) { int t = *a; *a = *b; *b = t; }
void rev(int* f, int* l) { while (f < l) { --l; int t = *f; *f = *l; *l = t; ++f; } }
void bub(int* a, int n) { for (int i = 0; i < n; ++i) for (int j = 0; j + 1 < n - i; ++j) if (a[j] > a[j + 1]) sw(a
+ j, &a[j + 1]); }
struct Params { int n; int* ptr; int a[3]; }; void usep(Params& p) { p.ptr[1] = 9; p.a[2] = 7; }
template <class F> void each(int* p, int n, F f) { for (int i = 0; i < n; ++i) f(p[i]); }
void mat(int (*m)[3], int r) { for (int i = 0; i < r; ++i) for (int j = 0; j < 3; ++j) m[i][j] = i * 10 + j; }
void mref(int (&m)[2][3]) { m[1][2] = 77; } int msum(int const (&m)[2][3]) { int s = 0; for (auto& r : m) for (int v
: r) s += v; return s; }
""",
    "int tid = threadIdx.x;",
)
TOLD = {
    ("int a[3] = {1, 2, 3}; int* p = tid > 1 ? a : a + 1; *p = 9;", "a[2]"): 3,
    ("int a[3] = {1, 2, 3}; int* p = pick(a, a + 2, false); *p = 9;", "a[2] * 10 + a[0]"): 91,
    ("int a[3] = {1, 2, 3}; int* p = pick(a, a + 2, tid > 1); *p = 9;", "a[1]"): 2,
    ("int a[3] = {1, 2, 3}; *next(a) = 5; *next(next(a)) += 5;", "a[1] * 10 + a[2]"): 58,
    ("int a[3] = {1, 2, 3}; at(a, 1) = 6; at(a + 1, 1)++; bump(at(a, 0));", "a[0] * 100 + a[1] * 10 + a[2]"): 1164,
    ("int a[3] = {1, 2, 3};", "total(a, 3) + total(a + 1, 2) * 10"): 56,
    ("int64_t a[3] = {1, 2, 3};", "sizeof(total(a, 3)) + total(a, 2) * 10"): 38,
    ("int a[4] = {1, 2, 3, 4}; int r = rec(a, 4);", "r * 100 + a[0] + a[3]"): 2010,
    ("Ring r; r.push(3); r.push(4); r.push(5);", "r[0] * 100 + r[1] * 10 + r[2] + r.head * 1000"): 3345,
    ("Ring r; for (int i = 0; i < 6; ++i) r.push(i);", "r[0] * 1000 + r[1] * 100 + r[2] * 10 + r[3]"): 4523,
    ("Ring r; for (auto& v : r.buf) v = 4;", "r[0] + r[3] * 10"): 44,
    ("Ring r; r.push(7); Ring q = r; q.push(8);", "q[1] * 100 + r[1] * 10 + q[0]"): 807,
    ("Ring r; *r.slot() = 9; int* p = r.slot(); p[2] = 4;", "r[0] * 10 + r[2]"): 94,
    ("int a[6] = {}; View v{a, 2}; v(1) = 5; v[2] = 6; v.sub(1)(0) = 7;", "a[2] * 100 + a[4] * 10 + a[1]"): 567,
    ("Arr<3> a{{1, 2, 3}}; a[1] = 9; a.data()[2] = 8;", "a[0] * 100 + a[1] * 10 + a[2]"): 198,
    ("Arr<3> const a{{1, 2, 3}};", "a[0] * 100 + a[1] * 10 + a[2]"): 123,
    (
        "P2 p[2] = {{1, 2}, {3, 4}}; bumpp(p[1]); P2* q = p; q++; q->y = 50; (*q).x += 1;",
        "p[1].x + p[1].y * 1000",
    ): 50104,
    ("Two t{}; t.a[1][0] = 4; t.a[0].data()[1] = 5;", "t.a[1][0] * 10 + t.a[0][1]"): 45,
    ("int a[4] = {1, 2, 3, 4}; rev(a, a + 4);", "a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3]"): 4321,
    ("int a[4] = {3, 1, 4, 2}; bub(a, 4);", "a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3]"): 1234,
    (
        "int a[4] = {3, 1, 4, 2}; each(a, 4, [&](int& v) { v *= 2; });",
        "a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3]",
    ): 6284,
    ("int a[4] = {3, 1, 4, 2}; int z = 0; each(a, 4, [&](int v) { z = z * 10 + v; });", "z"): 3142,
    ("int m[2][3]; mat(m, 2);", "m[1][2] + m[0][1] * 100"): 112,
    ("int m[2][3] = {}; mref(m);", "msum(m) + m[1][2]"): 154,
    (
        "int m[2][3] = {1, 2, 3, 4, 5, 6}; int* r = m[1]; r[0] = 9; int (*q)[3] = m; q[0][1] = 8;",
        "m[1][0] * 10 + m[0][1]",
    ): 98,
    ("int m[2][3] = {1, 2, 3, 4, 5, 6}; int* p = &m[0][0];", "p[1] + *(p + 2) * 10"): 32,
    ("int a[3] = {1, 2, 3}; int& r = a[1]; r = 5; a[1] += 1;", "r * 10 + a[1]"): 66,
    ("int a[3] = {1, 2, 3}; int const& r = a[1]; a[1] = 8;", "r"): 8,
    ("int a[3] = {1, 2, 3}; auto&& r = a[y - 7]; r = 8;", "a[1]"): 8,
    ("int a[3] = {1, 2, 3}; auto [u, v, w] = a; v = 7;", "a[1] * 10 + v"): 27,
    ("int a[3] = {1, 2, 3}; int* p = a; int* q = p + 2;", "(q - p) * 100 + (p < q) * 10 + (p == a)"): 211,
    ("int a[3] = {1, 2, 3}; int* p = &a[2]; p -= 2; *p-- = 6;", "a[0]"): 6,
    ("int a[3] = {1, 2, 3}; int** pp; int* p = a; pp = &p; **pp = 5; (*pp)++; **pp = 6;", "a[0] * 10 + a[1]"): 56,
    ("int a[3] = {1, 2, 3}; int* p = a; auto f = [&](int i) { p[i] = 0; }; f(1); f(0);", "a[0] + a[1] + a[2]"): 3,
    ("int a[3] = {1, 2, 3}; auto f = [=]() mutable { a[1] = 9; return a[1]; };", "f() * 10 + a[1]"): 92,
    (
        "int a[3] = {1, 2, 3}; for (int i = 0; i < 3; ++i) { int* p = &a[i]; *p *= 2; if (*p > 4) break; }",
        "a[2] * 10 + a[1]",
    ): 64,
    ("int a[8] = {}; for (int i = 0; i < 8; ++i) put(a, i, i * i);", "a[7] * 100 + a[3]"): 4909,
    ("int a[2] = {1, 2}; int b[2] = {3, 4}; int* ps[2] = {a, b}; ps[1][0] = 9; *ps[0] = 8;", "a[0] * 10 + b[0]"): 89,
    ("int a[3] = {1, 2, 3}; void* v = a; static_cast<int*>(v)[1] = 6;", "a[1]"): 6,
    (
        "std::array<int, 3> a{1, 2, 3}; auto& r = a[1]; r = 7; bump(a[0]); for (auto& v : a) v += 1;",
        "a[0] * 100 + a[1] * 10 + a[2]",
    ): 1284,
    (
        "std::array<P2, 2> a{}; a[1].x = 4; auto& q = a[1]; q.y = 6; bumpp(a[0]);",
        "a[1].x * 10 + a[1].y + a[0].x * 100",
    ): 10046,
    ("int a[3] = {1, 2, 3}; { int b[3] = {7, 8, 9}; int* p = b; p[0] = a[0]; a[1] = *p + p[1]; }", "a[1]"): 9,
    ("int z = 0; for (int k = 0; k < 3; ++k) { int b[2] = {k, k}; b[1] += 5; int* p = b; z += p[0] * p[1]; }", "z"): 20,
    ("int a[3] = {1, 2, 3}; int i = 0; int* p = a; p[i++] = i;", "a[0] * 100 + a[1] * 10 + i"): 21,
    ("int a[3] = {1, 2, 3}; int x0 = a[0]++ + ++a[1];", "x0 * 100 + a[0] * 10 + a[1]"): 423,
    ("uint8_t a[2] = {250, 1}; uint8_t* p = a; *p += 10; p[1] -= 2;", "a[0] * 1000 + a[1]"): 4255,
    ("bool a[2] = {}; bool* p = a; p[1] = 5;", "a[1] + a[0] * 10"): 1,
    ("enum E { A0, B0 = 7 }; E e[2] = {A0, B0}; E* p = e; p[0] = B0;", "e[0] + e[1] * 10"): 77,
    ("int a[3] = {1, 2, 3}; const int* p = a; int k = *p++; k += *p; a[1] = 50;", "k * 100 + *p"): 350,
    ("std::array<int, 2> a = {1, 2}; int* p = &a[0]; a = std::array<int, 2>{3, 4}; *p = 5;", "a[0]"): 5,
    ("int a[2] = {1, 2}; auto p = a; p[1] = 5;", "a[1]"): 5,
    ("int a[2] = {1, 2}; int* p; p = a; p[1] = 5;", "a[1]"): 5,
    ("int a[2] = {1, 2}; *(a + 1) = 5;", "a[1]"): 5,
    ("int a[2] = {1, 2}; auto f = [](auto e) { *e = 5; }; f(a);", "a[0]"): 5,
    ("int a[2][2] = {{1, 2}, {3, 4}}; for (auto r : a) r[0] = 5;", "a[1][0]"): 5,
    ("int a[2] = {1, 2}; int& e = a[1]; e = 16; a[1] = 3; x = e;", "x"): 3,
    ("int* p = &x; p[0] = 5;", "x"): 5,
    ("int t[2] = {3, 8}; for (auto&& v : t) if (v == 3) { x = v; break; }", "x"): 3,
    ("int b[2] = {1, 2}; Params p{3, b, {4, 5, 6}}; usep(p);", "b[1] + p.a[2] * 10 + p.n * 100"): 379,
}


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_an_element_that_a_pointer_or_reference_leads_to(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]


IN_LOOPS = kernel("""#include <cute/tensor.hpp>
using namespace cute;
void fill(int* p, int v) { for (int i = 0; i < 3; ++i) p[i] = v + i; } void g(int* p, int v) { fill(p, v); }
struct Ring { int buf[4] = {0, 0, 0, 0}; }; struct H { int* p; }; void fh(H h, int v) { h.p[1] = v; }
void fr(Ring& r, int v) { r.buf[0] = v; } void fp(Ring* r, int v) { r->buf[0] = v; }
void fa(int (&p)[3], int v) { p[1] = v; }
""")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("int a[3] = {1, 2, 3}; for (int i = 0; i < n; ++i) fill(a, 7);", "a[0]"),
        ("int a[3] = {1, 2, 3}; for (int i = 0; i < n; ++i) g(a, 7);", "a[0]"),
        ("Ring r; for (int i = 0; i < n; ++i) fr(r, 7);", "r.buf[0]"),
        ("Ring r; for (int i = 0; i < n; ++i) { x = r.buf[0]; fr(r, 7); }", "x"),
        ("Ring r; for (int i = 0; i < n; ++i) fp(&r, 7);", "r.buf[0]"),
        ("int a[3] = {1, 2, 3}; for (int i = 0; i < n; ++i) { x = a[1]; fa(a, 7); }", "x"),
        ("int a[3] = {1, 2, 3}; H h{a}; for (int i = 0; i < n; ++i) fh(h, 7);", "a[1]"),
        ("int a[3] = {1, 2, 3}; int* p = n > 1 ? a : a + 1; *p = 9;", "a[1]"),
        ("int a[3] = {1, 2, 3}; a[n % 3] = 9;", "a[1]"),
        ("int a[3] = {1, 2, 3}; int* p = a; for (int i = 0; i < n; ++i) p++; *p = 9;", "a[1]"),
    ],
)
def test_an_element_that_may_have_been_written_is_not_known(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, IN_LOOPS, body, shown) is None
