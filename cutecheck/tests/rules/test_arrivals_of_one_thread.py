"""Kernels one of whose threads arrives several times in each phase; and those whose first block has one tile."""

import re
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.tests.rules.test_roles import KERNEL, MISTAKES


def codes(text: str, folder: Path, ignore: tuple[str, ...] = ("CUT1", "CUT4")) -> set[str]:
    (folder / "sum.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_90a",), ignore=ignore))
    assert not report.failures
    return {f.code for f in report.findings}


ARRIVES = "cutlass::arch::cpasync_barrier_arrive_noinc(&"
EXPECTS = re.compile(r"( *)(Full::arrive_and_expect_tx\(&(full\[\w+\]).*\n)")


@pytest.mark.parametrize(
    ("count", "expected"), [("2", set()), ("1", {"CUT213", "CUT217"}), ("3", {"CUT213", "CUT217"})]
)
@pytest.mark.parametrize("first", [True, False])
def test_copies_by_cp_async_beside_tma(first: bool, count: str, expected: set[str], tmp_path: Path) -> None:
    """What arrives once the thread's copies are done counts, before it tells of bytes or after that."""
    text = KERNEL.replace("Full::init(&full[i], 1)", f"Full::init(&full[i], {count})")
    order = rf"\1{ARRIVES}\3);\n\1\2" if first else rf"\1\2\1{ARRIVES}\3);\n"
    found = codes(EXPECTS.sub(order, text), tmp_path)
    assert bool(found & expected) == bool(expected)
    assert found <= expected


def test_what_counts_one_arrival_more_and_makes_it(tmp_path: Path) -> None:
    text = EXPECTS.sub(rf"\1{ARRIVES}\3);\n\1\2".replace("_noinc", ""), KERNEL)
    assert not codes(text, tmp_path)


CAUSAL = (
    ("out, int tiles) {\n  __shared__", "out, int tiles, int len_q, int len_k) {\n"
     "  tiles = min(tiles, (128 + len_k - len_q) / 128);\n  __shared__"),
    ("out, int tiles) {\n  Tensor gA", "out, int tiles, int len_q, int len_k) {\n  Tensor gA"),
    ("out, tiles);", "out, tiles, len_q, len_k);"),
)  # fmt: skip


@pytest.mark.parametrize("name", ["right", "empty_of_another_phase"])
def test_one_tile_behind_a_causal_mask(name: str, tmp_path: Path) -> None:
    """The first rows have one block of keys where there are as many keys as queries: with more keys they have more."""
    old, new, expected = MISTAKES[name]
    text = KERNEL.replace(old, new)
    for before, after in CAUSAL:
        assert before in text
        text = text.replace(before, after)
    assert codes(text, tmp_path, ("CUT1", "CUT4", "CUT217")) == expected
