"""The Python DSL's printed notation, both ways.

Numbers are static (``8`` is what C++ prints ``_8``). A run-time integer is ``?``, with what is known of it in braces:
``?{div=16}`` a multiple of 16, ``?{i64 div=8}`` of 64 bits; without a width it has 32. Swizzles print ``S<3,4,3>``,
basis strides ``1@0``, an omitted mode ``None`` (or ``_``). The DSL drops the closing bracket of a negative shift
(``S<3,4,-3 o 0 o ...``), which is read and written here in full.

The width of a run-time integer is part of its variable's name: it ends in ``:i64``.
"""

from __future__ import annotations

import itertools
import re
from typing import cast

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis, Underscore, X
from cutecheck.model.composed import make_composed_layout
from cutecheck.model.expr import ANY, Domain, Expr
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, Offset, Swizzle
from cutecheck.model.notation import NotationError, Value

WIDE = ":i64"

_TOKEN = re.compile(
    r"(?P<swizzle>S<(-?\d+),(-?\d+),(-?\d+)>?)"
    r"|(?P<compose>\s+o\s+)"
    r"|(?P<space>\s+)"
    r"|(?P<number>-?\d+)"
    r"|(?P<open>\?(?:\{(?:i(?P<width>\d+))?\s*(?:div=(?P<div>\d+))?\})?)"
    r"|(?P<omit>None|_)"
    r"|(?P<basis>@\d+)"
    r"|(?P<punct>[\[\]();,:])"
)

_fresh = itertools.count(1)


def run_time(bits: int = 32, div: int = 1) -> Dyn:
    """A new anonymous run-time integer of a width, a multiple of ``div``."""
    return Dyn.named(f"?{next(_fresh)}{WIDE if bits == 64 else ''}", Domain(step=div) if div > 1 else ANY)


def is_wide(e: Expr) -> bool:
    """Whether a run-time expression has 64 bits: one of its variables has."""
    return any(v.name.endswith(WIDE) for v in e.variables())


def show_dsl(value: object) -> str:
    """What the DSL prints for a value. A tuple of one element prints without a trailing comma."""
    if isinstance(value, tuple):
        return "(" + ",".join(map(show_dsl, value)) + ")"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Dyn):
        known = ["i64"] if is_wide(value.expr) else []
        div = 1 if value.expr.constant is not None else ex.divisor(value.expr)
        known += [f"div={div}"] if div > 1 else []
        return "?" + ("{" + " ".join(known) + "}" if known else "")
    if isinstance(value, Sym):
        return str(value)
    if isinstance(value, ScaledBasis):
        return show_dsl(value.value) + "".join(f"@{i}" for i in reversed(value.path))
    if isinstance(value, Underscore):
        return "None"
    if isinstance(value, Swizzle):
        return f"S<{value.bits},{value.base},{value.shift}>"
    if isinstance(value, Layout):
        return f"{show_dsl(value.shape)}:{show_dsl(value.stride)}"
    if isinstance(value, ComposedLayout):
        return f"{show_dsl(value.a)} o {show_dsl(value.offset)} o {show_dsl(value.b)}"
    return str(value)


def parse_dsl(source: str) -> Value:
    """The value of a printed text; :class:`NotationError` where it is none. Every ``?`` is a new integer."""
    tokens: list[re.Match[str]] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            raise NotationError(source, position)
        if match["space"] is None:
            tokens.append(match)
        position = match.end()
    reader = _Reader(source, tokens)
    value = reader.value()
    if reader.at != len(tokens):
        raise reader.fail()
    return value


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, source: str, tokens: list[re.Match[str]]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0

    def fail(self) -> NotationError:
        position = self.tokens[self.at].start() if self.at < len(self.tokens) else len(self.source)
        return NotationError(self.source, position)

    def peek(self) -> str:
        return self.tokens[self.at].group().strip() if self.at < len(self.tokens) else ""

    def value(self) -> Value:
        first = self.pair()
        if self.peek() != "o":
            return first
        self.at += 1
        offset = self.pair()
        if self.peek() != "o" or not isinstance(first, (Swizzle, Layout)):
            raise self.fail()
        self.at += 1
        last = self.value()
        if not isinstance(last, (Layout, ComposedLayout)):
            raise self.fail()
        return make_composed_layout(first, cast(Offset, offset), last)

    def pair(self) -> Value:
        left = self.item()
        if self.peek() != ":":
            return left
        self.at += 1
        return Layout(cast(IntTuple, left), cast(IntTuple, self.item()))

    def item(self) -> Value:
        token = self.peek()
        if token not in ("(", "["):
            return self.leaf()
        close, separator = (")", ",") if token == "(" else ("]", ";")
        self.at += 1
        items: list[Value] = []
        while self.peek() != close:
            items.append(self.value())
            if self.peek() not in (separator, close):
                raise self.fail()
            self.at += self.peek() == separator
        self.at += 1
        return cast(Value, tuple(items))

    def leaf(self) -> Value:
        if self.at >= len(self.tokens):
            raise self.fail()
        match = self.tokens[self.at]
        number: Int
        if match["swizzle"]:
            self.at += 1
            return Swizzle(int(match[2]), int(match[3]), int(match[4]))
        if match["omit"]:
            self.at += 1
            return X
        if match["number"]:
            number = int(match["number"])
        elif match["open"]:
            number = run_time(int(match["width"] or 32), int(match["div"] or 1))
        else:
            raise self.fail()
        self.at += 1
        path: list[int] = []
        while self.at < len(self.tokens) and self.tokens[self.at]["basis"]:
            path.append(int(self.peek()[1:]))
            self.at += 1
        return ScaledBasis(number, tuple(reversed(path))) if path else number


def parse_layout_dsl(source: str) -> AnyLayout:
    """A layout's text; :class:`NotationError` for anything else."""
    value = parse_dsl(source)
    if not isinstance(value, (Layout, ComposedLayout)):
        raise NotationError(source, 0)
    return value
