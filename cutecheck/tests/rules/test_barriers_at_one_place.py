"""Arrays of barriers that lie over one another: one barrier is initialised twice, to count other arrivals (CUT217)."""

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
using Barrier = cutlass::arch::ClusterTransactionBarrier;
__global__ void __launch_bounds__(160) NAME(const __grid_constant__ cute::TmaDescriptor map, float* out, int tiles) {
  extern __shared__ __align__(1024) uint8_t smem[];
  half_t* tile[2];
  Barrier *full[2], *empty[2];
  Barrier* start = reinterpret_cast<Barrier*>(smem + 2 * 8192);
  for (int i = 0; i < 2; ++i) {
    tile[i] = reinterpret_cast<half_t*>(smem + i * 8192);
    full[i] = start + i;
    empty[i] = start + 2 + i;
  }
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      full[i]->init(1);
      empty[i]->init(4);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 128) {
    for (int k = 0; k < tiles; ++k) {
      int const s = k % 2;
      empty[s]->wait((k / 2 & 1) ^ 1);
      full[s]->arrive_and_expect_tx(8192);
      SM90_TMA_LOAD_2D::copy(&map, reinterpret_cast<uint64_t*>(full[s]), 0, tile[s], k * 64, 0);
    }
  } else if (threadIdx.x < 128) {
    auto thr = Read{}.get_slice(threadIdx.x);
    for (int k = 0; k < tiles; ++k) {
      int const s = k % 2;
      full[s]->wait(k / 2 & 1);
      Tensor part = thr.partition_S(make_tensor(make_smem_ptr(tile[s]), Layout<Shape<_64, _64>, Stride<_64, _1>>{}));
      Tensor r = make_fragment_like(part);
      copy(Read{}, part, r);
      out[k * 128 + threadIdx.x] = float(r(0));
      __syncwarp();
      if (threadIdx.x % 32 == 0) empty[s]->arrive();
    }
  }
}
"""
HEAD = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Read = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
"""
EMPTY, INIT = "empty[i] = start + 2 + i;", "empty[i]->init(4);"
KERNELS: dict[str, tuple[dict[str, str], bool]] = {
    "right": ({}, False),
    "overlaid": ({EMPTY: "empty[i] = start + 1 + i;"}, True),
    "turned": ({EMPTY: "empty[i] = start + 3 - i;"}, False),
    "apart": ({EMPTY: "empty[i] = start + 4 + i;"}, False),
    "between": ({"full[i] = start + i;": "full[i] = start + 2 * i;", EMPTY: "empty[i] = start + 2 * i + 1;"}, False),
    "chosen": ({INIT: "if (i == 0) empty[i]->init(4); else empty[i]->init(2 * 2);"}, False),
    "never": ({INIT: f"{INIT} if (tiles < 0) empty[i]->init(3);"}, False),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp("k")
    text, runs = HEAD, ""
    for name, (changes, _) in KERNELS.items():
        one = KERNEL.replace("NAME", name)
        for old, new in changes.items():
            assert old in one
            one = one.replace(old, new)
        text += one
        runs += f"  {name}<<<8, 160, 2 * 8192 + 64>>>(map, out, tiles);\n"
    (folder / "k.cu").write_text(f"{text}void run(cute::TmaDescriptor map, float* out, int tiles) {{\n{runs}}}\n")
    made = check(inputs([str(folder)]), Settings(cache=False, arch=("sm_90a",), select=("CUT21",)))
    assert not made.failures and not made.errors
    return {name: {f.message for f in made.findings if f.enclosing == name} for name in KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_counts_at_one_place(name: str, found: dict[str, set[str]]) -> None:
    said = [m for m in found[name] if "two barriers lie at one place" in m]
    assert bool(said) == KERNELS[name][1]
    assert bool(found[name]) == KERNELS[name][1]
