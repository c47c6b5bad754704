"""SARIF 2.1.0 as GitHub reads it: rules with help, full regions, fingerprints, witnesses as code flows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from cutecheck.facts import Span
from cutecheck.findings import Finding
from cutecheck.report.data import Report
from cutecheck.report.text import safe

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {"error": "error", "warning": "warning", "note": "note"}
_SEVERITY = {"error": "error", "warning": "warning", "note": "recommendation"}
_PRECISION = {"proved": "very-high", "model-based": "high", "heuristic": "medium"}
_ORDER = ("error", "warning", "note")
_MAX_RESULTS = 25_000
_MAX_TEXT = 1024


def sarif(report: Report, rules: Sequence[dict[str, Any]], version: str) -> dict[str, Any]:
    """The log. ``rules`` are the documents of ``cutecheck rule``; results are ordered by severity, then by place."""
    index = {rule["code"]: i for i, rule in enumerate(rules)}
    ordered = sorted(report.findings, key=lambda f: (_ORDER.index(f.severity), f.span, f.code))
    seen: Counter[str] = Counter()
    unique = {(f.code, f.span, f.message): f for f in reversed(ordered)}
    results = [_result(f, index, report, seen) for f in ordered if unique[(f.code, f.span, f.message)] is f]
    results += [
        {**_result(s.finding, index, report, seen), "suppressions": [_suppression(s.reason)]} for s in report.suppressed
    ]
    notifications = [
        {"level": "error", "message": {"text": _text(e.message)}, "locations": [_file(e.path)] if e.path else []}
        for e in (*report.errors, *report.failures)
    ]
    driver = {
        "name": "cutecheck",
        "semanticVersion": version,
        "informationUri": "https://pypi.org/project/cutecheck/",
        "rules": [_rule(r) for r in rules],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "cutecheck/"},
        "columnKind": "unicodeCodePoints",
        "results": results[:_MAX_RESULTS],
        "invocations": [{"executionSuccessful": not report.failures, "toolExecutionNotifications": notifications}],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _text(text: str) -> str:
    return safe(" ".join(text.split()))[:_MAX_TEXT] or "(no text)"


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    sections = [f"## {s['title']}\n\n{s['text']}" for s in rule["sections"]]
    why = next((s["text"] for s in rule["sections"] if s["title"] == "Why"), rule["summary"])
    return {
        "id": rule["code"],
        "name": rule["name"],
        "shortDescription": {"text": _text(rule["summary"])},
        "fullDescription": {"text": _text(why)},
        "help": {"text": rule["summary"], "markdown": "\n\n".join((rule["summary"], *sections))},
        "defaultConfiguration": {"level": _LEVEL[rule["severity"]]},
        "properties": {
            "tags": [rule["family"]],
            "precision": _PRECISION[rule["confidence"]],
            "problem.severity": _SEVERITY[rule["severity"]],
        },
    }


def _file(path: str) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": quote(path)}}}


def _location(span: Span, text: str = "") -> dict[str, Any]:
    location = _file(span.path)
    location["physicalLocation"]["region"] = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    return {**location, "message": {"text": _text(text)}} if text else location


def _result(finding: Finding, index: dict[str, int], report: Report, seen: Counter[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVEL[finding.severity],
        "message": {"text": _text(f"{finding.message}. {finding.help}" if finding.help else finding.message)},
        "locations": [_location(finding.span)],
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(finding, report, seen)},
        "properties": {"confidence": finding.confidence, "arch": finding.arch, "enclosing": safe(finding.enclosing)},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if finding.related:
        result["relatedLocations"] = [{"id": i, **_location(r.span, r.label)} for i, r in enumerate(finding.related, 1)]
    if finding.witness:
        steps = (finding.witness.summary, *finding.witness.lines)
        flow = [{"location": _location(finding.span, step)} for step in steps]
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    return result


def _fingerprint(finding: Finding, report: Report, seen: Counter[str]) -> str:
    """Independent of line numbers: the rule, the file, the text of the line, and which one of its like it is."""
    lines = report.lines(finding.span.path) or []
    number = finding.span.line
    text = " ".join(lines[number - 1].split()) if 1 <= number <= len(lines) else ""
    digest = hashlib.sha256("\x1f".join((finding.code, finding.span.path, text)).encode()).hexdigest()[:16]
    seen[digest] += 1
    return f"{digest}:{seen[digest]}"


def _suppression(reason: str) -> dict[str, str]:
    return {"kind": "inSource", "justification": _text(reason)} if reason else {"kind": "inSource"}
