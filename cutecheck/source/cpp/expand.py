"""Macro expansion before parsing, with the way back from every character to the scanned file.

Arguments keep their own places; a macro's body stands at the place of its use. Macros that state conditions
(``CUTE_STATIC_ASSERT_V``, ``TORCH_CHECK``, ``assert``) stay: the parser understands them by name.
"""

from __future__ import annotations

import re
from functools import partial

from cutecheck.records import record
from cutecheck.source.cpp.defines import Macro
from cutecheck.source.cpp.directives import MacroScope
from cutecheck.source.cpp.text import Origin, Piece, Source
from cutecheck.source.cpp.uses import KEPT, MAX_TOKENS, Token, TooLarge, Use, joins, tokens_of

_WORD = re.compile(r"[^\W\d]\w*")
_SKIP = r"\"(?:[^\"\\\n]|\\.)*\"|'(?<!\w')(?:[^'\\\n]|\\.)+'"
_LITERAL = re.compile(_SKIP)
_GROUP = re.compile(_SKIP + r"|[()]")
MAX_FILE_TOKENS = 1_000_000  # a file that spent this much has only its small uses expanded
SMALL = 2_000


@record(frozen=True, slots=True)
class Expanded:
    source: Source
    too_large: tuple[tuple[str, int, int], ...] = ()


def expand(origin: Origin, text: str, scope: MacroScope) -> Expanded:
    """``text`` (as long as the file) with its macros replaced."""
    used = [name for name in set(_WORD.findall(text)) if _may_expand(name, scope)]
    if not used:
        return Expanded(Source(origin, text, (), scope.packs))
    writer = _Writer()
    failed: list[tuple[str, int, int]] = []
    left = MAX_FILE_TOKENS
    last = beyond = 0
    for begin, name in _places(text, used):
        if begin < max(last, beyond):
            continue  # inside the arguments of the use before
        end = begin + len(name)
        macro = scope.at(name, begin)
        if macro is None or _in_string(text, begin):
            continue
        stop = _use_end(macro, scope, text, begin, end)
        if stop < 0:
            continue
        granted = max(SMALL, min(MAX_TOKENS, left))
        budget = [granted]
        try:
            tokens = Use(partial(_at, scope, begin), (begin, stop), budget).expand(tokens_of(text, begin, stop))
        except (TooLarge, RecursionError):
            failed.append((name, begin, stop))
            beyond = stop  # what is inside stays as written, too
            continue
        finally:
            left -= granted - budget[0]
        writer.copy(text, last, begin)
        writer.tokens(tokens)
        last = stop
    if not last:
        return Expanded(Source(origin, text, (), scope.packs), tuple(failed))
    writer.copy(text, last, len(text))
    return Expanded(writer.source(origin, scope.packs), tuple(failed))


def _at(scope: MacroScope, offset: int, name: str) -> Macro | None:
    return scope.at(name, offset)


def _places(text: str, names: list[str]) -> list[tuple[int, str]]:
    """Where the words ``names`` stand, in order. One plain search a name is faster than one pattern for all."""
    found: list[tuple[int, str]] = []
    size = len(text)
    for name in names:
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            if (at == 0 or not _is_word(text[at - 1])) and (end >= size or not _is_word(text[end])):
                found.append((at, name))
            at = text.find(name, end)
    found.sort()
    return found


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _in_string(text: str, at: int) -> bool:
    """Whether ``at`` is inside a string or character literal that began on its line."""
    line = text.rfind("\n", 0, at) + 1
    if text.find('"', line, at) < 0 and text.find("'", line, at) < 0:
        return False
    return any(match.start() < at < match.end() for match in _LITERAL.finditer(text, line) if match.start() < at)


def _may_expand(name: str, scope: MacroScope) -> bool:
    if name in KEPT:
        return False
    events = scope.events.get(name)
    if events is not None and any(macro is not None for _, macro in events):
        return True
    return scope.defines.lookup(name) is not None


def _use_end(macro: Macro, scope: MacroScope, text: str, begin: int, end: int) -> int:
    """Where the use that begins with the name at ``begin .. end`` ends; -1 when it is not a use."""
    seen = {macro.name}
    while macro.params is None and _WORD.fullmatch(macro.body) and macro.body not in seen:
        seen.add(macro.body)
        target = scope.at(macro.body, begin)
        if target is None or macro.body in KEPT:
            return end
        macro = target
    if macro.params is None:
        return end
    at = end
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text) or text[at] != "(":
        return -1 if len(seen) == 1 else end
    depth = 0
    for match in _GROUP.finditer(text, at):
        depth += {"(": 1, ")": -1}.get(match.group(), 0)
        if depth == 0:
            return match.end()
    return -1


class _Writer:
    """Collects the expanded text and its pieces."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.pieces: list[Piece] = []
        self.length = 0

    def copy(self, text: str, begin: int, end: int) -> None:
        if begin < end:
            self.pieces.append(Piece(self.length, begin, end, True))
            self.parts.append(text[begin:end])
            self.length += end - begin

    def tokens(self, tokens: list[Token]) -> None:
        before = self.parts[-1][-1:] if self.parts else ""
        parts, pieces, length = self.parts, self.pieces, self.length
        place: tuple[int, int] | None = None  # of the last piece, if it is a use
        if pieces and not pieces[-1].copied:
            place = pieces[-1].origin, pieces[-1].origin_end
        for token in tokens:
            word = token.text
            glue = token.space or (before and joins(before, word[0]))
            if token.copied:
                if glue:
                    pieces.append(Piece(length, token.begin, token.begin, False))
                    length += 1
                pieces.append(Piece(length, token.begin, token.end, True))
                place = None
            else:
                if place != (token.begin, token.end):
                    place = token.begin, token.end
                    pieces.append(Piece(length, token.begin, token.end, False))
                length += 1 if glue else 0
            if glue:
                parts.append(" ")
            parts.append(word)
            length += len(word)
            before = word[-1]
        self.length = length

    def source(self, origin: Origin, packs: list[tuple[int, int]]) -> Source:
        return Source(origin, "".join(self.parts), tuple(self.pieces), packs)
