"""TMA by the names of its instructions, ``SM90_TMA_LOAD_2D::copy``, or by assembly: steps as of CuTe's copies."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, extract_facts, inputs
from cutecheck.facts import NOT_WALKED, Unknown
from cutecheck.source.eval import element_addresses

HEAD = """#include <cute/tensor.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
using Square = Layout<Shape<_64, _64>, Stride<_64, _1>>;
using Stages = Layout<Shape<_64, _64, _2>, Stride<_64, _1, _4096>>;
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Lanes = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_4, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Part = Layout<Shape<_16, _64>, Stride<_64, _1>>;
template <class Op> __device__ void fetch(void const* map, uint64_t* bar, void* to, int row) {
  Op::copy(map, bar, static_cast<uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL), to, 0, row);
}
__device__ void put(void const* map, void const* from, int row) {
  uint32_t at = cast_smem_ptr_to_uint(from);
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
      :: "l"(map), "r"(at), "r"(0), "r"(row) : "memory");
}
"""
RING = """
__global__ void __launch_bounds__(160) NAME(const __grid_constant__ CUtensorMap map, half_t* out, int tiles) {
  __shared__ alignas(128) half_t smem[2 * 4096];
  __shared__ uint64_t full[2], empty[2];
  Tensor s = make_tensor(make_smem_ptr(smem), Stages{});
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { Full::init(&full[i], 1); Empty::init(&empty[i], 128); }
  }
  __syncthreads();
  int stage = 0, phase = 0;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      for (int i = 0; i < tiles; ++i) {
        Empty::wait(&empty[stage], phase ^ 1);
        Full::arrive_and_expect_tx(&full[stage], 8192);
        LOAD(&map, &full[stage], HINT smem + stage * 4096, ROW);
        if (++stage == 2) { stage = 0; phase ^= 1; }
      }
    }
  } else {
    auto thr = Move{}.get_slice(threadIdx.x);
    for (int i = 0; i < tiles; ++i) {
      Full::wait(&full[stage], phase);
      Tensor r = make_fragment_like(thr.partition_S(s(_, _, stage)));
      copy(Move{}, thr.partition_S(s(_, _, stage)), r);
      Empty::arrive(&empty[stage]);
      if (++stage == 2) { stage = 0; phase ^= 1; }
    }
  }
}
"""
PLAIN = {"LOAD": "SM90_TMA_LOAD_2D::copy", "HINT": "uint64_t(0),", "ROW": "0, i * 64"}
HELPED = {"LOAD": "fetch<SM90_TMA_LOAD>", "HINT": "", "ROW": "i * 64"}
EXPECT = "Full::arrive_and_expect_tx(&full[stage], 8192);"
LOADS = "LOAD(&map, &full[stage], HINT smem + stage * 4096, ROW)"
LANES = {  # each lane brings a row of what one announces
    "threadIdx.x == 128": "threadIdx.x < 160", EXPECT: f"if (threadIdx.x == 128) {EXPECT} __syncwarp();",
    LOADS: "int lane = threadIdx.x - 128;\n        SM90_BULK_COPY_G2S::copy(out + (i * 32 + lane) * 128, "
    "&full[stage], smem + stage * 4096 + lane * 128, 256)",
}  # fmt: skip
BULK = {"LOAD(&map": "SM90_BULK_COPY_G2S::copy(out + i * 4096", "HINT ": "", "ROW": "8192"}
SWIZZLED = {  # where a box begins is said by its first element
    "alignas(128) half_t": "alignas(1024) half_t",
    "Stages{}": "tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, _2>{})",
    "smem + stage * 4096": "&s(_0{}, _0{}, stage)",
}
RINGS: dict[str, tuple[dict[str, str], set[str]]] = {
    "right": (PLAIN, set()),
    "helped": (HELPED, set()),
    "by_elements": (SWIZZLED | PLAIN, set()),
    "by_an_element_of_the_first": (SWIZZLED | {"_0{}, stage)": "_0{}, 0)"} | PLAIN, {"CUT212", "CUT213"}),
    "bulk": (BULK, set()),
    "bulk_by_lanes": (LANES, set()),
    "bulk_of_other_size": (BULK | {"ROW": "4096"}, {"CUT805"}),
    "untold": ({EXPECT: "", **PLAIN}, {"CUT217"}),
    "unwaited": ({"Full::wait(&full[stage], phase);": "", **HELPED}, {"CUT212", "CUT213", "CUT217"}),
    "one_phase": ({"if (++stage == 2) { stage = 0; phase ^= 1; }": "stage ^= 1;", **PLAIN}, {"CUT217"}),
}
STORE = """
__global__ void __launch_bounds__(128) NAME(const __grid_constant__ CUtensorMap map, half_t const* in, int tiles) {
  __shared__ alignas(128) half_t smem[4096];
  Tensor s = make_tensor(make_smem_ptr(smem), Square{});
  auto thr = Move{}.get_slice(threadIdx.x);
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    Tensor part = thr.partition_S(make_tensor(make_gmem_ptr(in + t * 4096), Square{}));
    Tensor r = make_fragment_like(part);
    copy(Move{}, part, r);
    if (threadIdx.x == 0) tma_store_wait<0>();
    __syncthreads();
    WRITE;
    tma_store_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
      PUT;
      tma_store_arrive();
    }
  }
  if (threadIdx.x == 0) tma_store_wait<0>();
}
"""
COPIED = {"WRITE": "copy(Move{}, r, thr.partition_D(s))"}
BY_HAND = {"WRITE": "for (int i = 0; i < 32; ++i) smem[i * 128 + threadIdx.x] = in[t * 4096 + i * 128 + threadIdx.x]"}
NAMED = {"PUT": "SM90_TMA_STORE_2D::copy(&map, smem, 0, t * 64)"}
ASSEMBLED = {"PUT": "put(&map, smem, t * 64)"}
FENCE, WAIT = "tma_store_fence();", "    if (threadIdx.x == 0) tma_store_wait<0>();\n    __sync"
BOTH = 'asm volatile("fence.proxy.async.shared::cta;\\n bar.sync 0;" ::: "memory");'
FENCED = """uint32_t at = cast_smem_ptr_to_uint(smem);
      asm volatile("fence.proxy.async.shared::cta;\\n"
          "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
          :: "l"(&map), "r"(at), "r"(0), "r"(ROW) : "memory")"""
STORES: dict[str, tuple[dict[str, str], set[str]]] = {
    "stored": (COPIED | NAMED, set()),
    "by_assembly": (COPIED | ASSEMBLED, set()),
    "written_by_hand": (BY_HAND | NAMED, set()),
    "in_one_statement": ({FENCE + "\n    __syncthreads();": BOTH, **COPIED, **ASSEMBLED}, set()),
    "fenced_there": ({FENCE + "\n": "\n", **COPIED, "PUT": FENCED.replace("ROW", "t * 64")}, set()),
    "bulk": (COPIED | {"PUT": "SM90_BULK_COPY_S2G::copy(smem, in + t * 4096, 8192)"}, set()),
    "unfenced": ({FENCE: "", **COPIED, **NAMED}, {"CUT216"}),
    "unfenced_put": ({FENCE: "", **COPIED, **ASSEMBLED}, {"CUT216"}),
    "unfenced_by_hand": ({FENCE: "", **BY_HAND, **NAMED}, {"CUT216"}),
    "undrained": ({WAIT: "    __sync", **COPIED, **ASSEMBLED}, {"CUT216"}),
    "uncommitted": ({"tma_store_arrive();": "", **COPIED, **NAMED}, {"CUT216"}),
    "unmet": ({FENCE + "\n    __syncthreads();": FENCE, **COPIED, **NAMED}, {"CUT212", "CUT216"}),
}
WARPS = """
__global__ void __launch_bounds__(128) NAME(const __grid_constant__ CUtensorMap map, half_t const* in, int tiles) {
  __shared__ alignas(128) half_t smem[4096];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Tensor s = make_tensor(make_smem_ptr(smem + warp * 1024), Part{});
  auto thr = Lanes{}.get_slice(lane);
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    Tensor part = thr.partition_S(make_tensor(make_gmem_ptr(in + (t * 4 + warp) * 1024), Part{}));
    Tensor r = make_fragment_like(part);
    copy(Lanes{}, part, r);
    if (lane == 0) tma_store_wait<0>();
    __syncwarp();
    copy(Lanes{}, r, thr.partition_D(s));
    tma_store_fence();
    __syncwarp();
    if (lane == 0) {
      SM90_TMA_STORE_2D::copy(&map, smem + warp * 1024, 0, (t * 4 + warp) * 16);
      tma_store_arrive();
    }
  }
  if (lane == 0) tma_store_wait<0>();
}
"""
OF_WARPS: dict[str, tuple[dict[str, str], set[str]]] = {
    "lanes_meet": ({}, set()),
    "lanes_write_early": ({"wait<0>();\n    __syncwarp();": "wait<0>();"}, {"CUT216"}),
    "one_stores_early": ({"fence();\n    __syncwarp();": "fence();"}, {"CUT212", "CUT216"}),
}


@pytest.mark.parametrize(
    ("kernel", "cases"),
    [(RING, RINGS), (STORE, STORES), (WARPS, OF_WARPS)],
    ids=["loads", "stores", "warps"],
)
def test_what_is_left_out(kernel: str, cases: dict[str, tuple[dict[str, str], set[str]]], tmp_path: Path) -> None:
    text, runs = HEAD, ""
    for name, (changes, _) in cases.items():
        one = kernel.replace("NAME", name)
        for old, new in changes.items():
            assert old in one
            one = one.replace(old, new)
        text += one
        runs += f"  {name}<<<132, {160 if kernel is RING else 128}>>>(map, out, tiles);\n"
    (tmp_path / "k.cu").write_text(text + f"void run(CUtensorMap map, half_t* out, int tiles) {{\n{runs}}}\n")
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
    assert not made.failures and not made.errors
    assert {name: {f.code for f in made.findings if f.enclosing == name} for name in cases} == {
        name: codes for name, (_, codes) in cases.items()
    }


LEFT = """
struct Storage { alignas(1024) half_t x[4096]; Full full; };
template <class T> __device__ void bring(Storage& st, CUtensorMap const& map, T const& s) {
  st.full.arrive_and_expect_tx(8192);
  SM90_TMA_LOAD_2D::copy(&map, reinterpret_cast<uint64_t*>(&st.full), uint64_t(0), &s(_0{}, _0{}), 0, 0);
}
__global__ void __launch_bounds__(160) left(const __grid_constant__ CUtensorMap map, half_t* out) {
  extern __shared__ __align__(1024) char raw[];
  auto& st = *reinterpret_cast<Storage*>(raw);
  Tensor s = make_tensor(make_smem_ptr(st.x), tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
  if (threadIdx.x == 0) st.full.init(1);
  __syncthreads();
  Tensor r = make_fragment_like(Move{}.get_slice(threadIdx.x).partition_S(s));
  Tensor g = make_tensor(make_gmem_ptr(out), Square{});
  if (threadIdx.x < 128) copy(Move{}, Move{}.get_slice(threadIdx.x).partition_S(g), r);
  if (threadIdx.x == 128) bring(st, map, s);
  if (threadIdx.x < 128) {
    st.full.wait(0);
    copy(Move{}, Move{}.get_slice(threadIdx.x).partition_S(s), r);
  }
}
void go(CUtensorMap map, half_t* out) { left<<<1, 160, sizeof(Storage)>>>(map, out); }
"""


def test_what_a_kernel_does_behind_an_error_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.cu").write_text(HEAD + LEFT)
    settings = Settings(cache=False, arch=("sm_90a",), jobs=1)
    assert not check(inputs([str(tmp_path)]), settings).findings
    monkeypatch.setattr(element_addresses, "_of_tensor", lambda *_: 1 // 0)
    facts = extract_facts([tmp_path], settings)
    left = [c for c in facts.calls if c.kernel == "left" and isinstance(c.result, Unknown)]
    assert "ZeroDivisionError" in facts.errors[0].message and NOT_WALKED in {c.result.reason for c in left}
