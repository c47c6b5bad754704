"""Findings with their fixes: those that were proved, or are plain from the text, before any edit is tried."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.engine.fixes.bench import Bench
from cutecheck.engine.fixes.remedies import proposals
from cutecheck.findings import Finding


def with_fixes(finding: Finding, bench: Bench) -> Finding:
    """The finding with the fixes that need no further check to be offered."""
    found = tuple(p.fix for p in proposals(finding, bench) if p.sure)
    return replace(finding, fixes=(*finding.fixes, *found)) if found else finding
