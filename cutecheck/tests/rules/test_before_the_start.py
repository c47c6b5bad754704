"""Loops that go down through the tiles of a matrix, and on to one before the first."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
__global__ void __launch_bounds__(128) down(float const* A, float const* B, float* C, int k) {
  __shared__ float a[128], b[64];
  int last = k / 8 - 1;
  Tensor gA = make_tensor(make_gmem_ptr(A + last * 8), make_shape(_16{}, _8{}), make_stride(k, _1{}));
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(B), make_shape(_8{}, k), make_stride(k, _1{})), Shape<_8, _8>{},
      make_coord(0, _));
  Tensor sA = make_tensor(make_smem_ptr(a), Layout<Shape<_16, _8>>{});
  Tensor sB = make_tensor(make_smem_ptr(b), Layout<Shape<_8, _8>>{});
  auto threads = Layout<Shape<_16, _8>>{};
  Tensor tA = local_partition(gA, threads, threadIdx.x), tS = local_partition(sA, threads, threadIdx.x);
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor gC = thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_16, _8>>{}));
  Tensor acc = make_fragment_like(gC);
  clear(acc);
  copy(tA, tS);
  for (int i = last; i >= 0; --i) {
    copy(local_partition(gB(_, _, i), Layout<Shape<_8, _8>>{}, threadIdx.x % 64),
        local_partition(sB, Layout<Shape<_8, _8>>{}, threadIdx.x % 64));
    __syncthreads();
    gemm(Mma{}, thr.partition_A(sA), thr.partition_B(sB), acc);
    __syncthreads();
    if (NEXT) {
      tA.data() = tA.data() + (-8);
      copy(tA, tS);
    }
  }
  copy(acc, gC);
}
void run(float const* A, float const* B, float* C, int k) { down<<<1, 128>>>(A, B, C, k); }
"""


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("i > 0", []),
        ("i >= 0", ["CUT210"]),
        ("i > 0 || threadIdx.x > k", []),  # threads say, each for itself, and some of them may
    ],
)
def test_the_tile_before_the_first(tmp_path: Path, condition: str, found: list[str]) -> None:
    text = KERNEL.replace("NEXT", condition)
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT210", "CUT218", "CUT221"), arch=("sm_80",)))
    assert [f.code for f in report.findings] == found
    assert all("starts 8 elements before the memory" in f.message for f in report.findings)


SHORT_FIRST = """
using Panel = Layout<Shape<_64, _32>, Stride<Int<40>, _1>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint128_t>, half_t>{},
    Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) first(half_t const* A, float* C, int m, int k, int ld) {
  // cutecheck: assume ld % 8 == 0
  __shared__ alignas(16) half_t a[cosize_v<Panel>];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(ld, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _32>{}, make_coord(blockIdx.x, _));
  int residue = k - size<1>(gA) * size<2>(gA);
  gA = domain_offset(make_coord(0, residue, 0), gA);
  Tensor sA = make_tensor(make_smem_ptr(a), Panel{});
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor from = thr.partition_S(gA), to = thr.partition_D(sA);
  Tensor at = thr.partition_S(make_identity_tensor(Shape<_64, _32>{}));
  Tensor pred = make_tensor<bool>(make_shape(size<1>(to), size<2>(to)), Stride<_1, _0>{});
  for (int i = 0; i < size<0>(pred); ++i) pred(i, 0) = get<0>(at(0, i, 0)) < m - 64 * blockIdx.x;
  clear(to);
  for (int j = 0; j < size<2>(to); ++j)
    if (ASKED) copy_if(Load{}, pred(_, j), from(_, _, j, TILE), to(_, _, j));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
  C[threadIdx.x] = float(sA(threadIdx.x % 64, threadIdx.x / 64));
}
void run(half_t const* A, float* C, int m, int k, int ld) { first<<<(m + 63) / 64, 128>>>(A, C, m, k, ld); }
"""


@pytest.mark.parametrize(
    ("asked", "tile", "found"),
    [
        ("get<1>(at(0, 0, j)) >= -residue", 0, []),
        ("get<1>(at(0, 0, j)) + residue > -1", 0, []),
        ("k % 32 == 0", 0, []),
        ("true", 1, []),  # the second tile starts behind the first
        ("true", 0, ["CUT210"]),
        ("get<1>(at(0, 0, j)) >= 0", 0, ["CUT210"]),
        ("get<1>(at(0, 0, j)) < -residue", 0, ["CUT210"]),
    ],
)
def test_the_short_tile_first(tmp_path: Path, asked: str, tile: int, found: list[str]) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + SHORT_FIRST.replace("ASKED", asked).replace("TILE", str(tile)))
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT210", "CUT604"), arch=("sm_80",), cache=False))
    assert not report.failures and [f.code for f in report.findings] == found
