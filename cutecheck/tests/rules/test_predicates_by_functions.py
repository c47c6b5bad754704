"""Predicates that a function or closure of the program's computes, or a lazily transformed tensor of coordinates."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
template <class C> __device__ bool below(C const& c, int rows) { return get<0>(c) < rows; }
__global__ void __launch_bounds__(128) fill(float const* in, float* out, int m, int n) {
  __shared__ alignas(128) float sm[128 * 32];
  Tensor mm = make_tensor(make_gmem_ptr(in), make_shape(m, n), make_stride(n, _1{}));
  Tensor g = local_tile(mm, Shape<_128, _32>{}, make_coord(blockIdx.x, 0));
  Tensor s = make_tensor(make_smem_ptr(sm), Layout<Shape<_128, _32>, Stride<_32, _1>>{});
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor t = thr.partition_S(g), d = thr.partition_D(s);
  Tensor c = thr.partition_S(make_identity_tensor(shape(s)));
  int const rows = ROWS;
  HELPER
  for (int i = 0; i < size<1>(t); ++i)
    if (ASKED) copy(Load{}, t(_, i, _), d(_, i, _));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
  out[threadIdx.x] = s(threadIdx.x, 0);
}
void run(float const* in, float* out, int m, int n) {
  if (n % 32) return;
  fill<<<(m + 127) / 128, 128>>>(in, out, m, n);
}
"""
WAYS = {
    "lazy": (
        "auto in_rows = cute::lazy::transform(c(0, _, 0), [&](auto x) { return get<0>(x) < rows; });",
        "in_rows(i)",
    ),
    "lazy, by a function": (
        "auto f = [&](auto const& x) { return below(x, rows); }; auto in_rows = cute::lazy::transform(c(0, _, 0), f);",
        "in_rows(i)",
    ),
    "closure": ("auto inside = [&](auto x) { return get<0>(x) < rows; };", "inside(c(0, i, 0))"),
    "function": ("", "below(c(0, i, 0), rows)"),
    "of two": ("", "n > 3 && below(c(0, i, 0), rows)"),
    "closure that counts": (
        "int asked = 0; auto inside = [&](auto x) { ++asked; return get<0>(x) < rows; };",
        "inside(c(0, i, 0)) && asked < 9",
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("rows", "found"), [("m - int(blockIdx.x) * 128", []), ("m", ["CUT604"])])
def test_what_a_function_compares(tmp_path: Path, way: str, rows: str, found: list[str]) -> None:
    text = KERNEL
    for name, code in zip(("HELPER", "ASKED", "ROWS"), (*WAYS[way], rows), strict=True):
        text = text.replace(name, code)
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert not report.failures and not report.errors
    assert [f.code for f in report.findings if f.severity == "error"] == found


WHOLE = """#include <cute/tensor.hpp>
using namespace cute;
template <class In, class Out>
__global__ void moved(In in, Out out) {
  auto extents = shape(in);
  Tensor inside = cute::lazy::transform(make_identity_tensor(extents), [&](auto x) { return elem_less(x, LIMIT); });
  auto block = make_coord(blockIdx.x, blockIdx.y);
  Tensor from = local_partition(local_tile(in, Shape<_64, _32>{}, block), Layout<Shape<_32, _4>>{}, threadIdx.x);
  Tensor to = local_partition(local_tile(out, Shape<_64, _32>{}, block), Layout<Shape<_32, _4>>{}, threadIdx.x);
  Tensor asked = local_partition(local_tile(inside, Shape<_64, _32>{}, block), Layout<Shape<_32, _4>>{}, threadIdx.x);
  Tensor held = make_fragment_like(from);
  copy_if(asked, from, held);
  copy_if(asked, held, to);
}
void run(float const* in, float* out, int m, int n) {
  Tensor a = make_tensor(make_gmem_ptr(in), make_shape(m, n), make_stride(_1{}, m));
  Tensor b = make_tensor(make_gmem_ptr(out), make_shape(m, n), make_stride(_1{}, m));
  moved<<<dim3(ceil_div(m, 64), ceil_div(n, 32)), 128>>>(a, b);
}
"""


@pytest.mark.parametrize("below", ["elem_less(x, extents)", "get<0>(x) < get<0>(extents) && get<1>(x) < size<1>(in)"])
def test_a_lazy_tensor_of_the_whole_problem_is_written_where_it_is_made(tmp_path: Path, below: str) -> None:
    """A part of it that a block takes has coordinates of the whole: they are not those of its tile."""
    (tmp_path / "k.cu").write_text(WHOLE.replace("elem_less(x, LIMIT)", below))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert not report.failures and not report.errors
    assert [f.code for f in report.findings if f.severity == "error"] == []
    assert len(report.facts.events) == 2
