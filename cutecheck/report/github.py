"""GitHub workflow commands: one annotation a finding. GitHub shows ten warnings and ten errors a step."""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.report.data import Report, summarise
from cutecheck.report.summary import summary_lines
from cutecheck.report.text import safe

_COMMAND = {"error": "error", "warning": "warning", "note": "notice"}


def _data(text: str) -> str:
    """The message of a command: nothing in it can start another one."""
    return safe(" ".join(text.split())).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def render(report: Report, unknown: str = "warn") -> Iterator[str]:
    """The lines of the report, errors first; findings that differ by instantiation alone are one line."""
    lines: dict[str, None] = {}
    for finding in sorted(report.findings, key=lambda f: ("error", "warning", "note").index(f.severity)):
        span = finding.span
        place = f"file={_property(span.path)},line={span.line},col={span.column},endLine={span.end_line}"
        title = _property(f"{finding.code} {finding.name}")
        text = finding.message + (f" ({finding.witness.summary})" if finding.witness else "")
        lines[f"::{_COMMAND[finding.severity]} {place},title={title}::{_data(text)}"] = None
    for error in (*report.errors, *report.failures):
        place = f" file={_property(error.path)}" if error.path else ""
        lines[f"::error{place}::{_data(error.message)}"] = None
    yield from lines
    yield from (_data(line) for line in summary_lines(summarise(report), unknown))
