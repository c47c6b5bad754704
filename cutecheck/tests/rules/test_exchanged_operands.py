"""Warpgroups that multiply what another one has written to shared memory: each reads the other's rows alone."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using Square = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(256) exchange(half_t const* x, float* out, int passes) {
  __shared__ alignas(1024) half_t p0[4096], p1[4096], b[4096];
  int const group = threadIdx.x / 128, thread = threadIdx.x % 128;
  Tensor sP = make_tensor(make_smem_ptr(group == 0 ? p0 : p1), Square{});
  Tensor sOther = make_tensor(make_smem_ptr(group == 0 ? p1 : p0), Square{});
  Tensor sB = make_tensor(make_smem_ptr(b), Square{});
  auto move = Move{}.get_slice(thread);
  auto thr = Mma{}.get_slice(thread);
  Tensor rA = thr.partition_fragment_A(sOther);
  Tensor rB = thr.partition_fragment_B(sB);
  Tensor gO = make_tensor(make_gmem_ptr(out + group * 4096), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor acc = thr.make_fragment_C(thr.partition_C(gO));
  clear(acc);
  Tensor all = make_tensor(make_gmem_ptr(x), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  copy(Move{}, move.partition_S(all), move.partition_D(sB));
  cutlass::arch::fence_view_async_shared();
  for (int i = 0; i < passes; ++i) {
    Tensor g = make_tensor(make_gmem_ptr(x + i * 8192 + group * 4096), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
    copy(Move{}, move.partition_S(g), move.partition_D(sP));
    cutlass::arch::fence_view_async_shared();
    cutlass::arch::NamedBarrier::sync(256, 1);  // written
    warpgroup_arrive();
    gemm(Mma{}, rA, rB, acc);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    cutlass::arch::NamedBarrier::sync(256, 2);  // read
  }
  copy(acc, thr.partition_C(gO));
}
void run(half_t const* x, float* out, int passes) { exchange<<<1, 256>>>(x, out, passes); }
"""


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        ("", set()),
        ("    cutlass::arch::NamedBarrier::sync(256, 1);  // written\n", {"CUT212"}),
        ("    cutlass::arch::NamedBarrier::sync(256, 2);  // read\n", {"CUT212"}),
    ],
)
def test_rows_of_another_warpgroup(left_out: str, expected: set[str], tmp_path: Path) -> None:
    assert left_out in KERNEL
    (tmp_path / "k.cu").write_text(KERNEL.replace(left_out, "") if left_out else KERNEL)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",), select=("CUT2",)))
    assert not made.failures and not made.errors
    assert {f.code for f in made.findings} == expected
