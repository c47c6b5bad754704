"""A tensor of a thread that loops set to another stage keeps its thread's offset, and moves by whole stages."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model import expr as ex
from cutecheck.model.ints import as_expr
from cutecheck.source.eval.threads import varies
from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(int tiles) {
  __shared__ alignas(128) half_t s[3 * 4096];
  auto stages = make_tensor(make_smem_ptr(s), Layout<Shape<_4096, _3>>{});
  auto threads = local_partition(stages(_, 0), Layout<_128>{}, threadIdx.x);
  auto mine = make_tensor(make_smem_ptr(s) + threadIdx.x, Layout<Shape<_32, _3>, Stride<_128, _4096>>{});
  auto r = make_tensor<half_t>(Layout<_32>{});
  int read = 0;
  auto stage = mine(_, read);
  while (tiles > 0) {
    for (int k = 0; k < 4; ++k) {
      if (k == 3) { stage = mine(_, read); }
      copy(Copy_Atom<UniversalCopy<half_t>, half_t>{}, stage, r);
      if (k == 0) { %s }
    }
    --tiles;
  }
}
void host(int tiles) { k<<<1, 128>>>(tiles); }
"""


@pytest.mark.parametrize(
    ("step", "uniform", "of"),
    [
        ("read = (read + 1) % 3;", True, 4096),
        ("read = read == 2 ? 0 : read + 1;", True, 4096),
        ("++read; if (read == 3) { read = 0; }", True, 4096),
        ("read = threadIdx.x % 3;", False, 1),
    ],
)
def test_a_stage_set_in_an_inner_loop(step: str, uniform: bool, of: int, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL % step)
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    offset = event.operands[0].offset
    assert not isinstance(offset, Unknown)
    moved = ex.sub(as_expr(offset), ex.var("threadIdx.x", ex.Domain(0, 127)))  # type: ignore[arg-type]
    assert varies(moved) is not uniform
    assert ex.divisor(moved) % of == 0 and moved.terms
