"""Loops from the thread's index on whose passes are farther apart than the block's threads store (CUT701)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
template <int Threads>
__global__ void scale(float const* x, float* y, int columns) {
  __shared__ float s[1024];
  Tensor row = make_tensor(make_gmem_ptr(x + blockIdx.x * columns), make_shape(columns));
  Tensor out = make_tensor(make_gmem_ptr(y + blockIdx.x * columns), make_shape(columns));
  BODY
}
void run(float const* x, float* y, int n) { scale<256><<<n, BLOCK>>>(x, y, 4096); }
"""
CASES = [
    ("for (int i = threadIdx.x; i < columns; i += Threads) out(i) = row(i);", 256, ""),
    ("for (int i = threadIdx.x; i < columns; i += Threads) out(i) = row(i);", 128, "elements 128 .. 255 of each 256"),
    ("for (int i = threadIdx.x; i < columns; i += blockDim.x) out(i) = row(i);", 128, ""),
    (
        "for (int i = threadIdx.x; i < columns; i += 2 * Threads) out(i) = row(i);",
        256,
        "elements 256 .. 511 of each 512",
    ),
    (
        "for (int i = threadIdx.x; i < columns; i += 2 * Threads) "
        "{ out(i) = row(i); out(i + Threads) = row(i + Threads); }",
        256,
        "",
    ),
    (
        "for (int i = 4 * threadIdx.x; i < columns; i += 4 * Threads) for (int j = 0; j < 4; ++j) out(i + j) = 1;",
        256,
        "",
    ),
    ("for (int i = 2 * threadIdx.x; i < columns; i += 512) *(float2*)(&out(i)) = make_float2(0, 1);", 256, ""),
    ("if (threadIdx.x < 64) for (int i = threadIdx.x; i < columns; i += 64) out(i) = row(i);", 256, ""),
    (
        "if (threadIdx.x < 32) for (int i = threadIdx.x; i < columns; i += 64) out(i) = row(i);",
        256,
        "elements 32 .. 63 of",
    ),
    (
        "for (int i = threadIdx.x; i < 1024; i += Threads) s[i] = 0; out(0) = s[columns];",
        64,
        "elements 64 .. 255 of each",
    ),
]


@pytest.mark.parametrize(("body", "threads", "said"), CASES)
def test_passes_farther_apart(tmp_path: Path, body: str, threads: int, said: str) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("BODY", body).replace("BLOCK", str(threads)))
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT701",)))
    assert not report.failures
    found = [f.message for f in report.findings]
    assert len(found) == bool(said)
    assert all(said in message for message in found)
