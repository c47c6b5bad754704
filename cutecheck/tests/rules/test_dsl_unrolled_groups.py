"""Groups of cp.async in loops that are unrolled: each read is compared with the copy of the very part it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.utils import SmemAllocator

@cute.kernel
def through(g: cute.Tensor, o: cute.Tensor):
    s = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((32, 64), stride=(64, 1)), 16)
    load = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    plain = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    threads, values = cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4))
    tiled, store = cute.make_tiled_copy_tv(load, threads, values), cute.make_tiled_copy_tv(plain, threads, values)
    tid = cute.arch.thread_idx()[0]
    mine, back = tiled.get_slice(tid), store.get_slice(127 - tid)
    for i in cutlass.range(AHEAD, unroll_full=True):
        part = cute.local_tile(s, (8, 64), (i, 0))
        cute.copy(tiled, mine.partition_S(cute.local_tile(g, (8, 64), (i, 0))), mine.partition_D(part))
        cute.arch.cp_async_commit_group()
    for i in cutlass.range(4, unroll_full=True):
        cute.arch.cp_async_wait_group(OPEN)
        cute.arch.sync_threads()
        if i < 4 - AHEAD:
            part = cute.local_tile(s, (8, 64), (i + AHEAD, 0))
            cute.copy(tiled, mine.partition_S(cute.local_tile(g, (8, 64), (i + AHEAD, 0))), mine.partition_D(part))
            INSIDE
        ALWAYS
        LAST
        part = cute.local_tile(s, (8, 64), (i, 0))
        kept = cute.make_rmem_tensor_like(back.partition_S(part))
        cute.copy(store, back.partition_S(part), kept)
        cute.copy(store, kept, back.partition_D(cute.local_tile(o, (8, 64), (i, 0))))

@cute.jit
def host(g: cute.Tensor, o: cute.Tensor):
    through(g, o).launch(grid=(1, 1, 1), block=(128, 1, 1))

c = make_fake_compact_tensor(cutlass.Float32, (32, 64), stride_order=(1, 0), assumed_align=16)
cute.compile(host, c, c)
"""
COMMIT = "cute.arch.cp_async_commit_group()"


def said(folder: Path, ahead: int, left: str, inside: str = "", always: str = "", last: str = "") -> list[str]:
    text = KERNEL.replace("AHEAD", str(ahead)).replace("OPEN", left).replace("INSIDE", inside or "pass")
    (folder / "kernel.py").write_text(text.replace("ALWAYS", always or "pass").replace("LAST", last or "pass"))
    report = check(inputs([str(folder / "kernel.py")]), Settings(arch=("sm_80",), ignore=("CUT101", "CUT105")))
    assert not report.errors and not report.failures
    assert report.facts.events and not any(e.reason for e in report.facts.events)
    return [f"{f.code} {f.message}" for f in report.findings]


@pytest.mark.parametrize(
    ("ahead", "left", "last", "why"),
    [
        (1, "0", "", "no group has been committed since"),
        (2, "0", "", "no group has been committed since"),
        (2, "1", COMMIT + " if i == 3 else None", "no group has been committed since"),
    ],
)
def test_copies_that_no_group_holds_are_not_waited_for(
    ahead: int, left: str, last: str, why: str, tmp_path: Path
) -> None:
    (finding,) = said(tmp_path, ahead, left, last=last)
    assert finding.startswith("CUT213") and why in finding


def test_groups_that_are_left_open_are_counted_for_each_part(tmp_path: Path) -> None:
    findings = said(tmp_path, 2, "2", always=COMMIT)  # of what either loop copies
    assert len(findings) == 2 and all(f.startswith("CUT213") and "leaves 2 groups open" in f for f in findings)


@pytest.mark.parametrize(
    ("ahead", "left", "inside", "always", "last"),
    [
        (1, "0", COMMIT, "", ""),
        (1, "0", "", COMMIT, ""),
        (2, "1", "", COMMIT, ""),
        (3, "2", "", COMMIT, ""),
        (2, "0", COMMIT, "", ""),
        (4, "0", "", "", ""),
        (1, "0", "", "", COMMIT + "; cute.arch.cp_async_wait_group(0); cute.arch.sync_threads()"),
        (2, "1 if i < 3 else 0", COMMIT, "", ""),
    ],
)
def test_groups_that_are_waited_for_are_right(
    ahead: int, left: str, inside: str, always: str, last: str, tmp_path: Path
) -> None:
    assert said(tmp_path, ahead, left, inside, always, last) == []
