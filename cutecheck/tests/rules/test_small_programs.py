"""Mistakes of small programs: each beside the text without it, which has no finding."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

RING = """
using Tiles = Layout<Shape<_32, _16, _3>, Stride<_16, _1, _512>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_16, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _4>>{}));
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_8, _8, _1>>{}));
struct Shared { alignas(16) cute::array_aligned<float, cosize_v<Tiles>> a; alignas(16) float b[cosize_v<Tiles>]; };
__global__ void __launch_bounds__(64) multiply(float const* A, float const* B, float* C, int m, int k) {
  extern __shared__ __align__(128) unsigned char raw[];
  auto& shared = *reinterpret_cast<Shared*>(raw);
  int row = blockIdx.x * 32;
  if (row >= m || int(k > 4096) * gridDim.x + blockIdx.y > 4) return;
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{})), Shape<_32, _16>{},
                         make_coord(blockIdx.x, _));
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(B), make_shape(_32{}, k), make_stride(k, _1{})), Shape<_32, _16>{},
                         make_coord(0, _));
  Tensor sA = make_tensor(make_smem_ptr(shared.a.data()), Tiles{});
  Tensor sB = make_tensor(make_smem_ptr(shared.b), Tiles{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor fA = thr.partition_S(gA);
  Tensor tA = thr.partition_D(sA);
  Tensor fB = thr.partition_S(gB);
  Tensor tB = thr.partition_D(sB);
  Tensor valid = make_tensor<bool>(Shape<_4>{});
  for (int i = 0; i < size(valid); ++i) valid(i) = row + i < m;
  int next = 0, tiles = k / 16;
  for (int s = 0; s < 2; ++s) {
    if (next < tiles) {
      copy(load, fA(_, _, _, next), tA(_, _, _, s));
      copy(load, fB(_, _, _, next++), tB(_, _, _, s));
    }
    cp_async_fence();
  }
  Mma mma;
  auto own = mma.get_slice(threadIdx.x);
  Tensor acc = partition_fragment_C(mma, Shape<_32, _32>{});
  clear(acc);
  int read = 0, write = 2;
  for (int t = 0; t < tiles; ++t) {
    cp_async_wait<1>();
    __syncthreads();
    if (next < tiles) {
      copy(load, fA(_, _, _, next), tA(_, _, _, write));
      copy(load, fB(_, _, _, next++), tB(_, _, _, write));
    }
    cp_async_fence();
    write = write + 1 == 3 ? 0 : write + 1;
    gemm(mma, own.partition_A(sA(_, _, read)), own.partition_B(sB(_, _, read)), acc);
    read = read + 1 == 3 ? 0 : read + 1;
  }
  cp_async_wait<0>();
  Tensor gC = local_tile(make_tensor(make_gmem_ptr(C), make_shape(m, _32{}), LayoutRight{}), Shape<_32, _32>{},
                         make_coord(blockIdx.x, 0));
  Tensor gBias = local_tile(make_tensor(make_gmem_ptr(B), make_shape(m, _32{}), make_stride(_0{}, _1{})),
                            Shape<_32, _32>{}, make_coord(blockIdx.x, 0));
  Tensor bias = own.partition_C(gBias);
  for (int i = 0; i < size(acc); ++i) acc(i) += bias(i);
  if (valid(0)) copy(acc, own.partition_C(gC));
}
int main() {
  float *A = nullptr, *B = nullptr, *C = nullptr;
  multiply<<<128, 64, sizeof(Shared)>>>(A, B, C, 4096, 2048);
}
"""
ITERATED = (
    RING.replace("  int next = 0,", "  auto it = make_coord_iterator(size<2>(gA));\n  int next = 0,")
    .replace("_, next)", "_, *it)")
    .replace("fB(_, _, _, next++), tB(_, _, _, s));", "fB(_, _, _, *it), tB(_, _, _, s)); ++it; ++next;")
    .replace("fB(_, _, _, next++), tB(_, _, _, write));", "fB(_, _, _, *it), tB(_, _, _, write)); ++it; ++next;")
)
HOPPER = """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _2>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
template <class Tma>
__global__ void __launch_bounds__(256) multiply(CUTE_GRID_CONSTANT Tma const tma, float* out, int k) {
  __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t full[2], empty[2];
  Tensor s = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor g = local_tile(tma.get_tma_tensor(make_shape(_128{}, k)), Shape<_128, _64>{}, make_coord(0, _));
  auto cta = tma.get_slice(0);
  Tensor from = group_modes<0, 3>(cta.partition_S(g));
  Tensor to = group_modes<0, 3>(cta.partition_D(s));
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) { Full::init(&full[i], 1); Empty::init(&empty[i], 1); }
  __syncthreads();
  int stage = 0;
  if (threadIdx.x < 128) {
    int phase = 1;
    if (threadIdx.x == 0)
      for (int t = 0; t < size<1>(from); ++t) {
        Empty::wait(&empty[stage], phase);
        Full::arrive_and_expect_tx(&full[stage], 16384);
        copy(tma.with(full[stage]), from(_, t), to(_, stage));
        if (++stage == 2) { stage = 0; phase ^= 1; }
      }
  } else {
    int phase = 0, last = -1;
    Mma mma;
    auto own = mma.get_slice(threadIdx.x - 128);
    Tensor a = own.make_fragment_A(own.partition_A(s));
    Tensor b = own.make_fragment_B(own.partition_B(s));
    Tensor acc = partition_fragment_C(mma, Shape<_128, _128>{});
    mma.accumulate_ = GMMA::ScaleOut::Zero;
    for (int t = 0; t < size<1>(from); ++t) {
      Full::wait(&full[stage], phase);
      warpgroup_arrive();
      for (int i = 0; i < size<2>(a); ++i) {
        gemm(mma, a(_, _, i, stage), b(_, _, i, stage), acc);
        mma.accumulate_ = GMMA::ScaleOut::One;
      }
      warpgroup_commit_batch();
      warpgroup_wait<1>();
      if (last >= 0 && threadIdx.x == 128) Empty::arrive(&empty[last]);
      last = stage;
      if (++stage == 2) { stage = 0; phase ^= 1; }
    }
    warpgroup_wait<0>();
    copy(acc, own.partition_C(make_tensor(make_gmem_ptr(out), Layout<Shape<_128, _128>>{})));
  }
}
void run(half_t const* A, float* out, int k) {
  Tensor g = make_tensor(make_gmem_ptr(A), make_shape(_128{}, k), make_stride(k, _1{}));
  multiply<<<1, 256>>>(make_tma_copy(SM90_TMA_LOAD{}, g, Smem{}(_, _, 0)), out, k);
}
"""
CLUSTER = (
    HOPPER.replace("get_slice(0)", "get_slice(block_id_in_cluster().x)")
    .replace(
        "SM90_TMA_LOAD{}, g, Smem{}(_, _, 0)", "SM90_TMA_LOAD_MULTICAST{}, g, Smem{}(_, _, 0), Shape<_128, _64>{}, _2{}"
    )
    .replace("tma.with(full[stage])", "tma.with(full[stage], uint16_t(3))")
)
PASSES = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_32, _4>>{},
    Layout<_1>{}));
using Columns = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<_1>{}));
using Two = Layout<Shape<_32, _32, _2>, Stride<Int<33>, _1, Int<1056>>>;
__global__ void __launch_bounds__(128) turn(float const* in, float* out) {
  __shared__ float buf[cosize_v<Two>];
  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_32, _32, _8>>{});
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_32, _32, _8>, Stride<_32, _1, _1024>>{});
  Tensor s = make_tensor(make_smem_ptr(buf), Two{});
  auto w = Rows{}.get_slice(threadIdx.x);
  auto r = Columns{}.get_slice(threadIdx.x);
  for (int i = 0; i < 8; i += 2) {
    for (int j = 0; j < 2; ++j) copy(Rows{}, w.partition_S(g(_, _, i + j)), w.partition_D(s)(_, _, _, j));
    __syncthreads();
    for (int j = 0; j < 2; ++j) copy(Columns{}, r.partition_S(s)(_, _, _, j), r.partition_D(o(_, _, i + j)));
    __syncthreads(); // of the pass
  }
}
"""
SCALED = """
__global__ void __launch_bounds__(256) scale(float* x, float f, int n) {
  auto load = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<_256>{}, Layout<_1>{});
  auto thr = load.get_slice(threadIdx.x);
  Tensor g = local_tile(make_tensor(make_gmem_ptr(x), make_shape(n)), Shape<_1024>{}, make_coord(blockIdx.x));
  Tensor c = local_tile(make_identity_tensor(make_shape(n)), Shape<_1024>{}, make_coord(blockIdx.x));
  Tensor tg = thr.partition_S(g);
  Tensor tc = thr.partition_S(c);
  Tensor r = make_fragment_like(tg);
  Tensor valid = make_tensor<bool>(tc.shape());
  for (int i = 0; i < size(valid); ++i) valid(i) = elem_less(tc(i), make_shape(n));
  copy_if(valid, tg, r);
  for (int i = 0; i < size(r); ++i) r(i) *= f;
  copy_if(valid, r, tg);
}
void run(float* x, int n) { scale<<<ceil_div(n, 1024), 256>>>(x, 2.f, n); }
"""
GROUPS = """
namespace cg = cooperative_groups;
__global__ void __launch_bounds__(256) rows(float const* A, float const* x, float* y) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  __shared__ alignas(16) float buf[1024];
  Tensor sx = make_tensor(make_smem_ptr(buf), Layout<_1024>{});
  auto load = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_256>{}, Layout<_4>{});
  auto thr = load.get_slice(block.thread_rank());
  copy(load, thr.partition_S(make_tensor(make_gmem_ptr(x), Layout<_1024>{})), thr.partition_D(sx));
  block.sync();
  Tensor own = local_partition(zipped_divide(sx, Shape<_4>{}), Layout<Shape<_1, _32>>{}, warp.thread_rank());
  Tensor r = make_tensor<float>(Shape<_4>{});
  copy_aligned(own(_, 0), r);
  y[block.thread_rank()] = r(0);
}
void run(float const* A, float const* x, float* y) { rows<<<1, 256>>>(A, x, y); }
"""
TILE = """
__global__ void __launch_bounds__(128) stage(half_t const* A, int m) {
  extern __shared__ half_t smem[];
  int iy = blockIdx.y, ix = int(m > 64) * blockIdx.z * gridDim.x + blockIdx.x;
  if (iy * 64 >= m || ix * 64 >= m) return;
  Tensor g = local_tile(make_tensor(make_gmem_ptr(A), make_shape(m, _64{}), LayoutRight{}), Shape<_64, _64>{},
                        make_coord(iy, 0));
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto load = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                              Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto thr = load.get_slice(threadIdx.x);
  copy(load, thr.partition_S(g), thr.partition_D(s));
}
void run(half_t const* A) { stage<<<dim3(64, 64), 128, 64 * 64 * sizeof(half_t)>>>(A, 4096); }
"""
MISTAKES = {
    "ring": (RING, "", "", ""),
    "one_stage_too_few": (RING, "array_aligned<float, cosize_v<Tiles>>", "array_aligned<float, 1024>", "CUT209"),
    "launched_with_too_few_bytes": (RING, "64, sizeof(Shared)>>>", "64, sizeof(Shared) / 2>>>", "CUT209"),
    "not_cleared_with_predicates": (RING, "  clear(acc);\n", "", "CUT220"),
    "iterated": (ITERATED, "", "", ""),
    "one_pass_too_many": (ITERATED, "t < tiles;", "t <= tiles;", "CUT218"),
    "hopper": (HOPPER, "", "", ""),
    "cluster": (CLUSTER, "", "", ""),
    "producer_starts_in_the_wrong_phase": (HOPPER, "int phase = 1;", "int phase = 0;", "CUT217"),
    "released_before_its_group_is_waited_for": (HOPPER, "warpgroup_wait<1>", "warpgroup_wait<2>", "CUT212"),
    "released_in_the_same_pass": (
        HOPPER, "if (last >= 0 && threadIdx.x == 128) Empty::arrive(&empty[last]);",
        "if (threadIdx.x == 128) Empty::arrive(&empty[stage]);", "CUT212",
    ),
    "passes": (PASSES, "", "", ""),
    "stages_of_a_pass_overtaken": (PASSES, "    __syncthreads(); // of the pass\n", "", "CUT212"),
    "scaled": (SCALED, "", "", ""),
    "stored_without_the_predicate": (SCALED, "copy_if(valid, r, tg)", "copy(r, tg)", "CUT210"),
    "tile": (TILE, "", "", ""),
    "elements_for_bytes": (TILE, "64 * 64 * sizeof(half_t)", "64 * 64", "CUT209"),
    "groups": (GROUPS, "", "", ""),
    "read_by_other_partition": (GROUPS, "  block.sync();\n", "", "CUT212"),
    "group_larger_than_its_block": (GROUPS, "<<<1, 256>>>", "<<<1, 128>>>", "CUT701"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str, tmp_path: Path) -> None:
    text, old, new, code = MISTAKES[name]
    assert old in text
    (tmp_path / "program.cu").write_text(PREAMBLE + text.replace(old, new, 1))
    arch = "sm_90a" if text in (HOPPER, CLUSTER) else "sm_80"
    report = check(inputs([str(tmp_path)]), Settings(arch=(arch,), ignore=("CUT1", "CUT4"), cache=False, jobs=1))
    assert not report.failures and not report.errors
    found = {f.code for f in report.findings}
    assert code in found if code else not found
