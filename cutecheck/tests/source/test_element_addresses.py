"""Where ``&tensor(i, j)`` is, whatever the coordinates are written as."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.tests.source.test_extract import run

KERNEL = """
__global__ void k(uint32_t const* w, uint32_t* d, int n, int k) {
  __shared__ alignas(16) uint32_t sm[512];
  auto [x, y, z] = static_cast<uint3>(blockIdx);
  Tensor m = make_tensor(make_gmem_ptr(w), make_shape(_128{}, n / 64, k / 16), make_stride(_1{}, _128{}, n / 64 * 128));
  Tensor s = make_tensor(make_smem_ptr(sm), Layout<Shape<_4, _128>>{});
  int c = threadIdx.x;
  copy(make_tensor(make_gmem_ptr(&m(4 * (c % 32), AT, c / 32)), Layout<_4>{}), s(_, c));
}
void launch(uint32_t const* w, uint32_t* d, int n, int k) { k<<<dim3(n / 64, k / 64), 128>>>(w, d, n, k); }
"""


@pytest.mark.parametrize(
    "at", ["int(x)", "int(x) * 2 + c / 128", "static_cast<int>(x)", "uint32_t(x)", "max(int(x), 0)"]
)
def test_coordinates_that_are_cast(tmp_path: Path, at: str) -> None:
    facts = run(tmp_path, KERNEL.replace("AT", at))
    (event,) = facts.events
    assert event.reason is None
    assert not isinstance(event.operands[0].offset, Unknown)
    assert "blockIdx.x" in str(event.operands[0].offset)


@pytest.mark.parametrize("at", ["c++", "atoi(name)", "int(c++)"])
def test_coordinates_that_may_be_asked_once(tmp_path: Path, at: str) -> None:
    (event,) = run(tmp_path, KERNEL.replace("AT", at)).events
    assert event.reason is not None
