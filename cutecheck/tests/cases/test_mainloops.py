"""Whole kernels, right as they are and with one mistake each: what is found, and that right ones are silent.

A mutation replaces texts of its base; ``expect`` (code and line) was reviewed by hand.
"""

from pathlib import Path
from typing import Any

import pytest
import tomllib

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

FOLDER = Path(__file__).parents[1] / "data" / "mainloops"
MUTATIONS = [
    pytest.param(table, mutation, id=f"{name.stem}-{mutation['name']}")
    for name in sorted(FOLDER.glob("*.toml"))
    for table in [tomllib.loads(name.read_text())]
    for mutation in table["mutation"]
]


@pytest.mark.parametrize(("table", "mutation"), MUTATIONS)
def test_mutation(table: dict[str, Any], mutation: dict[str, Any], tmp_path: Path) -> None:
    base = FOLDER / table["base"]
    text = base.read_text()
    for old, new in mutation["replace"]:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / base.name
    path.write_text(text)
    report = check(inputs([str(path)]), Settings(arch=tuple(table["arch"])))
    assert not report.failures and not report.errors
    assert sorted({f"{f.code}:{f.span.line}" for f in report.findings}) == mutation["expect"]
