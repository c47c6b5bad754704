"""The pages in ``docs/rules`` are those that the rules give now, and the terminal shows the same text."""

import inspect
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.rules import RULES, Rule, documentation
from cutecheck.rules.pages import pages

FOLDER = Path(__file__).parents[3] / "docs" / "rules"


@pytest.mark.skipif(not FOLDER.exists(), reason="an installed package has no docs")
def test_pages_are_up_to_date() -> None:
    here = {p.name: p.read_text() for p in FOLDER.glob("*.md")}
    assert here == pages(RULES), "run scripts/rule_pages.py"


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_page_and_terminal_say_the_same(rule: type[Rule], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", rule.code]) == 0
    shown = capsys.readouterr().out
    written = pages([rule])[f"{rule.code}-{rule.name}.md"]
    bodies = [body for _, body in documentation(rule).sections]
    for body in [*bodies, *map(inspect.cleandoc, rule.valid + rule.invalid)]:
        for line in body.splitlines():
            assert line in shown
            assert line.replace("``", "`") in written or line in written
