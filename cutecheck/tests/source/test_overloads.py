"""Which of several overloads a call takes; the answers are what g++ 12 prints."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract
from cutecheck.tests.source.shown import kernel, number

FUNCTIONS = """#include <cute/tensor.hpp>
#define FN __device__
using namespace cute;
struct Base { int b; };
struct Derived : Base {};
struct Made { FN Made(int) {} };
FN int one(float) { return 1; } template <class T> FN int one(T) { return 2; }
FN int two(float) { return 1; } FN int two(int) { return 2; }
FN int three(bool&, bool) { return 1; }
template <class T> FN int three(T& t, T const& d) { t = d; return 2; }
FN int four(Base const&) { return 1; } template <class T> FN int four(T const&) { return 2; }
FN int five(Made) { return 1; } template <class T> FN int five(T) { return 2; }
FN int six(Made) { return 1; } FN int six(long) { return 2; }
FN int seven(int32_t&) { return 1; } FN int seven(int64_t&) { return 2; }
FN int eight(double) { return 1; } FN int eight(int) { return 2; }
FN int nine(size_t) { return 1; } template <class T> FN int nine(T const&) { return 2; }
FN int ten(unsigned&) { return 1; } FN int ten(int const&) { return 2; }
FN int eleven(float const&) { return 1; } FN int eleven(int&) { return 2; }
FN int twelve(Base const&) { return 1; } FN int twelve(Derived const&) { return 2; }
FN int thirteen(Base&) { return 1; } FN int thirteen(Made const&) { return 2; }
FN int fourteen(int*) { return 1; } template <class T> FN int fourteen(T*) { return 2; }
FN int fifteen(bool) { return 1; } template <class T> FN int fifteen(T*) { return 2; }
FN int sixteen(int, float) { return 1; } FN int sixteen(int, int) { return 2; }
FN int seventeen(int64_t, int) { return 1; } template <class T> FN int seventeen(T, int) { return 2; }
FN int eighteen(unsigned long long) { return 1; } FN int eighteen(long) { return 2; }
"""
MORE = """
enum Plain { kA = 3 }; enum class Strong : int { kB = 4 };
struct C1 { int v; FN C1(float) : v(1) {} FN C1(int) : v(2) {} template <class T> FN C1(T*) : v(3) {}
FN C1(bool) : v(4) {} FN C1(Base const&) : v(5) {} };
struct C2 { int v; FN C2(int, float) : v(1) {} template <class T> FN C2(T, int) : v(2) {} FN C2() : v(3) {} };
struct C3 { int v; FN C3(C3 const&) = default; template <class T> FN C3(T const&) : v(1) {} FN C3(size_t) : v(2) {}
  };
struct C4 { int v = 7; template <class A, class B> FN C4(A, B) : v(1) {} template <class A> FN C4(A, int) : v(2) {}
  };
struct C5 { int v; FN C5(int a, int b = 4) : v(a + b) {} FN C5(double) : v(1) {} };
struct M1 { FN int f(int) { return 1; } FN int f(int) const { return 2; } FN int g(float) { return 1; }
template <class T> FN int g(T) { return 2; }
  FN int at(int) & { return 1; } FN int h(int&) { return 1; } FN int h(int const&) { return 2; }
FN int h2(int&) { return 1; } FN int h2(int&&) { return 2; }
  FN static int s(long) { return 1; } FN static int s(double) { return 2; } FN int operator()(int) { return 1; }
FN int operator()(float) { return 2; }
  FN int operator[](int) { return 1; } FN int operator[](size_t) { return 2; } };
struct M2 : M1 { using M1::g; FN int g(double) { return 3; } FN int f(double) { return 3; } };
struct Xs { int v; }; FN int operator+(Xs, int) { return 1; } FN int operator+(Xs, float) { return 2; }
FN int a1(int&) { return 1; } FN int a1(int const&) { return 2; } FN int a1(int&&) { return 3; }
template <class T> FN int a2(T&) { return 1; } template <class T> FN int a2(T const&) { return 2; }
template <class T> FN int a3(T&&) { return 1; } FN int a3(int const&) { return 2; }
template <class T> FN int a4(T) { return 1; } template <class T> FN int a4(T*) { return 2; }
template <class T> FN int a4(T const*) { return 3; }
template <class T, int N> FN int a5(T (&)[N]) { return N; } template <class T> FN int a5(T*) { return 100; }
template <class T> FN int a5b(T const&) { return 1; }
template <class T, int N> FN int a5b(T const (&)[N]) { return 2; }
template <class... Ts> FN int a6(Ts...) { return 1; } template <class T> FN int a6(T) { return 2; }
template <class T, class... Ts> FN int a6(T, T, Ts...) { return 3; }
template <int N> FN int a7() { return N; } template <class T> FN int a7() { return 99; }
template <int N> FN int a8(Int<N>) { return 1; } template <class T> FN int a8(T) { return 2; }
FN int a8(int) { return 3; }
FN int a9(Plain) { return 1; } FN int a9(int) { return 2; } FN int a10(Strong) { return 1; }
FN int a10(int) { return 2; }
FN int a11(int) { return 1; } FN int a11(unsigned) { return 2; } FN int a11(long) { return 3; }
FN int a12(int*) { return 1; } FN int a12(bool) { return 2; } FN int a12(void*) { return 3; }
FN int a13(void const*) { return 1; } template <class T> FN int a13(T const&) { return 2; }
FN int a14(int, int = 3) { return 1; } FN int a14(double) { return 2; }
template <class T> FN enable_if_t<is_integral<T>::value, int> a15(T) { return 1; }
template <class T> FN enable_if_t<!is_integral<T>::value, int> a15(T) { return 2; }
template <class S, class D> FN int a17(Layout<S, D> const&) { return 1; }
template <class T> FN int a17(T const&) { return 2; }
template <class S> FN int a17(Layout<S, _1> const&) { return 3; }
template <class... Ts> FN int a18(tuple<Ts...> const&) { return 1; }
template <class T> FN int a18(T const&) { return 2; }
template <class A, class B> FN int a18(tuple<A, B> const&) { return 3; }
template <class T> FN int a19(T, false_type) { return 1; } template <class T> FN int a19(T, true_type) { return 2; }
FN int a20(char const*) { return 1; } template <class T> FN int a20(T const&) { return 2; }
FN int a21(half_t) { return 1; } FN int a21(float) { return 2; } FN int a21(double) { return 3; }
template <class T> FN int a22(T const&, T const&) { return 1; }
template <class A, class B> FN int a22(A const&, B const&) { return 2; }
FN int a23(uint64_t) { return 1; } FN int a23(int) { return 2; } FN int a23(unsigned char) { return 3; }
FN int a24(int8_t) { return 1; } FN int a24(int16_t) { return 2; } FN int a24(float) { return 3; }
template <class T> FN int a25(T x, int y) { return 1; } template <class T> FN int a25(int x, T y) { return 2; }
FN int a25(int, int) { return 3; }
template <class T> struct Box { T t; }; template <class T> FN int a26(Box<T>) { return 1; }
FN int a26(Box<int>) { return 2; } template <class T> FN int a26(Box<T*>) { return 3; }
template <template <class> class B, class T> FN int a27(B<T>) { return 1; }
template <class T> FN int a27(T) { return 2; }
struct W : Box<float> {}; template <class T> FN int a28(Box<T> const&) { return 1; } FN int a28(int) { return 2; }
FN int a29(Made const&) { return 1; } FN int a29(Made&&) { return 2; }
template <class T = int> FN int a30(T = 3) { return sizeof(T); }
"""
RETURNED = """
struct Cnt {
    int v = 1; FN int& ref() { return v; } FN int const& cref() const { return v; } FN int get() const { return v; }
};
FN int& byref(int& v) { return v; } FN int const& bycref(int& v) { return v; } FN int byval(int v) { return v; }
FN Cnt made() { return Cnt{}; } FN Cnt& same(Cnt& c) { return c; } template <class T> FN T& tref(T& t) { return t; }
FN int b1(int&) { return 1; } FN int b1(int const&) { return 2; }
FN int c1(Cnt&) { return 1; } FN int c1(Cnt const&) { return 2; } FN int c1(Cnt&&) { return 3; }
"""
EXPLICIT = """
template <int n> struct Stages {}; template <int n> struct Carveout { static constexpr int bytes = n; };
template <class T, int n, int align = 8> FN int d1(Stages<n>) { return n; }
template <class T, int n, int align = 8> FN int d1(Carveout<n>) { return align - n; }
template <class T> FN int d2(T) { return 1; } template <class T> FN int d2(T*) { return 2; }
template <class T> FN int d3(T const&) { return 1; } template <class T> FN int d3(Box<T> const&) { return 2; }
template <class T> FN int d4(T, float) { return 1; } template <class T> FN int d4(T, int) { return 2; }
template <class T> FN int d5(T&) { return 1; } template <class T> FN int d5(T const&) { return 2; }
template <class S> FN int d6(S const&) { return 1; } template <class S> FN int d6(Layout<S> const&) { return 2; }
template <class T> FN int d7(Made, T) { return 1; } template <class T> FN int d7(T, T) { return 2; }
template <class T> FN int d8(Base const&, T) { return 1; } template <class T> FN int d8(T const&, int) { return 2; }
"""
ASSOCIATED = """
namespace lib { FN int ceil_div(int, int) { return 100; }
template <class A, class B> FN int e1(A a, B b) { return ceil_div(a, b); } }
"""
LOCALS = """
int j = i; Cnt cn; Cnt const cc{};
short h = 1; char c = 1; bool b = true; long l = 1; int64_t q = 1; size_t z = 1; unsigned u = 1; Derived d;
int arr[3] = {1, 2, 3}; M1 m; M2 m2; M1 const mc{}; Xs x{1}; int const ci = 5; int* p = &i; int const* pc =
&i; Made md(3); Box<int> bi; Box<float> bf; Box<int*> bp; W w; half_t hf; unsigned char uc = 1; int8_t i8 = 1;
double db = 2; uint64_t u64 = 1;
"""
TAKEN = {
    "one(i)": 2, "one(f)": 1, "two(h)": 2, "two(c)": 2, "two(b)": 2, "two(f)": 1, "three(i, 64)": 2,
    "three(b, true)": 1, "four(d)": 2, "five(i)": 2, "six(i)": 2, "seven(i)": 1, "seven(l)": 2, "seven(q)": 2,
    "eight(f)": 1, "eight(h)": 2, "eight(b)": 2, "nine(z)": 1, "nine(i)": 2, "ten(i)": 2, "ten(u)": 1, "eleven(i)": 2,
    "eleven(f)": 1, "twelve(d)": 2, "thirteen(d)": 1, "fourteen(p)": 1, "fourteen(pf)": 2, "fifteen(p)": 2,
    "sixteen(i, f)": 1, "sixteen(i, h)": 2, "seventeen(q, i)": 1, "seventeen(i, i)": 2, "eighteen(q)": 2,
    "C1(i).v": 2, "C1(f).v": 1, "C1(c).v": 2, "C1(b).v": 4, "C1(p).v": 3, "C1(d).v": 5, "C2(i, f).v": 1,
    "C2(i, i).v": 2, "C2(f, i).v": 2, "C2().v": 3, "C2{}.v": 3, "C3(z).v": 2, "C3(i).v": 1, "C4(1, 2).v": 2,
    "C4(1, f).v": 1, "C5(3).v": 7, "C5(db).v": 1, "C5(h).v": 5, "m.f(i)": 1, "mc.f(i)": 2, "m.g(i)": 2, "m.g(f)": 1,
    "m.h(i)": 1, "m.h(ci)": 2, "m.h(3)": 2, "m.h2(i)": 1, "m.h2(3)": 2, "M1::s(db)": 2, "M1::s(l)": 1, "m(i)": 1,
    "m(f)": 2, "m(h)": 1, "m[i]": 1, "m[z]": 2, "m2.g(db)": 3, "m2.g(i)": 2, "m2.g(f)": 1, "m2.f(i)": 3, "x + i": 1,
    "x + f": 2, "x + h": 1, "a1(i)": 1, "a1(ci)": 2, "a1(3)": 3, "a2(i)": 1, "a2(ci)": 2, "a2(3)": 2, "a3(i)": 1,
    "a3(ci)": 2, "a3(3)": 1, "a4(i)": 1, "a4(p)": 2, "a5(p)": 100, "a5b(arr)": 2, "a5b(p)": 1, "a6(i)": 2,
    "a6(i, f)": 1, "a6(i, i)": 3, "a6()": 1, "a7<3>()": 3, "a7<int>()": 99, "a8(Int<3>{})": 1, "a8(i)": 3, "a8(f)": 2,
    "a8(_2{})": 1, "a9(kA)": 1, "a9(i)": 2, "a10(Strong::kB)": 1, "a10(i)": 2, "a11(h)": 1, "a11(u)": 2, "a11(l)": 3,
    "a11(b)": 1, "a12(p)": 1, "a12(nullptr == p)": 2, "a12(pf)": 3, "a13(p)": 2, "a13(i)": 2, "a14(i)": 1,
    "a14(db)": 2, "a14(f)": 2, "a15(i)": 1, "a15(f)": 2, "a15(l)": 1, "a17(make_layout(Int<3>{}))": 3,
    "a17(make_layout(Int<3>{}, Int<2>{}))": 1, "a17(make_layout(make_shape(2, 3)))": 1, "a17(i)": 2,
    "a18(make_tuple(1, 2))": 3, "a18(make_tuple(1))": 1, "a18(make_tuple(1, 2, 3))": 1, "a18(i)": 2,
    "a19(i, false_type{})": 1, "a19(i, true_type{})": 2, "a19(i, is_integral<int>{})": 2, 'a20("x")': 1, "a20(i)": 2,
    "a21(hf)": 1, "a21(f)": 2, "a21(db)": 3, "a22(i, i)": 1, "a22(i, f)": 2, "a23(z)": 1, "a23(h)": 2, "a23(uc)": 3,
    "a24(i8)": 1, "a25(i, i)": 3, "a25(f, i)": 1, "a25(i, f)": 2, "a26(bi)": 2, "a26(bf)": 1, "a26(bp)": 3,
    "a27(bi)": 1, "a27(i)": 2, "a28(w)": 1, "a28(bf)": 1, "a28(i)": 2, "a29(md)": 1, "a29(Made(2))": 2, "a29(3)": 2,
    "a30()": 4, "a30(db)": 8, "a30(c)": 1,
    "a1(byref(j))": 1, "a1(bycref(j))": 2, "a1(byval(j))": 3, "b1(byref(j))": 1, "b1(bycref(j))": 2,
    "b1(byval(j))": 2, "a2(byref(j))": 1, "a2(bycref(j))": 2, "a2(byval(j))": 2, "a3(byref(j))": 1,
    "a3(bycref(j))": 2, "a3(byval(j))": 1, "a1(cn.ref())": 1, "a1(cn.cref())": 2, "a1(cn.get())": 3,
    "a1(cc.cref())": 2, "c1(cn)": 1, "c1(cc)": 2, "c1(made())": 3, "c1(same(cn))": 1, "c1(Cnt{})": 3,
    "b1(tref(j))": 1, "c1(tref(cn))": 1,
    "d1<float, 3>(Carveout<3>{})": 5, "d1<float, 3, 4>(Carveout<3>{})": 1, "d1<float, 3>(Stages<3>{})": 3,
    "d1<float, Carveout<3>::bytes>(Carveout<3>{})": 5, "d2<int>(i)": 1, "d2<int>(p)": 2, "d2<float>(i)": 1,
    "d2<int*>(p)": 1, "d3<float>(bf)": 2, "d3<float>(i)": 1, "d3<Box<float>>(bf)": 1, "d3<float>(w)": 2,
    "d4<int>(i, i)": 2, "d4<double>(i, f)": 1, "d4<float>(i, h)": 2, "d5<int>(i)": 1, "d5<int>(3)": 2,
    "d5<float>(i)": 2, "d5<int>(ci)": 2, "d6<_8>(Layout<_8>{})": 2, "d6<_8>(_8{})": 1, "d7<int>(i, i)": 2,
    "d7<float>(i, f)": 2, "d8<Derived>(d, d)": 1, "d8<Derived>(d, i)": 2, "d8<int>(d, i)": 1,
    "lib::e1(_8{}, _4{})": 2, "lib::e1(_8{}, 4)": 2, "lib::e1(8, _4{})": 2, "lib::e1(8, 4)": 100,
}  # fmt: skip


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int | None]:
    """What each call returns: the place of a copy on a line of its own."""
    folder = tmp_path_factory.mktemp("overloads")
    functions = FUNCTIONS + MORE + RETURNED + EXPLICIT + ASSOCIATED
    head = f"{functions}__global__ void k(int i, float f, float* pf) {{\n__shared__ half_t s[65536];{LOCALS}"
    shown = "copy(make_tensor(make_smem_ptr(s + ({})), Layout<_8>{{}}), make_tensor(make_smem_ptr(s), Layout<_8>{{}}));"
    copies = "".join(f"{shown.format(call)}\n" for call in TAKEN)
    (folder / "k.cu").write_text(
        f"{head}{copies}}}\nvoid host(int i, float f, float* p) {{ k<<<1, 32>>>(i, f, p); }}\n"
    )
    calls = dict(enumerate(TAKEN, head.count("\n") + 1))
    offsets = {e.span.line: e.operands[0].offset for e in extract(ExtractRequest((folder,), ("sm_80",))).events}
    known = {line: at for line, at in offsets.items() if not isinstance(at, Unknown)}
    return {call: as_expr(known[line]).constant if line in known else None for line, call in calls.items()}


@pytest.mark.parametrize(("call", "answer"), TAKEN.items())
def test_the_overload_that_a_compiler_takes(call: str, answer: int, taken: dict[str, int | None]) -> None:
    assert taken[call] == answer


def test_a_reference_to_another_type_is_not_bound_to_what_is_written(tmp_path: Path) -> None:
    """The overload of flags has no template to deduce, and took numbers, which it then left as they were."""
    assert number(tmp_path, kernel(FUNCTIONS), "int flags = 128; three(flags, 64);", "flags") == 64


OPEN = """#include <cute/tensor.hpp>
using namespace cute;
__device__ int of(float) { return 1; } __device__ int of(long) { return 2; }
template <class T> __device__ int any(T) { return 3; }
struct Of { int v; __device__ Of(float) : v(1) {} __device__ Of(long) : v(2) {} };
__device__ int many(float, int) { return 1; } template <class T> __device__ int many(T, char) { return 2; }
template <int... I> __device__ int counted(seq<I...>) { return sizeof...(I); }
template <class... T> __device__ int held(int, tuple<T...> const&) { return (0 + ... + sizeof(T)); }
"""


@pytest.mark.parametrize(
    ("call", "answer"),
    {
        "of(std::stol(t))": None, "of(v[0])": None, "of(elsewhere(3))": None, "Of(v[0]).v": None, "any(v[0])": 3,
        "many(v[0], 'c')": 2, "many(v[0], 3)": None,
        "counted(elsewhere(3))": None, "counted(seq<4, 5>{})": 2, "held(1, elsewhere(3))": None,
    }.items(),
)  # fmt: skip
def test_an_argument_of_an_unknown_type_leaves_open_which_overload_is_called(
    call: str, answer: int | None, tmp_path: Path
) -> None:
    """The last one of those that might be called was taken."""
    assert number(tmp_path, kernel(OPEN), "std::string t; std::vector<long> v;", call) == answer


LAUNCHERS = """
#include <cute/tensor.hpp>
using namespace cute;
KIND { kA, kB };
template <class E, KEY A> __global__ void kern(E* p, int n) {
  auto t = make_tensor(make_gmem_ptr(p), make_shape(Int<4 + int(A)>{}, n));
  copy(t, t);
}
template <class E> void start(E* p, KEY act, int n) {
  switch (act) {
    case KEY::kA: kern<E, KEY::kA><<<1, 32>>>(p, n); break;
    case KEY::kB: kern<E, KEY::kB><<<1, 32>>>(p, n + 8 * int(act)); break;
  }
}
template <class E> void start(E* p, long act, float n) { kern<E, KEY::kB><<<1, 32>>>(p, 99); }
void run(half_t* p, int a, int n) { start<half_t>(p, GIVEN, n); }
"""


@pytest.mark.parametrize("kind", ["enum class Act", "enum Act : int"])
@pytest.mark.parametrize("given", ["Act(a)", "static_cast<Act>(a)", "(Act)a"])
def test_a_number_that_became_an_enumeration_is_given_as_one(tmp_path: Path, kind: str, given: str) -> None:
    """Templates are walked by their calls alone: a call that fits no parameter was one that nobody saw."""
    (tmp_path / "k.cu").write_text(LAUNCHERS.replace("KIND", kind).replace("KEY", "Act").replace("GIVEN", given))
    events = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert sorted(str(e.operands[0].layout) for e in events) == ["(_4,n):(_1,_4)", "(_5,{8*a + n}):(_1,_5)"]
