"""``template <char... Digits> constexpr auto operator""_i();``: a number's literal, character by character."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.source.eval import ir
from cutecheck.source.eval.values import FuncSet, Scalar

_PREFIX = 'operator""'


def takes_characters(node: ir.Call, fn: FuncSet) -> bool:
    """Whether a literal calls templates alone that get its characters as template arguments."""
    if not isinstance(node.fn, ir.Name) or not node.fn.ident.startswith(_PREFIX) or len(node.args) != 1:
        return False
    given = node.args[0].value
    return isinstance(given, ir.Lit) and bool(given.text) and all(_is_template(e.decl) for e in fn.entries)


def _is_template(decl: ir.Decl) -> bool:
    if not isinstance(decl, ir.Function) or decl.params or not decl.tparams:
        return False
    first = decl.tparams[0]
    return first.kind == "value" and first.pack and isinstance(first.type, ir.Name) and first.type.ident == "char"


def of_characters(node: ir.Call, fn: FuncSet) -> FuncSet:
    given = node.args[0].value
    assert isinstance(given, ir.Lit)
    return replace(fn, targs=tuple(Scalar(ord(c), "char") for c in given.text))
