"""Which of several overloads a call takes; the answers are what g++ 12 prints."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import number

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
struct Base { int b; };
struct Derived : Base {};
struct Made { __device__ Made(int) {} };
__device__ int one(float) { return 1; } template <class T> __device__ int one(T) { return 2; }
__device__ int two(float) { return 1; } __device__ int two(int) { return 2; }
__device__ int three(bool&, bool) { return 1; }
template <class T> __device__ int three(T& t, T const& d) { t = d; return 2; }
__device__ int four(Base const&) { return 1; } template <class T> __device__ int four(T const&) { return 2; }
__device__ int five(Made) { return 1; } template <class T> __device__ int five(T) { return 2; }
__device__ int six(Made) { return 1; } __device__ int six(long) { return 2; }
__device__ int seven(int32_t&) { return 1; } __device__ int seven(int64_t&) { return 2; }
__device__ int eight(double) { return 1; } __device__ int eight(int) { return 2; }
__device__ int nine(size_t) { return 1; } template <class T> __device__ int nine(T const&) { return 2; }
__device__ int ten(unsigned&) { return 1; } __device__ int ten(int const&) { return 2; }
__device__ int eleven(float const&) { return 1; } __device__ int eleven(int&) { return 2; }
__device__ int twelve(Base const&) { return 1; } __device__ int twelve(Derived const&) { return 2; }
__device__ int thirteen(Base&) { return 1; } __device__ int thirteen(Made const&) { return 2; }
__device__ int fourteen(int*) { return 1; } template <class T> __device__ int fourteen(T*) { return 2; }
__device__ int fifteen(bool) { return 1; } template <class T> __device__ int fifteen(T*) { return 2; }
__device__ int sixteen(int, float) { return 1; } __device__ int sixteen(int, int) { return 2; }
__device__ int seventeen(int64_t, int) { return 1; } template <class T> __device__ int seventeen(T, int) { return 2; }
__device__ int eighteen(unsigned long long) { return 1; } __device__ int eighteen(long) { return 2; }
template <class T> __device__ void seen(T const& t) { copy(t, t); }
__global__ void k(int i, float f, int* p, float* pf) {
  __shared__ half_t s[65536];
  short h = 1; char c = 1; bool b = true; long l = 1; int64_t q = 1; size_t z = 1; unsigned u = 1; Derived d;
  BODY
  seen(make_tensor(make_smem_ptr(s + (SHOWN)), Layout<_8>{}));
}
void host(int i, float f, int* p, float* pf) { k<<<1, 32>>>(i, f, p, pf); }
"""
TAKEN = {
    "one(i)": 2, "one(f)": 1, "two(h)": 2, "two(c)": 2, "two(b)": 2, "two(f)": 1, "three(i, 64)": 2,
    "three(b, true)": 1,
    "four(d)": 2, "five(i)": 2, "six(i)": 2, "seven(i)": 1, "seven(l)": 2, "seven(q)": 2, "eight(f)": 1, "eight(h)": 2,
    "eight(b)": 2, "nine(z)": 1, "nine(i)": 2, "ten(i)": 2, "ten(u)": 1, "eleven(i)": 2, "eleven(f)": 1, "twelve(d)": 2,
    "thirteen(d)": 1, "fourteen(p)": 1, "fourteen(pf)": 2, "fifteen(p)": 2, "sixteen(i, f)": 1, "sixteen(i, h)": 2,
    "seventeen(q, i)": 1, "seventeen(i, i)": 2, "eighteen(q)": 2,
}  # fmt: skip


@pytest.mark.parametrize(("call", "taken"), TAKEN.items())
def test_the_overload_that_a_compiler_takes(call: str, taken: int, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, "", call) == taken


def test_a_reference_to_another_type_is_not_bound_to_what_is_written(tmp_path: Path) -> None:
    """The overload of flags has no template to deduce, and took numbers, which it then left as they were."""
    assert number(tmp_path, KERNEL, "int x = 128; three(x, 64);", "x") == 64
