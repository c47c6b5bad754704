"""Whether edits may stay: the findings gone, none new, nothing that was proved or understood lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from cutecheck.engine.fixes.trial import Place, Trial
from cutecheck.facts import Span
from cutecheck.findings import Finding
from cutecheck.model.prove.obligation import Verdict
from cutecheck.records import record
from cutecheck.report.data import Report
from cutecheck.rules.derive.buffers import excess_bytes

_OPEN = (Verdict.UNKNOWN, Verdict.VACUOUS, Verdict.DISAGREE)
Key = tuple[object, ...]


@record(frozen=True, slots=True)
class Problem:
    """Why edits must go again; ``new`` are the findings that appeared, where that is all that is wrong."""

    text: str
    new: tuple[Finding, ...] = ()


def problem(before: Report, after: Report, targets: list[Finding], trial: Trial) -> Problem | None:
    """What speaks against the edits of a trial that were made for ``targets``; None where they may stay."""
    if after.failures:
        return Problem(f"the check fails: {after.failures[0].message}")
    if len(after.errors) > len(before.errors):
        return Problem(f"the source cannot be read any more: {after.errors[-1].message}")
    for finding in targets:
        left = [f for f in after.findings if _key(f, _here) == _key(finding, trial.place)]
        had = [f for f in before.findings if _key(f, _here) == _key(finding, _here)]
        if len(left) >= len(had):
            return Problem(f"the finding is still there: {left[0].message}")
    lost = _lost(before, after, trial)
    if lost:
        return Problem(lost)
    was = Counter((f.code, f.arch, trial.place(f.span)) for f in before.findings)
    now = Counter((f.code, f.arch, _here(f.span)) for f in after.findings)
    new = tuple(f for f in after.findings if now[k := (f.code, f.arch, _here(f.span))] > was[k])
    if new:
        return Problem(f"a new finding appears at line {new[0].span.line}: {new[0].code} {new[0].message}", new)
    return None


def _here(span: Span) -> Place:
    return span.path, span.line, span.column


def _key(finding: Finding, where: Callable[[Span], Place]) -> Key:
    return finding.code, finding.arch, finding.enclosing, where(finding.span)


def _lost(before: Report, after: Report, trial: Trial) -> str:
    """What was understood or proved and no longer is."""
    stated = _verdicts(before, Verdict, trial.place)
    left = _verdicts(after, _OPEN, _here) - _verdicts(before, _OPEN, trial.place)
    undecided = next((k for k in left if k in stated), None)
    if undecided is not None:
        return f"{undecided[0]} is no longer decided there"
    events = Counter((e.kind, e.arch, trial.place(e.span)) for e in before.facts.events if e.reason is None)
    known = Counter((e.kind, e.arch, _here(e.span)) for e in after.facts.events if e.reason is None)
    if events - known:
        return "a copy or gemm is no longer understood"
    unknown = Counter((s.kind, s.arch, _here(s.span)) for s in after.facts.sites if s.value is None)
    if unknown - Counter((s.kind, s.arch, trial.place(s.span)) for s in before.facts.sites if s.value is None):
        return "a layout is no longer understood"
    if excess_bytes(after.facts) - excess_bytes(before.facts):
        return "a shared array is too small for its layout"
    return ""


def _verdicts(report: Report, verdicts: Iterable[Verdict], where: Callable[[Span], Place]) -> Counter[Key]:
    wanted = set(verdicts)
    return Counter(
        (o.obligation.property, o.obligation.arch, where(o.obligation.span))
        for o in report.outcomes
        if o.verdict in wanted and isinstance(o.obligation.span, Span)
    )
