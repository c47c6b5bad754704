"""SARIF and GitHub annotations."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.cli.rule import rule_json
from cutecheck.facts import Facts, SourceError, Span
from cutecheck.findings import Finding, Related
from cutecheck.model.prove.obligation import Witness
from cutecheck.report import github
from cutecheck.report.data import Report, Suppressed
from cutecheck.report.sarif import sarif
from cutecheck.rules import RULES

LINES = ["int a;", "  copy(t, s, d);", "copy(t, s, d);"]
FINDING = Finding(
    "CUT101", "bank-conflict-read", "bank-conflict-read", "warning", "proved", Span("a b/k.cu", 2, 3, 2, 7), "slow",
    "l",
    "swizzle", Witness("lanes meet", (), ("lane 0", "lane 4")), (Related(Span("t.h", 9, 1, 9, 2), "the atom"),),
)  # fmt: skip


def log(*findings: Finding, **more: object) -> dict[str, object]:
    report = Report(Facts(), findings, lines=lambda path: LINES if path == "a b/k.cu" else None, **more)  # type: ignore[arg-type]
    return json.loads(json.dumps(sarif(report, [rule_json(r) for r in RULES], "1.2.3")))["runs"][0]  # type: ignore[no-any-return]


def test_results_have_what_github_asks_for() -> None:
    run = log(FINDING)
    result = run["results"][0]  # type: ignore[index]
    assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "CUT101"  # type: ignore[index]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/k.cu"
    assert place["region"] == {"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 7}
    assert result["codeFlows"][0]["threadFlows"][0]["locations"][0]["location"]["message"]["text"] == "lanes meet"
    assert result["relatedLocations"][0]["message"]["text"] == "the atom"
    for rule in run["tool"]["driver"]["rules"]:  # type: ignore[index]
        assert rule["shortDescription"]["text"] and len(rule["fullDescription"]["text"]) <= 1024
        assert "## Why" in rule["help"]["markdown"]


def test_fingerprints_ignore_lines_and_are_unique() -> None:
    def prints(*findings: Finding) -> list[str]:
        return [r["partialFingerprints"]["primaryLocationLineHash"] for r in log(*findings)["results"]]  # type: ignore[attr-defined]

    moved = replace(FINDING, span=Span("a b/k.cu", 3, 1, 3, 5))
    assert prints(FINDING) == prints(moved)
    assert len(set(prints(FINDING, moved))) == 2
    assert prints(replace(FINDING, code="CUT102")) != prints(FINDING)


def test_instantiations_are_one_result_and_suppressions_stay() -> None:
    assert len(log(FINDING, replace(FINDING, arch="sm_90"))["results"]) == 1  # type: ignore[arg-type]
    kept = log(suppressed=(Suppressed(FINDING, "known"),))["results"][0]  # type: ignore[index]
    assert kept["suppressions"] == [{"kind": "inSource", "justification": "known"}]


def test_hostile_text_cannot_leave_its_annotation() -> None:
    evil = replace(FINDING, message="x\n::error::pwned %0A", span=Span("a,b:c.cu", 1, 1, 1, 2))
    lines = list(github.render(Report(Facts(), (evil,), errors=(SourceError("e.cu", "bad\r\n::warning::y"),))))
    assert lines[0].startswith("::warning file=a%2Cb%3Ac.cu,line=1,col=1,endLine=1,title=CUT101 bank-conflict-read::x ")
    assert "%250A" in lines[0] and not any("\n" in line or "\r" in line for line in lines)
    assert lines[1] == "::error file=e.cu::bad ::warning::y"
    assert not any(line.startswith("::") for line in lines[2:])


@pytest.mark.parametrize("style", ["sarif", "github"])
def test_from_the_command_line(tmp_path: Path, style: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.cu"
    file.write_text("#include <cute/tensor.hpp>\nusing namespace cute;\nusing L = Layout<Shape<_8, _8>>;\n")
    assert main(["check", str(file), "--output-format", style]) == 0
    out = capsys.readouterr().out
    if style == "sarif":
        assert json.loads(out)["version"] == "2.1.0"
    else:
        assert out.startswith("no findings")
