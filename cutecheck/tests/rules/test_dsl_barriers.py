"""Barriers that kernels of the DSL use by hand: steps that are missing, counts, bytes and phases."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.pipeline_steps import PipelineStepMissing
from cutecheck.tests.source.dsl.run import HEAD

KERNEL = (
    HEAD
    + """
import cutlass.pipeline as pipeline
from cutlass.cute.nvgpu import cpasync

STAGES = 4

@cute.kernel
def kernel(load: cute.CopyAtom, mA: cute.Tensor, mB: cute.Tensor, layout: cute.ComposedLayout, tiles: cutlass.Int32):
    @cute.struct
    class Storage:
        full: cute.struct.MemRange[cutlass.Int64, STAGES]
        empty: cute.struct.MemRange[cutlass.Int64, STAGES]
        sA: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, cute.cosize(layout)], 1024]

    smem = cutlass.utils.SmemAllocator()
    storage = smem.allocate(Storage)
    full = storage.full.data_ptr()
    empty = storage.empty.data_ptr()
    sA = storage.sA.get_tensor(layout.outer, swizzle=layout.inner)
    one = cute.make_layout(1)
    gA = cute.local_tile(mA, (128, 64), (None, 0))
    ts, tg = cpasync.tma_partition(load, 0, one, cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2))
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    if warp == 0:
        with cute.arch.elect_one():
            for i in cutlass.range_constexpr(STAGES):
                cute.arch.mbarrier_init(full + i, 1)
                cute.arch.mbarrier_init(empty + i, 128)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp == 4:
        phase = cutlass.Int32(1)
        stage = cutlass.Int32(0)
        for k in cutlass.range(tiles):
            cute.arch.mbarrier_wait(empty + stage, phase)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + stage, 16384)
            cute.copy(load, tg[None, k], ts[None, stage], tma_bar_ptr=full + stage)
            stage += 1
            if stage == STAGES:
                stage = 0
                phase ^= 1
    if warp < 4:
        phase = cutlass.Int32(0)
        stage = cutlass.Int32(0)
        acc = cutlass.Float32(0)
        for k in cutlass.range(tiles):
            cute.arch.mbarrier_wait(full + stage, phase)
            row = sA[tidx, None, stage].load()
            acc += row.to(cutlass.Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
            cute.arch.mbarrier_arrive(empty + stage)
            stage += 1
            if stage == STAGES:
                stage = 0
                phase ^= 1
        mB[tidx] = acc.to(cutlass.Float16)


@cute.jit
def host(mA: cute.Tensor, mB: cute.Tensor, tiles: cutlass.Int32):
    atom = cute.nvgpu.warpgroup.make_smem_layout_atom(
        cute.nvgpu.warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16
    )
    layout = cute.tile_to_shape(atom, (128, 64, STAGES), order=(0, 1, 2))
    one = cute.slice_(layout, (None, None, 0))
    load, a = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), mA, one, (128, 64))
    kernel(load, a, mB, layout, tiles).launch(grid=(4, 1, 1), block=(160, 1, 1))


def tensor():
    stride = (cute.sym_int64(divisibility=8), 1)
    return make_fake_tensor(cutlass.Float16, (cute.sym_int(), cute.sym_int(divisibility=8)), stride=stride)


cute.compile(host, tensor(), make_fake_tensor(cutlass.Float16, (cute.sym_int(),), stride=(1,)), 8)
"""
)
EXPECT = "cute.arch.mbarrier_arrive_and_expect_tx(full + stage, 16384)"
ELECTED = f"            with cute.arch.elect_one():\n                {EXPECT}\n"
ARRIVE = "            cute.arch.mbarrier_arrive(empty + stage)\n"
ELECTS = "            with cute.arch.elect_one():\n                cute.arch.mbarrier_arrive(empty + stage)\n"
WAIT_FULL = "cute.arch.mbarrier_wait(full + stage, phase)"
WAIT_EMPTY = "cute.arch.mbarrier_wait(empty + stage, phase)"
COUNT = "cute.arch.mbarrier_init(empty + i, 128)"
MEETS = "    cute.arch.sync_threads()\n"
NAMED = "pipeline.NamedBarrier"
END = "        mB[tidx]"
ADVANCE = "            stage += 1\n            if stage == STAGES:\n                stage = 0\n"
FOLLOWS = ("CUT212", "CUT213", "CUT217")  # what such a step leads to, when the roles are run
PIPELINE = dedent(PipelineStepMissing.valid[0])
BLOCK_ALONE = "    cute.arch.barrier(barrier_id=1, number_of_threads=128)\n"
Swaps = tuple[tuple[str, str], ...]


def found(folder: Path, *swaps: tuple[str, str]) -> list[tuple[str, str]]:
    text = KERNEL
    for old, new in swaps:
        assert old in text
        text = text.replace(old, new)
    (folder / "main.py").write_text(text)
    made = check(inputs([str(folder)]), Settings(arch=("sm_90a",), cache=False))
    assert not made.failures
    assert not made.errors
    return [(f.code, f.message) for f in made.findings]


@pytest.mark.parametrize(
    "swaps",
    [
        (),
        ((WAIT_FULL, "cute.arch.mbarrier_wait(mbar_ptr=full + stage, phase=phase)"),),
        ((ARRIVE, ELECTS), (COUNT, "cute.arch.mbarrier_init(empty + i, 4)")),
        ((ARRIVE, ARRIVE.replace("empty + stage", "empty + stage, 1")), (COUNT, COUNT.replace("128", "64"))),
        # what else is done with the barriers is not seen
        ((MEETS, MEETS + "    cute.some_function(empty)\n"), (ARRIVE, "")),
        ((MEETS, MEETS + "    some_helper((empty.to_llvm_ptr(), 1))\n"), (ARRIVE, "")),
        ((MEETS, "    cute.arch.barrier(barrier_id=1, number_of_threads=160)\n"),),
        ((END, "        cute.arch.barrier(barrier_id=1, number_of_threads=128)\n" + END),),
        ((END, "        pipeline.NamedBarrier(barrier_id=1, num_threads=128).arrive_and_wait()\n" + END),),
        ((END, "        if mB[0] > 0.0:\n            pipeline.NamedBarrier(1, 128).arrive_and_wait()\n" + END),),
        # others come there, too
        ((END, "        pipeline.NamedBarrier(2, 160).arrive_and_wait()\n" + END),
         ("    if warp < 4:", "    if warp == 4:\n        pipeline.NamedBarrier(2, 160).arrive()\n    if warp < 4:")),
        ((END, f"        with cute.arch.elect_one():\n            {NAMED}(2, 128).arrive_and_wait()\n{END}"),),
    ],
)  # fmt: skip
def test_right_kernels(tmp_path: Path, swaps: Swaps) -> None:
    assert found(tmp_path, *swaps) == []


@pytest.mark.parametrize(
    ("swaps", "code", "said"),
    [
        (((EXPECT, "pass"),), "CUT217", "nothing tells them ever how many bytes come"),
        (((EXPECT, EXPECT.replace("16384", "8192")),), "CUT805", "expect 8192 bytes, the TMA copies that follow bring"),
        (((ARRIVE, ""),), "CUT217", "nothing ever arrives at"),
        (((f"            {WAIT_FULL}\n", ""),), "CUT217", "nothing ever waits for them"),
        (((f"            {WAIT_EMPTY}\n", ""),), "CUT217", "nothing ever waits for them"),
        (((WAIT_FULL, WAIT_FULL.replace("phase", "0")),), "CUT217", "each pass of the loop waits for phase 0"),
        (((WAIT_FULL, WAIT_FULL.replace("full", "empty")),), "CUT217", "nothing ever waits for them"),
        ((("tma_bar_ptr=full", "tma_bar_ptr=empty"),), "CUT217", "nothing tells them ever how many bytes come"),
        (((f"                {COUNT}\n", ""),), "CUT217", "nothing initialises the barriers"),
        (((COUNT, COUNT.replace("128", "32")),), "CUT217", "128 threads arrive at"),
        (((COUNT, COUNT.replace("128", "160")),), "CUT217", "count 160 arrivals, and 128 threads arrive"),
        (((ARRIVE, ELECTS),), "CUT217", "count 128 arrivals, and 4 threads arrive"),
        (((ARRIVE, ELECTS), (COUNT, COUNT.replace("128", "1"))), "CUT217", "4 threads arrive at"),
        (((ELECTED, f"            {EXPECT}\n"),), "CUT217", "32 threads tell the barriers in"),
        ((("init(full + i, 1)", "init(full + i, 2)"),), "CUT217", "count 2 arrivals, and one thread arrives"),
        (((MEETS, BLOCK_ALONE),), "CUT217", "all 160 threads of"),
        # a condition that all threads of a block answer alike parts none of them
        (((MEETS, "    if cute.arch.block_idx()[0] < 7:\n    " + BLOCK_ALONE),), "CUT217", "all 160 threads of"),
        (((END, "        cute.arch.barrier(barrier_id=1, number_of_threads=64)\n" + END),), "CUT217",
         "128 threads come to a named barrier for 64: it opens before"),
        (((END, "        pipeline.NamedBarrier(1, 160).arrive_and_wait()\n" + END),), "CUT217",
         "128 threads come to a named barrier for 160: it never opens"),
        (((END, "        if mB[0] > 0.0:\n            pipeline.NamedBarrier(1, 160).arrive_and_wait()\n" + END),),
         "CUT217",
         "at most 128 threads come to a named barrier for 160: it never opens"),
        # each warp says of all stages alike that it is done: others need not be
        (((ARRIVE, ARRIVE.replace("empty + stage", "empty + warp")), (COUNT, COUNT.replace("128", "32"))), "CUT212",
         "while other threads may still read"),
        # which threads arrive is told by the value of a condition, whatever its name
        ((("    if warp == 0:", "    mine = warp >= 0 and warp < 4\n    if warp == 0:"), ("if warp < 4:", "if mine:"),
          (COUNT, COUNT.replace("128", "32"))), "CUT217", "128 threads arrive at"),
    ],
)  # fmt: skip
def test_wrong_kernels(tmp_path: Path, swaps: Swaps, code: str, said: str) -> None:
    every = found(tmp_path, *swaps)
    assert any(where == code and said in message for where, message in every)
    assert {where for where, _ in every} <= {code, *FOLLOWS}


ONE_ARRAY = (
    ("    full = storage.full.data_ptr()\n", "    full = smem.allocate_array(cutlass.Int64, 2 * STAGES)\n"),
    ("    empty = storage.empty.data_ptr()\n", "    empty = full + STAGES\n"),
)


def test_barriers_of_both_kinds_in_one_array(tmp_path: Path) -> None:
    assert found(tmp_path, *ONE_ARRAY) == []
    ((code, _),) = found(tmp_path, *ONE_ARRAY, (EXPECT, EXPECT.replace("16384", "32768")))
    assert code == "CUT805"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), ""),
        # counted by warps; by a warp more than arrives; one barrier in both uses
        (
            ((COUNT, COUNT.replace("128", "4")),),
            "[4:8]`, which count 4",
        ),
        (((COUNT, COUNT.replace("128", "160")),), "count 160 arrivals, and 128 threads arrive"),
        (
            (("empty = full + STAGES\n", "empty = full + STAGES - 1\n"),),
            "is initialised twice, at line",
        ),
    ],
)
def test_uses_in_one_array_are_judged_apart(tmp_path: Path, more: Swaps, said: str) -> None:
    every = (ONE_ARRAY[0], *more, ONE_ARRAY[1]) if "twice" not in said else (*ONE_ARRAY, *more)
    codes, messages = zip(*found(tmp_path, *every), strict=True) if said else ((), found(tmp_path, *every))
    assert bool(messages) == (said != "")
    assert not messages or any(said in m for m in messages)
    assert set(codes) <= set(FOLLOWS)


def test_arrivals_at_several_places(tmp_path: Path) -> None:
    again = (END, "        cute.arch.mbarrier_arrive(empty + 1)\n" + END)
    assert found(tmp_path, *ONE_ARRAY, again) == []
    every = found(tmp_path, *ONE_ARRAY, again, (COUNT, COUNT.replace("128", "160")))
    assert {code for code, _ in every} == {"CUT217"}
    assert any("count 160 arrivals, and 128 threads arrive" in said for _, said in every)


def test_barriers_that_a_partial_carries(tmp_path: Path) -> None:
    given = (
        (MEETS, MEETS + "    tell = partial(cute.arch.mbarrier_arrive_and_expect_tx, full)\n"),
        ("import cutlass.pipeline", "from functools import partial\nimport cutlass.pipeline"),
        (EXPECT, EXPECT.replace("16384", "32768")),
    )
    ((code, _),) = found(tmp_path, *given)
    assert code == "CUT805"


AROUND = """
@dataclass(frozen=True)
class Around(pipeline.PipelineTmaAsync):
    @staticmethod
    def create(*args, **kwargs):
        made = pipeline.PipelineTmaAsync.create(*args, **kwargs)
        object.__setattr__(made, "__class__", Around)
        return made

    def producer_acquire(self, state, extra=0):
        self.sync_object_empty.wait(state.index, state.phase)
        if extra == 0:
            self.sync_object_full.arrive(state.index, self.producer_mask)
        else:
            self.sync_object_full.arrive_and_expect_tx(state.index, self.sync_object_full.tx_count + extra)


@cute.kernel"""


@pytest.mark.parametrize(
    ("extra", "said"), [("8192", ""), ("4096", "expects 12288 bytes"), ("0", "expects 8192 bytes")]
)
def test_a_class_around_a_pipeline_tells_of_more_bytes(tmp_path: Path, extra: str, said: str) -> None:
    text = PIPELINE.replace("import cutlass\n", "import cutlass\nfrom dataclasses import dataclass\n", 1)
    text = text.replace("@cute.kernel", AROUND, 1).replace(
        "pipe = pipeline.PipelineTmaAsync.create", "pipe = Around.create"
    )
    text = text.replace("tx_count=16384", "tx_count=8192").replace("acquire(state)", f"acquire(state, extra={extra})")
    (tmp_path / "main.py").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False))
    assert not made.failures
    messages = [f.message for f in made.findings]
    assert len(messages) == (said != "")
    assert all(said in m for m in messages)


def test_barriers_of_a_pipeline_one_by_one(tmp_path: Path) -> None:
    """What a kernel does with them may be any step."""
    waits = ("pipe.consumer_wait(read)", "pipe.sync_object_full.wait(read.index, read.phase)")
    text = PIPELINE.replace(*waits)
    assert text != PIPELINE
    (tmp_path / "main.py").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False))
    assert not made.failures
    assert not made.findings


ADDED = ("arrive_and_expect_tx(full + stage, 16384)", "expect_tx(full + stage, 16384)")


def test_bytes_that_are_told_of_are_no_arrival(tmp_path: Path) -> None:
    arrives = (ADDED[0], f"{ADDED[1]}\n                cute.arch.mbarrier_arrive(full + stage)")
    assert found(tmp_path, arrives) == []
    ((code, message),) = found(tmp_path, ADDED)
    assert code == "CUT217"
    assert "nothing ever arrives at" in message


GROUP = "consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 4)"


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (GROUP, ""),
        (GROUP.replace(", 4", ", size=4"), ""),
        (GROUP.replace(", 4", ", 128"), "counts 128 releases of a stage, and 4 warps release it"),
        (GROUP.replace(", 4", ""), "given back when some of them still read it"),
        (GROUP.replace(", 4", ", 2"), "given back when some of them still read it"),
        # the pipeline counts warps of these itself, or what other blocks of a cluster say
        (GROUP.replace(", 4", ", 128") + ", enable_multicast_signaling=True", ""),
        (GROUP.replace(", 4", ", 8") + ", cta_layout_vmnk=cute.make_layout((1, 2, 1, 1))", ""),
    ],
)
def test_releases_that_a_pipeline_counts(tmp_path: Path, group: str, said: str) -> None:
    assert GROUP in PIPELINE
    (tmp_path / "main.py").write_text(PIPELINE.replace(GROUP, group))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False))
    assert not made.failures
    messages = [f.message for f in made.findings if f.code == "CUT214"]
    assert len(messages) == (said != "")
    assert all(said in m for m in messages)


def test_warpgroups_that_take_turns(tmp_path: Path) -> None:
    """Two of them run the same code, each on tiles and stages of its own."""
    more = (
        ("block=(160, 1, 1)", "block=(288, 1, 1)"),
        ("if warp < 4:", "if warp >= 1:"),
        ("if warp == 4:", "if warp == 0:"),
        ("sA[tidx,", "sA[tidx % 128,"),
    )
    meets = (END, f"        {NAMED}(1, 128).arrive_and_wait()\n{END}")
    every = found(tmp_path, *more, meets)
    assert {code for code, _ in every} <= set(FOLLOWS)
    assert any("256 threads arrive at" in said for _, said in every)
    start = "        stage = cutlass.Int32(0)\n        acc"
    turns = (start, start.replace("\n", "\n        if warp >= 5:\n            stage += 1\n", 1))
    loop, two = (
        "cutlass.Float32(0)\n        for k in cutlass.range(",
        "            stage += 2\n            if stage >= STAGES:\n",
    )
    each = (
        (f"{loop}tiles)", f"{loop}tiles // 2)"),
        (ARRIVE + ADVANCE, f"{ARRIVE}{two}                stage -= STAGES\n"),
    )
    own = (END, f"        cute.arch.barrier(barrier_id=1 + (warp - 1) // 4, number_of_threads=128)\n{END}")
    assert found(tmp_path, *more, own, turns, *each) == []


STORAGE = """

@cute.struct
class Storage:
    {fields}
    tile: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 4], 128]

@cute.kernel
"""


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("bars: cute.struct.MemRange[cutlass.Int64, 4]", ""),
        ("bars: cute.struct.MemRange[cutlass.Int64, 2]", "the array has 16"),
        ("bars: cute.struct.MemRange[cutlass.Int64, 2]\n    empty: cute.struct.MemRange[cutlass.Int64, 2]", ""),
    ],
    ids=["right", "half", "two arrays"],
)
def test_barriers_that_are_a_member(tmp_path: Path, fields: str, said: str) -> None:
    text = PIPELINE.replace("\n@cute.kernel\n", STORAGE.format(fields=fields), 1)
    text = text.replace("smem.allocate_array(cutlass.Int64, 4)", "smem.allocate(Storage).bars.data_ptr()")
    (tmp_path / "main.py").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False))
    assert not made.failures
    messages = [f.message for f in made.findings if f.code == "CUT214"]
    assert len(messages) == (said != "")
    assert all(said in m for m in messages)


LOADS = "tma_bar_ptr=full + stage)"
TWICE = ("mbarrier_init(full + i, 1)", "mbarrier_init(full + i, 2)")
HALF = EXPECT.replace("16384", "8192")


@pytest.mark.parametrize(
    ("swaps", "codes"),
    [
        (((LOADS, "tma_bar_ptr=full)"),), ["CUT217"]),
        # the bytes of a phase are told of in two parts
        (((EXPECT, f"{HALF}\n                {HALF}"), TWICE), []),
        (((EXPECT, f"cute.arch.mbarrier_expect_tx(full + stage, 8192)\n                {HALF}"),), []),
    ],
)
def test_a_load_tells_the_barrier_that_was_told_of_it(tmp_path: Path, swaps: Swaps, codes: list[str]) -> None:
    by_extent = ("    if warp == 4:", "    tiles = cute.size(gA, mode=[2])\n    if warp == 4:")
    assert [code for code, _ in found(tmp_path, *swaps, by_extent)] == codes
