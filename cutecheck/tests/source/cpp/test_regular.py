"""The pre-pass: what tree-sitter-cuda makes of the rewritten text, and that each rewriting is needed."""

import re

import pytest
import tree_sitter
import tree_sitter_cuda
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecheck.source.cpp.regular import Blank, regularise

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def parsed(text: str) -> tree_sitter.Node:
    return _PARSER.parse(text.encode()).root_node


def kinds(text: str) -> list[str]:
    """Named node types of the tree, in order."""
    found: list[str] = []
    todo = [parsed(text)]
    while todo:
        node = todo.pop()
        found.append(node.type)
        todo.extend(reversed(node.named_children))
    return found


# What tree-sitter-cuda cannot read as it stands.
UNREADABLE = {
    "typename before a value": "void f() { g(typename X::Y{}); auto y = typename X::Z(1); }",
    "decltype value": "void f() { auto n = g(decltype(x){}) + decltype(x)::h{}; }",
    "decltype with a comma": "auto f() -> decltype(a(x), b(y));",
    "decltype as base": "template <class T> struct S : decltype(f((T*)0)) {};",
    "default argument in braces": "template <class T> void f(T const& x, T y = {}) {}",
    "default pointer": "template <class T> void f(T* = nullptr) {}",
    "default type with a declarator": "template <class T, typename C = R(*)(T), class P = void*> void f(C c) {}",
    "anonymous enum with base": "struct S { enum : int { A, B }; };",
    "anonymous bit field": "struct S { unsigned a : 14, : 2; unsigned char b : 1; };",
    "friend after specifiers": "struct S { __host__ __device__ friend void print(S const&) { } };",
    "specifiers before template": "__host__ __device__ template <class T> T f(T a);",
    "operator as a statement": "struct S { S operator++(int) { S s{*this}; operator++(); return s; } };",
    "attribute on a lambda": "void f() { auto g = [&] (int i) __attribute__((always_inline)) { return i; }; }",
    "maxnreg": "__maxnreg__(128) __global__ void k(int* p) {}",
    "cluster of a class": "__global__ void __launch_bounds__(C::n) __cluster_dims__(C::m, 1, 1) k() {}",
    "cluster first": "__global__ void __cluster_dims__(ns::C<2>::m, 1, 1) __launch_bounds__(D::n) k() {}",
    "launch bounds of three": "__global__ void __launch_bounds__(T::n * 2, f<1, 2>(3), 1) k(P p) {}",
    "__align__": "template <> struct __align__(16) A<16> {};",
    "static assertion macro": 'struct S { CUTE_STATIC_ASSERT_V(size<0>(L{}) == size(M{}), "no"); };',
    "broken string": 'void f() { static_assert(x, "one \n two"); }',
    "test macro": "TEST(suite, 64x64x64_1x1) { int x = 1; using T = int; }",
    "pack in using": "template <class... Ts> struct O : Ts... { using Ts::operator()...; };",
    "comparison in a template list": "using T = std::conditional_t<sizeof(T) >= sizeof(U), T, U>;",
    "nested template lists in a call": "auto f(){ return m(L<S<Int<A>, Int<B>, Int<C>>, S<_1, Int<M>, _8> >{}); }",
    "nested template lists before a name": "void f() { const t<u<I<1>, E<2>>, R> x = 3; }",
    "declaration as a branch": "void f() { if (a) T x = g(); else T x = h(); }",
    "sign word as a value": "void f() { dim3 b{unsigned(g(x)), 1u}; }",
    "macro beside a string": 'void f() { char const* o[] = {"-I" DIR, "x"}; }',
    "assembly without a comma": 'void f() { asm volatile ("a" : : "r"(x) "l"(y)); }',
    "trailing comma": "void f() { g<A, B,>(x); }",
    "explicit instantiation": "template class X<1, 2>; template struct Y<A>;",
    "macro before a declaration": "MY_API A<int> f(); class MY_API X { int a; };",
    "macros around declarations": "MY_BEGIN template <class T> MY_API MY_INLINE constexpr T f(T a); MY_END",
    "macro before a statement": "void f() { MY_UNROLL for (;;) {} }",
    "macro call before a declaration": "MY_THING(x) struct Y { int a; };",
    "target of a lambda": "void f() { auto g = [=] __device__ (int i) { return i; }; }",
    "designator with braces": "S s = S{.a = 1, .b{2}};",
    "member pointer": "void f() { g(a->*b); }",
    "using typename": "struct S : B { using typename B::T; };",
    "deleted function": "template <class T> void f(T t) = delete;",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_makes_readable(name: str) -> None:
    text = UNREADABLE[name]
    regular = regularise(text)
    assert len(regular.text) == len(text)
    assert parsed(text).has_error, "the rewriting is not needed"
    assert not parsed(regular.text).has_error, regular.text


# What it reads without an ERROR node but not as C++ does: (text, node that must be there, node that must not).
MISREAD = {
    "comparison": ("bool f() { return i < n && j > (m); }", "binary_expression", "template_function"),
    "loop": ("void f() { for (int i = 0; i < size<0>(x); ++i) g(i); }", "binary_expression", None),
    "local with arguments": ("void f() { std::vector<T> v(m * n), w(n); }", "init_declarator", "function_declarator"),
    "second declarator": ("void f() { T x = a, y(b); }", "initializer_list", "function_declarator"),
    "words for operators": ("void f() { if ((a) and (b)) g(); }", "binary_expression", "cast_expression"),
    "local with a name": (
        "void f() { T x(y); U z(x, y); }",
        "initializer_list",
        "parameter_list parameter_declaration",
    ),
    "condition that is no declaration": ("void f() { if (a && B{}) return; }", "binary_expression", "declaration"),
    "initialiser that is no body": ("void f() { T x{a * B<1>{}}; }", "init_declarator", "pointer_declarator"),
    "two lists in a name": ("void f() { g(C<D>::G<2>::value); }", "identifier", "binary_expression"),
    "difference that is no cast": ("void f() { x = y + (a) - b * (c) - d; }", "binary_expression", "cast_expression"),
    "size that is no cast": ("void f() { g(sizeof(int)+1 ? M : 0); }", "binary_expression", "cast_expression"),
    "array reference": ("void f() { uint8_t (&r)[16] = g(x); }", "array_declarator", "subscript_expression"),
    "call in a template list": (
        "using T = Int<size(x)>;",
        "compound_literal_expression",
        "abstract_function_declarator",
    ),
}


@pytest.mark.parametrize("name", MISREAD)
def test_shape(name: str) -> None:
    text, wanted, unwanted = MISREAD[name]
    regular = regularise(text).text
    assert not parsed(regular).has_error
    assert wanted in kinds(regular)
    if unwanted and " " not in unwanted:
        assert unwanted in kinds(text), "the rewriting is not needed"
        assert kinds(regular).count(unwanted) < kinds(text).count(unwanted)
    elif unwanted:
        assert kinds(text).count("parameter_declaration") > kinds(regular).count("parameter_declaration") == 0


@pytest.mark.parametrize(
    "text",
    [
        "auto f() { return x.template get<0>() + y->template h<A, B>(1); }",
        "template <class... Ts> constexpr bool v = (is_same_v<Ts, int> || ...);",
        "auto g = [] <class T, int N> (T const& t, auto&&... xs) constexpr { return (t + ... + xs); };",
        "void f() { k<<<grid, block, 0, s>>>(a, b); }",
        "template <class T> requires C<T> && (sizeof(T) > 2) void f(T t) requires D<T> {}",
        "__launch_bounds__(128, 2) __global__ void k(__grid_constant__ P const p) {}",
        "auto x = make_shape(8_c, _4{}, 128_c);",
        'extern "C" { int f(int); }',
        "template class X<1, 2>; template void f<int>(int);",
        "enum class E : uint8_t { A = 1 << 2, B };",
        "template <class T> X(T) -> X<T>;",
        "void f() { auto [a, b] = g(x); if constexpr (a < b) { return; } delete[] p; int* q = new int[3]; }",
        "int A<B>::*p = &A<B>::c;",
        "using T = E<(N > 3), (a < b), !x<A>, is<A>::value && is<B>::value>;",
        "template <class T, std::enable_if_t<(N > 0), int> = 0> decltype(auto) f(T&& t) { return t; }",
        "struct S { alignas(16) cute::array<T, cute::cosize_v<L>> a; operator typename A::B() const { return {}; } };",
        "auto f() { return a < b ? A<B>{}(c) : A<B, C>::d<e>(1); }",
        "bool f(int a, int b) { return (a < b) and not (b > a) or a <= b; }",
    ],
)
def test_keeps_readable(text: str) -> None:
    regular = regularise(text)
    assert not parsed(regular.text).has_error, regular.text


def test_what_opens_a_list() -> None:
    """Comparisons become ``>`` (``<=`` inside lists), brackets stay."""
    for text, wanted in [
        ("f(i < n, j);", "f(i > n, j);"),
        ("f(a < b, c > d);", "f(a > b, c > d);"),
        ("f(pair<A, B> d);", "f(pair<A, B> d);"),
        ("x = get<0>(a) < b;", "x = get<0>(a) > b;"),
        ("A<b < c> d;", "A<b <=c> d;"),
        ("A<(b < c)> d;", "A<(b > c)> d;"),
        ("A<B, Int<C::k < 64 ? C::k : 64>>, D<E>> d;", "A<B, Int<C__k <=64 ? C__k : 64>>, D<E>> d;"),
        ("A<Int<k ? 1 : 2>> d;", "A<Int<k ? 1 : 2>> d;"),
        ("A < k ? 1 : 2 > d;", "A > k ? 1 : 2 > d;"),
        ("A < f(k ? 1 : 2) > d;", "A < f{k ? 1 : 2} > d;"),
        ("x = a.b < c.d && e > f;", "x = a.b > c.d && e > f;"),
        ("while (i < n) ++i;", "while (i > n) ++i;"),
        ("B<R<a, b>.n < c * R<a, b>.d> operator+(R<a, b>);", "B<R<a, b>.n <=c * R<a, b>.d> operator+(R<a, b>);"),
    ]:
        assert regularise(text, folds=False).text == wanted


def test_scope_is_part_of_the_name() -> None:
    text = "cute::Int<1> x = ::a::b<c>::d::e{}; namespace p::q { int p::*m; A a :: b; }"
    assert regularise(text).text == "cute__Int<1> x = __a__b<c>::d__e{}; namespace p::q { int p::*m; A a :: b; }"


def test_names_in_capitals_stay() -> None:
    for text in ["dim3 t{THREADS};", "N_MAX", "auto f() { return {N_MAX}; }", "T x = A_B; }", "f(A_B) ; C_D x;"]:
        assert regularise(text).text == text


def test_blanks_tell_what_they_were() -> None:
    text = "struct S { __device__ inline friend void f(S) { } template <class T> void g(T) = delete; };"
    regular = regularise(text)
    assert regular.blanks == (
        Blank("specifier", text.index("__device__"), text.index("__device__") + 10),
        Blank("delete", text.index("= delete"), text.index("= delete") + 8),
    )


def test_non_ascii_counts_as_one() -> None:
    text = 'int f\u00fcr = 1; char const* s = "\u2192\u00e9"; // \U0001f600'
    regular = regularise(text).text
    assert len(regular) == len(text)
    assert regular.isascii()
    assert regular.startswith("int f_r = 1;")


_TOKENS = (
    "< > << >> <= >= ( ) [ ] { } , ; : :: . -> = * & && ... ? + - 1 0x1 a B c_t T::x typename template class struct "
    'decltype operator if else for return using enum friend const int unsigned asm TEST "a" "b \' / alignas {} '
    "__attribute__ CUTE_STATIC_ASSERT_V static_cast namespace ->* \u00e9 new delete requires __align__ API"
)
_PIECES = st.sampled_from([*_TOKENS.split(), "\n"])


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=60), st.sampled_from(["", " "]))
def test_never_raises(pieces: list[str], glue: str) -> None:
    text = glue.join(pieces)
    regular = regularise(text)
    assert len(regular.text) == len(text)
    assert regular.text.isascii()
    assert all(0 <= blank.begin < blank.end <= len(text) for blank in regular.blanks)


def test_linear() -> None:
    """Depth and length cost no more than their share: 60 kB of each within the time of a few normal files."""
    import time

    for piece in [
        "a<",
        "a<b,",
        "f(",
        "x < y && ",
        "A<B>{}, ",
        "T x(y);\n",
        "decltype(",
        "a::",
        "enum : ",
        "asm(",
        "{",
        "X<Y<",
    ]:
        began = time.process_time()
        regularise(piece * (60_000 // len(piece)))
        assert time.process_time() - began < 4, piece


def test_identifiers_are_valid() -> None:
    """A fold leaves one name as long as what it replaces."""
    text = "void f() { auto x = g(A<B<C<1>>, D>{}); }"
    regular = regularise(text).text
    assert re.search(r"A<I_+, D>\{\}", regular)
