"""JSON lines: one object a line, findings first, the summary last; ``type`` says which it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cutecheck.facts.json import SCHEMA_VERSION, error_json
from cutecheck.report.job import Job
from cutecheck.report.json import finding_json, summary_json


def render(job: Job) -> str:
    """The document. Every finding is a line of its own (instantiations too) and has its place's fingerprint."""
    return "".join(json.dumps(item, ensure_ascii=True) + "\n" for item in _items(job))


def _items(job: Job) -> Iterator[dict[str, Any]]:
    report = job.report
    marks = {(a.finding.code, a.finding.span): a.fingerprint for a in job.alerts}
    for finding in report.findings:
        yield {"type": "finding", **finding_json(finding), "fingerprint": marks[finding.code, finding.span]}
    for suppressed in report.suppressed:
        yield {"type": "suppressed", **finding_json(suppressed.finding), "suppression_reason": suppressed.reason}
    for error in (*report.errors, *report.failures):
        yield {"type": "error", **error_json(error)}
    yield {"type": "summary", "schema_version": SCHEMA_VERSION, **summary_json(report)}
