"""Severities by rule and by path: the longest selector wins, patterns are relative to the configuration file."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.overrides import Overrides
from cutecheck.facts import Span
from cutecheck.findings import Finding, UnknownRuleError


def finding(code: str, path: str) -> Finding:
    return Finding(code, "n", "lint", "warning", "proved", Span(path, 1, 1, 1, 2), "message")


def test_the_longest_selector_wins_and_paths_go_last(tmp_path: Path) -> None:
    settings = Settings(
        severity=(("CUT104", "error"), ("CUT1", "note")),
        per_path=(("tests/**", ("CUT2",), (("CUT101", "error"),)),),
        origin=str(tmp_path / "cutecheck.toml"),
    )
    apply = Overrides(settings, lambda shown: tmp_path / "tests" / shown if shown.startswith("t") else tmp_path / shown)
    got = apply([finding("CUT104", "a.cu"), finding("CUT101", "a.cu"), finding("CUT201", "a.cu"),
                 finding("CUT101", "t.cu"), finding("CUT201", "t.cu")])  # fmt: skip
    assert [(f.code, f.span.path, f.severity) for f in got] == [
        ("CUT104", "a.cu", "error"), ("CUT101", "a.cu", "note"), ("CUT201", "a.cu", "warning"),
        ("CUT101", "t.cu", "error"),
    ]  # fmt: skip


def test_a_selector_that_no_rule_has_is_an_error() -> None:
    with pytest.raises(UnknownRuleError):
        Overrides(Settings(severity=(("CUT9999", "note"),)), lambda _: None)
