"""Kernels that give CuTe's functions on barriers a reference: which barrier of an array it is."""

import re
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.tests.rules.test_roles import KERNEL, MISTAKES

BY_REFERENCE = {
    "Full::init(": "initialize_barrier(",
    "Empty::init(": "initialize_barrier(",
    "Full::arrive_and_expect_tx(": "set_barrier_transaction_bytes(",
    "Full::wait(": "wait_barrier(",
    "Empty::wait(": "wait_barrier(",
    "Empty::arrive(": "arrive_barrier(",
}
HELPERS = """
__device__ uint64_t& at(uint64_t* of, int i) { return of[i]; }
__device__ void hold(uint64_t& bar, int phase) { cute::wait_barrier(bar, phase); }
struct Ring {
  uint64_t* bars;
  __device__ uint64_t& operator()(int i) { return bars[i]; }
  __device__ void wait(int i, int phase) { cute::wait_barrier(bars[i], phase); }
};
"""
WAYS = {
    "elements": (),
    "pointers in an object": (
        ("  int stage = 0, phase", "  Ring ring{full};\n  int stage = 0, phase"),
        (r"wait_barrier\(full\[(.*?)\], ", r"ring.wait(\1, "),
    ),
    "parameters": ((r"wait_barrier\((.*?), ", r"hold(\1, "),),
    "returned": (
        ("  int stage = 0, phase", "  Ring ring{empty};\n  int stage = 0, phase"),
        (r"wait_barrier\(full\[(.*?)\], ", r"wait_barrier(at(full, \1), "),
        (r"wait_barrier\(empty\[(.*?)\], ", r"wait_barrier(ring(\1), "),
    ),
    "addresses of variables": (
        (r"wait_barrier\(empty\[(.*?)\], ", r"uint64_t& now = empty[\1];\n      Empty::wait(&now, "),
        (r"wait_barrier\(full\[(.*?)\], ", r"auto& now = full[\1];\n    Full::wait(&now, "),
    ),
    "variables": ((r"wait_barrier\(full\[(.*?)\], ", r"uint64_t& now = full[\1];\n    wait_barrier(now, "),),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["right", "full_of_another_stage", "empty_of_another_phase"])
def test_mistake(name: str, way: str, tmp_path: Path) -> None:
    old, new, codes = MISTAKES[name]
    text = KERNEL.replace(old, new)
    for pointer, reference in BY_REFERENCE.items():
        text = text.replace(f"{pointer}&", reference)
    for pattern, spelled in WAYS[way]:
        text = re.sub(pattern if "\\" in pattern else re.escape(pattern), spelled, text)
    (tmp_path / "sum.cu").write_text(PREAMBLE + HELPERS + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), ignore=("CUT1", "CUT4", "CUT217")))
    assert not report.failures
    found = {f.code for f in report.findings}
    assert codes <= found
    assert codes or not found


AGAIN = """
using Smem = Layout<Shape<_128, _64>, Stride<_64, _1>>;
template <class Tma> __global__ void each(CUTE_GRID_CONSTANT Tma const tma, float* out) {
  extern __shared__ alignas(128) half_t smem[];
  __shared__ uint64_t bar[1];
  Tensor mA = tma.get_tma_tensor(make_shape(_128{}, _256{}));
  Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(0, _));
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  auto cta = tma.get_slice(0);
  Tensor tAg = cta.partition_S(gA), tAs = cta.partition_D(sA);
  for (int stage = 0; stage < size<3>(tAg); ++stage) {
    if (threadIdx.x == 0) {
      INIT
      set_barrier_transaction_bytes(bar[0], 16384);
      copy(tma.with(bar[0]), tAg(_, _, _, stage), tAs);
    }
    __syncthreads();
    wait_barrier(bar[0], 0);
    out[threadIdx.x] += float(sA(threadIdx.x, 0));
    __syncthreads();
  }
}
void run(half_t const* A, float* out) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_128, _256>, Stride<_256, _1>>{});
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{});
  each<<<1, 128, 16384>>>(tma, out);
}
"""


@pytest.mark.parametrize(
    ("init", "codes"),
    [("initialize_barrier(bar[0], 1);", set()), ("if (stage == 0) initialize_barrier(bar[0], 1);", {"CUT217"})],
)
def test_a_barrier_that_is_made_for_each_tile_begins_with_its_first_phase(
    init: str, codes: set[str], tmp_path: Path
) -> None:
    (tmp_path / "each.cu").write_text(PREAMBLE + AGAIN.replace("INIT", init))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT2",)))
    assert not report.failures
    found = {f.code for f in report.findings}
    assert codes <= found
    assert codes or not found
