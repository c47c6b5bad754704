"""Copies of adjacent bytes through ``Copy_Traits<SM90_BULK_COPY_AUTO>``: which way they go, and what they tell."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, extract_facts, inputs

HEAD = """#include <cute/tensor.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
using Rows = Layout<Shape<_256, _2>>;
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_128>>{}, Layout<Shape<_1>>{}));
"""
RING = (
    HEAD
    + """
template <class Bulk>
__global__ void __launch_bounds__(160) rows(float const* in, float* out, int tiles) {
  __shared__ alignas(128) float smem[512];
  __shared__ uint64_t full[2], empty[2];
  Tensor s = make_tensor(make_smem_ptr(smem), Rows{});
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(_256{}, tiles));
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { Full::init(&full[i], 1); Empty::init(&empty[i], 128); }
  }
  __syncthreads();
  int stage = 0, phase = 0;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      Bulk bulk;
      for (int i = 0; i < tiles; ++i) {
        Empty::wait(&empty[stage], phase ^ 1);
        Full::arrive_and_expect_tx(&full[stage], BYTES);
        copy(bulk.with(full[stage]), g(_, i), s(_, FILLED));
        if (++stage == 2) { stage = 0; phase ^= 1; }
      }
    }
  } else {
    auto thr = Move{}.get_slice(threadIdx.x);
    Tensor gOut = make_tensor(make_gmem_ptr(out), make_shape(_256{}, tiles));
    for (int i = 0; i < tiles; ++i) {
      WAIT
      Tensor r = make_fragment_like(thr.partition_S(s(_, stage)));
      copy(Move{}, thr.partition_S(s(_, stage)), r);
      Empty::arrive(&empty[stage]);
      copy(Move{}, r, thr.partition_D(gOut(_, i)));
      if (++stage == 2) { stage = 0; phase ^= 1; }
    }
  }
}
void go(float const* in, float* out, int n) { rows<BULK><<<1, 160>>>(in, out, n); }
"""
)
BOTH = (
    HEAD
    + """
using Tiles = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, _2>{}));
using MoveTile = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
struct Storage {
  alignas(1024) half_t x[cosize_v<Tiles>];
  alignas(128) float w[512];
  Full full[2];
  Empty empty[2];
};
template <class Tma>
__global__ void __launch_bounds__(256)
both(Tma const __grid_constant__ tma, float const* in, float* out, half_t* y, int tiles) {
  extern __shared__ __align__(1024) char raw[];
  auto& st = *reinterpret_cast<Storage*>(raw);
  Tensor sX = make_tensor(make_smem_ptr(st.x), Tiles{});
  Tensor sW = make_tensor(make_smem_ptr(st.w), Rows{});
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { st.full[i].init(1); st.empty[i].init(128); }
  }
  __syncthreads();
  int stage = 0, phase = 0;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      Tensor gX = local_tile(tma.get_tma_tensor(make_shape(64, 64 * tiles)), Shape<_64, _64>{}, make_coord(0, _));
      Tensor gW = make_tensor(make_gmem_ptr(in), make_shape(_256{}, tiles));
      auto cta = tma.get_slice(0);
      Copy_Traits<SM90_BULK_COPY_AUTO> bulk;
      for (int i = 0; i < tiles; ++i) {
        st.empty[stage].wait(phase ^ 1);
        st.full[stage].arrive_and_expect_tx(8192 + 1024);
        auto& bar = reinterpret_cast<uint64_t&>(st.full[stage]);
        copy(tma.with(bar), cta.partition_S(gX)(_, _, _, i), cta.partition_D(sX)(_, _, _, stage));
        copy(bulk.with(bar), gW(_, i), sW(_, stage));
        if (++stage == 2) { stage = 0; phase ^= 1; }
      }
    }
  } else {
    auto thr = Move{}.get_slice(threadIdx.x);
    auto thr_x = MoveTile{}.get_slice(threadIdx.x);
    Tensor gOut = make_tensor(make_gmem_ptr(out), make_shape(_256{}, tiles));
    auto rows = make_layout(make_shape(_64{}, _64{}, tiles), make_stride(_64{}, _1{}, _4096{}));
    Tensor gY = make_tensor(make_gmem_ptr(y), rows);
    for (int i = 0; i < tiles; ++i) {
      st.full[stage].wait(phase);
      Tensor r = make_fragment_like(thr.partition_S(sW(_, stage)));
      copy(Move{}, thr.partition_S(sW(_, stage)), r);
      copy(MoveTile{}, thr_x.partition_S(sX(_, _, stage)), thr_x.partition_D(gY(_, _, i)));
      st.empty[stage].arrive();
      copy(Move{}, r, thr.partition_D(gOut(_, i)));
      if (++stage == 2) { stage = 0; phase ^= 1; }
    }
  }
}
void go(half_t const* x, float const* in, float* out, half_t* y, int n) {
  Tensor gX = make_tensor(make_gmem_ptr(x), make_layout(make_shape(64, 64 * n), LayoutRight{}));
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, gX, Tiles{}(_, _, _0{}));
  cudaFuncSetAttribute(both<decltype(tma)>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(Storage)));
  both<decltype(tma)><<<1, 256, sizeof(Storage)>>>(tma, in, out, y, n);
}
"""
)
STORE = (
    HEAD
    + """
__global__ void __launch_bounds__(128) put(float const* in, float* out) {
  __shared__ alignas(128) float smem[256];
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<_256>{});
  Tensor gIn = make_tensor(make_gmem_ptr(in), Layout<_256>{});
  Tensor gOut = make_tensor(make_gmem_ptr(out), Layout<_256>{});
  auto thr = Move{}.get_slice(threadIdx.x);
  Tensor r = make_fragment_like(thr.partition_S(gIn));
  copy(Move{}, thr.partition_S(gIn), r);
  copy(Move{}, r, thr.partition_D(s));
  FENCE
  __syncthreads();
  if (threadIdx.x == 0) {
    copy(Copy_Traits<SM90_BULK_COPY_AUTO>{}, s, gOut);
    AFTER
  }
}
void go(float const* in, float* out) { put<<<1, 128>>>(in, out); }
"""
)
FENCE, AFTER = "tma_store_fence();", "tma_store_arrive(); tma_store_wait<0>();"
WAIT = "Full::wait(&full[stage], phase);"


def _found(text: str, folder: Path, **words: str) -> set[tuple[str, int]]:
    for word, meant in words.items():
        text = text.replace(word, meant)
    (folder / "kernel.cu").write_text(text)
    settings = Settings(arch=("sm_90a",), cache=False, compile_commands="none")
    report = check(inputs([str(folder)]), settings)
    lines = text.splitlines()
    return {(f.code, lines[f.span.line - 1].strip()) for f in report.findings if f.severity != "note"}


TRAITS = ("Copy_Traits<SM90_BULK_COPY_AUTO>", "Copy_Atom<Copy_Traits<SM90_BULK_COPY_AUTO>, float>")


@pytest.mark.parametrize("bulk", TRAITS)
def test_a_ring_of_bulk_loads_is_right(tmp_path: Path, bulk: str) -> None:
    assert not _found(RING, tmp_path, BULK=bulk, BYTES="1024", FILLED="stage", WAIT=WAIT)


@pytest.mark.parametrize("bulk", TRAITS)
def test_bytes_that_no_bulk_load_brings(tmp_path: Path, bulk: str) -> None:
    found = _found(RING, tmp_path, BULK=bulk, BYTES="2048", FILLED="stage", WAIT=WAIT)
    assert {code for code, _ in found} == {"CUT805"}
    assert any("arrive_and_expect_tx" in line for _, line in found)


@pytest.mark.parametrize("bulk", TRAITS)
def test_a_bulk_load_into_another_stage(tmp_path: Path, bulk: str) -> None:
    found = _found(RING, tmp_path, BULK=bulk, BYTES="1024", FILLED="0", WAIT=WAIT)
    assert ("CUT212", "copy(bulk.with(full[stage]), g(_, i), s(_, 0));") in found


@pytest.mark.parametrize("bulk", TRAITS)
def test_a_bulk_load_that_nothing_waits_for(tmp_path: Path, bulk: str) -> None:
    assert _found(RING, tmp_path, BULK=bulk, BYTES="1024", FILLED="stage", WAIT="")


def test_a_tensor_and_adjacent_bytes_at_one_barrier(tmp_path: Path) -> None:
    assert not {x for x in _found(BOTH, tmp_path) if x[0] != "CUT802"}
    assert "CUT805" in {code for code, _ in _found(BOTH.replace("8192 + 1024", "8192"), tmp_path)}


def test_a_bulk_store_is_right(tmp_path: Path) -> None:
    assert not _found(STORE, tmp_path, FENCE=FENCE, AFTER=AFTER)


@pytest.mark.parametrize(("fence", "after"), [("", AFTER), (FENCE, "tma_store_wait<0>();")])
def test_a_bulk_store_without_its_fence_or_commit(tmp_path: Path, fence: str, after: str) -> None:
    assert _found(STORE, tmp_path, FENCE=fence, AFTER=after) == {
        ("CUT216", "copy(Copy_Traits<SM90_BULK_COPY_AUTO>{}, s, gOut);")
    }


SPELLED = (
    "auto& bar = reinterpret_cast<uint64_t&>(st.full[stage]);",
    "uint64_t& bar = *reinterpret_cast<uint64_t*>(&st.full[stage]);",
    "uint64_t* bar_ = reinterpret_cast<uint64_t*>(&st.full[stage]); uint64_t& bar = *bar_;",
)


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_reference_to_a_barrier_is_that_barrier(tmp_path: Path, spelled: str) -> None:
    (tmp_path / "kernel.cu").write_text(BOTH.replace(SPELLED[0], spelled))
    facts = extract_facts([tmp_path / "kernel.cu"], Settings(arch=("sm_90a",), cache=False, compile_commands="none"))
    told = [e.signals.rpartition("::")[2] for e in facts.events if e.operands[1].space == "smem"]
    assert told == ["raw.full", "raw.full"]
