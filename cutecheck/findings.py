"""Findings: what a rule says about the facts."""

from __future__ import annotations

from typing import Literal

from cutecheck.facts import Span
from cutecheck.model.prove.obligation import Outcome, Witness
from cutecheck.records import record


class UnknownRuleError(Exception):
    """A selector that matches no rule; the message is one line with a suggestion."""


Severity = Literal["note", "warning", "error"]
Confidence = Literal["proved", "model-based", "heuristic"]


@record(frozen=True, slots=True)
class Related:
    """A labelled secondary place: the atom here, the layout there."""

    span: Span
    label: str


@record(frozen=True, slots=True)
class Edit:
    """Replace the text of a span."""

    span: Span
    replacement: str


@record(frozen=True, slots=True)
class Fix:
    title: str
    edits: tuple[Edit, ...]
    safe: bool


@record(frozen=True, slots=True)
class Confirmed:
    """What a tier of ``confirm`` says of a finding: its status there (confirmed, contradicted, unavailable) and why."""

    tier: str
    status: str
    reason: str


@record(frozen=True, slots=True)
class Finding:
    """One report: ``message`` says what is wrong with numbers, ``label`` goes under the caret, ``help`` what to do."""

    code: str
    name: str
    family: str
    severity: Severity
    confidence: Confidence
    span: Span
    message: str
    label: str = ""
    help: str = ""
    witness: Witness | None = None
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    enclosing: str = ""
    arch: str = ""
    confirmations: tuple[Confirmed, ...] = ()
    supposed: str = ""  # what names the supposed call that it is about; empty: the tree makes the call


@record(frozen=True, slots=True)
class Result:
    """All findings and all outcomes of one run."""

    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
