"""Evaluates the static assertions of operations and traits: C++ conditions over template arguments.

Only what these assertions use: integers, element types, enumerators, ``sizeof``, ``sizeof_bits_v``, ``is_same_v``,
arithmetic, comparisons and logic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias, Union

from cutecheck.model.dtype import dtype

Value: TypeAlias = Union[int, str]

_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_][\w:]*|&&|\|\||[=!<>]=|[-+*/%<>!()&|,{}])")
_CALLS = ("sizeof_bits_v", "sizeof_bits", "is_same_v", "is_same")


class _UnknownError(Exception):
    """The condition uses something whose value is not known here."""


def holds(condition: str, names: Mapping[str, str], bits: Mapping[str, int]) -> bool | None:
    """Whether the condition is true for the arguments ``names``; None when it cannot be told.

    ``bits`` are the widths of the element types among them.
    """
    try:
        parser = _Parser(condition, names, bits)
        value = parser.any_of()
        return bool(value) if parser.at_end() else None
    except (_UnknownError, IndexError, ZeroDivisionError, TypeError):
        return None


class _Parser:
    def __init__(self, text: str, names: Mapping[str, str], bits: Mapping[str, int]) -> None:
        self.tokens = _TOKEN.findall(text.replace("cute::", "").replace("cutlass::", ""))
        self.names, self.bits, self.i = names, bits, 0

    def at_end(self) -> bool:
        return self.i == len(self.tokens)

    def peek(self) -> str:
        return self.tokens[self.i] if self.i < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.tokens[self.i]
        if expected and token not in expected:
            raise _UnknownError(token)
        self.i += 1
        return str(token)

    def any_of(self) -> Value:
        value = self.all_of()
        while self.peek() in ("||", "|"):
            self.take()
            right = self.all_of()
            value = int(bool(value) or bool(right))
        return value

    def all_of(self) -> Value:
        value = self.comparison()
        while self.peek() in ("&&", "&"):
            self.take()
            right = self.comparison()
            value = int(bool(value) and bool(right))
        return value

    def comparison(self) -> Value:
        value = self.sum()
        while (operator := self.peek()) in ("==", "!=", "<=", ">=", "<", ">"):
            self.take()
            right = self.sum()
            if operator in ("==", "!="):
                value = int((value == right) == (operator == "=="))
            else:
                a, b = self.number(value), self.number(right)
                value = int({"<=": a <= b, ">=": a >= b, "<": a < b, ">": a > b}[operator])
        return value

    def sum(self) -> Value:
        value = self.term()
        while (operator := self.peek()) in ("+", "-"):
            self.take()
            right = self.number(self.term())
            value = self.number(value) + (right if operator == "+" else -right)
        return value

    def term(self) -> Value:
        value = self.factor()
        while (operator := self.peek()) in ("*", "/", "%"):
            self.take()
            a, b = self.number(value), self.number(self.factor())
            value = a * b if operator == "*" else a // b if operator == "/" else a % b
        return value

    def factor(self) -> Value:
        token = self.take()
        if token == "!":
            return int(not self.factor())
        if token == "(":
            value = self.any_of()
            self.take(")")
            return value
        if token.isdigit():
            return int(token)
        if token == "sizeof":
            self.take("(")
            width = self.width(self.take())
            self.take(")")
            return -(-width // 8)
        if token in _CALLS:
            return self.template(token)
        if token == "int32_t" and self.peek() == "(":
            return self.factor()
        return self.name(token.removesuffix("::value"))

    def template(self, name: str) -> Value:
        self.take("<")
        arguments = [self.type_name(self.take())]
        while self.peek() == ",":
            self.take()
            arguments.append(self.type_name(self.take()))
        self.take(">")
        if self.peek().lstrip(":") == "value":
            self.take()
        if name.startswith("is_same"):
            return int(arguments[0] == arguments[1])
        return self.width(arguments[0])

    def type_name(self, token: str) -> str:
        return self.names.get(token, token)

    def width(self, token: str) -> int:
        name = self.type_name(token)
        if name in self.bits:
            return self.bits[name]
        known = dtype(name)
        if known is None or known.bits is None:
            raise _UnknownError(token)
        return int(known.bits)

    def name(self, token: str) -> Value:
        if token in self.names:
            text = self.names[token]
            return int(text) if text.isdigit() else text
        if "::" in token:
            return token
        raise _UnknownError(token)

    def number(self, value: Value) -> int:
        if isinstance(value, str):
            raise _UnknownError(value)
        return value
