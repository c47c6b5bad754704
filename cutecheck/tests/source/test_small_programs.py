"""Small programs of kernel authors: g++ 12 prints the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
using namespace cute;
template <class T, int N> struct Arr { T d[N]; constexpr T& operator[](int i) { return d[i]; } constexpr T const&
operator[](int i) const { return d[i]; } constexpr int size() const { return N; } constexpr T sum() const { T s{};
for (int i = 0; i < N; ++i) s += d[i]; return s; } T* data() { return d; } };
struct Pt { int x = 1, y = 2; Pt& setx(int v) { x = v; return *this; } Pt plus(Pt o) const { return {x + o.x, y +
o.y}; } static Pt unit() { return {1, 1}; } friend bool operator==(Pt const& a, Pt const& b) { return a.x == b.x &&
a.y == b.y; } };
struct Tree { Pt p; int k[2] = {5, 6}; Tree* up = nullptr; int deep() const { return up ? up->deep() + 1 : 0; } };
template <int BM, int BN> struct TileT { static constexpr int M = BM, N = BN; template <int F> using Scaled =
TileT<BM * F, BN>; static constexpr int area() { return M * N; } };
template <class... Tiles> struct List { static constexpr int n = sizeof...(Tiles); template <class F> static void
each(F f) { (f(Tiles{}), ...); } static constexpr int biggest() { int b = 0; ((Tiles::area() > b ? b = Tiles::area()
: 0), ...); return b; } };
template <class L> struct Front; template <class H, class... R> struct Front<List<H, R...>> { using type = H; using
rest = List<R...>; };
struct Shape3 { int m, n, k; constexpr int operator[](int i) const { return i == 0 ? m : i == 1 ? n : k; } };
template <typename Arch> struct Sel { static constexpr int st = 2; }; struct S80 {}; struct S90 : S80 {}; template
<> struct Sel<S90> { static constexpr int st = 4; };
constexpr int stages(int smem, int a, int b) { int s = (smem - 1024) / (a + b); return s < 2 ? 2 : s > 8 ? 8 : s; }
template <class T, int A = 16 / sizeof(T)> struct Vecd { static constexpr int w = A; };
enum Kind : uint8_t { kA, kB = 4, kC }; constexpr const char* nm(Kind k) { switch (k) { case kA: return "a"; case
kB: return "bb"; default: return "ccc"; } }
template <bool C, int A, int B> constexpr int pick_v = C ? A : B; template <int... I> constexpr int maxv = 0;
template <int F, int... R> constexpr int maxv<F, R...> = F > maxv<R...> ? F : maxv<R...>;
int overload(int) { return 1; } int overload(unsigned) { return 2; } int overload(long) { return 3; } int
overload(double) { return 4; } int overload(bool) { return 5; } int overload(char) { return 6; }
template <class T> int ovt(T) { return 1; } template <class T> int ovt(T*) { return 2; } int ovt(int) { return 3; }
template <class T, class U> int ov2(T, U) { return 1; } template <class T> int ov2(T, T) { return 2; }
struct Base { int id() const { return 1; } virtual ~Base() = default; virtual int v() const { return id(); } };
struct Mid : Base { int id() const { return 2; } int v() const override { return id() * 10; } }; struct Leaf final :
Mid { int id() const { return 3; } };
struct NonCopy { int v; NonCopy(int q) : v(q) {} NonCopy(NonCopy const& o) : v(o.v + 100) {} NonCopy&
operator=(NonCopy const& o) { v = o.v + 1000; return *this; } };
template <class F> struct Defer { F f; ~Defer() { f(); } }; template <class F> Defer(F) -> Defer<F>;
static int counter_s = 0; int tick() { return ++counter_s; } struct Cnt { static inline int n = 0; Cnt() { ++n; } };
enum class Mode : uint8_t { A = 1, B = 2, C = 250 }; enum Plain { P0, P1 = 5, P2 }; enum class Sg { X = -1, Y };
template <Mode M> struct ForMode { static constexpr int v = 0; }; template <> struct ForMode<Mode::B> { static
constexpr int v = 22; };
template <int... Ns> struct Sum { static constexpr int v = (Ns + ... + 0); static constexpr int m = ((Ns > 2 ? 1 :
0) + ...); };
template <class... Ts> constexpr int total = (int(sizeof(Ts)) + ... + 0);
template <class T, class... R> constexpr int count_same = (std::is_same_v<T, R> + ... + 0);
template <int I, int... Ns> struct At; template <int N, int... R> struct At<0, N, R...> { static constexpr int v =
N; }; template <int I, int N, int... R> struct At<I, N, R...> : At<I - 1, R...> {};
constexpr int cdiv(int a, int b) { return (a + b - 1) / b; } constexpr int lg(int n) { return n <= 1 ? 0 : 1 + lg(n
/ 2); } constexpr bool pow2(unsigned n) { return n && !(n & (n - 1)); }
constexpr int gcd_(int a, int b) { return b == 0 ? a : gcd_(b, a % b); }
struct Cfg { int bm = 128, bn = 64, bk = 32; int stages = 3; constexpr int smem() const { return (bm + bn) * bk *
stages * 2; } constexpr Cfg with(int s) const { Cfg c = *this; c.stages = s; return c; } };
constexpr Cfg pick(int hd) { if (hd <= 64) return {128, 128, 64, 2}; else if (hd <= 128) return {128, 64, 64, 3};
return Cfg{64, 64, 64, 1}; }
constexpr Cfg table[] = {{16, 16, 16, 1}, {32, 32, 32, 2}, {64, 64, 64, 3}};
struct Tab { int k; int v; }; constexpr Tab tabs[] = {{64, 1}, {96, 2}, {128, 4}}; constexpr int look(int k) { for
(auto const& t : tabs) if (t.k == k) return t.v; return -1; }
template <int HD> struct Tr { static constexpr int kHd = HD; static constexpr int kBlk = HD % 64 == 0 ? 64 : 32;
static constexpr int kSw = kBlk == 32 ? 2 : 3; using L = Layout<Shape<Int<8>, Int<kBlk>>>; static constexpr bool big
= HD > 128; };
template <class T> struct is_vec : std::false_type {}; template <class T, int N> struct is_vec<cute::array<T, N>> :
std::true_type {};
template <class A, class B> struct Pr { using first = A; using second = B; template <class C> using rebind = Pr<A,
C>; };
template <template <class> class F, class... Ts> struct Map { static constexpr int v = (F<Ts>::v + ... + 0); };
template <class T> struct Sz { static constexpr int v = sizeof(T); }; template <class T> struct Dbl { static
constexpr int v = 2 * sizeof(T); };
template <class T> constexpr auto kind() { if constexpr (std::is_integral_v<T>) return 1; else if constexpr
(std::is_floating_point_v<T>) return 2.5f; else return 'c'; }
template <class D> struct Cr { constexpr int run() const { return static_cast<D const*>(this)->impl() * 2; } static
constexpr int sz() { return D::N + 1; } }; struct C1 : Cr<C1> { static constexpr int N = 7; constexpr int impl()
const { return N; } };
namespace outer { inline namespace v2 { constexpr int ver() { return 2; } struct S { int q = 4; }; int adlf(S) {
return 44; } } namespace v1 { constexpr int ver() { return 1; } } constexpr int z = 5; namespace in { constexpr int
z = 6; constexpr int g() { return z + outer::z * 10; } } }
namespace al = outer::in;
int dflt(int a, int b = 3, int c = 10) { return a * 100 + b * 10 + c; } template <class T = int, int N = sizeof(T)>
constexpr int dn() { return N; } template <int N = 4, int M = N * 2> struct Df { static constexpr int v = N * 100 +
M; };
struct Sm { static constexpr int a = 3; static constexpr int b = a * 2; static inline int c = 5; enum { D = b + 1, E
}; static constexpr int arr[3] = {1, 2, 3}; };
inline constexpr int gi = 12; constexpr unsigned gu = 3; static const int gs = 9; const int gc[] = {5, 6, 7};
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define STR(a) #a
#define ARGN(_1, _2, _3, N, ...) N
#define NARGS(...) ARGN(__VA_ARGS__, 3, 2, 1)
#define MUL(a, b) a * b
#define SWITCH(c, NAME, ...) [&] { \\
  if (c) { constexpr bool NAME = true; return __VA_ARGS__(); } \\
  else { constexpr bool NAME = false; return __VA_ARGS__(); } }()
#if defined(NOPE) || (4 / 2 == 2 && -1 < 0)
constexpr int pp = 1;
#else
constexpr int pp = 2;
#endif
#if -1 > 0u
constexpr int pu = 1;
#else
constexpr int pu = 2;
#endif
template <class T, class = void> struct HasK : std::false_type {}; template <class T> struct HasK<T,
std::void_t<decltype(T::kHd)>> : std::true_type {};
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> int sf(T) { return 1; } template <class T,
std::enable_if_t<!std::is_integral_v<T>, int> = 0> int sf(T) { return 2; }
struct Tag1 {}; struct Tag2 : Tag1 {}; int td(Tag1) { return 1; } int td(Tag2) { return 2; } int td2(Tag1) { return
1; }
template <class B> struct Dep : B { using B::q; int f() { return q + this->q; } typename B::T g() { return typename
B::T(300); } }; struct Base1 { int q = 8; using T = uint8_t; };
constexpr auto lam = [](int a, int b) { return a - b; }; template <class F> constexpr int twice(F f, int v) { return
f(f(v)); }
struct Und { int a, b, c; }; template <auto V> struct Au { static constexpr auto v = V; static constexpr int s =
sizeof(V); };
template <int N> struct Fib { static constexpr int v = Fib<N - 1>::v + Fib<N - 2>::v; }; template <> struct Fib<0> {
static constexpr int v = 0; }; template <> struct Fib<1> { static constexpr int v = 1; };
""")
TOLD = {
    ("Arr<int, 3> a{1, 2, 3};", "a[1] + a.size() * 10"): 32, ("Arr<int, 3> a{{1, 2, 3}};", "a.sum()"): 6,
    ("constexpr Arr<int, 3> a{{1, 2, 3}};", "a.sum() + a[2] * 10"): 36,
    ("Arr<Pt, 2> a{}; a[1].x = 7;", "a[1].x * 10 + a[0].x"): 71, ("Pt p; p.setx(4).setx(5);", "p.x"): 5,
    ("Pt p; Pt q = p.setx(4); q.x = 9;", "p.x"): 4, ("", "Pt::unit().plus(Pt{3, 4}).y"): 5,
    ("", "(Pt{1, 2} == Pt{}) * 10 + (Pt{1, 3} == Pt{})"): 10,
    ("Tree a; a.p.setx(8); Tree b = a; b.p.x = 1; b.k[0] = 2;", "a.p.x * 100 + a.k[0] * 10 + b.k[0]"): 852,
    ("", "TileT<16, 8>::Scaled<2>::area()"): 256, ("", "List<TileT<16, 8>, TileT<4, 4>>::biggest() + List<>::n"): 128,
    ("int s0 = 0; List<TileT<16, 8>, TileT<4, 4>>::each([&](auto t) { s0 += t.M; });", "s0"): 20,
    ("", "Front<List<TileT<16, 8>, TileT<4, 4>>>::rest::n * 10 + Front<List<TileT<16, 8>>>::type::N"): 18,
    ("", "Shape3{1, 2, 3}[1]"): 2, ("", "Sel<S80>::st * 10 + Sel<S90>::st"): 24,
    ("", "stages(232448, 16384, 16384)"): 7, ("", "Vecd<half_t>::w * 10 + Vecd<float, 2>::w"): 82,
    ("", "sizeof(Kind) + kC"): 6, ("", "pick_v<true, 3, 4> * 10 + maxv<3, 9, 4>"): 39,
    ("", "overload(1) + overload(1u) * 10 + overload(1L) * 100 + overload(1.f) * 1000"): 4321,
    ("", "overload('a') + overload(true) * 10 + overload(short(1)) * 100"): 156,
    ("", "overload(uint8_t(1)) + overload(1 < 2) * 10 + overload(sizeof(int) > 1) * 100"): 551,
    ("", "ovt(1) + ovt(1.f) * 10 + ovt(&x) * 100 + ovt<int>(1) * 1000"): 1213,
    ("", "ov2(1, 2) + ov2(1, 2.0) * 10"): 12,
    ("Leaf l; Base& b = l; Mid& m = l;", "b.v() + m.id() * 100 + l.id() * 1000"): 3220,
    ("int s0 = 1; { Defer d{[&] { s0 += 5; }}; s0 *= 3; }", "s0"): 8,
    ("int i = 3; int j = i-- - --i;", "j * 10 + i"): 21,
    ("int a = 5, b = 3; a ^= b; b ^= a; a ^= b;", "a * 10 + b"): 35, ("unsigned u = 1; u <<= 31;", "u >> 30"): 2,
    ("int sh = 33;", "1ull << sh >> 32"): 2, ("uint8_t b = 0xF0;", "(b << 4) >> 4"): 240,
    ("uint8_t b = 0xF0;", "uint8_t(b << 4) >> 4"): 0, ("int8_t b = -128;", "-b"): 128,
    ("int8_t b = -128; b = -b;", "b + 200"): 72, ("char c = 200;", "c + 300"): 244,
    ("int big = 65536;", "big * big"): 0, ("long big = 65536;", "(big * big) >> 30"): 4,
    ("int m = INT_MIN;", "m / 2 + 1073741830"): 6, ("", "-7 / 2 * 10 + -7 % 2 + 100"): 69, ("", "7u / -2"): 0,
    ("", "(-7) >> 1"): -4, ("", "0.1 + 0.2 == 0.3"): 0, ("", "0.1f + 0.2f == 0.3f"): 1, ("", "int(1e10f / 1e9f)"): 10,
    ("", "int(0.7 * 10)"): 7, ("", "int(2.9999999999999999)"): 3, ("", "(float)16777217 == 16777216.f"): 1,
    ("", "1 / 3.f * 3 == 1"): 1, ("", "5 % 3 * 2 + 7 / 2 - 1"): 6, ("", "!0 + ~0 + -(-1)"): 1,
    ("", "3 > 2 ? 1 : 0 ? 2 : 3"): 1, ("", "(1, 2) + 3"): 5, ("", "1 ? 2 : 3, 4"): 4, ("", "6 & 3 == 3"): 0,
    ("", "1 | 2 ^ 3 & 4"): 3, ("", "'A' + '\\0' + '\\\\' + '\\''"): 196,
    ("", "sizeof(char[3][2]) + sizeof(int(*)[3])"): 14, ("int k = 0; if (k++ || k++) k += 10;", "k"): 12,
    ("int k = 0; if (k++ && k++) k += 10;", "k"): 1, ("int k = 0; (k = 3) += 2;", "k"): 5,
    ("int k = 0; int& r = (k > 0 ? k : x); r = 6;", "x * 10 + k"): 60, ("int k = 1; k = k++ + 1;", "k"): 2,
    ("int k = 5; k -= k -= 2;", "k"): 0,
    ("int k = 2; switch (k) { default: x = 1; case 1: x += 5; break; case 3: x = 9; }", "x"): 6,
    ("for (;;) { if (++x > 4) break; }", "x"): 5,
    ("int k = 10; while (k --> 0) { if (k % 3) continue; x += k; }", "x"): 18,
    ("int k = 0; do { if (k == 2) continue; x += k; } while (++k < 5);", "x"): 8,
    ("auto f = [](int a, int b = 4) { return a * b; };", "f(3) + f(3, 5)"): 27,
    ("auto f = [](auto a) { if constexpr (sizeof(a) == 1) return 'c'; else return 7; };", "f('x') + f(1)"): 106,
    ("auto f = [c = 0]() mutable { return ++c; }; f(); auto g = f; f();", "f() * 10 + g()"): 32,
    ("auto mk = [](int b) { return [b](int v) { return v * b; }; };", "mk(3)(4)"): 12,
    (
        "auto comp = [](auto f, auto g) { return [=](auto v) { return f(g(v)); }; };",
        "comp([](int v) { return v + 1; }, [](int v) { return v * 2; })(5)",
    ): 11,
    ("constexpr struct { int a = 3; int b = 4; } an;", "an.a * 10 + an.b"): 34,
    ("Mode m = Mode::C;", "int(m) + 10"): 260, ("", "int(Mode::C) + int(Mode::B)"): 252,
    ("", "static_cast<uint8_t>(int(Mode::C) + 10)"): 4, ("", "ForMode<Mode::B>::v + ForMode<Mode::A>::v"): 22,
    ("", "ForMode<static_cast<Mode>(2)>::v"): 22, ("", "P2 + P1"): 11, ("Plain p = P1;", "p + 1"): 6,
    ("", "int(Sg::X) + int(Sg::Y)"): -1, ("", "static_cast<unsigned>(Sg::X) == 4294967295u"): 1,
    ("", "Sum<1, 2, 3>::v * 10 + Sum<1, 2, 3>::m"): 61, ("", "Sum<>::v"): 0, ("", "total<int, char, double>"): 13,
    ("", "count_same<int, int, char, int>"): 2, ("", "At<2, 5, 6, 7>::v"): 7,
    ("", "cdiv(130, 64) * 10 + lg(1024)"): 40, ("", "pow2(64) * 10 + pow2(65)"): 10, ("", "gcd_(48, 36)"): 12,
    ("", "Cfg{}.smem()"): 36864, ("", "Cfg{}.with(1).smem()"): 12288,
    ("constexpr Cfg c = pick(96);", "c.bn + c.stages"): 67, ("", "pick(256).bm * pick(64).stages"): 128,
    ("", "table[1].bm + table[2].stages"): 35, ("", "table[2].with(5).stages"): 5,
    ("", "sizeof(table) / sizeof(table[0])"): 3, ("", "look(96) * 10 + look(128)"): 24, ("", "look(5) + 10"): 9,
    ("", "Tr<128>::kSw * 10 + Tr<96>::kSw"): 32, ("", "size(Tr<96>::L{})"): 256,
    ("", "Tr<256>::big + Tr<64>::big * 10"): 1,
    ("", "is_vec<cute::array<int, 3>>::value * 10 + is_vec<int>::value"): 0,
    ("", "sizeof(typename Pr<int, char>::rebind<double>::second)"): 8,
    ("", "std::is_same_v<Pr<int, char>::rebind<double>, Pr<int, double>>"): 1,
    ("", "Map<Sz, int, char>::v * 10 + Map<Dbl, short>::v"): 54, ("", "kind<int>() * 10 + sizeof(kind<float>())"): 14,
    ("", "sizeof(kind<void*>())"): 1, ("", "C1{}.run() * 10 + C1::sz()"): 148,
    ("", "outer::ver() * 10 + outer::v1::ver()"): 21, ("outer::S s0;", "adlf(s0) + s0.q"): 48,
    ("", "al::g() + outer::in::z"): 62, ("", "dflt(1) + dflt(2, 0)"): 350, ("", "dn() * 10 + dn<char>()"): 41,
    ("", "dn<char, 7>()"): 7, ("", "Df<>::v + Df<3>::v + Df<1, 1>::v"): 815, ("", "Sm::D * 10 + Sm::E"): 78,
    ("", "Sm::arr[2] + Sm::b"): 9, ("", "gi + gu + gs + gc[1]"): 30, ("int xy = 7;", "CAT(x, y) + CAT_(x, y)"): 14,
    ("", "sizeof(STR(abc))"): 4, ("", "NARGS(a, b) * 10 + NARGS(c)"): 21, ("", "MUL(2 + 3, 4)"): 14,
    ("", "SWITCH(3 > 2, B, [&] { return B ? 5 : 6; })"): 5, ("", "pp * 10 + pu"): 11,
    ("", "HasK<Tr<64>>::value * 10 + HasK<Cfg>::value"): 10, ("", "sf(3) * 10 + sf(3.f)"): 12,
    ("", "sf('c') * 10 + sf(nullptr)"): 12, ("", "td(Tag1{}) * 100 + td(Tag2{}) * 10 + td2(Tag2{})"): 121,
    ("Dep<Base1> d;", "d.f() + d.g()"): 60, ("", "lam(9, 4)"): 5, ("", "twice([](int v) { return v * 3; }, 2)"): 18,
    ("int k2 = 5; auto f = [=](int v) mutable { k2 += v; return k2; };", "f(1) * 100 + f(1) * 10 + k2"): 675,
    (
        "int k2 = 5; auto f = [&k2, z = k2 * 2](int v) { k2 += v; return k2 + z; };",
        "f(1) * 100 + f(1) * 10 + k2",
    ): 1777,
    ("Und u{1, 2, 3}; auto [a, b, c] = u; a = 9;", "a * 100 + b * 10 + u.a"): 921,
    ("Und u{1, 2, 3}; auto& [a, b, c] = u; a = 9;", "a * 100 + b * 10 + u.a"): 929,
    ("", "Au<5>::v * 10 + Au<'c'>::s"): 51, ("", "Au<5u>::s + Au<5ll>::s * 10"): 84, ("", "Fib<10>::v"): 55,
    ("unsigned char a = 250; a += 10;", "a"): 4, ("unsigned char a = 250;", "a + 10"): 260,
    ("signed char a = 127; a++;", "a + 200"): 72, ("short s1 = 32767; s1 = s1 + 1;", "s1 + 40000"): 7232,
    ("int8_t a = 200;", "a + 100"): 44, ("uint8_t a = -1;", "a"): 255,
    ("uint16_t a = 65535; uint16_t b = 1;", "a + b"): 65536,
    ("uint16_t a = 65535; uint16_t b = 1; uint16_t c = a + b;", "c"): 0,
    ("unsigned a = 3, b = 5;", "(a - b) / 1000000000"): 4, ("unsigned a = 3; int b = -5;", "(a + b > 0)"): 1,
    ("unsigned a = 3; int b = -5;", "(b < a)"): 0, ("unsigned a = 3; long b = -5;", "(b < a)"): 1,
    ("int a = -7;", "a / 2 + 100"): 97, ("int a = -7;", "a % 3 + 100"): 99, ("int a = -7;", "(a >> 1) + 100"): 96,
    ("unsigned a = 7;", "-a / 2 == 2147483644u"): 1, ("int64_t a = 1;", "int((a << 40) >> 38)"): 4,
    ("int a = 1;", "(a << 31 >> 31) + 10"): 9, ("uint32_t a = 0x80000000u;", "a >> 28"): 8,
    ("uint32_t a = 0xFFFFFFFFu;", "(a * a)"): 1, ("uint64_t a = 0xFFFFFFFFu;", "int((a * a) >> 60)"): 15,
    ("bool b = 5;", "b + b"): 2, ("bool b = true; b += 5;", "b"): 1, ("bool b = 0.5;", "b"): 1,
    ("char c = 'a';", "c - 'A'"): 32, ("char c = 'z'; c++;", "c"): 123, ("int i = 3.99;", "i"): 3,
    ("int i = -3.99;", "i + 10"): 7, ("int i = 'a' + 1;", "i"): 98, ("float q = 7;", "int(q / 2 * 2)"): 7,
    ("double q = 1e3;", "int(q) / 7"): 142, ("", "7 / 2 * 2.0f == 6.0f"): 1, ("", "(1 ? -1 : 1u) > 0"): 1,
    ("", "sizeof(1 ? 'a' : 1)"): 4, ("", "sizeof('a' + 'b') + sizeof(1L + 1) * 10"): 84,
    ("", "sizeof(1u + 1) + sizeof(1.f + 1) * 10 + sizeof(1.f + 1.0) * 100"): 844,
    ("", "010 + 0x10 + 0b10 + 1'000"): 1026, ("", "~0 + 5"): 4, ("", "!5 + !!5 * 10"): 10, ("", "5 & 3 | 8 ^ 2"): 11,
    ("", "1 << 2 + 1"): 8, ("", "10 - 3 - 2"): 5, ("", "2 == 2 == 1"): 1, ("", "(3 > 2 > 1) + 5"): 5,
    ("", "-2 % 4 + 10"): 8, ("int a = 5; int b = a++ + ++a;", "a * 10 + (b > 11)"): 71,
    ("int a = 5; a = a++ * 2;", "a"): 10, ("int a = 2; a <<= 3; a |= 1; a ^= 3; a %= 10;", "a"): 8,
    ("int a = 1; { int a = 5; a++; }", "a"): 1, ("int a = 1; for (int a = 0; a < 3; ++a) x += a;", "a * 10 + x"): 13,
    ("int a = 10; if (int b = a / 3; b > 2) a = b; else a = -b;", "a"): 3,
    ("int a = 3; switch (a) { case 1: x = 1; case 3: x = 3; case 4: x += 10; break; default: x = 99; }", "x"): 13,
    ("int a = 3; a = a > 2 ? a < 5 ? 7 : 8 : 9;", "a"): 7, ("int a = 0; a = (x = 4, y = 5, x + y);", "a"): 9,
    ("int a = 0; while (a < 10) { a += 3; if (a == 6) continue; if (a > 8) break; x += a; }", "x * 100 + a"): 309,
    ("int a = 0; do a += 4; while (a < 10);", "a"): 12, ("for (int i = 0, j = 9; i < j; i++, j--) x += j;", "x"): 35,
    ("for (unsigned i = 4; i-- > 0;) x = x * 10 + i;", "x"): 3210,
    ("for (int i = 1; i < 100; i *= 3) x += i;", "x"): 121, ("for (int i = 16; i; i >>= 1) x++;", "x"): 5,
}  # fmt: skip


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_a_small_program_computes_what_the_compiler_says(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]
