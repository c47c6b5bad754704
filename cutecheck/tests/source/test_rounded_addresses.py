"""Shared memory whose start is rounded up: tensors behind it are in the same buffer, aligned as it was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import TensorFact
from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
struct alignas(1024) Storage { half_t a[1024]; uint64_t full[2]; };
template <class T> __device__ void seen(T* p) {
  Tensor t = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(p)), Shape<_8>{});
  copy(t, t);
}
__global__ void kernel(int stage) {
  extern __shared__ char raw[];
  BODY;
}
void run(int stage) { kernel<<<1, 32, 8192>>>(stage); }
"""
UP = "uint32_t at = cast_smem_ptr_to_uint(raw); uint32_t up = (at + 1023) & ~1023u; "


def seen(folder: Path, body: str) -> TensorFact:
    (folder / "k.cu").write_text(KERNEL.replace("BODY", body))
    (event,) = extract(ExtractRequest((folder,), ("sm_90a",))).events
    return event.operands[0]


@pytest.mark.parametrize(
    ("body", "elements", "aligned"),
    [
        ("seen(reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(raw) + 1023) & ~uintptr_t(1023)))", "0", 1024),
        ("seen((char*)(((uint64_t)raw + 127) / 128 * 128))", "0", 128),
        ("char* p = (char*)(((size_t)raw + 127) / 128 * 128); seen(p + 256)", "128", 128),
        ("seen(reinterpret_cast<char*>((reinterpret_cast<size_t>(raw + 8) + 127) & ~size_t(127)))", "64", 128),
        ("seen(reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(raw), uintptr_t(1024))))", "0", 1024),
        (UP + "seen(raw + (up - at))", "0", 1024),
        (UP + "seen(raw + (up - at) + 2048 * stage)", "1024*stage", 1024),
        ("seen(raw + (1024 - cast_smem_ptr_to_uint(raw) % 1024) % 1024)", "0", 1024),
        ("seen(raw + ((1024 - reinterpret_cast<uintptr_t>(raw) % 1024) & 1023))", "0", 1024),
        ("seen(reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(raw) + 64))", "32", None),
    ],
)
def test_the_buffer_is_known(tmp_path: Path, body: str, elements: str, aligned: int | None) -> None:
    fact = seen(tmp_path, body)
    assert (fact.buffer, str(fact.offset)) == ("kernel::raw", elements)
    assert aligned is None or fact.alignment_bytes == aligned


def test_members_of_what_lies_there_are_those_of_the_buffer(tmp_path: Path) -> None:
    body = "auto& s = *reinterpret_cast<Storage*>((uintptr_t(raw) + 1023) & ~uintptr_t(1023)); seen(s.a)"
    fact = seen(tmp_path, body)
    assert (fact.buffer, fact.alignment_bytes) == ("kernel::raw.a", 1024)


@pytest.mark.parametrize("body", ["seen(raw + cast_smem_ptr_to_uint(raw) / 2)", "seen((char*)(uintptr_t(raw) * 2))"])
def test_what_depends_on_the_start_otherwise_is_not_settled(tmp_path: Path, body: str) -> None:
    fact = seen(tmp_path, body)
    assert fact.buffer != "kernel::raw" or "raw" in str(fact.offset)
