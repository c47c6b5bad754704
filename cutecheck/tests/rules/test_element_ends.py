"""Single elements of shared memory behind the end of their array (CUT209)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

CASES = [
    ("dyn[threadIdx.x] = p[threadIdx.x];", 128, 256, ["thread 64 accesses element 64 of `dyn`, which has 64 elements"]),
    ("p[0] = dyn[threadIdx.x ^ 1];", 128, 256, ["thread 64 accesses element 65 of `dyn`, which has 64 elements"]),
    ("p[0] = dyn[threadIdx.x ^ 1];", 128, 512, []),
    ("if (threadIdx.x < 64) dyn[threadIdx.x] = 0; p[0] = threadIdx.x < 64 ? dyn[threadIdx.x] : 0.f;", 128, 256, []),
    ("if (threadIdx.x < n) dyn[threadIdx.x] = 0;", 128, 256, []),
    ("if (threadIdx.x < 64 && dyn[threadIdx.x] > 0) p[0] = 1;", 128, 256, []),
    ("if (threadIdx.x >= 64) return; dyn[threadIdx.x] = 1;", 128, 256, []),
    ("bool own = threadIdx.x < 64; if (!own) return; dyn[threadIdx.x] = 1;", 128, 256, []),
    ("for (int i = threadIdx.x; i < 64; i += 128) dyn[i] = 1;", 128, 256, []),
    ("for (int i = 0; i < 8; ++i) dyn[threadIdx.x % 8 + 8 * i] = 1;", 128, 256, []),
    ("for (int i = 0; i < 8; ++i) dyn[threadIdx.x + i] = 1;", 128, 256, ["thread 64 accesses element 64"]),
    (
        "__shared__ float part[4]; if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = 1;",
        256,
        0,
        ["thread 128 accesses element 4 of `part`, which has 4 elements"],
    ),
    ("__shared__ float s[8][33]; s[threadIdx.x / 32][threadIdx.x % 32] = 1; p[0] = s[7][32];", 256, 0, []),
    ("__shared__ double d[16]; auto* s = reinterpret_cast<float*>(d); s[threadIdx.x % 32] = 2;", 128, 0, []),
    ("__shared__ struct { float a[32], b[256]; } s; s.b[threadIdx.x] = 0;", 256, 0, []),
    (
        "__shared__ struct { float a[32], b[256]; } s; Tensor t = make_tensor(make_smem_ptr(s.a), Layout<_32>{}); "
        "t(threadIdx.x) = 1;",
        256,
        0,
        ["thread 32 accesses element 32 of `a`, which has 32 elements"],
    ),
]


@pytest.mark.parametrize(("body", "threads", "bytes_", "said"), CASES)
def test_elements_of_threads(tmp_path: Path, body: str, threads: int, bytes_: int, said: list[str]) -> None:
    (tmp_path / "k.cu").write_text(
        "#include <cute/tensor.hpp>\nusing namespace cute;\nextern __shared__ float dyn[];\n"
        "__global__ void kern(float* p, int n) {\n"
        "  Tensor g = make_tensor(make_gmem_ptr(p), Layout<_4>{});\n  copy(g, make_tensor_like(g));\n"
        f"  {body} }}\n"
        f"void go(float* p, int n) {{ kern<<<1, {threads}, {bytes_}>>>(p, n); }}\n"
    )
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT209",)))
    found = [f.message for f in report.findings if f.code == "CUT209"]
    assert len(found) == len(said)
    assert all(f.startswith(s) for f, s in zip(found, said, strict=True))


SWIZZLED = """
#include <cute/tensor.hpp>
using namespace cute;
template <int N> __global__ void turn(float const* p) {
  __shared__ alignas(128) float tile[N];
  auto rows = Layout<Shape<_8, _32>, Stride<_32, _1>>{};
  auto square = Layout<Shape<_32, _32>, Stride<_32, _1>>{};
  Tensor s = make_tensor(make_smem_ptr(tile), composition(Swizzle<5, 0, 5>{}, square));
  Tensor g = make_tensor(make_gmem_ptr(p), square);
  copy(local_partition(g, rows, threadIdx.x), local_partition(s, rows, threadIdx.x));
}
void go(float const* p) { turn<1024><<<1, 256>>>(p); turn<512><<<1, 256>>>(p); }
"""


def test_steps_that_hang_on_the_thread(tmp_path: Path) -> None:
    """A swizzled layout that is sliced at a thread has strides of the thread's own."""
    (tmp_path / "k.cu").write_text(SWIZZLED)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT209",)))
    assert [f.message.endswith("which has 512 elements (2048 bytes)") for f in report.findings] == [True]
