"""Workflow commands of GitHub Actions: one annotation a finding.

GitHub shows 10 errors and 10 warnings of a step; the worst come first. A line of the log is a command when it starts
with ``::`` or holds ``##[``: whatever comes from the sources is escaped so that it can be neither.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.facts import SourceError
from cutecheck.report.data import summarise
from cutecheck.report.job import RANK, Alert, Job, message
from cutecheck.report.summary import summary_lines
from cutecheck.report.text import safe

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(job: Job, unknown: str = "warn") -> str:
    """The commands, one a line."""
    return "".join(line + "\n" for line in _lines(job, unknown))


def _lines(job: Job, unknown: str) -> Iterator[str]:
    for error in (*job.report.errors, *job.report.failures):
        yield _error(error, job)
    for alert in sorted(job.alerts, key=lambda a: RANK[a.finding.severity]):
        yield _annotation(alert)
    for text in summary_lines(summarise(job.report), unknown)[1:]:
        yield f"::notice title=cutecheck::{data(text)}"


def _annotation(alert: Alert) -> str:
    finding, span = alert.finding, alert.finding.span
    fields = [("file", alert.path), ("line", span.line), ("endLine", span.end_line)]
    if span.line == span.end_line:  # GitHub takes columns within one line alone
        fields += [("col", span.column), ("endColumn", span.end_column)]
    fields.append(("title", f"{finding.code} {finding.name}"))
    text = message(alert) + (f"; help: {finding.help}" if finding.help else "")
    return f"::{_LEVELS[finding.severity]} {','.join(f'{k}={value(str(v))}' for k, v in fields)}::{data(text)}"


def _error(error: SourceError, job: Job) -> str:
    fields = [("title", "cutecheck")]
    if error.path:
        fields.append(("file", job.place(error.path)))
    if error.span:
        fields.append(("line", str(error.span.line)))
    return f"::error {','.join(f'{k}={value(v)}' for k, v in fields)}::{data(error.message)}"


def data(text: str) -> str:
    """Text as the message of a command."""
    return safe(text).replace("%", "%25").replace("##[", "## [")


def value(text: str) -> str:
    """Text as the value of a property."""
    return data(text).replace(":", "%3A").replace(",", "%2C")
