"""Of several specialisations that match the most specialised is taken: g++ 12 prints the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
using namespace cute;
template <class T, class U = void> struct Vecc {}; template <class T> struct W {}; template <class T, int N> struct
A {}; template <class... T> struct L {};
template <class T> struct Trx { static constexpr int v = 0; };
template <class T> struct Trx<Vecc<T>> { static constexpr int v = 1; };
template <class T, class U> struct Trx<Vecc<T, U>> { static constexpr int v = 2; };
template <class T> struct Try { static constexpr int v = 0; }; template <class T> struct Try<W<T>> { static
constexpr int v = 1 + Try<T>::v * 10; }; template <class T, int N> struct Try<A<T, N>> { static constexpr int v = N;
}; template <class T> struct Try<A<T, 4>> { static constexpr int v = 44; }; template <> struct Try<A<int, 4>> {
static constexpr int v = 444; };
template <class T> struct Tl { static constexpr int v = 0; }; template <class... T> struct Tl<L<T...>> { static
constexpr int v = sizeof...(T); }; template <class H, class... T> struct Tl<L<H, T...>> { static constexpr int v =
100 + sizeof...(T); }; template <class H> struct Tl<L<H>> { static constexpr int v = 7; };
template <class T> struct Pt { static constexpr int v = 0; }; template <class T> struct Pt<T*> { static constexpr
int v = 1 + Pt<T>::v; };
template <class T> struct Pa { static constexpr int v = 0; }; template <class T, size_t N> struct Pa<T[N]> { static
constexpr int v = N; };
template <class T> struct Pc { static constexpr int v = 0; }; template <class T> struct Pc<T const> { static
constexpr int v = 1; };
template <class T> struct Pr { static constexpr int v = 0; }; template <class T> struct Pr<T&> { static constexpr
int v = 1; }; template <class T> struct Pr<T&&> { static constexpr int v = 2; };
template <class R> struct Fn; template <class R, class... A> struct Fn<R(A...)> { static constexpr int n =
sizeof...(A); using r = R; };
template <class F> struct FnT; template <class R, class... A> struct FnT<R (*)(A...)> { static constexpr int n =
sizeof...(A); using r = R; };
template <class T, class U> struct Bi { static constexpr int v = 0; }; template <class T> struct Bi<T, T> { static
constexpr int v = 1; }; template <class T> struct Bi<W<T>, T> { static constexpr int v = 2; }; template <class T,
class U> struct Bi<W<T>, W<U>> { static constexpr int v = 3; };
template <int A, int B, bool = (A > B)> struct Gt { static constexpr int v = 1; }; template <int A, int B> struct
Gt<A, B, false> { static constexpr int v = 2; };
template <class T, class E = void> struct En { static constexpr int v = 1; }; template <class T> struct En<T,
std::enable_if_t<std::is_floating_point_v<T>>> { static constexpr int v = 2; }; template <class T> struct En<T,
std::void_t<typename T::type>> { static constexpr int v = 3; };
template <class T> struct Sh { static constexpr int v = 0; }; template <class M, class N> struct Sh<Shape<M, N>> {
static constexpr int v = 2; }; template <class M, class N, class K> struct Sh<Shape<M, N, K>> { static constexpr int
v = 3; }; template <class S, class D> struct Sh<Layout<S, D>> { static constexpr int v = 10 + Sh<S>::v; }; template
<int B, int M, int S> struct Sh<Swizzle<B, M, S>> { static constexpr int v = B * 100 + M * 10 + S; }; template <int
N> struct Sh<Int<N>> { static constexpr int v = N; };
int freef(int, char, float) { return 3; } template <template <class...> class C, class... T> struct Ap { using t =
C<T...>; }; template <class T> struct Tt; template <template <class...> class C, class... T> struct Tt<C<T...>> {
static constexpr int n = sizeof...(T); template <class... U> using re = C<U...>; };
""",
    "int tid = threadIdx.x;",
)
TOLD = {
    ("", "Trx<Vecc<int>>::v * 100 + Trx<Vecc<int, char>>::v * 10 + Trx<int>::v"): 120,
    ("", "Trx<Vecc<int, void>>::v"): 1,
    ("", "Try<W<W<A<int, 3>>>>::v + Try<A<char, 4>>::v * 10000"): 440311,
    ("", "Try<A<int, 4>>::v"): 444,
    ("", "Tl<L<>>::v + Tl<L<int>>::v * 10 + Tl<L<int, char>>::v * 1000"): 101070,
    ("", "Pt<int**>::v + Pt<int>::v * 10"): 2,
    ("", "Pa<int[4]>::v + Pa<char[2][3]>::v * 10"): 24,
    ("", "Bi<int, int>::v + Bi<W<int>, int>::v * 10 + Bi<W<int>, W<char>>::v * 100 + Bi<int, char>::v * 1000"): 321,
    ("", "Gt<3, 2>::v + Gt<2, 3>::v * 10"): 21,
    ("", "Sh<Shape<_1, _2>>::v + Sh<Layout<Shape<_1, _2, _3>>>::v * 10 + Sh<Swizzle<3, 4, 3>>::v * 1000"): 343132,
    ("", "Sh<_8>::v + Sh<decltype(make_shape(1, 2))>::v * 100"): 208,
    (
        "",
        "Tt<L<int, char>>::n + Tt<Tt<std::tuple<int, char>>::re<int, int, int>>::n * 10 + Tl<Ap<L, int, "
        "int>::t>::v * 100",
    ): 10132,
}


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_the_most_specialised_is_taken(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]
