"""The same report with other paths: what people read names files from where they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cutecheck.facts import SourceError, Span
from cutecheck.facts.span import outer
from cutecheck.findings import Finding
from cutecheck.model.prove.obligation import Outcome
from cutecheck.report.data import Report


def relocate(report: Report, place: Callable[[str], str]) -> Report:
    """The report with every path of findings, errors and obligations replaced; its lines answer to the new paths."""
    old: dict[str, str] = {}

    def path(text: str) -> str:
        if not text:
            return text
        new = place(text)
        old.setdefault(new, outer(text))
        return new

    def span(at: Span) -> Span:
        return replace(at, path=path(at.path))

    def finding(one: Finding) -> Finding:
        related = tuple(replace(r, span=span(r.span)) for r in one.related)
        return replace(one, span=span(one.span), related=related)

    def error(one: SourceError) -> SourceError:
        return replace(one, path=path(one.path), span=span(one.span) if one.span else None)

    def outcome(one: Outcome) -> Outcome:
        at = one.obligation.span
        return replace(one, obligation=replace(one.obligation, span=span(at))) if isinstance(at, Span) else one

    return replace(
        report,
        findings=tuple(map(finding, report.findings)),
        outcomes=tuple(map(outcome, report.outcomes)),
        errors=tuple(map(error, report.errors)),
        failures=tuple(map(error, report.failures)),
        lines=lambda name: report.lines(old.get(name, name)),
    )
