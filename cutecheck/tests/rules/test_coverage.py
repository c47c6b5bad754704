"""What each rule has to prove: the counted table of the public trees, against what the rules say of themselves."""

import re
from pathlib import Path

import pytest

from cutecheck.rules import RULES

TABLE = Path(__file__).parents[3] / "docs" / "findings" / "coverage.md"


@pytest.mark.skipif(not TABLE.exists(), reason="an installed package has no docs")
def test_a_rule_without_obligations_says_why() -> None:
    rows = re.findall(r"^\| (CUT\d+) (\S+) \|(.*)\|$", TABLE.read_text(), re.MULTILINE)
    counted = {code for code, _, cells in rows if any(c.strip() not in ("", "0") for c in cells.split("|"))}
    names = {r.code: r.name for r in RULES}
    assert all(names[code] == name for code, name, _ in rows)
    assert counted == {r.code for r in RULES if not r.unasked}
