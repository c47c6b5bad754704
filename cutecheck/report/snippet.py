"""A source excerpt with carets: the primary span and labelled secondary ones of the same file."""

from __future__ import annotations

from collections.abc import Sequence

from cutecheck.facts import Span
from cutecheck.records import record
from cutecheck.report.text import safe, width

MAX_COLUMNS = 160


@record(frozen=True, slots=True)
class Mark:
    """A span to underline: ``^`` where it is the finding itself, ``-`` where it only explains."""

    span: Span
    label: str
    primary: bool


@record(frozen=True, slots=True)
class Line:
    """A line of output: text, the style it has on a terminal, and the file that it leads to there."""

    text: str
    style: str = ""
    file: str = ""


def snippet(lines: Sequence[str], marks: Sequence[Mark], severity: str) -> list[Line]:
    """The marked lines in order, ``...`` where lines were left out. Spans outside the file are dropped."""
    inside = [m for m in marks if 1 <= m.span.line <= len(lines)]
    if not inside:
        return []
    gutter = len(str(max(m.span.line for m in inside)))
    bar = " " * gutter + " |"
    out = [Line(bar, "frame")]
    previous = None
    for number in sorted({m.span.line for m in inside}):
        if previous is not None and number > previous + 2:
            out.append(Line("...", "frame"))
        elif previous is not None and number == previous + 2:
            out.append(_source(lines, previous + 1, gutter))
        out.append(_source(lines, number, gutter))
        here = sorted((m for m in inside if m.span.line == number), key=lambda m: (not m.primary, m.span.column))
        out += [_underline(lines[number - 1], m, bar, severity) for m in here]
        previous = number
    out.append(Line(bar, "frame"))
    return out


def _source(lines: Sequence[str], number: int, gutter: int) -> Line:
    text = safe(lines[number - 1].rstrip("\r\n"))
    if len(text) > MAX_COLUMNS:
        text = text[:MAX_COLUMNS] + "..."
    return Line(f"{number:>{gutter}} | {text}".rstrip())


def _underline(line: str, mark: Mark, bar: str, severity: str) -> Line:
    line = line.rstrip("\r\n")
    start = min(mark.span.column - 1, len(line))
    end = mark.span.end_column - 1 if mark.span.end_line == mark.span.line else len(line)
    left = width(safe(line[:start]))
    length = max(1, width(safe(line[start : max(start, min(end, len(line)))])))
    if left > MAX_COLUMNS:
        left, length = 0, 1
    length = min(length, MAX_COLUMNS - left + 1)
    more = "..." if mark.span.end_line > mark.span.line else ""
    text = f"{bar} {' ' * left}{('^' if mark.primary else '-') * length}{more} {safe(mark.label)}"
    return Line(text.rstrip(), severity if mark.primary else "frame")
