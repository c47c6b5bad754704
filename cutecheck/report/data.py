"""What the renderers get: one run, complete and in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Literal

from cutecheck.facts import Event, Facts, Site, SiteStatus, SourceError
from cutecheck.findings import Finding
from cutecheck.model.prove.contracts import statable
from cutecheck.model.prove.obligation import Outcome, Verdict
from cutecheck.model.version import REFERENCE
from cutecheck.records import record

# A distinct site has the status of its worst instantiation, of those that something instantiates.
_WORST: tuple[SiteStatus, ...] = ("unknown", "symbolic", "resolved", "unbound", "dead")
_PARTLY = "partly resolved"  # in some instantiations, and unknown in others
_STATUSES = ("dead", "resolved", _PARTLY, "symbolic", "unbound", "unknown")
UNSETTLED = (Verdict.UNKNOWN, Verdict.VACUOUS)
_DECIDED = (Verdict.PROVED, Verdict.REFUTED, Verdict.ASSUMED)


@record(frozen=True, slots=True)
class Suppressed:
    """A finding that is not reported, why, and by what: the source, the baseline, or the base of a diff."""

    finding: Finding
    reason: str
    by: Literal["source", "baseline", "diff-base"] = "source"


@record(frozen=True, slots=True)
class Report:
    """One run of ``check``. ``failures`` are crashes inside cutecheck, ``errors`` what the user gave or wrote."""

    facts: Facts
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    errors: tuple[SourceError, ...] = ()
    failures: tuple[SourceError, ...] = ()
    fixed: tuple[Finding, ...] = ()  # of the base of a diff
    budget: str = ""  # of one obligation: seconds, solver units, seed
    lines: Callable[[str], list[str] | None] = field(default=lambda _path: None, compare=False)
    confirmation: tuple[Mapping[str, object], ...] = ()  # a document a tier, where --confirm was given


@record(frozen=True, slots=True)
class Summary:
    """The counts of the summary line. Sites, events and findings are distinct places, whatever their instantiations.

    ``assumptions`` are those of all decided obligations by kind, with how many obligations rest on each. ``contracts``
    are conditions that nothing in the source states, by how many obligations want them; ``under_contract`` obligations
    hold where all of theirs are met.
    """

    files: int
    files_with_cute: int
    sites: int
    site_status: tuple[tuple[str, int], ...]
    events: int
    events_unknown: int
    events_partly: int  # known in some instantiations, and not in others
    verdicts: tuple[tuple[str, int], ...]
    findings: tuple[tuple[str, int], ...]
    suppressed: int
    errors: int
    baselined: int = 0
    preexisting: int = 0
    fixed: int = 0
    assumptions: tuple[tuple[str, int], ...] = ()
    contracts: tuple[tuple[str, int], ...] = ()
    under_contract: int = 0
    notes: tuple[str, ...] = ()  # which CuTe was followed where it is not the reference, and what the run says else

    def status(self, name: str) -> int:
        return dict(self.site_status).get(name, 0)

    def verdict(self, verdict: Verdict) -> int:
        return dict(self.verdicts).get(verdict.value, 0)

    @property
    def not_verified(self) -> int:
        """Everything without an answer: sites, events and obligations."""
        open_sites = sum(self.status(s) for s in (_PARTLY, "unknown", "unbound"))
        return open_sites + self.events_partly + self.events_unknown + sum(self.verdict(v) for v in UNSETTLED)


def site_statuses(sites: Iterable[Site]) -> Counter[str]:
    """How many distinct sites have which status."""
    found: dict[tuple[object, ...], set[SiteStatus]] = {}
    for site in sites:
        found.setdefault((site.span, site.kind), set()).add(site.status)
    return Counter(
        _PARTLY if {"unknown", "resolved"} <= statuses else min(statuses, key=_WORST.index)
        for statuses in found.values()
    )


def unresolved(event: Event) -> bool:
    """True when an event's operands or tiled object are not known."""
    return event.reason is not None


def summarise(report: Report) -> Summary:
    facts = report.facts
    statuses = site_statuses(facts.sites)
    known, open_ = ({e.span for e in facts.events if unresolved(e) is state} for state in (False, True))
    verdicts = Counter(o.verdict.value for o in report.outcomes)
    severities = Counter(s for _, _, s in {(f.code, f.span, f.severity) for f in report.findings})
    silenced = Counter(by for by, _, _ in {(s.by, s.finding.code, s.finding.span) for s in report.suppressed})
    wanted = [conditions for o in report.outcomes if (conditions := statable(o))]
    return Summary(
        files=facts.files,
        files_with_cute=facts.files_with_cute,
        sites=sum(statuses.values()),
        site_status=tuple((s, statuses[s]) for s in _STATUSES),
        events=len(known | open_),
        events_unknown=len(open_ - known),
        events_partly=len(open_ & known),
        verdicts=tuple((v.value, verdicts[v.value]) for v in Verdict),
        findings=tuple((s, severities[s]) for s in ("error", "warning", "note")),
        suppressed=silenced["source"],
        errors=len(report.errors) + len(report.failures),
        baselined=silenced["baseline"],
        preexisting=silenced["diff-base"],
        fixed=len({(f.code, f.span) for f in report.fixed}),
        assumptions=assumed(report.outcomes),
        contracts=_most_frequent(Counter(c for conditions in wanted for c in conditions)),
        under_contract=len(wanted),
        notes=_notes(facts),
    )


def _notes(facts: Facts) -> tuple[str, ...]:
    version = ".".join(facts.cutlass_version.split(".")[:2])
    other = [f"CUTLASS {version} is followed"] if version not in ("", ".".join(map(str, REFERENCE))) else []
    return (*other, *facts.notes)


_PLAIN = re.compile(r"(?<=\w)[#~]\??\d+")  # the ends of names that keep variables apart
_KINDS = (
    (re.compile(r"the supposed call .*"), "calls that are supposed"),
    (re.compile(r".* uniform in a warp"), "indices of loops and blocks are uniform in a warp"),
    (re.compile(r"`.*` starts at a multiple of (\d+) bytes"), r"tensors start at a multiple of \1 bytes"),
    (re.compile(r"\S+ is a multiple of (\d+) bytes"), r"strides are multiples of \1 bytes"),
    (re.compile(r"\S+ is the \d+ elements of a row"), "strides are the elements of a row"),
)


def assumed(outcomes: Iterable[Outcome]) -> tuple[tuple[str, int], ...]:
    """What decided obligations rest on, most frequent first; those that name a variable or tensor are one kind."""
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        if outcome.verdict in _DECIDED:
            texts = {*outcome.obligation.assumptions, *outcome.assumptions}
            for pattern, kind in _KINDS:
                texts = {match.expand(kind) if (match := pattern.fullmatch(t)) else t for t in texts}
            counts.update(_PLAIN.sub("", t) for t in texts)
    return _most_frequent(counts)


def _most_frequent(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
