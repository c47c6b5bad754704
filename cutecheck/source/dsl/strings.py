"""Strings and f-strings to the evaluator's program."""

from __future__ import annotations

import ast

from tree_sitter import Node

from cutecheck.source.dsl.expressions import children, expression, lowers, opaque
from cutecheck.source.dsl.source import Source
from cutecheck.source.eval import ir


@lowers("string")
def _string(s: Source, node: Node) -> ir.Expr:
    parts = [c for c in node.children if c.type == "interpolation"]
    if not parts:
        text = s.text(node)
        try:
            value = ast.literal_eval(text.lstrip("fFuU") if text[:1] in "fF" else text)
        except (ValueError, SyntaxError):
            value = text.strip("rRbBfFuU").strip("'\"")
        said = value if isinstance(value, str) else str(value)
        if "f" in text[: len(text) - len(text.lstrip("rRfFbBuU"))].lower():
            said = said.replace("{{", "{").replace("}}", "}")
        return ir.Lit(said, "py", s.span(node))
    items: list[ir.Expr] = []
    for c in node.children:
        if c.type == "string_content":
            items.append(ir.Lit(s.text(c).replace("{{", "{").replace("}}", "}"), "py", s.span(c)))
        elif c.type == "interpolation":
            items.append(_interpolation(s, c))
    return ir.FString(tuple(items), s.span(node))


def _interpolation(s: Source, node: Node) -> ir.Expr:
    """``{value}`` of an f-string, or ``{value!r:spec}``."""
    inner = node.child_by_field_name("expression") or (children(node)[0] if children(node) else None)
    if inner is None:
        return opaque(s, node, "an empty interpolation")
    value, span = expression(s, inner), s.span(node)
    said = s.data[inner.end_byte : node.end_byte].lstrip()
    if said.startswith(b"="):  # `{value=}` writes the expression, too
        equals = s.data.index(b"=", inner.end_byte) + 1
        while s.data[equals : equals + 1] == b" ":
            equals += 1
        before = s.data[node.start_byte + 1 : equals].decode("utf-8", "replace")
        shown = ir.Call(ir.Name("format value", None, span), (ir.Arg(value), ir.Arg(ir.Lit("", "py", span)),
                        ir.Arg(ir.Lit("r", "py", span))), span)  # fmt: skip
        plain = said[1:].lstrip().startswith(b"}")
        return ir.FString((ir.Lit(before, "py", span), shown), span) if plain else opaque(s, node, "a format")
    conversion = next((s.text(c).lstrip("!") for c in node.children if c.type == "type_conversion"), "")
    spec = next((c for c in node.children if c.type == "format_specifier"), None)
    if spec is None and not conversion:
        return ir.Call(ir.Name("format value", None, span), (ir.Arg(value),), span)
    parts: list[ir.Expr] = []
    at = spec.start_byte + 1 if spec is not None else 0  # behind the colon
    for c in spec.children if spec is not None else ():
        if c.type in ("interpolation", "format_expression"):
            parts.append(ir.Lit(s.data[at : c.start_byte].decode("utf-8", "replace"), "py", span))
            parts.append(_interpolation(s, c))
            at = c.end_byte
    if spec is not None:
        parts.append(ir.Lit(s.data[at : spec.end_byte].decode("utf-8", "replace"), "py", span))
    given = (value, ir.FString(tuple(parts), span), ir.Lit(conversion, "py", span))
    return ir.Call(ir.Name("format value", None, span), tuple(map(ir.Arg, given)), span)


@lowers("concatenated_string")
def _strings(s: Source, node: Node) -> ir.Expr:
    return ir.FString(tuple(expression(s, c) for c in children(node)), s.span(node))
