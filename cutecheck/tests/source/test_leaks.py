"""Addresses that go where they are not followed: what is written through them is not missed.

Compiled and run, each of these programs shows another value than the one that was there before the last write.
"""

from pathlib import Path

import pytest

from cutecheck.facts import Span
from cutecheck.source.eval import losses
from cutecheck.source.eval.machine import Machine
from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
#include <functional>
#include <utility>
#include <vector>
using namespace cute;
struct Counter { int at = 0; int more = 1; __device__ void advance(int by) { at += by; } };
struct Smart { Counter* to; __device__ Counter* operator->() { return to; } };
struct Box { int* p; };
struct Alias { int& r; };
struct Aim { int*& r; __device__ void set(int* p) { r = p; } };
struct Many {
  int* p[2];
  __device__ void put(int i, int* q) { p[i] = q; }
  __device__ void set(int i, int v) { *p[i] = v; }
};
struct Held { int c[2] = {1, 2}; };
union Either { int* p; long l; };
__device__ void put(int* p, int v) { *p = v; }
__device__ void put2(int** p, int v) { **p = v; }
__device__ void aim(int** p, int* to) { *p = to; }
__device__ int* same(int* p) { return p; }
__device__ int& refers(int* p) { return *p; }
template <class T, class U> __device__ void become(T&& t, U u) { t = u; }
static int outside = 4;
static int* global;
static Smart smart;
__device__ void store(int* p) { global = p; }
__device__ void write(int v) { *global = v; }
__device__ void later() { goto out; out: if (global) *global = 6; }
__device__ void by_value(Box b) { goto out; out: *b.p = 5; }
__device__ void by_array(int** q) { goto out; out: *q[0] = 5; }
__device__ int through(int v) { int* p; int own = v; p = v > 2 ? &own : global; return *p; }
__device__ int* keep(int* p) { goto out; out: global = p; return p; }
""",
    "Counter c;",
)


LOST = [
    ("Counter a; Counter* q[2]; { Counter& r = a; q[0] = &r; } q[0]->at = 5;", "a.at"),
    ("Counter a; Counter* q[2]; { auto&& r = a; q[0] = &r; } q[0]->at = 5;", "a.at"),
    ("Counter a; Counter* q[2]; [&](Counter& r) { q[0] = &r; }(a); q[0]->at = 5;", "a.at"),
    ("Counter a; Counter* q[2]; for (int i = 0; i < n; ++i) { Counter& r = a; q[0] = &r; } q[0]->at = 5;", "a.at"),
    ("Counter* q[2]; { static Counter b; q[0] = &b; q[0]->at = 5; x = b.at; }", "x"),
    ("int* q[2]; q[0] = &x; *q[0] = 5;", "x"),
    ("int* q[2]; q[0] = &x; q[0][0] = 5;", "x"),
    ("int* q[2]; q[0] = &x; (*q[0])++;", "x"),
    ("int* q[2]; q[0] = &x; put(q[0], 5);", "x"),
    ("int* q[2]; q[0] = &x; int* p = q[0]; *p = 5;", "x"),
    ("int* q[2]; q[0] = &x; int& r = *q[0]; r = 5;", "x"),
    ("int* q[2]; q[0] = &x; std::swap(*q[0], y);", "x"),
    ("int* q[2]; q[0] = &x; for (int i = 0; i < n; ++i) { *q[0] = 4; }", "x"),
    ("int* q[2]; for (int i = 0; i < n; ++i) { if (i) *q[0] = 5; q[0] = &x; }", "x"),
    ("int* q[2]; for (auto& e : q) { e = &x; } *q[0] = 5;", "x"),
    ("int* q[2]; q[0] = &x; int* w[2]; std::memcpy(w, q, sizeof(q)); *w[0] = 5;", "x"),
    ("int* q[2]; int* p = &x; std::memcpy(q, &p, sizeof(p)); *q[0] = 5;", "x"),
    ("int* q[2][2]; q[0][1] = &x; *q[0][1] = 5;", "x"),
    ("int* q[2]; int*& r = q[1]; r = &x; *q[1] = 5;", "x"),
    ("int* q[2]; int** r = q; *r = &x; **q = 5;", "x"),
    ("int* q[2]; aim(q + 1, &x); put2(q + 1, 5);", "x"),
    ("int* q[2]; become(q[0], &x); *q[0] = 5;", "x"),
    ("int* q[2]; Aim a{q[1]}; a.set(&x); *q[1] = 5;", "x"),
    ("int* q[2] = {&x, &y}; refers(q[n & 1]) = 5;", "x"),
    ("int* q[2] = {&x, &y}; by_array(q);", "x"),
    ("int* p; aim(&p, &x); *p = 5;", "x"),
    ("int* p = &x; by_array(&p);", "x"),
    ("by_value(Box{&x});", "x"),
    ("Box b{&x}; by_value(b);", "x"),
    ("keep(&x); x = 1; later();", "x"),
    ("int* q[2] = {&x, &y}; int* p = q[n & 1]; keep(p);", "x"),
    ("auto l = [&] { x = 5; }; std::function<void()> f[2] = {l, l}; f[n & 1]();", "x"),
    ("Smart s[2]; s[0].to = &c; s[0].to->at = 5;", "c.at"),
    ("Smart t{&c}; Smart s[2]; s[1] = t; s[1]->advance(5);", "c.at"),
    ("Box b[2]; Box* g = b; g->p = &x; *b[0].p = 5;", "x"),
    ("Many a; a.put(1, &x); a.set(1, 5);", "x"),
    ("Many a, b; a.put(1, &x); b = a; *b.p[1] = 5;", "x"),
    ("Either u; u.p = &x; *u.p = 5;", "x"),
    ("Either u{&x}; *u.p = 5;", "x"),
    ("Alias r[2] = {{x}, {y}}; r[0].r = 5;", "x"),
    ("std::reference_wrapper<int> r = x; r.get() = 5;", "x"),
    ("auto r = std::ref(x); r.get() = 5;", "x"),
    ("*std::addressof(x) = 5;", "x"),
    ("auto t = std::tie(x, y); std::get<0>(t) = 5;", "x"),
    ("std::tuple<int&> t(x); std::get<0>(t) = 5;", "x"),
    ("std::vector<int*> q; q.push_back(&x); *q[0] = 5;", "x"),
    ("long v = reinterpret_cast<long>(&x); *reinterpret_cast<int*>(v) = 5;", "x"),
    ("std::function<void()> f[2]; f[0] = [&] { x = 5; }; f[0]();", "x"),
    ("std::function<void()> f = [&] { x = 5; }; if (n > 2) f = [&] { y = 5; }; f();", "x"),
    ("global = &x; *global = 5;", "x"),
    ("store(&x); write(5);", "x"),
    ("smart.to = &c; smart->at = 5;", "c.at"),
    ("x = outside; int* p = &outside; *p = x + 5; y = outside - x;", "y"),
    ("int a[2] = {1, 2}; int* p = n > 2 ? a : &x; p[0] = 5;", "a[0]"),
    ("int a[2] = {1, 2}; std::pair<int*, int> t{a, 1}; t.first[0] = 5;", "a[0]"),
    ("global = &x; memset(global, 1, 4);", "x"),
    ("std::memset(&c, 0, sizeof(c));", "c.more"),
    ("Counter a; std::memcpy(&c, &a, sizeof(c));", "c.more"),
    ("Counter* q[2] = {&c, &c}; int v = 4; cudaMemcpy(q[1], &v, 4, cudaMemcpyDeviceToHost);", "c.at"),
    ("Counter a, b; Counter* q = n > 2 ? &a : &b; memset(q, 1, 8);", "a.more"),
    ("std::array<int, 2> a = {1, 2}; a.at(0) = 7;", "a[0]"),
    ("auto t = make_tuple(1, 2); int* p = &get<0>(t); t = make_tuple(3, 4); *p = 5;", "get<0>(t)"),
]


@pytest.mark.parametrize(("body", "shown"), LOST)
def test_what_may_be_written_out_of_sight_is_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("int* q[2]; q[0] = &x; *q[0] = 5; y += 1;", "y", 9),
        ("int* q[2] = {&x, &y}; *q[0] = 5;", "x + y", 13),
        ("int* q[2]; q[0] = &y; *q[0] = 5; x = 3;", "x", 3),
        ("int a[2] = {1, 2}; int* p = a;", "a[1]", 2),
        ("int a[2] = {1, 2}; for (int e : a) { x += e; }", "x", 3),
        ("int const a[2] = {1, 2}; int const* p = a;", "p[1]", 2),
        ("int a[2] = {1, 2}; auto f = [=] { return a[1]; };", "f()", 2),
        ("int a[2] = {1, 2}; Held h{{3, 4}}; Held g = h;", "g.c[1] * 8 + a[0]", 33),
        ("Smart s[2]; s[0].to = &c; int* p = &x; *p = 5;", "x", 5),
        ("Counter a; memset(&a, 0, sizeof(a));", "c.more", 1),
    ],
)
def test_what_is_not_pointed_at_from_there_keeps_its_value(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


ENDED = [
    "{ Counter own; Counter* q[2]; q[0] = &own; store(&own.at); write(1); }",
    "for (int own = 0; own < n; ++own) { store(&own); write(1); }",
    "for (int i = 0; i < n; ++i) { int* p; int own; p = &own; if (i > n) { p = &i; } store(p); write(1); }",
    "if (int own = n; own > 2) { store(&own); write(1); }",
    "for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) for (int l = 0; l < n; ++l) "
    "{ x += through(l); unknown(l); write(1); }",
]


@pytest.mark.parametrize("scope", ENDED)
def test_variables_that_have_ended_are_not_lost_any_more(
    scope: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 0

    def counted(m: Machine, span: Span) -> None:
        nonlocal most
        lost(m, span)
        most = max(most, len(m.leaked))

    lost = losses.lost_leaked
    monkeypatch.setattr(losses, "lost_leaked", counted)
    assert number(tmp_path, KERNEL, f"store(&y); {scope * 12}", "y") is None
    assert 0 < most < 10
