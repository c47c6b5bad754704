"""Warp-specialised kernels in which one thing is wrong, also where the kernel around a collective is CUTLASS's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

DATA = Path(__file__).parents[1] / "data"
KERNEL = (DATA / "mainloops" / "cpp_pipeline.cu").read_text()
MAKES = "  Pipe pipe(sh.pipe, params, Shape<_1, _1, _1>{});\n"
GEMM = "      gemm(mma, tCrA(_, _, _, read.index()), tCrB(_, _, _, read.index()), acc);\n"
LOAD_A = "        copy(tma_a.with(*bar), tAgA(_, k), tAsA(_, state.index()));\n"
LOAD_B = "        copy(tma_b.with(*bar), tBgB(_, k), tBsB(_, state.index()));\n"
WAITED = "      warpgroup_wait<0>();\n"
SCALES = WAITED + "      for (int i = 0; i < size(acc); ++i) acc(i) *= 2.f;\n"
ARRIVE = "      warpgroup_arrive();\n"
SYNC = "  __syncthreads();\n"
OTHER = "  Pipe other(%s, params, Shape<_1, _1, _1>{});\n"
USED = "  if (warp_group == 1) other.consumer_release(cutlass::PipelineState<kStages>{});\n"
MEMBER = "  typename Pipe::SharedStorage pipe;\n"
LAST = (
    "      pipe.producer_tail(state);\n",
    "      pipe.producer_acquire(state);\n      pipe.producer_tail(state);\n",
)
SLICES = (
    "      for (int i = 0; i < size<2>(tCrA); ++i)\n"
    "        gemm(mma, tCrA(_, _, i, read.index()), tCrB(_, _, %s, read.index()), acc);\n"
)
PARTS = (
    "      for (int i = 0; i < size<2>(tCrA); ++i)\n"
    "        for (int j = 0; j < size<2>(tCrA); ++j)\n"
    "          gemm(mma, tCrA(_, _, i, read.index()), tCrB(_, _, j, read.index()), acc);\n"
)
ACQUIRE = "        pipe.producer_acquire(state);\n"
READS = "    cutlass::PipelineState<kStages> read;\n"
ONCE = """        if (k == 0) {
          Tensor sQ = group_modes<0, 2>(make_tensor(make_smem_ptr(sh.q), SmemA{}));
          auto [from, to] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, sQ, group_modes<0, 2>(gA));
          sh.once.arrive_and_expect_tx(size(BM{}) * size(BK{}) * sizeof(half_t));
          copy(tma_a.with(reinterpret_cast<uint64_t&>(sh.once), 0), from(_, 0), to(_, 0));
        }
"""
ONE_WAIT = """    sh.once.wait(0);
    Tensor first = make_tensor<half_t>(Shape<_64>{});
    copy(make_tensor(make_smem_ptr(sh.q), SmemA{})(threadIdx.x % 128, _, 0), first);
    C[threadIdx.x] = first(0);
"""
CONSUMES = "    for (int k = 0; k < k_tiles; ++k) {\n      pipe.consumer"
OF_ITS_OWN = "  alignas(1024) half_t q[cosize_v<SmemA>];\n  cutlass::arch::ClusterTransactionBarrier once;\n"
KERNELS = "template <class TmaA, class TmaB>\n__global__"
SET = """__device__ void set(half_t* p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = half_t(0);
}
"""
POINTER = """  half_t* to = sh.extra;
  if (threadIdx.x < 256) to[threadIdx.x] = half_t(1);
"""
TENSOR = """  auto to = make_tensor(make_smem_ptr(sh.extra), Shape<_256>{});
  if (threadIdx.x < 256) to(threadIdx.x) = half_t(1);
"""
ASM = """  uint32_t to = cast_smem_ptr_to_uint(sh.extra + threadIdx.x % 256);
  asm volatile("st.shared.u16 [%0], %1;" :: "r"(to), "h"(uint16_t(0)));
"""
EXTRA = "  half_t extra[256];\n"
READ_EXTRA = """    Tensor bias = make_tensor<half_t>(Shape<_8>{});
    copy(make_tensor(make_smem_ptr(sh.extra), Shape<_8, _32>{})(_, threadIdx.x % 32), bias);
    C[threadIdx.x] = bias(0);
"""
CASES = {
    "right": ([], ""),
    # registers of a WGMMA that the thread uses itself in each pass, and the fence before all of them
    "scaled": ([(WAITED, SCALES)], ""),
    "scaled, fenced once": (
        [(WAITED, SCALES), (ARRIVE, ""), (CONSUMES, "    warpgroup_arrive();\n" + CONSUMES)],
        "CUT215",
    ),
    "fenced once": (
        [(ARRIVE, ""), (CONSUMES, "    warpgroup_arrive();\n" + CONSUMES)],
        "",
    ),
    "two pipelines": (
        [
            (MEMBER, MEMBER + "  typename Pipe::SharedStorage more;\n"),
            (MAKES, MAKES + OTHER % "sh.more"), (SYNC, SYNC + USED),
        ],
        "",
    ),
    "two pipelines in one place": ([(MAKES, MAKES + OTHER % "sh.pipe"), (SYNC, SYNC + USED)], "CUT214"),
    "a tile again": ([(LOAD_B, LOAD_B.replace("k)", "0)"))], "CUT218"),
    "both again": ([(LOAD_B, LOAD_B.replace("k)", "0)")), (LOAD_A, LOAD_A.replace("k)", "0)"))], "CUT218"),
    "from the last on": (
        [(LOAD_B, LOAD_B.replace("k)", "k_tiles - 1 - k)")), (LOAD_A, LOAD_A.replace("k)", "k_tiles - 1 - k)"))], "",
    ),
    "slices": ([(GEMM, SLICES % "i")], ""),
    "one slice": ([(GEMM, SLICES % "0")], "CUT218"),
    "each with each": ([(GEMM, PARTS)], ""),
    # one more stage is acquired than is loaded: nobody waits for it, or the consumer does
    "acquired for the end": ([LAST], ""),
    "acquired and not loaded": ([(CONSUMES, CONSUMES.replace("k_tiles", "k_tiles + 1")), LAST], "CUT217"),
    # shared memory that nothing writes, and what other means than copies fill
    "never filled": ([(MEMBER, MEMBER + EXTRA), (READS, READ_EXTRA + READS)], "CUT221"),
    "by its name": (
        [(MEMBER, MEMBER + EXTRA), (SYNC, "  if (threadIdx.x < 256) sh.extra[threadIdx.x] = half_t(1);\n" + SYNC),
         (READS, READ_EXTRA + READS)], "",
    ),
    "by a pointer": (
        [(MEMBER, MEMBER + EXTRA), (SYNC, POINTER + SYNC),
         (READS, READ_EXTRA + READS)], "",
    ),
    "by a tensor": (
        [(MEMBER, MEMBER + EXTRA),
         (SYNC, TENSOR + SYNC),
         (READS, READ_EXTRA + READS)], "",
    ),
    "by code that is not seen": (
        [(KERNELS, "__device__ void fill_it(half_t* to);\n" + KERNELS), (MEMBER, MEMBER + EXTRA),
         (SYNC, "  fill_it(sh.extra);\n" + SYNC), (READS, READ_EXTRA + READS)], "",
    ),
    "by a loop of a helper": (
        [(KERNELS, SET + KERNELS),
         (MEMBER, MEMBER + EXTRA), (SYNC, "  set(sh.extra, 256);\n" + SYNC), (READS, READ_EXTRA + READS)], "",
    ),
    "by clear": (
        [(MEMBER, MEMBER + EXTRA),
         (READS, READ_EXTRA + READS),
         (SYNC, "  clear(make_tensor(make_smem_ptr(sh.extra), Shape<_256>{}));\n" + SYNC)], "",
    ),
    "by vectors": (
        [(MEMBER, MEMBER + EXTRA), (READS, READ_EXTRA + READS),
         (SYNC, "  reinterpret_cast<uint4*>(sh.extra)[threadIdx.x % 32] = uint4{0, 0, 0, 0};\n" + SYNC)], "",
    ),
    "by a cp.async of its name": (
        [(MEMBER, MEMBER + EXTRA), (READS, READ_EXTRA + READS),
         (SYNC, "  SM80_CP_ASYNC_CACHEALWAYS<uint4>::copy(*(uint4*)C, *(uint4*)(sh.extra + threadIdx.x % 32 * 8));\n"
          "  cp_async_fence();\n  cp_async_wait<0>();\n" + SYNC)], "",
    ),
    "by assembly": (
        [(MEMBER, MEMBER + EXTRA),
         (SYNC, ASM + SYNC),
         (READS, READ_EXTRA + READS)], "",
    ),
    "no acquire beside a barrier of its own": (
        [
            (MEMBER, MEMBER + OF_ITS_OWN),
            (MAKES, MAKES + "  if (threadIdx.x == 0) sh.once.init(1);\n"),
            (ACQUIRE, ONCE), (READS, ONE_WAIT + READS),
        ],
        "CUT214",
    ),
    "a barrier of its own": (
        [
            (MEMBER, MEMBER + OF_ITS_OWN),
            (MAKES, MAKES + "  if (threadIdx.x == 0) sh.once.init(1);\n"),
            (ACQUIRE, ONCE + ACQUIRE), (READS, ONE_WAIT + READS),
        ],
        "",
    ),
    "a barrier of its own that nothing initialises": (
        [
            (MEMBER, MEMBER + OF_ITS_OWN.replace("once;", "once, two;")),
            (MAKES, MAKES + "  if (threadIdx.x == 0) sh.two.init(1);\n"),
            (ACQUIRE, ONCE + ACQUIRE), (READS, ONE_WAIT + READS),
        ],
        "CUT217",
    ),
}  # fmt: skip


def codes(folder: Path, text: str) -> str:
    path = folder / "kernel.cu"
    path.write_text(text)
    include = (DATA / "pipelines", folder)
    made = check(inputs([str(path)]), Settings(cache=False, arch=("sm_90a",), include=include, ignore=("CUT104",)))
    assert not made.failures and not made.errors
    return " ".join(sorted({f.code for f in made.findings}))


@pytest.mark.parametrize("name", CASES)
def test_one_mistake(name: str, tmp_path: Path) -> None:
    edits, expected = CASES[name]
    text = KERNEL
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    assert codes(tmp_path, text) == expected
