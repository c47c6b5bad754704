"""Alias templates in patterns: what they stand for is matched, and their parameters give those of the pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = """
#include <cute/tensor.hpp>
#include <variant>
using namespace cute;
template <int V> using int_c = std::integral_constant<int, V>;
template <class T, T V> struct box { static constexpr T value = V; };
template <int V> using ibox = box<int, V>;
template <class T> struct same { using type = T; };
template <class T> using twisted = typename same<T>::type;
template <class... Ts> struct list {};
template <class A, class... Rest> using after = list<Rest..., A>;
template <class... Ts> using own = list<Ts...>;
template <class A, class B> struct two {};
template <class B, class A> using swapped = two<A, B>;
template <class A> using doubled = two<A, A>;
template <bool B> using if_t = std::enable_if_t<B, int>;

template <int S> constexpr int f(int_c<S>) { return S; }
template <int S> constexpr int g(ibox<S> const&) { return 10 + S; }
template <class A, class B> constexpr int h(swapped<A, B>) { return 10 * sizeof(A) + sizeof(B); }
template <class T> constexpr int k(doubled<T>) { return sizeof(T); }
constexpr int k(...) { return 99; }
template <class... Ts> constexpr int n(own<Ts...>) { return sizeof...(Ts); }
template <class T> struct spec { static constexpr int value = 9; };
template <int S> struct spec<ibox<S>> { static constexpr int value = 20 + S; };
template <class T, if_t<sizeof(T) == 4> = 0> constexpr int m(T) { return 4; }
template <class T, if_t<sizeof(T) == 8> = 0> constexpr int m(T) { return 8; }
template <class T, class = void> struct trait { static constexpr int value = 3; };
template <class T> struct trait<T, twisted<void>> { static constexpr int value = 4; };
"""


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("f(int_c<5>{})", 5),
        ("f(std::integral_constant<int, 6>{})", 6),
        ("g(ibox<7>{})", 17),
        ("h(two<char, double>{})", 81),
        ("k(two<short, short>{})", 2),
        ("k(two<short, int>{})", 99),
        ("n(list<int, char, int>{})", 3),
        ("spec<box<int, 4>>::value", 24),
        ("spec<box<short, 4>>::value", 9),
        ("m(1)", 4),
        ("m(1.0)", 8),
        ("trait<int>::value", 4),
    ],
)
def test_deduced_through_aliases(tmp_path: Path, number: str, value: int) -> None:
    (tmp_path / "k.cu").write_text(HEAD + f"using L = Layout<Shape<_2, Int<{number}>>>;\n")
    assert [str(s.value) for s in extract(ExtractRequest((tmp_path,))).sites] == [f"(_2,_{value}):(_1,_2)"]


def test_lambdas_over_the_constants_of_a_variant(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        HEAD
        + """
template <class... Fs> struct visitor : Fs... { using Fs::operator()...; };
template <int... Options> constexpr std::variant<std::monostate, int_c<Options>...> one_of(int value) {
  std::variant<std::monostate, int_c<Options>...> found;
  (void)((value == Options ? (found = int_c<Options>{}, true) : false) || ...);
  return found;
}
template <int S> __global__ void kern(float* p) {
  auto t = make_tensor(make_gmem_ptr(p), Layout<Shape<Int<S>, _3>>{});
  copy(t, make_tensor_like(t));
}
int go(float* p, int stages) {
  return std::visit(visitor{[&](std::monostate) { return 1; },
                            [&]<int S>(int_c<S>) { kern<S><<<1, 32>>>(p); return 0; }}, one_of<2, 4>(stages));
}
"""
    )
    shown = {str(e.operands[0].layout) for e in extract(ExtractRequest((tmp_path,))).events}
    assert shown == {"(_2,_3):(_1,_2)", "(_4,_3):(_1,_4)"}
