"""The GPU tier: events of the checked code as probes, and what the measurements say of events and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutecheck.exec.confirmation import Status
from cutecheck.exec.gpu import cycles
from cutecheck.exec.gpu.from_facts import probe_of, probe_of_site
from cutecheck.exec.gpu.from_facts_copies import NoProbeError
from cutecheck.exec.gpu.measure import measure
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.results import Bench, Measured, Probe
from cutecheck.facts import Event, Facts, Site
from cutecheck.findings import Finding
from cutecheck.model.algebra import cosize
from cutecheck.model.arch import Evidence, architecture
from cutecheck.model.ints import known_value
from cutecheck.model.layout import ComposedLayout, Layout

_BANK = {"bank-conflict-read": ("ld", "ldmatrix"), "bank-conflict-write": ("st", "stmatrix", "ca"),
         "epilogue": ("st", "stmatrix"), "swizzle-params": ("ld", "ldmatrix", "st", "stmatrix", "ca")}  # fmt: skip
_STATUSES: tuple[Status, ...] = ("confirmed", "contradicted", "unavailable")
_COVERAGE = ("coverage", "tile-divisibility", "size-mismatch")
# what CuTe refuses to compile, or the hardware stops
STOPPED = ("vectorization", "alignment", "atom-count", "ldmatrix", "dynamic-static", "swizzle-params", "gmma-layout",
            "retile", "size-mismatch")  # fmt: skip
# rules of these families that speak of several accesses, or of what is slow: one copy alone shows nothing of it
APART = ("smem-reuse-without-barrier", "tma-store-not-ordered", "smem-layouts-disagree", "smem-out-of-bounds",
         "wrong-thread-slice", "slow-plain-copy")  # fmt: skip
_NOT_SHOWN = "not something that one run of the copy shows"


@dataclass(frozen=True)
class EventResult:
    """One event of the checked code; ``probe`` and ``measured`` are None where no reference kernel stands for it."""

    event: Event
    probe: Probe | None
    measured: Measured | None
    status: Status
    reason: str = ""


@dataclass(frozen=True)
class FindingResult:
    """One finding; ``events`` are the results it was held against."""

    finding: Finding
    status: Status
    reason: str
    events: tuple[EventResult, ...] = ()


@dataclass(frozen=True)
class GpuReport:
    """Everything one run confirmed on ``devices`` GPUs; ``evidence``: how the access model of ``arch`` is known."""

    arch: str
    evidence: Evidence
    events: tuple[EventResult, ...] = ()
    findings: tuple[FindingResult, ...] = ()
    unavailable: str = ""  # why the whole tier is
    devices: int = 0

    @property
    def tools(self) -> tuple[str, ...]:
        """What wavefronts were measured with: ncu, cupti, cycles."""
        return tuple(dict.fromkeys(r.measured.tool for r in self.events if r.measured and r.measured.tool))

    @property
    def contradicted(self) -> bool:
        return any(self.totals()[kind]["contradicted"] for kind in ("events", "findings"))

    def totals(self) -> dict[str, dict[str, int]]:
        """Statuses of events and of findings."""
        found = {"events": [r.status for r in self.events], "findings": [r.status for r in self.findings]}
        return {name: {status: given.count(status) for status in _STATUSES} for name, given in found.items()}


def evidence(arch: str) -> Evidence:
    """How the access model of an architecture is known: measured on one, assumed on the others."""
    found = architecture(arch)
    return found.access_model if found is not None else "assumed"


def unavailable(facts: Facts, findings: Sequence[Finding], arch: str, reason: str) -> GpuReport:
    """The report where nothing can be run."""
    return GpuReport(
        arch,
        evidence(arch),
        tuple(EventResult(e, None, None, "unavailable", reason) for e in facts.events),
        tuple(FindingResult(f, "unavailable", reason) for f in findings),
        reason,
    )


def confirm(facts: Facts, findings: Sequence[Finding], bench: Bench, folders: Sequence[Path] = ()) -> GpuReport:
    """Run the events of the facts as probes, each different one once, and judge events and findings by them.

    ``folders``: those that the paths of the findings are relative to.
    """
    planned = [(e, plan(e, facts.events)) for e in facts.events]
    own = [site_probe(f, facts.sites) for f in findings]
    probes = list(
        dict.fromkeys([*(p for _, p in planned if not isinstance(p, str)), *(p for p in own if p is not None)])
    )
    measured = dict(zip(probes, measure(probes, bench), strict=True))
    events = tuple(
        EventResult(e, None, None, "unavailable", p) if isinstance(p, str) else judged(e, p, measured[p], findings)
        for e, p in planned
    )
    results = [
        by_site(finding_result(f, events), p, None if p is None else measured[p])
        for f, p in zip(findings, own, strict=True)
    ]
    from cutecheck.exec.gpu.sources import by_sources

    results = by_sources(results, bench, folders)
    return GpuReport(bench.arch, evidence(bench.arch), events, tuple(results), devices=bench.devices)


def site_probe(finding: Finding, sites: Sequence[Site]) -> CopyProbe | None:
    """A copy of one tile of the TiledCopy that a finding on its coverage stands at."""
    if finding.family not in _COVERAGE or finding.name in APART:
        return None
    at = finding.span
    for site in sites:
        span = site.span
        if (span.path, site.arch) == (at.path, finding.arch or site.arch) and span.line <= at.end_line:
            made = probe_of_site(site) if at.line <= max(span.end_line, site.call_span.end_line) else None
            if made is not None and coverage(made):
                return made
    return None


def by_site(result: FindingResult, probe: CopyProbe | None, measured: Measured | None) -> FindingResult:
    """A finding that no event shows, by a copy of one tile of its TiledCopy that counts every element it touches."""
    if result.status != "unavailable" or probe is None or measured is None or measured.outcome != "equal":
        return result
    return FindingResult(result.finding, "confirmed", f"one tile copied and counted: {coverage(probe)}")


def plan(event: Event, events: Sequence[Event]) -> Probe | str:
    """The probe of an event, or why there is none."""
    try:
        return probe_of(event, events)
    except NoProbeError as error:
        return str(error)


def judged(event: Event, probe: Probe, measured: Measured, findings: Iterable[Finding]) -> EventResult:
    """An event by its measurement: what stops it must have been found."""
    if measured.outcome in ("refused", "faulted"):
        about = [f for f in findings if _about(f, event) and f.severity != "note" and f.name not in APART]
        how = "CuTe refuses it" if measured.outcome == "refused" else "the hardware stops it"
        if about:
            codes = ", ".join(dict.fromkeys(f.code for f in about))
            return EventResult(event, probe, measured, "confirmed", f"{how}, as {codes} says: {measured.reason}")
        return EventResult(event, probe, measured, "contradicted", f"{how}, nothing was found: {measured.reason}")
    status: Status = {"equal": "confirmed", "wrong": "contradicted"}.get(measured.outcome, "unavailable")  # type: ignore[assignment]
    return EventResult(event, probe, measured, status, measured.reason)


def _about(finding: Finding, event: Event) -> bool:
    span, at = finding.span, event.span
    return (
        span.path == at.path
        and span.line <= at.end_line
        and at.line <= span.end_line
        and finding.enclosing in ("", event.enclosing)
        and finding.arch in ("", event.arch)
    )


def finding_result(finding: Finding, events: Sequence[EventResult]) -> FindingResult:
    """A finding by the events at its place; unavailable where they do not show what it says."""
    here = tuple(r for r in events if _about(finding, r.event))
    ran = [r for r in here if r.measured is not None and r.measured.outcome != "unavailable"]
    if not ran:
        reason = next((r.reason for r in here if r.reason), "no copy or MMA at its place is run by a reference kernel")
        return FindingResult(finding, "unavailable", reason, here)
    shown = [(r, _shows(finding, r)) for r in ran]
    for wanted in ("confirmed", "contradicted"):
        for result, (status, reason) in shown:
            if status == wanted:
                return FindingResult(finding, status, reason, (result,))
    return FindingResult(finding, "unavailable", shown[0][1][1], here)


def _shows(finding: Finding, result: EventResult) -> tuple[Status, str]:
    measured = result.measured
    assert measured is not None
    family = finding.family
    if finding.name in APART:
        return "unavailable", _NOT_SHOWN
    if measured.outcome in ("refused", "faulted"):
        if family in STOPPED:
            how = "CuTe refuses it" if measured.outcome == "refused" else "the hardware stops it"
            return "confirmed", f"{how}: {measured.reason}"
        return "unavailable", f"the copy does not run: {measured.reason}"
    if family in _BANK:
        return _conflict(measured, _BANK[family])
    if family == "coalescing":
        return _sectors(measured)
    if family in _COVERAGE and isinstance(result.probe, CopyProbe) and measured.outcome == "equal":
        said = coverage(result.probe)
        return ("confirmed", said) if said else ("unavailable", "every element of the tile is touched once")
    return "unavailable", _NOT_SHOWN


def _conflict(measured: Measured, classes: Sequence[str]) -> tuple[Status, str]:
    if measured.tool == "cycles":
        return _by_time(measured, classes)
    if measured.no_counters:
        return "unavailable", measured.no_counters
    found = {c.name: c for c in measured.counted}
    for kind in classes:
        waves, ideal = found.get(f"wavefronts_{kind}"), measured.predicted.get(f"ideal_{kind}", 0)
        if waves is None or not ideal:
            continue
        said = f"{waves.measured} wavefronts ({kind}) measured, {waves.predicted} predicted, {ideal} without conflicts"
        if waves.measured > ideal:
            return "confirmed", said
        return "contradicted", said
    return "unavailable", "the copy has no such access"


def _by_time(measured: Measured, classes: Sequence[str]) -> tuple[Status, str]:
    """Timing confirms a conflict where it agrees with the prediction and a copy without conflicts would be faster."""
    ideal = sum(measured.predicted.get(f"ideal_{kind}", 0) for kind in cycles.CLASSES)
    if not any(measured.predicted.get(f"ideal_{kind}", 0) for kind in classes):
        return "unavailable", "the copy has no such access"
    timed = cycles.Timed(measured.counted[0].measured, measured.counted[0].predicted, ideal)
    said = (
        f"about {timed.cycles:.0f} cycles for {timed.predicted} wavefronts predicted, {ideal} without conflicts "
        "(by timing: lower confidence)"
    )
    if timed.refuted:
        return "contradicted", said
    return ("confirmed" if timed.tells else "unavailable"), said


def _sectors(measured: Measured) -> tuple[Status, str]:
    if measured.no_counters:
        return "unavailable", measured.no_counters
    for c in measured.counted:
        least = measured.predicted.get(f"{c.name}_least", 0)
        if c.name.startswith("sectors_") and least:
            said = f"{c.measured} sectors measured, {c.predicted} predicted, {least} at least"
            return ("confirmed" if c.measured > 2 * least else "contradicted"), said
    return "unavailable", "the copy has no global access of its own"


def coverage(probe: CopyProbe) -> str:
    """Which elements of the tile are missed, doubled or outside, empty when each is touched once."""
    said = []
    for side, tile in (("src", probe.src), ("dst", probe.dst)):
        if tile is None:
            continue
        inner = tile.layout.b if isinstance(tile.layout, ComposedLayout) else tile.layout
        if not isinstance(inner, Layout):
            continue
        extent = known_value(cosize(inner)) or 0
        table = probe.table("src" if side == "src" else "dst", tile)
        elements = set(probe_elements(inner)) if inner is tile.layout else set(range(extent))
        counts = Counter(table)
        missed = sum(1 for o in elements if not counts[o])
        doubled = sum(1 for o in elements if counts[o] > 1)
        outside = sum(1 for o in counts if o not in elements)
        parts = [f"{n} {what}" for n, what in ((missed, "missed"), (doubled, "touched more than once"),
                                               (outside, "outside the tile")) if n]  # fmt: skip
        if parts:
            said.append(f"{'source' if side == 'src' else 'destination'}: {', '.join(parts)}")
    return "; ".join(said)


def probe_elements(layout: Layout) -> list[int]:
    """The offsets of a tile's elements."""
    from cutecheck.model.algebra import offsets

    return offsets(layout)


__all__ = ["EventResult", "FindingResult", "GpuReport", "confirm", "coverage", "evidence", "unavailable"]
