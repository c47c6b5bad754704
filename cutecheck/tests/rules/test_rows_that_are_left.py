"""CUT604 of a matrix whose extent is itself what a block leaves of its segment: it starts at the block's rows."""

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, half_t>{},
    Layout<Shape<_8, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(64) segments(half_t const* x, half_t* y, int const* starts, int columns) {
  __shared__ alignas(128) half_t s[16 * 72];
  int const first = starts[blockIdx.y] + blockIdx.x * 16, end = starts[blockIdx.y + 1];
  if (first >= end) return;
  int const rows = min(16, end - first);
  auto layout = make_layout(make_shape(rows, columns), make_stride(columns, _1{}));
  Tensor mX = make_tensor(make_gmem_ptr(x + int64_t(first) * columns), layout);
  Tensor gX = local_tile(mX, Shape<_16, _64>{}, make_coord(0, 0));
  Tensor sX = make_tensor(make_smem_ptr(s), Layout<Shape<_16, _64>, Stride<_72, _1>>{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor from = thr.partition_S(gX), to = thr.partition_D(sX);
  Tensor at = thr.partition_S(make_identity_tensor(Shape<_16, _64>{}));
  for (int i = 0; i < size<1>(to); ++i) copy(load.with(get<0>(at(0, i, 0)) < rows), from(_, i, _), to(_, i, _));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
  y[threadIdx.x] = sX(threadIdx.x / 4, 0);
}
void run(half_t const* x, half_t* y, int const* starts, int many, int columns) {
  if (columns % 64 == 0) segments<<<dim3(8, many), 64>>>(x, y, starts, columns);
}
"""


def test_an_extent_that_is_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT604",)))
    assert not report.failures
    assert report.findings == ()
