"""``sizeof`` an array is its bytes, not those of the pointer it decays to; where it may be either, it is not known."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.tests.source.test_extract import event, run

KERNEL = """
struct Inner { half_t row[3]; };
struct Storage { alignas(128) half_t tile[1024]; Inner inner; float* link; };
__global__ void k(half_t* p) {
  __shared__ float plain[96];
  extern __shared__ char raw[];
  Storage& storage = *reinterpret_cast<Storage*>(raw);
  float* pointer = plain;
  auto from = make_tensor(make_gmem_ptr(p + sizeof(%s)), Layout<_8>{});
  copy(from, make_tensor(make_smem_ptr(storage.tile), Layout<_8>{}));
}
void host(half_t* p) { k<<<1, 32>>>(p); }
"""


@pytest.mark.parametrize(
    ("operand", "size"),
    [
        ("storage.tile", 2048),
        ("storage.inner.row", 6),
        ("storage.link", 8),
        ("plain", 384),
        ("Storage", 2176),
        ("pointer", None),
    ],
)
def test_size(operand: str, size: int | None, tmp_path: Path) -> None:
    tensor = event(run(tmp_path, KERNEL % operand)).operands[0]
    if size is None:
        assert isinstance(tensor.offset, Unknown)
    else:
        assert as_expr(tensor.offset).constant == size  # type: ignore[arg-type]
