"""Kernels whose blocks share a loop, each of which has a part of it: by how many run-time numbers say."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Move = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
using Read = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
using Rows = Layout<Shape<_32, _64, _3>, Stride<Int<72>, _1, Int<32 * 72>>>;
__global__ void __launch_bounds__(128) total(float const* in, float* out, int* turn, int k, int splits) {
  __shared__ alignas(16) float tiles[cosize_v<Rows>];
  int const all = k / 64, each = (all + splits - 1) / splits;
  int const first = blockIdx.x * each, last = min(all, first + each);
  Tensor g = make_tensor(make_gmem_ptr(in), make_layout(make_shape(_32{}, _64{}, all), make_stride(k, _1{}, _64{})));
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_32, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(tiles), Rows{});
  auto t = Move{}.get_slice(threadIdx.x);
  auto r = Read{}.get_slice(threadIdx.x);
  Tensor part = make_fragment_like(r.partition_S(s(_, _, 0)));
  Tensor sum = make_fragment_like(part);
  clear(sum);
  for (int i = 0; i < 2; ++i) {
    if (first + i < last) copy(Move{}, t.partition_S(g(_, _, first + i)), t.partition_D(s(_, _, i)));
    cp_async_fence();
  }
  for (int i = first, stage = 0; i < last; ++i) {
    cp_async_wait<1>();
    __syncthreads();
    if (i + 2 < last) copy(Move{}, t.partition_S(g(_, _, i + 2)), t.partition_D(s(_, _, (stage + 2) % 3)));
    cp_async_fence();
    copy(Read{}, r.partition_S(s(_, _, stage)), part);
    axpby(1.f, part, 1.f, sum);
    stage = stage + 1 == 3 ? 0 : stage + 1;
  }
  if (splits > 1) {
    while (__syncthreads_and(threadIdx.x > 0 || *(int volatile*)turn != blockIdx.x)) {}
  }
  copy(Read{}, sum, r.partition_D(o));
}
void run(float const* in, float* out, int* turn, int k, int splits) {
  if (k % 64) return;
  total<<<splits, 128>>>(in, out, turn, k, splits);
}
"""


@pytest.mark.parametrize(
    "old, new, found",
    [
        ("", "", False),
        ("(stage + 2) % 3", "(stage + 3) % 3", True),
        ("s(_, _, stage)), part", "s(_, _, 0)), part", True),
        ("stage + 1 == 3", "stage + 1 == 2", True),
    ],
)
def test_a_block_with_a_share_of_the_loop(old: str, new: str, found: bool, tmp_path: Path) -> None:
    (tmp_path / "total.cu").write_text(PREAMBLE + KERNEL.replace(old, new))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",), cache=False))
    assert not report.failures
    assert bool({f.code for f in report.findings} & {"CUT212", "CUT213", "CUT218"}) is found
    assert found or not report.findings
