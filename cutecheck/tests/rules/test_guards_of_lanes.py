"""Guards that keep lanes of a warp from an access, or whole warps: told by what they are, not by their names."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
enum class Role { Producer, First, Second };
__shared__ alignas(128) float buffer[4096];
__global__ void k(int rows) {
  BEFORE
  Tensor s = make_tensor(make_smem_ptr(buffer), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  Tensor r = make_tensor<float>(Shape<_4>{});
  Tensor q = logical_divide(s, make_tile(_, _4{}))(threadIdx.x % 32, make_coord(_, 0));
  AROUND copy(q, r);
}
void run(int rows) { k<<<1, 384>>>(rows); }
"""
ROLE = "auto warp_group_role = Role(__shfl_sync(~0u, threadIdx.x / 128, 0));"


@pytest.mark.parametrize(
    ("before", "around", "wavefronts"),
    [
        (ROLE, "if (warp_group_role == Role::First || warp_group_role == Role::Second)", "32"),
        ("int warp_idx = threadIdx.x / 32;", "if (warp_idx == 2)", "32"),
        ("bool ok = threadIdx.x < rows;", "if (ok)", "32"),
        ("int slot = threadIdx.x % 128;", "if (slot == 2)", ""),
        ("int slot = threadIdx.x % 128; if (slot > 0) return;", "", ""),
        ("bool leader = threadIdx.x % 128 == 0;", "if (leader)", ""),
        ("bool issues = cute::elect_one_sync();", "if (issues)", ""),
        ("int slot = threadIdx.x % 128;", "if (slot < 2)", "2"),
        ("bool half = threadIdx.x % 32 < 16 && threadIdx.x < 96;", "if (half)", "16"),
    ],
)
def test_a_conflict_is_of_the_lanes_that_pass(tmp_path: Path, before: str, around: str, wavefronts: str) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("BEFORE", before).replace("AROUND", around))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
    found = [f.message.split(" takes ")[1].split()[0] for f in made.findings if f.code == "CUT101"]
    assert found == ([wavefronts] if wavefronts else [])


ROLES = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
struct Plan { alignas(128) half_t a[4096]; cutlass::arch::ClusterBarrier full, empty; };
__global__ void __launch_bounds__(384) k(int n, float* o) {
  extern __shared__ char raw[];
  Plan& plan = *reinterpret_cast<Plan*>(raw);
  int wg_idx = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  if (threadIdx.x == 0) { plan.full.init(128); plan.empty.init(COUNT); }
  __syncthreads();
  Tensor s = make_tensor(make_smem_ptr(plan.a), Layout<Shape<_128, _8>, Stride<_8, _1>>{});
  Tensor r = make_tensor<half_t>(Shape<_8>{});
  if (wg_idx == 0) {
    for (int i = 0; i < n; ++i) {
      plan.full.wait(i & 1);
      copy(s(threadIdx.x, _), r);
      o[i * 128 + threadIdx.x] = float(r(0));
      plan.empty.arrive();
    }
  } else if (wg_idx == 1) {
    fill(r, half_t(1));
    for (int i = 0; i < n; ++i) {
      plan.empty.wait((i & 1) ^ 1);
      copy(r, s(threadIdx.x - 128, _));
      plan.full.arrive();
    }
  }
}
void run(int n, float* o) { k<<<1, 384, sizeof(Plan)>>>(n, o); }
"""


@pytest.mark.parametrize(("count", "expected"), [("128", []), ("1", ["128 threads arrive"])])
def test_the_warps_of_one_role_arrive(tmp_path: Path, count: str, expected: list[str]) -> None:
    (tmp_path / "k.cu").write_text(ROLES.replace("COUNT", count))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
    assert [f.message.split(" at ")[0] for f in made.findings if f.code == "CUT217"] == expected


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        ("Layout<Shape<_64, _64>, Stride<_64, _1>>{}", {"CUT103"}),
        ("tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{})", set()),
    ],
)
def test_slices_of_warpgroups_from_the_second_on(tile: str, expected: set[str], tmp_path: Path) -> None:
    """``(threadIdx.x - 128) % 128``: each warpgroup behind the first has all slices."""
    (tmp_path / "k.cu").write_text(
        PREAMBLE
        + """
__global__ void __launch_bounds__(384) k() {
  __shared__ alignas(1024) half_t mem[2 * 64 * 64];
  int const group = threadIdx.x / 128;
  if (group > 0) {
    int const thread = threadIdx.x - 128;
    auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
    auto store = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, half_t>{}, mma);
    auto thr = store.get_slice(thread % 128);
    Tensor s = make_tensor(make_smem_ptr(mem + (group - 1) * 4096), TILE);
    Tensor r = make_tensor<half_t>(partition_shape_C(mma, Shape<_64, _64>{}));
    fill(r, half_t(1));
    copy(store, thr.retile_S(r), thr.partition_D(s));
  }
}
void run() { k<<<1, 384>>>(); }
""".replace("TILE", tile)
    )
    report = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",), select=("CUT1",)))
    assert not report.failures and {f.code for f in report.findings} == expected
    assert all(o.verdict.value != "unknown" for o in report.outcomes)
