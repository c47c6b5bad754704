"""Structs of the Python DSL over one allocation: ``Operands(storage)`` and ``Results(storage)`` share its bytes."""

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
def turn(g: cute.Tensor, o: cute.Tensor):
    @cute.struct
    class Operands:
        a: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 2048], 16]
        b: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 2048], 16]

    @cute.struct
    class Results:
        FIELDS

    storage = SmemAllocator().allocate(24576, byte_alignment=16)
    rows = cute.make_layout((32, 64), stride=(64, 1))
    sA, sB = Operands(storage).a.get_tensor(rows), Operands(storage).b.get_tensor(rows)
    sC = Results(PLACE).FIELD.get_tensor(rows)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    tid = cute.arch.thread_idx()[0]
    mine, back = tiled.get_slice(tid), tiled.get_slice(127 - tid)
    kept = cute.make_rmem_tensor_like(mine.partition_S(sA))
    cute.copy(tiled, mine.partition_S(g), mine.partition_D(sA))
    cute.copy(tiled, mine.partition_S(g), mine.partition_D(sB))
    cute.arch.sync_threads()
    cute.copy(tiled, back.partition_S(sREAD), kept)
    SYNC
    cute.copy(tiled, kept, mine.partition_D(sC))
    cute.arch.sync_threads()
    cute.copy(tiled, back.partition_S(sC), kept)
    cute.copy(tiled, kept, mine.partition_D(o))

@cute.jit
def host(g: cute.Tensor, o: cute.Tensor):
    turn(g, o).launch(grid=(1, 1, 1), block=(128, 1, 1))

c = make_fake_compact_tensor(cutlass.Float32, (32, 64), stride_order=(1, 0), assumed_align=16)
cute.compile(host, c, c)
"""
RANGE = "cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 2048], 16]"
SYNC = "cute.arch.sync_threads()"


def said(folder: Path, read: str, fields: str, field: str, sync: str = "pass", place: str = "storage") -> list[str]:
    text = KERNEL.replace("SYNC", sync).replace("READ", read).replace("PLACE", place)
    fields = "\n        ".join(f"{name}: {RANGE}" for name in fields)
    (folder / "kernel.py").write_text(text.replace("FIELDS", fields).replace("FIELD", field))
    report = check(inputs([str(folder / "kernel.py")]), Settings(arch=("sm_80",), ignore=("CUT222",)))
    assert not report.errors and not report.failures
    return [f"{f.code} {f.message}" for f in report.findings if f.code != "CUT101"]


@pytest.mark.parametrize(("read", "fields", "field"), [("A", "c", "c"), ("B", "cd", "d")])
def test_results_wait_for_reads_of_what_they_lie_over(read: str, fields: str, field: str, tmp_path: Path) -> None:
    (finding,) = said(tmp_path, read, fields, field)
    assert finding.startswith("CUT212") and "another member of the same storage" in finding


@pytest.mark.parametrize(
    ("read", "fields", "field", "sync", "place"),
    [
        ("A", "c", "c", SYNC, "storage"),
        ("B", "cd", "d", "cute.arch.barrier(barrier_id=1, number_of_threads=128)", "storage"),
        ("B", "c", "c", "pass", "storage"),  # over A, which nothing reads
        ("A", "cde", "e", "pass", "storage"),  # behind both
        ("A", "bc", "c", "pass", "storage"),  # over B
        ("B", "xyb", "y", SYNC, "storage"),
        ("A", "c", "c", "pass", "storage + 16384"),  # behind both
    ],
)
def test_what_lies_apart_or_waits_is_right(
    read: str, fields: str, field: str, sync: str, place: str, tmp_path: Path
) -> None:
    assert said(tmp_path, read, fields, field, sync, place) == []


def test_a_field_of_one_name_in_two_places_is_not_judged(tmp_path: Path) -> None:
    """``Results.b`` lies over ``Operands.a``, and ``c`` over ``Operands.b``."""
    assert said(tmp_path, "B", "bc", "b") == []
