"""Blocks along an index that says which numbers they read from memory, and what they store (4.8.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.rules.test_dsl_tail_of_lengths import KERNEL as SUMS

PLACE = "own.partition_C(cute.local_tile(o[None, None, batch], (8, COLUMNS), (0, column)))"
STORE = f"    cute.autovec_copy(acc, {PLACE})\n"
KERNEL = (
    SUMS.replace("    batch, _, _ =", "    column, batch, _ =")
    .replace("pages[batch, block]], (ROWS, COLUMNS), (0, 0)", "pages[batch, block]], (ROWS, COLUMNS), (0, column)")
    .replace("    cute.autovec_copy(acc, own.partition_C(cute.local_tile(o, (8, COLUMNS), (batch, 0))))\n", STORE)
    .replace("grid=(lengths.shape[0], 1, 1)", "grid=(o.shape[1] // COLUMNS, lengths.shape[0], 1)")
    .replace("(rows, 64, cute.sym_int()), stride=(64, 1, step)", "(rows, wide, cute.sym_int()), stride=(wide, 1, step)")
    .replace("(cute.sym_int(), 64), stride=(64, 1)", "(8, wide, cute.sym_int()), stride=(wide, 1, step)")
    .replace("rows, step = cute.sym_int(), ", "rows, wide, step = cute.sym_int(), cute.sym_int(divisibility=64), ")
)
FIRST = STORE.replace("None, batch]", "None, 0]")


@pytest.mark.parametrize(
    ("store", "code"),
    [
        (STORE, ""),
        (FIRST, "CUT219"),
        ("    if column * COLUMNS < o.shape[1]:\n    " + FIRST, "CUT219"),
        ("    if batch == 0:\n    " + FIRST, ""),
        ("    if length > 0:\n    " + FIRST, ""),  # of one sequence alone, perhaps
    ],
)
def test_what_all_blocks_store_to_one_place(tmp_path: Path, store: str, code: str) -> None:
    assert KERNEL.count(STORE) == 1 and KERNEL.count("column") > 2 and KERNEL.count("wide") > 4
    (tmp_path / "kernel.py").write_text(KERNEL.replace(STORE, store))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT219",)))
    assert [f.code for f in report.findings] == [code] * bool(code), report.findings
    assert not report.errors
