"""Kernels of the DSL with one step of their pipelines wrong; the DSL compiles all that have a finding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import PIPELINE, Call, Unknown
from cutecheck.model.atoms import mma_op
from cutecheck.rules.derive.protocol import Pipeline, expected
from cutecheck.rules.pipeline_steps import PipelineStepMissing
from cutecheck.tests.rules.build import FLOAT, HALF, SPAN, copy_event, universal

KERNELS = Path(__file__).parents[1] / "data" / "mainloops"
BARRIER = "                cute.arch.barrier(barrier_id=1, number_of_threads=self.mma_threads)\n"
LOAD = "                    cute.copy(tb, tBgB[None, state.count], tBsB[None, state.index], tma_bar_ptr=bar)\n"
WAIT = (
    "                cute.arch.cp_async_wait_group(STAGES - 2)\n"
    "                cute.arch.sync_threads()\n"
    "            nxt"
)
COMMIT = "                k_index = k_index + 1\n                cute.arch.cp_async_commit_group()\n"
UNDER = "                    cute.arch.cp_async_commit_group()\n                k_index = k_index + 1\n"
STATE = "read = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer"
HOPPER = [
    ("tx_count=nbytes", "tx_count=nbytes // 2", ["CUT805"]),
    ("tx_count=nbytes", "tx_count=nbytes * 2", ["CUT805"]),
    (LOAD, "", ["CUT805"]),
    ("            pipe.consumer_wait(read)\n            warpgroup", "            warpgroup", ["CUT214"]),
    ("                pipe.consumer_wait(read)\n", "", ["CUT214"]),
    ("                    pipe.producer_acquire(state)\n", "", ["CUT214"]),
    ("                pipe.consumer_release(release)\n                read", "                read", ["CUT214"]),
    ("num_stages=self.stages,", "num_stages=self.stages + 1,", ["CUT214"]),
    ("                    state.advance()\n", "", ["CUT214"]),
    ("UserType.Producer, self.stages)", "UserType.Producer, self.stages - 1)", ["CUT214"]),
    ("read = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer", STATE, ["CUT214"]),
    ("barrier_storage=storage.bars.data_ptr()", "barrier_storage=smem.allocate_array(cutlass.Int64, 4)", ["CUT214"]),
    ("            warpgroup.fence()\n            for", "            for", ["CUT215"]),
    ("                warpgroup.commit_group()\n", "", ["CUT215"]),
    ("                warpgroup.wait_group(1)\n", "", ["CUT215"]),
    ("            warpgroup.wait_group(0)\n", "            warpgroup.wait_group(1)\n", ["CUT215"]),
    ('                cute.arch.fence_proxy("async.shared", space="cta")\n', "", ["CUT216"]),
    ("                    store_pipe.producer_commit()\n", "", ["CUT216"]),
    (BARRIER + "                if warp", "                if warp", ["CUT212", "CUT216"]),
    # what does the same in other words
    ("pipe.consumer_wait(read)", "pipe.consumer_wait(read, pipe.consumer_try_wait(read))", []),
    ("pipe.producer_get_barrier(state)", "pipe.sync_object_full.get_barrier(state.index)", []),
    ("                    pipe.producer_acquire(state)\n", "                    acquire(pipe, state)\n", []),
]  # fmt: skip
REGISTERS = [
    (WAIT, WAIT.replace("                cute.arch.cp_async_wait_group(STAGES - 2)\n", ""), ["CUT213"]),
    (WAIT, WAIT.replace("STAGES - 2", "STAGES - 1"), ["CUT213"]),
    (WAIT, WAIT.replace("                cute.arch.sync_threads()\n", ""), ["CUT212"]),
    (COMMIT, UNDER, ["CUT213"]),
    ("if kb == nk - 1:", "if kb + 1 == nk:", []),
]  # fmt: skip


def codes(folder: Path, name: str, old: str, new: str) -> list[str]:
    text = (KERNELS / name).read_text()
    assert old in text
    path = folder / name
    path.write_text(text.replace(old, new))
    made = check(inputs([str(path)]), Settings(cache=False))
    assert not made.failures and not made.errors
    return sorted({f.code for f in made.findings})


@pytest.mark.parametrize(("old", "new", "expected"), HOPPER)
def test_a_step_of_a_warp_specialised_kernel(old: str, new: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, "dsl_hopper.py", old, new) == expected


@pytest.mark.parametrize(("old", "new", "expected"), REGISTERS)
def test_a_condition_in_an_unrolled_loop(old: str, new: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, "dsl_registers.py", old, new) == expected


@pytest.mark.parametrize("name", ["dsl_hopper.py", "dsl_registers.py"])
def test_the_kernels_themselves(name: str, tmp_path: Path) -> None:
    assert codes(tmp_path, name, "cutlass", "cutlass") == []


ROWS = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, load: cute.TiledCopy, store: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(x.element_type, cute.make_layout((1, 1024), stride=(1024, 1)), 16)
    thr = load.get_slice(tidx)
    cute.copy(load, thr.partition_S(cute.local_tile(x, (1, 1024), (row, 0))), thr.partition_D(s))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    out = store.get_slice(tidx)
    mine = out.partition_S(s)
    regs = cute.make_fragment_like(mine)
    cute.autovec_copy(mine, regs)
    cute.copy(store, regs, out.partition_D(cute.local_tile(y, (1, 1024), (row, 0))))


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    cp = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), x.element_type, num_bits_per_copy=128)
    un = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
    threads = cute.make_layout((1, 128), stride=(128, 1))
    load = cute.make_tiled_copy_tv(cp, threads, cute.make_layout((1, 8)))
    store = cute.make_tiled_copy_tv(un, THREADS, cute.make_layout((1, 8)))
    kernel(x, y, load, store).launch(grid=(4, 1, 1), block=(128, 1, 1))


t = make_fake_tensor(cutlass.Float16, (4, 1024), stride=(1024, 1), assumed_align=16)
cute.compile(host, t, t)
"""


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        ("threads", []),  # another operation, but each thread reads what it copied
        ("cute.make_layout((1, (64, 2)), stride=(128, (2, 1)))", ["CUT212"]),
    ],
)
def test_a_thread_reads_what_it_copied(threads: str, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    path.write_text(ROWS.replace("THREADS", threads))
    made = check(inputs([str(path)]), Settings(arch=("sm_80",), cache=False))
    assert not made.failures and not made.errors
    assert sorted({f.code for f in made.findings} & {"CUT212", "CUT213"}) == expected


SUMS = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(y: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    warp = cute.arch.warp_idx()
    total = cute.arch.warp_reduction(cutlass.Float32(tid), lambda a, b: a + b)
    sums = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(BLOCK), 4)
    STORE
    BETWEEN
    READ
    y[tid] = total


@cute.jit
def host(y: cute.Tensor):
    kernel(y).launch(grid=(1, 1, 1), block=(BLOCK, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (BLOCK,), stride=(1,), assumed_align=16))
"""
OF_WARPS = "if lane == 0:\n        sums[warp] = total"
ALL_WARPS = "for w in cutlass.range_constexpr(BLOCK // 32):\n        total = total + sums[w]"
OF_ONE = "if tid == 0:\n        sums[0] = total"


@pytest.mark.parametrize(
    ("store", "read", "block", "wrong"),
    [
        (OF_WARPS, ALL_WARPS, 128, True),
        (OF_WARPS, ALL_WARPS.replace("_constexpr", ""), 128, True),
        (OF_WARPS, "total = sums[lane % 4]", 128, True),
        (OF_WARPS, ALL_WARPS, 32, False),  # one warp
        (OF_WARPS, "total = sums[warp]", 128, False),  # its own
        ("sums[tid] = total", "total = sums[tid]", 128, False),
        ("sums[tid] = total", "total = sums[tid ^ 1]", 128, False),  # in its warp
        ("sums[tid] = total", "total = sums[127 - tid]", 128, True),
        (OF_ONE, "total = sums[0]", 128, True),
        (OF_ONE, "if tid == 0:\n        total = sums[0]", 128, False),
    ],
)
@pytest.mark.parametrize("between", ["pass", "cute.arch.sync_threads()", "cute.arch.barrier()"])
def test_single_elements(store: str, read: str, block: int, wrong: bool, between: str, tmp_path: Path) -> None:
    text = SUMS.replace("STORE", store).replace("READ", read).replace("BETWEEN", between)
    path = tmp_path / "sums.py"
    path.write_text(text.replace("BLOCK", str(block)))
    made = check(inputs([str(path)]), Settings(arch=("sm_80",), cache=False))
    assert not made.failures and not made.errors
    assert sorted({f.code for f in made.findings}) == ["CUT212"] * (wrong and between == "pass")


@pytest.mark.parametrize(
    ("made", "atom", "told", "right"),
    [
        ("PipelineTmaUmma", "SM100_MMA_F16BF16_SS", 4096, True),
        ("PipelineTmaUmma", "SM100_MMA_F16BF16_SS", 8192, False),
        ("PipelineTmaUmma", "SM100_MMA_F16BF16_2x1SM_SS", 8192, True),  # two CTAs bring as much each
        ("PipelineTmaUmma", None, 8192, True),  # who reads is not known
        ("PipelineTmaUmma", None, 2048, False),
        ("PipelineTmaAsync", None, 8192, False),
    ],
)
def test_bytes_of_two_ctas(made: str, atom: str | None, told: int, right: bool) -> None:
    tile = ("gmem", "(_8,_8):(_8,_1)"), ("smem", "(_8,_8):(_8,_1)")
    event = copy_event(universal(32, HALF, "(_8,_4):(_4,_1)", "(_1,_2):(_2,_1)"), HALF, *tile)
    m = 256 if atom is not None and "2x1SM" in atom else 128
    read = [] if atom is None else [mma_op(atom, (HALF, HALF, FLOAT, m, 128, "UMMA::Major::K", "UMMA::Major::K"))]
    pipeline = Pipeline(Call(f"{made}.create", SPAN, (), Unknown(PIPELINE, SPAN), "k", "sm_100a"))
    pipeline.reads = [replace(event, kind="gemm", tiled=tiled) for tiled in read]
    assert expected(pipeline, 4096, told) is right


def test_what_brings_nothing_need_not_be_waited_for(tmp_path: Path) -> None:
    """A pipeline for operands that this configuration does not have: its steps are there, and no load or read."""
    (without_wait,) = PipelineStepMissing.invalid
    lines = without_wait.splitlines(keepends=True)
    gone = ("cute.copy(load, ", "part = ", "regs = ", "cute.copy(copy, ")
    found = {}
    for name, text in (("all", lines), ("steps", [x for x in lines if not x.strip().startswith(gone)])):
        path = tmp_path / f"{name}.py"
        path.write_text(dedent("".join(text)))
        report = check(inputs([str(path)]), Settings(arch=("sm_90a",), cache=False))
        assert not report.failures and not report.errors
        found[name] = [f.code for f in report.findings if f.code == "CUT214"]
    assert found == {"all": ["CUT214"], "steps": []}
