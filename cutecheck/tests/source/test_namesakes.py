"""Kernels of one name in several files are several kernels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.model.ints import Dyn
from cutecheck.source.extract import extract
from cutecheck.source.namesakes import Renaming
from cutecheck.source.request import ExtractRequest

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(half_t const* g) {
  __shared__ half_t buf[SIZE];
  __shared__ uint64_t bar[1];
  initialize_barrier(bar[0], 1);
  auto s = make_tensor(make_smem_ptr(buf), make_layout(Int<SIZE>{}));
  auto r = make_tensor<half_t>(Int<SIZE>{});
  copy(s, r);
  __syncthreads();
}
void host(half_t const* g) { k<<<1, 32>>>(g); }
"""
SCRIPT = """
import cutlass
import cutlass.cute as cute

@cute.kernel
def k():
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float16, cute.make_layout(SIZE), 16)
    r = cute.make_fragment(SIZE, cutlass.Float16)
    cute.autovec_copy(s, r)

@cute.jit
def host():
    k().launch(grid=(1, 1, 1), block=(32, 1, 1))

if __name__ == "__main__":
    host()
"""


def read(folder: Path, suffix: str, text: str) -> Facts:
    for name, size in (("a", "64"), ("b", "128")):
        (folder / f"{name}.{suffix}").write_text(text.replace("SIZE", size))
    return extract(ExtractRequest((folder,)))


@pytest.mark.parametrize(("suffix", "text"), [("cu", KERNEL), ("py", SCRIPT)])
def test_each_kernel_has_its_own_buffer_and_copy(suffix: str, text: str, tmp_path: Path) -> None:
    found = read(tmp_path, suffix, text)
    tiles = [b for b in found.buffers if b.name != "bar"]
    assert {b.size_bytes for b in tiles} == {128, 256}
    assert len({b.buffer_id for b in tiles}) == 2
    assert {len(b.accesses) for b in tiles} == {1}
    first, second = sorted(found.events, key=lambda e: e.span)
    if suffix == "cu":  # Python's names have the module's before them
        assert second.enclosing == f"{first.enclosing} (b.cu)"
    for event in (first, second):
        (buffer,) = (b for b in found.buffers if event.event_id in b.accesses)
        assert event.operands[0].buffer == buffer.buffer_id
        assert buffer.enclosing == event.enclosing


def test_launches_and_barriers_belong_to_the_kernel_of_their_file(tmp_path: Path) -> None:
    found = read(tmp_path, "cu", KERNEL)
    assert {(x.span.path, x.kernel) for x in found.launches} == {("a.cu", "k"), ("b.cu", "k (b.cu)")}
    barriers = {(c.span.path, c.enclosing, c.kernel) for c in found.calls if "syncthreads" in c.function}
    assert barriers == {("a.cu", "k", "k"), ("b.cu", "k (b.cu)", "k (b.cu)")}
    assert {(e.span.path, e.kernel) for e in found.events} == {("a.cu", "k"), ("b.cu", "k (b.cu)")}
    assert {c.subject for c in found.calls if c.subject} == {"k|k::bar", "k (b.cu)|k (b.cu)::bar"}


def test_a_kernel_of_a_header_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "k.h").write_text("#pragma once\n" + KERNEL.replace("SIZE", "64").rpartition("void host")[0])
    for name in ("a", "b"):
        (tmp_path / f"{name}.cu").write_text(f'#include "k.h"\nvoid {name}(half_t const* g) {{ k<<<1, 32>>>(g); }}\n')
    found = extract(ExtractRequest((tmp_path,)))
    assert {e.enclosing for e in found.events} == {"k"}
    assert {x.kernel for x in found.launches} == {"k"}


SPECIALISED = """
#include <cute/tensor.hpp>
using namespace cute;
template <int> struct Size;
template <> struct Size<0> { using Threads = Layout<_64>; };
template <> struct Size<1> { using Threads = Layout<_128>; };
template <class S> __global__ void k(float const* g) {
  auto c = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, typename S::Threads{}, Layout<_1>{});
  auto s = make_tensor(make_gmem_ptr(g), size(c));
  copy(c, c.get_slice(threadIdx.x).partition_S(s), make_tensor<float>(_1{}));
}
void host(float const* g) { k<Size<0>><<<1, 64>>>(g); k<Size<1>><<<1, 128>>>(g); }
"""


def test_explicit_specialisations_are_several_classes(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(SPECIALISED)
    facts = extract(ExtractRequest([tmp_path]))
    assert {s.symbol for s in facts.sites if s.kind == "tiled_copy"} == {"k<Size<0>>::c", "k<Size<1>>::c"}


def test_a_copy_that_is_spelled_otherwise_since_is_called_the_same(tmp_path: Path) -> None:
    """Another process may tell of an offset in other words than its own: what a copy was told by before is kept."""
    event = min(read(tmp_path, "cu", KERNEL).events, key=lambda e: e.span)
    other = replace(event, operands=(replace(event.operands[0], offset=Dyn.named("x")), *event.operands[1:]))
    named = Renaming({event.kernel: f"{event.kernel} (b.cu)"})
    first, second = named.event(event), named.event(other)
    assert first.event_id == second.event_id != event.event_id
    again = Renaming({event.kernel: f"{event.kernel} (c.cu)"}).event(event)
    assert again.event_id != first.event_id
