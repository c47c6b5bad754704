"""Numbers in shared memory: what is read of them is a number, not where they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
struct Storage { int counts[4]; int pairs[2][2]; };
__global__ void rows(float* p, int const* table) {
  __shared__ int starts[4];
  __shared__ int one;
  extern __shared__ char smem[];
  Storage& storage = *reinterpret_cast<Storage*>(smem);
  if (threadIdx.x == 0) { starts[0] = table[blockIdx.x]; one = table[0]; storage.counts[0] = storage.pairs[0][1] = 1; }
  __syncthreads();
  BEFORE
  auto r = make_tensor<float>(_4{});
  copy(make_tensor(make_gmem_ptr(p + OFFSET), Layout<_4>{}), r);
}
void host(float* p, int const* table) { rows<<<4, 128>>>(p, table); }
"""
STARTS, ONE = "*rows::starts", "*rows::one"


@pytest.mark.parametrize(
    ("before", "offset", "found"),
    [
        ("", "starts[0]", STARTS),
        ("auto at = starts[0];", "at", STARTS),
        ("int const& at = starts[0];", "at", STARTS),
        ("", "(starts[0] + 64)", f"{STARTS} + 64"),
        ("", "8 * starts[1]", f"8*{STARTS}"),
        ("", "-starts[1]", f"-{STARTS}"),
        ("int apart = starts[1] - starts[0];", "apart", f"{STARTS} - {STARTS}"),
        ("", "static_cast<int64_t>(starts[0])", STARTS),
        ("", "cute::min(starts[0], 3)", f"min({STARTS}, 3)"),
        ("int* second = &starts[1];", "second[0]", STARTS),
        ("", "one", ONE),
        ("auto at = one;", "at", ONE),
        ("", "2 * one", f"2*{ONE}"),
        ("", "storage.counts[0]", "*rows::smem.counts"),
        ("", "storage.pairs[0][1]", "*rows::smem.pairs"),
    ],
)
def test_it_moves_a_pointer_by_what_it_holds(tmp_path: Path, before: str, offset: str, found: str) -> None:
    (tmp_path / "rows.cu").write_text(KERNEL.replace("BEFORE", before).replace("OFFSET", offset))
    (event,) = extract(ExtractRequest((tmp_path,))).events
    source = event.operands[0]
    assert source.buffer == "p"
    assert re.sub(r"#\d+", "", str(source.offset)) == found


def test_two_reads_are_two_numbers(tmp_path: Path) -> None:
    text = KERNEL.replace("BEFORE", "int apart = starts[1] - starts[0];").replace("OFFSET", "8 * apart")
    (tmp_path / "rows.cu").write_text(text)
    (event,) = extract(ExtractRequest((tmp_path,))).events
    assert event.operands[0].offset not in (0, 8)
    assert len(set(re.findall(r"#\d+", str(event.operands[0].offset)))) == 2
