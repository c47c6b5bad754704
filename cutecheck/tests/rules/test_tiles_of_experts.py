"""Tiles of a matrix that begins where a number in memory says, by the blocks of the grid."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

EXPERTS = """
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) scale(half_t const* in, half_t* out, int64_t const* experts) {
  int64_t const expert = experts[blockIdx.y];
  Tensor all = make_tensor(make_gmem_ptr(in + expert * 65536), Layout<Shape<_1024, _64>, Stride<_64, _1>>{});
  Tensor g = local_tile(all, Shape<_16, _64>{}, make_coord(int(blockIdx.x), 0));
  auto thr = Move{}.get_slice(threadIdx.x);
  Tensor r = make_fragment_like(thr.partition_S(g));
  copy(Move{}, thr.partition_S(g), r);
  for (int i = 0; i < size(r); ++i) out[(blockIdx.y * 1024 + blockIdx.x * 16) * 64 + threadIdx.x * 8 + i] = r(i);
}
void run(half_t const* in, half_t* out, int64_t const* experts, int n) {
  scale<<<dim3(BLOCKS, n), 128>>>(in, out, experts);
}
"""


@pytest.mark.parametrize("blocks, codes", [(64, []), (128, ["CUT210"])])
def test_blocks_behind_the_end(blocks: int, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "experts.cu").write_text(PREAMBLE + EXPERTS.replace("BLOCKS", str(blocks)))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",), cache=False))
    assert not report.failures
    assert [f.code for f in report.findings] == codes
