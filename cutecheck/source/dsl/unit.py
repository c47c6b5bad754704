"""One Python file to a unit of the evaluator's program."""

from __future__ import annotations

import re

from tree_sitter import Node

from cutecheck.facts.span import Span
from cutecheck.source.dsl import patterns, strings  # noqa: F401  (register)
from cutecheck.source.dsl.expressions import children, expression
from cutecheck.source.dsl.source import Source, parse
from cutecheck.source.dsl.statements import statements
from cutecheck.source.eval import ir
from cutecheck.source.notebooks import Cell

CALL_NAMES = frozenset({
    "make_tiled_copy", "make_tiled_copy_tv", "make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C",
    "make_tiled_copy_C_atom", "make_tiled_copy_S", "make_tiled_copy_D", "make_cotiled_copy", "make_tiled_mma",
    "make_copy_atom", "make_mma_atom", "tile_to_shape", "make_swizzle", "make_composed_layout",
    "make_smem_layout_atom", "make_smem_layout_a", "make_smem_layout_b", "make_smem_layout_epi",
    "make_trivial_tiled_mma", "make_tmem_copy", "make_tiled_tma_atom", "make_ordered_layout",
})  # fmt: skip
_NAMES = re.compile(rb"\b(?:" + "|".join(sorted(CALL_NAMES)).encode() + rb")\b")


def lower_unit(path: str, text: str, cells: tuple[Cell, ...] | None = None) -> ir.Unit:
    """Lower a whole file; syntax errors become notes of kind ``error`` and the rest goes on.

    ``cells``: the text is the joined code of these cells of a notebook.
    """
    source = Source(path, text, cells)
    root = parse(source)
    notes = tuple(_errors(source, root)) if root.has_error else ()
    top = [c for c in children(root) if c.type != "ERROR"]
    try:
        decls = tuple(ir.TopLevel(stmt) for stmt in statements(source, top))
    except RecursionError:
        decls, notes = (), (ir.Note("error", "statements nested too deeply", source.span(root)),)
    return ir.Unit(path, "dsl", decls, (), tuple(_calls(source, root)), notes)


def lower_expression(text: str, path: str = "<expression>") -> ir.Expr:
    """One Python expression."""
    source = Source(path, text)
    root = parse(source)
    nodes = children(root)
    span = Span(path, 1, 1, 1, len(text) + 1)
    if root.has_error or len(nodes) != 1 or nodes[0].type != "expression_statement":
        return ir.Opaque("not a Python expression", span)
    return expression(source, children(nodes[0])[0])


def _errors(source: Source, root: Node) -> list[ir.Note]:
    """The first syntax error of a file."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "ERROR" or node.is_missing:
            text = source.text(node).strip().split("\n")[0][:40]
            what = f"missing `{node.type}`" if node.is_missing else f"syntax error near `{text}`"
            return [ir.Note("error", what, source.span(node))]
        stack.extend(reversed([c for c in node.children if c.has_error or c.is_missing or c.type == "ERROR"]))
    return []


def _calls(source: Source, root: Node) -> list[tuple[Span, str]]:
    """Where a configuration function of CuTe is called; names are sought in the bytes, and few nodes are looked at."""
    out: list[tuple[Span, str]] = []
    for found in _NAMES.finditer(source.data):
        name = root.descendant_for_byte_range(found.start(), found.end())
        if name is None or name.type != "identifier" or (name.start_byte, name.end_byte) != found.span():
            continue
        fn, parent = name, name.parent
        if parent is not None and parent.type == "attribute" and parent.child_by_field_name("attribute") == name:
            fn, parent = parent, parent.parent
        if parent is not None and parent.type == "call" and parent.child_by_field_name("function") == fn:
            out.append((source.span(name), found[0].decode()))
    return out
