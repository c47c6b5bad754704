"""Which units processes are given: neighbours in their order, apart from each other, each unit once."""

from __future__ import annotations

import itertools
import random

import pytest

from cutecheck.source.eval.launches import Walks
from cutecheck.source.eval.limits import Limits
from cutecheck.source.handouts import Handouts
from cutecheck.source.translate import Job


def jobs(count: int) -> list[Job]:
    return [Job(f"folder{i // 24}/unit{i}.cu", "sm_90a", frozenset()) for i in range(count)]


def handouts(count: int, processes: int) -> Handouts:
    return Handouts(jobs(count), processes, Walks(Limits()))


def test_a_process_goes_on_from_where_it_is() -> None:
    left = handouts(96, 2)
    share, last = left.take(None)
    following, _ = left.take(last)
    assert share[0] == 0 and following[0] == share[-1] + 1


@pytest.mark.parametrize("processes", [2, 3, 4, 8])
def test_processes_start_far_apart(processes: int) -> None:
    left = handouts(96, processes)
    starts = sorted(left.take(None)[0][0] for _ in range(processes))
    assert starts[0] == 0 and min(b - a for a, b in itertools.pairwise(starts)) >= 96 // (2 * processes) - 4


@pytest.mark.parametrize(("count", "processes"), [(1, 1), (5, 4), (96, 2), (117, 7), (118, 16)])
def test_each_unit_is_given_once(count: int, processes: int) -> None:
    left, chance, given = handouts(count, processes), random.Random(count), []
    last: list[int | None] = [None] * processes
    while left:
        at = chance.randrange(processes)
        share, last[at] = left.take(last[at])
        given += share
    assert sorted(given) == list(range(count))
