"""What the program writes through references, pointers, objects, closures and early exits is not missed."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """#include <cute/tensor.hpp>
#include <utility>
using namespace cute;
struct Counter {{
  int at = 0;
  __device__ void advance(int by) {{ at += by; }}
  __device__ int& get() {{ return at; }}
  __device__ Counter& operator+=(int by) {{ at += by; return *this; }}
}};
struct Base {{ int low = 2; }};
struct Derived : Base {{ int high = 3; }};
struct Holder {{ int& ref; __device__ void set(int v) {{ ref = v; }} }};
union Either {{ int whole; int same; }};
struct Declared {{ int at = 1; __device__ void change(); __device__ int look() const; }};
struct Low {{ int a = 1; __device__ Low(int v) : a(v) {{}} __device__ Low() {{ a = 7; }} }};
struct High : Low {{ using Base = Low; int b; __device__ High(int v) : Base(v + 1), b(v) {{}} }};
struct Plain : Low {{ int b = 2; }};
struct Twice {{
  int a, b;
  __device__ Twice(int x, int y) : a(x), b(y) {{}}
  __device__ Twice(int x) : Twice(x, 9) {{ a += 1; }}
}};
struct Copied {{
  int v = 1;
  __device__ Copied() {{}}
  __device__ Copied(Copied const& o) : v(o.v + more()) {{}}
  static int more();
}};
struct Self {{ int v = 1; Self* next = nullptr; __device__ Self* me() {{ return this; }} }};
struct Smart {{
  Counter* to;
  __device__ Counter* operator->() {{ return to; }}
  __device__ Counter& operator*() {{ return *to; }}
}};
struct Bits {{ unsigned low : 3; unsigned high : 5; }};
struct Last {{ int& r; int by = 9; __device__ Last(int& x) : r(x) {{}} __device__ ~Last() {{ r = by; }} }};
struct Lasting {{ Last last; __device__ Lasting(int& x) : last(x) {{}} }};
__device__ void leave(int& x, int n) {{ Last d(x); x = 1; if (n > 2) return; x = 2; d.by = 5; }}
__device__ void may_throw(int& x, int n) {{ x = 4; if (n > 2) throw 1; x = 6; }}
__device__ void set(Counter* p, int v) {{ p->at = v; }}
void by_pointer(int* p);
void look_at(int const* p);
int outside = 4;
__device__ void early(int& x, int c) {{ if (c > 2) {{ x = 16; return; }} x = 8; }}
__device__ void put(int* p, int v) {{ *p = v; }}
__device__ int& pick(int& a, int& b, bool f) {{ return f ? a : b; }}
__device__ void by_value(Counter c) {{ c.advance(8); }}
template <class... T> __device__ void each(int by, T&... ts) {{ ((ts += by), ...); }}
template <class T> __device__ void seen(T const& t) {{ copy(t, t); }}
__device__ void leap(int& x, int n) {{ x = 1; if (n) goto out; x = 2; out: ; }}
__device__ void down(int depth, int& x) {{ if (depth <= 0) return; x += 8; down(depth - 1, x); }}
__global__ void k(int n) {{
  __shared__ half_t s[65536];
  int x = 0, y = 8, tid = threadIdx.x;
  {body}
  seen(make_tensor(make_smem_ptr(s + ({shown})), Layout<_8>{{}}));
}}
void host(int n) {{ k<<<1, 32>>>(n); }}
"""


def said(folder: Path, body: str, shown: str) -> int | None:
    """The value, None where it is not a number."""
    (folder / "k.cu").write_text(KERNEL.format(body=body, shown=shown))
    (event,) = extract(ExtractRequest((folder,), ("sm_80",))).events
    offset = event.operands[0].offset
    return None if isinstance(offset, Unknown) else as_expr(offset).constant  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("int& r = x; r = 5;", "x", 5),
        ("auto& r = x; x = 5;", "r", 5),
        ("int* p = &x; *p = 5;", "x", 5),
        ("int* p = &x; x = 7;", "*p", 7),
        ("int* p = &x; int** q = &p; **q = 6;", "x", 6),
        ("put(&x, 5);", "x", 5),
        ("pick(x, y, true) = 3;", "x", 3),
        ("each(4, x, y);", "x + y", 16),
        ("y = (x = 3);", "x + y", 6),
        ("y = (x = 3) + 1;", "y", 4),
        ("(true ? x : y) = 9;", "x", 9),
        ("y = (x = 5, x + 1);", "x + y", 11),
        ("y = (x += 4, x <<= 1, y = 3, x);", "x + y", 16),
        ("(x = 5, y = 6);", "x * 8 + y", 46),
        ("x = 8; y = (x >>= 2, x >= 3, x);", "y", 2),
        ("y = (x = (y = 3, y + 1), x + y);", "x + y", 11),
        ("if ((x = 4, y > 2)) { y = 1; }", "x + y", 5),
        ("Counter a; Counter b = a; b.advance(8);", "a.at", 0),
        ("Counter a; Counter b; a = b; b.advance(8);", "a.at", 0),
        ("Counter a; by_value(a);", "a.at", 0),
        ("Counter a; auto& b = a; a = Counter{4};", "b.at", 4),
        ("Counter a; a.get() = 5;", "a.at", 5),
        ("Counter a; a += 8;", "a.at", 8),
        ("Derived d; Base b = d; b.low = 7;", "d.low", 2),
        ("Derived d; Base& b = d; b.low = 7;", "d.low", 7),
        ("Holder h{x}; h.set(5);", "x", 5),
        ("Counter a; auto& [at] = a; at = 6;", "a.at", 6),
        ("auto f = [x] { return x + 1; }; x = 5; y = f();", "y", 1),
        ("auto f = [=] { return x + 1; }; x = 5; y = f();", "y", 1),
        ("auto f = [&] { return x + 1; }; x = 5; y = f();", "y", 6),
        ("auto f = [x]() mutable { return x += 8; }; f(); y = f();", "x + y", 16),
        ("auto f = [&r = x] { r = 4; }; f();", "x", 4),
        ("switch (2) { case 2: x += 1; case 3: x += 2; }", "x", 3),
        ("put(&x, 3); look_at(&x);", "y", 8),
        ("High h(3);", "h.a * 8 + h.b", 35),
        ("Plain p;", "p.a + p.b", 9),
        ("Twice t(3);", "t.a * 16 + t.b", 73),
        ("Counter a; Counter* p = &a; p->at = 9;", "a.at", 9),
        ("Counter a; auto p = &a; a.at = 4;", "p->at", 4),
        ("Counter a, b; Counter* p = &a; p = &b; p->advance(3);", "b.at * 8 + a.at", 24),
        ("Counter a; set(&a, 5);", "a.at", 5),
        ("Self q; q.me()->v = 4; auto w = q.me(); w->v += 2;", "q.v", 6),
        ("Self q, t; q.next = &t; q.next->v = 5;", "t.v * 8 + q.v", 41),
        ("decltype(auto) w = (x); w = 6;", "x", 6),
        ("Counter a; Smart p{&a}; p->at = 5; p->advance(2); (*p).at += 1;", "a.at", 8),
        ("unsigned u = n - n; u = u - 1; x = int(u) % 100 + 100;", "x", 99),
        ("{ Last d(x); x = 3; }", "x", 9),
        ("{ Last d(x); Last e(x); d.by = 4; }", "x", 4),
        ("{ Lasting d(x); }", "x", 9),
        ("try { x = 5; } catch (...) { x = 5; }", "x", 5),
        ("decltype(auto) w = x; w = 6;", "x", 0),
        ("do { x += 5; } while (0);", "x", 5),
        ("do { x = 5; if (y == 8) break; x = 7; } while (false);", "x", 5),
        ("do { do { x += 5; if (y > 7) break; } while (0); x += 1; } while (0);", "x", 6),
    ],
)
def test_values_that_are_known(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert said(tmp_path, body, shown) == value


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("early(x, n);", "x"),
        ("if (n == 2) x = 8; else { y = 4; } bool b = n > 2 && (x = 5);", "x"),
        ("bool b = n > 2 || (x = 5);", "x"),
        ("y = n > 2 ? x++ : 3;", "x"),
        ("(n > 2 ? x : y) = 9;", "x"),
        ("int* p = n > 2 ? &x : &y; *p = 9;", "x"),
        ("switch (n) { case 1: x = 4; break; case 2: x = 8; break; }", "x"),
        ("switch (n) { case 1: if (tid < 4) { x = 4; break; } x = 8; }", "x"),
        ("switch (n) { case 1: x = 4; break; default: y = 8; }", "x"),
        ("do { x += 2; } while (--y > n);", "y"),
        ("do { x = 5; if (n) break; x = 7; } while (false);", "x"),
        ("do { if (n) continue; x = 7; } while (false);", "x"),
        ("for (int i = 0; i < n; ++i) { do { x = i; if (i > 2) break; x = 7; } while (0); }", "x"),
        ("std::ranges::swap(x, y);", "x"),
        ("by_pointer(&x);", "x"),
        ("Declared d; d.change();", "d.at"),
        ("Either u; u.whole = 8; u.same = n;", "u.whole"),
        ("outside = 5;", "outside"),
        ("int a = outside; outside = 5;", "outside - a"),
        ('asm volatile("mov.u32 %0, 8;" : "=r"(x) : "r"(y));', "x"),
        ("leap(x, n);", "x"),
        ("down(n, x);", "x"),
        ("for (int i = 3; i < n; ++i) { auto&& r = x; r = 7; }", "x"),
        ("unsigned u = 0; for (int i = 0; i < n; ++i) { u -= 3; } x = int(u / 1024u);", "x"),
        ("x = (n > 2 ? -1 : 0u) / 1024;", "x"),
        ("static int kept = 0; x = kept; kept = 5;", "x"),
        ("int a[2] = {1, 2}; for (int& e : a) { e += n; }", "a[0]"),
        ("int a[2] = {1, 2}; (n > 2 ? a[0] : x) = 9;", "x"),
        ("auto t = make_tuple(1, 2); auto& [a, b] = t; b = 8;", "get<1>(t)"),
        ("auto t = make_tuple(1, 2); int& e = get<0>(t); get<0>(t) = 5; e = 7;", "get<0>(t)"),
        ("auto t = make_tuple(1, 2); for (int i = 0; i < n; ++i) { get<0>(t) += 3; }", "get<0>(t)"),
        ("auto t = make_tuple(1, 2); auto& u = n > 2 ? t : *new auto(t); get<0>(u) = 5;", "get<0>(t)"),
        ("int a[3] = {1, 2, 3}; auto& [p, q, r] = a; q = 9;", "a[1]"),
        ("int a[3] = {1, 2, 3}; std::ranges::swap(a[0], a[1]);", "a[0]"),
        ("int a[2][2] = {{1, 2}, {3, 4}}; for (auto& [p, q] : a) { p += q; }", "a[0][0]"),
        ("std::pair<int, int> a[2] = {{1, 2}, {3, 4}}; for (auto& [p, q] : a) { p += q; }", "a[1].first"),
        ("Counter a; Counter* p = &a; p[0] = Counter{5};", "a.at"),
        ("Counter a; int* p = reinterpret_cast<int*>(&a); for (int i = 0; i < n; ++i) { p[i] = 5; }", "a.at"),
        ("int* p = &y; for (int i = 0; i < n; ++i) { *p = 5; p = &x; }", "x"),
        ("Counter a, b; Counter* p = &b; for (int i = 0; i < n; ++i) { p->at = 5; p = &a; }", "a.at"),
        ("Counter a; for (int i = 0; i < n; ++i) { Counter b = a; Counter* p = &b; p->advance(3); a = *p; }", "a.at"),
        ("auto t = make_tuple(Counter{}, 1); for (int i = 0; i < n; ++i) { get<0>(t).advance(i); }", "get<0>(t).at"),
        ("Smart a{}; Counter* at = &a.to[0]; at[n] = Counter{5};", "a.to->at"),
        ("Counter a, b; Counter* p = n > 2 ? &a : &b; p->at = 9;", "a.at"),
        ("Counter a, b; (n > 2 ? a : b).at = 7;", "b.at"),
        ("Counter a, b; (n > 2 ? a : b).advance(7);", "b.at"),
        ("Counter a, b; Counter& r = n > 2 ? a : b; r.at = 5;", "a.at"),
        ("Counter a; int Counter::* p = &Counter::at; a.*p = 5;", "a.at"),
        ("Copied a; Copied b = a;", "b.v"),
        ("leave(x, n);", "x"),
        ("int* p = nullptr; for (int i = 0; i < n; ++i) { if (p) { *p = 7; } p = &x; }", "x"),
        ("Counter* p = nullptr; Counter a; for (int i = 0; i < n; ++i) { if (p) { p->at = 7; } p = &a; }", "a.at"),
        ("Bits b{}; b.low = 9;", "b.low"),
        ("int a[2] = {1, 3}; std::ranges::swap(a[0], a[1]); size_t u = a[0] - 9; x = int(u * 3 / 8);", "x"),
        ("for (int i = 0; i < n; ++i) { pick(x, y, false) = 6; }", "y"),
        ("for (int i = 0; i < n; ++i) { auto f = [&]() -> int& { return x; }; f() = 6; }", "x"),
        ("for (int i = 0; i < 3; ++i) { int a[2] = {1, 3}; std::ranges::swap(a[0], a[1]); x = a[0]; }", "x"),
        ('for (int i = 0; i < 3; ++i) { int w = 4; asm("mov.u32 %0, 8;" : "=r"(w)); x = w; }', "x"),
        ("try { x = 1; if (n > 2) throw 5; x = 2; } catch (...) { }", "x"),
        ("try { may_throw(x, n); } catch (...) { y = 3; }", "x"),
        ("try { may_throw(x, n); } catch (...) { y = 3; }", "y"),
        ("try { x = 1; may_throw(y, n); } catch (...) { x += 8; }", "x"),
    ],
)
def test_values_that_may_have_changed_are_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert said(tmp_path, body, shown) is None


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("Declared d; int v = d.look();", "d.at", 1),
        ("look_at(&x);", "x", 0),
        ('asm("" :: "r"(x));', "x", 0),
        ("Counter a, b; Counter* q = &b; int* p = reinterpret_cast<int*>(&a); p[n] = 5;", "q->at", 0),
    ],
)
def test_what_may_only_be_read_keeps_its_value(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert said(tmp_path, body, shown) == value


def test_mutual_recursion_on_an_unknown_bound_ends(tmp_path: Path) -> None:
    text = (
        "#include <cute/tensor.hpp>\n"
        "int b(int n, int& x);\n"
        "int a(int n, int& x) { if (n < 2) return 1; x += 1; return b(n - 1, x) + b(n - 2, x); }\n"
        "int b(int n, int& x) { if (n < 3) return 2; x += 2; return a(n - 1, x) + a(n - 3, x); }\n"
        "void host(int n) { int x = 4; a(n, x); auto first = cute::make_layout(x); }\n"
    )
    (tmp_path / "a.cu").write_text(text)
    facts = extract(ExtractRequest((tmp_path,)))
    (site,) = facts.sites
    assert str(site.value) != "4:_1"
    assert facts.errors == ()


def test_a_reference_that_a_loop_assigns_changes_what_it_stands_for_and_goes_on_standing_for_it(tmp_path: Path) -> None:
    """A pipeline's state of a class that is not read, passed by reference: its stage is a number in every iteration."""
    text = """
#include <cute/tensor.hpp>
#include <cutlass/pipeline/pipeline.hpp>
template <class State> __device__ void load(State& state, int n) {
  extern __shared__ float smem[];
  auto s = cute::make_tensor(cute::make_smem_ptr(smem), cute::make_layout(cute::Shape<cute::Int<32>, cute::Int<4>>{}));
  auto r = cute::make_tensor<float>(cute::Int<32>{});
  for (int k = 0; k < n; ++k) {
    auto stage = state.index();
    cute::copy(r, s(cute::_, stage));
    ++state;
  }
}
__global__ void kernel(int n) {
  auto state = cutlass::make_producer_start_state<cutlass::PipelineTmaAsync<4>>();
  load(state, n);
}
"""
    (tmp_path / "a.cu").write_text(text)
    (event,) = extract(ExtractRequest((tmp_path,))).events
    assert [str(o.layout) for o in event.operands] == ["_32:_1", "(_32):(_1)"]
    assert [o.space for o in event.operands] == ["rmem", "smem"]


def test_a_configuration_whose_flag_a_loop_sets_is_what_its_type_says(tmp_path: Path) -> None:
    text = """
#include <cute/tensor.hpp>
using namespace cute;
using Mma = decltype(make_tiled_mma(SM80_16x8x8_F32F16F16F32_TN{}));
__global__ void kernel(Mma mma, int n) {
  auto a = make_tensor<half_t>(make_shape(make_shape(_2{}, _2{}), _1{}));
  auto b = make_tensor<half_t>(make_shape(_2{}, _1{}));
  auto c = make_tensor<float>(make_shape(make_shape(_2{}, _2{}), _1{}, _1{}));
  for (int k = 0; k < n; ++k) {
    gemm(mma, a, b, c);
    mma.accumulate_ = 1;
  }
}
"""
    (tmp_path / "a.cu").write_text(text)
    (event,) = extract(ExtractRequest((tmp_path,))).events
    assert not isinstance(event.tiled, Unknown)
    assert event.reason is None
