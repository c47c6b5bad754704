"""What a function takes and gives is deduced from it: ``template <class... Ps> launch(void (*kernel)(Ps...), ...)``."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = """
#include <cute/tensor.hpp>
using namespace cute;
template <class C> __global__ void kern(float const* in, float* out, C const c);
__global__ void plain(int a, float* out);
int fun(char, short);
void twice(int);
void twice(int, int);
template <class... Ps> constexpr int count(void (*)(Ps...)) { return 1 + sizeof...(Ps); }
template <class... Ps> constexpr int sizes(void (*k)(Ps...)) { return (sizeof(Ps) + ...); }
template <class A, class B> constexpr int two(void (*)(A, B)) { return 10 * sizeof(A) + sizeof(B); }
template <class R, class... Ps> constexpr int gives(R (*)(Ps...)) { return sizeof(R) + sizeof...(Ps); }
template <class... Ps, class... As> constexpr int both(void (*)(Ps...), As...) {
  return 10 * sizeof...(Ps) + sizeof...(As); }
template <class F> struct traits;
template <class R, class... A> struct traits<R (*)(A...)> { static constexpr int arity = 1 + sizeof...(A); };
inline void (*pointer)(int, int) = nullptr;
"""


def shown(folder: Path, number: str) -> list[str]:
    (folder / "k.cu").write_text(HEAD + f"using L = Layout<Shape<_2, Int<{number}>>>;\n")
    return [str(s.value) for s in extract(ExtractRequest((folder,))).sites if s.status == "resolved"]


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("count(&plain)", 3),
        ("sizes(plain)", 12),
        ("count(kern<char>)", 4),
        ("sizes(&kern<char>)", 17),
        ("two(plain)", 48),
        ("gives(fun)", 6),
        ("both(plain, 1, 2, 3)", 23),
        ("both(kern<int>, 1, 2, 3)", 33),
        ("traits<decltype(&fun)>::arity", 3),
        ("traits<decltype(&kern<int>)>::arity", 4),
    ],
)
def test_parameters_of_functions(tmp_path: Path, number: str, value: int) -> None:
    assert shown(tmp_path, number) == [f"(_2,_{value}):(_1,_2)"]


@pytest.mark.parametrize("number", ["count(pointer)", "count(&twice)"])
def test_a_function_that_is_not_known_takes_no_empty_pack(tmp_path: Path, number: str) -> None:
    assert shown(tmp_path, number) in ([], ["(_2,_3):(_1,_2)"])  # which `pointer` takes, and neither is 1


def test_a_launcher_that_casts_to_what_the_kernel_takes(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        """
#include <cute/tensor.hpp>
using namespace cute;
template <int N> __global__ void kern(float const* in, float* out) {
  copy(make_tensor(make_gmem_ptr(in), Layout<Int<N>>{}), make_tensor(make_gmem_ptr(out), Layout<Int<N>>{}));
}
struct Grid { dim3 grid, block; size_t smem = 0; };
template <class... Params, class... Args>
void launch(Grid const& g, void (*kernel)(Params...), Args&&... args) {
  kernel<<<g.grid, g.block, g.smem>>>(static_cast<Params>(std::forward<Args>(args))...);
}
void go(float* p) { launch({.grid = 1, .block = 96}, kern<8>, p, p); }
"""
    )
    assert [event.threads for event in extract(ExtractRequest((tmp_path,))).events] == [96]


def test_cooperative_launches(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        """
#include <cute/tensor.hpp>
using namespace cute;
template <int N> __global__ void kern(float const* in, float* out) {
  copy(make_tensor(make_gmem_ptr(in), Layout<Int<N>>{}), make_tensor(make_gmem_ptr(out), Layout<Int<N>>{}));
}
template <int N> int go(void* in, void* out, int blocks) {
  void* args[] = {&in, &out};
  return cudaLaunchCooperativeKernel((void*)kern<N>, blocks, 96, args, 1024, nullptr);
}
template int go<8>(void*, void*, int);
"""
    )
    (launch,) = extract(ExtractRequest((tmp_path,))).launches
    assert (launch.block_threads, str(launch.smem_bytes)) == (96, "1024")
