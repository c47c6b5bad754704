"""Small kernels with one number wrong: what a barrier counts, where a member starts, whose copy fills a fragment."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.model.prove import Verdict

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
using Rows = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
struct Shared {
  MEMBERS half_t a[64 * 64];
};
__global__ void __launch_bounds__(128) kernel(half_t const* A, float* out) {
  extern __shared__ __align__(128) char raw[];
  Shared& sh = *reinterpret_cast<Shared*>(raw);
  Tensor g = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(sh.a), Rows{});
  auto load = Load{}.get_slice(threadIdx.x);
  copy(Load{}, load.partition_S(g), load.partition_D(s));
  cp_async_fence();
  cp_async_wait<0>();
  SYNC;
  Copy_Atom<SM75_U32x4_LDSM_N, half_t> ldsm;
  auto read = make_tiled_copy_OPERAND(ldsm, Mma{}).get_slice(threadIdx.x);
  Tensor r = Mma{}.get_slice(threadIdx.x).partition_fragment_A(s);
  copy(ldsm, read.partition_S(s), read.retile_D(r));
  out[threadIdx.x] = r(0);
}
void run(half_t const* A, float* out) { kernel<<<1, 128, BYTES>>>(A, out); }
"""
SYNC = "cutlass::arch::NamedBarrier::sync(128, 1)"


@pytest.mark.parametrize(
    ("members", "sync", "operand", "bytes_", "expected"),
    [
        ("alignas(128)", SYNC, "A", "sizeof(Shared)", set()),
        ("half_t pad[8];", SYNC, "A", "sizeof(Shared)", set()),
        ("alignas(128)", SYNC.replace("128", "64"), "A", "sizeof(Shared)", {"CUT217"}),
        ("alignas(128)", SYNC.replace("128", "256"), "A", "sizeof(Shared)", {"CUT217"}),
        ("alignas(128)", f"if (threadIdx.x < 64) {SYNC.replace('128', '64')}; __syncthreads()", "A", "8192", set()),
        ("half_t pad[2];", SYNC, "A", "sizeof(Shared)", {"CUT402"}),
        ("alignas(128)", SYNC, "B", "sizeof(Shared)", {"CUT602"}),
        ("half_t pad[64];", SYNC, "A", "8192", {"CUT209"}),
    ],
)
def test_one_number(members: str, sync: str, operand: str, bytes_: str, expected: set[str], tmp_path: Path) -> None:
    text = KERNEL.replace("MEMBERS", members).replace("SYNC;", f"{sync};")
    (tmp_path / "kernel.cu").write_text(text.replace("OPERAND", operand).replace("BYTES", bytes_))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
    assert not made.failures and not made.errors
    assert {f.code for f in made.findings} == expected


@pytest.mark.parametrize(("members", "start"), [("half_t pad[2];", 4), ("int pad; double d[3];", 0), ("char c[8];", 8)])
def test_a_vector_in_a_member_that_starts_too_low_is_not_proved_aligned(
    members: str, start: int, tmp_path: Path
) -> None:
    text = KERNEL.replace("MEMBERS", members).replace("SYNC;", f"{SYNC};").replace("OPERAND", "A")
    (tmp_path / "kernel.cu").write_text(text.replace("BYTES", "sizeof(Shared)"))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
    aligned = [o for o in made.outcomes if "s)" in getattr(o.obligation.objects, "what", "")]
    aligned = [o for o in aligned if o.obligation.property == "vector-aligned"]
    assert {o.verdict for o in aligned} == {Verdict.REFUTED if start else Verdict.PROVED}
    assert {f.code for f in made.findings} == ({"CUT402"} if start else set())
    assert all(f.witness is not None for f in made.findings)


STAGES = """
#include <cute/tensor.hpp>
using namespace cute;
using Slices = Layout<Shape<_16, _64, _4>, Stride<_64, _1, _1024>>;
using Part = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Half = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) kernel(half_t const* A, half_t const* W, half_t* out, int tiles) {
  __shared__ alignas(128) half_t smem[cosize_v<Slices>];
  Tensor gA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(_16{}, _64{}, _4{}, tiles),
      make_stride(_64{}, _1{}, _1024{}, _4096{})));
  Tensor gW = make_tensor(make_gmem_ptr(W), Slices{});
  Tensor sA = make_tensor(make_smem_ptr(smem), Slices{});
  auto load = Part{}.get_slice(threadIdx.x);
  auto read = Part{}.get_slice(threadIdx.x ^ 1);
  Tensor from = load.partition_S(gA), first = load.partition_S(gW), to = load.partition_D(sA);
  Tensor mine = read.partition_S(sA);
  Tensor regs = make_fragment_like(mine(_, _, _, 0));
  Tensor blocks = Half{}.get_slice(threadIdx.x % 64).partition_S(sA);
  Tensor part = make_fragment_like(blocks(_, _, 0, 0));
  BEFORE
  for (int i = 0; i < tiles; ++i) {
    FILL
    __syncthreads();
    READ
    __syncthreads();
  }
}
void run(half_t const* A, half_t const* W, half_t* out, int tiles) { kernel<<<1, 128>>>(A, W, out, tiles); }
"""
EACH = "for (int k = 0; k < 4; ++k) { copy(Part{}, mine(_, _, _, k), regs); out[threadIdx.x] += regs(0); }"
BLOCKS = """for (int k = 0; k < 2; ++k) {
      if (k == 0) copy(Part{}, from(_, _, _, 0, i), to(_, _, _, i % 4));
      copy(Half{}, blocks(_, _, k, STAGE), part);
    }"""
ONE = "copy(Part{}, from(_, _, _, 0, i), to(_, _, _, 0));"


@pytest.mark.parametrize(
    ("before", "fill", "read", "expected"),
    [
        ("", "copy(Part{}, from(_, _, _, _, i), to);", EACH, False),  # a tile as a whole, then slice by slice
        ("", "copy(Part{}, from(_, _, _, _, i), to);", "copy(Part{}, mine(_, _, _, i % 4), regs);", False),
        ("copy(Part{}, first, to);", ONE, EACH, False),  # one slice is new in each pass, the others stay
        ("", "copy(Part{}, from(_, _, _, 0, i), to(_, _, _, i % 4));", "copy(Part{}, mine(_, _, _, 0), regs);", True),
        ("", ONE, "copy(Part{}, mine(_, _, _, i % 4), regs);", True),
        ("", ONE, "copy(Part{}, mine(_, _, _, 1), regs);", True),
        ("", "", BLOCKS.replace("STAGE", "i % 4"), False),
        ("", "", BLOCKS.replace("STAGE", "0"), True),  # the block of k moves inside of the stage
    ],
)
def test_stages(before: str, fill: str, read: str, expected: bool, tmp_path: Path) -> None:
    text = STAGES.replace("BEFORE", before).replace("FILL", fill).replace("READ", read)
    (tmp_path / "kernel.cu").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_80",)))
    assert not made.failures and not made.errors
    assert any(f.code == "CUT218" for f in made.findings) == expected


BARRIERS = """
template <class Tma>
__global__ void __launch_bounds__(128) NAME(CUTE_GRID_CONSTANT Tma const tma, half_t* out, int tiles) {
  __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t full[1], empty[1];
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor gA = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_128, _64>{}, make_coord(_, 0));
  auto cta = tma.get_slice(0);
  int warp = threadIdx.x / 32, lane_predicate = elect_one_sync();
  if (threadIdx.x == 0) {
    Full::init(&full[0], FULL);
    Empty::init(&empty[0], EMPTY);
  }
  __syncthreads();
  int phase = 0;
  for (int i = 0; i < tiles; ++i) {
    if (LEADER) {
      Empty::wait(&empty[0], phase ^ 1);
      EXPECT
      copy(tma.with(full[0]), cta.partition_S(gA(_, _, i)), cta.partition_D(sA));
    }
    AFTER
    Full::wait(&full[0], phase);
    Tensor r = make_tensor<half_t>(Shape<_64>{});
    copy(sA(threadIdx.x, _), r);
    out[threadIdx.x] = r(0);
    ARRIVE
    phase ^= 1;
  }
}
"""
EXPECT = "Full::arrive_and_expect_tx(&full[0], 16384);"
ARRIVE = "Empty::arrive(&empty[0]);"
USUAL = {"FULL": "1", "EMPTY": "128", "LEADER": "threadIdx.x == 0", "EXPECT": EXPECT, "AFTER": "", "ARRIVE": ARRIVE}
COUNTS_FIT: dict[str, dict[str, str]] = {
    "plain": {},
    "elected": {"LEADER": "warp == 0 && lane_predicate"},
    "by_each_warp": {"LEADER": "lane_predicate", "FULL": "4", "EXPECT": EXPECT.replace("16384", "4096")},
    "by_all": {"FULL": "128", "EXPECT": "", "AFTER": EXPECT.replace("16384", "128")},
    "twice": {"EMPTY": "256", "ARRIVE": ARRIVE + " " + ARRIVE},
    "remote": {"EMPTY": "256", "ARRIVE": "Empty::arrive(&empty[0], i % 2, true);"},
    "of_one_warp": {"EMPTY": "4", "ARRIVE": f"if (lane_predicate) {ARRIVE}"},
    "of_two_passes": {"EMPTY": "256", "LEADER": "threadIdx.x == 0 && i % 2 == 0"},
}
COUNTS_DO_NOT: dict[str, dict[str, str]] = {
    "full_128": {"FULL": "128"},
    "full_128_elected": {"FULL": "128", "LEADER": "warp == 0 && lane_predicate"},
    "empty_256": {"EMPTY": "256"},
    "empty_1": {"EMPTY": "1"},
    "all_expect": {"EXPECT": "", "AFTER": EXPECT},
}


def test_counts_of_barriers(tmp_path: Path) -> None:
    text = """#include <cute/tensor.hpp>
using namespace cute;
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
"""
    runs = ""
    for name, changed in {**COUNTS_FIT, **COUNTS_DO_NOT}.items():
        kernel = BARRIERS.replace("NAME", name)
        for word, new in {**USUAL, **changed}.items():
            kernel = kernel.replace(word, new)
        text += kernel
        runs += f"  {name}<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD{{}}, gA, Smem{{}}), out, tiles);\n"
    text += f"""void run(half_t const* A, half_t* out, int tiles) {{
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{{}});
{runs}}}
"""
    (tmp_path / "kernels.cu").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",), select=("CUT217",)))
    assert not made.failures and not made.errors
    assert {f.enclosing.partition("<")[0] for f in made.findings} == set(COUNTS_DO_NOT)


SHARED = """
#include <cute/tensor.hpp>
using namespace cute;
namespace cutlass { namespace arch {
struct ClusterBarrier {
  CUTE_DEVICE static void init(uint64_t const* at, uint32_t count) {}
  CUTE_DEVICE static void wait(uint64_t const* at, uint32_t phase) {}
  CUTE_DEVICE static void arrive(uint64_t const* at) {}
};
}}
using Bar = cutlass::arch::ClusterBarrier;
namespace cutlass {
template <int Stages_> struct PipelineAsync {
  struct SharedStorage { uint64_t full_barrier_[Stages_], empty_barrier_[Stages_]; };
  SharedStorage& s_;
  CUTE_DEVICE PipelineAsync(SharedStorage& s) : s_(s) {}
  CUTE_DEVICE void producer_acquire(int i) { Bar::wait(&s_.empty_barrier_[i], 0); }
};
struct OrderedSequenceBarrier {
  uint64_t* b_;
  CUTE_DEVICE void arrive() { Bar::arrive(&b_[0]); }
};
}
struct Released {
  cutlass::PipelineAsync<2> impl_;
  uint64_t* empty_;
  CUTE_DEVICE Released(cutlass::PipelineAsync<2>::SharedStorage& s) : impl_(s), empty_(s.empty_barrier_) {}
  CUTE_DEVICE void give_back(int i) { Bar::arrive(&empty_[i]); }
};
struct Shared {
  cutlass::PipelineAsync<2>::SharedStorage pipe;
  uint64_t order[2];
};
__global__ void __launch_bounds__(128) kernel(int needed, float* out) {
  Tensor r = make_tensor<float>(Shape<_4>{});
  copy(r, make_tensor(make_gmem_ptr(out), Layout<Shape<_4>>{}));
  extern __shared__ __align__(128) char raw[];
  Shared& sh = *reinterpret_cast<Shared*>(raw);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      Bar::init(&sh.pipe.full_barrier_[i], 128);
      Bar::init(&sh.pipe.empty_barrier_[i], 128);
      Bar::init(&sh.order[i], 1);
    }
  }
  __syncthreads();
  Bar::arrive(&sh.pipe.full_barrier_[0]);
  Bar::wait(&sh.pipe.full_barrier_[0], 0);
  BODY
}
void run(int needed, float* out) { kernel<<<1, 128, sizeof(Shared)>>>(needed, out); }
"""
WHILE = "for (int i = 0; i < needed; ++i) { if (order) { Bar::arrive(&sh.order[0]); order = false; } }"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (threadIdx.x == 0) { Bar::arrive(&sh.order[0]); }", {"CUT217"}),
        ("if (threadIdx.x == 0) { Bar::arrive(&sh.order[0]); } else { Bar::wait(&sh.order[0], 0); }", set()),
        (f"bool order = false; {WHILE}", set()),
        ("cutlass::OrderedSequenceBarrier one{sh.order}; one.arrive();", set()),
        ("Released pipe(sh.pipe); pipe.impl_.producer_acquire(1); pipe.give_back(1);", set()),
        ("Bar::arrive(&sh.pipe.empty_barrier_[1]);", {"CUT217"}),
    ],
)
def test_what_nobody_waits_for(body: str, expected: set[str], tmp_path: Path) -> None:
    """A barrier of a library's class, or one that a condition may never come to, is none that a wait is missing at."""
    (tmp_path / "kernel.cu").write_text(SHARED.replace("BODY", body))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
    assert not made.failures and not made.errors
    assert {f.code for f in made.findings} - {"CUT221"} == expected  # the barriers are all that is used


STORED = """
#include <cute/tensor.hpp>
using namespace cute;
using Tile = Layout<Shape<_64, _64>, Stride<_64, _1>>;
using Write = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
template <class Tma>
__global__ void __launch_bounds__(128) save(CUTE_GRID_CONSTANT Tma const tma, half_t const* in, int tiles) {
  __shared__ alignas(128) half_t smem[cosize_v<Tile>];
  Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
  Tensor g = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_64, _64>{}, make_coord(_, 0));
  auto thr = Write{}.get_slice(threadIdx.x);
  auto cta = tma.get_slice(0);
  Tensor r = make_fragment_like(thr.partition_D(s));
  for (int t = 0; t < tiles; ++t) {
    cp_async_wait<0>();
    if (threadIdx.x == 0) { WAIT }
    __syncthreads();
    copy(Write{}, r, thr.partition_D(s));
    tma_store_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
      copy(tma, cta.partition_S(s), cta.partition_D(g)(_, _, _, t));
      tma_store_arrive();
    }
  }
  if (threadIdx.x == 0) { tma_store_wait<0>(); }
}
void run(half_t* out, half_t const* in) {
  Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  save<<<1, 128>>>(make_tma_copy(SM90_TMA_STORE{}, g, Tile{}), in, 8);
}
"""


@pytest.mark.parametrize(("wait", "codes"), [("tma_store_wait<0>();", set()), ("", {"CUT216"})])
def test_a_wait_for_cp_async_is_none_for_a_store(wait: str, codes: set[str], tmp_path: Path) -> None:
    (tmp_path / "save.cu").write_text(STORED.replace("WAIT", wait))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT216",)))
    assert {f.code for f in report.findings} == codes
