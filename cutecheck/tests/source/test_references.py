"""Types that are references without being spelled so, and objects that hold references: what is written through them.

Compiled and run, each of these programs shows another value than the one that was there before the last write.
"""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
#include <type_traits>
using namespace cute;
using R = int&;
typedef int& Typedef;
template <class T> using Ref = T&;
template <class T> using Same = T;
struct Counter { int at = 0; __device__ int& operator()(int) { return at; } };
struct Above { int at = 1; int own = 2; __device__ int get() const { return at; } __device__ int kind() { return 1; } };
struct Under : Above { int at = 3; __device__ int kind() { return 2; } };
using C = Counter&;
struct Alias { using I = int&; I r; };
struct Made { R r; __device__ Made(int& v) : r(v) {} };
struct Below : Alias {};
struct Holds { int& r; };
struct HoldsObject { Counter& r; };
struct HoldsBoth { Holds a; HoldsObject b; };
template <class F, class... A> __device__ decltype(auto) handed(F&& f, A&&... a) {
  return std::forward<F>(f)(std::forward<A>(a)...);
}
struct Gets {
  int v = 1;
  __device__ decltype(auto) get() { return (v); }
  __device__ decltype(auto) val() { return v; }
};
struct HoldsPair { std::pair<int&, int> p; };
using P = std::pair<int&, int>;
template <class F> __device__ int called(F f) { return f(1); }
template <class T> struct Trait { using type = T&; };
template <class T> struct Plain { T t; static __device__ void set(T v) { v = 5; } };
template <class T> __device__ void as_is(T t) { t = 5; }
template <class T> __device__ void forwarded(T&& t) { T u = t; u = 5; }
__device__ void set(R r) { r = 5; }
__device__ void set_object(C r) { r.at = 5; }
__device__ int kind_of(Above a) { return a.kind(); }
__device__ R same(int& v) { return v; }
""",
    "Counter c;",
)


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("R r = x; r = 5;", "x", 5),
        ("R r = x; x = 5;", "r", 5),
        ("R r{x}; r += 5;", "x", 5),
        ("const R r = x; r = 5;", "x", 5),
        ("Typedef r = x; r = 5;", "x", 5),
        ("using L = int&; L r = x; r = 5;", "x", 5),
        ("using L = R; L r = x; r = 5;", "x", 5),
        ("Ref<int> r = x; r = 5;", "x", 5),
        ("Same<int&> r = x; r = 5;", "x", 5),
        ("Same<int> r = x; r = 5;", "x", 0),
        ("typename Trait<int>::type r = x; r = 5;", "x", 5),
        ("Alias::I r = x; r = 5;", "x", 5),
        ("Below::I r = x; r = 5;", "x", 5),
        ("std::add_lvalue_reference_t<int> r = x; r = 5;", "x", 5),
        ("typename std::add_lvalue_reference<int>::type r = x; r = 5;", "x", 5),
        ("decltype((x)) r = x; r = 5;", "x", 5),
        ("decltype(x) r = x; r = 5;", "x", 0),
        ("int& q = x; decltype(q) r = x; r = 5;", "x", 5),
        ("int& q = x; decltype(auto) r = q; r = 5;", "x", 5),
        ("Holds h{x}; decltype(h.r) r = x; r = 5;", "x", 5),
        ("decltype(same(x)) r = x; r = 5;", "x", 5),
        ("Counter& q = c; decltype(q) r = c; r.at = 5;", "c.at", 5),
        ("decltype(c) r = c; r.at = 5;", "c.at", 0),
        ("C r = c; r.at = 5;", "c.at", 5),
        ("set(x);", "x", 5),
        ("set_object(c);", "c.at", 5),
        ("int& r = same(x); r = 5;", "x", 5),
        ("[](R r) { r = 5; }(x);", "x", 5),
        ("Alias a{x}; a.r = 5;", "x", 5),
        ("Made a(x); a.r = 5;", "x", 5),
        ("forwarded(x);", "x", 5),
        ("as_is<int&>(x);", "x", 5),
        ("as_is<R>(x);", "x", 5),
        ("as_is<decltype((x))>(x);", "x", 5),
        ("Plain<int&> a{x}; a.t = 5;", "x", 5),
        ("Plain<R> a{x}; a.t = 5;", "x", 5),
        ("Plain<int&>::set(x);", "x", 5),
        ("forwarded(x + 1);", "x", 0),
        ("Holds a{x}; Holds b = a; b.r = 3;", "x", 3),
        ("Holds a{x}; Holds b(a); x = 3;", "b.r", 3),
        ("Alias a{x}; Alias b = a; b.r = 3;", "x", 3),
        ("HoldsObject a{c}; HoldsObject b = a; b.r.at = 3;", "c.at", 3),
        ("HoldsObject a{c}; HoldsObject b{a}; c.at = 3;", "b.r.at", 3),
        ("HoldsBoth a{{x}, {c}}; HoldsBoth b = a; b.b.r.at = 3;", "c.at", 3),
        ("HoldsObject a{c}; auto f = [](HoldsObject b) { b.r.at = 3; }; f(a);", "c.at", 3),
        ("c(1) = 5;", "c.at", 5),
        ("Under d; Above b = d;", "b.kind()", 1),
        ("Under d; Above b = d;", "b.own", 2),
        ("Under d;", "kind_of(d)", 1),
        ("const_cast<int&>(static_cast<int const&>(x)) = 5;", "x", 5),
        ("*reinterpret_cast<int*>(&x) = 5;", "x", 5),
        ("auto f = [&r = c] { r.at = 3; }; auto g = f; g();", "c.at", 3),
        ("auto f = [=, &y] { y = 3; return x; }; f();", "y", 3),
        ("auto f = [=, &c] { c.at = 5; return x; }; f();", "c.at", 5),
        ("handed([](int& a) { a = 9; }, x);", "x", 9),
        ("handed([](int& a, int b) { a = b; }, x, y);", "x", 8),
        ("Gets g; auto&& r = g.get(); r = 5;", "g.v", 5),
    ],
)
def test_what_is_written_through_a_reference_is_what_it_stands_for(
    tmp_path: Path, body: str, shown: str, value: int
) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("Under d; d.at = 7;", "d.get()"),
        ("Under d; Above& b = d; b.at = 7;", "d.at"),
        ("x = 66051; *reinterpret_cast<char*>(&x) = 7;", "x"),
        ("x = 66051; *(short*)&x = 7;", "x"),
        ("x = 66051; reinterpret_cast<short&>(x) = 7;", "x"),
        ("HoldsBoth a{{x}, {c}}; HoldsBoth b = a; b.a.r = 3;", "x"),
        ("for (int i = 0; i < n; ++i) { set(x); }", "x"),
        ("x = 66051; (short&)x = 7;", "x"),
        ("Gets g; auto&& r = g.val(); r = 5;", "g.v"),
        ("called(std::ref(c));", "c.at"),
        ("auto const& [a, b] = std::pair<int&, int>(x, 2); x = 9;", "a"),
        ("auto [a, b] = std::pair<int&, int>(x, 2); a = 9;", "x"),
        ("std::tuple<int const&, int> p(x, 2); x = 9;", "std::get<0>(p)"),
        ("P p{x, 2}; p.first = 9;", "x"),
        ("auto [a, b] = P{x, 2}; a = 9;", "x"),
        ("HoldsPair h{{x, 2}}; h.p.first = 5;", "x"),
        ("for (int i = 0; i < n; ++i) { R r = x; r = 5; }", "x"),
    ],
)
def test_what_may_be_written_through_a_reference_is_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None


def test_the_type_of_a_constant_parameter_is_a_template_argument_like_any_other(tmp_path: Path) -> None:
    text = kernel("""#include <cute/tensor.hpp>
using namespace cute;
template <class T, class L> struct Storage { array_aligned<T, cosize_v<L>> smem; };
template <class L> __device__ int bytes(L const& layout) { return sizeof(Storage<float, decltype(layout)>); }
""")
    assert number(tmp_path, text, "Layout<Shape<_8, _16>> layout; ", "bytes(layout)") == 512
