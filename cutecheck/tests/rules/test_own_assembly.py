"""Waits, commits and fences that a program spells in assembly, in functions and macros of its own."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.rules.tma_store_order import TmaStoreNotOrdered
from cutecheck.rules.wgmma_wait import WgmmaNotWaited
from cutecheck.tests.rules.test_groups import FILL, KERNEL

OWN = """
namespace own {
template <int N> __device__ void wait_group() { asm volatile("cp.async.wait_group %0;\\n" :: "n"(N)); }
template <int N> __device__ void keep_all_but() { wait_group<N - 1>(); }
__device__ void commit_group() { asm volatile("cp.async.commit_group;\\n" ::); }
__device__ void everything() { asm volatile("cp.async.wait_all;" ::: "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void fence_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
__device__ void store_commit() { asm volatile("cp.async.bulk.commit_group;"); }
template <int N> __device__ void store_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
}
__device__ void wg_open() { asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory"); }
__device__ void wg_close() { asm volatile("wgmma.commit_group.sync.aligned;\\n" ::: "memory"); }
template <int N> __device__ void wg_done() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\\n" :: "n"(N) : "memory");
}
}
#define CP_WAIT(n) asm volatile("cp.async.wait_group %0;\\n" :: "n"(n))
"""


def codes(tmp_path: Path, text: str, arch: str = "sm_80") -> set[str]:
    path = tmp_path / "own.cu"
    path.write_text(PREAMBLE + OWN + text)
    report = check(inputs([str(path)]), Settings(arch=(arch,)))
    assert not report.failures and not report.errors
    return {f.code for f in report.findings}


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        ("own::wait_group<1>(); __syncthreads();", set[str]()),
        ("own::wait_group<2>(); __syncthreads();", {"CUT213"}),
        ("own::wait_group<1>();", {"CUT212"}),  # it holds no other thread back
        ("own::keep_all_but<2>(); __syncthreads();", set()),
        ("own::keep_all_but<3>(); __syncthreads();", {"CUT213"}),
        ("own::everything(); __syncthreads();", set()),
        ("CP_WAIT(2 - 1); __syncthreads();", set()),
        ("CP_WAIT(2); __syncthreads();", {"CUT213"}),
    ],
)
def test_groups_of_copies(tmp_path: Path, wait: str, expected: set[str]) -> None:
    given = {"name": "pipe", "stages": 3, "prologue": 2, "helpers": "", "wait": 1}
    fill = FILL.replace("cp_async_fence", "own::commit_group") + " write = write + 1 == 3 ? 0 : write + 1;"
    text = KERNEL % (given | {"commit": "own::commit_group();", "before": ""})
    text = text.replace("cp_async_wait<1>();\n    __syncthreads();", wait + fill)
    text = text.replace("i, write", "i + 2, write").replace("tg(_, _, _, write)", "tg(_, _, _, i + 2)")
    text = text.replace("read + 1;\n    __syncthreads();", "read + 1;")
    assert codes(tmp_path, text) - {"CUT210", "CUT218"} == expected


ALL = """
namespace own {
template <int N> __device__ void cp_async_wait() { asm volatile("cp.async.wait_group %%0;" :: "n"(N)); }
}
using Tile = Layout<Shape<_32, _32>, Stride<_32, _1>>;
using Copies = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) k(float const* in, float* out, int n) {
  __shared__ alignas(16) float smem[1024];
  Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
  auto c = Copies{}.get_slice(threadIdx.x);
  auto r = Rows{}.get_slice(threadIdx.x);
  for (int i = 0; i < n; ++i) {
    copy(Copies{}, c.partition_S(make_tensor(make_gmem_ptr(in + i * 1024), Tile{})), c.partition_D(s));
    %s
    __syncthreads();
    Tensor f = make_fragment_like(r.partition_S(s));
    copy(Rows{}, r.partition_S(s), f);
    copy(Rows{}, f, r.partition_D(make_tensor(make_gmem_ptr(out + i * 1024), Tile{})));
    __syncthreads();
  }
}
void run(float const* a, float* b, int n) { k<<<1, 128>>>(a, b, n); }
"""


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        ("cp_async_fence(); cp_async_wait<0>();", set[str]()),
        ("cp_async_wait<0>();", set()),  # cp.async.wait_all: groups or not
        ("cp_async_fence(); own::cp_async_wait<0>();", set()),
        ("own::cp_async_wait<0>();", {"CUT213"}),  # cp.async.wait_group 0: what no group holds may still be on its way
    ],
)
def test_a_wait_for_no_group_of_a_function_with_the_name_of_cutes(
    tmp_path: Path, wait: str, expected: set[str]
) -> None:
    assert codes(tmp_path, ALL % wait) == expected


def example(cls: type[TmaStoreNotOrdered] | type[WgmmaNotWaited], **names: str) -> str:
    text = cls.valid[0]
    for old, new in names.items():
        assert old in text
        text = text.replace(f"{old}<0>()", f"{new}<0>()").replace(f"{old}()", f"{new}()" if new else "")
    return text


@pytest.mark.parametrize(
    ("fence", "commit", "expected"),
    [
        ("own::fence_async", "own::store_commit", set[str]()),
        ("own::fence_global", "own::store_commit", {"CUT216"}),
        ("own::fence_async", "", {"CUT216"}),
    ],
)
def test_stores_of_tma(tmp_path: Path, fence: str, commit: str, expected: set[str]) -> None:
    text = example(TmaStoreNotOrdered, tma_store_fence=fence, tma_store_arrive=commit, tma_store_wait="own::store_read")
    assert codes(tmp_path, text, "sm_90a") & {"CUT216"} == expected


@pytest.mark.parametrize(
    ("opens", "closes", "expected"),
    [
        ("own::wg_open", "own::wg_close", set[str]()),
        ("", "own::wg_close", {"CUT215"}),
        ("own::wg_open", "", {"CUT215"}),
    ],
)
def test_groups_of_products(tmp_path: Path, opens: str, closes: str, expected: set[str]) -> None:
    text = example(WgmmaNotWaited, warpgroup_arrive=opens, warpgroup_commit_batch=closes, warpgroup_wait="own::wg_done")
    assert codes(tmp_path, text, "sm_90a") & {"CUT215"} == expected


SOME = """
__device__ void start(uint64_t const* at, uint32_t count) {
  uint32_t where = cast_smem_ptr_to_uint(at);
  asm volatile("{\\n\\tmbarrier.init.shared::cta.b64 [%%1], %%0; \\n}" : : "r"(count), "r"(where));
}
__global__ void kernel(float* in, float* out, uint64_t** where) {
  __shared__ float a[512];
  Tensor s = make_tensor(make_smem_ptr(a), Layout<_512>{});
  auto c = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_128>{}, Layout<_4>{});
  auto t = c.get_slice(threadIdx.x);
  copy(c, t.partition_S(make_tensor(make_gmem_ptr(in), Layout<_512>{})), t.partition_D(s));
  if (threadIdx.x / 32 == 1) %s
  %s
  copy(c, t.partition_S(s), t.partition_D(make_tensor(make_gmem_ptr(out), Layout<_512>{})));
}
void run(float* a, float* b, uint64_t** w) { kernel<<<1, 128>>>(a, b, w); }
"""


@pytest.mark.parametrize(
    ("some", "every", "expected"),
    [
        ("start(where[threadIdx.y], 3);", "__syncthreads();", set[str]()),
        ("__syncthreads();", "start(where[threadIdx.y], 3);", {"CUT212"}),
    ],
)
def test_what_one_warp_does_with_barriers_elsewhere_is_no_barrier_of_the_block(
    tmp_path: Path, some: str, every: str, expected: set[str]
) -> None:
    assert codes(tmp_path, SOME % (some, every)) == expected
