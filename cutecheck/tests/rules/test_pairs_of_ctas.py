"""CUT804: operations of two CTAs, in clusters of an odd number of them."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/cluster_launch.hpp>
using namespace cute;
using Mma = decltype(make_tiled_mma(SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 256, 256, UMMA::Major::K,
    UMMA::Major::K>{}));
template <class LayoutA, class LayoutB>
__global__ void __launch_bounds__(128) multiply(half_t const* A, LayoutA a, LayoutB b) {
  extern __shared__ char raw[];
  Tensor sA = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(raw)), a);
  Tensor sB = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(raw) + cosize_v<LayoutA>), b);
  auto cta = Mma{}.get_slice(cute::block_rank_in_cluster());
  Mma mma;
  Tensor rA = mma.make_fragment_A(sA), rB = mma.make_fragment_B(sB);
  Tensor acc = cta.make_fragment_C(partition_shape_C(mma, Shape<_256, _256>{}));
  mma.accumulate_ = UMMA::ScaleOut::Zero;
  if (cute::elect_one_sync()) gemm(mma, rA(_, _, 0), rB(_, _, 0), acc);
}
void run(half_t const* A, int tiles) {
  auto shape_a = partition_shape_A(Mma{}, make_shape(Int<256>{}, Int<64>{}));
  auto shape_b = partition_shape_B(Mma{}, make_shape(Int<256>{}, Int<64>{}));
  auto a = UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, shape_a);
  auto b = UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, shape_b);
  dim3 cluster(CTAS, 1, 1);
  cutlass::ClusterLaunchParams params = {dim3(2 * tiles), dim3(128), cluster, 65536};
  cutlass::launch_kernel_on_cluster(params, (void const*)&multiply<decltype(a), decltype(b)>, A, a, b);
}
"""


@pytest.mark.parametrize("ctas, wrong", [(1, 1), (2, 0), (3, 1), (4, 0)])
def test_an_mma_of_two(ctas: int, wrong: int, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("CTAS", str(ctas)))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_100a",), select=("CUT804",), cache=False))
    assert not report.failures and len(report.facts.events) == 1
    assert [f"clusters of {ctas}" in f.message for f in report.findings] == [True] * wrong


def test_as_many_as_nothing_says(tmp_path: Path) -> None:
    text = KERNEL.replace("cluster(CTAS,", "cluster(ctas,").replace("int tiles)", "int tiles, int ctas)")
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_100a",), select=("CUT804",), cache=False))
    assert not report.failures and report.findings == ()
