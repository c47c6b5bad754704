"""Results that threads store where a ``cp.async`` of a loop's last pass may still land."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_16, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _4>>{}));
using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_4, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _1>>{}));
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_8, _8, _1>>{}));
using Tiles = Layout<Shape<_32, _16, _2>, Stride<_16, _1, _512>>;
template <class From, class To>
__device__ void bring(From const& from, To&& to) { copy(Load{}, from, to); }
__global__ void __launch_bounds__(64) gemm_ahead(float const* A, float const* B, float* C, int k) {
  __shared__ alignas(16) float raw[2 * cosize_v<Tiles>];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_32{}, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(_32{}, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_32, _16>{}, make_coord(0, _));
  Tensor gB = local_tile(mB, Shape<_32, _16>{}, make_coord(0, _));
  Tensor sA = make_tensor(make_smem_ptr(raw), Tiles{});
  Tensor sB = make_tensor(make_smem_ptr(raw + cosize_v<Tiles>), Tiles{});
  auto load = Load{}.get_slice(threadIdx.x);
  Tensor fA = load.partition_S(gA), tA = load.partition_D(sA), fB = load.partition_S(gB), tB = load.partition_D(sB);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor acc = partition_fragment_C(mma, Shape<_32, _32>{});
  clear(acc);
  int const tiles = k / 16;
  bring(fA(_, _, _, 0), tA(_, _, _, 0));
  bring(fB(_, _, _, 0), tB(_, _, _, 0));
  cp_async_fence();
  for (int t = 0; t < tiles; ++t) {
    int const next = NEXT;
    cp_async_wait<0>();
    __syncthreads();
    GUARD {
      bring(fA(_, _, _, next), tA(_, _, _, (t + 1) % 2));
      bring(fB(_, _, _, next), tB(_, _, _, (t + 1) % 2));
    }
    cp_async_fence();
    gemm(mma, thr.partition_A(sA(_, _, t % 2)), thr.partition_B(sB(_, _, t % 2)), acc);
  }
  AFTER
  Tensor sC = make_tensor(make_smem_ptr(raw), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  copy(acc, thr.partition_C(sC));
  __syncthreads();
  auto store = Store{}.get_slice(threadIdx.x);
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  copy(Store{}, store.partition_S(sC), store.partition_D(gC));
}
void run(float const* A, float const* B, float* C, int k) { gemm_ahead<<<1, 64>>>(A, B, C, k); }
"""
AHEAD = ("t + 1 < tiles ? t + 1 : t", "")  # the last pass copies its own tile once more
ASKED = ("t + 1", "if (next < tiles)")


def found(folder: Path, ahead: tuple[str, str], after: str) -> list[str]:
    text = KERNEL.replace("NEXT", ahead[0]).replace("GUARD", ahead[1]).replace("AFTER", after)
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([folder]), Settings(select=("CUT212", "CUT213"), arch=("sm_80",), cache=False, jobs=1))
    assert not report.failures and not report.errors
    return [f"{f.code} {f.message}" for f in report.findings]


@pytest.mark.parametrize("after", ["cp_async_wait<0>();\n  __syncthreads();", "__syncthreads();\n  cp_async_wait<0>();"
                                   "\n  __syncthreads();"])  # fmt: skip
@pytest.mark.parametrize("ahead", [AHEAD, ASKED])
def test_waited_for(ahead: tuple[str, str], after: str, tmp_path: Path) -> None:
    assert not found(tmp_path, ahead, after)


def test_nothing_is_under_way_where_the_last_pass_copies_nothing(tmp_path: Path) -> None:
    assert not found(tmp_path, ASKED, "__syncthreads();")


def test_not_waited_for(tmp_path: Path) -> None:
    said = found(tmp_path, AHEAD, "__syncthreads();")
    assert [m for m in said if "CUT213" in m and "is stored where a cp.async may still bring" in m]


def test_no_barrier_after_the_wait(tmp_path: Path) -> None:
    said = found(tmp_path, AHEAD, "__syncthreads();\n  cp_async_wait<0>();")
    assert [m for m in said if "CUT212" in m and "is stored where other threads' cp.async may still" in m]
