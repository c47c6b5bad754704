"""CUT212 of what threads store at elements of their own choice (dequantized numbers, say) and ``ldmatrix`` reads."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using TileA = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}),
                                     Shape<_32, _64>{}));
using TileB = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}),
                                     Shape<_64, _64>{}));
template <class S>
__device__ void unpack(signed char const* from, S& sB, int tid) {
  for (int i = tid; i < 64 * 8; i += 128) {
    Tensor values = make_tensor<half_t>(Shape<_8>{});
    for (int j = 0; j < 8; ++j) values(j) = half_t(float(from[i * 8 + j]));
    Tensor to = local_tile(sB, Shape<_1, _8>{}, make_coord(ROW, i % 8));
    copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, values, to(0, _));
  }
}
__global__ void __launch_bounds__(128) mixed(half_t const* A, signed char const* B, float* C, int k, int const* on) {
  __shared__ alignas(128) half_t a[32 * 64], b[64 * 64];
  if (*on == 0) return;
  int const tid = threadIdx.x;
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(A), make_shape(_32{}, k), make_stride(k, _1{})), Shape<_32, _64>{},
                         make_coord(0, _));
  Tensor sA = make_tensor(make_smem_ptr(a), TileA{}), sB = make_tensor(make_smem_ptr(b), TileB{});
  auto load = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                              Layout<Shape<_1, _8>>{});
  auto thr = load.get_slice(tid);
  Mma mma;
  auto thr_mma = mma.get_slice(tid);
  Tensor rA = thr_mma.partition_fragment_A(sA), rB = thr_mma.partition_fragment_B(sB);
  Tensor acc = partition_fragment_C(mma, Shape<_32, _64>{});
  clear(acc);
  auto s2r_a = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto s2r_b = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  for (int t = 0; t < k / 64; ++t) {
    copy(load, thr.partition_S(gA(_, _, t)), thr.partition_D(sA));
    SYNC_A
    unpack(B + t * 64 * 64, sB, tid);
    SYNC_B
    copy(s2r_a, s2r_a.get_slice(tid).partition_S(sA), s2r_a.get_slice(tid).retile_D(rA));
    for (int kb = 0; kb < 4; ++kb) {
      Tensor xB = s2r_b.get_slice(tid).partition_S(sB);
      copy(s2r_b, xB(_, _, kb), s2r_b.get_slice(tid).retile_D(rB)(_, _, kb));
      gemm(mma, rA(_, _, kb), rB(_, _, kb), acc);
    }
    __syncthreads();
  }
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_32, _64>, Stride<_64, _1>>{});
  copy(acc, thr_mma.partition_C(gC));
}
void run(half_t const* A, signed char const* B, float* C, int k, int const* on) { mixed<<<1, 128>>>(A, B, C, k, on); }
"""


def found(folder: Path, before: str, after: str, row: str = "i / 8") -> list[str]:
    text = KERNEL.replace("SYNC_A", before).replace("SYNC_B", after).replace("ROW", row)
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([folder]), Settings(select=("CUT212",), arch=("sm_80",), cache=False, jobs=1))
    assert not report.failures and not report.errors
    return [f.message for f in report.findings]


@pytest.mark.parametrize("before", ["", "__syncthreads();"])
def test_a_barrier_after_the_stores(before: str, tmp_path: Path) -> None:
    assert not found(tmp_path, before, "__syncthreads();")


def test_no_barrier_after_the_stores(tmp_path: Path) -> None:
    said = found(tmp_path, "__syncthreads();", "")
    assert [m for m in said if "`xB(_, _, kb)` reads shared memory that `to(0, _)` has written" in m]


def test_a_barrier_of_warps(tmp_path: Path) -> None:
    said = found(tmp_path, "__syncthreads();", "__syncwarp();")
    assert [m for m in said if "`xB(_, _, kb)` reads" in m and "__syncwarp" in m]


def test_rows_that_are_not_known_are_not_judged(tmp_path: Path) -> None:
    assert not found(tmp_path, "__syncthreads();", "", "from[i] % 64")
