"""Arrays of pointers that a loop fills: a stage of shared memory each."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import TensorFact, Unknown
from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
struct Barrier { uint64_t word; };
__device__ half_t* other(half_t** all, int i) { return all[i]; }
__global__ void kernel(int tiles, half_t* out) {
  extern __shared__ __align__(1024) uint8_t raw[];
  half_t *stage[3], *second[2];
  Barrier* full[3];
  for (int i = 0; i < 3; ++i) stage[i] = reinterpret_cast<half_t*>(raw + 4096 * i);
  for (int i = 0; i < 3; ++i) full[i] = reinterpret_cast<Barrier*>(raw + 12288) + i;
  second[0] = reinterpret_cast<half_t*>(raw); second[1] = out;
  BODY;
}
void run(int tiles, half_t* out) { kernel<<<1, 32, 16384>>>(tiles, out); }
"""
SHOWN = "Tensor t = make_tensor(make_smem_ptr(POINTER), Shape<_8>{}); copy(t, t)"


def shown(folder: Path, pointer: str, around: str = "") -> TensorFact:
    body = SHOWN.replace("POINTER", pointer)
    (folder / "k.cu").write_text(KERNEL.replace("BODY", f"{around} {{ {body}; }}"))
    (event,) = extract(ExtractRequest((folder,), ("sm_90a",))).events
    return event.operands[0]


@pytest.mark.parametrize(
    ("pointer", "around", "offset"),
    [
        ("stage[2]", "", "4096"),
        ("stage[j % 3]", "for (int j = 0; j < tiles; ++j)", "2048*(j % 3)"),
        ("other(stage, 1)", "", "2048"),
        ("reinterpret_cast<half_t*>(full[1])", "", "6148"),
        ("stage[1]", "SM90_TMA_LOAD_2D::copy(out, reinterpret_cast<uint64_t*>(full[0]), 0, stage[1], 0, 0);", "2048"),
    ],
)
def test_the_stage_is_known(tmp_path: Path, pointer: str, around: str, offset: str) -> None:
    fact = shown(tmp_path, pointer, around)
    numbered = str(fact.offset).split("#")
    told = numbered[0] + "".join(part.lstrip("0123456789") for part in numbered[1:])
    assert (fact.buffer, fact.space, told, str(fact.layout)) == ("kernel::raw", "smem", offset, "(_8):(_1)")


@pytest.mark.parametrize(
    ("pointer", "around"),
    [
        ("second[j % 2]", "for (int j = 0; j < tiles; ++j)"),  # one to each of two buffers
        ("stage[1]", "stage[tiles] = out;"),
    ],
)
def test_one_of_several_is_none_of_them(tmp_path: Path, pointer: str, around: str) -> None:
    fact = shown(tmp_path, pointer, around)
    assert fact.buffer != "kernel::raw" and not isinstance(fact.layout, Unknown)


def test_tensors_of_pointers(tmp_path: Path) -> None:
    """Elements of a tensor of registers that are pointers lead to memory of their type."""
    body = "Tensor all = make_tensor<half_t const*>(Shape<_4>{}); all(1) = out + tiles"
    tensor = shown(tmp_path, "all(1) + 8", body + ";").layout
    assert str(tensor) == "(_8):(_1)"
