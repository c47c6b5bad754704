"""Loops that change nothing but their own variables are not rehearsed; every other loop is, and says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cutecheck.facts import Facts
from cutecheck.source.eval.statements import loops
from cutecheck.source.extract import ExtractRequest, extract

SOURCE = """
#include <cute/tensor.hpp>
using namespace cute;
struct Counter {{
  int at = 0;
  int many[4] = {{1, 2, 3, 4}};
  Counter* next;
  __device__ void advance(int by) {{ at += by; }}
  __device__ int operator()(int by) {{ at += by; return at; }}
  __device__ Counter& operator++() {{ at += 8; return *this; }}
}};
struct Adds {{ static __device__ void to(int& x) {{ x += 8; }} }};
template <class T> struct Of {{ static __device__ void to(int& x) {{ x += 8; }} }};
template <class T, int N> __device__ void fill_all(T (&a)[N]) {{ for (int q = 0; q < N; ++q) a[q] = 8; }}
__device__ void add(int& x) {{ x += 8; }}
struct Most {{ __device__ float operator()(float a, float b) const {{ return a > b ? a : b; }} }};
struct Sums {{ int sum = 0; __device__ float operator()(float a, float b) {{ ++sum; return a + b; }} }};
struct Base {{ int kept = 0; __device__ void keep(int x) {{ kept += x; }} }};
template <int N> struct Rows : Base {{
  float scale;
  template <class T> __device__ void times(T& t, int i) {{ double_all(t, i); t(0, i) = t(0, i) * scale; }}
  template <class T> __device__ void double_all(T& t, int i) {{ for (int q = 0; q < N; ++q) t(q, i) = t(q, i) * 2; }}
  template <class T> __device__ void count(T& t, int i) {{ double_all(t, i); again(8); }}
  __device__ void again(int x) {{ this->keep(x); }}
}};
template <class T, class Op> __device__ void reduce(T& t, int i, Op& op) {{
  auto last = t(0, i);
  for (int q = 0; q < 8; ++q) {{ last = op(last, t(q, i)); }}
  t(0, i) = last;
}}
template <class T> __device__ void maxima(T& t, int i) {{ Most most; reduce(t, i, most); }}
template <class By> __device__ void by(int& x) {{ By::to(x); }}
__device__ void through(int& x) {{ add(x); }}
__device__ void odd(int n, int& x);
__device__ void even(int n, int& x) {{ if (n > 0) odd(n - 1, x); }}
__device__ void odd(int n, int& x) {{ if (n > 0) even(n - 1, x); else x += 8; }}
__device__ void into(Counter (&all)[2], int i) {{ all[0] = Counter{{i}}; }}
template <class T> __device__ void moved(T& t) {{ t.data() = t.data() + 8; }}
template <class F> __device__ void calls(F f) {{ f(); }}
__device__ int counted() {{ static int calls = 0; calls += 1; return calls; }}
__global__ void k(int n, half_t* g, Counter* far) {{
  __shared__ alignas(128) half_t s[65536];
  int x = 0; int j = 0; int numbers[4] = {{1, 2, 3, 4}}; Counter c; Counter cs[2]; Rows<4> rows; Sums sums; Most most;
  auto each = [&] {{ x += 8; }};
  auto A = make_tensor(make_smem_ptr(s), Layout<Shape<_8, _8>>{{}});
  auto r = make_tensor<half_t>(Layout<Shape<_8, _8>>{{}});
  for (int i = 0; i < n; ++i) {{
    {body}
  }}
  auto S = make_tensor(make_smem_ptr(s) + x, Layout<_8>{{}});
  copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{{}}, A(_, 0), r(_, 0));
  copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{{}}, S, r(_, 0));
}}
"""
INERT = (
    "copy(A(_, i), r(_, i));",
    "r(0, i) = r(0, i) + r(0, i);",
    "int own = i; own += 2; ++own;",
    "for (int q = 0; q < 4; ++q) { if (q > i) break; clear(r(_, q)); }",
    "if (i < n - 1) { copy(A(_, i), r(_, i)); } else { clear(r(_, i)); }",
    "auto part = A(_, i); cute::copy(part, r(_, i)); __syncthreads();",
    "float v = exp2f(float(i)); r(0, i) = v;",
    "maxima(r, i);",
    "atomicAdd(&r(0, i), 1.f);",
    "static constexpr int two = 2; int own[4]; own[i] = two;",
    "auto t = r(_, i); t.data() = t.data() + 8;",
    "reduce(r, i, most);",
    "rows.times(r, i);",
    "auto f = [&](int v) { r(0, v) = r(1, v); }; f(i);",
    "Most own; r(0, i) = own(r(0, i), r(1, i));",
)
CHANGES = (
    "x += 8;",
    "++x;",
    "numbers[i] = 8;",
    "numbers[1] += 8;",
    "c.many[i] = 8;",
    "fill_all(numbers);",
    "auto& r = numbers; r[i] = 8;",
    "helper(x);",
    "Helper h; h.go(x);",
    "std::cin >> x;",
    "x = x < 64 ? x + 8 : 0;",
    "{ int x = 0; x += 1; } x += 8;",
    "if (i > 2) { int x = 0; } else { x += 8; }",
    "for (int x = 0; x < 4; ++x) { } x += 8;",
    "A.data() = A.data() + 8;",
    "add(x);",
    "Adds::to(x);",
    "Of<half_t>::to(x);",
    "each();",
    "[&] { x += 8; }();",
    "auto f = [&] { x += 8; }; f();",
    "c.advance(8); x = c.at;",
    "c(8); x = c.at;",
    "++c; x = c.at;",
    "c.at += 8; x = c.at;",
    "cs[0].advance(8);",
    "far->advance(8);",
    "far[i].next->advance(8);",
    "int* p = &x; *p += 8;",
    "Counter other; other.advance(i);",
    "if (i > 2) return;",
    "r(0, ++x) = r(0, 0);",
    "copy(A(_, x++), r(_, i));",
    "clear(r(_, x += 1));",
    "through(x);",
    "even(2, x);",
    "by<Adds>(x);",
    "by<Of<float>>(x);",
    "reduce(r, i, sums); x = sums.sum;",
    "rows.count(r, i); x = rows.kept;",
    "rows.keep(8); x = rows.kept;",
    "calls(each);",
    "calls([&] { x += 8; });",
    "auto f = [&](int& v) { v += 8; }; f(x);",
    "r(0, i) = counted();",
    "static int kept = 0; kept += i;",
    "into(cs, i);",
    "moved(A);",
)


def read(folder: Path, body: str) -> Facts:
    (folder / "k.cu").write_text(SOURCE.format(body=body))
    return extract(ExtractRequest((folder,), jobs=1))


def judged(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the loop of the kernel is taken for one that changes nothing."""
    answers: list[bool] = []
    line = next(i for i, t in enumerate(SOURCE.splitlines(), 1) if "int i = 0" in t)

    def spy(m: Any, node: Any, env: Any) -> bool:
        answer = inert(m, node, env)
        if node.span.line == line:
            answers.append(answer)
        return answer

    inert = loops.inert
    monkeypatch.setattr(loops, "inert", spy)
    read(folder, body)
    assert len(set(answers)) == 1
    return answers[0]


@pytest.mark.parametrize("body", INERT)
def test_loops_that_change_nothing(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(tmp_path, body, monkeypatch)


@pytest.mark.parametrize("body", CHANGES)
def test_loops_that_may_change_something(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not judged(tmp_path, body, monkeypatch)


@pytest.mark.parametrize("body", INERT)
def test_an_inert_loop_says_what_a_rehearsed_one_says(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = f"for (int q = 0; q < n; ++q) {{ x += 8; for (int i = 0; i < n; ++i) {{ {body} }} }}"
    for text in (body, inside):
        fast = read(tmp_path, text)
        with monkeypatch.context() as patch:
            patch.setattr(loops, "inert", lambda m, node, env: False)
            slow = read(tmp_path, text)
        assert [e.operands[0].layout for e in fast.events] == [e.operands[0].layout for e in slow.events]
        assert len(fast.events) == len(slow.events) > 0
        assert (
            len(fast.events[-1].operands)
            and str(fast.events[-1].operands[0].offset).split("#")[0]
            == str(slow.events[-1].operands[0].offset).split("#")[0]
        )
