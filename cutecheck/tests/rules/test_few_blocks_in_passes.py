"""Grids with too few blocks for a result that is stored in passes, or by several copies of one tile."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

STORES = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) scale(half_t const* in, half_t* out, int m, int n) {
  Tensor a = make_tensor(make_gmem_ptr(in), make_shape(m, n), make_stride(n, _1{}));
  Tensor b = make_tensor(make_gmem_ptr(out), make_shape(m, n), make_stride(n, _1{}));
  Tensor ga = local_tile(a, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor gb = local_tile(b, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  auto thr = Rows{}.get_slice(threadIdx.x);
  Tensor from = thr.partition_S(ga);
  Tensor to = thr.partition_D(gb);
  STORE
}
void run(half_t const* in, half_t* out, int m, int n) {
  if (m % 128 || n % 64) return;
  scale<<<dim3(BLOCKS, n / 64), 128>>>(in, out, m, n);
}
"""
PASSES = "for (int i = 0; i < size<1>(from); i += 1) copy(Rows{}, from(_, i, _), to(_, i, _));"
BOTH = "copy(Rows{}, from(_, 0, _), to(_, 0, _)); copy(Rows{}, from(_, 1, _), to(_, 1, _));"
FAR = """Tensor more = thr.partition_D(local_tile(b, Shape<_64, _64>{}, make_coord(blockIdx.x + m / 128, blockIdx.y)));
  copy(Rows{}, from(_, 0, _), to(_, 0, _)); copy(Rows{}, from(_, 0, _), more(_, 0, _));"""
TILES = """for (int h = 0; h < 2; ++h) {
    Tensor t = thr.partition_D(local_tile(b, Shape<_64, _64>{}, make_coord(blockIdx.x + h * (m / 128), blockIdx.y)));
    copy(Rows{}, from, t);
  }"""


@pytest.mark.parametrize(
    ("store", "blocks", "found"),
    [
        (PASSES, "m / 64", False), (PASSES, "m / 128", True), (BOTH, "m / 64", False), (BOTH, "m / 128", True),
        (FAR, "m / 128", False), (TILES, "m / 128", False),
    ],
)  # fmt: skip
def test_few_blocks(tmp_path: Path, store: str, blocks: str, found: bool) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + STORES.replace("STORE", store, 1).replace("BLOCKS", blocks))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert (
        any(f.code == "CUT219" and "nothing is stored to those behind" in f.message for f in report.findings) is found
    )
