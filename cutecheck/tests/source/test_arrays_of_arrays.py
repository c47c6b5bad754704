"""Where the elements of arrays of arrays are; the offsets are those that g++ 12 computes with CuTe's headers."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """#include <cute/tensor.hpp>
#include <cutlass/array.h>
using namespace cute;
using Vector = cutlass::AlignedArray<half_t, 8>;
struct Storage {
  alignas(1024) cute::array_aligned<half_t, 512, 1024> stages[2];
  cute::array<half_t, 8> rows[3];
  cute::ArrayEngine<half_t, 64> engines[4];
  cute::ArrayEngine<cutlass::int4b_t, 64> narrow[4];
  cute::array_aligned<half_t, 7> padded[2];
  float plain[2][3][4];
};
__global__ void k(half_t* p, int n) {
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  __shared__ half_t flat[4096];
  __shared__ Vector vectors[64];
  half_t (*lines)[64] = reinterpret_cast<half_t (*)[64]>(flat);
  auto* seen = reinterpret_cast<Vector*>(flat);
  copy(make_tensor(make_smem_ptr(POINTER), Layout<_8>{}), make_tensor(make_smem_ptr(flat), Layout<_8>{}));
}
void host(half_t* p, int n) { k<<<1, 32>>>(p, n); }
"""
OFFSETS = {
    "s.stages[1].data()": 512, "s.rows[2].data()": 16, "s.engines[2].begin()": 128, "s.narrow[2].begin()": 128,
    "s.padded[1].data()": 8, "s.plain[1][2]": 20, "&s.plain[1][2][3]": 23, "s.plain[1][1] + 1": 17,
    "*(s.plain[1] + 1)": 16, "*(s.plain + 1)[0]": 12, "vectors[3].data()": 24, "seen[3].data()": 24,
    "(seen + 2)->data()": 16, "lines[2]": 128, "*(lines + 3)": 192, "&lines[2][5]": 133, "flat + 5": 5,
    "s.stages[0].data() + 3": 3,
    # elements that are arrays
    "vectors": None, "&vectors[2]": None, "seen + 1": None, "s.plain[1]": None,
}  # fmt: skip


@pytest.mark.parametrize(("pointer", "offset"), OFFSETS.items())
def test_the_offset_of_an_element(pointer: str, offset: int | None, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("POINTER", pointer))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    found = event.operands[0].offset
    assert (None if isinstance(found, Unknown) else as_expr(found).constant) == offset  # type: ignore[arg-type]


def test_an_index_that_is_not_known_counts_whole_arrays(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("POINTER", "s.stages[n].data()"))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert str(event.operands[0].offset) == "512*n"
