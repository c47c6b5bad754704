"""The summary line every human-readable report ends with."""

from __future__ import annotations

from cutecheck.model.prove.obligation import Verdict
from cutecheck.report.data import Summary
from cutecheck.report.text import safe

_OPTIONAL = (Verdict.ASSUMED, Verdict.VACUOUS, Verdict.NOT_APPLICABLE, Verdict.DISAGREE)

_SHOWN = 4  # assumptions, and contracts, that a line names


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def summary_lines(summary: Summary, unknown: str = "warn") -> list[str]:
    """The counts; what verdicts rest on; under ``warn`` and ``error`` also what was not verified."""
    severities = [plural(n, s) for s, n in summary.findings if n]
    verdicts = [f"{summary.verdict(v)} {v.value}" for v in (Verdict.PROVED, Verdict.REFUTED, Verdict.UNKNOWN)]
    verdicts += [f"{summary.verdict(v)} {v.value.replace('_', ' ')}" for v in _OPTIONAL if summary.verdict(v)]
    total = sum(n for _, n in summary.verdicts)
    parts = [
        ", ".join(severities) or "no findings",
        *_extracted(summary),
        f"{plural(total, 'obligation')}: {', '.join(verdicts)}",
    ]
    if summary.suppressed:
        parts.append(f"{summary.suppressed} suppressed")
    for count, what in ((summary.baselined, "in the baseline"), (summary.preexisting, "pre-existing")):
        if count:
            parts.append(f"{count} {what}")
    if summary.fixed:
        parts.append(f"{summary.fixed} fixed")
    if summary.errors:
        parts.append(plural(summary.errors, "error"))
    lines = ["; ".join(parts)]
    lines += map(safe, summary.notes)
    if summary.assumptions:
        lines.append(f"assuming: {_first(summary.assumptions)} (--show-proofs: where)")
    if unknown != "ignore" and summary.not_verified:
        lines.append(f"not fully verified: {summary.not_verified} unknown{_contracts(summary)}")
    return lines


def _contracts(summary: Summary) -> str:
    """What would settle some of the unknown obligations, and where to state it."""
    if not summary.contracts:
        return ""
    hold = "holds" if summary.under_contract == 1 else "hold"
    wanted = _first(summary.contracts)
    return (
        f"; {summary.under_contract} of them {hold} under contracts that nothing in the source states: {wanted} "
        "(key `assume`)"
    )


def _first(counted: tuple[tuple[str, int], ...]) -> str:
    """The most frequent texts with their counts, and how many others there are."""
    left = len(counted) - _SHOWN
    texts = ", ".join(f"{text} ({count})" for text, count in counted[:_SHOWN])
    return f"{texts} and {left} more" if left > 0 else texts


def extraction_line(summary: Summary) -> str:
    """What was read and extracted, without verdicts: the last line of ``facts``."""
    errors = [plural(summary.errors, "error")] if summary.errors else []
    return "; ".join([*_extracted(summary), *errors])


def _extracted(summary: Summary) -> list[str]:
    sites = [
        f"{plural(summary.sites, 'site')} found",
        *(f"{summary.status(s)} {s}" for s in ("resolved", "symbolic", "unknown", "unbound")),
    ]
    if summary.status("partly resolved"):
        sites.insert(2, f"{summary.status('partly resolved')} partly resolved")
    if summary.status("dead"):
        sites.append(f"{summary.status('dead')} dead")
    counts = (("unknown", summary.events_unknown), ("partly unknown", summary.events_partly))
    open_events = [f"{count} {what}" for what, count in counts if count]
    return [
        f"{summary.files_with_cute} of {plural(summary.files, 'file')} with CuTe",
        ", ".join(sites),
        plural(summary.events, "event") + (f" ({', '.join(open_events)})" if open_events else ""),
    ]
