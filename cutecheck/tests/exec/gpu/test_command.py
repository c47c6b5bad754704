"""``confirm --tier gpu`` on a machine without a GPU compiler: unavailable everywhere, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from cutecheck.cli.app import run as cutecheck
from cutecheck.cli.confirm_gpu import _RENDER, FORMATS
from cutecheck.exec.gpu.from_facts import probe_of
from cutecheck.exec.gpu.results import Compared, Measured
from cutecheck.exec.gpu.tier import EventResult, GpuReport, finding_result, judged
from cutecheck.facts import Facts
from cutecheck.findings import Finding
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

FIXTURE = Path(__file__).parents[3] / "fixtures" / "cpp" / "ldmatrix_rows.cu"


@pytest.fixture(scope="module")
def facts() -> Facts:
    return extract(ExtractRequest(paths=(FIXTURE,), archs=("sm_90a",)))


def judge(facts: Facts, measured: int) -> GpuReport:
    """A report of the plain rows as if the hardware had shown ``measured`` wavefronts."""
    event = facts.events[0]
    counted = (Compared("wavefronts_ldmatrix", 256, measured),)
    outcome = "equal" if measured == 256 else "wrong"
    got = Measured(outcome, "" if measured == 256 else "differs", "k", {"ideal_ldmatrix": 64}, counted)
    finding = Finding(
        "CUT101", "bank-conflict-read", "bank-conflict-read", "warning", "proved", event.span, "a conflict",
        enclosing=event.enclosing, arch=event.arch,
    )  # fmt: skip
    result = judged(event, probe_of(event), got, [finding])
    return GpuReport("sm_90a", "measured", (result,), (finding_result(finding, [result]),))


def test_a_finding_is_confirmed_or_contradicted_by_the_counters(facts: Facts) -> None:
    right, wrong = judge(facts, 256), judge(facts, 64)
    assert [r.status for r in (*right.events, *right.findings)] == ["confirmed", "confirmed"]
    assert "256 wavefronts (ldmatrix) measured" in right.findings[0].reason
    assert wrong.contradicted and [r.status for r in (*wrong.events, *wrong.findings)] == ["contradicted"] * 2


def test_what_stops_without_a_finding_contradicts(facts: Facts) -> None:
    event = facts.events[0]
    result: EventResult = judged(event, probe_of(event), Measured("faulted", "misaligned address"), [])
    assert result.status == "contradicted" and "nothing was found" in result.reason


def test_a_race_is_not_shown_by_a_copy_that_runs_alone(facts: Facts) -> None:
    """Its family has a rule on bank conflicts, too: as many wavefronts as predicted say nothing against it."""
    event = facts.events[0]
    race = Finding(
        "CUT212", "smem-reuse-without-barrier", "epilogue", "warning", "proved", event.span, "a race",
        enclosing=event.enclosing, arch=event.arch,
    )  # fmt: skip
    counted = (Compared("wavefronts_stmatrix", 64, 64),)
    got = Measured("equal", "", "k", {"ideal_stmatrix": 64}, counted)
    result = judged(event, probe_of(event), got, [race])
    assert result.status == "confirmed" and finding_result(race, [result]).status == "unavailable"
    refused = judged(event, probe_of(event), Measured("refused", "static assertion failed"), [race])
    assert refused.status == "contradicted"


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_how_the_access_model_is_known(facts: Facts, name: str) -> None:
    text = _RENDER[name](judge(facts, 64))
    assert "measured" in text and ("failures" if name == "junit" else "contradicted") in text
    if name in ("json", "sarif"):
        json.loads(text)
    if name == "junit":
        assert Xml.fromstring(text).find("testsuite").get("failures") == "2"  # type: ignore[union-attr]


def test_the_command_without_a_gpu(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["confirm", "--tier", "gpu", "--isolated", "--arch", "sm_90a", "--cutlass", str(tmp_path)]
    assert cutecheck([*arguments, "--output-format", "json", str(FIXTURE)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["unavailable"] and said["access_model"] == "measured"
    assert said["summary"]["events"] == {"confirmed": 0, "contradicted": 0, "unavailable": 2}
    assert cutecheck([*arguments, "--unavailable", "error", str(FIXTURE)]) == 1


def test_one_run_in_several_formats(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("junit", "sarif", "html")}
    also = [f"--output={name}={file}" for name, file in files.items()]
    arguments = ["confirm", "--tier", "gpu", "--isolated", "--arch", "sm_90a", "--cutlass", str(tmp_path)]
    assert cutecheck([*arguments, *also, "--output-format", "json", str(FIXTURE)]) == 0
    assert json.loads(capsys.readouterr().out)["tier"] == "gpu"
    assert Xml.fromstring(files["junit"].read_text()).find("testsuite").get("skipped") == "3"  # type: ignore[union-attr]
    assert json.loads(files["sarif"].read_text())["version"] == "2.1.0" and "GPU" in files["html"].read_text()
    assert cutecheck([*arguments, "--output", "yaml=x", str(FIXTURE)]) == 2


def test_timing_is_said_to_be_less_certain(facts: Facts) -> None:
    event = facts.events[0]
    counted = (Compared("cycles", 256, 258, 294),)
    got = Measured("equal", "", "k", {"ideal_ldmatrix": 64, "wavefronts_ldmatrix": 256}, counted, tool="cycles")
    finding = Finding(
        "CUT101", "bank-conflict-read", "bank-conflict-read", "warning", "proved", event.span, "a conflict",
        enclosing=event.enclosing, arch=event.arch,
    )  # fmt: skip
    result = judged(event, probe_of(event), got, [finding])
    found = finding_result(finding, [result])
    assert found.status == "confirmed" and "by timing: lower confidence" in found.reason
    report = GpuReport("sm_90a", "measured", (result,), (found,), devices=2)
    assert all("2" in _RENDER[n](report) and "timing" in _RENDER[n](report) for n in ("full", "junit", "html"))
