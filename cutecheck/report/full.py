"""The report for people: snippet, carets, labelled secondary places, witness and help."""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.findings import Finding, Related
from cutecheck.model.prove.obligation import Outcome, Verdict, Witness
from cutecheck.report.concise import error_line
from cutecheck.report.data import Report, summarise
from cutecheck.report.snippet import Line, Mark, snippet
from cutecheck.report.summary import plural, summary_lines
from cutecheck.report.text import safe

_SHOWN_PROOFS = (Verdict.PROVED, Verdict.ASSUMED, Verdict.UNKNOWN, Verdict.VACUOUS, Verdict.DISAGREE)


def render(report: Report, unknown: str = "warn", show_proofs: bool = False) -> Iterator[Line]:
    """The lines of the full report. Findings of one place that differ by instantiation are folded into the first."""
    for finding, others in fold(report.findings):
        yield from _finding(finding, others, report)
        yield Line("")
    if show_proofs:
        for outcome in report.outcomes:
            if outcome.verdict in _SHOWN_PROOFS:
                yield from proof(outcome)
    for error in (*report.errors, *report.failures):
        yield Line(error_line(error), "error")
    for number, text in enumerate(summary_lines(summarise(report), unknown)):
        yield Line(text, "bold" if number == 0 else "warning")


def fold(findings: tuple[Finding, ...]) -> list[tuple[Finding, int]]:
    """Each (code, place) once with how many further instantiations have such findings; the worst severity leads."""
    rank = {"error": 0, "warning": 1, "note": 2}
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.span), []).append(finding)
    alike = [
        (g, len({(f.enclosing, f.arch) for f in g})) for g in groups.values()
    ]  # unrolled loops make several of one
    return [(min(g, key=lambda f: rank[f.severity]), instantiations - 1) for g, instantiations in alike]


def _finding(finding: Finding, others: int, report: Report) -> Iterator[Line]:
    yield Line(safe(f"{finding.severity}[{finding.code}] {finding.name}: {finding.message}"), finding.severity)
    yield Line(safe(f"  --> {finding.span}"), "frame", finding.span.path)
    own = [r for r in finding.related if r.span.path == finding.span.path and r.span != finding.span]
    marks = [Mark(finding.span, finding.label, True), *(Mark(r.span, r.label, False) for r in own)]
    lines = report.lines(finding.span.path)
    shown = snippet(lines, marks, finding.severity) if lines is not None else []
    yield from shown
    for related in finding.related:
        if related.span == finding.span:
            yield Line(safe(f"  = note: {related.label}"))
        elif related not in own or not shown:
            yield from _elsewhere(related, report)
    if finding.witness:
        yield from _witness(finding.witness)
    if finding.help:
        yield Line(safe(f"  = help: {finding.help}"))
    titles = [fix.title for fix in finding.fixes]
    for fix in finding.fixes:
        at = f", at {fix.edits[0].span}" if titles.count(fix.title) > 1 and fix.edits else ""
        yield Line(safe(f"  = fix ({'safe' if fix.safe else 'unsafe'}): {fix.title}{at}"))
    where = ", ".join(x for x in (_short(finding.enclosing), finding.arch) if x)
    if where or others:
        more = f" and {plural(others, 'more instantiation')}" if others else ""
        yield Line(safe(f"  = in: {where or 'this instantiation'}{more}"), "frame")


def _short(text: str, limit: int = 100) -> str:
    """The name of an instantiation on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _elsewhere(related: Related, report: Report) -> Iterator[Line]:
    yield Line(safe(f"  ::: {related.span}: {related.label}"), "frame", related.span.path)
    lines = report.lines(related.span.path)
    if lines is not None:
        yield from snippet(lines, [Mark(related.span, "", False)], "frame")


def _witness(witness: Witness) -> Iterator[Line]:
    yield Line(safe(f"  = witness: {witness.summary}"))
    for line in witness.lines:
        yield Line(safe(f"      {line}"))


def proof(outcome: Outcome) -> Iterator[Line]:
    """One obligation with its evidence."""
    obligation = outcome.obligation
    engines = ", ".join(f"{r.engine} {r.answer}" for r in outcome.runs)
    scope = outcome.scope or obligation.scope
    yield Line(safe(f"{outcome.verdict.value}: {obligation.property} [{obligation.span or obligation.id}]"), "proof")
    for title, text in (
        ("scope", scope),
        ("assuming", "; ".join((*map(str, obligation.hypotheses), *outcome.assumptions))),
        ("engines", engines),
        ("reductions", ", ".join(outcome.reductions)),
        ("numbers", ", ".join(f"{k} {v}" for k, v in outcome.measure)),
        ("reason", outcome.reason),
    ):
        if text:
            yield Line(safe(f"  = {title}: {text}"))
