"""Expressions and types: what the parser makes of the ambiguous corners of C++."""

from __future__ import annotations

import pytest

from cutecheck.source.cpp import lower_expression
from cutecheck.tests.source.cpp.show import show

CASES = [
    ("Int<kBlockM>{}", "Int<kBlockM>{}"),
    ("(a < b) > (c)", "((a < b) > c)"),
    ("X<N / 2, Y>{}", "X<(N / 2),Y>{}"),
    ("Stride<Int<X::y>, _1>", "Stride<Int<X::y>,_1>"),
    ("X<T>::template f<U>()", "X<T>::f<U>()"),
    ("x.template f<I>()", "x.f<I>()"),
    ("get<0>(x)", "get<0>(x)"),
    ("Layout<Shape<_8, Int<k>>>{}", "Layout<Shape<_8,Int<k>>>{}"),
    ("typename X::Y{}", "X::Y{}"),
    ("typename decltype(t)::value_type{}", "decltype(t)::value_type{}"),
    ("decltype(a)::value", "decltype(a)::value"),
    ("i < n && j > -1", "((i < n) && (j > (- 1)))"),
    ("i < n && j > (k)", "((i < n) && (j > k))"),
    ("f(a < b, c > (d))", "f((a < b),(c > d))"),
    ("f(a < b, c > d)", "f((a < b),(c > d))"),
    ("size<0>(x) / size<1>(y) > 3", "((size<0>(x) / size<1>(y)) > 3)"),
    ("rank_v<X> < 3", "(rank_v<X> < 3)"),
    ("is_same_v<A, B> && c", "(is_same_v<A,B> && c)"),
    ("&k<A, B && !C, D <= 128>", "(& k<A,(B && (! C)),(D <= 128)>)"),
    ("conditional_t<(a > b), X, Y>", "conditional_t<(a > b),X,Y>"),
    ("conditional_t<a == 2 ? b : c, X, Y>", "conditional_t<((a == 2) ? b : c),X,Y>"),
    ("a < b ? c : d > (e)", "((a < b) ? c : (d > e))"),
    ("A<B<C<1>>>::value", "A<B<C<1>>>::value"),
    ("a >> 2 >= b", "((a >> 2) >= b)"),
    ("X<(a >> 2)>{}", "X<(a >> 2)>{}"),
    ("k<<<g, dim3(1, 2), s, st>>>(a, b)", "k<<<g,dim3(1,2),s,st>>>(a,b)"),
    ("k<T, 3><<<g, b>>>()", "k<T,3><<<g,b>>>()"),
    ("(half_t*)nullptr", "c<ptr[half_t]>(None:nullptr)"),
    ("(float)x * y", "(c<float>(x) * y)"),
    ("(a) * b", "(a * b)"),
    ("(a)(b)", "a(b)"),
    ("(uint32_t)-1", "c<uint32_t>((- 1))"),
    ("(n) - 1", "(n - 1)"),
    ("static_cast<T const&>(x)", "static_cast<ref[const[T]]>(x)"),
    ("reinterpret_cast<cute::uint128_t*>(p)", "reinterpret_cast<ptr[cute::uint128_t]>(p)"),
    ("sizeof(float*) + sizeof(x) + sizeof x", "((sizeof(ptr[float]) + sizeof(x)) + sizeof(x))"),
    ("sizeof...(Ts)", "sizeof...(Ts)"),
    ("(... + f(xs))", "foldL(+,f(xs),-)"),
    ("(f(xs) && ...)", "foldR(&&,f(xs),-)"),
    ("(0 + ... + xs)", "foldL(+,xs,0)"),
    ("(f(xs), ...)", "foldR(,,f(xs),-)"),
    ("f([](auto... t) { }, (u - ... - t), (t - ... - u))", "f(lambda[](t)->-,foldL(-,t,u),foldR(-,t,u))"),
    ("f(xs...)", "f(xs...)"),
    ("m * K < (n + 1) * N || (m + 1) * K >= n * N", "(((m * K) < ((n + 1) * N)) || (((m + 1) * K) >= (n * N)))"),
    ("conditional<sizeof(T) >= sizeof(U), T, U>::type", "conditional<(sizeof(T) >= sizeof(U)),T,U>::type"),
    ("N < a || b > (c)", "((N < a) || (b > c))"),
    ("X::template f\n <A, B && C>(d)", "X::f<A,(B && C)>(d)"),
    ("x.template g <A && B> (y)", "x.g<(A && B)>(y)"),
    ("X<Ts..., 1>", "X<Ts...,1>"),
    ("[&](auto x, int y) -> int { return x; }(1, 2)", "lambda[](x,y)->int(1,2)"),
    ("[=] __device__ (int i) { }", "lambda[](i)->-"),
    ("[]<class T>(T t) { }", "lambda['T'](t)->-"),
    ("x(_, _, 0)", "x(_,_,0)"),
    ("x[i][j].y->z", "x[i][j].y.z"),
    ("S{.a = 1, .b{2}}", "S{.a=1,.b={2}}"),
    ("std::function<void(int)>", "std::function<function[void]>"),
    ("const unsigned long long*", "ptr[const[unsigned long long]]"),
    ("int[3][4]", "array[array[int,4],3]"),
    ("T(&)[4]", "ref[array[T,4]]"),
    ("0x10u + 1'000 + 5_c", "((16:unsigned + 1000) + Int<5>{})"),
    ("4294967296 + 07 + 0b11 + 1ull", "(((4294967296:long + 7) + 3) + 1:unsigned long long)"),
    ("1.5f + 1e3 + .5", "((1.5:float + 1000.0:double) + 0.5:double)"),
    ("'a' + '\\n'", "(97:char + 10:char)"),
    ('"a" "b"', "ab:char[3]"),
    ("::cute::size(x)", "::cute::size(x)"),
    ("not a and b", "((! a) && b)"),
    ("x = y += 2", "(x = (y += 2))"),
    ("(x, y)", "(x , y)"),
    ("T{}.f().template g<1>()", "T{}.f().g<1>()"),
    ("make_shape(Int<8>{}, make_shape(2, Int<4>{}))", "make_shape(Int<8>{},make_shape(2,Int<4>{}))"),
    ("unsigned(x) << 3", "(unsigned(x) << 3)"),
    ("int{3}", "int{3}"),
    ("a->*b", "(a ->* b)"),
    ("++i, j--", "((++ i) , (p-- j))"),
    ("Foo<&X::f, nullptr>", "Foo<(& X::f),None:nullptr>"),
    ("Foo<'a', true, -1>", "Foo<97:char,True:bool,(- 1)>"),
    ("tuple_element_t<0, T>::x", "tuple_element_t<0,T>::x"),
    ("(tid < 32 && warp > 0)", "((tid < 32) && (warp > 0))"),
    ("a<b>(c) < d<e>(f)", "(a<b>(c) < d<e>(f))"),
    ("cute::min(a, b) * sizeof(T) / 2", "((cute::min(a,b) * sizeof(T)) / 2)"),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_lowered(text: str, expected: str) -> None:
    assert show(lower_expression(text)) == expected


@pytest.mark.parametrize("text", ["", "a +", "f(", ")", "a b", "Int<8>{} }", "#"])
def test_malformed_is_opaque(text: str) -> None:
    assert show(lower_expression(text)).startswith("OPAQUE(")


def test_spans_are_those_of_the_text() -> None:
    from cutecheck.source.eval import ir

    expr = lower_expression("f(a,\n  Int<8>{})", "p")
    assert isinstance(expr, ir.Call)
    assert str(expr.span) == "p:1:1"
    arg = expr.args[1].value.span
    assert (arg.line, arg.column, arg.end_line, arg.end_column) == (2, 3, 2, 11)


def test_deep_nesting_is_a_reason_not_a_crash() -> None:
    assert "nested" in show(lower_expression("f(" * 5000 + ")" * 5000))
    assert "nested" in show(lower_expression("A<" * 5000 + ">" * 5000))
    assert "nested" in show(lower_expression("-" * 5000 + "x"))
