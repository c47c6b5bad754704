"""What epilogues of visitors need; the numbers are those of g++.

Deduction past defaulted arguments and in packs, arrays as elements of tensors, ``void`` operands, strides that a type
alone gives, tuples of objects in memory.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.shown import kernel, number

DECLARATIONS = """
#include <cute/tensor.hpp>
using namespace cute;
template <class T, int N, bool R = (sizeof(T) >= 4)> struct Arr { T v[N]; };
template <class T, class U = Arr<T, 4>, int K = 7> struct Vec {};
template <class T, int N> __device__ int f(Arr<T, N> const& a) { return N * 100 + int(sizeof(T)); }
template <class T> __device__ int g(Vec<T> const&) { return 1; }
template <class T, class U> __device__ int g(Vec<T, U> const&) { return 2; }
template <class T, class U, int K> __device__ int g(Vec<T, U, K> const&) { return 3; }
template <class T> struct Tr { static constexpr int v = 1; };
template <class T, int N> struct Tr<Arr<T, N>> { static constexpr int v = 2; };
template <class T, int N, class... In> __device__ int h(Arr<T, N> const& a, int, Arr<In, N> const&... in) {
  return N + int(sizeof...(In)) * 10;
}
template <class... T, class... U> __device__ int hh(Vec<T, U> const&...) {
  return int(sizeof...(T)) * 10 + (int(sizeof(T)) + ... + 0);
}
template <class T> __device__ int hh(T) { return 5; }
template <int... Is> __device__ int kk(Int<Is>...) { return (Is + ... + 0); }
template <class T, int N> __device__ int e(cutlass::Array<T, N> const&) { return N * 100 + int(sizeof(T)); }
template <class T, int N, bool R> __device__ int ee(cutlass::Array<T, N, R> const&) { return N * 100 + R; }
__device__ auto wide() { auto t = make_tensor<float>(Layout<_16>{}); return recast<cutlass::Array<float, 4>>(t); }
__device__ auto narrow() { auto t = make_tensor<half_t>(Layout<_16>{}); return recast<cutlass::Array<half_t, 8>>(t); }
template <class S> constexpr int major() {
  if constexpr (sizeof(half_t) == 2 && size<0>(S{}) == 1) return 8;
  else if constexpr (size<1>(S{}) == 1) return 16;
  else return 32;
}
constexpr int first(Stride<int, _1> s) { return get<0>(s) == 5 ? 8 : 16; }
constexpr int of_nothing = first(Stride<int, _1>{});
struct Em {}; struct A { alignas(16) float x[4]; }; struct B { char c; };
struct SA { array_aligned<half_t, 64> a; }; struct SB { float b[3]; };
using TT = cute::tuple<SB, SA, Em, SB>;
struct Sh { int q; TT t; };
"""


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("f(Arr<float, 3>{})", 304), ("f(Arr<half_t, 3>{})", 302), ("g(Vec<int>{})", 1), ("g(Vec<int, float>{})", 2),
        ("g(Vec<int, Arr<int, 4>>{})", 1), ("g(Vec<int, float, 8>{})", 3), ("(Tr<Arr<int, 2>>::v)", 2),
        ("(Tr<Arr<int, 2, false>>::v)", 1), ("h(Arr<float, 3>{}, 1)", 3),
        ("h(Arr<float, 3>{}, 1, Arr<half_t, 3>{}, Arr<int, 3>{})", 23), ("hh(Vec<int>{}, Vec<float, int>{})", 28),
        ("hh(1)", 5), ("kk(_1{}, Int<5>{}, _7{})", 13), ("e(wide()(0))", 404), ("e(narrow()(1))", 802),
        ("ee(wide()(0))", 401), ("ee(narrow()(1))", 800), ("e(cutlass::Array<float, 7>{})", 704),
        ("sizeof_bits_v<void>", 0), ("cutlass::sizeof_bits<void>::value", 0), ("sizeof_bits_v<void const>", 0),
        ("sizeof_bits_v<float*>", 64), ("(major<Stride<int64_t, _1, int64_t>>())", 16),
        ("(major<Stride<_1, int64_t>>())", 8), ("(major<Stride<int64_t, int64_t>>())", 32),
        ("first(Stride<int, _1>{5, _1{}})", 8), ("first(Stride<int, _1>{})", 16), ("int(Int<of_nothing>{})", 16),
        ("sizeof(cute::tuple<char, char, int64_t>)", 24), ("sizeof(cute::tuple<B, Em, A>)", 32),
        ("sizeof(cute::tuple<A, B, int, _1, B>)", 32), ("sizeof(cute::tuple<B, A, B, A>)", 64),
        ("sizeof(cute::tuple<int, cute::tuple<char, int64_t>, char>)", 32), ("sizeof(TT)", 160), ("sizeof(Sh)", 176),
        ("sizeof(cute::tuple<cute::tuple<>, Em, char, cute::tuple<char, Em>>)", 2),
    ],
)  # fmt: skip
def test_values(tmp_path: Path, shown: str, value: int) -> None:
    assert number(tmp_path, kernel(DECLARATIONS), "", shown) == value


def test_a_stride_that_is_given_is_not_that_of_its_type(tmp_path: Path) -> None:
    """A parameter has numbers of its own, of which nothing is said."""
    body = "Stride<int, _1> s{n, _1{}}; x = get<0>(s) == 0 ? 8 : 16;"
    assert number(tmp_path, kernel(DECLARATIONS), body, "x") is None


VIEW = (
    DECLARATIONS
    + """
struct Storage { int q; TT t; alignas(128) half_t rest[64]; };
__global__ void k() {
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  auto a = make_tensor(make_smem_ptr(get<1>(s.t).a.data()), Layout<_64>{});
  auto b = make_tensor(make_smem_ptr(get<3>(s.t).b), Layout<_3>{});
  auto r = make_tensor_like(a);
  copy(a, r);
  copy(b, make_tensor<float>(Layout<_3>{}));
}
void host() { k<<<1, 32, sizeof(Storage)>>>(); }
"""
)


def test_objects_in_a_tuple_in_shared_memory_are_where_it_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(VIEW)
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    assert [e.reason for e in facts.events] == [None, None]
    starts = {b.buffer_id: (b.start_bytes, b.size_bytes) for b in facts.buffers}
    # of `q` at 0 the tuple at 16: its first object there, the second 16 bytes on, the last 128 after that
    assert starts["k::raw.t.1.a"] == (32, 128) and starts["k::raw.t.3.b"] == (160, 12)
