"""``--statistics``: how often each rule found something, and what was silenced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cutecheck.report.job import Job
from cutecheck.report.snippet import Line


def render(job: Job) -> Iterator[Line]:
    """One line a rule, most frequent first: places, instantiations, code and name."""
    places = Counter((a.finding.code, a.finding.name) for a in job.alerts)
    findings = Counter(f.code for f in job.report.findings)
    suppressed = Counter((s.finding.code, s.finding.name) for s in job.report.suppressed)
    keys = sorted({*places, *suppressed}, key=lambda k: (-places[k], -suppressed[k], k))
    if keys:
        yield Line(f"{'places':>8} {'findings':>8} {'suppressed':>10}  rule", "bold")
    for key in keys:
        code, name = key
        yield Line(f"{places[key]:>8} {findings[code]:>8} {suppressed[key]:>10}  {code} {name}")
