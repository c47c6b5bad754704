"""What the machine formats get: the report, one alert a place, paths as the project names them, and rule texts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

from cutecheck.findings import Confidence, Finding, Severity
from cutecheck.model.arch import architecture
from cutecheck.records import record
from cutecheck.report.data import Report
from cutecheck.report.full import fold

Place = Callable[[str], str]
RANK: dict[str, int] = {"error": 0, "warning": 1, "note": 2}


@record(frozen=True, slots=True)
class RuleInfo:
    """A rule as the reports describe it. ``sections`` are (title, text) in the order of its documentation."""

    code: str
    name: str
    family: str
    severity: Severity
    confidence: Confidence
    summary: str
    sections: tuple[tuple[str, str], ...]


@record(frozen=True, slots=True)
class Alert:
    """One place with one rule's finding; ``others`` counts further instantiations of the same place.

    ``path`` is POSIX and relative to the project. ``fingerprint`` (64 hex digits) is unique in a report and does not
    depend on line numbers.
    """

    finding: Finding
    others: int
    path: str
    fingerprint: str


@record(frozen=True, slots=True)
class Job:
    """One run, ready to be written in any format. ``rules`` are of SARIF alone, which lists them."""

    report: Report
    rules: tuple[RuleInfo, ...]
    alerts: tuple[Alert, ...]
    place: Place


def job(report: Report, rules: Sequence[RuleInfo], place: Place) -> Job:
    """The job of a report; ``place`` turns the path of a span into the project's path."""
    return Job(report, tuple(rules), alerts(report, place), place)


def alerts(report: Report, place: Place) -> tuple[Alert, ...]:
    """One alert for each (rule, place) of the report, in the report's order."""
    folded = fold(report.findings)
    marks = fingerprints([finding for finding, _ in folded], report, place)
    return tuple(
        Alert(finding, others, place(finding.span.path), mark)
        for (finding, others), mark in zip(folded, marks, strict=True)
    )


def fingerprints(findings: Sequence[Finding], report: Report, place: Place) -> list[str]:
    """A fingerprint for each finding, which must be of different (rule, place).

    Of the code, the project's path, and the text of the finding's own lines without its spacing; findings alike in all
    three are numbered in the order of the file. Code added above or below, and other instantiations, change nothing.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    marks: dict[tuple[str, object], str] = {}
    for finding in sorted(findings, key=lambda f: (f.span, f.code)):
        key = (finding.code, place(finding.span.path), _text(finding, report))
        text = "\0".join((*key, str(seen[key])))
        seen[key] += 1
        marks[finding.code, finding.span] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return [marks[f.code, f.span] for f in findings]


def _text(finding: Finding, report: Report) -> str:
    lines = report.lines(finding.span.path) or []
    return " ".join(" ".join(lines[finding.span.line - 1 : max(finding.span.line, finding.span.end_line)]).split())


_BY_ACCESS_MODEL = ("bank-conflict-read", "bank-conflict-write", "epilogue", "cp-async-segments")


def evidence(alert: Alert) -> str:
    """What to add to a cost of shared memory where the access model of its architecture is only assumed."""
    finding = alert.finding
    if finding.family not in _BY_ACCESS_MODEL:
        return ""
    try:
        found = architecture(finding.arch)
    except ValueError:  # no architecture was named
        return ""
    measured = found is not None and found.access_model == "measured"
    return "" if measured else f" (access model of {finding.arch}: assumed)"


def message(alert: Alert) -> str:
    """The finding in one line: what is wrong, and for how many further instantiations."""
    text = " ".join(alert.finding.message.split())
    return f"{text} (and {alert.others} more instantiations)" if alert.others > 1 else text
