"""A pointer of which it is not known where it leads: what it may lead to is not known once it is written through."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.model.ints import as_expr
from cutecheck.source.eval.threads import varies
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = """
#include <cute/tensor.hpp>
#include <functional>
using namespace cute;
template <class T> __device__ void bump(T& t, int by) { t += by; }
template <class... T> __device__ void all(T&... t) { ((t += 8), ...); }
__device__ void after(int& a, int& b) { b = 8; a += 8; }
__device__ void aim(int** p, int* to) { *p = to; }
__device__ int sum(int const& a, int b) { b += a; return b; }
struct Kept { int& r; __device__ Kept(int& x) : r(x) {} __device__ void up() { r += 8; } };
__global__ void k(int m) {
  __shared__ half_t s[4096];
  int x = 0, y = 8, z = 0;
  int* q[2] = {&x, &y};
"""
TAIL = """
  copy(make_tensor(make_smem_ptr(s + y), Layout<_8>{}), make_tensor<half_t>(Layout<_8>{}));
}
void host(int m) { k<<<1, 32>>>(m); }
"""


def _said(body: str, folder: Path) -> object:
    (folder / "a.cu").write_text(HEAD + body + TAIL)
    (event,) = extract(ExtractRequest((folder,), ("sm_80",))).events
    return event.operands[0].offset


@pytest.mark.parametrize(
    "body",
    [
        "*q[m % 2] += 8;",
        "bump(*q[m % 2], 8);",
        "int* p = q[m % 2]; bump(*p, 8);",
        "all(z, *q[m % 2]);",
        "after(*q[m % 2], y);",
        "auto f = [](auto&& t) { t += 8; }; f(*q[m % 2]);",
        "auto f = [&](int i) -> int& { return *q[i]; }; bump(f(m % 2), 8);",
        "Kept r(*q[m % 2]); y = 8; r.up();",
        "int* p[2]; aim(&p[0], &x); p[1] = &y; bump(*p[m % 2], 8);",
        "*q[threadIdx.x % 2] = 4;",
        "int& r = *q[threadIdx.x % 2]; r = 4;",
        "std::reference_wrapper<int> w[2] = {x, y}; bump(w[m % 2].get(), 8);",
        "outer_set(y, int(threadIdx.x));",
    ],
)
def test_what_may_be_written_is_any_number_of_each_thread_its_own(body: str, tmp_path: Path) -> None:
    offset = _said(body, tmp_path)
    assert as_expr(offset).constant is None  # type: ignore[arg-type]
    assert varies(as_expr(offset))  # type: ignore[arg-type]


@pytest.mark.parametrize("value, changes", [("outer_write(3);", True), ("z = min(m, 3);", False)])
def test_what_has_gone_elsewhere_is_written_by_others_in_a_loop_too(value: str, changes: bool, tmp_path: Path) -> None:
    offset = as_expr(_said(f"for (int i = 0; i < 4; ++i) {{ outer_aim(&y); y = 8; {value} }}", tmp_path))  # type: ignore[arg-type]
    assert (offset.constant is None) == changes


@pytest.mark.parametrize(
    "body",
    ["bump(*q[0], 8);", "z = sum(*q[m % 2], 8);", "auto f = [](int t) { t += 8; }; f(*q[m % 2]);", "z = *q[m % 2];"],
)
def test_what_is_only_read_stays(body: str, tmp_path: Path) -> None:
    assert as_expr(_said(body, tmp_path)).constant == 8  # type: ignore[arg-type]
