"""``confirm`` and ``check --confirm``: tiers, exit codes, JSON; never unless asked."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cutecheck.cli import main
from cutecheck.cli.confirm_tiers import Judged, TierOutcome
from cutecheck.exec import child
from cutecheck.exec.child import run as begin
from cutecheck.exec.headers import Headers, NoHeaders
from cutecheck.facts import Event, Span, TensorFact
from cutecheck.findings import Finding
from cutecheck.model.layout import Layout

TOP = Path(__file__).parents[3]
SCHEMA = json.loads((TOP / "docs/schema/confirm.schema.json").read_text(encoding="utf-8"))
CHECK = json.loads((TOP / "docs/schema/check.schema.json").read_text(encoding="utf-8"))
FIXTURE = TOP / "cutecheck/fixtures/cpp/ldmatrix_rows.cu"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without compilers, GPU or DSL: nothing may be run."""

    def nothing(*_: object, **__: object) -> Any:
        raise AssertionError("a child process was started")

    monkeypatch.setattr("cutecheck.exec.headers.find_headers", lambda *_: NoHeaders("no compiler here"))
    monkeypatch.setattr("cutecheck.exec.isa.compile.find_bench", lambda *_: "no NVRTC here")
    monkeypatch.setattr("cutecheck.exec.gpu.devices.find_bench", lambda *_: "no GPU here")
    monkeypatch.setattr(child, "run", nothing)


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main([*arguments, "--isolated", "--no-cache", "--arch", "sm_90a", str(FIXTURE)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("tier", ["host", "isa", "dsl", "gpu", "host,isa,dsl,gpu"])
def test_documents_follow_the_schema(bare: None, capsys: Capture, tier: str) -> None:
    code, out, _ = run(capsys, "confirm", "--tier", tier, "--output-format", "json")
    document = json.loads(out)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    documents = document.get("tiers", [document])
    assert code == 0 and [d["tier"] for d in documents] == tier.split(",")
    assert "confirmed" not in [r["status"] for d in documents for r in d.get("confirmations", d.get("events", []))]


def test_a_document_with_a_wrong_status_breaks_the_schema(bare: None, capsys: Capture) -> None:
    document = json.loads(run(capsys, "confirm", "--output-format", "json")[1])
    document["confirmations"][0]["status"] = "maybe"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_no_command_line_confirms_by_itself(monkeypatch: pytest.MonkeyPatch, bare: None, capsys: Capture) -> None:
    from cutecheck.cli import confirm_tiers

    def asked(*_: object) -> Any:
        raise AssertionError("confirmed without being asked")

    monkeypatch.setattr(confirm_tiers, "confirmed", asked)
    code, out, _ = run(capsys, "check", "--output-format", "json")
    assert code == 1 and "confirmation" not in json.loads(out)


def test_help_says_what_it_runs(capsys: Capture) -> None:
    for command in ("check", "confirm"):
        assert main([command, "--help"]) == 0
        assert "compiles and runs code derived from the sources" in " ".join(capsys.readouterr().out.split())


def test_check_confirm_is_the_host_tier_and_takes_no_path(bare: None, capsys: Capture) -> None:
    code, out, err = run(capsys, "check", "--output-format", "json", "--confirm")
    document = json.loads(out)
    jsonschema.validate(document, CHECK)
    assert code == 1 and [d["tier"] for d in document["confirmation"]] == ["host"]
    said = document["findings"][0]["confirmations"]
    assert said[0]["status"] == "unavailable" and "no compiler here" in said[0]["reason"]
    assert "host tier unavailable: no compiler here" in err


def test_several_tiers_after_a_check(bare: None, capsys: Capture) -> None:
    code, out, _ = run(capsys, "check", "--output-format", "concise", "--confirm=isa,gpu")
    assert code == 1
    assert "== confirmation: isa" in out and "== confirmation: gpu" in out and "no NVRTC here" in out


@pytest.mark.parametrize(("status", "expected"), [("confirmed", 1), ("contradicted", 5), ("unavailable", 1)])
def test_exit_codes(bare: None, monkeypatch: pytest.MonkeyPatch, capsys: Capture, status: str, expected: int) -> None:
    """A contradiction is 5, over findings; ``confirm`` alone gives 0 or 5."""
    from cutecheck.cli import confirm_tiers

    judged = (Judged(Span("x.cu", 1, 1, 1, 2), "sm_80", status, "said"),)
    outcome = TierOutcome("host", lambda _full: iter(["line"]), {"tier": "host"}, judged, status == "unavailable")
    monkeypatch.setattr(confirm_tiers, "confirmed", lambda *_: ([outcome], ()))
    assert run(capsys, "check", "--confirm=host")[0] == expected
    assert run(capsys, "check", "--confirm=host", "--exit-zero")[0] == (5 if expected == 5 else 0)
    assert run(capsys, "confirm")[0] == (5 if expected == 5 else 0)
    assert run(capsys, "confirm", "--unavailable", "error")[0] == {"unavailable": 1}.get(
        status, expected if expected == 5 else 0
    )


def test_wrong_tiers_are_usage_errors(capsys: Capture) -> None:
    for arguments in (["confirm", "--tier", "cpu"], ["check", "--confirm=all"], ["confirm", "--isa-arch", "80"]):
        assert main([*arguments, str(FIXTURE)]) == 2
        assert "there are host" in (said := capsys.readouterr().err) or "no architecture" in said


def test_what_a_finding_is_told() -> None:
    """By the facts at its place or at a place it names, of its architecture; contradicted over confirmed."""
    here, far = Span("a.cu", 5, 1, 6, 2), Span("a.cu", 50, 1, 50, 2)
    finding = Finding("CUT101", "n", "lint", "warning", "proved", here, "m", arch="sm_80")

    def about(*judged: Judged) -> str:
        return TierOutcome("host", lambda _full: iter(()), {}, judged, False).about(finding)[0]

    confirmed = Judged(Span("a.cu", 6, 1, 6, 9), "sm_80", "confirmed", "")
    assert about(confirmed) == "confirmed"
    assert about(confirmed, Judged(here, "sm_80", "contradicted", "no")) == "contradicted"
    assert about(Judged(far, "sm_80", "confirmed", "")) == "unavailable"
    assert about(Judged(here, "sm_90a", "confirmed", "")) == "unavailable"
    assert about() == "unavailable"
    # the site of a layout that a copy at the finding's place uses, wherever it stands
    tensor = TensorFact("t", here, "smem", Layout(8, 1), None, root_layout=Layout(64, 1))
    event = Event("e", "copy", "copy", here, None, None, (tensor,), None, False, "", "sm_80")
    site = Judged(far, "sm_80", "confirmed", "layout S", Layout(64, 1))
    outcome = TierOutcome("host", lambda _full: iter(()), {}, (site,), False)
    assert outcome.about(finding, [event]) == ("confirmed", "what it rests on: layout S")
    assert outcome.about(finding, [replace(event, arch="sm_90a")])[0] == "unavailable"


def test_headers_of_the_tree_come_before_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The CUTLASS that the tree is written against is the one that is compiled, and the one that is followed."""
    monkeypatch.delenv("CUTECHECK_CUTLASS", raising=False)
    include = tmp_path / "third_party/cutlass/include"
    (include / "cute").mkdir(parents=True)
    (include / "cutlass").mkdir()
    (include / "cute/tensor.hpp").write_text("")
    version = "#define CUTLASS_MAJOR 3\n#define CUTLASS_MINOR 9\n#define CUTLASS_PATCH 2\n"
    (include / "cutlass/version.h").write_text(version)
    (tmp_path / "kernel.cu").write_text("using L = cute::Layout<cute::_8>;\n")
    seen: dict[str, str] = {}

    def find(environ: dict[str, str]) -> NoHeaders:
        seen.update(environ)
        return NoHeaders("not now")

    monkeypatch.setattr("cutecheck.exec.headers.find_headers", find)
    assert main(["confirm", "--isolated", "--no-cache", str(tmp_path)]) == 0
    assert Path(seen["CUTECHECK_CUTLASS"]) == include.resolve()
    assert main(["confirm", "--isolated", "--no-cache", "--cutlass", "/elsewhere", str(tmp_path)]) == 0
    assert seen["CUTECHECK_CUTLASS"] == "/elsewhere"
    capsys.readouterr()


@pytest.mark.parametrize("tier", ["host", "gpu", "host,gpu"])
def test_a_place_is_what_stands_there(bare: None, capsys: Capture, tmp_path: Path, tier: str) -> None:
    """What stands at one line alone; of another file that is named without a line, everything."""
    other = tmp_path / "other.cu"
    other.write_text(FIXTURE.read_text())
    options = ["confirm", "--isolated", "--no-cache", "--arch", "sm_90a", "--tier", tier, "--output-format", "json"]

    def lines(*paths: str) -> set[tuple[str, int]]:
        assert main([*options, *paths]) == 0
        document = json.loads(capsys.readouterr().out)
        made = document.get("tiers", [document])[-1]
        return {(r["path"], r["line"]) for r in made.get("events", made.get("confirmations", []))}

    (line, *_) = sorted(n for _, n in lines(str(FIXTURE)))
    assert lines(f"{FIXTURE}:{line}") == {(FIXTURE.name, line)}
    both = lines(f"{FIXTURE}:{line}", str(other))
    assert {n for p, n in both if p.endswith(FIXTURE.name)} == {line} and any(p.endswith("other.cu") for p, _ in both)
    assert main([*options[:-2], f"{FIXTURE}:2"]) == 2
    assert "stands here; the closest is at line" in capsys.readouterr().err
    assert main([*options[:-2], f"{tmp_path}/none.cu:2"]) == 2
    assert "no such file" in "".join(capsys.readouterr())


def test_an_interrupt_leaves_a_report_of_what_is_known(
    bare: None, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """No compiler is started after it; the second command is not interrupted, and tries."""
    headers = Headers("/no/compiler", Path("/no/include"), (), "4.2.0")
    monkeypatch.setattr("cutecheck.exec.headers.find_headers", lambda *_: headers)

    def interrupted(*given: Any, **named: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return begin(*given, **named)

    monkeypatch.setattr(child, "run", interrupted)
    for command in (("confirm",), ("check", "--confirm", "host")):
        code, out, _ = run(capsys, *command, "--output-format", "json")
        assert code == 2
        document = json.loads(out)
        assert child.INTERRUPTED in [e["message"] for e in document["errors"]]
        made = document if command == ("confirm",) else document["confirmation"][0]
        why = {c["reason"] for c in made["confirmations"] if c["site_status"] == "resolved"}
        assert why and all("interrupted" in reason and "headers" not in reason for reason in why)
    monkeypatch.setattr(child, "run", begin)
    assert run(capsys, "confirm", "--output-format", "json")[0] == 0
