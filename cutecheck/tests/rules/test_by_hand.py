"""Small kernels with one number wrong: what a barrier counts, where a member starts, whose copy fills a fragment."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
using Rows = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
struct Shared {
  MEMBERS half_t a[64 * 64];
};
__global__ void __launch_bounds__(128) kernel(half_t const* A, float* out) {
  extern __shared__ __align__(128) char raw[];
  Shared& sh = *reinterpret_cast<Shared*>(raw);
  Tensor g = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(sh.a), Rows{});
  auto load = Load{}.get_slice(threadIdx.x);
  copy(Load{}, load.partition_S(g), load.partition_D(s));
  cp_async_fence();
  cp_async_wait<0>();
  SYNC;
  Copy_Atom<SM75_U32x4_LDSM_N, half_t> ldsm;
  auto read = make_tiled_copy_OPERAND(ldsm, Mma{}).get_slice(threadIdx.x);
  Tensor r = Mma{}.get_slice(threadIdx.x).partition_fragment_A(s);
  copy(ldsm, read.partition_S(s), read.retile_D(r));
  out[threadIdx.x] = r(0);
}
void run(half_t const* A, float* out) { kernel<<<1, 128, BYTES>>>(A, out); }
"""
SYNC = "cutlass::arch::NamedBarrier::sync(128, 1)"


@pytest.mark.parametrize(
    ("members", "sync", "operand", "bytes_", "expected"),
    [
        ("alignas(128)", SYNC, "A", "sizeof(Shared)", set()),
        ("half_t pad[8];", SYNC, "A", "sizeof(Shared)", set()),
        ("alignas(128)", SYNC.replace("128", "64"), "A", "sizeof(Shared)", {"CUT217"}),
        ("alignas(128)", SYNC.replace("128", "256"), "A", "sizeof(Shared)", {"CUT217"}),
        ("alignas(128)", f"if (threadIdx.x < 64) {SYNC.replace('128', '64')}; __syncthreads()", "A", "8192", set()),
        ("half_t pad[2];", SYNC, "A", "sizeof(Shared)", {"CUT402"}),
        ("alignas(128)", SYNC, "B", "sizeof(Shared)", {"CUT602"}),
        ("half_t pad[64];", SYNC, "A", "8192", {"CUT209"}),
    ],
)
def test_one_number(members: str, sync: str, operand: str, bytes_: str, expected: set[str], tmp_path: Path) -> None:
    text = KERNEL.replace("MEMBERS", members).replace("SYNC;", f"{sync};")
    (tmp_path / "kernel.cu").write_text(text.replace("OPERAND", operand).replace("BYTES", bytes_))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
    assert not made.failures and not made.errors
    assert {f.code for f in made.findings} == expected
