"""The words of findings."""

from __future__ import annotations

import pytest

from cutecheck.model.prove.obligation import Witness
from cutecheck.rules.wording import in_dsl, in_names_of_source, in_singular


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("(1 instructions, 1 warps)", "(1 instruction, 1 warp)"),
        ("11 warps, `1 warps` and 2.1 bytes", "11 warps, `1 warps` and 2.1 bytes"),
        ("8 wavefronts where 1 would do", "8 wavefronts where 1 would do"),
    ],
)
def test_one_of_a_thing_is_singular(text: str, shown: str) -> None:
    assert in_singular(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bank 0 with copy_k_idx#376 = 0: 2 wavefronts", "bank 0 with copy_k_idx = 0: 2 wavefronts"),
        ("stage#677 = 0, stage#699 = 1, k~12 = 3, stage#677 < 2", "stage#1 = 0, stage#2 = 1, k = 3, stage#1 < 2"),
        ("*indices#?004 = 1", "*indices = 1"),
        ("issue #12", "issue #12"),
    ],
)
def test_a_witness_has_the_names_of_the_source(text: str, shown: str) -> None:
    given = Witness(text, (("copy_k_idx#376", 0),))
    assert in_names_of_source(given) == Witness(shown, (("copy_k_idx#376", 0),))


def test_a_number_of_one_line_is_that_of_the_others() -> None:
    assert in_names_of_source(Witness("i#9", (), ("i#7", "i#9"))) == Witness("i#1", (), ("i#2", "i#1"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("put __syncthreads() between the two", "put cute.arch.sync_threads() between the two"),
        ("wait in each pass (cp_async_wait<N>)", "wait in each pass (cute.arch.cp_async_wait_group(N))"),
        ("(warpgroup_commit_batch)", "(warpgroup.commit_group())"),
        ("`my(__syncthreads())` has no my::cluster_sync()", "`my(__syncthreads())` has no my::cluster_sync()"),
    ],
)
def test_a_finding_of_python_names_what_the_dsl_has(text: str, shown: str) -> None:
    assert in_dsl(text) == shown
