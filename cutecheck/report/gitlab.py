"""GitLab Code Quality: a JSON list; GitLab drops entries whose fingerprint occurred before, so each has its own."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from cutecheck.facts import SourceError
from cutecheck.report.job import Alert, Job, evidence, message
from cutecheck.report.text import safe

_SEVERITIES = {"error": "critical", "warning": "major", "note": "info"}


def render(job: Job) -> str:
    """The document."""
    problems = [_error(e, job) for e in (*job.report.errors, *job.report.failures)]
    entries = {e["fingerprint"]: e for e in problems}
    return json.dumps([*entries.values(), *map(_entry, job.alerts)], indent=2, ensure_ascii=True) + "\n"


def _entry(alert: Alert) -> dict[str, Any]:
    span = alert.finding.span
    return {
        "description": safe(f"{alert.finding.code} {alert.finding.name}: {message(alert)}{evidence(alert)}"),
        "check_name": alert.finding.code,
        "fingerprint": alert.fingerprint,
        "severity": _SEVERITIES[alert.finding.severity],
        "location": {
            "path": safe(alert.path),
            "positions": {
                "begin": {"line": span.line, "column": span.column},
                "end": {"line": span.end_line, "column": span.end_column},
            },
        },
    }


def _error(error: SourceError, job: Job) -> dict[str, Any]:
    path = job.place(error.path) if error.path else "."
    mark = hashlib.sha256(f"error\0{path}\0{error.message}".encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "description": safe(f"cutecheck: {error.message}"),
        "check_name": "error",
        "fingerprint": mark,
        "severity": "blocker",
        "location": {"path": safe(path), "lines": {"begin": error.span.line if error.span else 1}},
    }
