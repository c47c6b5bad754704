"""The machine formats: shape, fingerprints, limits, and names in sources that try to break out of them."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecheck.cli import main
from cutecheck.cli.formats import FORMATS, Style, rule_infos, write
from cutecheck.facts import Facts, SourceError, Span
from cutecheck.findings import Finding, Related
from cutecheck.model.prove.obligation import Witness
from cutecheck.report import sarif as sarif_format
from cutecheck.report.data import Report, Suppressed
from cutecheck.report.job import job

SARIF_SHAPE = json.loads((Path(__file__).parent / "sarif_shape.schema.json").read_text(encoding="utf-8"))
OFFICIAL = os.environ.get("CUTECHECK_SARIF_SCHEMA", "")  # the standard's file, which .ci/run gets
LINES = ["int a;", "  copy(t, s, d);", "copy(t, s, d);", "/* é */ copy(t, s, d);"]
FINDING = Finding(
    "CUT101", "bank-conflict-read", "bank-conflict-read", "warning", "proved", Span("a b/k.cu", 2, 3, 2, 7), "slow",
    "label", "swizzle", Witness("lanes meet", (("bank", 4),), ("lane 0", "lane 4")),
    (Related(Span("t.h", 9, 1, 9, 2), "the atom"),), (), "kernel<64>", "sm_90",
)  # fmt: skip
HOSTILE = [
    'quote " and \' and & and <b>', "two\nlines\r\nmore", "bell \x07 escape \x1b[31m nul \x00", "]]>", "::error::x",
    "\n::error file=a::pwned", "%0A::warning::x", "##[error]x", "##[add-mask]a", "[click](https://evil.example)",
    "lone \ud800 surrogate \udcff", "\u202e backwards \u2028 line", "\ufffe \uffff", "{0} {{1}}", "a,b:c=d%25",
    "</testsuite></testsuites>", "<![CDATA[x]]>", "../../etc/passwd",
]  # fmt: skip


def report(*findings: Finding, **more: Any) -> Report:
    return Report(Facts(), findings, lines=lambda path: LINES if path == "a b/k.cu" else None, **more)


described = cache(rule_infos)  # what each run says of all rules


@cache
def _validators() -> list[Any]:
    """Of SARIF's shape, and of the standard's own schema where that is at hand; both are schemas themselves."""
    schemas = [SARIF_SHAPE, *([json.loads(Path(OFFICIAL).read_text(encoding="utf-8"))] if OFFICIAL else [])]
    kinds = [jsonschema.validators.validator_for(schema) for schema in schemas]
    for kind, schema in zip(kinds, schemas, strict=True):
        kind.check_schema(schema)
    return [kind(schema) for kind, schema in zip(kinds, schemas, strict=True)]


def rendered(style: str, given: Report, place: Callable[[str], str] = str) -> str:
    out = StringIO()
    write(style, job(given, described(), place), Style("warn"), out)
    return out.getvalue()


def run_of(text: str) -> Any:
    document = json.loads(text)
    for validator in _validators():
        validator.validate(document)
    return document["runs"][0]


def github_commands(text: str) -> list[str]:
    """Lines that the runner of GitHub would take as commands."""
    lines = re.split(r"[\r\n]", text)
    return [line for line in lines if re.match(r"\s*::[^:]", line) or "##[" in line]


def test_sarif_has_what_github_asks_for() -> None:
    run = run_of(rendered("sarif", report(FINDING)))
    result, rules = run["results"][0], run["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "CUT101"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/k.cu", "uriBaseId": "PROJECTROOT"}
    assert place["region"] == {"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 7}
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    texts = [s["location"]["message"]["text"] for s in steps]
    assert texts == ["the atom", "lanes meet\nlane 0\nlane 4"]
    assert result["relatedLocations"][0]["message"]["text"] == "the atom"
    for rule in rules:
        assert len(rule["shortDescription"]["text"]) <= 1024 and len(rule["fullDescription"]["text"]) <= 1024
        assert "### Why" in rule["help"]["markdown"] and "Why\n" in rule["help"]["text"]
    assert run["invocations"][0]["executionSuccessful"] is True


@pytest.mark.skipif(not OFFICIAL, reason="the standard's schema is not at hand (CUTECHECK_SARIF_SCHEMA)")
def test_sarif_meets_the_schema_of_the_standard() -> None:
    schema = json.loads(Path(OFFICIAL).read_text(encoding="utf-8"))
    assert "SARIF" in schema["title"] and "2.1.0" in schema["title"]
    error = SourceError("k.cu", "binary", Span("k.cu", 1, 1, 1, 1))
    full = report(FINDING, errors=(error,), suppressed=(Suppressed(FINDING, "known"),))
    for text in (rendered("sarif", full), rendered("sarif", report())):
        jsonschema.validate(json.loads(text), schema)
    broken = json.loads(rendered("sarif", full))
    broken["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)


def test_sarif_keeps_the_limits_and_the_worst_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif_format, "MAX_RESULTS", 3)
    notes = [replace(FINDING, severity="note", span=Span("k.cu", n, 1, n, 2)) for n in range(1, 5)]
    error = replace(FINDING, severity="error", span=Span("z.cu", 9, 1, 9, 2))
    run = run_of(rendered("sarif", report(*notes, error)))
    assert [r["level"] for r in run["results"]] == ["error", "note", "note"]
    assert run["properties"]["resultsLeftOut"] == 2
    many = replace(FINDING, related=tuple(Related(Span("t.h", n, 1, n, 2), "x") for n in range(1, 2000)))
    result = run_of(rendered("sarif", report(many)))["results"][0]
    assert len(result["relatedLocations"]) == 100
    assert len(result["codeFlows"][0]["threadFlows"][0]["locations"]) == 1000
    assert (
        len(run_of(rendered("sarif", report(replace(FINDING, message="x" * 10**5))))["results"][0]["message"]["text"])
        <= 8000
    )


def test_empty_texts_and_outside_files_in_sarif() -> None:
    bare = replace(FINDING, message="", help="", label="", enclosing="", arch="", related=(Related(FINDING.span, ""),),
                   witness=Witness("", (("", ""),)), span=Span("/usr/x y.h", 1, 1, 1, 1))  # fmt: skip
    errors = (SourceError("", "crash"), SourceError("k.cu", ""), SourceError("k.cu", "e", Span("k.cu", 1, 1, 1, 1)))
    run = run_of(rendered("sarif", report(bare, errors=errors)))
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///usr/x%20y.h"
    assert run["invocations"][0]["executionSuccessful"] is False
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 3


def test_fingerprints_ignore_lines_and_are_unique() -> None:
    def prints(*findings: Finding) -> list[str]:
        return [a.fingerprint for a in job(report(*findings), (), str).alerts]

    moved = replace(FINDING, span=Span("a b/k.cu", 3, 1, 3, 5))
    assert prints(FINDING) == prints(moved) == prints(replace(FINDING, message="else", severity="error"))
    assert len(set(prints(FINDING, moved))) == 2
    assert prints(FINDING, moved) == prints(moved, FINDING)[::-1]
    assert prints(replace(FINDING, code="CUT102")) != prints(FINDING)
    assert prints(replace(FINDING, span=Span("a b/k.cu", 4, 1, 4, 5))) != prints(FINDING)
    run = run_of(rendered("sarif", report(FINDING, moved)))
    assert len({r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]}) == 2


def test_instantiations_are_one_alert_and_suppressed_ones_stay_out_of_gates() -> None:
    twice = report(FINDING, replace(FINDING, arch="sm_80"), suppressed=(Suppressed(FINDING, "known"),))
    assert len(run_of(rendered("sarif", twice))["results"]) == 1
    assert len(json.loads(rendered("gitlab", twice))) == 1
    lines = [json.loads(line) for line in rendered("json-lines", twice).splitlines()]
    assert [line["type"] for line in lines] == ["finding", "finding", "suppressed", "summary"]
    assert lines[0]["fingerprint"] == lines[1]["fingerprint"] and lines[2]["suppression_reason"] == "known"


def test_gitlab_junit_rdjson_and_github() -> None:
    moved = replace(FINDING, severity="error", span=Span("a b/k.cu", 4, 9, 4, 13))
    given = report(FINDING, moved, errors=(SourceError("e.cu", "cannot be read"),))
    entries = json.loads(rendered("gitlab", given))
    assert [e["severity"] for e in entries] == ["blocker", "major", "critical"]
    assert len({e["fingerprint"] for e in entries}) == 3
    assert entries[1]["location"]["positions"]["begin"] == {"line": 2, "column": 3}
    root = Xml.fromstring(rendered("junit", given))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "2", "1")
    assert [s.get("name") for s in root] == ["e.cu", "a b/k.cu"]
    assert Xml.fromstring(rendered("junit", report())).find("testsuite/testcase") is not None
    diagnostics = json.loads(rendered("rdjson", given))["diagnostics"]
    assert diagnostics[1]["location"]["range"]["start"] == {"line": 2, "column": 3}
    assert diagnostics[2]["location"]["range"]["start"] == {"line": 4, "column": 10}, "columns count bytes"
    assert diagnostics[1]["severity"] == "WARNING" and diagnostics[1]["code"] == {"value": "CUT101"}
    lines = rendered("github", given).splitlines()
    assert lines[0] == "::error title=cutecheck,file=e.cu::cannot be read"
    assert lines[1].startswith(
        "::error file=a b/k.cu,line=4,endLine=4,col=9,endColumn=13,title=CUT101 bank-conflict-read::slow"
    )
    assert lines[2].startswith("::warning ")


@pytest.mark.parametrize("evil", HOSTILE)
def test_hostile_text_breaks_no_format(evil: str) -> None:
    check_hostile(evil)


@settings(deadline=None, max_examples=40)
@given(st.text(alphabet=st.characters(codec=None), max_size=30))
def test_any_text_breaks_no_format(evil: str) -> None:
    check_hostile(evil)


def check_hostile(evil: str) -> None:
    span = Span(f"d/{evil}.cu", 1, 1, 1, 2)
    finding = Finding(
        "CUT101", "bank-conflict-read", "bank-conflict-read", "error", "proved", span, f"m {evil}", evil, f"h {evil}",
        Witness(evil, ((evil, evil),), (evil,)), (Related(span, evil),), (), evil, evil,
    )  # fmt: skip
    given = Report(
        Facts(), (finding,), (Suppressed(finding, evil),), (), (SourceError(evil, evil), SourceError(evil, evil, span)),
        lines=lambda _: [evil],
    )  # fmt: skip
    clean = Report(Facts(), (replace(finding, span=Span("d/x.cu", 1, 1, 1, 2)),), lines=lambda _: ["x"])
    results = run_of(rendered("sarif", given))["results"]
    assert len(results) == 1
    assert "](" not in json.dumps(results)
    assert len(json.loads(rendered("rdjson", given))["diagnostics"]) == 3
    entries = json.loads(rendered("gitlab", given))
    assert len({e["fingerprint"] for e in entries}) == len(entries)
    root = Xml.fromstring(rendered("junit", given).encode("utf-8"))
    assert [root.get("tests"), root.get("failures"), root.get("errors")] == ["3", "1", "2"]
    assert len(list(root.iter("testcase"))) == 3
    commands = rendered("github", given).splitlines()
    assert len(commands) == 3 and all(c.startswith("::error ") and "##[" not in c for c in commands)
    assert len(rendered("github", clean).splitlines()) == 1
    for line in rendered("json-lines", given).splitlines():
        json.loads(line)
    for style in FORMATS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GITHUB_ACTIONS", "true")
            text = rendered(style, given)
        assert not set(text) & {"\x1b", "\x00", "\x07", "\r", "\u202e", "\u2028"}
        if style in ("full", "concise", "github"):  # the others are documents, not logs
            assert len(github_commands(text)) == (3 if style == "github" else 0)


BAD = (
    "#include <cute/tensor.hpp>\nusing namespace cute;\nusing Op = MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>;\n"
    "using Twice = TiledMMA<Op, Layout<Shape<_2, _1, _1>>,\n"
    "                       Tile<_32, Layout<Shape<_2, _4, _2>, Stride<_1, _2, _4>>, _16>>;\n"
)


def test_several_outputs_in_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "bad.cu").write_text(BAD)
    monkeypatch.chdir(tmp_path / "src")
    extra = [f"--output={style}={tmp_path / style}" for style in FORMATS]
    assert main(["check", "bad.cu", "--output-format", "concise", *extra]) == 1
    captured = capsys.readouterr().out
    assert captured.startswith("bad.cu:4:7: CUT203") and (tmp_path / "concise").read_text() == captured
    result = run_of((tmp_path / "sarif").read_text())["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/bad.cu"
    assert json.loads((tmp_path / "gitlab").read_text())[0]["location"]["path"] == "src/bad.cu"
    assert (tmp_path / "github").read_text().startswith("::error file=src/bad.cu,line=4,")
    Xml.parse(tmp_path / "junit")
    assert all((tmp_path / style).stat().st_size for style in FORMATS)
    for wrong in ("sarif", "sarif=", "pdf=x"):
        assert main(["check", "bad.cu", "--output", wrong]) == 2
    assert main(["check", "bad.cu", "--output", "sarif=x", "--output", "json=./x"]) == 2
    assert "same file" in capsys.readouterr().err
    assert main(["check", "bad.cu", "--output", "sarif=no/x"]) == 2


def test_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.cu").write_text(BAD)
    (tmp_path / "known.cu").write_text(
        "// cutecheck: ignore-file[CUT203] known\n" + BAD.replace("<_2, _1", "<_4, _1").replace("_32", "_64")
    )
    assert main(["check", str(tmp_path), "--statistics", "--output-format", "concise"]) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["1", "1", "1", "CUT203", "permutation-not-bijective"] in rows
    assert main(["check", str(tmp_path), "--statistics", "--output-format", "gitlab"]) == 1
    captured = capsys.readouterr()
    assert "CUT203 permutation-not-bijective" in captured.err and json.loads(captured.out)


def test_people_read_paths_from_where_they_stand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.cu").write_text(
            BAD if folder == "b" else BAD.replace("_2, _4, _2", "_4, _2, _2").replace("Twice", "InA")
        )
    monkeypatch.chdir(tmp_path)
    assert main(["check", "b/k.cu", "a/k.cu", "--output-format", "concise"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split(":")[0] for line in lines[:-1]) == ["a/k.cu", "b/k.cu"]
    assert main(["check", "b/k.cu", "a/k.cu"]) == 1
    out = capsys.readouterr().out
    assert "--> a/k.cu:4:7\n  |\n4 | using InA" in out and "--> b/k.cu:4:7\n  |\n4 | using Twice" in out
    assert main(["check", "missing.cu", "--output-format", "concise"]) == 2
    assert "missing.cu: error: no such file" in capsys.readouterr().out
