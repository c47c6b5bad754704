"""Pairs of small kernels by what their authors get wrong: the bad one is found at its line, the good one is silent.

``expect`` of each case.json was reviewed by hand.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.report.data import Report

FOLDER = Path(__file__).parents[1] / "data" / "pairs"
PAIRS = sorted(p.parent for p in FOLDER.glob("*/case.json"))
RANK = {"note": 0, "warning": 1, "error": 2}


def run(pair: Path, variant: str) -> tuple[Report, dict[str, Any]]:
    about: dict[str, Any] = json.loads((pair / "case.json").read_text())
    report = check(inputs([str(next(pair.glob(f"{variant}.*")))]), Settings(arch=tuple(about["arch"])))
    assert not report.failures
    return report, about


@pytest.mark.parametrize("pair", [pytest.param(p, id=p.name) for p in PAIRS])
def test_pair(pair: Path) -> None:
    report, about = run(pair, "bad")
    found = {(f.code, f.span.line, f.message) for f in report.findings}
    assert found == {(e["code"], e["line"], e["message"]) for e in about["expect"]}
    least = RANK[about.get("expect_severity", "warning")]
    assert any(RANK[f.severity] >= least and f.family == about["family"] for f in report.findings)
    good, _ = run(pair, "good")
    assert [f for f in good.findings if f.family not in about.get("good_allows", [])] == []
