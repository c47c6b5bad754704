"""Members of a structure in shared memory that are too small for their tensor: stages, roles of warps, helpers."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Stages = Layout<Shape<_8, _64, _4>, Stride<_64, _1, _512>>;
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
struct Storage { alignas(128) float a[%(a)s]; alignas(128) float b[%(b)s]; float c[512]; };
struct Ring { int at = 0; __device__ void next() { if (++at == 4) at = 0; } };
template <class S, class D> __device__ void move(S const& s, D&& d) { copy(Load{}, s, d); }
__global__ void __launch_bounds__(256) fill(float const* in, int const* tiles, int batches) {
  extern __shared__ char raw[];
  Storage& st = *reinterpret_cast<Storage*>(raw);
  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_8, _64, _32>, Stride<_64, _1, _512>>{});
  Tensor a = make_tensor(make_smem_ptr(st.a), Stages{});
  Tensor b = make_tensor(make_smem_ptr(st.b), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  if (int(blockIdx.x) >= batches) return;
  auto t = Load{}.get_slice(threadIdx.x %% 128);
  Tensor tg = t.partition_S(g);
  Tensor ta = t.partition_D(a);
  Tensor tb = t.partition_D(b);
  Ring ring;
  for (int i = 0; i < tiles[blockIdx.x]; ++i, ring.next()) {
    if (threadIdx.x / 128 == %(role)s) %(body)s
    __syncthreads();
  }
}
void run(float const* in, int const* tiles, int batches) { fill<<<8, 256, sizeof(Storage)>>>(in, tiles, batches); }
"""
STAGE = "move(tg(_, _, _, i), ta(_, _, _, ring.at));"
WHOLE = "move(tg(_, _, _, i), tb);"


@pytest.mark.parametrize("role", ["0", "1"])
@pytest.mark.parametrize(
    ("body", "a", "b", "expected"),
    [
        (STAGE, "2048", "512", ""),
        (STAGE, "1536", "512", "`ta(_, _, _, ring.at)` goes past the end of `a`, which has 1536 elements"),
        (WHOLE, "2048", "512", ""),
        (WHOLE, "2048", "256", "`tb` goes past the end of `b`, which has 256 elements"),
    ],
)
def test_members(tmp_path: Path, role: str, body: str, a: str, b: str, expected: str) -> None:
    path = tmp_path / "fill.cu"
    path.write_text(PREAMBLE + KERNEL % {"a": a, "b": b, "role": role, "body": body})
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), select=("CUT209",)))
    assert not report.failures and not report.errors
    found = [f.message for f in report.findings if f.code == "CUT209"]
    assert len(found) == bool(expected) and all(expected.split("` ")[1] in m for m in found)


@pytest.mark.parametrize("role", ["0 && threadIdx.x % 2 == 0", "tiles[3]"])
def test_threads_that_are_not_known(tmp_path: Path, role: str) -> None:
    path = tmp_path / "fill.cu"
    path.write_text(PREAMBLE + KERNEL % {"a": "2048", "b": "256", "role": role, "body": WHOLE})
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), select=("CUT209",)))
    assert not report.errors and not [f for f in report.findings if f.code == "CUT209"]
