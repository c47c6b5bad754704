"""Barriers behind the end of the shared memory that a launch asks for."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
struct Storage {
  alignas(128) half_t A[64 * 64];
  uint64_t full[2];
};
struct First {
  uint64_t full[2];
  alignas(128) half_t A[64 * 64];
};
template <class S>
__global__ void __launch_bounds__(128) ring(half_t* out, int n) {
  extern __shared__ char raw[];
  S& smem = *reinterpret_cast<S*>(raw);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { cutlass::arch::ClusterBarrier::init(&smem.full[i], 128); }
  }
  cutlass::arch::fence_barrier_init();
  __syncthreads();
  cutlass::arch::ClusterBarrier::arrive(&smem.full[0]);
  cutlass::arch::ClusterBarrier::wait(&smem.full[0], 0);
  Tensor s = make_tensor(make_smem_ptr(smem.A), Layout<Shape<_64, _64>>{});
  s(threadIdx.x) = half_t(float(n));
  __syncthreads();
  out[threadIdx.x] = s(127 - threadIdx.x);
}
void run(half_t* out, int n, int bytes) { ring<Storage><<<1, 128, SIZE>>>(out, n); }
"""


def reported(tmp_path: Path, storage: str, size: str) -> list[str]:
    source = KERNEL.replace("ring<Storage>", f"ring<{storage}>").replace("SIZE", size)
    (tmp_path / "k.cu").write_text(PREAMBLE + "#include <cutlass/arch/barrier.h>\n" + source)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",)))
    return [f.message for f in report.findings if f.code == "CUT209"]


def test_a_launch_without_the_bytes_of_the_barriers(tmp_path: Path) -> None:
    found = reported(tmp_path, "Storage", "64 * 64 * sizeof(half_t)")
    assert any("a barrier in" in message and "8 bytes behind" in message for message in found)


@pytest.mark.parametrize(
    ("storage", "size"),
    [
        ("Storage", "sizeof(Storage)"),
        ("Storage", "64 * 64 * sizeof(half_t) + 2 * sizeof(uint64_t)"),
        ("Storage", "64 * 64 * sizeof(half_t) + 1024"),
        ("Storage", "bytes"),  # not known
        ("First", "sizeof(First)"),
        ("First", "128 + 64 * 64 * sizeof(half_t)"),
    ],
)
def test_launches_with_room_for_all(tmp_path: Path, storage: str, size: str) -> None:
    assert reported(tmp_path, storage, size) == []
