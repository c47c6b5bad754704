"""``cp.async`` and ``ldmatrix`` in assembly of the program's own, beside CuTe's copies: waits and barriers left out.

Which threads meet is told as of single elements, by each thread's address; that is compared with a count by hand.
"""

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEAD = """#include <cute/tensor.hpp>
using namespace cute;
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;\\n" :: "n"(N) : "memory"); }
__device__ void commit() { asm volatile("cp.async.commit_group;\\n" ::: "memory"); }
__device__ void fetch(void* s, void const* g) {
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\\n" :: "r"(at), "l"(g) : "memory");
}
__device__ void cp_async_16(void* s, void const* g, bool valid = true) {  // a name like a barrier's, and none
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" :: "r"(at), "l"(g), "r"(valid ? 16 : 0) : "memory");
}
__device__ void rows(uint32_t (&r)[4], void const* s) {
  uint32_t at = cast_smem_ptr_to_uint(s);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\\n"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}
using Stages = Layout<Shape<_64, _64, _3>, Stride<_64, _1, _4096>>;
using Square = Layout<Shape<_64, _64>, Stride<_64, _1>>;
using Threads = Layout<Shape<_16, _8>, Stride<_8, _1>>;
using Read = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Threads{},
    Layout<Shape<_1, _8>>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{}, Threads{},
    Layout<Shape<_1, _8>>{}));
"""
RING = """
__global__ void __launch_bounds__(128) NAME(half_t const* in, float* out, int tiles) {
  __shared__ alignas(128) half_t smem[3 * 4096];
  Tensor s = make_tensor(make_smem_ptr(smem), Stages{});
  auto thr = Read{}.get_slice(127 - threadIdx.x);
  auto load = [&](int tile, int stage) {
    for (int c = 0; c < 512; c += 128) fetch(smem + stage * 4096 + (c + threadIdx.x) * 8, in + tile * 4096 + c * 8);
  };
  for (int i = 0; i < 2; ++i) { load(i, i); commit(); }
  for (int k = 0; k < tiles; ++k) {
    wait<1>();
    __syncthreads();
    if (k + 2 < tiles) load(k + 2, (k + 2) % 3);
    commit();
    Tensor part = thr.partition_S(s(_, _, k % 3));
    Tensor r = make_fragment_like(part);
    copy(Read{}, part, r);
  }
}
"""
ONCE = """
__global__ void __launch_bounds__(128) NAME(half_t const* in, float* out, int tiles) {
  __shared__ alignas(128) half_t smem[4096];
  Tensor s = make_tensor(make_smem_ptr(smem), Square{});
  auto thr = Load{}.get_slice(threadIdx.x);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  FILL;
  commit();
  wait<0>();
  __syncthreads();
  TAKE;
}
"""
BY_HAND = "for (int c = 0; c < 4; ++c) fetch(smem + (c * 128 + threadIdx.x) * 8, in + (c * 128 + threadIdx.x) * 8)"
BY_CUTE = "copy(Load{}, thr.partition_S(make_tensor(make_gmem_ptr(in), Square{})), thr.partition_D(s))"
BY_WARPS = (
    "for (int c = 0; c < 4; ++c) fetch(smem + warp * 1024 + (c * 32 + lane) * 8, in + (c * 128 + threadIdx.x) * 8)"
)
ROWS = "uint32_t r[4]; rows(r, smem + (warp * 16 + lane % 16) * 64 + lane / 16 * 8)"
PART = "auto rd = Read{}.get_slice(127 - threadIdx.x); Tensor v = make_fragment_like(rd.partition_S(s)); " \
    "copy(Read{}, rd.partition_S(s), v)"  # fmt: skip
BY_NAME = BY_HAND.replace("fetch(", "cutlass::arch::cp_async<16>(")
BY_CUTES_NAME = """
  for (int c = 0; c < 4; ++c) {
    auto const* from = reinterpret_cast<uint128_t const*>(in + (c * 128 + threadIdx.x) * 8);
    int const at = (c * 128 + threadIdx.x) * 8;
    SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>::copy(*from, *reinterpret_cast<uint128_t*>(&smem[at]));
  }
"""
HELD, WAIT = "  __syncthreads();\n", "  wait<0>();\n"
NAMED = {" fetch(smem": " if (threadIdx.x % 4 < 3) cp_async_16(smem"}  # a barrier some threads would not come to
KERNELS: dict[str, tuple[str, dict[str, str], set[str]]] = {
    "ring": (RING, {}, set()),
    "ring_unwaited": (RING, {"    wait<1>();\n": ""}, {"CUT213"}),
    "ring_one_more": (RING, {"wait<1>": "wait<2>"}, {"CUT213"}),
    "ring_uncommitted": (RING, {"load(i, i); commit();": "load(i, i);"}, {"CUT213"}),
    "ring_named": (RING, NAMED, set()),
    "ring_named_unheld": (RING, {**NAMED, "    __syncthreads();\n": ""}, {"CUT212"}),
    "ring_named_one_more": (RING, {**NAMED, "wait<1>": "wait<2>"}, {"CUT213"}),
    "hand_rows": (ONCE, {"FILL": BY_HAND, "TAKE": ROWS}, set()),
    "hand_rows_unheld": (ONCE, {"FILL": BY_HAND, "TAKE": ROWS, HELD: ""}, {"CUT212"}),
    "hand_rows_unwaited": (ONCE, {"FILL": BY_HAND, "TAKE": ROWS, WAIT: ""}, {"CUT213"}),
    "warps_rows_met": (ONCE, {"FILL": BY_WARPS, "TAKE": ROWS, HELD: "  __syncwarp();\n"}, set()),
    "hand_part": (ONCE, {"FILL": BY_HAND, "TAKE": PART}, set()),
    "hand_part_unheld": (ONCE, {"FILL": BY_HAND, "TAKE": PART, HELD: ""}, {"CUT212"}),
    "hand_part_unwaited": (ONCE, {"FILL": BY_HAND, "TAKE": PART, WAIT: ""}, {"CUT213"}),
    "name_part": (ONCE, {"FILL": BY_NAME, "TAKE": PART}, set()),
    "name_part_unheld": (ONCE, {"FILL": BY_NAME, "TAKE": PART, HELD: ""}, {"CUT212"}),
    "name_part_unwaited": (ONCE, {"FILL": BY_NAME, "TAKE": PART, WAIT: ""}, {"CUT213"}),
    "cutes_name_part": (ONCE, {"FILL": BY_CUTES_NAME, "TAKE": PART}, set()),
    "cutes_name_part_unheld": (ONCE, {"FILL": BY_CUTES_NAME, "TAKE": PART, HELD: ""}, {"CUT212"}),
    "cutes_name_part_unwaited": (ONCE, {"FILL": BY_CUTES_NAME, "TAKE": PART, WAIT: ""}, {"CUT213"}),
    "cute_rows": (ONCE, {"FILL": BY_CUTE, "TAKE": ROWS}, set()),
    "cute_rows_unheld": (ONCE, {"FILL": BY_CUTE, "TAKE": ROWS, HELD: ""}, {"CUT212"}),
    "cute_rows_unwaited": (ONCE, {"FILL": BY_CUTE, "TAKE": ROWS, WAIT: ""}, {"CUT213"}),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp("chunks")
    text, runs = HEAD, ""
    for name, (kernel, changes, _) in KERNELS.items():
        one = kernel.replace("NAME", name)
        for old, new in changes.items():
            assert old in one
            one = one.replace(old, new)
        text += one
        runs += f"  {name}<<<8, 128>>>(in, out, tiles);\n"
    (folder / "k.cu").write_text(f"{text}void run(half_t const* in, float* out, int tiles) {{\n{runs}}}\n")
    made = check(inputs([str(folder)]), Settings(cache=False, arch=("sm_80",), select=("CUT21",)))
    assert not made.failures
    assert not made.errors
    return {name: {f.code for f in made.findings if f.enclosing == name} for name in KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_left_out(name: str, found: dict[str, set[str]]) -> None:
    assert found[name] == KERNELS[name][2]


def test_warps_meet_as_counted_by_hand() -> None:
    """Which warp copies what another's ``ldmatrix`` reads, byte by byte: the cases of the table above."""
    rows = {t: (t // 32 * 16 + t % 16) * 128 + t % 32 // 16 * 16 for t in range(128)}
    by_hand = {(c * 128 + t) * 16: t // 32 for c in range(4) for t in range(128)}
    by_warps = {t // 32 * 2048 + (c * 32 + t % 32) * 16: t // 32 for c in range(4) for t in range(128)}
    for owners, name in ((by_hand, "hand_rows_unheld"), (by_warps, "warps_rows_met")):
        crosses = any(owners[at] != t // 32 for t, at in rows.items())
        assert crosses == bool(KERNELS[name][2])
