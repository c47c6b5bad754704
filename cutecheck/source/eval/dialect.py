"""What a scanned language decides for itself: its scalars."""

from __future__ import annotations

from typing import Protocol

from cutecheck.facts import Span
from cutecheck.source.eval import ir
from cutecheck.source.eval.values import Value


class Dialect(Protocol):
    """Scalars of one language, and how they enter and leave CuTe's integers."""

    name: str

    def literal(self, node: ir.Lit) -> Value: ...

    def to_model(self, value: Value) -> Value:
        """A value as an argument of CuTe: scalars become run-time (or static) integers, deep in tuples too."""
        ...

    def from_model(self, value: Value) -> Value:
        """A result of CuTe as a value of the language."""
        ...

    def truth(self, value: Value) -> bool | None:
        """The truth of a condition; None when it depends on what is not known."""
        ...

    def unary(self, op: str, value: Value, span: Span) -> Value: ...

    def binary(self, op: str, left: Value, right: Value, span: Span) -> Value: ...

    def cast(self, type_: Value, value: Value, span: Span) -> Value: ...
