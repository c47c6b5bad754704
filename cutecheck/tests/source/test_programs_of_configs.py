"""Programs in the style of kernel configurations: g++ 12 prints the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
using namespace cute;
struct Base { int a = 1; virtual int f() { return 1; } int g() { return f() + 10; } virtual ~Base() {} }; struct Der
: Base { int b = 2; int f() override { return 2; } int h() { return Base::f() + f() * 10; } };
struct E0 {}; struct E1 : E0 { int x; }; struct E2 : E0, E1 {}; struct Z { E0 e; int x; }; struct alignas(32) Al {
int x; }; struct Al2 { char c; Al a; }; struct Pk { char a; double d; char b; short s; }; struct Ar { char c[3];
short s[2]; int64_t l; }; union Un { char c[5]; int i; }; struct UnS { Un u; char c; };
template <class T> struct Tb { T t; static constexpr int n = sizeof(T); }; template <class T> struct Td : Tb<T> {
char c; using Tb<T>::n; }; struct Bi { bool b; std::array<int, 3> a; cute::array<half_t, 4> h; };
struct SmemA { alignas(128) cute::array_aligned<half_t, 100> a; cute::array<float, 3> b; alignas(16) uint64_t
bar[3]; }; struct SmemB { struct { int x; char y; } in; enum { K = 3 }; char arr[K]; static constexpr int S = 4;
using T = int; int f(); T t[S]; };
template <int N> struct SmemC { union { struct { half_t q[N]; half_t k[N * 2]; } m; float o[N]; }; uint32_t flags;
}; struct SmemD : SmemA { char tail; };
struct NoEm { [[no_unique_address]] E0 e; int x; }; enum class B8 : uint8_t { X }; struct En { B8 b; En* p; B8 c[3];
};
constexpr int cx(int a) { if (a > 3) { for (int i = 0; i < a; ++i) { if (i * i > a) return i; } } return -a; }
constexpr auto lam3 = [](auto... x) { return (0 + ... + x); }; template <auto L> constexpr int callL = L(1, 2, 3);
template <class F, class... A> constexpr auto inv(F&& f, A&&... a) -> decltype(f(std::forward<A>(a)...)) { return
f(std::forward<A>(a)...); }
template <class T> auto hasf(int) -> decltype(std::declval<T>().foo(), std::true_type{}); template <class T>
std::false_type hasf(...); struct Foo { int foo(); };
template <class T> constexpr bool has_size = false; template <class T> requires requires(T t) { t.size(); }
constexpr bool has_size<T> = true; template <class T> concept Small = sizeof(T) <= 2; template <Small T> constexpr
int kk(T) { return 1; } template <class T> constexpr int kk(T) { return 2; }
int f1(int) { return 1; } int f1(double) { return 2; } int f1(const char*) { return 3; } int f1(...) { return 4; }
template <class T> int f2(T) { return 1; } template <> int f2(char) { return 2; } int f2(short) { return 3; }
template <class T> int f3(T const&) { return 1; } template <class T> int f3(T&&) { return 2; } int f4(long, int) {
return 1; } int f4(int, long) { return 2; } int f4(int, int) { return 3; }
int f5(int& x) { return 1; } int f5(int const& x) { return 2; } int f5(int&& x) { return 3; } template <class T> int
f6(T*) { return 1; } template <class T> int f6(T const*) { return 2; } template <class T> int f7(std::vector<T>) {
return 1; } template <int N> int f8(Int<N>) { return N; } template <class T> int f8(T) { return -1; } int f9(bool) {
return 1; } int f9(int*) { return 2; }
struct Ct { int k; Ct(int a) : k(a) {} Ct(double) : k(99) {} Ct(std::initializer_list<int> l) : k(int(l.size()) *
100) {} }; struct Exp { int k; explicit Exp(int a) : k(a) {} }; struct Dg { int k = 5; Dg() = default; Dg(Dg const&
o) : k(o.k + 1) {} Dg(Dg&& o) : k(o.k + 10) {} Dg& operator=(Dg const& o) { k = o.k + 100; return *this; } };
struct Lz { int v = init(); static int init() { return 7; } int w = v * 2; }; static int sc() { static int c = 0;
return ++c; } struct Par { int x; constexpr Par(int a = 4) : x(a) {} constexpr Par operator+(Par o) const { return
Par(x + o.x); } constexpr bool operator<(Par o) const { return x < o.x; } };
namespace n1 { int q() { return 1; } namespace n2 { int q() { return 2; } int r() { return q() + n1::q() * 10; } }
using namespace n2; } namespace n3 = n1::n2; int q0() { using n1::n2::q; return q(); } struct Sc { static int q() {
return 5; } int t() { return q() + n3::q(); } };
typedef int (*FP)(int, int); int add(int a, int b) { return a + b; } template <class T, T v> struct Ic { static
constexpr T value = v; constexpr operator T() const { return v; } }; template <int... I> using Sq =
std::integer_sequence<int, I...>; template <int N> using NZ = std::conditional_t<(N > 0), Ic<int, N>, Ic<int, -1>>;
int und(int); int cvt(float f) { return static_cast<int>(f); } template <class T> int cast_(T v) { int r = v; return
r; }
int conv(int i) { int v = und(i); return v; } int und(int i) { return i * 3; }
struct O { template <class T> O(T) {} }; struct Ops { int v; friend Ops operator*(Ops a, int k) { return {a.v * k};
} friend Ops operator*(int k, Ops a) { return {a.v * k + 1}; } Ops operator-(Ops b) const { return {v - b.v}; } bool
operator==(Ops const& b) const { return v == b.v; } bool operator!=(Ops const& b) const { return !(*this == b); }
int operator()(int i) const { return v + i; } operator bool() const { return v != 0; } };
template <int N> struct Cnt { enum { value = N * 2 }; static constexpr int v = N; typedef int type; };
template <class... Ts> struct Vis : Ts... { using Ts::operator()...; }; template <class... Ts> Vis(Ts...) ->
Vis<Ts...>;
template <class T, int N> constexpr int len(T const (&)[N]) { return N; } template <class T> constexpr T sq(T x) {
return x * x; }
constexpr int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } constexpr int ipow(int b, int e) { int r =
1; while (e) { if (e & 1) r *= b; b *= b; e >>= 1; } return r; }
constexpr unsigned nextpow2(unsigned v) { v--; v |= v >> 1; v |= v >> 2; v |= v >> 4; v |= v >> 8; v |= v >> 16;
return ++v; }
constexpr int log2c(int n) { int r = 0; while (n >>= 1) ++r; return r; } constexpr bool isprime(int n) { for (int i
= 2; i * i <= n; ++i) if (n % i == 0) return false; return n > 1; }
struct Lim { static constexpr int lo = -3; static constexpr unsigned hi = 5u; static constexpr float f = 2.5f;
static constexpr double d = lo * f; static constexpr auto a = hi - 6; static constexpr bool b = lo < hi; };
template <class A, class B> struct Same { static constexpr bool v = false; }; template <class A> struct Same<A, A> {
static constexpr bool v = true; };
template <class T> struct Rm { using t = T; }; template <class T> struct Rm<T&> { using t = T; }; template <class T>
struct Rm<T&&> { using t = T; };
template <template <int> class C, int N> struct App { static constexpr int v = C<N>::v; };
template <int... I> struct Seq { static constexpr int n = sizeof...(I); static constexpr int arr[] = {I...}; static
constexpr int sum = (I + ... + 0); static constexpr int mx = [] { int m = 0; ((m = I > m ? I : m), ...); return m;
}(); };
template <int N, int... I> struct Mk : Mk<N - 1, N - 1, I...> {}; template <int... I> struct Mk<0, I...> { using t =
Seq<I...>; };
template <class S> struct Rev; template <> struct Rev<Seq<>> { using t = Seq<>; }; template <int F, int... R> struct
Rev<Seq<F, R...>> { template <class X> struct Ap; template <int... J> struct Ap<Seq<J...>> { using t = Seq<J..., F>;
}; using t = typename Ap<typename Rev<Seq<R...>>::t>::t; };
inline namespace lib { namespace detail { template <class T> struct impl { static constexpr int v = sizeof(T); }; }
template <class T> inline constexpr int impl_v = detail::impl<T>::v; }
struct NonAgg { NonAgg() : a(1), b(a + 1) {} NonAgg(int q) : NonAgg() { a = q; } int a, b; int c = a * 10; }; struct
Mut { mutable int c = 0; int get() const { return ++c; } };
struct Static { static int n; int id; Static() : id(n++) {} }; int Static::n = 5;
template <class T> struct Opt { bool has = false; T v{}; constexpr Opt() = default; constexpr Opt(T t) : has(true),
v(t) {} constexpr explicit operator bool() const { return has; } constexpr T const& operator*() const { return v; }
constexpr T value_or(T d) const { return has ? v : d; } };
constexpr Opt<int> find(int k) { constexpr int t[] = {3, 5, 7}; for (int i = 0; i < 3; ++i) if (t[i] == k) return i;
return {}; }
enum Bits : unsigned { F1 = 1u << 0, F2 = 1u << 3, F3 = F1 | F2, F4 = ~0u }; constexpr Bits operator|(Bits a, Bits
b) { return Bits(unsigned(a) | unsigned(b)); }
enum class Lay { Row, Col }; template <Lay L> constexpr int stride0 = L == Lay::Row ? 7 : 1; template <> constexpr
int stride0<Lay::Col> = 11;
using Fp = int (*)(int); int dbl(int x) { return 2 * x; } int trp(int x) { return 3 * x; } constexpr Fp tab[] =
{dbl, trp}; int callp(Fp f, int v) { return f(v); } template <Fp F> int callt(int v) { return F(v); } template <auto
F> int calla(int v) { return F(v); }
struct Mp { int a = 3, b = 4; int f(int k) const { return a * k; } }; template <int Mp::* P> int getm(Mp const& m) {
return m.*P; }
""",
    "int tid = threadIdx.x;",
)
TOLD = {
    ("Der d; Base& b = d; Base c = d;", "b.f() + b.g() * 10 + c.f() * 1000 + d.h() * 10000"): 211122,
    ("", "sizeof(E1) + sizeof(Z) * 10 + sizeof(Al) * 100 + sizeof(Al2) * 10000"): 643284,
    ("", "sizeof(Pk) + sizeof(Ar) * 100 + sizeof(Un) * 10000 + sizeof(UnS) * 100000"): 1281624,
    ("", "sizeof(Td<int>) + Td<short>::n * 100 + sizeof(Bi) * 1000 + alignof(Bi) * 100000"): 424208,
    ("", "sizeof(SmemA) + alignof(SmemA) * 1000 + sizeof(SmemA::bar) * 1000000"): 24128256,
    ("", "sizeof(SmemB) + sizeof(SmemB::in) * 100 + sizeof(SmemB::t) * 10000"): 160828,
    ("", "offsetof(SmemB, arr) + offsetof(SmemB, t) * 100 + offsetof(SmemC<6>, flags) * 10000"): 361208,
    ("", "offsetof(Pk, s) + offsetof(Ar, l) * 100 + offsetof(Al2, a) * 10000"): 320818,
    ("constexpr int v = cx(10);", "v + cx(2) * 10"): -16,
    ("", "lam3(1, 2, 3) + callL<lam3> * 10 + inv([](int a, int b) { return a - b; }, 5, 3) * 100"): 266,
    ("", "f1(1) + f1(1.f) * 10 + f1(\"a\") * 100 + f1('c') * 1000 + f1(Foo{}) * 10000"): 41321,
    ("", "f2(1) + f2('c') * 10 + f2(short(1)) * 100"): 321,
    ("int v = 1; const int w = 2;", "f3(v) + f3(w) * 10 + f3(3) * 100"): 212,
    ("", "f4(1, 2) + f4(1L, 2) * 10 + f4(1, 2L) * 100"): 213,
    ("int v = 1; const int w = 2;", "f5(v) + f5(w) * 10 + f5(3) * 100 + f5(std::move(v)) * 1000"): 3321,
    ("int v = 1; const int* p = &v;", "f6(&v) + f6(p) * 10"): 21,
    ("", "f8(_3{}) + f8(3) * 10 + f8(Int<4>{}) * 100"): 393,
    ("int v = 1;", "f9(1) + f9(&v) * 10 + f9(nullptr) * 100"): 221,
    ("Lz l; Lz m{3};", "l.v + l.w * 10 + m.w * 1000"): 6147,
    ("constexpr Par p = Par(3) + Par() + 2;", "p.x + (Par(1) < 2) * 100"): 109,
    ("", "n1::q() + n3::q() * 10 + n1::n2::r() * 100 + q0() * 10000 + Sc{}.t() * 100000"): 721221,
    ("FP f = add; FP g = &add;", "f(1, 2) + (*g)(3, 4) * 10"): 73,
    ("int i = 0; int a = (i++, i++, i);", "a * 10 + i"): 22,
    ("int i = 5; int r = i > 3 ? i < 10 ? 1 : 2 : 3;", "r"): 1,
    (
        "int r = 0; switch (y) { case 1 ... 5: r = 1; break; case 8: r = 2; [[fallthrough]]; case 9: r "
        "+= 10; default: r += 100; }",
        "r",
    ): 112,
    ("int r = 0; for (int i = 0; i < 10; i += 3) { if (i == 3) continue; if (i == 9) break; r = r * 10 + i; }", "r"): 6,
    ("int r = 0, k = 5; do { r += k--; if (r > 8) break; } while (k);", "r * 10 + k"): 93,
    ("int z[2][3];", "sizeof(z) + sizeof(z[0]) * 100 + sizeof(z) / sizeof(z[0][0]) * 10000"): 61224,
    ("auto l = [](int a) -> long { return a; };", "sizeof(l(1)) + sizeof(l)"): 9,
    ("decltype(auto) v = (y); v = 3;", "y"): 3,
    ("auto&& r = y; r = 4; const auto& c = y;", "c"): 4,
    ("using T = decltype(y); using R = decltype((y)); T a = 1; R b = y; b = 6;", "y + a"): 7,
    ("constexpr int tbl[] = {[] { return 3; }(), 4};", "tbl[0] * 10 + tbl[1]"): 34,
    ("static_assert(sizeof(int) == 4); int a{}; int* p{};", "a + (p == nullptr)"): 1,
    ("int a = 1'000'000 % 1000 + 0b1010 + 0xFF + 017;", "a"): 280,
    ("unsigned char a = 'z' - 'a';", "a + ('\\n' == 10) * 100"): 125,
    ("", "__builtin_ctz(8) + __builtin_clz(1) * 10 + __builtin_popcount(255) * 1000 + __builtin_ffs(4) * 10000"): 38313,
    ("", "(true ? 1 : 2.5) == 1.0"): 1,
    (
        "",
        "std::is_same_v<decltype(true ? 1 : 2u), unsigned> + std::is_same_v<decltype('a' + 'b'), int> * "
        "10 + std::is_same_v<decltype(1.f * 2), float> * 100 + std::is_same_v<decltype(sizeof(int)), "
        "size_t> * 1000",
    ): 1111,
    ("long a = -1; unsigned b = 1;", "(a < b) + (int(a) < b) * 10"): 1,
    ("int16_t a = -1; uint16_t b = a; uint32_t c = a;", "b / 1000 + (c >> 31) * 100"): 165,
    ("int a = 300; uint8_t b = a; int8_t c = a - 100;", "b + c * 100"): -5556,
    ("", "int(-2.5) + int(2.5) * 10 + int(-0.5f) + (int)1e3"): 1018,
    ("", "-5 / 2 + -5 % 2 * 10 + 5 % -3 * 100 + (-5 >> 1) * 1000"): -2812,
    ("", "(3 & 5) + (3 | 5) * 10 + (3 ^ 5) * 100 + (~3 & 7) * 1000 + (1 << 4) * 10000"): 164671,
    ("", "conv(2) - conv(5)"): -9,
    ("Ops a{3};", "(a * 2).v + (2 * a).v * 100 + (a - Ops{1}).v * 10000"): 20706,
    ("Ops a{3}, b{3};", "(a == b) + (a != b) * 10 + a(4) * 100 + (a && b) * 1000"): 1701,
    ("", "fib(10) + ipow(3, 4) * 100 + nextpow2(33) * 10000 + log2c(1000)"): 648164,
    ("constexpr bool p = isprime(97);", "p + isprime(91) * 10"): 1,
    ("", "Lim::a / 1000000000 + (Lim::d < -7) * 10 + Lim::b * 100"): 14,
    ("", "App<Cnt, 5>::v + Cnt<3>::value"): 11,
    ("using S = Mk<4>::t;", "S::n + S::arr[3] * 10 + S::sum * 100 + S::mx * 10000"): 30634,
    ("using S = Rev<Seq<1, 2, 3>>::t;", "S::arr[0] * 100 + S::arr[1] * 10 + S::arr[2]"): 321,
    ("NonAgg a; NonAgg b(7);", "a.c + b.c * 100 + b.a * 10000 + b.b"): 71012,
    ("Mut m; m.get(); const Mut& r = m; r.get();", "m.c"): 2,
    ("if (auto o = find(7)) x = *o;", "x"): 2,
    ("", "(F1 | F2) + F3 * 10 + (F4 >> 31) * 1000"): 1099,
    ("", "stride0<Lay::Row> + stride0<Lay::Col> * 10"): 117,
    ("", "tab[1](4) + callp(dbl, 5) * 100 + callt<trp>(2) * 10000 + calla<dbl>(1)"): 61014,
    ("int a = 5; { int& a2 = a; a2++; int a = 1; a++; }", "a"): 6,
    (
        "int z = 0; for (int i = 0; i < 3; ++i) for (int j = i; j < 3; ++j) { if (j == 1) continue; z += i * 10 + j; }",
        "z",
    ): 36,
    (
        "int k = 3; auto f = [k = k + 1, &r = x](int q) mutable { r += k++; return q * k; }; int a = f(2), b = f(2);",
        "a + b * 100 + x * 10000",
    ): 91210,
    ("auto fact = [](auto self, int n) -> int { return n <= 1 ? 1 : n * self(self, n - 1); };", "fact(fact, 5)"): 120,
    ("", "std::get<1>(std::pair(3, 4)) + std::tuple_size<std::pair<int, int>>::value * 10"): 24,
    (
        "std::array<int, 4> a{4, 2, 3, 1}; int z = 0; for (std::size_t i = a.size(); i-- > 0;) z = z * 10 + a[i];",
        "z",
    ): 1324,
    (
        "",
        "std::numeric_limits<int8_t>::max() + std::numeric_limits<uint16_t>::max() / 1000 * 1000 + "
        "(std::numeric_limits<int>::min() < 0)",
    ): 65128,
    ("", "std::integral_constant<int, 5>{} + std::integral_constant<int, 5>::value * 10 + std::true_type{} * 100"): 155,
    ("long long q = 1LL << 40; int sh = int(q >> 35); unsigned char uc = q >> 33;", "sh + uc * 100"): 12832,
    ("int v = 0x7fffffff; unsigned w = v + 1u;", "(w >> 31) + (v >> 30) * 10"): 11,
    ("int a = 7; a = a++ + ++a;", "a > 0"): 1,
    ("int a = 3; int b = a-- - --a;", "b * 10 + a"): 21,
    ("short s1 = 40000;", "s1 < 0"): 1,
    ("unsigned u = 10; int d = -3;", "u / d == 0"): 1,
    ("int a = -8;", "(a >> 1) * 10 + a / 3 + a % 3 + (unsigned(a) >> 28) * 1000"): 14956,
    ("bool b = 2; int r = b + true;", "r"): 2,
    ("char c = 'a' + 1;", "c == 'b'"): 1,
    ("double d = 7 / 2 + 7 / 2.0;", "int(d * 10)"): 65,
    ("float f = 16777216.0f; f += 1.0f;", "f == 16777216.0f"): 1,
    ("", "int(1e9) + 7 - int(1e9f)"): 7,
    ("", "10 % 3 * 2 - -1 + !0 * 5 + (~5 & 0xf)"): 18,
    ("auto v = 8 + 4;", "v"): 12,
    ("int a = 1, b = 2, c = (a++, b += a, a + b);", "c * 100 + a * 10 + b"): 624,
    ("struct L { int operator()(int v) const { return v + 1; } } l;", "l(3)"): 4,
}


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_a_program_of_a_configuration(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]
