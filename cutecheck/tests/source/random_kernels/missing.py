"""Functions and classes of a header that cutecheck is not shown, and arrays by reference.

``MISSING`` is for the compiler alone: all of it writes what it is given by name, or keeps the address of it.
"""

# fmt: off
# ruff: noqa: E501
from __future__ import annotations

from cutecheck.tests.source.random_kernels.writer import Writer

MISSING = """
static int* kept_outside;
template <class T> void outer_set(T& t, int v) { t = v; }
static void outer_bump(int& t, int by = 3) { t += by; }
static void outer_divide(int& quotient, int& rest, int n) { quotient = n / 8; rest = n % 8; }
static int outer_value(int v) { return v + 1; }
static int outer_look(int const& v) { return v; }
static void outer_keep(int& t) { kept_outside = &t; }
static void outer_write(int v) { *kept_outside = v; }
template <class T> void outer_reset(T& t) { t = T{}; }
template <class T, int N> void outer_fill(T (&a)[N], int v) { for (T& e : a) e = v; }
template <class... Ts> void outer_all(Ts&&... ts) { ((ts += 1), ...); }
template <class F> void outer_call(F f) { f(); f(); }
template <class F> void outer_with(F f, int& t) { f(t); }
namespace outer {
inline void set(int& t, int v) { t = v; }
template <int N> struct Op { static void apply(int& t) { t += N; } int operator()(int& t) const { return t += N; } };
struct Box {
  int* p = nullptr; int v = 1;
  Box() {}
  explicit Box(int& t) : p(&t) {}
  void put(int& t) { t = v; }
  void write(int x) { *p = x; }
  Box& operator>>(int& t) { t = v; return *this; }
};
}
#define OUTER_SWAP(a, b) do { int swapped_ = a; a = b; b = swapped_; } while (0)
"""

ARRAYS = """
template <class T, int N> CUTE_HOST_DEVICE int extent_of(T (&a)[N]) { return N; }
template <class T, int N> CUTE_HOST_DEVICE void fill_array(T (&a)[N], int v) { for (int i = 0; i < N; ++i) a[i] = v + i; }
template <class T, size_t N> CUTE_HOST_DEVICE int sum_of(T const (&a)[N]) { int r = 0; for (int i = 0; i < int(N); ++i) r += a[i]; return r; }
CUTE_HOST_DEVICE void first_of(int (&a)[3], int v) { a[0] = v; }
template <class T, int M, int N> CUTE_HOST_DEVICE int area_of(T (&a)[M][N]) { a[M - 1][0] = N; return M * 8 + N; }
template <class T> CUTE_HOST_DEVICE int length_of(T& a) { return int(sizeof(a) / sizeof(a[0])); }
template <class T> CUTE_HOST_DEVICE int decays(T* a, int v) { a[1] = v; return int(sizeof(T)); }
"""


class MissingStatements(Writer):
    """Calls of what is not declared, and of what takes arrays with their extent."""

    def do_missing(self) -> None:
        s, q, t, number = self.scope, self.fresh("q"), self.target(), self.number(1)
        plain = [x for x in s.writes if x.isidentifier() and not x.startswith("b")] or ["x"]
        v, w = self.r.choice(plain), self.r.choice(plain)
        objects = [o for o, paths in s.objects.items() if paths[0].endswith(".at")]
        c = self.r.choice(objects) if objects else None
        choices = [
            f"outer_set({v}, {number});", f"outer_bump({v});", f"outer_bump({t}, {number});", f"outer_divide({v}, {w}, {number});",
            f"{t} = outer_value({v});", f"{t} = outer_look({v}) + outer_value({number});", f"outer::set({v}, {number});",
            f"outer_keep({v}); {v} = 2; outer_write({number});", f"outer::Op<8>::apply({v});", f"outer::Op<3> {q}; {t} = {q}({v});",
            f"{{ outer::Box {q}({v}); {v} = 5; {q}.write({number}); }}", f"{{ outer::Box {q}; {q}.put({v}); {q} >> {w}; }}",
            f"{{ auto {q} = outer::Box{{{v}}}; {v} = 1; {q}.write({number}); {t} = {v}; }}", f"outer_all({v}, {w});",
            f"{{ int {q}[3] = {{1, {number}, 8}}; outer_fill({q}, {self.constant()}); {t} = {q}[1]; }}",
            f"{{ int {q}[3] = {{1, {number}, 8}}; outer_set({q}[1], {self.constant()}); {t} = {q}[1] + {q}[0]; }}",
            f"{{ int {q} = {number}; int& r = {q}; outer_bump(r); {t} = {q}; }}", f"{{ int* {q} = &{v}; outer_bump(*{q}); }}",
            f"{{ int const {q} = {number}; {t} = outer_look({q}) + {q}; }}", f"outer_call([&] {{ {v} += 1; }});",
            f"outer_with([&](int& e) {{ e += 2; {v} = 3; }}, {w});", f"OUTER_SWAP({v}, {w});",
            f"for (int i = 0; i < {self.one('n', '2', 'm')}; ++i) {{ outer_bump({v}, i); }}",
            f"if ({self.condition()}) {{ outer_set({v}, {number}); }}", f"{{ auto {q} = [&](auto& e) {{ outer_bump(e); }}; {q}({v}); }}",
            f"{{ Pair {q}; outer_set({q}.first, {number}); {t} = {q}.first * 4 + {q}.second; }}", f"{{ Pair {q}; outer_reset({q}); {t} = {q}.second; }}",
            f"{{ Pair {q}; Pair* r = &{q}; outer_bump(r->second); {t} = {q}.second; }}", f"{{ Holder {q}{{{v}}}; outer_set({q}.ref, {number}); }}",
        ]
        if c is not None:
            choices += [f"outer_reset({c});", f"outer_bump({c}.at);", f"outer_call([&] {{ {c}.advance(2); }});"]
        self.emit(self.one(*choices))

    def do_extent(self) -> None:
        s, q, t, number = self.scope, self.fresh("q"), self.target(), self.number(1)
        plain = [x for x in s.writes if x.isidentifier() and not x.startswith("b")] or ["x"]
        v = self.r.choice(plain)
        made = self.one(f"int {q}[3] = {{1, {number}, 8}};", f"int {q}[4] = {{{number}}};", f"long {q}[2] = {{3, 4}};", f"int {q}[] = {{1, 2, {number}}};")
        self.emit(self.one(
            f"{{ {made} {t} = extent_of({q}) * 8 + int({q}[1]); }}", f"{{ {made} fill_array({q}, {self.constant()}); {t} = int({q}[1]); }}",
            f"{{ {made} {t} = sum_of({q}); }}", f"{{ {made} {t} = length_of({q}) + decays({q}, 7); {t} += int({q}[1]); }}",
            f"{{ int {q}[3] = {{1, {number}, 8}}; first_of({q}, 5); {t} = {q}[0] + {q}[2]; }}", f"{{ int {q}[2][3] = {{}}; {t} = area_of({q}) + {q}[1][0] + {q}[0][2]; }}",
            f"{{ Numbers {q}; fill_array({q}.c, {number}); {t} = {q}.c[0] + extent_of({q}.c); }}", f"{{ Derived {q}; first_of({q}.more, {number}); {t} = {q}.more[0] + sum_of({q}.more); }}",
            f"{{ int** {q} = new int*[2]; {q}[0] = &{v}; {q}[1] = &{t}; *{q}[{self.one('0', '1', 'n & 1')}] = {number}; }}",
            f"{{ int const {q}[3] = {{4, 5, 6}}; {t} = sum_of({q}) + {q}[{self.one('1', 'n & 1')}] + extent_of({q}); }}",
            f"{{ {made} auto f = [&] {{ fill_array({q}, 4); }}; if ({self.condition()}) {{ f(); }} {t} = int({q}[1]); }}",
            f"{{ {made} for (int i = 0; i < {self.one('n', '2')}; ++i) {{ fill_array({q}, i); }} {t} = int({q}[0]); }}",
            f"{{ {made} auto& r = {q}; fill_array(r, 2); {t} = int({q}[1]) + extent_of(r); }}",
        ))
