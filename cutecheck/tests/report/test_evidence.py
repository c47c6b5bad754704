"""Reports without a list of assumptions say at the finding that an architecture's access model is assumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.cli.app import run as cutecheck

CASE = Path(__file__).parents[1] / "data" / "cases" / "036-sgemm-tn-unpadded-store" / "bad.cu"
FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_marks_what_is_assumed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "--isolated", "--exit-zero", "--output-format", name, str(CASE)]
    said = {}
    for arch in ("sm_80", "sm_90a"):
        assert cutecheck([*arguments, "--arch", arch]) == 0
        out = capsys.readouterr().out.lower()
        said[arch] = "access-model: sm_90" in out or "access model of sm_80: assumed" in out
    assert said == {"sm_80": True, "sm_90a": False}
