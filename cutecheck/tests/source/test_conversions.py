"""Objects that convert themselves, constructors taken over, limits and bits of numbers, as g++ 12 says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
using namespace cute;
struct Bx { int v; constexpr operator int() const { return v; } constexpr int operator()(int a) const { return v +
a; } constexpr Bx operator+(Bx o) const { return {v + o.v}; } constexpr bool operator==(Bx o) const { return v ==
o.v; } constexpr Bx operator-() const { return {-v}; } constexpr bool operator!() const { return v == 0; } };
struct Eb { int v; constexpr explicit operator bool() const { return v > 2; } constexpr operator float() const {
return v + 0.5f; } };
template <int N> struct K { static constexpr int value = N; constexpr operator int() const { return N; } constexpr
int operator()() const { return N; } };
struct Idx { int i; constexpr Idx& operator++() { ++i; return *this; } constexpr Idx operator++(int) { Idx t =
*this; ++i; return t; } constexpr Idx& operator+=(int k) { i += k; return *this; } friend constexpr bool
operator<(Idx a, Idx b) { return a.i < b.i; } friend constexpr int operator*(Idx a, int k) { return a.i * k; }
constexpr int operator[](int k) const { return i * 100 + k; } };
constexpr int operator""_k(unsigned long long v) { return int(v) * 1024; } constexpr int operator""_b(char c) {
return c - 'a'; }
struct Ba { int a; constexpr Ba(int q) : a(q) {} constexpr Ba(int p, int q) : a(p * q) {} }; struct De : Ba { using
Ba::Ba; int b = a + 1; };
struct Dg { int a = 1; int b = a + 1; constexpr Dg() : Dg(5) {} constexpr Dg(int q) : a(q) {} };
union Un { int i; float f; }; struct Bf { unsigned a : 3; unsigned b : 5; int c : 4; };
template <class... Ts> struct Ov : Ts... { using Ts::operator()...; }; template <class... Ts> Ov(Ts...) ->
Ov<Ts...>;
struct alignas(16) Al { char c; }; struct Pk { char c; int i; char d; }; struct Em {}; struct Em2 : Em { int q; };
template <class T> struct Lim { static constexpr T mx = std::numeric_limits<T>::max(); };
enum class Fl : unsigned { None = 0, A = 1, B = 2, C = 4 }; constexpr Fl operator|(Fl a, Fl b) { return
Fl(unsigned(a) | unsigned(b)); } constexpr bool has(Fl a, Fl b) { return (unsigned(a) & unsigned(b)) != 0; }
template <class F, class... A> constexpr auto call(F&& f, A&&... a) { return f(std::forward<A>(a)...); }
template <class T, T... V> struct Sq { static constexpr int n = sizeof...(V); static constexpr T last() { T r{}; ((r
= V), ...); return r; } };
template <std::size_t... I> constexpr int isum(std::index_sequence<I...>) { return (int(I) + ... + 0); }
template <class Tp> constexpr int tsum(Tp const& t) { return std::apply([](auto... v) { return (v + ... + 0); }, t);
}
struct Node { int v; Node const* nx; }; constexpr Node n2{2, nullptr}, n1{1, &n2};
constexpr int strl(char const* s) { int n = 0; while (*s++) ++n; return n; }
constexpr int digit(const char (&s)[4]) { return s[0] * 1000 + s[2]; }
struct Opt { std::optional<int> o; int get() const { return o.value_or(9); } };
template <int V> constexpr int tv = V * 2; template <> constexpr int tv<3> = 100; template <class T> constexpr bool
is_ptr = false; template <class T> constexpr bool is_ptr<T*> = true;
struct Static { static int cnt; int id; Static() : id(++cnt) {} }; int Static::cnt = 5;
int glob = 3; int bump() { return ++glob; }
constexpr int cf(int n) { switch (n) { case 0: return 1; case 1: case 2: return 10; default: { int r = 0; for (int i
= 0; i < n; ++i) r += i; return r; } } }
template <typename T> struct Nest { template <int I> struct R { static constexpr int f() { return I *
int(sizeof(T)); } T m[I]; }; using V = R<3>; };
struct Part { struct Args { int n = 0; }; };
template <class A, class B> struct Two { struct Args { typename A::Args op_0; typename B::Args op_1; };
  static constexpr int sum(Args const& a) { return a.op_0.n * 10 + a.op_1.n; }
  template <class P> static constexpr int with(P p, Args const& a) { return a.op_1.n + p; } };
struct Fused : Two<Part, Part> { using Impl = Two<Part, Part>;
  struct Args { int alpha = 8, beta = 4;
    constexpr operator typename Impl::Args() const { return {{alpha}, {beta}}; } }; };
struct Num { int v; constexpr operator Part::Args() const { return {v + 1}; } };
constexpr int taken(Part::Args a) { return a.n; }
template <class T> struct Wr { T t; constexpr T const& get() const& { return t; } constexpr T get() && { return t +
1; } };
""")
TOLD = {
    ("Bx b{5};", "b + 3"): 8, ("Bx b{5}; int v = b;", "v * 2"): 10, ("Bx b{5};", "b(2) * 10 + (b == Bx{5})"): 71,
    ("Bx b{5};", "(-b).v + 10"): 5, ("Bx b{5};", "!b + 3"): 3, ("Bx b{0};", "b ? 4 : 6"): 6,
    ("Bx b{3}; int a[5] = {1, 2, 3, 4, 5};", "a[b]"): 4,
    ("Bx b{3}; switch (b) { case 3: x = 7; break; default: x = 8; }", "x"): 7,
    ("Bx b{3}; for (int i = 0; i < b; ++i) x += 2;", "x"): 6, ("Eb e{3};", "e ? 1 : 2"): 1,
    ("Eb e{1}; if (e) x = 3; else x = 4;", "x"): 4, ("Eb e{1}; bool q = static_cast<bool>(e);", "q + 5"): 5,
    ("Eb e{1}; float f = e;", "int(f * 2)"): 3, ("Eb e{1};", "!e + 2"): 3, ("Eb e{3};", "(e && true) + 2"): 3,
    ("K<4> k;", "k * 3 + k() + K<2>{}"): 18, ("K<4> k; Int<K<4>::value> i;", "i + k"): 8,
    ("Idx i{3}; Idx j = i++;", "i.i * 10 + j.i"): 43, ("Idx i{3}; Idx j = ++i;", "i.i * 10 + j.i"): 44,
    ("Idx i{3}; i += 4;", "i * 3"): 21, ("Idx i{3};", "(i < Idx{4}) * 10 + i[7]"): 317,
    ("for (Idx i{0}; i < Idx{4}; ++i) x += i.i;", "x"): 6, ("De d(3);", "d.a * 10 + d.b"): 34,
    ("De d(3, 4);", "d.a * 10 + d.b"): 133, ("Dg d;", "d.a * 10 + d.b"): 56, ("Dg d(7);", "d.a * 10 + d.b"): 78,
    ("", "sizeof(Al) + alignof(Al) * 100"): 1616, ("", "sizeof(Em) + sizeof(Em2) * 10"): 41,
    ("", "std::numeric_limits<int8_t>::max() + std::numeric_limits<uint8_t>::max()"): 382,
    ("", "std::numeric_limits<int>::digits * 10 + std::numeric_limits<unsigned>::is_signed"): 310,
    ("", "int(std::numeric_limits<int>::min() / 65536) + 40000"): 7232, ("", "Lim<short>::mx"): 32767,
    ("", "std::numeric_limits<float>::digits + std::numeric_limits<double>::is_integer"): 24,
    ("", "INT_MAX - 2147483600"): 47, ("", "int(UINT32_MAX >> 28) + INT8_MAX + UINT16_MAX"): 65677,
    ("", "__builtin_popcount(255) * 10 + __builtin_ctz(8)"): 83, ("", "__builtin_clz(1) * 10 + __builtin_ffs(8)"): 314,
    ("constexpr Fl f = Fl::A | Fl::C;", "unsigned(f) * 10 + has(f, Fl::B)"): 50,
    ("", "call([](int a, int b) { return a * b; }, 3, 4)"): 12, ("", "Sq<int, 1, 2, 7>::last() + Sq<char, 'a'>::n"): 8,
    ("", "isum(std::make_index_sequence<5>{})"): 10,
    ("", "tsum(std::make_tuple(1, 2, 3)) + tsum(std::make_pair(4, 5))"): 15, ("", "n1.nx->v * 10 + n1.v"): 21,
    ("", "tv<4> + tv<3> + is_ptr<int*> * 1000"): 1108, ("", "cf(0) + cf(2) + cf(5)"): 21,
    ("", "Nest<short>::R<4>::f() + Nest<int>::V::f()"): 20, ("", "sizeof(Nest<short>::R<4>)"): 8,
    ("Wr<int> w{4};", "w.get() * 10 + Wr<int>{4}.get()"): 45,
    ("Fused::Args f{6, 5};", "Fused::sum(f) * 100 + Fused::with(2, f)"): 6507, ("", "taken(Num{6})"): 7,
    ("auto [a, b] = std::make_pair(3, 4);", "a * 10 + b"): 34,
    ("auto t = std::make_tuple(1, 2); std::get<0>(t) = 7;", "std::get<0>(t) * 10 + std::get<1>(t)"): 72,
    ("", "std::tuple_size_v<std::tuple<int, char>> + sizeof(std::tuple_element_t<1, std::tuple<int, long>>)"): 10,
    ("auto o = [] { struct L { int q = 6; }; return L{}; }();", "o.q"): 6,
    ("auto f = [n0 = 3](auto... v) { return (v + ... + n0); };", "f(1, 2)"): 6,
    ("auto f = [](auto self, int k) -> int { return k <= 1 ? 1 : k * self(self, k - 1); };", "f(f, 5)"): 120,
    ("int (*fp)(int) = cf;", "fp(2)"): 10, ("std::function<int(int)> g = [](int v) { return v * 3; };", "g(4)"): 12,
    ("", "std::clamp(15, 0, 10) + std::abs(-3)"): 13, ("", "std::gcd(12, 18) * 10 + std::lcm(2, 3)"): 66,
    ("", "std::is_same_v<std::common_type_t<int, long>, long> + std::is_base_of_v<Em, Em2> * 10"): 11,
    ("", "sizeof(std::make_unsigned_t<long>) + std::is_same_v<std::underlying_type_t<Fl>, unsigned> * 10"): 18,
    ("", "std::extent_v<int[3]> + std::rank_v<int[2][3]> * 10 + std::alignment_of_v<double> * 100"): 823,
    (
        "",
        "std::integral_constant<int, 5>::value + std::integral_constant<int, 5>{} + std::bool_constant<true>{}()",
    ): 11,
    ("", "sizeof(\"abc\") + sizeof(\"a\" \"bc\") * 10"): 44, ("", "5 / 2 * 2.0 == 4.0"): 1,
    ("", "(int)3.7f + int(2.5 + 2.5)"): 8, ("", "1e2 + .5 > 100"): 1,
    ("", "(unsigned char)300 + (signed char)200 + 100"): 88, ("", "static_cast<int>(3000000000u) < 0"): 1,
    ("", "3000000000 > 0"): 1, ("", "2147483647 + 1u == 2147483648u"): 1, ("", "-1 < 1u"): 0,
    ("", "(true ? 1 : 2.5) == 1.0"): 1, ("", "true + true + !false"): 3, ("", "alignof(int) + alignof(char) * 10"): 14,
}  # fmt: skip


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_objects_and_numbers_are_what_the_compiler_says(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]


BITS = {  # of C++20
    "std::popcount(7u) + std::countr_zero(8u) * 10 + std::countl_zero(1u) * 100": 3133, "std::bit_width(255u)": 8,
    "std::bit_ceil(5u) * 100 + std::bit_floor(5u) * 10 + std::has_single_bit(4u)": 841,
    "std::rotl(uint8_t(0x81), 1) + std::countl_one(uint8_t(0xF0)) * 1000": 4003, "std::countr_zero(uint16_t(0))": 16,
}  # fmt: skip


@pytest.mark.parametrize("shown", BITS)
def test_bits_are_counted_as_the_compiler_does(shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, "", shown) == BITS[shown]


def test_a_member_keeps_what_its_initialiser_said_when_the_object_was_made(tmp_path: Path) -> None:
    body = "De d(3); d.a = 100; Dg g; g.a = 50;"
    assert number(tmp_path, KERNEL, body, "d.b * 10 + g.b") == 46


@pytest.mark.parametrize(
    "declarations",
    [
        "struct C { __device__ operator int() const; };",  # not defined here
        "struct C { __device__ operator int() const { return 3; } __device__ operator long() const { return 4; } };",
        "struct C { template <class T> __device__ operator T() const { return 3; } };",
        "struct C { __device__ operator int() const { return 3; } __device__ int operator+(int) const; };",
    ],
)
def test_a_conversion_that_is_not_known_gives_no_number(declarations: str, tmp_path: Path) -> None:
    text = kernel("#include <cute/tensor.hpp>\nusing namespace cute;\n" + declarations)
    assert number(tmp_path, text, "C c;", "c + 1") is None
