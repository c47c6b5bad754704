"""One finding a line: ``path:line:col: CODE message``."""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.facts import SourceError
from cutecheck.report.data import Report, summarise
from cutecheck.report.summary import summary_lines
from cutecheck.report.text import safe


def error_line(error: SourceError) -> str:
    """One line for something that could not be read or did not work."""
    place = str(error.span) if error.span else error.path
    return safe(f"{place}: error: {error.message}" if place else f"error: {error.message}")


def render(report: Report, unknown: str = "warn") -> Iterator[str]:
    """The lines of the concise report; findings that differ by instantiation alone are one line."""
    yield from dict.fromkeys(safe(f"{f.span}: {f.code} {' '.join(f.message.split())}") for f in report.findings)
    for error in (*report.errors, *report.failures):
        yield error_line(error)
    yield from summary_lines(summarise(report), unknown)
