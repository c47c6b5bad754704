"""A source file as text that can be edited: spans to offsets and back, its encoding, mark and line ends kept."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cutecheck.facts import Span
from cutecheck.records import record
from cutecheck.source.cpp.strip import strip_comments

_BOM = b"\xef\xbb\xbf"
_PYTHON = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#[^\n]*", re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]+")


@record(frozen=True, slots=True)
class Change:
    """Replace the characters ``begin .. end`` of a text."""

    begin: int
    end: int
    text: str


@dataclass(frozen=True)
class SourceText:
    """One file. Offsets count characters after the byte order mark; carriage returns count as the front ends do."""

    path: str
    file: Path
    data: bytes

    @cached_property
    def encoding(self) -> str:
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError:
            return "latin-1"
        return "utf-8"

    @cached_property
    def text(self) -> str:
        return self.data.removeprefix(_BOM).decode(self.encoding)

    @property
    def python(self) -> bool:
        return self.path.endswith(".py")

    @cached_property
    def code(self) -> str:
        """The text with comments blank (strings too, in Python), of the same length."""
        if self.python:
            return _PYTHON.sub(lambda m: _NOT_NEWLINE.sub(lambda n: " " * len(n[0]), m[0]), self.text)
        return strip_comments(self.text)[0]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def offset(self, line: int, column: int) -> int:
        """The offset of a place; ValueError outside the text."""
        if not 1 <= line <= len(self._starts):
            raise ValueError(f"{self.path} has no line {line}")
        at = self._starts[line - 1] + column - 1
        if not 0 <= at <= len(self.text):
            raise ValueError(f"{self.path}:{line} has no column {column}")
        return at

    def region(self, span: Span) -> tuple[int, int]:
        """Offsets of a span."""
        return self.offset(span.line, span.column), self.offset(span.end_line, span.end_column)

    def span(self, begin: int, end: int) -> Span:
        """The span of two offsets."""
        first, last = bisect_right(self._starts, begin), bisect_right(self._starts, end)
        return Span(self.path, first, begin - self._starts[first - 1] + 1, last, end - self._starts[last - 1] + 1)

    def edited(self, changes: Iterable[Change]) -> bytes:
        """The file's bytes after changes that do not overlap; new lines end as the file's first line does."""
        newline = "\r\n" if "\r\n" in self.text else "\n"
        parts, at = [], 0
        for change in sorted(changes, key=lambda c: (c.begin, c.end)):
            if change.begin < at:
                raise ValueError("overlapping edits")
            parts += [self.text[at : change.begin], change.text.replace("\r\n", "\n").replace("\n", newline)]
            at = change.end
        text = "".join((*parts, self.text[at:]))
        encoded = text.encode(self.encoding, "strict")
        return _BOM + encoded if self.data.startswith(_BOM) else encoded


def overlap(a: Change, b: Change) -> bool:
    """They share a character, or insert at one place."""
    if a.begin == a.end or b.begin == b.end:
        return a.begin <= b.end and b.begin <= a.end
    return a.begin < b.end and b.begin < a.end


def moved(offset: int, changes: Sequence[Change]) -> int:
    """Where a place of the old text is in the new one (the start of a change for places inside it)."""
    shift = 0
    for c in sorted(changes, key=lambda c: c.begin):
        if c.end <= offset and (c.begin < offset or c.end < offset or c.begin == c.end):
            shift += len(c.text) - (c.end - c.begin)
        elif c.begin < offset:
            return c.begin + shift
        else:
            break
    return offset + shift
