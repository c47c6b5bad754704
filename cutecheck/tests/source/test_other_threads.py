"""Runs of other threads that are told from one: the same, step by step, as if they had been run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.model.expr import Expr, const, op, var
from cutecheck.rules.examples import PREAMBLE
from cutecheck.source.eval import teams
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.one_run import Start
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import Rounds
from cutecheck.tests.rules.test_dsl_roles import KERNEL as PYTHON
from cutecheck.tests.rules.test_roles import KERNEL

DATA = Path(__file__).parents[1] / "data" / "mainloops"
Told = tuple[object, ...]


def _told(run: Replaying, complete: bool) -> Told:
    """What is asked of a run once it is over."""
    memory = run.memory
    return (
        run.steps, complete, list(run.asked), run.pointed, run.moved, run.sure, run.long, run.rounds.names(),
        memory.stored, memory.read, run.slices.decided, run.slices.of_blocks,
    )  # fmt: skip


@pytest.fixture
def differing(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each run that was told from another is not what it comes to if it is run."""
    found: list[bool] = []
    told = teams.Team.run

    def both(team: teams.Team, m: Machine, start: Start, thread: int) -> Replaying:
        made = told(team, m, start, thread)
        if any(made.slices is f.slices for f in team.found[:-1]):
            alone = teams.Team(team.block, team.numbers, team.remembers, views=team.views, endless=set(team.endless))
            again = told(alone, m, start, thread)
            found.append(_told(made, team.ended[-1]) != _told(again, alone.ended[-1]))
        return made

    monkeypatch.setattr(teams.Team, "run", both)
    yield found


def _check(tmp_path: Path, text: str, name: str, arch: str) -> None:
    (tmp_path / name).write_text(text)
    check(inputs([str(tmp_path / name)]), Settings(arch=(arch,)))


SOURCES = {
    "barriers": (DATA / "persistent_barriers.cu", "sm_90a"),
    "grouped": (DATA / "persistent_grouped.cu", "sm_90a"),
    "umma": (DATA / "persistent_umma.cu", "sm_100a"),
}
ROLES = PREAMBLE + KERNEL
BY_LANES = {
    "all": ROLES,
    "one lane of each warp arrives": ROLES.replace("    Empty::arrive(&empty[stage]);\n    if (threadIdx.x == 0", """
    if (threadIdx.x % 32 == 5) Empty::arrive(&empty[stage]);
    if (threadIdx.x == 0"""),
    "rows of one warp twice": ROLES.replace("copy(sA(threadIdx.x, _, stage), r);", """
    copy(sA(threadIdx.x % 96, _, stage), r);"""),
    "a stage of its own": ROLES.replace("copy(sA(threadIdx.x, _, stage), r);", """
    copy(sA(threadIdx.x, _, (stage + threadIdx.x / 64) % 2), r);"""),
    "past the rows": ROLES.replace("copy(sA(threadIdx.x, _, stage), r);", """
    copy(sA(threadIdx.x + 40, _, stage), r);"""),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_runs_of_mainloops(name: str, tmp_path: Path, differing: list[bool]) -> None:
    path, arch = SOURCES[name]
    _check(tmp_path, path.read_text(), "k.cu", arch)
    assert differing
    assert not any(differing)


@pytest.mark.parametrize("name", BY_LANES)
def test_runs_of_lanes(name: str, tmp_path: Path, differing: list[bool]) -> None:
    assert name == "all" or BY_LANES[name] != ROLES
    _check(tmp_path, BY_LANES[name], "k.cu", "sm_90a")
    assert differing
    assert not any(differing)


def test_runs_of_the_dsl(tmp_path: Path, differing: list[bool]) -> None:
    _check(tmp_path, PYTHON, "k.py", "sm_90a")
    assert differing
    assert not any(differing)


@pytest.mark.parametrize("name", ["one lane of each warp arrives", "past the rows"])
def test_what_a_thread_was_told_counts(
    name: str, tmp_path: Path, differing: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of threads that are told something else are not the same."""
    whole = Replaying.of_thread

    def careless(run: Replaying, thread: int) -> Replaying | None:
        run.heard, run.inside = {}, set()
        return whole(run, thread)

    monkeypatch.setattr(Replaying, "of_thread", careless)
    _check(tmp_path, BY_LANES[name], "k.cu", "sm_90a")
    assert any(differing)


def _asked(rounds: Rounds, conditions: list[Expr]) -> None:
    for condition in conditions:
        with rounds.asking():
            rounds.asked(condition)


@given(
    begin=st.integers(-5, 40),
    end=st.integers(0, 300),
    step=st.integers(1, 9),
    kind=st.sampled_from(("lt", "le", "gt", "ge", "ne")),
)
def test_how_many_passes_come(begin: int, end: int, step: int, kind: str) -> None:
    """Never fewer than one that counts them, and at most one more (of ``<=`` the end is in)."""
    holds = {
        "lt": lambda i: i < end, "le": lambda i: i <= end, "ne": lambda i: i != end,
        "gt": lambda i: -i > -end, "ge": lambda i: -i >= -end,
    }[kind]  # fmt: skip
    sign = -1 if kind in ("gt", "ge") else 1
    values = list(itertools.takewhile(holds, itertools.islice(itertools.count(begin, step), 500)))
    rounds, numbers = Rounds(), {"n": sign * end}
    sides = [(const(sign * i), var("n")) for i in values[:3]]
    conditions = [op("opaque", *pair, label=kind) for pair in sides]
    with rounds.inside(1, True):
        _asked(rounds, conditions)
        coming = rounds.coming(lambda e: e.evaluate(numbers))
    if len(values) < 3 or (kind == "ne" and ((end - begin) % step or begin > end)):  # or it comes to no end
        assert len(values) >= 3 or coming == 0
    else:
        left = len(values) - 2  # with the last that was seen
        assert coming in (left, left - 1)


WHO = ROLES.replace("  if (threadIdx.x == 0) {\n    for (int i = 0; i < 2; ++i) {\n      Full::arrive_and", """
  if (threadIdx.x / 32 == 0 ASKED) {
    for (int i = 0; i < 2; ++i) {
      Full::arrive_and""")  # fmt: skip
ASKED = {  # of which threads of the first warp it is asked as a whole
    "&& cute::elect_one_sync()": (True, True),
    "&& threadIdx.x % 32 == 0 && tiles > 0": (True, True),
    "&& tiles > 0": (False, False),  # which is no matter of threads
    "&& out[0] == half_t(0.f)": (False, False),  # which nobody knows: the threads of other warps go on
    "&& tiles / threadIdx.x < 1": (False, True),  # which is no number for the first one
}


@pytest.mark.parametrize("asked", ASKED)
def test_conditions_that_are_asked_as_a_whole(asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Replaying] = []
    replay = teams.Team.replay
    monkeypatch.setattr(teams.Team, "replay", lambda team, m: (made.extend(team.found), replay(team, m))[1])
    assert WHO != ROLES
    _check(tmp_path, WHO.replace("ASKED", asked), "k.cu", "sm_90a")
    for thread, whole in enumerate(ASKED[asked]):
        told = [[str(e) for e in f.asked if "/ 32), 0)" in str(e)] for f in made if f.thread == thread]
        assert told
        assert all(any("*" in e for e in one) == whole for one in told)


def test_what_a_choice_of_numbers_asks_on_the_way_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``tid == 5 || who_knows() ? 1 : 0``: the thread that is asked alone goes its own way."""
    made: list[Replaying] = []
    replay = teams.Team.replay
    monkeypatch.setattr(teams.Team, "replay", lambda team, m: (made.extend(team.found), replay(team, m))[1])
    text = ROLES.replace("    Empty::arrive(&empty[stage]);\n    if", """
    int many = threadIdx.x == 5 && out[0] == half_t(0.f) ? 2 : 1;
    int each = (threadIdx.x == 7 || threadIdx.x / 32 == 9) ? 2 : 1;
    if (each == 1) Empty::arrive(&empty[stage]);
    if""")  # fmt: skip
    assert text != ROLES
    _check(tmp_path, text, "k.cu", "sm_90a")
    asked = {str(e) for f in made for e in f.asked}
    assert "eq(threadIdx.x, 5)" in asked
    assert {f.thread for f in made} >= {0, 1, 7}
