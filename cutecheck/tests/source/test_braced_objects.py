"""Objects of braced lists, and sequences of numbers, as g++ 12 prints them."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
#include <utility>
#define FN __device__
using namespace cute;
struct In { int a, b; };
struct Ag { int a; int b = 4; In e; int f[2]; float g; int* p; };
struct Ct { int a, b; FN Ct() : a(3) {} };
struct Df { int a, b = 2; Df() = default; };
struct De : In { int c; };
struct Args { In shape; struct Inner { int x; int y = 5; } inner; int n; };
FN In mk() { return {}; }
FN In mk2() { return {3}; }
FN int take(In i) { return i.a * 10 + i.b; }
template <class F, int... I> FN void un(F f, std::integer_sequence<int, I...>) {
  (f(std::integral_constant<int, I>{}), ...);
}
template <class F, size_t... I> FN int us(F f, std::index_sequence<I...>) { return (f(I) + ...); }
template <class T, T... I> FN int gen(std::integer_sequence<T, I...>) { return sizeof...(I) * 10 + (I + ... + 0); }
template <class... T> FN int many(T... t) {
  return us([](int i) { return i + 1; }, std::index_sequence_for<T...>{});
}
template <class Seq> struct Sum;
template <int... I> struct Sum<std::integer_sequence<int, I...>> { static constexpr int v = (I + ...); };
template <size_t... I> struct Sum<std::index_sequence<I...>> { static constexpr int v = 100 + (I + ...); };
""")


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("In a{};", "a.a + a.b", 0),
        ("In a = {};", "a.a + a.b", 0),
        ("auto a = In{};", "a.b", 0),
        ("In a{3};", "a.a * 10 + a.b", 30),
        ("In a = {.b = 4};", "a.a * 10 + a.b", 4),
        ("In a{.b = 4};", "a.a * 10 + a.b", 4),
        ("Ag a{};", "a.a + a.b + a.e.b + a.f[1]", 4),
        ("Ag a{.a = 1, .e = {.b = 3}};", "a.a * 100 + a.e.a * 10 + a.e.b + a.f[1]", 103),
        ("Df a{};", "a.a * 10 + a.b", 2),
        ("De a{};", "a.a + a.c", 0),
        ("Args a{{1, 2}};", "a.shape.b * 100 + a.inner.y * 10 + a.n", 250),
        ("Args a = {.shape = {.b = 2}, .inner = {.y = 7}};", "a.shape.a * 100 + a.shape.b * 10 + a.inner.y", 27),
        ("", "mk().a * 10 + mk2().b", 0),
        ("", "take({}) + take({.b = 4}) + take({.a = 3})", 34),
        ("In a{1, 2}; a = {};", "a.a + a.b", 0),
        ("In a{1, 2}; a = {.b = 7};", "a.a * 10 + a.b", 7),
        ("auto f = []() -> In { return {.b = 3}; };", "f().a * 10 + f().b", 3),
        ("In a{}; a.a = 5; In b = a;", "b.a * 10 + b.b", 50),
        ("un([&](auto i) { x = x * 10 + i; }, std::make_integer_sequence<int, 4>{});", "x", 123),
        ("", "us([](int i) { return i * 2; }, std::make_index_sequence<4>{})", 12),
        ("", "gen(std::integer_sequence<int, 4, 5>{})", 29),
        ("", "many(1, 2, 3)", 6),
        ("", "Sum<std::make_integer_sequence<int, 4>>::v", 6),
        ("", "Sum<std::make_index_sequence<4>>::v", 106),
        ("[&]<size_t... I>(std::index_sequence<I...>) { ((x += int(I) * 2), ...); }(std::make_index_sequence<4>{});",
         "x", 12),
    ],
)  # fmt: skip
def test_the_number_that_a_compiled_program_prints(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


@pytest.mark.parametrize(("body", "shown"), [("In a;", "a.a"), ("Ct a{};", "a.b"), ("In a[2];", "a[1].b")])
def test_what_nothing_initialises_is_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None
