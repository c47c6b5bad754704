"""Whole files: declarations, statements, preprocessing, places."""

from __future__ import annotations

import pytest

from cutecheck.source.cpp import Defines, Macro, load
from cutecheck.source.eval import ir
from cutecheck.tests.source.cpp.show import decl_, stmts


def decls(text: str, arch: str = "sm_80") -> list[str]:
    return [decl_(d) for d in load("x.cu", text.encode(), Defines(arch)).decls]


def body(text: str, arch: str = "sm_80", macros: dict[str, Macro] | None = None) -> list[str]:
    unit = load("x.cu", f"void f() {{\n{text}\n}}".encode(), Defines(arch, macros=macros or {}))
    function = unit.decls[0]
    assert isinstance(function, ir.Function)
    assert function.body is not None
    return stmts(function.body.get())


DECLARATIONS = [
    ("using X = Layout<Shape<Int<N/2>, Y>>;", "using X=Layout<Shape<Int<(N / 2)>,Y>>;"),
    ("template <class T> using P = T*;", "template<type T> using P=ptr[T];"),
    ("typedef Layout<_8> L;", "using L=Layout<_8>;"),
    ("static constexpr int k = N < 3 ? 1 : 2;", "[constexpr static] int k=((N < 3) ? 1 : 2);"),
    ("template <class T> inline constexpr bool v<T*> = true;",
     "template<type T> [constexpr] bool v<ptr[T]>=True:bool;"),
    ("int a = 1, *b = nullptr, c[3];", "[] int a=1; [] ptr[int] b=None:nullptr; [] array[int,3] c;"),
    ("CUTE_HOST_DEVICE constexpr auto f(int x = 3) -> int { return x; }",
     "[constexpr device host] int f(int x=3) {...};"),
    ("template <class T, int N = 2, class... Ts, template <class> class F, typename = void> struct A;",
     "template<type T,int N=2,type... Ts,template F,type =void> struct A;"),
    ("template <class T> struct A<T*, (3 > 2)> : public B<T>::C, D... { int x; };",
     "template<type T> struct A<ptr[T],(3 > 2)> : B<T>::C,D... {[] int x;};"),
    ("struct alignas(128) S { alignas(16) float a[4]; };",
     "struct S alignas(128) {[] array[float,4] a alignas(16);};"),
    ("struct __align__(16) S { __align__(8) int x; };", "struct S alignas(16) {[] int x alignas(8);};"),
    ("union U { struct { int a; }; float b; };", "union U {struct  {[] int a;}; [] float b;};"),
    ("struct { int a; } x;", "struct __anonymous_1_8 {[] int a;}; [] __anonymous_1_8 x;"),
    ("typedef struct { int a; } X;", "struct __anonymous_1_16 {[] int a;}; using X=__anonymous_1_16;"),
    ("enum class E : int { A, B = 3 };", "enum class E:int {A,B=3};"),
    ("namespace a::b { inline namespace c { namespace { int x; } } }",
     "namespace a {namespace b {namespace c {namespace  {[] int x;}} using namespace c;}}"),
    ("namespace q = a::b; using namespace q; using a::f;",
     "using alias q=a::b; using namespace q; using name a::f;"),
    ("template <class T> void X<T>::f(int) {}", "[] void template<type T> X<T>::f(int ) {...};"),
    ("template <class T> template <class U> U X<T>::f(U u) const { }",
     "template<type U> [const] U template<type T> X<T>::f(U u) {...};"),
    ("template <> void f<int>(int x) {}", "template<> [] void f<int>(int x) {...};"),
    ("template <class T> X<T>::X(int a) : Base<T>(a), b_{1, 2} {}",
     "[] - template<type T> X<T>::X(int a) :Base<T>(a) :b_(1,2) {...};"),
    ("struct X { X() = default; ~X() {} explicit X(int) : a(1) {} operator bool() const { return a; } int a; "
     "bool operator()(int i, int j) const; X& operator+=(X const&); };",
     "struct X {[defaulted] - X(); [] - ~X() {...}; [explicit] - X(int ) :a(1) {...}; [const] - operator bool() {...}; "
     "[] int a; [const] bool operator()(int i,int j); [] ref[X] operator+=(ref[const[X]] );};"),
    ("template struct X<int, 3>; template void f<half_t>(int);", "instantiate X<int,3>; instantiate f<half_t>;"),
    ("extern \"C\" { int g(void); }", "[] int g();"),
    ("template <class T> __global__ static void __launch_bounds__(256, 2) k(__grid_constant__ const T t, int n) { }",
     "template<type T> [kernel static] void k(const[T] t,int n) bounds(256,2) {...};"),
    ("__launch_bounds__(decltype(size(M{}))::value) __global__ void k(half_t const* __restrict__ p) {}",
     "[kernel] void k(ptr[const[half_t]] p) bounds(decltype(size(M{}))::value) {...};"),
    ("auto f() { } decltype(auto) g() { } auto h() -> decltype(x) { }",
     "[] auto f() {...}; [] decltype(-) g() {...}; [] decltype(x) h() {...};"),
    ("static_assert(sizeof(T) == 2 && N < 3, \"msg\");", "static_assert(((sizeof(T) == 2) && (N < 3)),'msg');"),
    ("TEST(SM80_CuTe, X) { }", "[] void TEST_SM80_CuTe_X() {...};"),
    ("template <class T> requires (sizeof(T) > 1) void f(T) requires C<T> { }",
     "template<type T> [] void f(T ) {...};"),
    ("void (*fp)(int) = nullptr; int (&r)[3] = a;",
     "[] ptr[function[void]] fp=None:nullptr; [] ref[array[int,3]] r=a;"),
    ("FP8 const* w = x; BF16 const& y = z; MY_API const T v = u;",
     "[const] ptr[const[FP8]] w=x; [const] ref[const[BF16]] y=z; [const] const[T] v=u;"),
    ("MY_API void f(); MY_API Foo<int>* g();", "[] void f(); [] ptr[Foo<int>] g();"),
    ("[[nodiscard]] int f() noexcept(true);", "[] int f();"),
    ("struct A { friend struct B; friend bool operator==(A a, A b) { return true; } };",
     "struct A {[friend] bool operator==(A a,A b) {...};};"),
    ("struct A { using B::B; using typename C::D; public: int x : 3; };",
     "struct A {using name B::B; using name C::D; [bits] int x;};"),
    ("dim3 grid(1, 2); extern __shared__ char smem[]; __device__ float t[2] = {1, 2};",
     "[] dim3 grid(1,2); [extern shared] array[char] smem; [device] array[float,2] t={1,2};"),
    ("Tensor<E, L> f(int (&x)[3], void (*g)(int), T&&... ts);",
     "[] Tensor<E,L> f(ref[array[int,3]] x,ptr[function[void]] g,rref[T]... ts);"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), DECLARATIONS, ids=[text[:60] for text, _ in DECLARATIONS])
def test_declarations(text: str, expected: str) -> None:
    unit = load("x.cu", text.encode(), Defines("sm_80"))
    assert " ".join(map(decl_, unit.decls)) == expected
    assert [n for n in unit.notes if n.kind == "error"] == []


STATEMENTS = [
    ("Tensor g = make_tensor(p, s); auto x = f<1>(g);", ["[] Tensor g=make_tensor(p,s);", "[] auto x=f<1>(g);"]),
    ("X copier; X c(1); X d{2}; X<A> e = {1, 2};",
     ["[] X copier;", "[] X c(1);", "[] X d(2);", "[] X<A> e={1,2};"]),
    ("auto x{f(1)}; auto const& y(g); auto const z{}; T w{1};",
     ["[] auto x=f(1);", "[const] ref[const[auto]] y=g;", "[const] const[auto] z();", "[] T w(1);"]),
    ("T* p = q; a * b; x.y = 3; f(x);", ["[] ptr[T] p=q;", "[] ptr[a] b;", "x.y = 3;", "f(x);"]),
    ("auto [a, b] = f(); auto const& [c] = g;", ["bind[a,b]=f();", "bind[c]=g;"]),
    ("if constexpr (X<N>::v) { f(); } else if (a < b) g(); else h();",
     ["if constexpr(X<N>::v) {f();} else {if((a < b)) {g();} else {h();}}"]),
    ("if (int n = f(); n > 2) g();", ["if([] int n=f(); (n > 2)) {g();}"]),
    ("if (auto x = f()) g();", ["if([] auto x=f(); x) {g();}"]),
    ("for (int i = 0, j = 1; i < n && j > -1; ++i, j += 2) { s += i; }",
     ["for({[] int i=0; [] int j=1;}|((i < n) && (j > (- 1)))|{(++ i); j += 2;}||-) {s += i;}"]),
    ("if (a && b) f(); while (a * b) g(); if (T* p = q) h();",
     ["if((a && b)) {f();}", "while(|(a * b)|||-) {g();}", "if([] ptr[T] p=q; p) {h();}"]),
    ("a & b; for (T&& x : y) f();", ["(a & b);", "foreach(|-||[] rref[T] x;|y) {f();}"]),
    ("for (;;) break;", ["for(|-|||-) {break;}"]),
    ("for (auto const& x : xs) f(x);", ["foreach(|-||[const] ref[const[auto]] x;|xs) {f(x);}"]),
    ("for (auto [a, b] : xs) f(a);", ["foreach(|-||bind[a,b]=;|xs) {f(a);}"]),
    ("while (x) x--; do { f(); } while (y < 3);", ["while(|x|||-) {(p-- x);}", "do(|(y < 3)|||-) {f();}"]),
    ("switch (x) { case 1: case 2: f(); break; case E::A: g(); default: h(); }",
     ["switch(x) 1,2:{f(); break;} E::A:{g(); h();} default:{h();}"]),
    ("__shared__ alignas(16) half_t buf[kM * kK]; extern __shared__ char smem[];",
     ["[shared] array[half_t,(kM * kK)] buf alignas(16);", "[extern shared] array[char] smem;"]),
    ("CUTE_UNROLL\nfor (int i = 0; i < 4; ++i) {}", ["for([] int i=0;|(i < 4)|(++ i);||-) {}"]),
    ("#pragma unroll\nfor (int i = 0; i < 4; ++i) {}", ["for([] int i=0;|(i < 4)|(++ i);||-) {}"]),
    ("CUTE_STATIC_ASSERT_V(size<0>(a) == size<1>(b), \"m\"); CUTE_STATIC_ASSERT(N % 2 == 0);",
     ["static_assert((size<0>(a) == size<1>(b)),'m');", "static_assert(((N % 2) == 0),'');"]),
    ("assert(n > 0); TORCH_CHECK(n % 8 == 0, \"n\", n);", ["assert((n > 0),'');", "contract(((n % 8) == 0),'n');"]),
    ("f(); // cutecheck: assume lda % 8 == 0\ng();", ["f();", "contract(((lda % 8) == 0),'');", "g();"]),
    ("using T = typename K::template L<3>; struct S { int a; }; goto end; end: ;",
     ["using T=K::L<3>;", "struct S {[] int a;};", "goto;"]),
    ("return;", ["return -;"]),
    ("try { f(); } catch (E const& e) { g(); }", ["try {f();} catch {g();}"]),
    ("asm volatile(\"x %0;\" :: \"r\"(a));", ["OPAQUE(inline assembly);"]),
    ("const int a = 1; constexpr static int b = 2; typename X::Y z; unsigned long c;",
     ["[const] const[int] a=1;", "[constexpr static] int b=2;", "[] X::Y z;", "[] unsigned long c;"]),
    ("half_t (&r)[4] = x; int f2 = (int)(3.0f);",
     ["[] ref[array[half_t,4]] r=x;", "[] int f2=c<int>(3.0:float);"]),
    ("std::cout << a << \"x\" << std::endl; cute::copy(a, b);",
     ["(((std::cout << a) << x:char[2]) << std::endl);", "cute::copy(a,b);"]),
    ("x = a < b; y = a<b>(c);", ["x = (a < b);", "y = a<b>(c);"]),
    ("MyTma tma(a); T&& t = g(); decltype(auto) d = h();",
     ["[] MyTma tma(a);", "[] rref[T] t=g();", "[] decltype(-) d=h();"]),
    ("a b c; ok();", ["OPAQUE(syntax error at 'c');", "ok();"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), STATEMENTS, ids=[text[:50] for text, _ in STATEMENTS])
def test_statements(text: str, expected: list[str]) -> None:
    assert body(text) == expected


def test_switch_macro_is_read_from_its_definition() -> None:
    text = (
        "#define BOOL_SWITCH(C, NAME, ...) [&] { if (C) { constexpr static bool NAME = true; return __VA_ARGS__(); } "
        "else { constexpr static bool NAME = false; return __VA_ARGS__(); } }()\n#define EVENK_SWITCH BOOL_SWITCH\n"
        "void f() {\n  EVENK_SWITCH(p.k, K, [&] {\n    run<K, 2>(p);\n  });\n}"
    )
    unit = load("x.cu", text.encode())
    function = unit.decls[0]
    assert isinstance(function, ir.Function) and function.body is not None
    (outer,) = function.body.get().body
    assert isinstance(outer, ir.ExprStmt) and isinstance(outer.expr, ir.Call)
    assert isinstance(outer.expr.fn, ir.Lambda)
    branch = outer.expr.fn.body.get().body[0]
    assert isinstance(branch, ir.If)
    assert stmts(branch.then)[0] == "[constexpr static] bool K=True:bool;"
    ret = branch.then.body[1]
    assert isinstance(ret, ir.Return) and isinstance(ret.value, ir.Call) and isinstance(ret.value.fn, ir.Lambda)
    call = ret.value.fn.body.get().body[0]
    assert isinstance(call, ir.ExprStmt)
    # arguments keep their own place, the macro's body has that of its use
    assert (call.span.line, call.span.column) == (5, 5)
    assert (branch.span.line, outer.span.line) == (4, 4)


MACROS = [
    ("#define S(x) #x\nauto a = S( (f<A, 2>( b)) );", "[] auto a=(f<A, 2>( b)):char[14];"),
    ("#define P(a, b) a##b\nint P(x, 1) = 2;", "[] int x1=2;"),
    ("#define V(f, ...) f(0, ##__VA_ARGS__)\nauto a = V(g); auto b = V(g, 1, 2);",
     "[] auto a=g(0); [] auto b=g(0,1,2);"),
    ("#define V(f, ...) f(0 __VA_OPT__(,) __VA_ARGS__)\nauto a = V(g); auto b = V(g, 1);",
     "[] auto a=g(0); [] auto b=g(0,1);"),
    ("#define N(xs...) f(xs)\nauto a = N(1, 2);", "[] auto a=f(1,2);"),
    ("#define K 2\nint a = K;\n#undef K\nint b = K;\n#define K 3\nint c = K;", "[] int a=2; [] int b=K; [] int c=3;"),
    ("#define A B\n#define B A\nint x = A;", "[] int x=A;"),
    ("#define F(x) x + F(x)\nint x = F(1);", "[] int x=(1 + F(1));"),
    ("#define F(x) x\nint F = 1; int y = F (2);", "[] int F=1; [] int y=2;"),
    ("#define G F\n#define F(x) (x * 2)\nint y = G(2);", "[] int y=(2 * 2);"),
    ("#define K 2\nauto s = \"K\"; char c = 'K'; // K\nint a = K /* K */;",
     "[] auto s=K:char[2]; [] char c=75:char; [] int a=2;"),
    ("#define LONG a + \\\n  b\nint x = LONG;", "[] int x=(a + b);"),
    ("#define CASE(T) template <> struct X<T> { };\nCASE(int) CASE(float)",
     "template<> struct X<int> {}; template<> struct X<float> {};"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MACROS, ids=[text[:40] for text, _ in MACROS])
def test_macros_expand_as_the_preprocessor_does(text: str, expected: str) -> None:
    assert " ".join(decls(text)) == expected


def test_conditions_by_architecture() -> None:
    text = "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\nint a;\n#else\nint b;\n#endif\n"
    assert decls(text, "sm_80") == ["[] int a;"]
    assert decls(text, "sm_75") == ["[] int b;"]
    assert decls(text, "") == ["[] int b;"]
    text = (
        "#ifdef CUTE_ARCH_MMA_SM90A_ENABLED\nint a;\n#elif defined(CUTLASS_ARCH_MMA_SM90_SUPPORTED)\nint b;\n#endif\n"
    )
    assert decls(text, "sm_90a") == ["[] int a;"]
    assert decls(text, "sm_90") == ["[] int b;"]


def test_places_survive_macros_and_conditions() -> None:
    text = "#if 0\nint x;\n#endif\nCUTE_HOST_DEVICE\nvoid f() { CUTE_UNROLL for (;;) { g(é, Int<8>{}); } }\n"
    unit = load("x.cu", text.encode())
    function = unit.decls[0]
    assert isinstance(function, ir.Function) and function.body is not None
    assert (function.span.line, function.span.column) == (5, 6)
    loop = function.body.get().body[0]
    assert isinstance(loop, ir.Loop)
    call = loop.body.body[0]
    assert isinstance(call, ir.ExprStmt) and isinstance(call.expr, ir.Call)
    last = call.expr.args[1].value.span
    line = text.splitlines()[4]
    assert line[last.column - 1 : last.end_column - 1] == "Int<8>{}"


def test_comments_to_cutecheck() -> None:
    text = "// cutecheck: instantiate K<128, 64, half_t>\nint a; // cutecheck: ignore[CC101]\n"
    unit = load("x.cu", text.encode())
    assert [decl_(d) for d in unit.decls] == ["[] int a;", "instantiate K<128,64,half_t>;"]
    assert [(n.kind, n.text, n.span.line) for n in unit.notes] == [("ignore", "[CC101]", 2)]


def test_assumptions_keep_their_place() -> None:
    text = "// cutecheck: assume a > 1\nvoid f(int n) { // cutecheck: assume n % 8 == 0\n  g(n);\n}\n"
    unit = load("x.cu", text.encode())
    first, function = unit.decls
    assert isinstance(first, ir.TopLevel) and isinstance(first.stmt, ir.Assert) and first.stmt.kind == "contract"
    assert isinstance(function, ir.Function) and function.body is not None
    contract, call = function.body.get().body
    assert isinstance(contract, ir.Assert) and isinstance(call, ir.ExprStmt)
    span = contract.cond.span
    assert text.splitlines()[1][span.column - 1 : span.end_column - 1] == "n % 8 == 0"
    assert (call.span.line, call.span.column) == (3, 3)


def test_an_assumption_where_no_statement_may_stand_is_reported() -> None:
    unit = load(
        "x.cu", b"void f(int n, // cutecheck: assume n > 0\n  int m) { if (n) // cutecheck: assume m > 0\n g(); }"
    )
    assert [(n.kind, n.span.line) for n in unit.notes] == [("error", 1), ("error", 2)]
    (function,) = unit.decls
    assert isinstance(function, ir.Function) and function.body is not None
    assert stmts(function.body.get()) == ["if(n) {g();}"]


@pytest.mark.parametrize(
    ("text", "flags", "type_"),
    [
        ('extern "C" __global__ void __launch_bounds__(128) k(float* p) { f(); }', {"kernel"}, "void"),
        ('extern "C" __global__ void k(float* p);', {"kernel"}, "void"),
        ('extern "C" static __global__ void k() {}', {"kernel", "static"}, "void"),
        ('extern "C" __device__ __forceinline__ number_t k();', {"device"}, "number_t"),
        ('extern "C" PUBLIC number_t k();', set(), "number_t"),
    ],
)
def test_what_stands_behind_a_linkage_is_no_macro_beside_a_literal(text: str, flags: set[str], type_: str) -> None:
    (function,) = load("x.cu", text.encode()).decls
    assert isinstance(function, ir.Function)
    assert function.flags == flags
    assert bool(function.launch_bounds) == ("__launch_bounds__" in text)
    assert isinstance(function.ret, ir.Name) and function.ret.ident == type_


def test_configuration_calls_ignore_comments_strings_and_definitions() -> None:
    text = (
        '// make_tiled_copy(a)\nauto s = "make_tiled_copy(";\n#define M make_tiled_mma(x)\n'
        "auto t = make_tiled_copy(Copy_Atom<X, T>{}, a, b);\nstruct TiledCopy<X> {};\n"
        "template <class T> constexpr auto ss_smem_selector() {\n}\n"
    )
    unit = load("x.cu", text.encode())
    assert [(name, span.line, span.column) for span, name in unit.calls] == [
        ("make_tiled_copy", 4, 10),
        ("Copy_Atom", 4, 26),
    ]


def test_nothing_raises_on_broken_text() -> None:
    for text in [
        "struct A {",
        "void f() { if (",
        "#if\n#if\n",
        "template <",
        "}}}}",
        '"abc',
        "/* open",
        "x" * 10,
        "\0\0",
    ]:
        unit = load("x.cu", text.encode())
        assert unit.language == "cpp"
    assert load("x.cu", b"int x; // \xff\xfe").decls


def test_includes() -> None:
    unit = load("x.cu", b'#include <cute/tensor.hpp>\n#if 0\n#include "no.h"\n#endif\n#  include "a/b.h" // c\n')
    assert [(text, system, span.line) for text, system, span in unit.includes] == [
        ("cute/tensor.hpp", True, 1),
        ("a/b.h", False, 5),
    ]
