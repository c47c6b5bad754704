"""Conditions on floats and flags that are not tracked: do all threads answer them alike?"""

from __future__ import annotations

import re
from pathlib import Path

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

LOOPS = "for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) for (int k = 0; k < n; ++k)"
ALIKE = (
    "b = flag;", "b = !flag && p.s > 0;", "float x = n > 3 ? p.s : q.s; b = x > 0;", "b = p.ptr[blockIdx.x] > 0;",
    "Op o(p); b = o.needed();", "b = p.v[0] != 1;",
    "b = (p.d != 0 && p.ptr != nullptr) || p.s == 0;", "if (flag) b = p.s > 0; else b = q.s > 0;",
    "b = __shfl_sync(~0u, p.s, 0) > 0;",
    "float x = p.s; for (int k = 0; k < n; ++k) x *= q.s; b = x > 0;",
    "Times f; float x = p.s; for (int k = 1; k < 2; ++k) { if (p.ptr != nullptr) x = f(x, p.ptr[k]); } b = x > 0;",
    "float x = p.s; for (int j = 0; j < n; ++j) for (int k = 0; k < n; ++k) if (x > 0) x = q.v[k & 1]; b = x > 0;",
    f"int c = 0; {LOOPS} {{ int y = threadIdx.x; Held h; h.i = tell(y); c += n; }} b = c > 3;",
)  # fmt: skip
APART = (
    "float x = threadIdx.x > 3 ? p.s : q.s; b = x > 0;", "b = p.ptr[threadIdx.x] > 0;", "float x; b = x > 0;",
    "float x = p.s; if (threadIdx.x == 0) x = q.s; b = x > 0;", "b = fs[threadIdx.x] > 0;",
    "float x = p.s; for (int k = 0; k < int(threadIdx.x); ++k) x *= 2; b = x > 0;", "b = p.v[threadIdx.x & 1] > 0;",
    "float x = p.s + threadIdx.x; b = x > 0;", "b = p.s > 0; if (threadIdx.x == 5) b = !b;",
    "float x = p.s; auto g = [&](float& y) { y = float(threadIdx.x); }; g(x); b = x > 0;",
    "b = bool(threadIdx.x & 1) || flag;", "b = elect_one_sync() && flag;",
    "Op o(p); o.s = fs[threadIdx.x]; b = o.needed();",
    "P c = p; if (threadIdx.x > 4) c = q; b = c.s > 0;", "P c = p; c.s = fs[threadIdx.x]; Op o(c); b = o.needed();",
    "float x[2]; x[0] = p.s; x[1] = q.s; b = x[threadIdx.x & 1] > 0;",
    "auto t = make_tensor<float>(_2{}); b = t(0) > 0;",
    "float x = p.s, y = p.s; for (int k = 0; k < n; ++k) { x = y; y = fs[threadIdx.x]; } b = x > 0;",
    "float x = p.s; for (int k = 0; k < n; ++k) { if (threadIdx.x == k) break; x *= 2; } b = x > 0;",
    "float x = p.s; for (int k = 0; k < n; ++k) { if (threadIdx.x == k) continue; x *= 2; } b = x > 0;",
    "float x = p.s, y = fs[threadIdx.x]; while (y > 0) { x *= 2; y -= 1; } b = x > 0;",
    "float x = p.s, y = p.s; int c = 0; for (int k = 0; k < n; ++k) "
    "{ c += x > 0; x = y; y = fs[threadIdx.x]; } b = c > 3;",
    f"float x = p.s, y = 0; int c = 0; {LOOPS} {{ if (x > 0) ++c; x = y; y = fs[threadIdx.x]; }} b = c > 3;",
    f"int x, y = 0, c = 0; {LOOPS} {{ c += y; y = x; x = threadIdx.x; }} b = c > 3;",
    f"Held h; int y = 0, c = 0; {LOOPS} {{ c += y; y = h.i; h.i = threadIdx.x; }} b = c > 3;",
    f"int y = 0, c = 0; {LOOPS} {{ Held h; h.i = threadIdx.x; c += y; y = h.i; }} b = c > 3;",
)  # fmt: skip
KERNEL = """
__global__ void k_{i}(P const p, P const q, bool flag, int n) {{
  __shared__ half_t s[8192]; __shared__ float fs[128]; bool b = false; int i = 0;
  auto part = make_tensor(make_smem_ptr(s + 8 * threadIdx.x), Layout<Shape<_8, _4>, Stride<_1, _1024>>{{}});
  {body}
  for (int k = 0; k < n; ++k) {{ copy(part(_, i), make_tensor<half_t>(_8{{}})); if (b) i = (i + 1) % 4; }}
}}
"""


def test_what_a_condition_changes_is_one_for_all_threads_where_they_answer_alike(tmp_path: Path) -> None:
    bodies = (*ALIKE, *APART)
    text = """#include <cute/tensor.hpp>
using namespace cute;
struct P { float s; float const* ptr; int64_t d; float v[2]; };
struct Held { int i; };
__device__ int tell(int thread) { int own = thread * 2; return own; }
struct Times { __device__ float operator()(float a, float const& b) const { return a * b; } };
struct Op { P const* p; float s;
  __device__ Op(P const& q) : p(&q) { if (p->ptr != nullptr) s = *p->ptr; else s = p->v[0] * p->s; }
  __device__ bool needed() const { return s != 0.f; } };
"""
    text += "".join(KERNEL.format(i=i, body=body) for i, body in enumerate(bodies))
    text += "void host(P p, P q, bool f, int n) { P made{1.f * n, nullptr, 0, {2.f * n, 3.f}};\n"
    text += "".join(f"k_{i}<<<1, 128>>>({'made' if i % 2 else 'p'}, q, f, n);\n" for i in range(len(bodies)))
    (tmp_path / "k.cu").write_text(text + "}\n")
    found = {}
    for event in extract(ExtractRequest((tmp_path,), ("sm_90a",))).events:
        found[int(re.search(r"k_(\d+)", event.enclosing)[1])] = "~" in str(event.operands[0].offset)  # type: ignore[index]
    assert [b for i, b in enumerate(bodies) if found[i] is not (b in APART)] == []
