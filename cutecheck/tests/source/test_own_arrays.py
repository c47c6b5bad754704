"""An object's own array of numbers: what is written to it is in no other object, and in all that lies there."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
using namespace cute;
struct Counter { int at = 0; int more = 1; };
struct Base { int a[4]; };
struct Own : Base {
  int b[2][2];
  Counter* p[2];
  int last = 7;
  __device__ explicit Own(int v) { for (int i = 0; i < 4; ++i) { this->put(i, v); } }
  __device__ void put(int i, int v) { a[i] = v; }
  __device__ void put2(int i, int v) { b[i][1] = v; }
  __device__ void aim(int i, Counter* q) { p[i] = q; }
  __device__ void through(int i, int v) { p[i]->at = v; }
  __device__ int there(int i, int v) { Counter* q = reinterpret_cast<Counter*>(a); q->at = 3; a[i] = v; return q->at; }
};
__device__ void put(int (&a)[4], int i, int v) { a[i] = v; }
__device__ void put(int* a, int i, int v) { a[i] = v; }
""",
    "Counter c;",
)


@pytest.mark.parametrize(
    "body",
    [
        "Counter* q[2]; q[0] = &c; Own o(n); c.at = 3; o.put(n, 5);",
        "Counter* q[2]; q[0] = &c; Own o(n); c.at = 3; o.put2(n, 5);",
        "Counter* q[2]; q[0] = &c; c.at = 3; Own o(n);",
    ],
)
def test_others_are_as_they_were(tmp_path: Path, body: str) -> None:
    assert number(tmp_path, KERNEL, body, "c.at") == 3


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("Own o(n); x = o.there(n, 5);", "x"),
        ("Own o(n); o.aim(0, &c); c.at = 3; o.through(n, 5);", "c.at"),
        ("Counter* q[2]; q[0] = &c; c.at = 3; q[n]->at = 5;", "c.at"),
        ("Own o(n); o.put(0, 3); x = o.a[0]; o.put(n, 5); y = o.a[0] - x;", "y"),
    ],
)
def test_what_lies_there_is_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None
