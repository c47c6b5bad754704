"""Loops that are walked item by item: what a ``break``, ``continue`` or ``return`` that may be met leaves.

Each of these numbers depends on ``n``, as g++ 12 prints for some ``n``; the last ones do not.
"""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
using namespace cute;
__device__ constexpr int leaves(int k) {
  int r = 0;
  for (int i = 0; i < 4; ++i) { if (k == i) { r = i + 5; break; } r = 9; }
  return r;
}
__device__ constexpr int skips(int k) { int r = 0; for (int i = 0; i < 4; ++i) { if (k == i) continue; r = i; }
  return r; }
__device__ constexpr int counts(int k) { int r = 0; for (int i = 0; i < 4; ++i) { if (i == k) continue; r += 2; }
  return r; }
""")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("for (int e : {1, 2, 3}) { if (n == e) { x = e; break; } }", "x"),
        ("for (int e : {1, 2, 3}) { if (n == e) { x = e; continue; } x = 7; }", "x"),
        ("for (int e : {1, 2, 3}) { if (n == e) break; x = e; }", "x"),
        ("for (int e : {1, 2, 3}) { if (n == e) continue; x = e; }", "x"),
        ("for (int e : {1, 2}) { for (int g : {3, 4}) { if (n == g) break; x = g; } }", "x"),
        ("for (int e : {1, 2}) { switch (n) { case 3: continue; default: x = 9; } y = e; }", "y"),
        ("constexpr int t[2] = {3, 8}; for (int v : t) if (n == v) { x = v; break; }", "x"),
        ("for (int e : {1, 2, 3}) { if (n == 3) { x = e; continue; } else { x = 9; break; } }", "x"),
        (
            "auto f = [&] { for (int e : {1, 2}) { if (n == 3) { x = e; break; } x = 9; return e; } return 8; }; f();",
            "x",
        ),
        ("auto f = [&] { switch (y) { case 8: if (n == 3) break; x = 6; return 1; } return 2; }; f();", "x"),
        ("for (int i = 0; i < 1; ++i) { switch (y) { case 8: if (n == 3) break; x = 4; continue; } x = 5; }", "x"),
        ("", "leaves(n)"),
        ("", "skips(n)"),
    ],
)
def test_what_may_be_left_early_is_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("for (int e : {1, 2, 3}) { if (e == 2) continue; if (e == 3) break; x += e; }", "x", 1),
        ("for (int e : {1, 2, 3}) { switch (e) { case 2: continue; default: break; } x = e; }", "x", 3),
        ("for (int e : {1, 2, 3}) { if (n == e) x = e; else continue; x = 0; }", "x", 0),
        ("", "leaves(2)", 7),
        ("", "skips(3)", 2),
        ("", "counts(1)", 6),
    ],
)
def test_what_is_surely_left_early_is_known(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


def test_a_label_that_is_not_known_may_be_the_one(tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, "switch (y) { case 1 ... 9: x = 3; break; default: x = 4; }", "x") is None
