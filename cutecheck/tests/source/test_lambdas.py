"""What lambdas capture, convert and return, as g++ 12 prints it."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
using namespace cute;
struct Own { int v = 3; __device__ auto copy() { return [*this]() mutable { v = 9; return v; }; } };
template <class... A> __device__ auto moved(A... a) { return [...b = std::move(a)] { return (b + ...); }; }
constexpr int local = [] { struct A { static constexpr int v = 4; }; return A::v; }();
using Own4 = Layout<Int<local>>;
""")


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("auto f = [](int v) -> uint8_t { return v; };", "f(300)", 44),
        ("auto f = [](int v) -> bool { return v; };", "f(300)", 1),
        ("auto f = [](int v) -> long { return v; };", "sizeof(f(3))", 8),
        ("Own c; auto f = c.copy(); int q = f();", "q * 10 + c.v", 93),
        ("Own c; auto f = c.copy(); c.v = 5; f();", "c.v", 5),
        ("", "moved(1, 2, 3)()", 6),
        ("", "size(Own4{})", 4),
        ("auto f = [&]<int N>() { return N * 2 + y; };", "f.template operator()<3>()", 14),
        ("auto f = []<class T>(T v) { return sizeof(T) + v; };", "f(3)", 7),
        ("auto f = []<class T>(T v) { return sizeof(T) + v; };", "f(char(3))", 4),
        ("auto f = []<class T, int N>(T (&a)[N]) { return N; }; int a[5];", "f(a)", 5),
        ("auto f = []<class S, class D>(Layout<S, D> const& l) { return rank_v<S>; };",
         "f(make_layout(make_shape(2, 3, 4)))", 3),
        ("auto f = [i = 0]<class T>(T) mutable { return ++i; }; f(1);", "f(2)", 2),
    ],
)  # fmt: skip
def test_the_value_that_a_compiled_program_prints(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


def test_a_lambda_whose_template_arguments_are_not_known_may_write_what_it_names(tmp_path: Path) -> None:
    body = "auto f = [&]<size_t... I>(std::index_sequence<I...>) { ((x = x * 10 + I), ...); };"
    assert number(tmp_path, KERNEL, f"{body} f(std::make_index_sequence<4>{{}});", "x") == 123
    body = "auto f = [&]<int I>(Elsewhere<I>) { x = I; };"
    assert number(tmp_path, KERNEL, f"{body} f(elsewhere());", "x") is None
