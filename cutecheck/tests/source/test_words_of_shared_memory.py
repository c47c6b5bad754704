"""Words of 64 bits in shared memory: a number that is made of one is what lies there, not where it lies."""

from pathlib import Path

import pytest

from cutecheck.model.ints import as_expr
from cutecheck.tests.source.test_extract import run

KERNEL = """
__device__ uint64_t same(uint64_t x) { return x; }
__global__ void kernel(float* p, int n) {
  __shared__ uint64_t words[64];
  words[threadIdx.x] = threadIdx.x * 8;
  __syncthreads();
  Tensor g = make_tensor(make_gmem_ptr(p), make_layout(make_shape(_8{}, n)));
  Tensor one = make_tensor<float>(Layout<Shape<_8>>{});
  %s
  copy(g(_, at), one);
}
void host(float* p, int n) { kernel<<<1, 64>>>(p, n); }
"""
READ = {
    "uint64_t at = words[3];": False,
    "uint64_t at = 0; at = words[3];": False,
    "uint64_t at = 0; for (int i = 0; i < 4; ++i) at += words[i];": False,
    "uint64_t at = same(words[3]);": False,
    "uint64_t at = reinterpret_cast<uint64_t>(&words[3]);": True,
}


@pytest.mark.parametrize("statement", READ)
def test_a_number_of_a_word(statement: str, tmp_path: Path) -> None:
    (event,) = run(tmp_path, KERNEL % statement).events
    offset = event.operands[0].offset
    names = {v.name for v in as_expr(offset).variables()}  # type: ignore[arg-type]
    assert any("words" in n and n.startswith("&") for n in names) == READ[statement], names
