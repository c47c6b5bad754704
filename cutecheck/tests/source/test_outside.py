"""Members that are defined outside of their class: what g++ says of each; it is not followed where it is unclear."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.shown import kernel, number

CLASSES = """
#include <cute/tensor.hpp>
using namespace cute;
#define FN __device__
constexpr int x9 = 8;
FN int free9(int q) { return q + 9; }
struct A {
  int v = 1; A(); A(int); FN int f(int); FN int f(int, int) const; static FN int s(int); FN int g(int a = 5);
  template <class T> FN int t(T); FN int free9(int); struct In { int w = 2; FN int h(); };
};
A::A() : v(10) {}
A::A(int q) : v(q + 1) { v *= 2; }
int A::f(int a) { return v + a; }
int A::f(int a, int b) const { return v * a + b; }
int A::s(int a) { return a * 3; }
int A::g(int a) { return a + v; }
template <class T> int A::t(T x) { return int(sizeof(T)) + x; }
int A::In::h() { return w + 7; }
int A::free9(int q) { return q + 90; }
template <class T, int N> struct B {
  T v = N; FN int f(T) const; FN int f(int*) const; static constexpr int k = N * 2;
  template <class U> FN int t(U) const; FN int d() const; struct In { FN int h() const; }; B() = default; B(T a, T b);
};
template <class U, int M> int B<U, M>::f(U x) const { return x + M + k; }
template <class U, int M> int B<U, M>::f(int* p) const { return *p + M; }
template <class T, int N> template <class V> int B<T, N>::t(V) const { return sizeof(V) * N + sizeof(T); }
template <class T, int N> int B<T, N>::d() const { return 1; }
template <> int B<int, 3>::d() const { return 33; }
template <class T, int N> int B<T, N>::In::h() const { return N + 1000 + sizeof(T); }
template <class T, int N> B<T, N>::B(T a, T b) : v(a * b) {}
template <class T> struct B<T, 9> { FN int f(T) const; FN int d() const; };
template <class T> int B<T, 9>::f(T x) const { return x + 900; }
template <class Q> int B<Q, 9>::d() const { return 909 + sizeof(Q); }
template <> struct B<char, 5> { FN int f(int) const; };
int B<char, 5>::f(int x) const { return x + 555; }
struct D : B<int, 4> { FN int f2(); };
int D::f2() { return f(2) + k; }
namespace in {
struct N { FN int z() const; }; template <class T> struct M { FN T z(T) const; }; struct Used { FN int f(int); };
}
int in::N::z() const { return 5; }
template <class T> T in::M<T>::z(T x) const { return x * 2; }
using namespace in;
int Used::f(int a) { return a + 70; }
struct H { static constexpr int x9 = 4; FN int f(); };
int H::f() { return x9; }
template <class T> struct C { int a = 3; FN C& add(int); FN int get() const; };
template <class T> C<T>& C<T>::add(int q) { a += q; return *this; }
template <class T> int C<T>::get() const { return a; }
template <class T> struct E { static FN int count(int, T const&); static FN int count(T const&, int); };
template <class T> int E<T>::count(T const&, int q) { return q + 1; }
template <class T> int E<T>::count(int q, T const&) { return q + 2; }
template <class... Ts> struct P { FN int n() const; template <class F> FN int each(F f) const; };
template <class... Us> int P<Us...>::n() const { return sizeof...(Us); }
template <class... Us> template <class F> int P<Us...>::each(F f) const { return (f(sizeof(Us)) + ... + 0); }
namespace deep { FN int g(int); constexpr int x9 = 40; } int deep::g(int a) { return a + x9; }
namespace other { struct A { FN int f(int); }; int A::f(int a) { return a + 5000; } }
"""
TOLD = {
    ("A a;", "a.v"): 10, ("A a(3);", "a.v"): 8, ("A a{3};", "a.f(1)"): 9, ("A a;", "a.f(1, 2)"): 12,
    ("", "A::s(5)"): 15, ("A a;", "a.g()"): 15, ("A a;", "a.g(1)"): 11, ("A a;", "a.t((char)3)"): 4,
    ("A::In i;", "i.h()"): 9, ("A a;", "a.free9(1)"): 91, ("B<int, 6> b;", "b.f(2)"): 20,
    ("B<int, 6> b;", "b.f(&y)"): 14, ("B<int, 6> b;", "b.t('c')"): 10, ("B<int, 6> b;", "b.d()"): 1,
    ("B<int, 3> b;", "b.d()"): 33, ("B<char, 3> b;", "b.d()"): 1, ("B<short, 7>::In i;", "i.h()"): 1009,
    ("B<int, 6> b(2, 5);", "b.v"): 10, ("B<int, 9> b;", "b.f(1)"): 901, ("B<char, 9> b;", "b.d()"): 910,
    ("B<char, 5> b;", "b.f(1)"): 556, ("D d;", "d.f2()"): 22, ("in::N q;", "q.z()"): 5, ("in::M<int> q;", "q.z(4)"): 8,
    ("in::Used q;", "q.f(4)"): 74, ("H h;", "h.f()"): 4, ("C<int> c; c.add(3).add(4);", "c.get()"): 10,
    ("", "E<char>::count(3, 'c')"): 5, ("", "E<char*>::count(3, nullptr)"): 5, ("P<int, char, long> p;", "p.n()"): 3,
    ("P<int, char, long> p;", "p.each([](auto v) { return int(v); })"): 13, ("", "deep::g(2)"): 42,
    ("other::A a;", "a.f(1)"): 5001,
}  # fmt: skip


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_what_a_member_that_is_defined_elsewhere_does_is_what_the_compiler_says(
    body: str, shown: str, tmp_path: Path
) -> None:
    assert number(tmp_path, kernel(CLASSES), body, shown) == TOLD[body, shown]


UNCLEAR = """
#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct S { __device__ int f(T) const; __device__ int g() const; };
template <class T> int S<T>::f(T) const { return 8; }
template <> int S<Missing<int>>::f(Missing<int>) const { return 16; }
template <class T> int S<T>::g() const { return 8; }
"""


def test_a_specialised_member_for_what_is_not_known_leaves_open_which_it_is(tmp_path: Path) -> None:
    assert number(tmp_path, kernel(UNCLEAR), "S<int> q;", "q.g()") == 8
    assert number(tmp_path, kernel(UNCLEAR), "S<int> q;", "q.f(1)") is None


HEADER = """#pragma once
#include <cute/tensor.hpp>
using namespace cute;
template <int N> struct Mainloop {
  template <class S> __device__ void load(S const& s) const;
};
"""
INLINE = """#pragma once
#include "loop.h"
template <int M> template <class S> __device__ void Mainloop<M>::load(S const& s) const {
  copy(s, make_tensor<half_t>(Layout<Int<M>>{}));
}
"""
MAIN = """
#include "loop.h"
#include "loop.inl"
__global__ void k() { __shared__ half_t s[64]; Mainloop<32>{}.load(make_tensor(make_smem_ptr(s), Layout<_32>{})); }
void host() { k<<<1, 32>>>(); }
"""


def test_definitions_in_another_file_are_those_of_the_class(tmp_path: Path) -> None:
    for name, text in (("loop.h", HEADER), ("loop.inl", INLINE), ("main.cu", MAIN)):
        (tmp_path / name).write_text(text)
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert event.reason is None
    assert event.span.path.endswith("loop.inl")
    assert str(event.operands[1].layout) == "_32:_1"
