"""Which method of which class a call runs, and operators of classes, as g++ 12 prints it."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
#define FN __device__
using namespace cute;
struct B {
  int v = 1;
  FN int f() { return 1; }
  FN int g() { return f(); }
  virtual FN int h() { return 10; }
  FN int k() { return h(); }
};
struct D : B {
  FN int f() { return 2; }
  FN int h() override { return 20; }
  FN int m() { return B::f() * 10 + f() + B::h(); }
  FN int p() { return this->B::f(); }
};
struct E : D { FN int h() override { return 30 + D::h(); } };
template <class T> struct Over : T { FN int f() { return 7; } FN int u() { return T::f() + this->T::f() * 10; } };
struct Bound { FN int f() & { return 1; } FN int f() && { return 2; } FN int f() const& { return 3; } };
struct Op {
  int v;
  friend FN Op operator+(Op a, Op b) { return {a.v + b.v}; }
  friend FN bool operator<(Op a, Op b) { return a.v < b.v; }
  FN int operator,(int k) { return v * k; }
};
struct Order { int a, b; FN Order(int v) : b(a + 1), a(v * 2) {} };
""")


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("D d;", "d.f() * 10 + d.B::f()", 21),
        ("D d;", "d.g() * 100 + d.k()", 120),
        ("D d;", "d.m()", 22),
        ("D d;", "d.p()", 1),
        ("E e;", "e.k()", 50),
        ("E e; B& b = e;", "b.h() + b.k()", 100),
        ("E e; B* b = &e;", "b->k()", 50),
        ("E e; B b = e;", "b.h() + b.k()", 20),
        ("E e;", "e.D::h() + e.B::h()", 30),
        ("Over<D> t;", "t.u()", 22),
        ("D d; d.B::v = 7;", "d.v", 7),
        ("Bound r;", "r.f() * 10 + Bound{}.f()", 12),
        ("Bound r;", "std::move(r).f()", 2),
        ("Bound const r{};", "r.f()", 3),
        ("Op a{3};", "(a, 5)", 15),
        ("Op a{3}, b{4};", "(a + b).v", 7),
        ("Op a{3}, b{4};", "(a < b) * 10 + (b < a)", 10),
        ("Order o(3);", "o.a * 10 + o.b", 67),
    ],
)
def test_the_method_that_a_compiled_program_runs(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value
