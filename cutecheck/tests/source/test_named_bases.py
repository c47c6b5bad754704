"""Objects by the names of their base classes, types that are constants, and what takes room: g++ 12 says the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import TensorFact
from cutecheck.model.notation import show
from cutecheck.tests.source.shown import kernel, number
from cutecheck.tests.source.test_extract import run

KERNEL = kernel("""#include <cute/tensor.hpp>
#include <cutlass/array.h>
#define FN __device__
using namespace cute;
struct B { FN int f() { return 1; } FN virtual int g() { return 2; } int k = 3; FN static int s() { return 8; } };
struct D : B { FN int f() { return 5; } FN int g() override { return 6; } FN static int s() { return 9; } };
struct E : D { FN int f() { return 7; } };
FN int by_reference(B& b) { return b.f() * 10 + b.g(); }
FN int by_pointer(B* b) { return b->f() * 10 + b->g(); }
FN int statics(B const& b) { return b.s(); }
template <class T> struct R { FN int im() { return 10; } FN int go() { return static_cast<T*>(this)->im() + 1; } };
struct I : R<I> { FN int im() { return 20; } };
template <class T> FN int run(R<T>& c) { return c.im() + c.go(); }
template <class T> FN int deduced(T& c) { return c.im(); }
template <class T> struct K { static constexpr int v = 0; };
template <> struct K<int const> { static constexpr int v = 1; };
template <> struct K<int> { static constexpr int v = 4; };
template <> struct K<int*> { static constexpr int v = 2; };
template <> struct K<int const*> { static constexpr int v = 3; };
template <class T> struct In { static constexpr int v = K<T>::v; };
template <class T> struct Pointee { using type = T; };
template <class T> struct Pointee<T*> { using type = T; };
template <class T> struct Size { static constexpr int v = sizeof(T); };
template <class T> struct Size<T const> : Size<T> {};
using Constant = int const; using Pointer = int*; using Plain = int; using Bytes = signed char;
template <class T> FN int through(T&) { return K<T>::v; }
template <class T> FN int pk(T*) { return 1; }
template <class T> FN int pk(T const*) { return 2; }
struct Empty {}; struct Shares { [[no_unique_address]] Empty e; int x; }; struct Member { int B::*p; char c; };
""")
TOLD = {
    ("D d; B& b = d;", "b.f() * 10 + b.g()"): 16, ("D d; B* b = &d;", "b->f() * 10 + (*b).g()"): 16,
    ("D d;", "by_reference(d)"): 16, ("D d;", "by_pointer(&d)"): 16, ("D d;", "statics(d)"): 8,
    ("E e; D& d = e; B& b = d;", "b.f() * 100 + d.f() * 10 + e.f()"): 157,
    ("E e;", "static_cast<B&>(e).f() * 100 + ((D*)&e)->f() * 10 + e.f()"): 157,
    ("D d; B& b = d; auto& c = b;", "c.f()"): 1, ("D d; B& b = d; b.k = 9;", "d.k"): 9,
    ("I i; R<I>& r = i;", "r.go() + r.im()"): 31, ("I i; R<I>& r = i;", "run(r)"): 31,
    ("", "K<Pointer>::v"): 2, ("", "K<Plain>::v"): 4, ("", "Size<int>::v"): 4, ("", "Size<Bytes>::v"): 1,
    ("int const a[3] = {};", "pk(a)"): 2, ("int a[3] = {};", "pk(a)"): 1,
    ("int const a[3] = {}; auto p = a;", "pk(p)"): 2, ("int const a[3] = {};", "pk(a + 1)"): 2,
    ("int a[3] = {}; int const (&r)[3] = a;", "pk(r)"): 2,
    ("", "alignof(cutlass::Array<half_t, 8>) * 10 + alignof(cutlass::Array<half_t, 3>)"): 42,
    ("", "sizeof(cutlass::Array<half_t, 3>) * 10 + alignof(cutlass::Array<int8_t, 4>)"): 64,
}  # fmt: skip
NOT_FOLLOWED = {
    ("I i; R<I>& r = i;", "deduced(r)"): 10, ("", "K<std::remove_pointer_t<int const*>>::v"): 1,
    ("", "K<Pointee<int const*>::type>::v"): 1, ("", "In<int const>::v"): 1, ("", "K<Constant>::v"): 1,
    ("int const c = 3;", "through(c)"): 1, ("", "K<std::conditional_t<true, int const, float>>::v"): 1,
    ("", "sizeof(Shares)"): 4, ("", "sizeof(Member)"): 16,
}  # fmt: skip


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_names_of_bases_and_constants_mean_what_the_compiler_says(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]


@pytest.mark.parametrize(("body", "shown"), NOT_FOLLOWED, ids=str)
def test_where_the_type_is_not_followed_no_other_value_is_said(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) in (None, NOT_FOLLOWED[body, shown])


def test_the_constancy_of_a_tuple_is_that_of_its_elements(tmp_path: Path) -> None:
    methods = "struct M { __device__ int f() { return 1; } __device__ int f() const { return 2; } };\n"
    body = "M m; auto const t = std::make_tuple(m, 1); auto u = std::make_tuple(m, 1);"
    shown = "std::get<0>(t).f() * 10 + std::get<0>(u).f()"
    assert number(tmp_path, kernel("#include <cute/tensor.hpp>\nusing namespace cute;\n" + methods), body, shown) == 21


HIDING = """#include <cute/tensor.hpp>
using namespace cute;
template <int N> struct Buf {
  float x[N];
  __device__ auto v() { return make_tensor(make_smem_ptr(x), Layout<Int<N>>{}); }
};
template <int I, class T> struct Leaf { T value; };
template <class A, class B> struct Two : Leaf<0, A>, Leaf<1, B> {
  template <int I, class T> __device__ static T& pick(Leaf<I, T>& l) { return l.value; }
  template <int I> __device__ auto& get() { return pick<I>(*this); }
};
template <class... T> struct Chain;
template <> struct Chain<> {};
template <class T, class... Ts> struct Chain<T, Ts...> : Chain<Ts...> {
  T value;
  template <int I> __device__ auto& get() {
    if constexpr (I == 0) return value;
    else return static_cast<Chain<Ts...>&>(*this).template get<I - 1>();
  }
};
__global__ void k(float* p) {
  extern __shared__ char raw[];
  auto& t = *reinterpret_cast<OBJECT*>(raw);
  auto a = t.template get<0>().v(), b = t.template get<1>().v();
  copy(a, make_tensor(make_gmem_ptr(p), a.layout()));
  copy(b, make_tensor(make_gmem_ptr(p), b.layout()));
}
void f(float* p) { k<<<1, 8>>>(p); }
"""


@pytest.mark.parametrize(("object_", "places"), [("Two", [0, 128]), ("Chain", [256, 0])])
def test_members_of_one_name_are_each_the_ones_of_their_class(object_: str, places: list[int], tmp_path: Path) -> None:
    facts = run(tmp_path, HIDING.replace("OBJECT", f"{object_}<Buf<32>, Buf<64>>"))
    operands = [e.operands[0] for e in facts.events]
    assert [show(o.layout) for o in operands if isinstance(o, TensorFact)] == ["_32:_1", "_64:_1"]
    members = [b for b in facts.buffers if b.name == "x"]
    assert {(b.size_bytes, b.start_bytes) for b in members} == {(128, places[0]), (256, places[1])}


def test_members_of_one_name_outside_of_memory_are_not_followed(tmp_path: Path) -> None:
    classes = "struct A { int v; __device__ int get() { return v; } }; struct B : A { int v; };\n"
    include = kernel("#include <cute/tensor.hpp>\nusing namespace cute;\n" + classes)
    assert number(tmp_path, include, "B b; b.A::v = 8; b.v = 16;", "b.get()") in (None, 8)
    leaves = "template <int I, class T> struct L { T v; }; struct M : L<0, Int<8>>, L<1, int> {};\n"
    leaves += "template <int I, class T> __device__ T& pick(L<I, T>& l) { return l.v; }\n"
    include = kernel("#include <cute/tensor.hpp>\nusing namespace cute;\n" + leaves)
    assert number(tmp_path, include, "M y{}; y.L<1, int>::v = 7;", "pick<1>(y)") in (None, 7)
