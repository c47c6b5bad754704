"""What TMA loads in a run of a kernel's roles, made by hand: a tile that comes whole, or part by part."""

from __future__ import annotations

import pytest

from cutecheck.facts import Span
from cutecheck.facts.replayed import Place, Replay, Step, Thread
from cutecheck.rules.derive.role_loads import in_parts, key_of
from cutecheck.rules.derive.roles import faults_of_roles

WHOLE = (0, 3 * 65536)


def _at(line: int) -> Span:
    return Span("k.cu", line, 1, line, 2)


def _barrier(what: str, index: int, number: int | None, line: int) -> Step:
    return Step("barrier", _at(line), "k", what, number, (Place("", _at(line), "smem", "full", index),))


def _load(offset: int, bits: tuple[int, int], line: int) -> Step:
    to = Place("sK", _at(line), "smem", "k", offset, WHOLE, bits)
    return Step("load", _at(line), "k", "k|full", None, (Place("gK", _at(line), "gmem", "", 0), to))


def _product(part: int, line: int) -> Step:
    read = Place("sK", _at(line), "smem", "k", part * 4096, WHOLE, (part * 65536, (part + 1) * 65536))
    query, sums = Place("sQ", _at(line), "smem", "q", 0), Place("acc", _at(line), "rmem", "acc", 0)
    return Step("gemm", _at(line), "k", "wgmma", None, (query, read, sums), True)


def _roles(parts: int, waited: int) -> Replay:
    """The bits of each load are those of the whole tile, as a partition of it by TMA has them."""
    loads = [s for i in range(parts) for s in (_barrier("expect", i, 8192, 1), _load(i * 4096, WHOLE, 2))]
    reads = [s for i in range(3) for s in ([_barrier("wait", i, 0, 3)] if i < waited else []) + [_product(i, 4)]]
    return Replay((), False, (Thread(0, tuple(loads), True, 1), Thread(128, tuple(reads), True, 128)), sure=False)


@pytest.mark.parametrize(("parts", "waited", "faults"), [(3, 3, []), (1, 1, []), (1, 0, ["unready"])])
def test_who_waits_for_a_part_need_not_wait_for_the_others(parts: int, waited: int, faults: list[str]) -> None:
    roles = _roles(parts, waited)
    assert [f.kind for f in faults_of_roles(roles)] == faults
    key = key_of(roles.threads[0].steps[1].places[1])
    assert in_parts(roles.threads) == ({key} if parts > 1 else set())
