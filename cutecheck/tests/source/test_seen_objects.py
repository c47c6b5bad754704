"""Objects in arrays and behind pointers: each has values of its own, and what is written to one others may see.

Such a member is not followed, so no number is said of it, above all not the one that it had before.
"""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import number

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
struct Counter { int at = 0; int more = 1; __device__ void advance(int by) { at += by; } };
struct Two { Counter c[2]; int n; };
struct Smart { Counter* to; __device__ Counter* operator->() { return to; } };
struct Nest { Smart s; int* q; };
__device__ void fill(Counter* p, int k, int v) { for (int i = 0; i < k; ++i) p[i].at = v; }
__device__ int first(Counter* p) { return p[0].at; }
template <class T> __device__ void seen(T const& t) { copy(t, t); }
__global__ void k(Counter* p, Counter* q, int n) {
  __shared__ half_t s[65536];
  int x = 0, y = 8;
  Counter c;
  Counter a[2];
  BODY
  seen(make_tensor(make_smem_ptr(s + (SHOWN)), Layout<_8>{}));
}
void host(Counter* p, Counter* q, int n) { k<<<1, 32>>>(p, q, n); }
"""


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("a[0].at = 5; x = a[0].at; a[0].at = 7; y = a[0].at - x;", "y"),
        ("a[0].at = 5; a[1].at = 9; y = a[1].at - a[0].at;", "y"),
        ("a[0].at = 5; x = a[0].at; a[1].advance(1); y = a[1].at - x;", "y"),
        ("a[0].at = 5; x = a[0].at; fill(a, 2, 9); y = a[0].at - x;", "y"),
        ("a[0].at = 5; x = first(a); a[0].at = 6; y = first(a) - x;", "y"),
        ("for (int i = 0; i < 2; ++i) { a[i].at = i * 4; } y = a[1].at - a[0].at;", "y"),
        ("a[0].at = 3; a[1].at = 4; Counter* r = a; y = r[1].at - r[0].at;", "y"),
        ("struct H { Counter c[2]; } h; h.c[1].at = 5; h.c[n & 1].at = 7;", "h.c[1].at"),
        ("struct H { Counter c[2]; } h; h.c[0].at = 5; h.c[1].at = 7;", "h.c[0].at"),
        ("struct H { Counter c[2]; } h; h.c[1].at = 5; H g = h; g.c[1].at = 7;", "h.c[1].at"),
        ("struct H { Counter c[2]; } h, g; h.c[1].at = 5; g.c[1].at = 7; y = g.c[1].at - h.c[1].at;", "y"),
        ("Two g[2]; g[0].n = 3; g[1].n = 8; y = g[1].n - g[0].n;", "y"),
        ("Two g[2]; g[0].c[1].at = 3; g[1].c[1].at = 8; y = g[1].c[1].at - g[0].c[1].at;", "y"),
        ("Nest t[2]; t[0].s.to = &c; t[0].s->at = 5;", "c.at"),
        ("p->at = 3; q->at = 4;", "p->at"),
        ("p->at = 3; x = p->at; q->at = 4; y = p->at - x;", "y"),
        ("p[0].at = 3; p[1].at = 4; y = p[1].at - p[0].at;", "y"),
        ("Counter& r = *p; r.at = 3; p->at = 4; y = r.at;", "y"),
    ],
)
def test_what_may_be_another_object_s_is_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("x = p->at; y = p->at - x;", "y", 0),
        ("x = p[1].at; y = p[1].at - x;", "y", 0),
        ("c.at = 5; p->at = 3;", "c.at", 5),
        ("x = p->more; c.at = 5; y = p->more - x;", "y", 0),
    ],
)
def test_what_is_only_read_keeps_its_value(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value
