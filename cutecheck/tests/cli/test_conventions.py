"""``docs/conventions.md``: 36 points, and every test it names exists."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parents[1] / "docs" / "conventions.md"


def rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [[c.strip() for c in line.strip("|").split("|")] for line in lines if re.match(r"\| \d+ \|", line)]


def test_every_point_has_a_state_and_every_claim_a_test() -> None:
    assert [int(row[0]) for row in rows()] == list(range(1, 37))
    for number, _, state, shown in rows():
        assert re.match(r"(yes|partly: .+|not yet)(;|$)", state), number
        assert bool(shown) == (state != "not yet"), number


def test_the_tests_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    for file, name in named:
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), (file, name)
