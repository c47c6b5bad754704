"""Exit codes."""

from __future__ import annotations

from enum import IntEnum

from cutecheck.config import FailOn, UnknownPolicy
from cutecheck.model.prove.obligation import Verdict
from cutecheck.report.data import Report, summarise


class Exit(IntEnum):
    """What the process answers. Where several apply: ERROR, DISAGREE, CONTRADICTED, FINDINGS."""

    CLEAN = 0  # nothing at or above --fail-on
    FINDINGS = 1
    ERROR = 2  # usage, configuration, unreadable input, internal error
    NO_INPUTS = 3
    DISAGREE = 4  # two engines differ
    CONTRADICTED = 5  # a confirmation contradicts a verdict


_AT_LEAST = {"note": ("note", "warning", "error"), "warning": ("warning", "error"), "error": ("error",)}


def exit_code(report: Report, fail_on: FailOn, unknown: UnknownPolicy, exit_zero: bool = False) -> Exit:
    """The exit code of a check. ``exit_zero`` silences findings only, never errors or disagreements."""
    if report.failures:
        return Exit.ERROR
    if any(o.verdict is Verdict.DISAGREE for o in report.outcomes):
        return Exit.DISAGREE
    failing = any(f.severity in _AT_LEAST[fail_on] for f in report.findings)
    if unknown == "error" and summarise(report).not_verified:
        failing = True
    return Exit.FINDINGS if failing and not exit_zero else Exit.CLEAN
