"""Reviewdog Diagnostic Format; its columns count bytes of UTF-8, from 1."""

from __future__ import annotations

import json
from typing import Any

from cutecheck.facts import SourceError, Span
from cutecheck.report.job import Alert, Job, evidence, message
from cutecheck.report.text import safe

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def render(job: Job) -> str:
    """The document."""
    errors = (*job.report.errors, *job.report.failures)
    document = {
        "source": {"name": "cutecheck"},
        "diagnostics": [*(_error(e, job) for e in errors), *(_diagnostic(a, job) for a in job.alerts)],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _diagnostic(alert: Alert, job: Job) -> dict[str, Any]:
    finding = alert.finding
    result: dict[str, Any] = {
        "message": safe(message(alert) + evidence(alert) + (f"; help: {finding.help}" if finding.help else "")),
        "location": _location(finding.span, alert.path, job),
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
    }
    if finding.related:
        result["related_locations"] = [
            {"message": safe(r.label), "location": _location(r.span, job.place(r.span.path), job)}
            for r in finding.related
        ]
    edits = [e for f in finding.fixes if f.safe for e in f.edits if e.span.path == finding.span.path]
    if edits:
        result["suggestions"] = [{"range": _range(e.span, job), "text": e.replacement} for e in edits]
    return result


def _error(error: SourceError, job: Job) -> dict[str, Any]:
    location: dict[str, Any] = {"path": safe(job.place(error.path)) if error.path else ""}
    if error.span:
        location["range"] = _range(error.span, job)
    return {"message": safe(error.message), "location": location, "severity": "ERROR", "code": {"value": "error"}}


def _location(span: Span, path: str, job: Job) -> dict[str, Any]:
    return {"path": safe(path), "range": _range(span, job)}


def _range(span: Span, job: Job) -> dict[str, Any]:
    lines = job.report.lines(span.path) or []
    start = {"line": span.line, "column": _bytes(lines, span.line, span.column)}
    return {"start": start, "end": {"line": span.end_line, "column": _bytes(lines, span.end_line, span.end_column)}}


def _bytes(lines: list[str], line: int, column: int) -> int:
    text = lines[line - 1][: column - 1] if 1 <= line <= len(lines) else ""
    return len(text.encode("utf-8", "surrogatepass")) + 1 if text else column
