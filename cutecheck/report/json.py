"""The machine report, in the shape of ``docs/schema/check.schema.json``."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from cutecheck.facts import Span
from cutecheck.facts.json import SCHEMA_VERSION, error_json, span_json
from cutecheck.findings import Finding, Fix, Related
from cutecheck.model.layout import text
from cutecheck.model.prove.obligation import (
    EngineRun,
    FiniteSet,
    Multiple,
    Outcome,
    ParamDomain,
    Witness,
)
from cutecheck.report.data import Report, Suppressed, summarise


def witness_json(witness: Witness | None) -> dict[str, Any] | None:
    if witness is None:
        return None
    return {"summary": witness.summary, "values": dict(witness.values), "lines": list(witness.lines)}


def _related(related: Related) -> dict[str, Any]:
    return {**span_json(related.span), "label": related.label}


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [{**span_json(e.span), "replacement": e.replacement} for e in fix.edits]
    return {"title": fix.title, "safe": fix.safe, "edits": edits}


def finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "family": finding.family,
        "severity": finding.severity,
        "confidence": finding.confidence,
        **span_json(finding.span),
        "message": finding.message,
        "label": finding.label,
        "help": finding.help,
        "witness": witness_json(finding.witness),
        "related": [_related(r) for r in finding.related],
        "fixes": [_fix(f) for f in finding.fixes],
        "enclosing": finding.enclosing,
        "arch": finding.arch,
        **_confirmations(finding),
    }


def _confirmations(finding: Finding) -> dict[str, Any]:
    """What ``--confirm`` found out, where it was asked."""
    said = [{"tier": c.tier, "status": c.status, "reason": c.reason} for c in finding.confirmations]
    return {"confirmations": said} if said else {}


def _domain(domain: ParamDomain) -> dict[str, Any]:
    if isinstance(domain, FiniteSet):
        return {"values": list(domain.values)}
    if isinstance(domain, Multiple):
        return {"multiple_of": domain.of, "lo": domain.lo, "hi": domain.hi}
    return {"lo": domain.lo, "hi": domain.hi}


def _run(run: EngineRun) -> dict[str, Any]:
    return {
        "engine": run.engine,
        "answer": run.answer,
        "milliseconds": round(run.milliseconds, 3),
        "detail": run.detail,
    }


def _objects(payload: object) -> dict[str, Any] | None:
    """What the property is about, by the names of its payload; layouts and expressions as they print."""
    if payload is None or not is_dataclass(payload) or isinstance(payload, type):
        return None
    values = ((f.name, getattr(payload, f.name)) for f in fields(payload))
    return {"payload": type(payload).__name__, **{name: _object(value) for name, value in values if value is not None}}


def _object(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    return text(value)


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    obligation = outcome.obligation
    span = obligation.span
    return {
        "id": obligation.id,
        "question": outcome.question,
        "property": obligation.property,
        "verdict": outcome.verdict.value,
        "subjects": list(obligation.subjects),
        "objects": _objects(obligation.objects),
        "span": span_json(span) if isinstance(span, Span) else None,
        "arch": obligation.arch,
        "params": {name: _domain(domain) for name, domain in obligation.params},
        "hypotheses": [str(h) for h in obligation.hypotheses],
        "assumptions": sorted({*obligation.assumptions, *outcome.assumptions}),
        "scope": outcome.scope or obligation.scope,
        "reason": outcome.reason,
        "engines": [_run(r) for r in outcome.runs],
        "reductions": list(outcome.reductions),
        "measure": dict(outcome.measure),
        "witness": witness_json(outcome.witness),
    }


def _suppressed(suppressed: Suppressed) -> dict[str, Any]:
    return {**finding_json(suppressed.finding), "suppressed": True, "suppressed_by": suppressed.by,
            "suppression_reason": suppressed.reason}  # fmt: skip


def summary_json(report: Report) -> dict[str, Any]:
    summary = summarise(report)
    return {
        "cutlass_version": report.facts.cutlass_version,
        "files": summary.files,
        "files_with_cute": summary.files_with_cute,
        "sites": {"found": summary.sites, **dict(summary.site_status)},
        "events": {
            "found": summary.events,
            "unknown": summary.events_unknown,
            "partly unknown": summary.events_partly,
        },
        "obligations": dict(summary.verdicts),
        "findings": dict(summary.findings),
        "suppressed": summary.suppressed,
        "baselined": summary.baselined,
        "pre_existing": summary.preexisting,
        "fixed": summary.fixed,
        "errors": summary.errors,
        "not_verified": summary.not_verified,
        "assumptions": dict(summary.assumptions),
        "under_contract": summary.under_contract,
        "contracts": dict(summary.contracts),
        "budget": report.budget,
    }


def solver_version() -> str:
    """The SMT solver that is installed; empty without one."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"z3 {version('z3-solver')}"
    except PackageNotFoundError:
        return ""


def check_json(report: Report) -> dict[str, Any]:
    """The whole document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "cutlass_version": report.facts.cutlass_version,
        "solver_version": solver_version(),
        "notes": list(report.facts.notes),
        "findings": [finding_json(f) for f in report.findings],
        "suppressed": [_suppressed(s) for s in report.suppressed],
        "fixed": [finding_json(f) for f in report.fixed],
        "obligations": [outcome_json(o) for o in report.outcomes],
        "errors": [error_json(e) for e in (*report.errors, *report.failures)],
        "summary": summary_json(report),
        **({"confirmation": [dict(d) for d in report.confirmation]} if report.confirmation else {}),
    }
