"""CuTe's printed notation, both ways: ``parse`` reads what ``cute::print`` writes, ``show`` writes it.

* ``_8`` a static integer, ``8`` a run-time one of known value, ``lda`` a named run-time one, ``?`` an anonymous one;
  ``_kBlockM`` an unbound static one; ``{8*q + 1}`` and ``_{2*k}`` expressions of these.
* ``(_8,(_4,_2)):(_1,(_8,_32))`` a layout, ``(_4:_1,_8,_)`` a tile, ``_1@0@1`` a basis stride.
* ``Sw<3,3,3>`` a swizzle, ``Sw<3,3,3> o _0 o L`` and ``Sw<3,4,3> o smem_ptr[16b](unset) o L`` composed layouts.
"""

from __future__ import annotations

import ast
import itertools
import re
from functools import lru_cache
from typing import TypeAlias, Union

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis, Underscore, X
from cutecheck.model.composed import make_composed_layout
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.model.layout import (
    ComposedLayout,
    IntTuple,
    Layout,
    Major,
    MixedBits,
    Offset,
    SmemPtrFlag,
    Swizzle,
    Tile,
    text,
)
from cutecheck.model.units import Bits

Value: TypeAlias = Union[IntTuple, Layout, ComposedLayout, Swizzle, SmemPtrFlag, MixedBits, Underscore, Major, Tile]


class NotationError(ValueError):
    """The text is not in CuTe's notation; ``position`` is the offset of the first character that does not fit."""

    def __init__(self, source: str, position: int) -> None:
        super().__init__(f"not CuTe notation at offset {position}: {source!r}")
        self.source = source
        self.position = position


_TOKEN = re.compile(
    r"(?P<static>_-?\d+(?![\w.]))"
    r"|(?P<punct>[(),:])"
    r"|(?P<compose>\s+o\s+)"
    r"|(?P<space>\s+)"
    r"|(?P<run>-?\d+)"
    r"|(?P<basis>@\d+)"
    r"|Sw<(?P<bits>-?\d+),(?P<base>-?\d+),(?P<shift>-?\d+)>"
    r"|smem_(?:sparse<(?P<sparsity>\d+)>_)?ptr\[(?P<width>\d+)b\]\(unset\)"
    r"|M_(?P<mixed>\d+)\|\((?P<low>\d+)&(?P<flags>\d+)\)=\d+"
    r"|(?P<brace>_?\{[^{}]*\})"
    r"|(?P<name>_?[A-Za-z][\w.]*(?:::[\w.]+)*)"
    r"|(?P<open>\?(?:\{[^{}]*\})?)"
    r"|(?P<under>_)"
)

_TAGS = {
    "LayoutLeft": Major.LEFT,
    "GenColMajor": Major.LEFT,
    "LayoutRight": Major.RIGHT,
    "GenRowMajor": Major.RIGHT,
}

_fresh = itertools.count(1)


def show(value: object) -> str:
    """What ``cute::print`` writes for a value."""
    return text(value)


def parse(source: str) -> Value:
    """The value of a printed text; :class:`NotationError` where it is none. Every ``?`` is a new run-time integer."""
    return _Parser(source).whole() if "?" in source else _parse_cached(source)


@lru_cache(maxsize=65536)
def _parse_cached(source: str) -> Value:
    return _Parser(source).whole()


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens: list[tuple[str, str, re.Match[str]]] = []
        self.at = 0
        position = 0
        while position < len(source):
            match = _TOKEN.match(source, position)
            if match is None:
                raise NotationError(source, position)
            position = match.end()
            kind = match.lastgroup or ""
            if kind != "space":
                self.tokens.append((kind, match.group(), match))

    def fail(self) -> NotationError:
        done = self.at >= len(self.tokens)
        return NotationError(self.source, len(self.source) if done else self.tokens[self.at][2].start())

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def whole(self) -> Value:
        value = self.value()
        if self.at != len(self.tokens):
            raise self.fail()
        return value

    def value(self) -> Value:
        first = self.simple()
        if self.kind() != "compose":
            return first
        if not isinstance(first, (Swizzle, Layout)):
            raise self.fail()
        self.at += 1
        middle = self.simple()
        if self.kind() != "compose" or isinstance(middle, (Layout, Swizzle, Underscore, ComposedLayout)):
            raise self.fail()
        self.at += 1
        last = self.value()
        if not isinstance(last, (Layout, ComposedLayout, Swizzle)):
            raise self.fail()
        offset: Offset = middle  # type: ignore[assignment]  # a tile cannot stand here; tuples are coordinates
        return make_composed_layout(first, offset, last)

    def simple(self) -> Value:
        """A swizzle, flag or ``_``, an integer tuple, or a layout ``tuple:tuple``."""
        left = self.tuple_or_leaf()
        if self.peek() != ":":
            return left
        self.at += 1
        right = self.tuple_or_leaf()
        return Layout(left, right)  # type: ignore[arg-type]  # a shape and a stride are integer tuples

    def tuple_or_leaf(self) -> Value:
        if self.peek() != "(":
            return self.leaf()
        self.at += 1
        items: list[Value] = []
        if self.peek() == ")":
            self.at += 1
            return ()
        while True:
            items.append(self.value())
            token = self.peek()
            if token not in (",", ")") or self.kind() != "punct":
                raise self.fail()
            self.at += 1
            if token == ")":
                return tuple(items)  # type: ignore[return-value]  # integers or layouts, as the text has them
            if self.peek() == ")":  # a trailing comma
                self.at += 1
                return tuple(items)  # type: ignore[return-value]

    def leaf(self) -> Value:
        if self.at >= len(self.tokens):
            raise self.fail()
        kind, token, match = self.tokens[self.at]
        number: Int
        if kind == "static":
            number = int(token[1:])
        elif kind == "run":
            number = Dyn.of(int(token))
        elif kind == "name":
            if token in _TAGS:
                self.at += 1
                return _TAGS[token]
            number = Sym.named(token[1:]) if token[0] == "_" else Dyn.named(token)
        elif kind == "open":
            number = Dyn.named(f"?{next(_fresh)}")
        elif kind == "brace":
            static = token[0] == "_"
            e = parse_expression(token[2:-1] if static else token[1:-1])
            number = Sym(e) if static else Dyn(e)
        else:
            self.at += 1
            return self.special(kind, match)
        self.at += 1
        path: list[int] = []
        while self.kind() == "basis":
            path.append(int(self.peek()[1:]))
            self.at += 1
        return ScaledBasis(number, tuple(reversed(path))) if path else number

    def special(self, kind: str, match: re.Match[str]) -> Value:
        if kind == "under":
            return X
        if kind == "shift":
            return Swizzle(int(match["bits"]), int(match["base"]), int(match["shift"]))
        if kind == "width":
            return SmemPtrFlag(Bits(int(match["width"])), int(match["sparsity"]) if match["sparsity"] else None)
        if kind == "flags":
            return MixedBits(int(match["mixed"]), int(match["flags"]), ex.const(int(match["low"])))
        self.at -= 1
        raise self.fail()


_OPERATORS: dict[type[ast.operator], ex.OpKind] = {
    ast.Div: "div", ast.Mod: "mod", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
_FUNCTIONS: dict[str, ex.OpKind] = {"min": "min", "max": "max", "abs": "abs"}


def parse_expression(source: str) -> Expr:
    """An integer expression as :class:`Expr` prints it; :class:`NotationError` for anything else."""
    try:
        return _expression(ast.parse(source.strip(), mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise NotationError(source, 0) from error


def _expression(node: ast.expr) -> Expr:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return ex.const(node.value)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return ex.var(ast.unparse(node))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return ex.neg(_expression(node.operand))
    if isinstance(node, ast.BinOp):
        left, right = _expression(node.left), _expression(node.right)
        if isinstance(node.op, ast.Add):
            return ex.add(left, right)
        if isinstance(node.op, ast.Sub):
            return ex.sub(left, right)
        if isinstance(node.op, ast.Mult):
            return ex.mul(left, right)
        kind = _OPERATORS.get(type(node.op))
        if kind is not None:
            return ex.op(kind, left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        arguments = [_expression(a) for a in node.args]
        label = node.func.id
        if label in _FUNCTIONS:
            return ex.op(_FUNCTIONS[label], *arguments)
        return ex.op("opaque", *arguments, label=label)
    raise ValueError("not an integer expression")
