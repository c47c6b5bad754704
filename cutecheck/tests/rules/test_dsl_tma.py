"""TMA copies of the DSL: events with the atom of their descriptor, and what rules say of barriers around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Event
from cutecheck.model.atoms import CopyAtom
from cutecheck.report.data import Report
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def kernel(load: cute.CopyAtom, mA: cute.Tensor, store: cute.CopyAtom, mB: cute.Tensor, layout: cute.ComposedLayout):
    smem = cutlass.utils.SmemAllocator()
    bar = smem.allocate_array(cutlass.Int64, 1)
    sA = smem.allocate_tensor(cutlass.Float16, layout.outer, byte_alignment=128, swizzle=layout.inner)
    one = cute.make_layout(1)
    gA = cute.local_tile(mA, (128, 64), (None, 0))
    gB = cute.local_tile(mB, (128, 64), (None, 0))
    ts, tg = cpasync.tma_partition(load, 0, one, cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2))
    us, ug = cpasync.tma_partition(store, 0, one, cute.group_modes(sA, 0, 2), cute.group_modes(gB, 0, 2))
    cute.arch.ANNOUNCE(bar, BYTES)
    cute.copy(load, tg[None, 0], ts[None, 0], tma_bar_ptr=bar)
    BETWEEN
    cute.copy(store, us[None, 0], ug[None, 0])
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def host(pipe: object, mA: cute.Tensor, mB: cute.Tensor):
    atom = cute.nvgpu.warpgroup.make_smem_layout_atom(
        cute.nvgpu.warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16
    )
    layout = cute.tile_to_shape(atom, (128, 64, 2), order=(0, 1, 2))
    one = cute.slice_(layout, (None, None, 0))
    load, a = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), mA, one, (128, 64))
    store, b = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), mB, one, (128, 64))
    kernel(load, a, store, b, layout).launch(grid=(4, 1, 1), block=(128, 1, 1))


def tensor():
    stride = (cute.sym_int64(divisibility=8), 1)
    return make_fake_tensor(cutlass.Float16, (cute.sym_int(), cute.sym_int(divisibility=8)), stride=stride)


cute.compile(host, None, tensor(), tensor())
"""
)
WAIT = "cute.arch.mbarrier_wait(bar, 0)"


def report(folder: Path, announce: str = "mbarrier_arrive_and_expect_tx", count: int = 16384, by: str = WAIT) -> Report:
    text = SCRIPT.replace("ANNOUNCE", announce).replace("BYTES", str(count)).replace("BETWEEN", by)
    (folder / "main.py").write_text(text)
    return check(
        inputs([str(folder)]), Settings(arch=("sm_90a",), cache=False, ignore=("CUT217",))
    )  # of a barrier nobody initialised


def codes(made: Report) -> list[str]:
    assert not made.failures
    assert not made.errors
    return sorted({f.code for f in made.findings})


def test_copies_through_descriptors_are_events(tmp_path: Path) -> None:
    made = report(tmp_path)
    load, store = sorted(made.facts.events, key=lambda e: e.span.line)
    assert codes(made) == []

    def shown(event: Event) -> tuple[str, list[str]]:
        assert event.reason is None
        assert isinstance(event.tiled, CopyAtom)
        return event.tiled.op, [operand.space for operand in event.operands]

    assert shown(load) == ("SM90_TMA_LOAD", ["coord", "smem"])
    assert shown(store) == ("SM90_TMA_STORE", ["smem", "coord"])


@pytest.mark.parametrize(
    ("announce", "count", "expected"),
    [
        ("mbarrier_arrive_and_expect_tx", 8192, ["CUT805"]),
        ("mbarrier_arrive_and_expect_tx", 32768, ["CUT805"]),
        # what a pipeline was told when its stage was acquired counts as well
        ("mbarrier_expect_tx", 8192, []),
    ],
)
def test_bytes_that_are_added_are_not_all(tmp_path: Path, announce: str, count: int, expected: list[str]) -> None:
    assert codes(report(tmp_path, announce, count)) == expected


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("pass", ["CUT212", "CUT213"]),
        (WAIT, []),
        ("pipe.producer_acquire(0)", []),
        ("handle = pipe.acquire_and_advance()", []),
        ("pipe.acquire()", []),
        ("pipe.acquired()", ["CUT212", "CUT213"]),
    ],
)
def test_a_producer_that_acquires_a_stage_waits(tmp_path: Path, by: str, expected: list[str]) -> None:
    text = by.replace("pipe", "unknown_pipe")
    assert codes(report(tmp_path, by=f"unknown_pipe = cutlass.pipeline.Some()\n    {text}")) == expected


PAIRED = (
    HEAD
    + """
import cutlass.pipeline as pipeline
from cutlass.cute.nvgpu import cpasync, tcgen05, OperandMajorMode


@cute.kernel
def kernel(mma: cute.TiledMma, tma_a: cute.CopyAtom, mA: cute.Tensor, tma_b: cute.CopyAtom, mB: cute.Tensor,
           layout_a: cute.ComposedLayout, layout_b: cute.ComposedLayout, told: cutlass.Constexpr):
    smem = cutlass.utils.SmemAllocator()
    bars = smem.allocate_array(cutlass.Int64, 8)
    sA = smem.allocate_tensor(cutlass.Float16, layout_a.outer, byte_alignment=1024, swizzle=layout_a.inner)
    sB = smem.allocate_tensor(cutlass.Float16, layout_b.outer, byte_alignment=1024, swizzle=layout_b.inner)
    pipe = pipeline.PipelineTmaUmma.create(
        barrier_storage=bars, num_stages=4, tx_count=told,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 1),
    )
    gA = cute.local_tile(mA, (256, 64), (0, None))
    gB = cute.local_tile(mB, (128, 64), (0, None))
    thr = mma.get_slice(0)
    tA, tB = thr.partition_A(gA), thr.partition_B(gB)
    one = cute.make_layout(1)
    ta, ga = cpasync.tma_partition(tma_a, 0, one, cute.group_modes(sA, 0, 3), cute.group_modes(tA, 0, 3))
    tb, gb = cpasync.tma_partition(tma_b, 0, one, cute.group_modes(sB, 0, 3), cute.group_modes(tB, 0, 3))
    rA, rB = mma.make_fragment_A(sA), mma.make_fragment_B(sB)
    holder = smem.allocate_array(cutlass.Int32, 1)
    ptr = cute.arch.retrieve_tmem_ptr(cutlass.Float32, alignment=16, ptr_to_buffer_holding_addr=holder)
    acc = cute.make_tensor(ptr, mma.make_fragment_C(mma.partition_shape_C((256, 128))).layout)
    fill = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 4)
    take = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 4)
    for k in cutlass.range(cute.size(gA, mode=[2])):
        pipe.producer_acquire(fill)
        bar = pipe.producer_get_barrier(fill)
        cute.copy(tma_a, ga[None, k], ta[None, fill.index], tma_bar_ptr=bar)
        cute.copy(tma_b, gb[None, k], tb[None, fill.index], tma_bar_ptr=bar)
        fill.advance()
        pipe.consumer_wait(take)
        cute.gemm(mma, acc, rA[None, None, 0, take.index], rB[None, None, 0, take.index], acc)
        pipe.consumer_release(take)
        take.advance()


@cute.jit
def host(mA: cute.Tensor, mB: cute.Tensor, told: cutlass.Constexpr):
    op = tcgen05.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (256, 128, 16), tcgen05.CtaGroup.TWO, tcgen05.OperandSource.SMEM,
        OperandMajorMode.K, OperandMajorMode.K,
    )
    mma = cute.make_tiled_mma(op)
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
    layout_a = tcgen05.tile_to_mma_shape(atom, ((128, 16), 1, 4, 4), order=(1, 2, 3))
    layout_b = tcgen05.tile_to_mma_shape(atom, ((64, 16), 1, 4, 4), order=(1, 2, 3))
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.TWO)
    a = cute.nvgpu.make_tiled_tma_atom_A(
        load, mA, cute.slice_(layout_a, (None, None, None, 0)), (256, 128, 64), mma, (2, 1, 1, 1))
    b = cute.nvgpu.make_tiled_tma_atom_B(
        load, mB, cute.slice_(layout_b, (None, None, None, 0)), (256, 128, 64), mma, (2, 1, 1, 1))
    kernel(mma, *a, *b, layout_a, layout_b, told).launch(grid=(2, 1, 1), block=(128, 1, 1), cluster=(2, 1, 1))


k = cute.sym_int(divisibility=64)
a = make_fake_tensor(cutlass.Float16, (256, k), stride=(cute.sym_int64(divisibility=64), 1), assumed_align=16)
b = make_fake_tensor(cutlass.Float16, (128, k), stride=(cute.sym_int64(divisibility=64), 1), assumed_align=16)
cute.compile(host, a, b, TOLD)
"""
)


@pytest.mark.parametrize(("told", "found"), [((128 + 64) * 64 * 2 * 2, False), ((128 + 64) * 64 * 2, True)])
def test_two_ctas_that_multiply_together_bring_both(told: int, found: bool, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PAIRED.replace("TOLD", str(told)))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_100a",), select=("CUT805",)))
    assert not made.failures and not made.errors
    assert [f.message.split(":")[0] for f in made.findings] == [
        "a stage of this pipeline expects 24576 bytes, the TMA copies into one bring 49152 (16384 + 8192 in each of "
        "two CTAs)"
    ] * found
    assert any(o.obligation.property == "condition" for o in made.outcomes)


BULK = """    cute.copy(load, tg[None, 0], ts[None, 0], tma_bar_ptr=bar)
    sums = smem.allocate_tensor(cutlass.Float32, cute.make_layout(64), byte_alignment=128)
    rows = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    cute.copy(rows, cute.local_tile(mS, (64,), (0,)), sums, mbar_ptr=bar)
"""


@pytest.mark.parametrize(("count", "codes"), [(16640, set()), (16384, {"CUT805"})])
def test_bulk_copies_bring_bytes_too(tmp_path: Path, count: int, codes: set[str]) -> None:
    text = SCRIPT.replace("    cute.copy(load, tg[None, 0], ts[None, 0], tma_bar_ptr=bar)\n", BULK)
    text = text.replace("mA: cute.Tensor, store", "mA: cute.Tensor, mS: cute.Tensor, store")
    text = text.replace("def host(pipe: object,", "def host(mS: cute.Tensor,").replace(
        "kernel(load, a,", "kernel(load, a, mS,"
    )
    text = text.replace(
        "host, None,", "host, make_fake_tensor(cutlass.Float32, (4096,), stride=(1,), assumed_align=16),"
    )
    text = (
        text.replace("ANNOUNCE", "mbarrier_arrive_and_expect_tx").replace("BYTES", str(count)).replace("BETWEEN", WAIT)
    )
    (tmp_path / "main.py").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT805",)))
    assert not made.errors
    assert {f.code for f in made.findings} == codes
