"""Loops whose condition declares a variable: it is made anew in each iteration; the numbers are what g++ says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.model.ints import as_expr
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.shown import kernel, number

FUNCTIONS = """
#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct Box { T v; };
constexpr int down() { int sum = 0, i = 4; while (int k = --i) sum += k; return sum; }
constexpr int twice() { int sum = 0; for (int i = 3; int k = i * 2; --i) sum += k; return sum; }
constexpr int some() {
  int sum = 0;
  for (int i = 5; auto const k = i; --i) { if (k % 2) continue; sum += k; }
  return sum;
}
constexpr int boxed() {
  int sum = 0;
  for (int i = 3; unsigned int k = Box<int>{i}.v; i -= 1) sum = 10 * sum + k;
  return sum;
}
constexpr int hidden() { int k = 7; for (int i = 2; int k = i; --i) { } return k; }
constexpr int left() { int n = 0; for (int i = 9; int k = i; --i) { if (k == 4) break; ++n; } return n; }
constexpr int assigned() { int k = 0, n = 0; for (int i = 3; k = i; --i) n += k; return n * 10 + k; }
"""


@pytest.mark.parametrize(
    ("shown", "value"),
    [("down", 6), ("twice", 12), ("some", 6), ("boxed", 321), ("hidden", 7), ("left", 5), ("assigned", 60)],
)
def test_a_loop_that_ends_where_what_it_declares_is_zero(tmp_path: Path, shown: str, value: int) -> None:
    assert number(tmp_path, kernel(FUNCTIONS), f"constexpr int z = {shown}();", "z") == value


WALKED = """
#include <cute/tensor.hpp>
using namespace cute;
struct Tiles {{ int at, end; __device__ int current() const {{ return at < end ? at * 8 + 8 : 0; }} }};
__global__ void k(int n) {{
  __shared__ half_t s[65536];
  {} {{ auto t = make_tensor(make_smem_ptr(s + tile), Layout<_8>{{}}); copy(t, t); }}
}}
void host(int n) {{ k<<<1, 32>>>(n); }}
"""


@pytest.mark.parametrize(
    "loop",
    [
        "for (Tiles t{0, n}; int tile = t.current(); t.at += 1)",
        "for (Tiles t{0, n}; auto tile = t.current(); ++t.at)",
        "Tiles t{0, n}; while (int tile = t.at++ * 8)",
    ],
)
def test_the_variable_is_no_constant_in_a_walked_loop(tmp_path: Path, loop: str) -> None:
    (tmp_path / "k.cu").write_text(WALKED.format(loop))
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    (event,) = facts.events
    assert as_expr(event.operands[0].offset).constant is None  # type: ignore[arg-type]
    assert not facts.errors
