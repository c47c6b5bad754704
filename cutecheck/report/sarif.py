"""SARIF 2.1.0, as GitHub code scanning reads it (docs.github.com, "SARIF support for code scanning").

Findings silenced in the source are left out: GitHub would open an alert for each. Results come worst first, because
GitHub keeps the first 5,000 of a run and takes 25,000.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from cutecheck import __version__
from cutecheck.facts import SourceError, Span
from cutecheck.report.data import summarise
from cutecheck.report.job import RANK, Alert, Job, RuleInfo, message
from cutecheck.report.json import summary_json
from cutecheck.report.summary import summary_lines
from cutecheck.report.text import safe

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_RESULTS = 25_000
MAX_LOCATIONS = 100
MAX_STEPS = 1_000
MAX_DESCRIPTION = 1_024
MAX_MESSAGE = 8_000
ROOT = "PROJECTROOT"

_PRECISION = {"proved": "very-high", "model-based": "high", "heuristic": "medium"}
_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}


def render(job: Job) -> str:
    """The document. ``PROJECTROOT``, the folder that relative addresses start from, is named but not located."""
    return json.dumps(sarif(job), indent=2, ensure_ascii=True) + "\n"


def sarif(job: Job) -> dict[str, Any]:
    """The SARIF log with its one run."""
    index = {rule.code: number for number, rule in enumerate(job.rules)}
    ordered = sorted(job.alerts, key=lambda a: RANK[a.finding.severity])
    shown = ordered[:MAX_RESULTS]
    problems = (*job.report.errors, *job.report.failures)
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "cutecheck",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(r) for r in job.rules],
            }
        },
        "automationDetails": {"id": "cutecheck/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder of the project."}}},
        "results": [_result(a, index, job) for a in shown],
        "invocations": [
            {
                "executionSuccessful": not problems,
                "toolExecutionNotifications": [_notification(e, job) for e in problems],
            }
        ],
        "properties": {
            "summary": summary_json(job.report),
            "text": summary_lines(summarise(job.report)),
            "resultsLeftOut": len(ordered) - len(shown),
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: RuleInfo) -> dict[str, Any]:
    sections = dict(rule.sections)
    return {
        "id": rule.code,
        "name": rule.name[:255],
        "shortDescription": {"text": _clip(rule.summary, MAX_DESCRIPTION)},
        "fullDescription": {"text": _clip(sections.get("What it checks") or rule.summary, MAX_DESCRIPTION)},
        "help": {
            "text": "\n\n".join([rule.summary, *(f"{title}\n{text}" for title, text in rule.sections)]),
            "markdown": "\n\n".join([rule.summary, *(_markdown(title, text) for title, text in rule.sections)]),
        },
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "precision": _PRECISION[rule.confidence],
            "problem.severity": _PROBLEM[rule.severity],
            "tags": ["cute", "cuda", rule.family],
        },
    }


def _markdown(title: str, text: str) -> str:
    code = title in ("Example", "Use instead")
    return f"### {title}\n\n" + (f"```cpp\n{text}\n```" if code else text)


def _result(alert: Alert, index: dict[str, int], job: Job) -> dict[str, Any]:
    finding = alert.finding
    text = message(alert) + (f". Help: {finding.help}" if finding.help else "")
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": _text(text) or finding.name},
        "locations": [_location(finding.span, job, alert.path)],
        "partialFingerprints": {"primaryLocationLineHash": f"{alert.fingerprint[:16]}:1"},
        "properties": {"confidence": finding.confidence, "family": finding.family},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if finding.enclosing or finding.arch:
        where = {"enclosing": finding.enclosing, "arch": finding.arch}
        result["properties"] |= {k: _text(v) for k, v in where.items() if v}
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(r.span, job, label=r.label)}
            for number, r in enumerate(finding.related[:MAX_LOCATIONS])
        ]
    if finding.witness:
        result["codeFlows"] = [_flow(alert, job)]
    return result


def _flow(alert: Alert, job: Job) -> dict[str, Any]:
    """The counterexample: the places it follows from, then the place where it happens."""
    finding, witness = alert.finding, alert.finding.witness
    assert witness is not None
    last = "\n".join([witness.summary, *witness.lines])
    steps = [_location(r.span, job, label=r.label) for r in finding.related[: MAX_STEPS - 1]]
    steps.append(_location(finding.span, job, alert.path, last))
    values = {_text(name): _text(str(value)) for name, value in witness.values}
    return {
        "message": {"text": _text(witness.summary) or "counterexample"},
        "threadFlows": [
            {
                "locations": [{"location": step, "executionOrder": n} for n, step in enumerate(steps, 1)],
                **({"immutableState": {k: {"text": v or "?"} for k, v in values.items()}} if values else {}),
            }
        ],
    }


def _notification(error: SourceError, job: Job) -> dict[str, Any]:
    note: dict[str, Any] = {"level": "error", "message": {"text": _text(error.message) or "error"}}
    if error.span:
        note["locations"] = [_location(error.span, job)]
    elif error.path:
        note["locations"] = [{"physicalLocation": {"artifactLocation": _artifact(job.place(error.path))}}]
    return note


def _location(span: Span, job: Job, path: str = "", label: str = "") -> dict[str, Any]:
    end_line = max(span.line, span.end_line)
    end_column = max(span.end_column, span.column + 1) if end_line == span.line else max(span.end_column, 1)
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(path or job.place(span.path)),
            "region": {
                "startLine": max(span.line, 1),
                "startColumn": max(span.column, 1),
                "endLine": end_line,
                "endColumn": end_column,
            },
        }
    }
    return place | ({"message": {"text": _text(label)}} if label else {})


def _artifact(path: str) -> dict[str, str]:
    address = quote(_bytes(path))
    return {"uri": f"file://{address}"} if path.startswith("/") else {"uri": address, "uriBaseId": ROOT}


def _bytes(path: str) -> bytes:
    """The bytes of the file's name; names that no file can have are written as they are."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


def _text(text: str) -> str:
    """Text of the sources for a message: one that can neither be a link nor move a terminal."""
    return _clip("\n".join(safe(line) for line in text.split("\n")).replace("](", "] ("), MAX_MESSAGE)


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
