"""Whether edits may stay: the findings gone, none new, nothing that was proved or understood lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Set

from cutecheck.engine.fixes.bench import MAKERS
from cutecheck.engine.fixes.trial import Place, Trial
from cutecheck.facts import Site, Span, TensorFact
from cutecheck.findings import Finding
from cutecheck.model.prove.obligation import Verdict
from cutecheck.records import record
from cutecheck.report.data import Report
from cutecheck.rules.derive.buffers import excess_bytes

_OPEN = (Verdict.UNKNOWN, Verdict.VACUOUS, Verdict.DISAGREE)
COSTS = ("CUT101", "CUT102", "CUT103", "CUT104", "CUT105")
_COVERS = ("CUT401", "CUT402")  # no costs are stated of such an access
Key = tuple[object, ...]


@record(frozen=True, slots=True)
class Problem:
    """Why edits must go again; ``new`` are the findings that appeared, where that is all that is wrong."""

    text: str
    new: tuple[Finding, ...] = ()


def problem(
    before: Report,
    after: Report,
    targets: list[Finding],
    trial: Trial,
    loose: Set[Key] = frozenset(),
    uncovers: bool = False,
) -> Problem | None:
    """What speaks against the edits of a trial that were made for ``targets``; None where they may stay.

    ``loose``: shared memory, by name and architecture, whose layouts must stay: not all that is done to it is known.
    ``uncovers``: the edits have accesses judged for what they cost that could not be before; that is nothing new.
    """
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
    moved = _moved(before, after, trial, loose)
    if moved:
        return Problem(moved)
    was = Counter((f.code, f.arch, trial.place(f.span)) for f in before.findings)
    was -= Counter((f.code, f.arch, trial.place(f.span)) for f in targets)  # another instantiation has it instead
    now = Counter((f.code, f.arch, _here(f.span)) for f in after.findings)
    new = tuple(f for f in after.findings if now[k := (f.code, f.arch, _here(f.span))] > was[k])
    if uncovers:
        covered = {(f.arch, trial.place(f.span)) for f in before.findings if f.code in _COVERS}
        covered -= {(f.arch, _here(f.span)) for f in after.findings if f.code in _COVERS}
        new = tuple(f for f in new if f.code not in COSTS or (f.arch, _here(f.span)) not in covered)
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
    unknown = Counter((s.kind, s.arch, _here(s.span)) for s in after.facts.sites if _not_known(s))
    if unknown - Counter((s.kind, s.arch, trial.place(s.span)) for s in before.facts.sites if _not_known(s)):
        return "a layout is no longer understood"
    if excess_bytes(after.facts) - excess_bytes(before.facts):
        return "a shared array is too small for its layout"
    return ""


def _not_known(site: Site) -> bool:
    return site.value is None and site.status != "resolved"  # a swizzle of the DSL has no value of a layout


def _moved(before: Report, after: Report, trial: Trial, loose: Set[Key]) -> str:
    """Elements that would lie elsewhere: of global memory, or of shared memory that is accessed past its layouts."""
    known = {(place, str(t.layout).replace("_", "")) for place, t in _made(before, trial.place)}
    places = {place for place, _ in known}
    for place, tensor in _made(after, _here):
        if place not in places or (place, str(tensor.layout).replace("_", "")) in known:
            continue
        if tensor.space == "gmem":
            return f"the elements of `{tensor.name}` in global memory would lie elsewhere: {tensor.layout}"
        if tensor.space == "smem" and (tensor.buffer, place[0]) in loose:
            return f"`{tensor.name}` gets another layout, too, and not every access of its memory is known"
    return ""


def _made(report: Report, where: Callable[[Span], Place]) -> list[tuple[tuple[str, Place], TensorFact]]:
    """Whole tensors, by architecture and place."""
    return [
        ((c.arch, where(c.span)), c.result)
        for c in report.facts.calls
        if c.function in MAKERS and isinstance(c.result, TensorFact)
    ]


def _verdicts(report: Report, verdicts: Iterable[Verdict], where: Callable[[Span], Place]) -> Counter[Key]:
    wanted = set(verdicts)
    return Counter(
        (o.obligation.property, o.obligation.arch, where(o.obligation.span))
        for o in report.outcomes
        if o.verdict in wanted and isinstance(o.obligation.span, Span)
    )
