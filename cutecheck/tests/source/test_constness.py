"""Methods, overloads and specialisations that constants tell apart, as g++ 12 prints them."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cutecheck.source.cpp.semantics import in_type
from cutecheck.source.eval import constness
from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
#define FN __device__
using namespace cute;
struct M {
  int v = 5;
  FN int f() { return 1; }
  FN int f() const { return 2; }
  FN int g() const { return f(); }
  FN int g2() { return f(); }
  FN int h() const { return this->f(); }
  FN auto l() const { return [this] { return f(); }; }
  FN auto l2() { return [&] { return f(); }; }
  FN int c2() { const auto& t = *this; return t.f(); }
  FN int c3() const { auto& t = *this; return t.f(); }
  FN int& at() { return v; }
  FN int at() const { return v + 100; }
};
struct W {
  M m;
  M const mc{};
  FN int a() const { return m.f(); }
  FN int c() { return mc.f(); }
  FN M& get() { return m; }
  FN M const& get() const { return m; }
  FN int d() { return get().f(); }
  FN int e() const { return get().f(); }
};
template <class T> FN int tp(T& t) { return t.f(); }
template <class T> FN int tr(T&& t) { return t.f(); }
FN int pp(M* p) { return p->f(); }
FN int pc(M const* p) { return p->f(); }
FN int pcc(M* const p) { return p->f(); }
template <class T> FN int pk(T*) { return 1; }
template <class T> FN int pk(T const*) { return 2; }
FN int pq(int*) { return 1; }
FN int pq(int const*) { return 2; }
template <class T> struct Kind { static constexpr int v = 0; };
template <class T> struct Kind<T*> { static constexpr int v = 1; };
template <class T> struct Kind<T const*> { static constexpr int v = 3; };
template <class T> struct Kind<T const> { static constexpr int v = 2; };
template <class R, class... A> struct Kind<R(A...)> { static constexpr int v = 10 + sizeof...(A); };
template <class T> constexpr bool to_constant = false;
template <class T> constexpr bool to_constant<T const*> = true;
""")


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("M m;", "m.g() * 10 + m.g2()", 21),
        ("M m;", "m.h()", 2),
        ("M m;", "m.l()() * 10 + m.l2()()", 21),
        ("M m;", "m.c2() * 10 + m.c3()", 22),
        ("W w;", "w.a() * 10 + w.c()", 22),
        ("W w;", "w.d() * 10 + w.e()", 12),
        ("W const w;", "w.get().f()", 2),
        ("W w; W const& r = w;", "r.m.f() * 10 + r.get().f()", 22),
        ("M m;", "tp(m) * 10 + tr(m)", 11),
        ("M const m;", "tp(m) * 10 + tr(m)", 22),
        ("M m;", "pp(&m) * 100 + pc(&m) * 10 + pcc(&m)", 121),
        ("M m; M const* p = &m;", "p->f() * 10 + (*p).f()", 22),
        ("M m; M* p = &m;", "p->f() * 10 + (*p).f()", 11),
        ("M const m; auto* p = &m;", "p->f()", 2),
        ("M const m; auto& p = m;", "p.f()", 2),
        ("M m; auto const* p = &m;", "p->f()", 2),
        ("M m; auto f = [m] { return m.f(); };", "f()", 2),
        ("M m; auto f = [m]() mutable { return m.f(); };", "f()", 1),
        ("M m; auto f = [=] { return m.f(); };", "f()", 2),
        ("M m;", "std::as_const(m).f() * 10 + static_cast<M const&>(m).f()", 22),
        ("M m; m.at() = 7;", "m.at() + std::as_const(m).at()", 114),
        ("", "std::is_same_v<std::common_type_t<int, long>, long>", 1),
        ("int const c = 3;", "pk(&x) * 10 + pk(&c)", 12),
        ("int const* c = &x;", "pk(c) * 10 + pq(c)", 22),
        ("int* c = &x;", "pk(c) * 10 + pq(c)", 11),
        ("", "pk((int const*)&x)", 2),
        ("", "Kind<int>::v * 10 + Kind<int*>::v", 1),
        ("", "to_constant<int*>", 0),
        ("", "std::is_same_v<int const*, int const*>", 1),
        ("", "Kind<int const>::v", 2),
        ("", "Kind<int const*>::v", 3),
        ("", "Kind<int* const>::v", 2),
        ("int const c = 3;", "Kind<decltype(c)>::v", 2),
        ("int const c = 3;", "Kind<decltype(&c)>::v", 3),
        ("", "to_constant<int const*>", 1),
        ("", "std::is_same_v<int const*, int*>", 0),
        ("", "std::is_same_v<std::decay_t<int[3]>, int*>", 1),
        ("", "std::is_same_v<decltype(true ? 1 : 2.0), double>", 1),
    ],
)
def test_what_a_compiled_program_prints(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("", "Kind<int(int, float)>::v"),
        ("", "std::is_same_v<std::common_type_t<int, M>, M>"),
    ],
)
def test_what_is_not_followed_is_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None


def test_what_is_of_no_class_has_no_members() -> None:
    assert constness._member(None, "x", SimpleNamespace(cls=None), True) is True  # functions of a namespace


def test_numbers_that_no_floating_point_type_holds() -> None:
    assert in_type(10**400, "double") is None
