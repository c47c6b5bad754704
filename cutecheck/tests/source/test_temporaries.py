"""Destructors that run at the end of a statement, or with what holds an object: what they may write is not missed."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import number

KERNEL = """#include <cute/tensor.hpp>
#include <vector>
using namespace cute;
struct Late {
  int& r;
  int by;
  __device__ Late(int& x, int b = 9) : r(x), by(b) {}
  __device__ ~Late() { r = by; }
  __device__ int look() const { return by; }
};
struct Outer { Late late; int v = 2; __device__ Outer(int& x) : late(x) {} };
struct Box { int* p; __device__ ~Box() { if (p) *p = 6; } };
struct Declared { int& r; __device__ Declared(int& x) : r(x) {} __device__ ~Declared(); };
__device__ Late make(int& x) { return Late(x); }
__device__ int use(Late const& l) { return l.by; }
__device__ void take(Late l) {}
__device__ int in_it(int& x) { Late{x, 3}; return x; }
template <class T> __device__ void seen(T const& t) { copy(t, t); }
__global__ void k(int n) {
  __shared__ half_t s[65536];
  int x = 0, y = 8;
  BODY
  seen(make_tensor(make_smem_ptr(s + (SHOWN)), Layout<_8>{}));
}
void host(int n) { k<<<1, 32>>>(n); }
"""


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("Late{x};", "x"),
        ("y = Late(x).look();", "x"),
        ("int v = Late(x).look();", "x + v"),
        ("y = use(Late(x));", "x"),
        ("take(Late(x));", "x"),
        ("Late l(x); take(l);", "x"),
        ("make(x);", "x"),
        ("y = make(x).look();", "x"),
        ("Outer{x};", "x"),
        ("y = Outer(x).v;", "x"),
        ("y = in_it(x);", "y"),
        ("if (Late(x).look() > 2) { y = x; }", "y"),
        ("switch (Late(x).look()) { case 9: y = x; }", "y"),
        ("while (Late(x, 1).look() > 2) { }", "x"),
        ("for (int i = 0; i < n; ++i) { Late(x, i).look(); }", "x"),
        ("n > 2 ? Late(x).look() : 0;", "x"),
        ("{ auto&& l = Late(x); x = 3; }", "x"),
        ("{ Box l[2] = {{&x}, {&y}}; x = 3; }", "x"),
        ("{ std::vector<Box> v; v.push_back(Box{&x}); x = 2; }", "x"),
        ("{ auto f = [l = Late(x)] { return l.look(); }; x = 3; }", "x"),
        ("Declared{x};", "x"),
        ("{ Declared d(x); }", "x"),
    ],
)
def test_what_destructors_may_write_is_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("{ Late l(x); x = 3; }", "x", 9),
        ("{ Late l = make(x); x = 3; }", "x", 9),
        ("{ auto l = Late(x, 4); x = 3; }", "x", 4),
        ("{ Outer o(x); }", "x", 9),
        ("Late{x}; x = 3;", "x", 3),
        ("Late{x};", "y", 8),
        ("Late l(x); x = 3;", "x", 3),
    ],
)
def test_destructors_of_variables_run_at_the_end_of_their_block(
    tmp_path: Path, body: str, shown: str, value: int
) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value
