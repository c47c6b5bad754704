"""Kernels of the Python DSL whose blocks share tiles in a cluster, run thread by thread: who arrives how often."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.rules.test_dsl_roles import KERNEL, LAST

SHARED = (
    ("tma_b, mB = cpasync.make_tiled_tma_atom(load, b, cute.slice_(sB, one), (128, 64))",
     "tma_b, mB = cpasync.make_tiled_tma_atom(\n            cpasync.CopyBulkTensorTileG2SMulticastOp(), b, "
     "cute.slice_(sB, one), (128, 64), num_multicast=2\n        )"),
    ("grid=(blocks, 1, 1), block=[256, 1, 1]", "grid=(blocks, 1, 1), block=[256, 1, 1], cluster=(2, 1, 1)"),
    ("producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),",
     "producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread), "
     "cta_layout_vmnk=cute.make_layout((1, 2, 1, 1)),"),
    ("pipeline.Agent.Thread, 4)", "pipeline.Agent.Thread, 8)"),
    ("tBs, tBg = cpasync.tma_partition(tma_b, 0, lone,",
     "rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())\n"
     "        mask = MASK\n"
     "        tBs, tBg = cpasync.tma_partition(tma_b, rank, cute.make_layout(2),"),
    ("tBs[None, fill.index], tma_bar_ptr=bar)", "tBs[None, fill.index], tma_bar_ptr=bar, mcast_mask=mask)"),
)  # fmt: skip
IMAGE = "cute.make_layout_image_mask(cute.make_layout((2, 1, 1)), (rank, 0, 0), mode=0)"
MADE = "cpasync.create_tma_multicast_mask(cute.make_layout((1, 2, 1, 1)), (0, rank, 0, 0), mcast_mode=1)"
COUNTED = "pipeline.Agent.Thread, 8)"
END = "            cute.arch.cp_async_bulk_wait_group(0, read=True)\n"


def _with(text: str, *swaps: tuple[str, str]) -> str:
    for old, new in swaps:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


CLUSTER = _with(KERNEL, *SHARED)


def _found(folder: Path, text: str, **others: str) -> list[tuple[str, str]]:
    (folder / "kernel.py").write_text(text)
    for name, other in others.items():
        (folder / f"{name}.py").write_text(other)
    report = check(inputs([str(folder)]), Settings(arch=("sm_90a",), select=("CUT2",), cache=False))
    assert not report.errors
    assert not report.failures
    return sorted({(f.code, Path(f.span.path).name) for f in report.findings})


@pytest.mark.parametrize("mask", [IMAGE, MADE])
def test_blocks_of_a_cluster_arrive_as_this_one_does(tmp_path: Path, mask: str) -> None:
    right = CLUSTER.replace("MASK", mask)
    assert _found(tmp_path, right) == []
    assert ("CUT217", "kernel.py") in _found(tmp_path, _with(right, (LAST, "                self.store")))
    for wrong in ("4)", "256)"):
        assert ("CUT217", "kernel.py") in _found(tmp_path, _with(right, (COUNTED, COUNTED.replace("8)", wrong))))


AROUND = """
from dataclasses import dataclass

from cutlass.pipeline import PipelineTmaAsync


@dataclass(frozen=True)
class Around(PipelineTmaAsync):
    @staticmethod
    def create(*args, **kwargs):
        made = PipelineTmaAsync.create(*args, **kwargs)
        object.__setattr__(made, "__class__", Around)
        return made
"""
MAKES = ("mainloop = pipeline.PipelineTmaAsync.create(", "mainloop = Around.create(")
TAKES = ("import cutlass.utils as utils\n", "import cutlass.utils as utils\nfrom around import Around\n")


def test_an_object_of_another_class_keeps_its_barriers(tmp_path: Path) -> None:
    """What is wrong with them may stand in a file without copies."""
    text = _with(CLUSTER.replace("MASK", IMAGE), MAKES, TAKES)
    assert _found(tmp_path, text, around=AROUND) == []
    few = _with(text, (COUNTED, COUNTED.replace("8)", "2)")))
    assert ("CUT217", "around.py") in _found(tmp_path, few, around=AROUND)
    assert ("CUT213", "kernel.py") in _found(
        tmp_path, _with(text, ("consumer_wait(full, token)", "consumer_wait(free)")), around=AROUND
    )


DONE = (
    ("            sA: cute", "            done: cutlass.Int64\n            sA: cute"),
    ("        sA = storage.sA",
     "        if warp_idx == 0:\n            with cute.arch.elect_one():\n"
     "                cute.arch.mbarrier_init(storage.done.ptr, 1)\n"
     "        cute.arch.mbarrier_init_fence()\n"
     "        cute.arch.cluster_arrive_relaxed()\n        cute.arch.cluster_wait()\n        sA = storage.sA"),
    (END,
     END + "            if warp_idx == 4:\n                with cute.arch.elect_one():\n"
     "                    cute.arch.mbarrier_arrive(storage.done.ptr, cute.arch.block_idx_in_cluster() ^ 1)\n"
     "                cute.arch.mbarrier_wait(storage.done.ptr, 0)\n"),
)  # fmt: skip


def test_a_barrier_that_another_block_arrives_at_leaves_out_no_other(tmp_path: Path) -> None:
    text = _with(CLUSTER.replace("MASK", IMAGE), *DONE)
    assert _found(tmp_path, text) == []
    assert ("CUT217", "kernel.py") in _found(tmp_path, _with(text, (LAST, "                self.store")))


@pytest.mark.parametrize("wait, said", [
    ("", "nothing waits for"),
    (END.replace("group(0", "group(1"), "its thread ends without a wait for all of its stores"),
    (END, ""),
])  # fmt: skip
def test_stores_that_are_left_open(wait: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(_with(KERNEL, (END, wait)))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT216",), cache=False))
    assert not report.failures
    assert [(f.severity, said in f.message) for f in report.findings] == [("note", True)] * bool(said)


BIAS = (
    ("            sC: cute",
     "            bias: cute.struct.Align[cute.struct.MemRange[Float16, 128], 16]\n            sC: cute"),
    ("            full = pipeline",
     "            sF = storage.bias.get_tensor(cute.make_layout(128))\n"
     "            g2s = cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=64)\n"
     "            g2s = cute.make_tiled_copy_tv(g2s, cute.make_layout(32), cute.make_layout(4))\n"
     "            if warp_idx == 4:\n"
     "                first = g2s.get_slice(tid - 128)\n"
     "                cute.copy(g2s, first.partition_S(bias), first.partition_D(sF))\n"
     "                cute.arch.cp_async_commit_group()\n"
     "                cute.arch.cp_async_wait_group(0)\n"
     "            self.stored.arrive_and_wait()\n"
     "            rF = cute.make_rmem_tensor_like(sF)\n"
     "            cute.autovec_copy(sF, rF)\n"
     "            full = pipeline"),
    ("mma, sA, sB, sC)\n", "mma, sA, sB, sC, bias)\n"),
    ("lC: cute.ComposedLayout):", "lC: cute.ComposedLayout, bias: cute.Tensor):"),
    ("c: cute.Tensor, blocks: Int32", "c: cute.Tensor, bias: cute.Tensor, blocks: Int32"),
    ("tensor(M, 128), Int32", "tensor(M, 128), tensor(128), Int32"),
)  # fmt: skip
MEETS = "            self.stored.arrive_and_wait()\n            rF"
WAITS = "                cute.arch.cp_async_wait_group(0)\n"


def test_what_one_warp_copies_the_others_read_after_a_barrier(tmp_path: Path) -> None:
    text = _with(KERNEL, *BIAS)
    assert ("CUT212", "kernel.py") not in _found(tmp_path, text)
    assert ("CUT212", "kernel.py") in _found(tmp_path, _with(text, (MEETS, "            rF")))
    assert ("CUT212", "kernel.py") in _found(tmp_path, _with(text, (WAITS, "")))


def test_a_tile_that_stays_while_the_other_operand_goes_on(tmp_path: Path) -> None:
    """Along K, that has another name in each of the two."""
    own = _with(KERNEL, ("tensor(128, K)", "tensor(128, L)"), ("K, M = ", "L = cute.sym_int(divisibility=64)\nK, M = "))
    assert _found(tmp_path, own) == []
    assert ("CUT218", "kernel.py") in _found(tmp_path, _with(own, ("tAg[None, tile, k]", "tAg[None, tile, 0]")))
