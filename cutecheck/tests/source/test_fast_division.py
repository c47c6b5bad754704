"""CUTLASS's divisors give quotients and what is left of them, with its headers and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

SOURCE = """
#include <cute/tensor.hpp>
#include <cutlass/fast_math.h>
using namespace cute;
struct Params { cutlass::FastDivmod heads; cutlass::FastDivmodU64 tiles; cutlass::FastDivmodU64Pow2 lanes; };
__global__ void kernel(float* p, Params params) {
  int head, batch;
  {STEP}
  auto t = make_tensor(make_gmem_ptr(p + {AT}), Layout<_4>{});
  auto r = make_fragment_like(t);
  copy(t, r);
}
void run(float* p, int n, uint64_t b) {
  kernel<<<n, 32>>>(p, Params{cutlass::FastDivmod(n), cutlass::FastDivmodU64(b), cutlass::FastDivmodU64Pow2(b)});
}
"""
HEADER = """
#pragma once
namespace cutlass {
inline void fast_divmod(int& quo, int& rem, int src, int div, unsigned mul, unsigned shr) {
  quo = (div != 1) ? __umulhi(src, mul) >> shr : src;
  rem = src - (quo * div);
}
template <class T> T log2_of(T x) { T n = 0; while (x >>= 1) { ++n; } return n; }
struct FastDivmod {
  int divisor = 1;
  unsigned multiplier = 0u, shift_right = 0u;
  FastDivmod() = default;
  FastDivmod(int d) : divisor(d) {
    unsigned p = 31 + log2_of(d);
    if (d != 1) { multiplier = unsigned(((1ull << p) + d - 1) / d); shift_right = p - 32; }
  }
  void fast_divmod(int& quotient, int& remainder, int dividend) const {
    quotient = (divisor != 1) ? __umulhi(dividend, multiplier) >> shift_right : dividend;
    remainder = dividend - (quotient * divisor);
  }
  int div(int dividend) const { int q, r; fast_divmod(q, r, dividend); return q; }
  int rem(int dividend) const { int q, r; fast_divmod(q, r, dividend); return r; }
  int divmod(int& remainder, int dividend) const { int q; fast_divmod(q, remainder, dividend); return q; }
  void operator()(int& q, int& r, int dividend) const { fast_divmod(q, r, dividend); }
};
struct FastDivmodU64 {
  uint64_t divisor, multiplier;
  unsigned shift_right, round_up;
  FastDivmodU64(uint64_t d) : divisor(d), multiplier(log2_of(d)), shift_right(0), round_up(0) {}
  uint64_t divide(uint64_t dividend) const { return __umul64hi(dividend + round_up, multiplier) >> shift_right; }
  uint64_t modulus(uint64_t quotient, uint64_t dividend) const { return dividend - quotient * divisor; }
  uint64_t divmod(uint64_t& remainder, uint64_t dividend) const {
    uint64_t quotient = divide(dividend);
    remainder = modulus(quotient, dividend);
    return quotient;
  }
};
struct FastDivmodU64Pow2 {
  uint64_t divisor;
  unsigned shift_right;
  FastDivmodU64Pow2(uint64_t d) : divisor(d), shift_right(log2_of(d)) {}
  uint64_t divide(uint64_t dividend) const { return dividend >> shift_right; }
  uint64_t modulus(uint64_t dividend) const { return dividend & (divisor - 1); }
};
}
"""
CASES = [
    ("params.heads(batch, head, blockIdx.x);", "batch * 64 + head * 4", "4*(blockIdx.x % n) + 64*(blockIdx.x / n)"),
    ("batch = params.heads.divmod(head, blockIdx.x);", "batch * 64 + head * 4",
     "4*(blockIdx.x % n) + 64*(blockIdx.x / n)"),
    ("batch = params.heads.div(blockIdx.x);", "batch * 64", "64*(blockIdx.x / n)"),
    ("head = params.heads.rem(blockIdx.x);", "head * 64", "64*(blockIdx.x % n)"),
    ("uint64_t tile = params.tiles.divide(blockIdx.x);", "tile * 64", "64*(blockIdx.x / b)"),
    ("uint64_t tile = params.lanes.divide(blockIdx.x);", "tile * 64", "64*(blockIdx.x / b)"),
    ("uint64_t tile = params.lanes.modulus(blockIdx.x);", "tile * 64", "64*(blockIdx.x % b)"),
]  # fmt: skip


def facts(folder: Path, step: str, at: str, header: str) -> Facts:
    (folder / "kernel.cu").write_text(SOURCE.replace("{STEP}", step).replace("{AT}", at))
    include = folder / "include" / "cutlass" / "fast_math.h"
    if header:
        include.parent.mkdir(parents=True)
        include.write_text(header)
    return extract(ExtractRequest((folder / "kernel.cu",), include_dirs=(folder / "include",) if header else ()))


@pytest.mark.parametrize("header", ["", HEADER], ids=["without its headers", "with them"])
@pytest.mark.parametrize(("step", "at", "offset"), CASES)
def test_quotients(tmp_path: Path, step: str, at: str, offset: str, header: str) -> None:
    (event,) = facts(tmp_path, step, at, header).events
    assert str(event.operands[0].offset) == offset
