"""Shared memory without an allocator: ``cute.arch.alloc_smem`` and ``get_dyn_smem``."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import Report, check, inputs
from cutecheck.facts.resources import resources

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

def rows(kind, count):
    return cute.make_tensor(cute.arch.alloc_smem(kind, count * 64, 16), cute.make_layout((count, 64), stride=(64, 1)))

@cute.kernel
def swap(a: cute.Tensor, b: cute.Tensor):
    one, two = rows(cutlass.Float32, ROWS), rows(cutlass.Float32, ROWS)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    mine = tiled.get_slice(cute.arch.thread_idx()[0])
    cute.copy(tiled, mine.partition_S(a), mine.partition_D(one))
    cute.copy(tiled, mine.partition_S(b), mine.partition_D(two))
    SYNC
    back = tiled.get_slice(127 - cute.arch.thread_idx()[0])
    kept = cute.make_rmem_tensor_like(back.partition_S(one))
    cute.copy(tiled, back.partition_S(one), kept)
    cute.copy(tiled, kept, mine.partition_D(b))

@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    swap(a, b).launch(grid=(1, 1, 1), block=(128, 1, 1)SMEM)

c = make_fake_compact_tensor(cutlass.Float32, (ROWS, 64), stride_order=(1, 0), assumed_align=16)
cute.compile(host, c, c)
"""
SYNC = "cute.arch.sync_threads()"


def checked(folder: Path, *, text: str = KERNEL, sync: str = SYNC, rows: int = 32, smem: str = "") -> Report:
    text = text.replace("ROWS", str(rows)).replace("SYNC", sync).replace("SMEM", smem)
    (folder / "kernel.py").write_text(text)
    report = check(inputs([str(folder / "kernel.py")]), Settings(arch=("sm_80",), ignore=("CUT222",)))
    assert not report.errors and not report.failures
    assert len(report.facts.events) == 4 and not any(e.reason for e in report.facts.events)
    return report


@pytest.mark.parametrize("smem", ["", ", smem=0"])
def test_each_call_is_an_array_of_its_own(smem: str, tmp_path: Path) -> None:
    """Whatever the launch asks for: these are ``__shared__`` variables."""
    report = checked(tmp_path, smem=smem)
    assert [f.message for f in report.findings] == []
    assert [(b.size_bytes, b.alignment_bytes) for b in report.facts.buffers] == [(8192, 16), (8192, 16)]


def test_threads_that_read_them_wait_for_those_that_wrote(tmp_path: Path) -> None:
    (finding,) = checked(tmp_path, sync="pass").findings
    assert finding.code == "CUT212" and finding.help == "put cute.arch.sync_threads() between the two"


def test_they_are_no_more_than_a_kernel_may_declare(tmp_path: Path) -> None:
    (finding,) = checked(tmp_path, rows=128).findings
    assert (finding.code, "static arrays of 65536 bytes" in finding.message) == ("CUT702", True)


def test_dynamic_shared_memory_starts_at_one_place(tmp_path: Path) -> None:
    """Two pointers to it are one: what the second copy writes is where the first one wrote."""
    rows = "def rows(kind, count):\n    return cute.make_tensor(cute.arch.get_dyn_smem(kind, 16), "
    text = KERNEL.replace(
        "def rows(kind, count):\n    return cute.make_tensor(cute.arch.alloc_smem(kind, count * 64, 16), ", rows
    )
    (finding,) = checked(tmp_path, text=text).findings
    assert (finding.code, "what was written is lost" in finding.message) == ("CUT212", True)


def test_what_a_kernel_declares_and_what_its_launch_gives(tmp_path: Path) -> None:
    """Bytes of ``alloc_smem`` are static, those of an allocator dynamic shared memory."""
    more = "    cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, 64)\n    SYNC"
    facts = checked(tmp_path, text=KERNEL.replace("    SYNC", more, 1)).facts
    (kernel,) = resources(facts)
    assert (kernel.static_smem_bytes, kernel.dynamic_smem_bytes) == (16384, 256)
