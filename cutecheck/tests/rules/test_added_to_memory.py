"""What is added to global memory by other means than copies store: operations of the program, and scratch memory."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

SUMS = """
struct Own { static __device__ void copy(float const& s, float& d) { atomicAdd(&d, s); } };
template <> struct cute::Copy_Traits<Own> {
  using ThrID = Layout<_1>;
  using SrcLayout = Layout<Shape<_1, Int<32>>>;
  using DstLayout = Layout<Shape<_1, Int<32>>>;
  using RefLayout = SrcLayout;
};
using Add = decltype(make_tiled_copy(Copy_Atom<OP, float>{}, Layout<Shape<_4, _64>, Stride<_64, _1>>{},
    Layout<Shape<_1, _1>>{}));
__global__ void __launch_bounds__(256) sums(float const* A, float* C, int m, int n, int parts) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, n, parts), make_stride(n, _1{}, m * n));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(n, _1{}));
  Tensor gA = local_tile(mA(_, _, blockIdx.z), Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor gC = local_tile(mC, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  auto thr = Add{}.get_slice(threadIdx.x);
  Tensor r = make_fragment_like(thr.partition_S(gA));
  copy(thr.partition_S(gA), r);
  copy(Add{}, r, thr.partition_D(gC));
}
void run(float const* A, float* C, int m, int n, int p) { sums<<<dim3(m / 64, n / 64, p), 256>>>(A, C, m, n, p); }
"""
SCRATCH = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
__global__ void __launch_bounds__(128) scratch(half_t const* A, half_t const* B, float* C, float* W) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor gB = make_tensor(make_gmem_ptr(B), Layout<Shape<_128, _64>, Stride<_64, _1>>{});
  Tensor gW = make_tensor(make_gmem_ptr(W), Layout<Shape<_64, _32>, Stride<_32, _1>>{});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor acc = partition_fragment_C(mma, Shape<_64, _128>{});
  clear(acc);
  Tensor rA = thr.partition_fragment_A(gA);
  Tensor rB = thr.partition_fragment_B(gB);
  copy(thr.partition_A(gA), rA);
  copy(thr.partition_B(gB), rB);
  gemm(mma, rA, rB, acc);
  Tensor tW = thr.partition_C(gW);
  for (int j = 0; j < 8; ++j) {
    copy(acc(_, _, j), tW(_, _, 0));
    __syncthreads();
    if (threadIdx.x < 64) C[j * 64 + threadIdx.x] = READ;
    __syncthreads();
  }
}
void run(half_t const* A, half_t const* B, float* C, float* W) { scratch<<<1, 128>>>(A, B, C, W); }
"""


def _found(folder: Path, text: str) -> set[str]:
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=("CUT2",)))
    assert not report.failures
    return {f.code for f in report.findings}


@pytest.mark.parametrize(("operation", "found"), [("Own", set()), ("UniversalCopy<float>", {"CUT219"})])
def test_blocks_that_add_by_an_operation_of_their_own(tmp_path: Path, operation: str, found: set[str]) -> None:
    assert _found(tmp_path, SUMS.replace("OP", operation)) == found


@pytest.mark.parametrize(("read", "found"), [("gW(threadIdx.x, 0) + gW(threadIdx.x, 1)", set()), ("1.f", {"CUT222"})])
def test_scratch_memory_that_each_pass_reads(tmp_path: Path, read: str, found: set[str]) -> None:
    assert _found(tmp_path, SCRATCH.replace("READ", read)) == found
