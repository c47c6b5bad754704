"""A multistage GEMM with helpers of its own: accumulators, stages, slices of K, predicates of copies that fill."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
using Rows = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}),
                                    Shape<_64, _64, _3>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Out = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}),
                                   Shape<_64, _64>{}));
using Fill = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, half_t>;
using Load = decltype(make_tiled_copy(Fill{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Accum = decltype(partition_fragment_C(Mma{}, Shape<_64, _64>{}));
struct Storage { alignas(128) half_t a[cosize_v<Rows>]; alignas(128) half_t b[cosize_v<Rows>]; };
#define SHOW(x) do { print(#x); print(x); } while (0)
template <class M> __device__ auto sums(M const& mma) { return partition_fragment_C(mma, Shape<_64, _64>{}); }
template <class G, class C, class S>
__device__ void fetch(G const& g, C const& c, S&& s, int rows) {
  for (int i = 0; i < size<1>(s); ++i) copy(Fill{}.with(get<0>(c(0, i, 0)) < rows), g(_, i, _), s(_, i, _));
}
__global__ void __launch_bounds__(128) multiply(half_t const* A, half_t const* B, half_t* D, int m, int n, int kk) {
  extern __shared__ __align__(128) char raw[];
  auto& st = *reinterpret_cast<Storage*>(raw);
  int const rows_a = m - blockIdx.x * 64, rows_b = n - blockIdx.y * 64;
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, kk), make_stride(kk, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, kk), make_stride(kk, _1{}));
  Tensor mD = make_tensor(make_gmem_ptr(D), make_shape(m, n), make_stride(n, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, Shape<_64, _64>{}, make_coord(blockIdx.y, _));
  Tensor sA = make_tensor(make_smem_ptr(st.a), Rows{}), sB = make_tensor(make_smem_ptr(st.b), Rows{});
  auto load = Load{}.get_slice(threadIdx.x);
  auto tAg = load.partition_S(gA);
  auto tAs = load.partition_D(sA);
  auto tBg = load.partition_S(gB);
  auto tBs = load.partition_D(sB);
  auto tc = load.partition_S(make_identity_tensor(Shape<_64, _64>{}));
  int const tiles = size<2>(gA);
  auto bring = [&](int t) {
    if (t < tiles) {
      fetch(tAg(_, _, _, t), tc, tAs(_, _, _, t % 3), rows_a);
      fetch(tBg(_, _, _, t), tc, tBs(_, _, _, t % 3), ROWS_B);
    }
    cp_async_fence();
  };
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  auto rA = thr.partition_fragment_A(sA(_, _, 0));
  auto rB = thr.partition_fragment_B(sB(_, _, 0));
  auto la = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto lb = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto fromA = la.get_slice(threadIdx.x).partition_S(sA);
  auto fromB = lb.get_slice(threadIdx.x).partition_S(sB);
  auto toA = la.get_slice(threadIdx.x).retile_D(rA);
  auto toB = lb.get_slice(threadIdx.x).retile_D(rB);
  Accum total, part;
  CLEARS
  if (thread0()) { SHOW(total); SHOW(part); }
  bring(0);
  bring(1);
  for (int t = 0; t < tiles; ++t) {
    cp_async_wait<1>();
    __syncthreads();
    bring(t + 2);
    for (int k = 0; k < size<2>(rA); ++k) {
      copy(la, fromA(_, _, k, STAGE), toA(_, _, k));
      copy(lb, fromB(_, _, k, t % 3), toB(_, _, k));
      gemm(mma, rA(_, _, k), rB(_, _, SLICE), part);
    }
  }
  END
  axpby(1.f, part, 1.f, total);
  Tensor sD = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(&st)), Out{});
  auto low = make_tensor_like<half_t>(total);
  for (int i = 0; i < size(low); ++i) low(i) = half_t(total(i));
  auto save = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, half_t>{}, mma);
  copy(save, save.get_slice(threadIdx.x).retile_S(low), save.get_slice(threadIdx.x).partition_D(sD));
  __syncthreads();
  D[threadIdx.x] = sD(threadIdx.x % 64, threadIdx.x / 64);
}
void run(half_t const* A, half_t const* B, half_t* D, int m, int n, int kk) {
  cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  multiply<<<dim3((m + 63) / 64, (n + 63) / 64), 128, sizeof(Storage)>>>(A, B, D, m, n, kk);
}
"""
RIGHT = {
    "ROWS_B": "rows_b", "CLEARS": "clear(total); clear(part);", "STAGE": "t % 3", "SLICE": "k",
    "END": "cp_async_wait<0>(); __syncthreads();",
}  # fmt: skip


def errors(tmp_path: Path, **changed: str) -> list[str]:
    text = KERNEL
    for name, code in {**RIGHT, **changed}.items():
        text = text.replace(name, code)
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert not report.failures and not report.errors
    return sorted({f.code for f in report.findings if f.code.startswith(("CUT2", "CUT6"))})


@pytest.mark.parametrize(
    ("name", "code"),
    [("CLEARS", "clear(total); clear(part);"), ("CLEARS", "do { clear(total); clear(part); } while (0);")],
)
def test_the_kernel_is_right(tmp_path: Path, name: str, code: str) -> None:
    assert errors(tmp_path, **{name: code}) == []


@pytest.mark.parametrize(
    ("name", "code", "found"),
    [
        ("ROWS_B", "rows_a", "CUT604"),  # by the helper of both operands
        ("CLEARS", "clear(total);", "CUT220"),  # another variable of the same type, which is printed
        ("STAGE", "0", "CUT213"),
        ("SLICE", "0", "CUT218"),
        ("END", "", "CUT212"),  # the whole object is seen as one tile
    ],
)
def test_what_is_wrong_in_it(tmp_path: Path, name: str, code: str, found: str) -> None:
    assert found in errors(tmp_path, **{name: code})


def test_a_copy_that_fills_has_a_predicate(tmp_path: Path) -> None:
    text = """
    #include <cute/tensor.hpp>
    using namespace cute;
    using Fill = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, float>;
    using Load = decltype(make_tiled_copy(Fill{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
    __global__ void __launch_bounds__(128) fill(float const* in, float* out) {
      __shared__ alignas(128) float sm[128 * 32];
      Tensor m = make_tensor(make_gmem_ptr(in), Layout<Shape<Int<1000>, _32>, Stride<_32, _1>>{});
      Tensor g = local_tile(m, Shape<_128, _32>{}, make_coord(blockIdx.x, 0));
      Tensor s = make_tensor(make_smem_ptr(sm), Layout<Shape<_128, _32>, Stride<_32, _1>>{});
      auto thr = Load{}.get_slice(threadIdx.x);
      Tensor t = thr.partition_S(g), d = thr.partition_D(s);
      Tensor c = thr.partition_S(make_identity_tensor(shape(s)));
      for (int i = 0; i < size<1>(t); ++i)
        copy(Load{}WITH, t(_, i, _), d(_, i, _));
      cp_async_fence();
      cp_async_wait<0>();
      __syncthreads();
      out[threadIdx.x] = s(threadIdx.x, 0);
    }
    void run(float const* in, float* out) { fill<<<8, 128>>>(in, out); }
    """
    for guard, found in ((".with(get<0>(c(0, i, 0)) + blockIdx.x * 128 < 1000)", []), ("", ["CUT210"])):
        (tmp_path / "k.cu").write_text(text.replace("WITH", guard))
        report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
        assert [f.code for f in report.findings if f.severity == "error"] == found


SUMS = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using S = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
template <class M> CUTE_DEVICE auto make_sums(M const& mma) { return partition_fragment_C(mma, Shape<_64, _64>{}); }
__global__ void __launch_bounds__(128) k(half_t const* A, half_t const* B, float* C, int tiles) {
  __shared__ alignas(1024) half_t a[64 * 64];
  __shared__ alignas(1024) half_t b[64 * 64];
  Tensor sA = make_tensor(make_smem_ptr(a), S{}), sB = make_tensor(make_smem_ptr(b), S{});
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_64{}, tiles * 64), make_stride(tiles * 64, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(_64{}, tiles * 64), make_stride(tiles * 64, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(0, _));
  Tensor gB = local_tile(mB, Shape<_64, _64>{}, make_coord(0, _));
  auto t = Load{}.get_slice(threadIdx.x);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.make_fragment_A(thr.partition_A(sA)), rB = thr.make_fragment_B(thr.partition_B(sB));
  auto one = make_sums(mma);
  auto two = make_sums(mma);
  clear(one);
  clear(two);
  for (int i = 0; i < tiles; ++i) {
    copy(Load{}, t.partition_S(gA(_, _, i)), t.partition_D(sA));
    copy(Load{}, t.partition_S(gB(_, _, i)), t.partition_D(sB));
    cp_async_fence();
    cp_async_wait<0>();
    cutlass::arch::fence_view_async_shared();
    __syncthreads();
    warpgroup_arrive();
    gemm(mma, rA, rB, one);
    gemm(mma, rA, rB, SECOND);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    __syncthreads();
  }
  C[threadIdx.x] = one(0) + two(0);
}
void run(half_t const* A, half_t const* B, float* C, int tiles) { k<<<1, 128>>>(A, B, C, tiles); }
"""


@pytest.mark.parametrize(("second", "found"), [("two", []), ("one", ["CUT218"])])
def test_sums_that_one_helper_makes_are_two(tmp_path: Path, second: str, found: list[str]) -> None:
    (tmp_path / "k.cu").write_text(SUMS.replace("SECOND", second))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",)))
    assert not report.failures
    assert [f.code for f in report.findings if f.severity == "error"] == found


@pytest.mark.parametrize(("stage", "found"), [("stage", []), ("0", ["CUT218"])])
def test_one_stage_in_steps_of_a_loop_inside(tmp_path: Path, stage: str, found: list[str]) -> None:
    text = """
    #include <cute/tensor.hpp>
    using namespace cute;
    using Rows = Layout<Shape<_16, _64, _2>, Stride<_64, _1, Int<16 * 64>>>;
    using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
        Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
    using Read = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint64_t>, half_t>{},
        Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
    __global__ void __launch_bounds__(128) sum(half_t const* A, half_t* out, int tiles, int first) {
      __shared__ alignas(128) half_t smem[cosize_v<Rows>];
      Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(tiles * 16, _64{}), LayoutRight{});
      Tensor gA = local_tile(mA, Shape<_16, _64>{}, make_coord(_, 0));
      Tensor sA = make_tensor(make_smem_ptr(smem), Rows{});
      auto load = Load{}.get_slice(threadIdx.x);
      auto read = Read{}.get_slice(threadIdx.x ^ 1);
      Tensor from = load.partition_S(gA), to = load.partition_D(sA), mine = read.partition_S(sA);
      Tensor regs = make_fragment_like(mine(_, _, _, 0));
      int stage = first & 1;
      copy(Load{}, from(_, _, _, 0), to(_, _, _, stage));
      cp_async_fence();
      for (int i = 0; i < tiles - 1; ++i) {
        copy(Load{}, from(_, _, _, i + 1), to(_, _, _, stage ^ 1));
        cp_async_fence();
        cp_async_wait<1>();
        __syncthreads();
        for (int j = 0; j < 2; ++j) copy(Read{}, mine(_, j, _, STAGE), regs(_, j, _));
        out[threadIdx.x] = regs(0);
        __syncthreads();
        stage ^= 1;
      }
    }
    void run(half_t const* A, half_t* out, int tiles, int first) { sum<<<1, 128>>>(A, out, tiles, first); }
    """
    (tmp_path / "k.cu").write_text(text.replace("STAGE", stage))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert [f.code for f in report.findings if f.severity == "error"] == found
