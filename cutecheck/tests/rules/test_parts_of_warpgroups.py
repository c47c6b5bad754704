"""CUT605: an MMA of two warpgroups of which each makes its part in a branch of its own, or only the first does."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

SOURCE = """
#include <cute/tensor.hpp>
using namespace cute;
using Q = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
using V = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{},
                                    Layout<Shape<_1, _2, _1>>{}));
struct Storage { alignas(1024) half_t q[cosize_v<Q>]; alignas(1024) half_t v[cosize_v<V>]; };
template <class S> __device__ void product(S& s, int first) {
  Mma mma;
  auto wg = mma.get_slice(first);
  Tensor a = wg.partition_fragment_A(make_tensor(make_smem_ptr(s.q), Q{}));
  Tensor b = wg.partition_fragment_B(make_tensor(make_smem_ptr(s.v), V{}));
  Tensor c = partition_fragment_C(mma, Shape<_64, _128>{});
  clear(c);
  warpgroup_arrive();
  gemm(mma, a, b, c);
  warpgroup_commit_batch();
  warpgroup_wait<0>();
}
__global__ void __launch_bounds__(384) attend() {
  extern __shared__ char memory[];
  Storage& s = *reinterpret_cast<Storage*>(memory);
  int group = threadIdx.x / 128;
  %s
}
void run() { attend<<<1, 384, sizeof(Storage)>>>(); }
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if (group == 1) product(s, 0); else if (group == 2) product(s, 128);", 0),
        ("if (group > 0) product(s, 128 * (group - 1));", 0),
        ("if (group > 0) product(s, group - 1);", 1),
    ],
)
def test_a_warpgroup_that_makes_its_part_apart(tmp_path: Path, body: str, found: int) -> None:
    (tmp_path / "a.cu").write_text(SOURCE % body)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT605",), cache=False))
    assert [f.code for f in made.findings].count("CUT605") == found
