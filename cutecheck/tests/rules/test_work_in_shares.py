"""Kernels whose blocks take shares of all iterations (stream-K): one block is run that has a share."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
struct Shares {
  int tiles, iters, first, blocks;
  static Shares make(int tiles, int iters, int slots) {
    Shares s;
    s.iters = iters;
    int const waves = tiles / slots;
    s.first = waves > 1 ? (waves - 1) * slots : 0;
    s.tiles = tiles - s.first;
    s.blocks = slots < s.tiles * iters ? slots : s.tiles * iters;
    return s;
  }
  __host__ __device__ int begin(int block) const { return block * (tiles * iters) / blocks; }
};
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Read = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_32, _4>, Stride<_1, _32>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) k(half_t const* p, half_t* out, Shares d, int n) {
  __shared__ alignas(16) half_t raw[3 * 32 * 64];
  Tensor g = local_tile(make_tensor(make_gmem_ptr(p), make_shape(_32{}, n), make_stride(n, _1{})),
                        Shape<_32, _64>{}, make_coord(0, _));
  Tensor s = make_tensor(make_smem_ptr(raw), Layout<Shape<_32, _64, _3>, Stride<_64, _1, _2048>>{});
  Load load;
  Read read;
  auto tg = load.get_slice(threadIdx.x).partition_S(g);
  auto ts = load.get_slice(threadIdx.x).partition_D(s);
  auto tr = read.get_slice(threadIdx.x).partition_S(s);
  Tensor r = make_fragment_like(tr(_, _, _, 0));
  int at = d.begin(blockIdx.x), end = d.begin(blockIdx.x + 1);
  while (at < end) {
    int const here = at % d.iters, stop = here + (end - at) < d.iters ? here + (end - at) : d.iters;
    for (int i = 0; i < 2; ++i) { copy(load, tg(_, _, _, here + i), ts(_, _, _, i)); cp_async_fence(); }
    for (int i = 0; i < stop - here; ++i) {
      cp_async_wait<1>();
      BARRIER
      copy(load, tg(_, _, _, here + i + 2), ts(_, _, _, FILL));
      cp_async_fence();
      copy(read, tr(_, _, _, i % 3), r);
      copy(r, make_tensor(make_gmem_ptr(out + 2048 * (here + i) + 16 * threadIdx.x), r.layout()));
    }
    cp_async_wait<0>();
    __syncthreads();
    at += stop - here;
  }
}
void run(half_t const* p, half_t* out, int tiles, int n, int slots) {
  auto d = Shares::make(tiles, (n + 63) / 64, slots);
  k<<<d.blocks, 128>>>(p, out, d, n);
}
"""


@pytest.mark.parametrize(
    ("barrier", "fill", "codes"),
    [
        ("__syncthreads();", "(i + 2) % 3", set()),
        ("", "(i + 2) % 3", {"CUT212"}),
        ("__syncthreads();", "(i + 4) % 3", {"CUT213"}),
    ],
)
def test_shares(tmp_path: Path, barrier: str, fill: str, codes: set[str]) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("BARRIER", barrier).replace("FILL", fill))
    settings = Settings(select=("CUT212", "CUT213"), arch=("sm_80",), jobs=1, cache=False)
    assert {f.code for f in check(inputs([str(tmp_path)]), settings).findings} == codes
