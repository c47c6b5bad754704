"""Real misconfigurations: the bad variant is found, where it is and with its number; the good one is silent.

``expect`` of each case.json was reviewed by hand against what the case says is wrong.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.report.data import Report

FOLDER = Path(__file__).parents[1] / "data" / "cases"
CASES = sorted(p.parent for p in FOLDER.glob("*/case.json"))
RANK = {"note": 0, "warning": 1, "error": 2}


def load(case: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((case / "case.json").read_text())
    return document


def run(case: Path, variant: str, about: dict[str, Any]) -> Report:
    file = next(case.glob(f"{variant}.*"))
    report = check(inputs([str(file)]), Settings(arch=tuple(about["arch"])))
    assert not report.failures
    return report


def params() -> list[Any]:
    return [pytest.param(c, id=c.name) for c in CASES]


def test_all_cases_are_here() -> None:
    assert len(CASES) == 32


@pytest.mark.parametrize("case", params())
def test_bad_variant(case: Path) -> None:
    about = load(case)
    report = run(case, "bad", about)
    found = {(f.code, f.span.line, f.message) for f in report.findings}
    assert found == {(e["code"], e["line"], e["message"]) for e in about["expect"]}
    if about["outcome"] == "fixed-upstream":
        assert not found
        return
    least = RANK[about.get("expect_severity", "warning")]
    family = about["family"]
    assert any(RANK[f.severity] >= least and family in (f.family, "control", "dsl") for f in report.findings)


@pytest.mark.parametrize("case", params())
def test_good_variant(case: Path) -> None:
    about = load(case)
    report = run(case, "good", about)
    assert [f for f in report.findings if f.family not in about.get("good_allows", [])] == []
