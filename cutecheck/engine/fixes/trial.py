"""Edits that are tried, one set after another, and where places of the sources are afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from cutecheck.engine.fixes.text import Change, SourceText, moved
from cutecheck.facts import Span
from cutecheck.findings import Fix
from cutecheck.records import record

Place = tuple[str, int, int]


@record(frozen=True, slots=True)
class Step:
    """One set of edits: the files before and after it."""

    before: Mapping[str, SourceText]
    changes: Mapping[str, list[Change]]
    after: Mapping[str, SourceText]

    def place(self, at: Place) -> Place:
        """Where a place is after the step."""
        path, line, column = at
        old, new = self.before.get(path), self.after.get(path)
        if old is None or new is None:
            return at
        try:
            there = moved(old.offset(line, column), self.changes[path])
        except ValueError:
            return at
        span = new.span(there, there)
        return path, span.line, span.column


@record(frozen=True, slots=True)
class Trial:
    """Contents of edited files after some steps."""

    contents: Mapping[Path, bytes]
    steps: tuple[Step, ...] = ()

    def place(self, span: Span) -> Place:
        """Where a place of the sources before the first step is now."""
        at = (span.path, span.line, span.column)
        for step in self.steps:
            at = step.place(at)
        return at

    def then(self, fixes: list[Fix], files: Callable[[str], SourceText | None]) -> Trial | None:
        """The same with the edits of some more fixes; None when they cannot be made."""
        changes: dict[str, list[Change]] = {}
        for fix in fixes:
            for path, some in (changes_of(fix, files) or {}).items():
                changes.setdefault(path, []).extend(some)
        before = {path: source for path in changes if (source := files(path)) is not None}
        after = {}
        try:
            for path, some in changes.items():
                old = before[path]
                after[path] = SourceText(path, old.file, old.edited(some))
        except (ValueError, KeyError):  # overlapping, or not to be written in the file's encoding
            return None
        contents = {**self.contents, **{new.file: new.data for new in after.values()}}
        return Trial(contents, (*self.steps, Step(before, changes, after))) if after else None


def changes_of(fix: Fix, files: Callable[[str], SourceText | None]) -> dict[str, list[Change]] | None:
    """The edits of a fix by file; None where one of them lies in a file that may not be edited."""
    found: dict[str, list[Change]] = {}
    for edit in fix.edits:
        source = files(edit.span.path)
        if source is None:
            return None
        found.setdefault(edit.span.path, []).append(Change(*source.region(edit.span), edit.replacement))
    return found
