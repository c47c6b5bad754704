"""Epilogues that bring results through the shared memory of an operand, and store the operand instead."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
__global__ void __launch_bounds__(128) product(float const* A, float const* B, float* C, float* D, int n) {
  extern __shared__ float all[];
  Tensor sA = make_tensor(make_smem_ptr(all), Layout<Shape<_16, _8>>{});
  Tensor sB = make_tensor(sA.data() + size(sA), Layout<Shape<_8, _8>>{});
  Tensor sC = make_tensor(sA.data(), Layout<Shape<_16, _8>>{});
  auto rows = Layout<Shape<_16, _8>>{};
  auto few = Layout<Shape<_8, _8>>{};
  Tensor gA = local_partition(make_tensor(make_gmem_ptr(A), rows), rows, threadIdx.x);
  Tensor gB = local_partition(make_tensor(make_gmem_ptr(B), few), few, threadIdx.x % 64);
  Tensor gC = make_tensor(make_gmem_ptr(C), rows), gD = make_tensor(make_gmem_ptr(D), rows);
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor acc = make_fragment_like(thr.partition_C(gC));
  Tensor r = make_fragment_like(gA);
  clear(acc);
  copy(gA, local_partition(sA, rows, threadIdx.x));
  copy(gB, local_partition(sB, few, threadIdx.x % 64));
  __syncthreads();
  gemm(Mma{}, thr.partition_A(sA), thr.partition_B(sB), acc);
  __syncthreads();
  STORES
  __syncthreads();
  copy(local_partition(sC, rows, threadIdx.x), r);
  copy(r, local_partition(gC, rows, threadIdx.x));
}
void run(float const* A, float const* B, float* C, float* D, int n) { product<<<1, 128, 768>>>(A, B, C, D, n); }
"""


@pytest.mark.parametrize(
    ("stores", "found"),
    [
        ("copy(acc, thr.partition_C(sC));", 0),
        ("", 1),
        ("if (n > 7) copy(acc, thr.partition_C(sC));", 0),
        ("sC(threadIdx.x) = acc(0);", 0),
        ("*(sC.data() + threadIdx.x) = acc(0);", 0),
        ("all[threadIdx.x] = acc(0);", 0),
        ("copy(acc, thr.partition_C(gD));", 0),  # the tile of A is stored beside the results
        (  # by way of shared memory, too
            "__shared__ float d[128]; Tensor sD = make_tensor(make_smem_ptr(d), rows); copy(acc, thr.partition_C(sD));"
            " __syncthreads(); copy(local_partition(sD, rows, threadIdx.x), local_partition(gD, rows, threadIdx.x));",
            0,
        ),
        ('asm volatile("cp.async.wait_group 0;");', 1),
        ('asm volatile("st.shared.f32 [%0], %1;" :: "r"(cast_smem_ptr_to_uint(all + threadIdx.x)), "f"(acc(0)));', 0),
    ],
)
def test_what_lies_where_the_results_are_stored_from(tmp_path: Path, stores: str, found: int) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL.replace("STORES", stores))
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT221",), arch=("sm_80",)))
    assert len(report.findings) == found
    assert all("no copy stores what it computes" in f.message for f in report.findings)
