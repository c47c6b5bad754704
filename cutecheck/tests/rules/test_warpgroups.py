"""CUT212 of WGMMAs: a warpgroup waits for its own warps, and for none of another.

On an H200, with one warp later than the others: no result is wrong of one warpgroup without a barrier, and thousands of
two, whether it stands before the products or after them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Atom = GMMA::Layout_K_SW128_Atom<half_t>;
template <int WG>
__global__ void __launch_bounds__(128 * WG) k(half_t const* A, half_t const* B, float* C, int tiles) {
  auto sl = tile_to_shape(Atom{}, Shape<Int<64 * WG>, _64>{});
  auto slb = tile_to_shape(Atom{}, Shape<_64, _64>{});
  __shared__ alignas(1024) half_t a[64 * 64 * WG]; __shared__ alignas(1024) half_t b[64 * 64];
  Tensor sA = make_tensor(make_smem_ptr(a), sl); Tensor sB = make_tensor(make_smem_ptr(b), slb);
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(Int<64 * WG>{}, _64{}, tiles),
      make_stride(_64{}, _1{}, Int<64 * 64 * WG>{}));
  Tensor gB = make_tensor(make_gmem_ptr(B), make_shape(_64{}, _64{}, tiles),
      make_stride(_64{}, _1{}, Int<64 * 64>{}));
  auto ld = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
      Layout<Shape<Int<16 * WG>, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto t = ld.get_slice(threadIdx.x);
  auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{},
      Layout<Shape<Int<WG>, _1, _1>>{});
  auto m = mma.get_slice(threadIdx.x);
  Tensor tA = m.partition_fragment_A(sA), tB = m.partition_fragment_B(sB);
  Tensor gC = make_tensor(make_gmem_ptr(C), Shape<Int<64 * WG>, _64>{}, Stride<_64, _1>{});
  Tensor acc = partition_fragment_C(mma, Shape<Int<64 * WG>, _64>{});
  clear(acc);
  for (int i = 0; i < tiles; ++i) {
    copy(ld, t.partition_S(gA(_, _, i)), t.partition_D(sA));
    copy(ld, t.partition_S(gB(_, _, i)), t.partition_D(sB));
    cp_async_fence(); cp_async_wait<0>();
    cutlass::arch::fence_view_async_shared();
    BARRIER
    warpgroup_fence_operand(acc); warpgroup_arrive();
    gemm(mma, tA, tB, acc);
    warpgroup_commit_batch(); warpgroup_wait<0>(); warpgroup_fence_operand(acc);
    END
  }
  copy(acc, m.partition_C(gC));
}
void run(half_t const* a, half_t const* b, float* c, int tiles) { k<GROUPS><<<1, 128 * GROUPS>>>(a, b, c, tiles); }
"""
FIRST, SECOND = "before the products", "after them"


@pytest.mark.parametrize(("groups", "left_out", "said"), [
    (1, "", ""),
    (1, FIRST, ""),
    (1, SECOND, ""),
    (2, "", ""),
    (2, FIRST, "no barrier comes after their wait"),
    (2, SECOND, "is copied to where shared memory has been read"),
])  # fmt: skip
def test_barriers_around_products(groups: int, left_out: str, said: str, tmp_path: Path) -> None:
    text = KERNEL.replace("GROUPS", str(groups))
    text = text.replace("BARRIER", "" if left_out == FIRST else "__syncthreads();")
    text = text.replace("END", "" if left_out == SECOND else "__syncthreads();")
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, jobs=1))
    assert not report.failures
    assert [(f.code, said in f.message) for f in report.findings] == [("CUT212", True)] * bool(said)


def test_each_warpgroup_copies_all_of_it(tmp_path: Path) -> None:
    """What another one copies is what it copies itself, and has waited for."""
    text = KERNEL.replace("Int<16 * WG>", "_16").replace("ld.get_slice(threadIdx.x)", "ld.get_slice(threadIdx.x % 128)")
    text = text.replace("GROUPS", "2").replace("BARRIER", "").replace("END", "__syncthreads();")
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT212",), cache=False, jobs=1))
    assert not report.failures and not report.findings and report.facts.events


@pytest.mark.parametrize(("groups", "barrier"), [(1, False), (2, True), (2, False)])
def test_one_tile_without_a_loop(groups: int, barrier: bool, tmp_path: Path) -> None:
    text = KERNEL.replace("for (int i = 0; i < tiles; ++i) {", "int i = 0; {").replace("GROUPS", str(groups))
    text = text.replace("BARRIER", "__syncthreads();" * barrier).replace("END", "")
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, jobs=1))
    assert not report.failures and len(report.facts.events) == 4
    wrong = groups == 2 and not barrier
    assert [(f.code, "that `t.partition_D(sB)` has written" in f.message) for f in report.findings] == [
        ("CUT212", True)
    ] * wrong
