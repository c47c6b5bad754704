"""Slices along K that are brought to registers one product ahead: which slice of A meets which of B."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Span
from cutecheck.facts.replayed import Place, Step
from cutecheck.rules.derive.k_slices import Slices

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
constexpr int kStages = 3;
using Block = Int<BK>;
using Stages = decltype(tile_to_shape(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}),
                                      Shape<_64, Block, Int<kStages>>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
    Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
struct Storage { alignas(128) half_t a[cosize_v<Stages>]; alignas(128) half_t b[cosize_v<Stages>]; };
__global__ void __launch_bounds__(128) multiply(half_t const* A, half_t const* B, float* C, int m, int n, int kk) {
  extern __shared__ __align__(128) char raw[];
  auto& st = *reinterpret_cast<Storage*>(raw);
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, kk), make_stride(kk, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, kk), make_stride(kk, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(n, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, Block>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, Shape<_64, Block>{}, make_coord(blockIdx.y, _));
  Tensor sA = make_tensor(make_smem_ptr(st.a), Stages{}), sB = make_tensor(make_smem_ptr(st.b), Stages{});
  auto load = Load{}.get_slice(threadIdx.x);
  auto tAg = load.partition_S(gA), tBg = load.partition_S(gB);
  auto tAs = load.partition_D(sA), tBs = load.partition_D(sB);
  int left = size<2>(gA), next_tile = 0;
  auto bring = [&](int stage) {
    copy(Load{}, tAg(_, _, _, next_tile), tAs(_, _, _, stage));
    copy(Load{}, tBg(_, _, _, next_tile), tBs(_, _, _, stage));
    cp_async_fence();
    --left;
    if (left > 0) ++next_tile;
  };
  bring(0);
  bring(1);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  auto rA = thr.partition_fragment_A(sA(_, _, 0)), rB = thr.partition_fragment_B(sB(_, _, 0));
  auto la = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto lb = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto fromA = la.get_slice(threadIdx.x).partition_S(sA), fromB = lb.get_slice(threadIdx.x).partition_S(sB);
  auto toA = la.get_slice(threadIdx.x).retile_D(rA), toB = lb.get_slice(threadIdx.x).retile_D(rB);
  auto tCgC = thr.partition_C(local_tile(mC, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y)));
  auto acc = thr.make_fragment_C(tCgC);
  clear(acc);
  int read = 0, write = kStages - 1;
  auto stageA = fromA(_, _, _, read), stageB = fromB(_, _, _, read);
  auto slices = size<2>(rA);
  cp_async_wait<kStages - 2>();
  __syncthreads();
  copy(la, stageA(_, _, 0), toA(_, _, 0));
  FIRST
  while (left > -(kStages - 1)) {
    for (int k = 0; k < slices; ++k) {
      if (k == slices - 1) {
        stageA = fromA(_, _, _, read);
        stageB = fromB(_, _, _, read);
        cp_async_wait<kStages - 2>();
        __syncthreads();
      }
      int next = (k + 1) % slices;
      copy(la, stageA(_, _, next), toA(_, _, next));
      copy(lb, stageB(_, _, NEXT), toB(_, _, next));
      if (k == 0) {
        bring(write);
        write = read;
        read = read == kStages - 1 ? 0 : read + 1;
      }
      USES
      gemm(mma, rA(_, _, k), rB(_, _, k), acc);
    }
  }
  copy(acc, tCgC);
}
void run(half_t const* A, half_t const* B, float* C, int m, int n, int kk) {
  cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  multiply<<<dim3(m / 64, n / 64), 128, sizeof(Storage)>>>(A, B, C, m, n, kk);
}
"""
COPIED = "copy(lb, stageB(_, _, 0), toB(_, _, 0));"


def said(tmp_path: Path, block: int, first: str = COPIED, following: str = "next", uses: str = "") -> list[str]:
    text = KERNEL.replace("BK", str(block)).replace("USES", uses).replace("FIRST", first).replace("NEXT", following)
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), cache=False))
    assert not report.failures and not report.errors
    return [f"{f.code} {f.message}" for f in report.findings if f.code.startswith("CUT2")]


@pytest.mark.parametrize("block", [32, 64])
def test_each_slice_meets_its_own(block: int, tmp_path: Path) -> None:
    assert said(tmp_path, block) == []


@pytest.mark.parametrize("block", [32, 64])
def test_the_slice_of_this_product_for_the_next(block: int, tmp_path: Path) -> None:
    found = said(tmp_path, block, following="k")
    assert len(found) == 1 and found[0].startswith("CUT218")


def test_the_first_slice_is_not_copied(tmp_path: Path) -> None:
    (found,) = said(tmp_path, 32, first="")
    assert found.startswith("CUT221 `rB(_, _, k)` is read, and nothing has written")


OTHER = "auto o = make_fragment_like(rB); for (int i = 0; i < size(o); ++i) o(i) = half_t(2);"


@pytest.mark.parametrize(
    "first",
    [
        "clear(toB);",
        f"{OTHER} cute::transform(o, rB, cute::identity{{}});",
        'auto u = recast<uint32_t>(rB); asm volatile("mov.u32 %0, 0;" : "=r"(u(0)));',
    ],
)
def test_what_sets_the_first_slice_need_not_be_a_copy(first: str, tmp_path: Path) -> None:
    assert said(tmp_path, 32, first=first) == []


SPAN = Span("k.cu", 1, 1, 1, 1)


def products(pairs: list[tuple[int, int]], registers: list[tuple[int, int]] | None, row: int = 0) -> Step | None:
    """Three tiles, each of whose slices meet so, from a row of A's on."""
    met, sums = Slices(), Place("acc", SPAN, "rmem", "acc", 0)
    for tile in range(3):
        for i, (a, b) in enumerate(pairs):
            x, y = registers[i] if registers is not None else (0, 0)
            places = (sums, Place("a", SPAN, "rmem", "a", x), Place("b", SPAN, "rmem", "b", y), sums)
            step = Step("gemm", SPAN, "", "", None, places)
            met.meet(sums, ((("A", tile),), (16 * a + row, 0)), ((("B", tile),), (16 * b, 0)), step)
    return met.shifted()


ORDER = [(k, k) for k in range(4)]


@pytest.mark.parametrize(
    ("pairs", "registers", "found"),
    [
        (ORDER, ORDER, False),
        ([(k, (k + 3) % 4) for k in range(4)], ORDER, True),
        ([(k, (k + 3) % 4) for k in range(4)], None, True),
        ([(0, 1), (1, 0)], ORDER[:2], True),
        ([(0, 1), (1, 0)], [(0, 1), (1, 0)], False),  # the real parts with the imaginary ones
        ([(k, (k + 2) % 4) for k in range(4)], [(k, (k + 2) % 4) for k in range(4)], False),
        ([(k, 3 - k) for k in range(4)], ORDER, False),  # a layout that goes the other way
        ([(a, b) for a in range(3) for b in range(3)], None, False),
    ],
)
def test_slices_by_where_they_start(
    pairs: list[tuple[int, int]], registers: list[tuple[int, int]] | None, found: bool
) -> None:
    assert (products(pairs, registers) is not None) == found


def test_slices_of_another_row_than_the_first() -> None:
    """A swizzle may have exchanged them."""
    assert products([(0, 1), (1, 0)], ORDER[:2], row=64) is None
