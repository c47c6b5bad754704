"""The uses of macros: Prosser's algorithm on tokens, for the text and for the conditions of ``#if``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from cutecheck.records import record
from cutecheck.source.cpp.defines import Macro
from cutecheck.source.cpp.lexer import lex
from cutecheck.source.cpp.words import ASSERTION_MACROS

KEPT = ASSERTION_MACROS
MAX_TOKENS = 250_000  # one use beyond this is left as written
DEFINED = Macro("defined", None, "")
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


def tokens_of(text: str, begin: int, end: int) -> list[Token]:
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
class Use:
    """One use of a macro in the file: ``place`` is where, ``budget`` the tokens it may still spend.

    ``lookup``: what a name is there; :data:`DEFINED` where the name after it is asked for, not what it stands for.
    """

    lookup: Callable[[str], Macro | None]
    place: tuple[int, int]
    budget: list[int]
    known: dict[str, Macro | None] = field(default_factory=dict)  # what a word is at the place of this use

    def macro(self, text: str) -> Macro | None:
        """The macro that a token names and that is to be expanded."""
        if text not in self.known:
            word = text[:1].isalpha() or text[:1] == "_"
            self.known[text] = self.lookup(text) if word and text not in KEPT else None
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
            if macro is DEFINED:
                out.append(token)
                parenthesised = bool(work) and work[-1].text == "("
                out.extend(work.pop() for _ in range(min(len(work), 3 if parenthesised else 1)))
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


def joins(left: str, right: str) -> bool:
    """Whether two characters side by side would make another token."""
    wordy = (left.isalnum() or left == "_") and (right.isalnum() or right == "_")
    return wordy or (left in "<&|+-:=!*/^%.#" and right in "<&|+-:=>")


def text_of(tokens: list[Token]) -> str:
    """What the preprocessor would write for tokens."""
    parts: list[str] = []
    for token in tokens:
        if parts and (token.space or joins(parts[-1][-1], token.text[0])):
            parts.append(" ")
        parts.append(token.text)
    return "".join(parts)
