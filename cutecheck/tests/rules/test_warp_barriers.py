"""``__syncwarp()`` where threads of other warps have written what is read, and where it is enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Tile = Layout<Shape<_64, _64>, Stride<_64, _1>>;
using Atom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using Smem = decltype(tile_to_shape(Atom{}, Shape<_64, _64>{}));
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Other = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_64, _2>, Stride<_2, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) through(half_t const* in, half_t* out, int m, int tiles) {
  __shared__ alignas(128) half_t smem[64 * 64];
  Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
  Tensor s = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
  int rows = m - 64 * blockIdx.x;
  auto w = Rows{}.get_slice(threadIdx.x);
  auto r = READ{}.get_slice(threadIdx.x);
  Tensor to = r.partition_D(o), from = r.partition_S(s), at = r.partition_D(make_identity_tensor(Shape<_64, _64>{}));
  FIRST
  copy(Rows{}, w.partition_S(g), w.partition_D(s));
  BARRIER;
  for (int i = 0; i < size<1>(to); ++i) {
    if (CONDITION) copy(READ{}, from(_, i, _), to(_, i, _));
  }
  LAST
}
"""
LIMIT = "get<0>(at(0, i, 0)) < rows"
LOOP = ("for (int t = 0; t < tiles; ++t) {", "__syncwarp(); }")
CASES = {
    "of_the_block": (("Other", "__syncthreads()", LIMIT, "", ""), False),
    "of_warps": (("Other", "__syncwarp()", LIMIT, "", ""), True),
    "of_warps_without_a_condition": (("Other", "__syncwarp()", "true", "", ""), True),
    "of_warps_in_a_loop": (("Other", "__syncthreads()", "true", *LOOP), True),
    "of_warps_that_read_their_own": (("Rows", "__syncwarp()", LIMIT, "", ""), False),
    "of_warps_that_read_their_own_in_a_loop": (("Rows", "__syncwarp()", LIMIT, *LOOP), False),
    "of_one_warp": (("Other", "__syncwarp()", "threadIdx.x < 32", "", ""), False),
}


@pytest.mark.parametrize("name", CASES)
def test_barrier(name: str, tmp_path: Path) -> None:
    names = ("READ", "BARRIER", "CONDITION", "FIRST", "LAST")
    text = KERNEL
    for mark, value in zip(names, CASES[name][0], strict=True):
        text = text.replace(mark, value)
    (tmp_path / "kernel.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT212",), cache=False))
    assert not report.failures and len(report.facts.events) == 2
    assert bool(report.findings) == CASES[name][1]
    assert all("another warp" in f.message for f in report.findings)
