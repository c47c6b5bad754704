"""The last tile of a mode whose end a kernel guards: grids without a block for it, CUT219, whole stores, CUT210."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNELS = """
#include <cassert>
#include <cute/tensor.hpp>
using namespace cute;
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
#define TILES \\
  Tensor mI = make_tensor(make_gmem_ptr(in), make_layout(make_shape(m, n), LayoutRight{})); \\
  Tensor mO = make_tensor(make_gmem_ptr(out), make_layout(make_shape(m, n), LayoutRight{})); \\
  Tensor cI = make_identity_tensor(make_shape(m, n)); \\
  auto coord = make_coord(blockIdx.x, blockIdx.y); \\
  Tensor gI = local_tile(mI, Shape<_64, _32>{}, coord), gO = local_tile(mO, Shape<_64, _32>{}, coord); \\
  Tensor gC = local_tile(cI, Shape<_64, _32>{}, coord); \\
  auto thr = Load{}.get_slice(threadIdx.x); \\
  Tensor tI = thr.partition_S(gI), tO = thr.partition_D(gO), tC = thr.partition_S(gC)
__global__ void __launch_bounds__(128) predicated(float const* in, float* out, int m, int n) {
  TILES;
  Tensor r = make_fragment_like(tI);
  Tensor pred = make_tensor<bool>(make_shape(size<1>(tI), size<2>(tI)), make_stride(_1{}, _0{}));
  for (int i = 0; i < size<0>(pred); ++i) pred(i, 0) = get<0>(tC(0, i, 0)) < m;
  copy_if(Load{}, pred, tI, r);
  copy_if(Load{}, pred, r, tO);
}
__global__ void __launch_bounds__(128) guarded(float const* in, float* out, int m, int n) {
  TILES;
  for (int i = 0; i < size<1>(tI); ++i)
    if (get<0>(tC(0, i, 0)) < m) copy(Load{}, tI(_, i, _), tO(_, i, _));
}
__global__ void __launch_bounds__(128) rest(float const* in, float* out, int m, int n) {
  for (int i = m / 64 * 64 * n + blockIdx.x * 128 + threadIdx.x; i < m * n; i += 128 * gridDim.x) out[i] = in[i];
}
__global__ void __launch_bounds__(128) whole(float const* in, float* out, int m, int n) {
  TILES;
  copy(Load{}, tI, tO);
}
"""
RIGHT = [
    "guarded<<<dim3((m + 63) / 64, n / 32), 128>>>(a, b, m, n);",
    "guarded<<<dim3(ceil_div(m, 64), n / 32), 128>>>(a, b, m, n);",
    "predicated<<<dim3(m / 64 + (m % 64 != 0), n / 32), 128>>>(a, b, m, n);",
    "if (m % 64 == 0) guarded<<<dim3(m / 64, n / 32), 128>>>(a, b, m, n);",
    "assert(m % 64 == 0); guarded<<<dim3(m / 64, n / 32), 128>>>(a, b, m, n);",
    "if (m % 64 != 0) throw 1; guarded<<<dim3(m / 64, n / 32), 128>>>(a, b, m, n);",
    "int t = m / 64; if (t * 64 != m) return; guarded<<<dim3(t, n / 32), 128>>>(a, b, m, n);",
    "predicated<<<dim3(4 * m, n / 32), 128>>>(a, b, 256 * m, n);",
    "guarded<<<dim3((m + 63) / 64, n / 32), 128>>>(a, b, m, n); guarded<<<dim3(m / 64, 1), 128>>>(a, b, m, n);",
    "whole<<<dim3(m / 64, n / 32), 128>>>(a, b, m, n);",
    "guarded<<<dim3(m / 64, n / 32), 128>>>(a, b, m, n); if (m % 64) rest<<<1, 128>>>(a, b, m, n);",
    "guarded<<<dim3(m / 64, n / 32), 128>>>(a, b, m, n); rest<<<m % 64, 128>>>(a, b, m, n);",
]
WRONG = [
    "rest<<<n, 128>>>(a, b, m, n); guarded<<<dim3(m / 64, n / 32), 128>>>(a, b, m, n);",
    "predicated<<<dim3(m / 64, n / 32), 128>>>(a, b, m, n);",
    "guarded<<<dim3(m / 64, n / 32), 128>>>(a, b, m, n);",
    "int tiles = m / 64; dim3 grid(tiles, n / 32); guarded<<<grid, 128>>>(a, b, m, n);",
]


@pytest.mark.parametrize(("launch", "expected"), [*((r, 0) for r in RIGHT), *((w, 1) for w in WRONG)])
def test_whether_the_last_tile_has_a_block(tmp_path: Path, launch: str, expected: int) -> None:
    text = f"{KERNELS}void run(float const* a, float* b, int m, int n) {{ {launch} }}\n"
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT219",)))
    assert not report.errors
    assert [f.span.line for f in report.findings] == [text.count("\n")] * expected


LOAD = """
  for (int i = 0; i < size<1>(tI); ++i)
    if (get<0>(tC(0, i, 0)) < m) copy(Load{}, tI(_, i, _), r(_, i, _));"""
STORE = LOAD.replace("tI(_, i, _), r(_, i, _)", "r(_, i, _), tO(_, i, _)")
REST = STORE.replace("get<0>(tC(0, i, 0)) < m", "threadIdx.x / 8 + 16 * i < rest")
PREDICATED = """
  Tensor pred = make_tensor<bool>(make_shape(size<1>(tI), size<2>(tI)), make_stride(_1{}, _0{}));
  for (int i = 0; i < size<0>(pred); ++i) pred(i, 0) = get<0>(tC(0, i, 0)) < m;
  copy_if(Load{}, pred, tI, r);"""
WHOLE = "\n  copy(Load{}, r, tO);"
BODIES = {
    LOAD + STORE: 0,
    f"{LOAD} out[threadIdx.x] = r(0);": 0,
    f"{PREDICATED} copy_if(Load{{}}, pred, r, tO);": 0,
    f"if (blockIdx.x * 64 + 64 <= m) {{ copy(Load{{}}, tI, r); {WHOLE} }} else {{ {LOAD} {STORE} }}": 0,
    f"if (int(blockIdx.x) * 64 >= m) return; {LOAD} {STORE}": 0,
    f"int rest = m - blockIdx.x * 64; {LOAD} {REST}": 0,
    f"copy(Load{{}}, tI, r); {STORE}": 0,
    LOAD + WHOLE: 1,
    PREDICATED + WHOLE: 1,
    # the loop ends where the mode does
    LOAD
    + """
  int rows = m - 64 * int(blockIdx.x) - int(threadIdx.x) / 8;
  for (int i = 0; i < min(int(size<1>(tO)), (rows + 15) / 16); ++i) copy(Load{}, r(_, i, _), tO(_, i, _));""": 0,
}


@pytest.mark.parametrize(("body", "expected"), list(BODIES.items()), ids=range(len(BODIES)))
def test_what_is_stored_of_the_last_tile(tmp_path: Path, body: str, expected: int) -> None:
    head = "__global__ void __launch_bounds__(128) some(float const* in, float* out, int m, int n) {"
    text = f"{KERNELS}{head}\n  TILES; Tensor r = make_fragment_like(tI); clear(r);\n{body}}}\n"
    text += "void run(float* a, float* b, int m, int n) { some<<<dim3((m + 63) / 64, n / 32), 128>>>(a, b, m, n); }\n"
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT210",)))
    assert not report.errors
    assert [f.code for f in report.findings] == ["CUT210"] * expected
