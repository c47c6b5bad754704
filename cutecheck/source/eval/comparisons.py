"""Comparisons that follow from others: defaulted ones, and ``a != b`` of ``a == b`` (C++ [class.compare])."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import classes, initialisation, ir
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Object, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_EQUAL, _ORDER = "operator==", "operator<=>"
_Called = Callable[["Machine", str, Value, Value, Span], Value]


def rewritten(m: Machine, op: str, left: Value, right: Value, span: Span, called: _Called) -> Value | None:
    """``left op right`` by another operator, where none of its own takes the operands; None where none does."""
    from cutecheck.source.eval.own_operators import none_takes

    if op in ("==", "!="):
        value = called(m, "==", left, right, span) if op == "!=" else None
        if value is None or none_takes(value):
            value = called(m, "==", right, left, span)
        if none_takes(value):
            value = compared(m, "==", left, right, span) if _by_default(m, left, right) else None
        return value if value is None or op == "==" else m.dialect.unary("!", value, span)
    if op in ("<", ">", "<=", ">=") and _by_default(m, left, right):
        return compared(m, op, left, right, span)
    return None


def defaulted(m: Machine, fn: ir.Function, operands: list[Value], span: Span) -> Value | None:
    """What a comparison that is ``= default`` gives; None for all other functions."""
    if "defaulted" not in fn.flags or len(operands) != 2 or not fn.name.startswith("operator"):
        return None
    op, (left, right) = fn.name.removeprefix("operator"), operands
    if isinstance(left, Object) and not isinstance(right, Object):
        right = initialisation.convert(m, left.cls, right, span)
    elif isinstance(right, Object) and not isinstance(left, Object):
        left = initialisation.convert(m, right.cls, left, span)
    if op == "!=":
        return m.dialect.unary("!", compared(m, "==", left, right, span), span)
    return compared(m, op, left, right, span) if op == "==" else None


def _orders(cls: ClassInst, name: str) -> list[ir.Function]:
    found = [*cls.index.get(name, ()), *cls.friends.get(name, ())]
    return [d for d in found if isinstance(d, ir.Function)]


def _by_default(m: Machine, left: Value, right: Value) -> bool:
    """Objects of one class whose ``<=>`` is defaulted, which says all of their comparisons."""
    alike = isinstance(left, Object) and isinstance(right, Object) and left.cls is right.cls
    own = _orders(left.cls, _ORDER) if alike and isinstance(left, Object) else []
    return bool(own) and all("defaulted" in d.flags for d in own)


def compared(m: Machine, op: str, left: Value, right: Value, span: Span) -> Value:
    """Member by member, in the order of their declaration: the first that differs decides."""
    from cutecheck.source.eval.expressions.operators import binary

    if not isinstance(left, Object) or not isinstance(right, Object) or left.cls is not right.cls:
        return Unknown(f"a defaulted operator{op} of objects of two classes", span)
    pairs = list(_members(m, left, right, op, span))
    if any(isinstance(v, Unknown) for pair in pairs for v in pair):
        return next(v for pair in pairs for v in pair if isinstance(v, Unknown))
    for a, b in pairs:
        equal = binary(m, "==", a, b, span)
        known = m.dialect.truth(equal)
        if isinstance(equal, Unknown) or known is None:
            if op == "==" and any(m.dialect.truth(binary(m, "==", x, y, span)) is False for x, y in pairs):
                return Scalar(0, "bool")
            return equal if isinstance(equal, Unknown) else Scalar(None, "bool")
        if not known:
            return Scalar(0, "bool") if op == "==" else binary(m, op[0], a, b, span)
    return Scalar(int("=" in op), "bool")


def _members(m: Machine, left: Object, right: Object, op: str, span: Span) -> Iterator[tuple[Value, Value]]:
    """The members of two objects; Unknown where one is compared in another way."""
    above = list(classes.bases(m, left.cls))
    while above:
        base = above.pop()
        names = (_EQUAL,) if op == "==" else (_EQUAL, _ORDER)
        if classes.fields(m, base) and not all("defaulted" in d.flags for n in names for d in _orders(base, n)):
            yield Unknown(f"`{base.name}` is compared in its own way", span), left
        above += classes.bases(m, base)
    if left.cls.decl.kind == "union" or not classes.complete(m, left.cls):
        yield Unknown(f"not all members of `{left.cls.name}` are known", span), left
    for _, field in classes.fields(m, left.cls):
        yield classes.get_field(m, left, field.name, span), classes.get_field(m, right, field.name, span)
