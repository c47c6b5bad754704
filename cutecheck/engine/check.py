"""Facts to report: run the rules, order and deduplicate what they say, apply suppressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from cutecheck import timing
from cutecheck.engine import shares
from cutecheck.engine.suppress import Suppressions
from cutecheck.facts import Facts, SourceError, Span
from cutecheck.findings import Finding
from cutecheck.model.prove.obligation import Obligation, Outcome
from cutecheck.report.data import Report, Suppressed
from cutecheck.rules import Context, Rule, supposed
from cutecheck.source import notebooks
from cutecheck.source.embedded.units import within

Prover = Callable[[Obligation], Outcome]
Lines = Callable[[str], "list[str] | None"]
_RANK = {"error": 0, "warning": 1, "note": 2}


def check_facts(
    facts: Facts,
    rules: Sequence[type[Rule]],
    prover: Prover,
    lines: Lines,
    context: Context | None = None,
    finish: Callable[[Finding, Context], Finding] | None = None,
    *,
    override: Callable[[Iterable[Finding]], list[Finding]] = list,
    pedantic: bool = False,
    reasons_required: bool = False,
    processes: int = 1,
) -> Report:
    """Run the rules over the facts. A rule that crashes on a subject costs that subject one line, nothing else;
    so does a crash of ``finish`` on a finding, which stays.

    ``context`` is one that the caller keeps; ``finish`` adds to what is reported (fixes). ``override`` drops findings
    and changes their severities; ``pedantic`` turns notes into warnings; ``reasons_required`` asks every suppression
    for its reason. ``processes`` share the rules; the result is that of one.
    """
    context = context or Context(facts, prover)
    failures = [e for e in facts.errors if e.internal]
    found: list[Finding] = []
    for rule in rules:
        timing.spent(f"{rule.code} {rule.name}", 0.0)
    work = shares.blocks(rules, context.facts)
    many = len(facts.events) + len(facts.calls) + len(facts.sites) >= shares.WORTH
    results = shares.run(work, context, processes if many else 1, internal_error)
    try:
        for one in results:
            found += one.findings
            if one.failure is not None:
                failures.append(one.failure)
    except KeyboardInterrupt:
        failures.append(SourceError("", "interrupted: not every rule has seen everything; this is what is known"))
    finally:
        results.close()
    if facts.reported is not None:
        found = [f for f in found if notebooks.split(f.span.path)[0] in facts.reported]
    found = override(supposed.judged(found, facts))
    supposed.assumed(context.outcomes, facts)
    if pedantic:
        found = [replace(f, severity="warning") if f.severity == "note" else f for f in found]
    ordered = sorted(dict.fromkeys(found), key=_order)
    kept, suppressed, extra = _apply_suppressions(ordered, rules, lines, _judged(facts), reasons_required)
    reported = sorted([*kept, *extra], key=_order)
    if finish is not None:
        # nobody's code is changed for a call that nobody makes
        reported = [f if f.supposed else _finished(f, finish, context, failures) for f in reported]
    return Report(
        facts=facts,
        findings=tuple(reported),
        suppressed=tuple(suppressed),
        outcomes=tuple(context.outcomes.values()),
        errors=tuple(e for e in facts.errors if not e.internal),
        failures=tuple(dict.fromkeys(failures)),
        lines=lines,
    )


def internal_error(what: str, error: Exception, span: Span) -> SourceError:
    """One line for a crash of ours at a place of the sources."""
    return SourceError(span.path, f"internal error in {what}: {type(error).__name__}: {_one_line(error)}", span)


def _finished(
    finding: Finding, finish: Callable[[Finding, Context], Finding], context: Context, failures: list[SourceError]
) -> Finding:
    try:
        return finish(finding, context)
    except Exception as error:
        failures.append(internal_error(f"the fixes of {finding.code}", error, finding.span))
        return finding


def _places(facts: Facts) -> Iterator[Span]:
    for group in (facts.sites, facts.events, facts.buffers, facts.launches, facts.calls, facts.lints):
        for fact in group:
            yield fact.span


def _judged(facts: Facts) -> set[str]:
    """The files whose suppressions are judged."""
    met = {s.path for s in _places(facts)}
    if facts.reported is not None:
        met = {path for path in met if notebooks.split(path)[0] in facts.reported}
    return met.union(facts.commented).difference(facts.unfinished)


def _apply_suppressions(
    findings: Iterable[Finding], rules: Sequence[type[Rule]], lines: Lines, paths: Iterable[str], reasons_required: bool
) -> tuple[list[Finding], list[Suppressed], list[Finding]]:
    kept: list[Finding] = []
    silenced: list[Suppressed] = []
    readers: dict[str, Suppressions] = {}

    def reader(path: str) -> Suppressions:
        if path not in readers:
            text = lines(path) or []
            readers[path] = Suppressions(path, within(text, path), rules, reasons_required)
        return readers[path]

    for path in sorted(set(paths)):
        reader(path)
    for finding in findings:
        reason = reader(finding.span.path).silences(finding)
        if reason is None:
            kept.append(finding)
        else:
            silenced.append(Suppressed(finding, reason))
    return kept, silenced, [f for r in readers.values() for f in r.complaints()]


def _order(finding: Finding) -> tuple[object, ...]:
    return (finding.span, _RANK[finding.severity], finding.code, finding.enclosing, finding.arch, finding.message)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
