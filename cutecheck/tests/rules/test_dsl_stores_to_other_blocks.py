"""Kernels of the DSL whose blocks store to one another's shared memory and tell the barriers there."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.rules.test_dsl_roles import found_codes

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32
from cutlass.cute.runtime import make_fake_tensor


@cute.jit
def reduce(value: Float32, parts: cute.Tensor, bar: cute.Pointer, phase: cutlass.Constexpr[int]):
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(bar, 4 * 4 * 2)
    if lane < 2:
        at = parts.iterator + warp + 4 * cute.arch.block_idx_in_cluster()
        cute.arch.store_async_dsmem(at, value.bitcast(Int32), bar, lane)
    cute.arch.mbarrier_wait(bar, phase)
    return parts[lane % 8]


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    parts = smem.allocate_tensor(Float32, cute.make_layout((8, 2)), 16)
    bars = smem.allocate_array(cutlass.Int64, 2)
    if tid == 0:
        cute.arch.mbarrier_init(bars, COUNT)
        cute.arch.mbarrier_init(bars + 1, COUNT)
    cute.arch.mbarrier_init_fence()
    MEET
    value = reduce(x[block * 128 + tid], parts[None, 0], bars, 0)
    value = reduce(x[block * 128 + tid] + value, parts[None, 1], SECOND)
    y[block * 128 + tid] = value
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=(8, 1, 1), block=(128, 1, 1), cluster=(2, 1, 1))


cute.compile(host, *(make_fake_tensor(Float32, (1024,), stride=(1,), assumed_align=16) for _ in "xy"))
"""
MEET = "cute.arch.cluster_arrive_relaxed()\n    cute.arch.cluster_wait()"


@pytest.mark.parametrize(
    ("count", "meet", "second", "codes"),
    [
        ("1", MEET, "bars + 1, 0", []),
        ("1", MEET, "bars, 1", []),
        ("2", MEET, "bars + 1, 0", ["CUT217"]),
        ("1", "pass", "bars + 1, 0", ["CUT217"]),
        ("1", MEET, "bars, 0", ["CUT217"]),
        ("1", MEET, "bars + 1, 1", ["CUT217"]),
    ],
)
def test_sums_of_a_cluster(tmp_path: Path, count: str, meet: str, second: str, codes: list[str]) -> None:
    text = KERNEL.replace("COUNT", count).replace("MEET", meet).replace("SECOND", second)
    assert found_codes(tmp_path, text) == codes
