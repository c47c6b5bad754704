"""Text that the parser reads, and the way back from it to the places of the scanned file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from cutecheck.facts.span import Span


class Piece(NamedTuple):
    """A stretch of parsed text: ``start`` in the parsed text, ``origin`` in the file.

    ``copied`` pieces map character by character; the others (macro bodies) stand for the use at
    ``origin .. origin_end``.
    """

    start: int
    origin: int
    origin_end: int
    copied: bool


class Origin:
    """A scanned file: its display path and where its lines begin (characters, not bytes)."""

    __slots__ = ("path", "starts", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        starts = [0]
        find = text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        self.starts = starts

    def span(self, begin: int, end: int, part: int = 0) -> Span:
        """The span of characters ``begin .. end`` of the file; ``part``: of the body of a macro that is used there."""
        starts = self.starts
        line = bisect_right(starts, begin)
        if end <= (starts[line] if line < len(starts) else len(self.text) + 1):
            last = line
        else:
            last = bisect_right(starts, end)
        return Span(self.path, line, begin - starts[line - 1] + 1, last, end - starts[last - 1] + 1, part)

    def offsets(self, span: Span) -> tuple[int, int]:
        """Where a span of the file begins and ends."""
        starts = self.starts
        return starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1


class Stretch(NamedTuple):
    """A stretch of text that is of several files: ``start`` in it, ``at`` in the file ``origin`` (None: the first)."""

    start: int
    origin: Origin | None
    at: int


class Spliced(Origin):
    """A file with the texts of others in place of lines that include them."""

    __slots__ = ("_own", "_starts", "_stretches")

    def __init__(self, own: Origin, text: str, stretches: tuple[Stretch, ...]) -> None:
        super().__init__(own.path, text)
        self._own = own
        self._stretches = stretches
        self._starts = [stretch.start for stretch in stretches]

    def span(self, begin: int, end: int, part: int = 0) -> Span:
        """The span in the file that has the beginning; of what ends in another, up to where that one is included."""
        first = bisect_right(self._starts, begin) - 1
        last = bisect_right(self._starts, max(begin, end - 1)) - 1
        start, origin, at = self._stretches[first]
        file = origin or self._own
        low = at + begin - start
        if (self._stretches[last].origin or self._own) is file:
            return file.span(low, max(low, self._stretches[last].at + end - self._stretches[last].start), part)
        following = (s.at for s in self._stretches[first + 1 :] if (s.origin or self._own) is file and s.at > low)
        return file.span(low, next(following, len(file.text)), part)


_TYPE_NAME = re.compile(r"\b(?:typename|class|struct|union|enum|using)\s+([^\W\d]\w*)")
_PACK = re.compile(r"\.\.\.\s*([^\W\d]\w*)")


class Source:
    """Parsed text with its origin; ``pieces`` empty means that both are the same, character by character."""

    __slots__ = ("_bodies", "_packs", "_rows", "_type_names", "_uses", "aligned", "origin", "pieces", "starts", "text")

    def __init__(
        self, origin: Origin, text: str, pieces: tuple[Piece, ...] = (), aligned: Sequence[tuple[int, int]] = ()
    ) -> None:
        self.origin = origin
        self.aligned = aligned  # from where in the file on members are aligned at most so (``#pragma pack``)
        self.text = text
        self.pieces = pieces
        self.starts = tuple(piece.start for piece in pieces)
        self._packs: frozenset[str] | None = None
        self._type_names: frozenset[str] | None = None
        self._bodies = _next_bodies(pieces)
        self._rows: dict[tuple[int, int], tuple[int, int]] = {}
        self._uses: dict[int, int] = {}  # of pieces of macros' bodies: where in the text the expansion begins

    @property
    def packs(self) -> frozenset[str]:
        """Names declared as packs anywhere in the text: tells the pack from the initial value in a binary fold."""
        if self._packs is None:
            self._packs = frozenset(_PACK.findall(self.text))
        return self._packs

    @property
    def type_names(self) -> frozenset[str]:
        """Names declared as types anywhere in the text: tells the cast ``(T)-x`` from the difference ``(n)-x``."""
        if self._type_names is None:
            self._type_names = frozenset(_TYPE_NAME.findall(self.text))
        return self._type_names

    def pack_at(self, begin: int) -> int:
        """The largest alignment of members there, 0 where nothing limits it."""
        if not self.aligned:
            return 0
        if self.pieces:
            first = self.pieces[bisect_right(self.starts, begin) - 1]
            begin = first.origin + (begin - first.start if first.copied else 0)
        at = bisect_right(self.aligned, begin, key=lambda event: event[0])
        return self.aligned[at - 1][1] if at else 0

    def span(self, begin: int, end: int) -> Span:
        """The span, in the scanned file, of characters ``begin .. end`` of the parsed text."""
        if not self.pieces:
            return self.origin.span(begin, end)
        first = self.pieces[bisect_right(self.starts, begin) - 1]
        last = self.pieces[bisect_right(self.starts, max(begin, end - 1)) - 1]
        low = first.origin + (begin - first.start) if first.copied else first.origin
        high = last.origin + (end - last.start) if last.copied else last.origin_end
        if high < low:  # an argument that the macro moved in front of an earlier one
            low, high = first.origin, max(first.origin, first.origin_end)
        return self.origin.span(low, high, self._part(begin, end))

    def _part(self, begin: int, end: int) -> int:
        """Which piece of a macro's body begins there, as ``Span.part``: also one that begins with an argument.

        Counted from where the expansion begins, so that a use in an argument that the body of another has twice is at
        one place.
        """
        at = bisect_right(self.starts, begin) - 1
        first, body = self.pieces[at], self._bodies[at]
        if body == len(self.pieces) or (body > at and self.pieces[body].start >= end):
            return 0
        use = self.pieces[body]
        if not use.origin <= first.origin < use.origin_end:
            return 0
        if at not in self._uses:
            self._uses[at] = self.pieces[self._first_of(use, at)].start
        return begin - self._uses[at] + 1

    def _first_of(self, use: Piece, at: int) -> int:
        """The first of the pieces in a row that stand within a use of a macro, the last of which is ``at``."""
        key, low = (use.origin, use.origin_end), at
        first, last = self._rows.get(key, (at, at))  # found before: pieces are many, and asked for one after the other
        while low and use.origin <= self.pieces[low - 1].origin < use.origin_end:
            low -= 1
            if first <= low <= last:
                low = first
                break
        self._rows[key] = low, at
        return low


def _next_bodies(pieces: tuple[Piece, ...]) -> tuple[int, ...]:
    """For each piece the first from it on that is of a macro's body, their number where there is none."""
    found, body = [0] * len(pieces), len(pieces)
    for at in range(len(pieces) - 1, -1, -1):
        if not pieces[at].copied and pieces[at].origin != pieces[at].origin_end:
            body = at
        found[at] = body
    return tuple(found)
