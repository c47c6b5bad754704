"""Right kernels in unusual forms, each beside the mistake that it is like: what a program asks first, memory with room
for whole tiles, slices that a thread takes one after the other, a part for each split, elements stored by hand."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

VECTORS = """
using V = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _4>>{}));
using S = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
"""
PANEL = """
__global__ void __launch_bounds__(128) panel(float const* X, float* Y, int n, int k) {
  Tensor mX = make_tensor(make_gmem_ptr(X), make_shape(n, k), make_stride(n, _1{}));
  Tensor mY = make_tensor(make_gmem_ptr(Y), make_shape(n, k), make_stride(k, _1{}));
  auto t = V{}.get_slice(threadIdx.x);
  Tensor tX = t.partition_S(local_tile(mX, Shape<_32, _128>{}, make_coord(blockIdx.x, blockIdx.y)));
  Tensor tY = t.partition_D(local_tile(mY, Shape<_32, _128>{}, make_coord(blockIdx.x, blockIdx.y)));
  Tensor r = make_fragment_like(tX);
  copy(V{}, tX, r);
  copy(V{}, r, tY);
}
void run(float const* X, float* Y, int n, int k) {
  if (n % 128 == 0 && k % 128 == 0ASKED) panel<<<dim3(n / 32, k / 128), 128>>>(X, Y, n, k);
}
"""
SLICES = """
__global__ void __launch_bounds__(64) slices(float const* X, float* Y) {
  Tensor gX = make_tensor(make_gmem_ptr(X), Layout<Shape<_4, _128>, Stride<_128, _1>>{});
  Tensor gY = make_tensor(make_gmem_ptr(Y), Layout<Shape<_4, _128>, Stride<_128, _1>>{});
  LOOP {
    auto thr = V{}.get_slice(SLICE);
    copy(V{}, thr.partition_S(gX), thr.partition_D(gY));
  }
}
void run(float const* X, float* Y) { slices<<<1, 64>>>(X, Y); }
"""
PADDED = """
__global__ void __launch_bounds__(128) to_rows(float const* X, float* W, int m, int n, int pitch) {
  auto tile = Shape<_32, _64>{};
  Tensor mX = make_tensor(make_gmem_ptr(X), make_shape(m, n), make_stride(n, _1{}));
  Tensor mW = make_tensor(make_gmem_ptr(W), make_shape(m, n), make_stride(pitch, _1{}));
  Tensor cX = local_tile(make_identity_tensor(shape(mX)), tile, make_coord(blockIdx.x, blockIdx.y));
  auto t = S{}.get_slice(threadIdx.x);
  Tensor tX = t.partition_S(local_tile(mX, tile, make_coord(blockIdx.x, blockIdx.y)));
  Tensor tW = t.partition_D(local_tile(mW, tile, make_coord(blockIdx.x, blockIdx.y)));
  Tensor tc = t.partition_S(cX);
  Tensor r = make_fragment_like(tX);
  clear(r);
  for (int i = 0; i < size<1>(tX); ++i)
    for (int j = 0; j < size<2>(tX); ++j)
      if (elem_less(tc(0, i, j), shape(mX))) copy(S{}, tX(_, i, j), r(_, i, j));
  copy(S{}, r, tW);
}
void run(float const* X, float* W, int m, int n) {
  to_rows<<<dim3((m + 31) / 32, (n + 63) / 64), 128>>>(X, W, m, n, PITCH);
}
"""
SPLITS = """
__global__ void __launch_bounds__(128) splits(float const* X, float* Y, int m, int n, int parts) {
  int const per = n / gridDim.y;
  Tensor mX = make_tensor(make_gmem_ptr(X + blockIdx.y * PER), make_shape(m, per), make_stride(n, _1{}));
  Tensor mY = make_tensor(make_gmem_ptr(Y + blockIdx.y * m * per), make_shape(m, per), make_stride(per, _1{}));
  auto t = V{}.get_slice(threadIdx.x);
  for (int c = 0; c < per / 128; ++c)
    copy(V{}, t.partition_S(local_tile(mX, Shape<_4, _128>{}, make_coord(blockIdx.x, c))),
         t.partition_D(local_tile(mY, Shape<_4, _128>{}, make_coord(blockIdx.x, c))));
}
void run(float const* X, float* Y, int m, int n, int parts) {
  if (m % 4 == 0 && n % 1024 == 0) splits<<<dim3(m / 4, parts), 128>>>(X, Y, m, n, parts);
}
"""
IN_TURN = """
using R = Layout<Shape<_32, _128>, Stride<_128, _1>>;
using T = Layout<Shape<_128, _32>, Stride<Int<36>, _1>>;
using VT = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) in_turn(float const* X, float* Y) {
  __shared__ alignas(16) float pool[cosize_v<T>];
  Tensor gX = make_tensor(make_gmem_ptr(X), R{});
  Tensor gY = make_tensor(make_gmem_ptr(Y), Layout<Shape<_128, _32>, Stride<_32, _1>>{});
  Tensor s1 = make_tensor(make_smem_ptr(pool), R{});
  Tensor s2 = make_tensor(make_smem_ptr(pool), T{});
  auto t = V{}.get_slice(threadIdx.x);
  copy(V{}, t.partition_S(gX), t.partition_D(s1));
  __syncthreads();
  float v[32];
  for (int i = 0; i < 32; ++i) v[i] = s1(i, int(threadIdx.x));
  __syncthreads();
  STORED
  __syncthreads();
  auto u = VT{}.get_slice(threadIdx.x);
  copy(VT{}, u.partition_S(s2), u.partition_D(gY));
}
void run(float const* X, float* Y) { in_turn<<<1, 128>>>(X, Y); }
"""


def _found(folder: Path, text: str, code: str) -> bool:
    (folder / "k.cu").write_text(PREAMBLE + VECTORS + text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=(code,)))
    assert not report.failures and report.facts.events
    return bool(report.findings)


@pytest.mark.parametrize(
    ("asked", "found"), [(" && k <= n", False), (" && n >= k", False), (" && k >= n", True), ("", True)]
)
def test_the_first_columns_of_a_square_matrix(tmp_path: Path, asked: str, found: bool) -> None:
    assert _found(tmp_path, PANEL.replace("ASKED", asked), "CUT223") is found


@pytest.mark.parametrize(
    ("loop", "slice_", "found"),
    [
        ("for (int t = threadIdx.x; t < 128; t += 64)", "t", False),
        ("for (int h = 0; h < 2; ++h)", "threadIdx.x + 64 * h", False),
        ("", "threadIdx.x", True),
        ("for (int h = 0; h < 2; ++h)", "threadIdx.x", True),
    ],
)
def test_threads_that_take_several_slices(tmp_path: Path, loop: str, slice_: str, found: bool) -> None:
    assert _found(tmp_path, SLICES.replace("LOOP", loop).replace("SLICE", slice_), "CUT701") is found


@pytest.mark.parametrize(("pitch", "found"), [("(n + 63) / 64 * 64", False), ("n", True), ("(n + 3) / 4 * 4", True)])
def test_rows_with_room_for_whole_tiles(tmp_path: Path, pitch: str, found: bool) -> None:
    assert _found(tmp_path, PADDED.replace("PITCH", pitch), "CUT210") is found


@pytest.mark.parametrize(("per", "found"), [("per", False), ("(per + 1)", True)])
def test_a_part_for_each_split(tmp_path: Path, per: str, found: bool) -> None:
    assert _found(tmp_path, SPLITS.replace("PER", per), "CUT402") is found


@pytest.mark.parametrize(
    ("stored", "found"),
    [("for (int i = 0; i < 32; ++i) s2(int(threadIdx.x), i) = v[i];", False), ("Y[threadIdx.x] = v[0] + v[31];", True)],
)
def test_memory_that_threads_fill_again(tmp_path: Path, stored: str, found: bool) -> None:
    assert _found(tmp_path, IN_TURN.replace("STORED", stored), "CUT208") is found
