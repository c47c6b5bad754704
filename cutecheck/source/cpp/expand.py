"""Macro expansion before parsing, with the way back from every character to the scanned file.

Arguments keep their own places; a macro's body stands at the place of its use. Macros that state conditions
(``CUTE_STATIC_ASSERT_V``, ``TORCH_CHECK``, ``assert``) stay: the parser understands them by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from cutecheck.records import record
from cutecheck.source.cpp.defines import Macro
from cutecheck.source.cpp.directives import MacroScope
from cutecheck.source.cpp.lexer import lex
from cutecheck.source.cpp.text import Origin, Piece, Source
from cutecheck.source.cpp.words import ASSERTION_MACROS

_WORD = re.compile(r"[^\W\d]\w*")
_KEPT = ASSERTION_MACROS
_SKIP = r"\"(?:[^\"\\\n]|\\.)*\"|'(?<!\w')(?:[^'\\\n]|\\.)+'"
_LITERAL = re.compile(_SKIP)
_GROUP = re.compile(_SKIP + r"|[()]")
MAX_TOKENS = 250_000  # one use beyond this is left as written
MAX_FILE_TOKENS = 1_000_000  # a file that spent this much has only its small uses expanded
SMALL = 2_000
_EMPTY: frozenset[str] = frozenset()


@dataclass(slots=True)
class Token:
    """A token on its way through expansion; ``begin .. end`` is its place in the file."""

    text: str
    begin: int
    end: int
    copied: bool
    space: bool
    hidden: frozenset[str] = _EMPTY


class TooLarge(Exception):
    """The expansion exceeds :data:`MAX_TOKENS`."""


@record(frozen=True, slots=True)
class Expanded:
    source: Source
    too_large: tuple[tuple[str, int, int], ...] = ()


def expand(origin: Origin, text: str, scope: MacroScope) -> Expanded:
    """``text`` (as long as the file) with its macros replaced."""
    used = [name for name in set(_WORD.findall(text)) if _may_expand(name, scope)]
    if not used:
        return Expanded(Source(origin, text))
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
            tokens = _Use(scope, (begin, stop), budget).expand(_tokens(text, begin, stop))
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
        return Expanded(Source(origin, text), tuple(failed))
    writer.copy(text, last, len(text))
    return Expanded(writer.source(origin), tuple(failed))


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
    if name in _KEPT:
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
        if target is None or macro.body in _KEPT:
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


def _tokens(text: str, begin: int, end: int) -> list[Token]:
    lexed = lex(text, begin, end)
    found: list[Token] = []
    before = begin
    for piece, at in zip(lexed.texts[:-1], lexed.starts, strict=False):
        found.append(Token(piece, at, at + len(piece), True, at > before))
        before = at + len(piece)
    return found


@lru_cache(maxsize=8192)
def _lexed_body(body: str) -> tuple[tuple[str, bool], ...]:
    lexed = lex(body)
    found: list[tuple[str, bool]] = []
    before = 0
    for piece, at in zip(lexed.texts[:-1], lexed.starts, strict=False):
        found.append((piece, at > before))
        before = at + len(piece)
    return tuple(found)


def _body_tokens(body: str, place: tuple[int, int], space: bool) -> list[Token]:
    begin, end = place
    found = [Token(piece, begin, end, False, gap) for piece, gap in _lexed_body(body)]
    if found and space:
        found[0].space = True
    return found


@record(frozen=True, slots=True)
class _Use:
    """One use of a macro in the file: ``place`` is where, ``budget`` the tokens it may still spend."""

    scope: MacroScope
    place: tuple[int, int]
    budget: list[int]
    known: dict[str, Macro | None] = field(default_factory=dict)  # what a word is at the place of this use

    def macro(self, text: str) -> Macro | None:
        """The macro that a token names and that is to be expanded."""
        if text not in self.known:
            word = text[:1].isalpha() or text[:1] == "_"
            self.known[text] = self.scope.at(text, self.place[0]) if word and text not in _KEPT else None
        return self.known[text]

    def spend(self, count: int) -> None:
        self.budget[0] -= count
        if self.budget[0] < 0:
            raise TooLarge

    def expand(self, tokens: list[Token]) -> list[Token]:
        """Full expansion of a token list (Prosser's algorithm with hide sets)."""
        work = tokens[::-1]
        out: list[Token] = []
        known, budget = self.known, self.budget
        while work:
            token = work.pop()
            text = token.text
            budget[0] -= 1
            if budget[0] < 0:
                raise TooLarge
            macro = known[text] if text in known else self.macro(text)
            if macro is None or text in token.hidden:
                out.append(token)
                continue
            hidden = token.hidden | {text}
            if macro.params is None:
                body = _body_tokens(macro.body, self.place, token.space)
                body = _paste(body) if "##" in macro.body else body
            else:
                args = _arguments(work) if work and work[-1].text == "(" else None
                if args is None:
                    out.append(token)
                    continue
                body = self.substitute(macro, args)
                if body:
                    body[0] = _spaced(body[0], token.space)
            for part in reversed(body):
                if (known[part.text] if part.text in known else self.macro(part.text)) is not None:
                    part = Token(part.text, part.begin, part.end, part.copied, part.space, part.hidden | hidden)
                work.append(part)
        return out

    def substitute(self, macro: Macro, args: list[list[Token]]) -> list[Token]:
        """The body of a function-like macro with ``args`` in place of its parameters."""
        values = self.bind(macro, args)
        expanded: dict[str, list[Token]] = {}
        body = _body_tokens(macro.body, self.place, False)
        out: list[Token] = []
        at = 0
        while at < len(body):
            token = body[at]
            following = body[at + 1].text if at + 1 < len(body) else ""
            if token.text == "#" and following in values:
                parts = values[following]
                words = "".join(" " * (part.space and index > 0) + part.text for index, part in enumerate(parts))
                words = words.replace("\\", "\\\\").replace('"', '\\"')
                out.append(Token(f'"{words}"', self.place[0], self.place[1], False, token.space))
                at += 2
                continue
            if token.text == "__VA_OPT__" and following == "(":
                close = _close(body, at + 1)
                body[at : close + 1] = body[at + 2 : close] if values.get(macro.variadic) else []
                continue
            if token.text not in values:
                out.append(token)
            elif following == "##" or (at and body[at - 1].text == "##"):
                empty = [Token("", self.place[0], self.place[1], False, False)]
                out.extend(values[token.text] or empty)
            else:
                if token.text not in expanded:
                    expanded[token.text] = self.expand(list(values[token.text]))
                value = expanded[token.text]
                self.spend(len(value))
                out.extend(_spaced(part, token.space) if not index else part for index, part in enumerate(value))
            at += 1
        return [token for token in (_paste(out) if "##" in macro.body else out) if token.text]

    def bind(self, macro: Macro, args: list[list[Token]]) -> dict[str, list[Token]]:
        params = macro.params or ()
        values = {name: args[at] if at < len(args) else [] for at, name in enumerate(params)}
        if macro.variadic:
            rest: list[Token] = []
            for at, arg in enumerate(args[len(params) :]):
                if at:
                    rest.append(Token(",", self.place[0], self.place[1], False, False))
                rest.extend(arg)
            values[macro.variadic] = rest
        return values


def _spaced(token: Token, space: bool) -> Token:
    return Token(token.text, token.begin, token.end, token.copied, space, token.hidden)


def _arguments(work: list[Token]) -> list[list[Token]] | None:
    """The arguments of the call whose ``(`` is on top of ``work``; both are taken off."""
    depth = 0
    args: list[list[Token]] = [[]]
    for index in range(len(work) - 1, -1, -1):
        token = work[index]
        if token.text in ("(", "[", "{"):
            # only parentheses group for the preprocessor
            depth += token.text == "("
            if depth == 1 and token.text == "(" and index == len(work) - 1:
                continue
        elif token.text == ")":
            depth -= 1
            if depth == 0:
                del work[index:]
                return args
        elif token.text == "," and depth == 1:
            args.append([])
            continue
        args[-1].append(token)
    return None


def _close(body: list[Token], open_at: int) -> int:
    depth = 0
    for at in range(open_at, len(body)):
        depth += {"(": 1, ")": -1}.get(body[at].text, 0)
        if depth == 0:
            return at
    return len(body) - 1


def _paste(tokens: list[Token]) -> list[Token]:
    """``a ## b`` joined; GNU's ``, ## __VA_ARGS__`` drops the comma before an empty pack."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.text == "##" and out and at + 1 < len(tokens):
            right = tokens[at + 1]
            left = out.pop()
            if left.text == ",":
                out.extend([left, right] if right.text else [])
            else:
                out.append(Token(left.text + right.text, left.begin, left.end, False, left.space))
            at += 2
            continue
        out.append(token)
        at += 1
    return out


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
            glue = token.space or (before and _joins(before, word[0]))
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

    def source(self, origin: Origin) -> Source:
        return Source(origin, "".join(self.parts), tuple(self.pieces))


def _joins(left: str, right: str) -> bool:
    """Whether two characters side by side would make another token."""
    wordy = (left.isalnum() or left == "_") and (right.isalnum() or right == "_")
    return wordy or (left in "<&|+-:=!*/^%.#" and right in "<&|+-:=>")
