"""Numbers in shared memory: what is read of them is a number, not where they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
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


def test_a_pointer_is_not_moved_to_a_word_of_64_bits(tmp_path: Path) -> None:
    """What stands for its place is no pointer to add to: the sum is not known, and no part of the word."""
    text = KERNEL.replace("int starts[4]", "uint64_t starts[4]").replace("BEFORE", "").replace("OFFSET", "starts[0]")
    (tmp_path / "rows.cu").write_text(text)
    (event,) = extract(ExtractRequest((tmp_path,))).events
    assert event.operands[0].buffer != "rows::starts"
    assert event.operands[0].space == "unknown"


def test_two_reads_are_two_numbers(tmp_path: Path) -> None:
    text = KERNEL.replace("BEFORE", "int apart = starts[1] - starts[0];").replace("OFFSET", "8 * apart")
    (tmp_path / "rows.cu").write_text(text)
    (event,) = extract(ExtractRequest((tmp_path,))).events
    assert event.operands[0].offset not in (0, 8)
    assert len(set(re.findall(r"#\d+", str(event.operands[0].offset)))) == 2


TMA = """
#include <cute/tensor.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, _4>{}));
template <class T>
__global__ void parts(CUTE_GRID_CONSTANT T const ta, half_t* out) {
  __shared__ alignas(1024) half_t a[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t DECLARED;
  Tensor sA = make_tensor(make_smem_ptr(a), Smem{});
  Tensor gA = local_tile(ta.get_tma_tensor(Shape<_256, _64>{}), Shape<_64, _64>{}, make_coord(_, 0));
  auto ca = ta.get_slice(0);
  if (threadIdx.x == 0) Full::init(&BAR, 1);
  cutlass::arch::fence_barrier_init();
  __syncthreads();
  if (threadIdx.x == 0) {
    Full::arrive_and_expect_tx(&BAR, COUNT * 64 * 64 * 2);
    for (int q = 0; q < 4; ++q) copy(ta.with(BAR), ca.partition_S(gA)(_, _, _, q), ca.partition_D(sA)(_, _, _, q));
  }
  Full::wait(&BAR, 0);
  for (int q = 0; q < 4; ++q) out[q * 64 + threadIdx.x] = sA(threadIdx.x, 0, q);
}
void host(half_t* p, half_t* out) {
  auto g = make_tensor(make_gmem_ptr(p), Layout<Shape<_256, _64>, Stride<_64, _1>>{});
  auto ta = make_tma_copy(SM90_TMA_LOAD{}, g, Smem{}(_, _, Int<0>{}), Shape<_64, _64>{}, _1{});
  parts<<<1, 64>>>(ta, out);
}
"""


@pytest.mark.parametrize(("declared", "bar"), [("bar", "bar"), ("bars[2]", "bars[1]")])
@pytest.mark.parametrize(("count", "codes"), [(4, set()), (3, {"CUT805"})])
def test_words_of_64_bits_are_barriers(tmp_path: Path, declared: str, bar: str, count: int, codes: set[str]) -> None:
    text = TMA.replace("DECLARED", declared).replace("BAR", bar).replace("COUNT", str(count))
    (tmp_path / "parts.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",)))
    assert not report.errors
    assert {f.code for f in report.findings} == codes
