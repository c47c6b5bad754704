"""Which partial specialisation a class template's arguments take; the answers are what g++ 12 prints."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = """#include <cute/tensor.hpp>
using namespace cute; using std::void_t;
template <class T, class U = int, bool B = (sizeof(T) > 2)> struct Pair { static constexpr int v = 0; };
template <class T, class U> struct Pair<T, U, true> { static constexpr int v = 1; };
template <class T> struct Pair<T, T, true> { static constexpr int v = 2; };
template <class U> struct Pair<short, U> { static constexpr int v = 3; };
template <class... Ts> struct List { static constexpr int v = 0; };
template <class T> struct List<T> { static constexpr int v = 1; };
template <class T, class U> struct List<T, U> { static constexpr int v = 3; };
template <class U> struct List<float, U, U> { static constexpr int v = 4; };
template <class T> struct Sum { static constexpr int v = 0; };
template <int... Ns> struct Sum<Shape<Int<Ns>...>> { static constexpr int v = 10 + (Ns + ... + 0); };
template <class T, class = void> struct Has { static constexpr int v = 0; };
template <class T> struct Has<T, void_t<typename T::type>> { static constexpr int v = 1; };
template <class T, class = void> struct Op {};
template <class O, class... As> struct Tree { static constexpr int v = 0; };
template <class T, class A> struct Tree<Op<T, void_t<decltype(std::declval<A>().zero())>>, A, T> {
  static constexpr int v = 1;
};
template <class T, class A, class B> struct Tree<Op<T, void_t<typename B::type, typename A::type>>, A, Pair<B>> {
  static constexpr int v = 2;
};
template <class T, class... Ts> struct Rest { static constexpr int v = 0; };
template <class T, class... Ts> struct Rest<void_t<typename T::type>, T, Ts...> { static constexpr int v = 1; };
template <class T, int N, class U = void> struct Last { static constexpr int v = 0; };
template <int N> struct Last<float, N> { static constexpr int v = 1; };
template <int N, class U> struct Last<float, N, U> { static constexpr int v = 2; };
template <class T, class U = T> struct Same { static constexpr int v = 0; };
template <class T, class U> struct Same<T*, U> { static constexpr int v = 1; };
template <class T> struct Same<T*> { static constexpr int v = 2; };
struct Zero { bool zero() const { return flag; } bool flag; };
struct HasType { using type = int; };
struct HasNone {};
struct Inherits : HasType {};
__global__ void k(int n) {
  __shared__ half_t s[65536];
  BODY
  copy(make_tensor(make_smem_ptr(s + (SHOWN)), Layout<_8>{}), make_tensor(make_smem_ptr(s), Layout<_8>{}));
}
void host(int n) { k<<<1, 32>>>(n); }
"""
TAKEN = {
    "Pair<int>::v": 2, "Pair<char>::v": 0, "Pair<int, float>::v": 1, "Pair<short>::v": 3, "Pair<double, double>::v": 2,
    "List<>::v": 0, "List<int>::v": 1, "List<int, float>::v": 3, "List<float, int, int>::v": 4,
    "List<int, int, float>::v": 0, "Sum<int>::v": 0, "Sum<Shape<_3, _4, _5>>::v": 22, "Sum<Shape<>>::v": 10,
    "Tree<Op<int>, Zero, int>::v": 1, "Tree<Op<int>, Zero, float>::v": 0, "Tree<Op<int>, HasType, int>::v": 0,
    "Tree<Op<int>, HasType, Pair<HasType>>::v": 2, "Tree<Op<int>, HasType, Pair<Zero>>::v": 0,
    "Rest<void, HasType, int>::v": 1, "Rest<void, HasNone, int>::v": 0, "Rest<void, HasType>::v": 1,
    "Last<float, 3>::v": 1, "Last<float, 3, int>::v": 2, "Last<int, 3>::v": 0, "Same<int*>::v": 2,
    "Same<int*, float>::v": 1, "Same<int>::v": 0,
    "Has<HasType>::v": 1, "Has<HasNone>::v": 0, "Has<Inherits>::v": 1,
}  # fmt: skip


@pytest.mark.parametrize(("value", "answer"), TAKEN.items())
def test_the_specialisation_that_a_compiler_takes(value: str, answer: int, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, "", value) == answer


def test_whether_a_number_has_a_type_is_not_answered_wrongly(tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, "", "Has<int>::v") is None


COUNTED = """
#include <cute/tensor.hpp>
using namespace cute;
template <int N, class T> struct Counted { static constexpr int value = 8; };
template <class T> struct Counted<0, T> { static constexpr int value = 16; };
template <int N, class T> struct Any { static constexpr int value = 8; };
template <int N, class T> struct Any<N, T*> { static constexpr int value = 16; };
"""


def test_an_argument_that_is_not_known_may_be_what_a_specialisation_asks_for(tmp_path: Path) -> None:
    text = kernel(COUNTED)
    assert number(tmp_path, text, "", "Counted<0, float>::value") == 16
    assert number(tmp_path, text, "", "Counted<elsewhere(), float>::value") is None
    assert number(tmp_path, text, "", "Any<elsewhere(), float*>::value") == 16
