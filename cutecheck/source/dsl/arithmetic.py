"""Operators of Python's own numbers, texts, sequences and sets."""

from __future__ import annotations

import operator as op_
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.source.dsl.equality import combined, subset
from cutecheck.source.dsl.values import Distinct
from cutecheck.source.eval.undetermined import decided_by, part
from cutecheck.source.eval.values import Scalar, Value

_PYTHON: dict[str, Any] = {
    "+": op_.add, "-": op_.sub, "*": op_.mul, "/": op_.truediv, "//": op_.floordiv, "%": op_.mod, "**": op_.pow,
    "<<": op_.lshift, ">>": op_.rshift, "&": op_.and_, "|": op_.or_, "^": op_.xor,
    "<": op_.lt, "<=": op_.le, ">": op_.gt, ">=": op_.ge,
}  # fmt: skip
_LABELS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le"}
_MAX_TEXT = 1 << 16  # characters or items
_MAX_BITS = 4096


def of_sets(op: str, left: Distinct, right: Distinct, span: Span) -> Value:
    if op in ("<=", ">=", "<", ">"):
        small, large = (left, right) if op[0] == "<" else (right, left)
        known = subset(small, large)
        if known and len(op) == 1:
            known = len(small) < len(large)
        return Scalar(None, "bool") if known is None else known
    made = combined(op, left, right) if op in ("-", "|", "&", "^") else None
    return made if made is not None else Unknown("a set that is not known", span)


def of_threads(op: str, left: Value, right: Value, always: bool = False) -> Scalar:
    """A comparison that is not decided: its value says what is compared, also of a variable that a condition names."""
    if op not in _LABELS or not all(isinstance(v, (int, Dyn)) and not isinstance(v, bool) for v in (left, right)):
        return Scalar(None, "bool")
    if not always and (part(left) or part(right)):
        return decided_by(op, left, right)
    value = Dyn(ex.op("opaque", as_expr(left), as_expr(right), label=_LABELS[op]))
    return Scalar(value, "bool")


def plain(op: str, left: Any, right: Any, span: Span) -> Value:
    run = _PYTHON.get(op)
    if run is None:
        return Unknown(f"operator {op}", span)
    if isinstance(left, str) and op == "%":
        from cutecheck.source.dsl.text import percent

        return percent(left, right, span)
    if _too_large(op, left, right):
        return Unknown(f"the result of {op} is out of range", span)
    try:
        return run(left, right)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        return Unknown(f"{error}", span)


def _too_large(op: str, left: Any, right: Any) -> bool:
    """True where the result would be a number or text that no configuration has, and that memory may not hold."""
    if isinstance(left, int) and isinstance(right, int):
        if op == "**":
            return left.bit_length() * abs(right) > _MAX_BITS
        if op == "<<":
            return not 0 <= right <= _MAX_BITS
        return op == "*" and left.bit_length() + right.bit_length() > _MAX_BITS
    sizes = [len(v) for v in (left, right) if isinstance(v, (str, list, tuple))]
    if op == "+":
        return sum(sizes) > _MAX_TEXT
    counts = [v for v in (left, right) if isinstance(v, int)]
    return op == "*" and len(sizes) == len(counts) == 1 and sizes[0] * counts[0] > _MAX_TEXT
