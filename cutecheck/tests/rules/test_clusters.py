"""Blocks of a cluster that load for one another: who is told that a stage is free, and to whom a load goes."""

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEAD = """#include <cute/tensor.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/cluster_launch.hpp>
using namespace cute;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
using Stages = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _4>{}));
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__device__ void notify(uint64_t* bar, float* at) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];"
      :: "r"(cast_smem_ptr_to_uint(at)), "f"(1.f), "r"(cast_smem_ptr_to_uint(bar)) : "memory");
}
__device__ void remote(uint64_t* bar, uint32_t block) {
  uint32_t at = cast_smem_ptr_to_uint(bar);
  asm volatile("{\\n.reg .b32 r;\\nmapa.shared::cluster.u32 r, %0, %1;\\n"
      "mbarrier.arrive.shared::cluster.b64 _, [r];\\n}" :: "r"(at), "r"(block) : "memory");
}
"""
HEAD += """
__device__ uint32_t there(uint64_t* bar, uint32_t block) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(cast_smem_ptr_to_uint(bar)), "r"(block));
  return r;
}
__device__ void tell(uint32_t at) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(at) : "memory");
}
"""
KERNEL = """
template <class Tma>
__global__ void __launch_bounds__(160) NAME(CUTE_GRID_CONSTANT Tma const tma, float* out, int n, int k) {
  extern __shared__ alignas(1024) half_t smem[];
  __shared__ uint64_t full[4], empty[4];
  Tensor s = make_tensor(make_smem_ptr(smem), Stages{});
  uint32_t rank = block_rank_in_cluster(), cx = block_id_in_cluster().x, cy = block_id_in_cluster().y;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) { Full::init(&full[i], 1); Empty::init(&empty[i], COUNT); }
  }
  cluster_sync();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      auto part = tma.get_slice(SLICE);
      Tensor g = part.partition_S(local_tile(tma.get_tma_tensor(make_shape(n, k)), Shape<_128, _64>{},
          make_coord(TILE, _)));
      Tensor t = part.partition_D(s);
      for (int i = 0; i < k / 64; ++i) {
        Empty::wait(&empty[i % 4], (i / 4 & 1) ^ 1);
        Full::arrive_and_expect_tx(&full[i % 4], 128 * 64 * 2);
        copy(tma.with(full[i % 4], uint16_t(MASK)), g(_, _, _, i), t(_, _, _, i % 4));
      }
    }
  } else {
    auto thr = Move{}.get_slice(threadIdx.x);
    for (int i = 0; i < k / 64; ++i) {
      Full::wait(&full[i % 4], i / 4 & 1);
      Tensor from = thr.partition_S(s(_, _, i % 4));
      Tensor r = make_fragment_like(from);
      copy(Move{}, from, r);
      ARRIVE;
    }
  }
  cluster_sync();
}
void run_NAME(half_t const* B, float* out, int n, int k) {
  Tensor g = make_tensor(make_gmem_ptr(B), make_layout(make_shape(n, k), make_stride(k, _1{})));
  auto tma = make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, g, Stages{}(_, _, 0), Shape<_128, _64>{}, _2{});
  auto* kernel = &NAME<decltype(tma)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  cutlass::ClusterLaunchParams params = {dim3(8, 8, 1), dim3(160), dim3(SHAPE, 1), 65536};
  cutlass::launch_kernel_on_cluster(params, (void const*)kernel, tma, out, n, k);
}
"""
BOTH = "Empty::arrive(&empty[i % 4], 0, 1); Empty::arrive(&empty[i % 4], 1, 1)"
PAIR = {"COUNT": "256", "SLICE": "rank", "TILE": "blockIdx.y", "MASK": "3", "ARRIVE": BOTH, "SHAPE": "2, 1"}
ALONE = {
    "SM90_TMA_LOAD_MULTICAST{}": "SM90_TMA_LOAD{}",
    "Shape<_128, _64>{}, _2{}": "Shape<_128, _64>{}, _1{}",
    "rank)": "0)",
}
FOUR = {  # blocks of a row share the tile, and arrive at both of their row
    "COUNT": "2", "SLICE": "cx", "TILE": "blockIdx.y", "MASK": "3 << (2 * cy)", "SHAPE": "2, 2",
    "ARRIVE": "if (threadIdx.x < 2) Empty::arrive(&empty[i % 4], threadIdx.x + 2 * cy, 1)",
}  # fmt: skip
ITSELF = {  # the kernel says what its cluster is
    "__global__ void": "__cluster_dims__(SHAPE, 1) __global__ void",
    "  cutlass::ClusterLaunchParams params = {dim3(8, 8, 1), dim3(160), dim3(SHAPE, 1), 65536};\n": "",
    "cutlass::launch_kernel_on_cluster(params, (void const*)kernel, tma, out, n, k);":
        "kernel<<<dim3(8, 8, 1), 160, 65536>>>(tma, out, n, k);",
}  # fmt: skip
LANES = "Empty::arrive(&empty[i % 4], threadIdx.x % 32, uint32_t(threadIdx.x % 32 < 2))"
TWO = PAIR | {"COUNT": "2", "ARRIVE": "if (threadIdx.x < 2) tell(there(&empty[i % 4], threadIdx.x))"}
SHORT = {"i < k / 64": "i < (k / 64 + 3) / 4"}  # at the numbers of a first run no stage is filled twice
MANY = PAIR | {  # warps of which each lane is told apart, and others that do nothing
    "COUNT": "8", "ARRIVE": LANES + "; if (threadIdx.x == 0) out[i] = 0.f", "160": "288",
    "if (threadIdx.x == 0) {\n": "if (threadIdx.x / 32 == 1 && threadIdx.x % 32 == 0) {\n",
}  # fmt: skip
KERNELS: dict[str, tuple[dict[str, str], set[str]]] = {
    "pair": (PAIR, set()),
    "by_parity": (PAIR | {"SLICE": "blockIdx.x % 2"}, set()),
    "by_assembly": (PAIR | {"ARRIVE": "remote(&empty[i % 4], 0); remote(&empty[i % 4], 1)"}, set()),
    "by_one": (
        PAIR | {"COUNT": "2", "ARRIVE": "if (threadIdx.x < 2) Empty::arrive(&empty[i % 4], threadIdx.x, 1)"}, set(),
    ),
    "by_lanes": (PAIR | {"COUNT": "8", "ARRIVE": LANES}, set()),
    "by_lanes_of_one_block": (PAIR | {"COUNT": "4", "ARRIVE": LANES}, {"CUT217"}),
    "by_lanes_of_more_blocks": (PAIR | {"COUNT": "12", "ARRIVE": LANES}, {"CUT217"}),
    "by_lanes_at_one_block": (PAIR | {"COUNT": "8", "ARRIVE": LANES.replace("< 2", "< 1")}, {"CUT217"}),
    "own_block_beside_others": (
        PAIR | {
            "COUNT": "128", "ARRIVE": "Empty::arrive(&empty[i % 4])",
            "cluster_sync();\n  if (thr":
                "cluster_sync();\n  if (threadIdx.x == 0) { Full::init(other, 1); notify(other, &told); }\n"
                "  Full::wait(other, 0);\n  if (thr",
            "uint64_t full[4]": "float told;\n  __shared__ uint64_t other[1], full[4]",
        },
        {"CUT217"},
    ),
    "in_a_loop": (
        PAIR | {
            "COUNT": "2",
            "ARRIVE": "if (threadIdx.x == 0) { for (uint32_t c = 0; c < 2; ++c) Empty::arrive(&empty[i % 4], c, 1); }",
        },
        set(),
    ),
    "not_shared": (PAIR | {"MASK": "0", "COUNT": "128", "ARRIVE": "Empty::arrive(&empty[i % 4])"} | ALONE, set()),
    "four": (FOUR, set()),
    "pair_by_itself": (ITSELF | PAIR, set()),
    "four_by_itself": (ITSELF | FOUR, set()),
    "counts_own_by_itself": (ITSELF | PAIR | {"COUNT": "128"}, {"CUT217"}),
    "to_first_by_itself": (ITSELF | PAIR | {"MASK": "1"}, {"CUT804"}),
    "all_four_by_itself": (ITSELF | FOUR | {"MASK": "15"}, {"CUT804"}),
    "counts_own": (PAIR | {"COUNT": "128"}, {"CUT217"}),
    "one_block": (PAIR | {"ARRIVE": "Empty::arrive(&empty[i % 4], 0, 1)"}, {"CUT217"}),
    "own_block": (PAIR | {"COUNT": "128", "ARRIVE": "Empty::arrive(&empty[i % 4])"}, {"CUT217"}),
    "to_itself": (PAIR | {"MASK": "1 << rank"}, {"CUT804"}),
    "without_itself": (PAIR | {"MASK": "1 << (rank ^ 1)"}, {"CUT804"}),
    "to_first": (PAIR | {"MASK": "1"}, {"CUT804"}),
    "no_such_block": (PAIR | {"MASK": "6"}, {"CUT804"}),
    "column": (FOUR | {"MASK": "(1 << cx) | (1 << (cx + 2))"}, {"CUT804"}),
    "all_four": (FOUR | {"MASK": "15"}, {"CUT804"}),
    "in_two_statements": (TWO, set()),
    "in_two_statements_counts_own": (TWO | {"COUNT": "1"}, {"CUT217"}),
    "first_phase_of_empty": (TWO | {"(i / 4 & 1) ^ 1": "i / 4 & 1"}, {"CUT217"}),
    "ends_at_once": (TWO | {"  }\n  cluster_sync();": "  }\n  cutlass::arch::NamedBarrier::sync(160, 0);"}, {"CUT217"}),
    "few_passes": (TWO | SHORT, set()),
    "few_passes_of_another_phase": (TWO | SHORT | {"full[i % 4], i / 4 & 1": "full[i % 4], i / 8 & 1"}, {"CUT213"}),
    "many_roles": (MANY, set()),
    "many_roles_of_another_phase": (MANY | {"(i / 4 & 1) ^ 1": "i / 4 & 1"}, {"CUT217"}),
    "same_part": (PAIR | {"SLICE": "0", "TILE": "blockIdx.y + n / 7"}, {"CUT804"}),
    "part_of_any_tile": (PAIR | {"TILE": "blockIdx.y + n / 7"}, set()),
    "other_tiles": (PAIR | {"TILE": "blockIdx.x % (n / 128)"}, {"CUT804"}),
    "tiles_of_pairs": (PAIR | {"TILE": "blockIdx.x / 2 % (n / 128)"}, set()),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp("clusters")
    text = HEAD
    for name, (words, _) in KERNELS.items():
        kernel = KERNEL.replace("NAME", name)
        for word, new in words.items():
            kernel = kernel.replace(word, new)
        text += kernel
    (folder / "k.cu").write_text(text)
    made = check(inputs([str(folder)]), Settings(cache=False, arch=("sm_90a",), select=("CUT2", "CUT80")))
    assert not made.failures
    assert not made.errors
    return {name: {f.code for f in made.findings if f.enclosing.partition("<")[0] == name} for name in KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_who_is_told_and_to_whom_it_goes(name: str, found: dict[str, set[str]]) -> None:
    assert found[name] == KERNELS[name][1]


def test_masks_by_hand() -> None:
    """The masks of the table, by what each block of the cluster needs: its own row's tile, a part from each of two."""
    row = {(x, y): {r for r in range(4) if r // 2 == y} for x in range(2) for y in range(2)}
    masks = {"four": lambda x, y: 3 << 2 * y, "column": lambda x, y: 1 << x | 1 << x + 2, "all_four": lambda x, y: 15}
    for name, mask in masks.items():
        right = all({r for r in range(4) if mask(x, y) >> r & 1} == need for (x, y), need in row.items())
        assert right == (not KERNELS[name][1])


REDUCE = """
__device__ void store_NAME(uint32_t at, float v) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" :: "r"(at), "f"(v) : "memory");
}
__global__ void __launch_bounds__(128) NAME(float const* in, float* out, int n) {
  __shared__ float part[2];
  Tensor g = make_tensor(make_gmem_ptr(in + blockIdx.x * n), make_layout(n));
  uint32_t rank = block_rank_in_cluster();
  BEFORE;
  if (threadIdx.x < 2) store_NAME(set_block_rank(cast_smem_ptr_to_uint(&part[rank]), threadIdx.x), g(threadIdx.x));
  AFTER;
  out[blockIdx.x * 128 + threadIdx.x] = part[0] + part[1];
}
void run_NAME(float const* in, float* out, int n) {
  cutlass::ClusterLaunchParams params = {dim3(8, 1, 1), dim3(128), dim3(BLOCKS, 1, 1), 0};
  cutlass::launch_kernel_on_cluster(params, (void const*)&NAME, in, out, n);
}
"""
MEET = "cluster_sync()"
ASSEMBLED = 'asm volatile("barrier.cluster.arrive.aligned;\\\\nbarrier.cluster.wait.aligned;" ::: "memory")'
REDUCED = {
    "both": ((MEET, MEET, "2"), False),
    "split": (("cluster_arrive_relaxed(); cluster_wait()", ASSEMBLED, "2"), False),
    "alone": (("", "__syncthreads()", "1"), False),
    "not_before": (("__syncthreads()", MEET, "2"), True),
    "not_after": ((MEET, "__syncthreads()", "2"), True),
}


def test_blocks_wait_for_one_another(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("remote")
    text = HEAD
    for name, ((before, after, blocks), _) in REDUCED.items():
        kernel = REDUCE.replace("NAME", name).replace("BEFORE", before).replace("AFTER", after)
        text += kernel.replace("BLOCKS", blocks)
    (folder / "k.cu").write_text(text.replace("\\\\n", "\\n"))
    made = check(inputs([str(folder)]), Settings(cache=False, arch=("sm_90a",), select=("CUT217",)))
    assert not made.failures
    assert not made.errors
    assert {f.enclosing for f in made.findings} == {name for name, (_, wrong) in REDUCED.items() if wrong}


MOMENTS = (
    HEAD
    + """
struct Storage { alignas(8) uint64_t sums_full; uint64_t empty[4]; float sums[2]; };
__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) sums(float* out, int n) {
  extern __shared__ __align__(16) char raw[];
  auto& st = *reinterpret_cast<Storage*>(raw);
  if (threadIdx.x == 0) {
    initialize_barrier(st.sums_full, 1);
    for (int i = 0; i < 4; ++i) Empty::init(&st.empty[i], COUNT);
  }
  cluster_sync();
  if (threadIdx.x < 2) notify(&st.sums_full, &st.sums[threadIdx.x]);
  wait_barrier(st.sums_full, 0);
  for (int i = 0; i < n; ++i) {
    Empty::arrive(&st.empty[i % 4], threadIdx.x % 32, uint32_t(threadIdx.x % 32 < 2));
    Empty::wait(&st.empty[i % 4], i / 4 & 1);
  }
  Tensor g = make_tensor(make_gmem_ptr(out + 2 * blockIdx.x), Layout<_2>{});
  copy(make_tensor(make_smem_ptr(st.sums), Layout<_2>{}), g);
}
void go(float* out, int n) { sums<<<dim3(8), 128, sizeof(Storage)>>>(out, n); }
"""
)


@pytest.mark.parametrize(("count", "codes"), [("8", set()), ("4", {"CUT217"})])
def test_a_member_whose_address_goes_to_assembly(
    tmp_path_factory: pytest.TempPathFactory, count: str, codes: set[str]
) -> None:
    folder = tmp_path_factory.mktemp("sums")
    (folder / "k.cu").write_text(MOMENTS.replace("COUNT", count))
    made = check(inputs([str(folder)]), Settings(cache=False, arch=("sm_90a",), select=("CUT217",)))
    assert {f.code for f in made.findings} == codes
