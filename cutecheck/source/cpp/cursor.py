"""The parser's hands: a position in a token list, spans, and backtracking.

The parser is one class built in layers (names and types, expressions, statements, declarations); this bottom
layer declares what lower layers need from upper ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Thread
from typing import TypeVar

from cutecheck.facts.span import Span
from cutecheck.source.cpp.lexer import Tokens
from cutecheck.source.cpp.text import Source
from cutecheck.source.eval import ir

T = TypeVar("T")
MAX_DEPTH = 80  # nested types or expressions; CuTe's own sources stay below 25
_IDENT = re.compile(r"[^\W\d]\w*\Z")


class Fail(Exception):
    """The text at the position does not have the wanted form; callers backtrack or report an Opaque."""


class TooDeep(Fail):
    """Nested beyond :data:`MAX_DEPTH`; no other reading is tried."""


class Cursor:
    """A position ``at`` in tokens ``[at, end)`` of ``source``."""

    def __init__(self, source: Source, tokens: Tokens, at: int = 0, end: int | None = None) -> None:
        self.source = source
        self.tokens = tokens
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.partner = tokens.partner
        self.at = at
        self.end = len(tokens.texts) - 1 if end is None else end
        self.depth = 0
        self.notes: list[ir.Note] = []
        self.targs_memo: dict[int, tuple[tuple[ir.Expr, ...], int] | None] = {}
        self.loose_flags: set[str] = set()  # specifiers met inside a type: `const __device__ T`
        self.in_class = False
        self.own_stack = False  # a RecursionError is then the text's doing, not the callers'
        self.class_name = ""  # of the innermost class around the position

    # ------------------------------------------------------------ tokens

    @property
    def tok(self) -> str:
        """The token at the position, empty at the end."""
        return self.texts[self.at] if self.at < self.end else ""

    def peek(self, ahead: int = 1) -> str:
        at = self.at + ahead
        return self.texts[at] if at < self.end else ""

    def take(self, text: str) -> None:
        """Step over ``text``; raise :class:`Fail` if another token is there."""
        if self.at >= self.end or self.texts[self.at] != text:
            raise Fail(f"expected '{text}'" + (f" before '{self.tok}'" if self.tok else " before the end"))
        self.at += 1

    def accept(self, text: str) -> bool:
        if self.at < self.end and self.texts[self.at] == text:
            self.at += 1
            return True
        return False

    def is_ident(self, ahead: int = 0) -> bool:
        at = self.at + ahead
        if at >= self.end:
            return False
        first = self.texts[at][0]
        return first.isalpha() or first == "_"

    def ident(self) -> str:
        text = self.tok
        if not text or not (text[0].isalpha() or text[0] == "_") or _IDENT.match(text) is None:
            raise Fail(f"expected a name before '{text}'")
        self.at += 1
        return text

    def closer(self) -> int:
        """Index of the partner of the bracket at the position."""
        partner = self.partner[self.at]
        if partner < 0 or partner >= self.end:
            raise Fail(f"'{self.tok}' is not closed")
        return partner

    def skip_group(self) -> None:
        """Step over the bracketed group at the position."""
        self.at = self.closer() + 1

    def adjacent(self, ahead: int = 0) -> bool:
        """Whether the token at the position follows its predecessor without white space."""
        at = self.at + ahead
        return at > 0 and self.starts[at - 1] + len(self.texts[at - 1]) == self.starts[at]

    def joined(self, ahead: int, text: str) -> bool:
        """Whether the token ``ahead`` is ``text`` and directly follows the one before it."""
        return self.peek(ahead) == text and self.adjacent(ahead)

    # ------------------------------------------------------------ spans

    def span(self, first: int, last: int | None = None) -> Span:
        """Span from token ``first`` to token ``last`` (inclusive; default: the one before the position)."""
        last = max(first, self.at - 1) if last is None else last
        return self.source.span(self.starts[first], self.starts[last] + len(self.texts[last]))

    def text_of(self, first: int, last: int) -> str:
        """The text of tokens ``first .. last`` inclusive, as parsed."""
        return self.source.text[self.starts[first] : self.starts[last] + len(self.texts[last])]

    def opaque(self, reason: str, first: int, last: int | None = None) -> ir.Opaque:
        last = max(first, self.at - 1) if last is None else last
        names = {t for t in self.texts[first : last + 1] if t and (t[0].isalpha() or t[0] == "_")}
        return ir.Opaque(reason, self.span(first, last), tuple(sorted(names)))

    def note(self, kind: str, text: str, first: int, last: int | None = None) -> None:
        self.notes.append(ir.Note(kind, text, self.span(first, last)))

    # ------------------------------------------------------------ backtracking

    def attempt(self, rule: Callable[[], T]) -> T | None:
        """``rule()``, or None with the position restored when it fails."""
        at, end, depth, notes = self.at, self.end, self.depth, len(self.notes)
        try:
            return rule()
        except TooDeep:
            raise
        except Fail:
            self.at, self.end, self.depth = at, end, depth
            del self.notes[notes:]
            return None

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooDeep(f"nested deeper than {MAX_DEPTH}")

    def leave(self) -> None:
        self.depth -= 1

    # ------------------------------------------------------------ what upper layers provide

    def expression(self, no_gt: bool = False) -> ir.Expr:
        """An assignment-expression (no top-level comma); with ``no_gt`` a bare ``>`` ends it."""
        raise NotImplementedError

    def comma_expression(self) -> ir.Expr:
        raise NotImplementedError

    def arguments(self, close: str) -> tuple[ir.Arg, ...]:
        """The arguments after an opening bracket at the position, up to and over ``close``."""
        raise NotImplementedError

    def parameters(self) -> tuple[ir.Param, ...]:
        """The parenthesised parameter list at the position."""
        raise NotImplementedError

    def template_parameters(self) -> tuple[ir.TParam, ...]:
        """The list ``<...>`` at the position."""
        raise NotImplementedError

    def lazy_block(self, open_at: int) -> ir.Lazy:
        """The block whose ``{`` is token ``open_at``, lowered on first use."""
        raise NotImplementedError


def steady(make: Callable[[bool], T]) -> T:
    """``make(False)``; should the callers' stack leave it too little room, ``make(True)`` on a stack of its own.

    What a body is lowered to must not depend on how deep the evaluator happened to be when it first asked for it.
    """
    try:
        return make(False)
    except RecursionError:
        pass
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(make(True))
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
