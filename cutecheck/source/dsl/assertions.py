"""Assertions that may be asked again: what these are made of changes nothing, and takes nothing from an iterator."""

from __future__ import annotations

from cutecheck.source.eval import ir
from cutecheck.source.eval.repeatable import is_assignment

_ASK = frozenset(
    {"len", "isinstance", "issubclass", "hasattr", "callable", "type", "int", "bool", "str", "float", "abs"}
)


def repeatable(node: ir.Expr) -> bool:
    """Names, members, items, operators, and functions of Python that only ask. ``next(it) == 8`` is none."""
    if isinstance(node, (ir.Lit, ir.Name)):
        return True
    if isinstance(node, ir.Attr):
        return repeatable(node.base)
    if isinstance(node, ir.Index):
        return repeatable(node.base) and all(map(repeatable, node.args))
    if isinstance(node, ir.Unary):
        return repeatable(node.operand)
    if isinstance(node, ir.Binary):
        return not is_assignment(node) and repeatable(node.left) and repeatable(node.right)
    if isinstance(node, ir.Select):
        return all(map(repeatable, (node.cond, node.then, node.other)))
    if isinstance(node, ir.Sequence_):
        return all(repeatable(item.value) for item in node.items)
    return (
        isinstance(node, ir.Call)
        and isinstance(node.fn, ir.Name)
        and node.fn.ident in _ASK
        and all(repeatable(a.value) for a in node.args)
    )


__all__ = ["repeatable"]
