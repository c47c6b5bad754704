"""Programs that write arrays through what leads to them: g++ 12 prints the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
using namespace cute;
struct TileQ { int m, n; constexpr int area() const { return m * n; } }; constexpr TileQ tiles[] = {{64, 64}, {128,
64}, {128, 128}};
constexpr int best(int smem) { int b = -1; for (int i = 0; i < 3; ++i) if (tiles[i].area() * 2 <= smem) b = i;
return b; }
template <int I> struct Pick { static constexpr TileQ t = tiles[I]; using L = Layout<Shape<Int<t.m>, Int<t.n>>>; };
template <class... Cs> struct Variant { static constexpr std::size_t n = sizeof...(Cs); template <std::size_t I>
using at = std::tuple_element_t<I, std::tuple<Cs...>>; };
template <class T, int S> struct Pipe { T buf[S]; int idx = 0; bool phase = false; void adv() { if (++idx == S) {
idx = 0; phase = !phase; } } T& cur() { return buf[idx]; } };
template <int S> struct PState { int index = 0, phase = 1, count = 0; PState& operator++() { ++index; ++count; if
(index == S) { index = 0; phase ^= 1; } return *this; } PState operator++(int) { auto r = *this; ++*this; return r;
} PState advance(int n) const { auto r = *this; for (int i = 0; i < n; ++i) ++r; return r; } bool operator==(PState
const& o) const { return index == o.index && phase == o.phase; } };
struct Sched { int nm, nn, cur = 0; struct W { int m, n; bool valid; }; W next() { int c = cur++; return {c % nm, c
/ nm, c < nm * nn}; } W swz(int c, int g) const { int per = g * nn; int first = (c / per) * g; int sz = min_(nm -
first, g); return {first + (c % per) % sz, (c % per) / sz, true}; } static constexpr int min_(int a, int b) { return
a < b ? a : b; } };
template <class F> void for_each_tile(Sched s, F&& f) { for (auto w = s.next(); w.valid; w = s.next()) f(w.m, w.n);
}
struct Rng { uint32_t s; uint32_t next() { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; } }; struct Div {
uint32_t d, m; int sh; Div(int x) : d(x) { sh = 0; while ((1u << sh) < d) ++sh; m = uint32_t(((1ull << 32) * ((1ull
<< sh) - d)) / d + 1); } uint32_t div(uint32_t n) const { uint32_t t = uint32_t((uint64_t(m) * n) >> 32); return (t
+ n) >> sh; } };
void red(int* v, int n) { for (int o = n / 2; o > 0; o /= 2) for (int i = 0; i < o; ++i) v[i] += v[i + o]; }
template <int N> void scan(int (&v)[N]) { for (int i = 1; i < N; ++i) v[i] += v[i - 1]; } int bs(int const* a, int
n, int k) { int lo = 0, hi = n; while (lo < hi) { int mid = (lo + hi) / 2; if (a[mid] < k) lo = mid + 1; else hi =
mid; } return lo; }
struct Mat { int d[2][2]; int* operator[](int i) { return d[i]; } int const* operator[](int i) const { return d[i];
} Mat mul(Mat const& o) const { Mat r{}; for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) for (int k = 0; k <
2; ++k) r[i][j] += d[i][k] * o[k][j]; return r; } };
struct Stk { int v[8]; int n = 0; void push(int x) { v[n++] = x; } int pop() { return v[--n]; } int& top() { return
v[n - 1]; } bool empty() const { return n == 0; } }; template <class It> int sumit(It b, It e) { int r = 0; for (; b
!= e; ++b) r += *b; return r; } struct Node { int v; Node* next; };
struct Acc { float v[4]; int k[3]; }; struct Frag { uint32_t r[4]; }; struct Cfg2 { int a = 2; int b = a * 3; int
c[2] = {a, b}; }; struct Opt2 { int x; Opt2(int q = 3) : x(q) { x += 1; } };
void ldm(uint32_t* d, int v) { d[0] = v; d[1] = v * 2; } void both(int* a, int const* b, int n) { for (int i = 0; i
< n; ++i) a[i] = b[n - 1 - i]; } void inc(int& v, int by = 1) { v += by; } int rd(int const& v) { return v; }
template <class T> void tinc(T&& v) { v += 5; }
void asmw(uint32_t& d) { asm volatile("" : "=r"(d)); } void asmp(uint32_t* d) { asm volatile("" : "=r"(d[0]),
"=r"(d[1])); } extern void ext2(int*); extern void extc(int const*); int* keepp; void keepit(int* p) { keepp = p; }
void usekept() { *keepp = 77; }
template <class... T> int suma(T&... t) { ((t += 1), ...); return (t + ...); } void vp(void* p) {
static_cast<int*>(p)[1] = 5; } void pp(int** q) { **q = 6; *q += 1; } int const* cfind(int const* b, int const* e,
int k) { for (; b != e; ++b) if (*b == k) return b; return e; }
struct Base0 { int d[3] = {1, 2, 3}; int* p() { return d; } }; struct Der0 : Base0 { void set(int i, int v) { d[i] =
v; } int get(int i) { return p()[i]; } }; struct Ref0 { int& r; int (&a)[3]; void go() { r = 5; a[1] = 6; } };
""",
    "int tid = threadIdx.x;",
)
TOLD = {
    ("constexpr int b = best(20000); using P = Pick<b>;", "b + size(P::L{}) * 10 + P::t.area()"): 90113,
    ("", "sizeof(Variant<int, char, double>::at<2>) + Variant<int>::n * 10"): 18,
    (
        "PState<3> a; auto b = a++; ++a; auto c = a.advance(5);",
        "a.index + b.index * 10 + c.index * 100 + c.phase * 1000 + c.count * 10000 + (a == b) * 100000",
    ): 71102,
    ("Sched q{2, 3}; int r = 0; for_each_tile(q, [&](int m, int k) { r = (r * 7 + m * 3 + k) % 9973; });", "r"): 7761,
    ("Sched q{5, 3}; auto w = q.swz(7, 2);", "w.m * 10 + w.n"): 30,
    ("Sched q{2, 3}; q.next(); auto [m, k, v] = q.next();", "m + k * 10 + v * 100 + q.cur * 1000"): 2101,
    ("Rng g{12345}; g.next();", "g.next() >> 8"): 6629897,
    ("int v[8] = {1, 2, 3, 4, 5, 6, 7, 8}; red(v, 8);", "v[0] + v[1] * 100"): 2036,
    ("int v[5] = {1, 2, 3, 4, 5}; scan(v);", "v[4] * 100 + v[2]"): 1506,
    ("int v[5] = {1, 3, 5, 7, 9};", "bs(v, 5, 6) * 10 + bs(v, 5, 1)"): 30,
    ("int v[3] = {4, 5, 6};", "sumit(v, v + 3) + sumit(&v[1], v + 2) * 100"): 515,
    (
        "Node ns[3] = {{1, nullptr}, {2, nullptr}, {3, nullptr}}; for (int i = 0; i < 2; ++i) ns[i].next = &ns[i + 1];",
        "ns[0].next->next->v",
    ): 3,
    (
        "int h[4] = {}; int data[] = {1, 3, 1, 0, 3, 3}; for (int d : data) h[d]++;",
        "h[0] * 1000 + h[1] * 100 + h[2] * 10 + h[3]",
    ): 1203,
    (
        "int perm[4] = {2, 0, 3, 1}; int inv[4]; for (int i = 0; i < 4; ++i) inv[perm[i]] = i;",
        "inv[0] * 1000 + inv[1] * 100 + inv[2] * 10 + inv[3]",
    ): 1302,
    ("int a[2][3] = {}; for (auto& row : a) for (auto& e : row) e = &row - a;", "a[1][2] * 10 + a[0][0]"): 10,
    (
        "int a[4] = {1, 2, 3, 4}; int* lo = a; int* hi = a + 3; while (lo < hi) { int q = *lo; *lo++ = "
        "*hi; *hi-- = q; }",
        "a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3]",
    ): 4321,
    ("int a[3] = {1, 2, 3}; int* p[2] = {a, a + 1}; for (auto q : p) *q += 10;", "a[0] * 100 + a[1]"): 1112,
    (
        "int a[3] = {1, 2, 3}; struct V { int* p; int n; } v{a, 3}; for (int i = 0; i < v.n; ++i) "
        "v.p[i] *= 2; V w = v; w.p++;",
        "*w.p * 100 + *v.p + a[2] * 1000",
    ): 6402,
    (
        "int a[3] = {1, 2, 3}; auto get = [&](int i) -> int& { return a[i]; }; get(1) = 7; get(2) += get(0);",
        "a[1] * 10 + a[2]",
    ): 74,
    ("int a[3] = {1, 2, 3}; const int (&r)[3] = a; a[0] = 5;", "r[0] + sizeof(r)"): 17,
    (
        "int a[6]; int k = 0; for (int i = 0; i < 2; ++i) for (int j = 0; j < 3; ++j) a[k++] = i * 3 + j;",
        "a[5] * 10 + a[2] + k * 100",
    ): 652,
    (
        "int a[4] = {4, 3, 2, 1}; for (int i = 1; i < 4; ++i) { int key = a[i], j = i - 1; while (j >= "
        "0 && a[j] > key) { a[j + 1] = a[j]; --j; } a[j + 1] = key; }",
        "a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3]",
    ): 1234,
    ("int a[3] = {1, 2, 3}; if (n > 100) a[0] = 5;", "a[2]"): 3,
    ("int a[3] = {1, 2, 3}, b[3]; both(b, a, 3);", "b[0] * 100 + b[1] * 10 + b[2]"): 321,
    ("int a[3] = {1, 2, 3}; inc(a[1]); inc(a[2], 7); tinc(a[0]);", "a[0] * 1000 + a[1] * 100 + a[2] + rd(a[1])"): 6313,
    ("int a[3] = {1, 2, 3}; int r = suma(a[0], a[1], x);", "r * 1000 + a[0] * 100 + a[1] * 10 + x"): 6231,
    ("int a[3] = {1, 2, 3}; vp(a);", "a[1]"): 5,
    ("int a[3] = {1, 2, 3}; int* q = a; pp(&q);", "a[0] * 10 + *q"): 62,
    ("int a[4] = {5, 6, 7, 8};", "(cfind(a, a + 4, 7) - a) + (cfind(a, a + 4, 9) == a + 4) * 10"): 12,
    ("Der0 d; d.set(1, 9); d.p()[2] = 8;", "d.get(1) * 10 + d.get(2)"): 98,
    ("Der0 d; Base0& b = d; b.d[0] = 7; Der0 e = d; e.set(0, 1);", "d.get(0) * 10 + e.get(0)"): 71,
    ("int k = 0; int a[3] = {1, 2, 3}; Ref0 r{k, a}; r.go();", "k * 10 + a[1]"): 56,
    ("Cfg2 c; c.c[0] = 9; Cfg2 d;", "c.c[0] * 100 + c.c[1] * 10 + d.c[0]"): 962,
    ("int a[2][2] = {{1, 2}, {3, 4}}; int* f = &a[0][0]; auto g = a[1]; g[0] = 9;", "a[1][0] * 10 + f[1]"): 92,
    ("int a[3] = {1, 2, 3}; int* p = a; auto l = [p]() { p[1] = 8; }; l();", "a[1]"): 8,
    ("int a[3] = {1, 2, 3}; auto l = [a]() mutable { a[1] = 8; return a[1]; };", "l() * 10 + a[1]"): 82,
    ("int a[3] = {1, 2, 3}; auto l = [&a]() { a[1] = 8; }; l();", "a[1]"): 8,
    ("int a[3] = {1, 2, 3}; for (int i : {0, 2}) a[i] *= 10;", "a[0] + a[1] + a[2]"): 42,
    ("int a[3] = {1, 2, 3}; switch (a[1]) { case 2: a[0] = 9; break; default: a[0] = 8; }", "a[0]"): 9,
    ("int a[3] = {1, 2, 3}; int b = a[a[0]] + a[a[1] - 2];", "b"): 3,
    ("int a[3] = {1, 2, 3}; a[0] = a[1] = a[2];", "a[0] * 10 + a[1]"): 33,
    ("int a[3] = {1, 2, 3}; int t = a[0]; a[0] = a[2]; a[2] = t;", "a[0] * 10 + a[2]"): 31,
    ("int a[3] = {1, 2, 3}; (n > 2 ? a[0] : a[1]) = 9;", "a[2]"): 3,
    ("int a[3] = {1, 2, 3}; { int& r = a[1]; { int a[1] = {7}; r += a[0]; } }", "a[1]"): 9,
    ("int a[3] = {1, 2, 3}; int n2 = 0; for (int* p = a; p < a + 3; p += 2) n2 += *p;", "n2"): 4,
    ("int a[5] = {1, 2, 3, 4, 5}; int* e = a + 5; int z = 0; while (e-- != a) z = z * 10 + *e;", "z"): 54321,
    ("char t[4] = {'a', 'b', 'c', 0}; int l = 0; for (char* c = t; *c; ++c) ++l;", "l"): 3,
    ("int64_t a[2] = {1ll << 40, 2}; int64_t* p = a;", "(*p >> 38) + p[1] * 10 + sizeof(*p) * 100"): 824,
    (
        "int k = 0; struct Rk { int& r; int a[2]; int& q; } v{k, 1, 2, x}; v.r = 5; v.q = 4;",
        "k * 10 + x + v.a[1] * 100",
    ): 254,
    ("int k = 0; struct Ri { int b; struct { int c, d; } in; int& q; } v{1, 2, 3, k}; v.q = 4;", "k * 10 + v.in.d"): 43,
}


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_a_program_that_writes_arrays(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]
