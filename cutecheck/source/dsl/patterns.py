"""``match``: literal, dotted and alternative patterns as conditions; what others match is not known."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from cutecheck.source.dsl.expressions import children, expression, opaque
from cutecheck.source.dsl.source import Source
from cutecheck.source.dsl.statements import block, lowers
from cutecheck.source.eval import ir


@lowers("match_statement")
def _match(s: Source, node: Node) -> Iterator[ir.Stmt]:
    subjects = node.children_by_field_name("subject")
    body = node.child_by_field_name("body")
    if len(subjects) != 1 or body is None:
        return
    subject = expression(s, subjects[0])
    tail: ir.Block | None = None
    for case in reversed([c for c in children(body) if c.type == "case_clause"]):
        patterns = [c for c in children(case) if c.type == "case_pattern"]
        then = block(s, case.child_by_field_name("consequence"))
        guard = case.child_by_field_name("guard")
        cond = _pattern(s, subject, patterns[0]) if len(patterns) == 1 else opaque(s, case, "a pattern")
        if cond is None and guard is None:
            tail = then
            continue
        if guard is not None:
            extra = expression(s, children(guard)[0])
            cond = extra if cond is None else ir.Binary("and", cond, extra, s.span(case))
        assert cond is not None
        tail = ir.Block((ir.If(cond, then, tail, False, s.span(case)),), s.span(case), False)
    if tail is not None:
        yield tail


def _pattern(s: Source, subject: ir.Expr, node: Node) -> ir.Expr | None:
    """The condition of a literal, dotted or alternative pattern; None for ``_``."""
    inner = children(node)
    if not inner:
        return None if s.text(node) == "_" else opaque(s, node, "a pattern")
    at = inner[0]
    span = s.span(node)
    if at.type == "union_pattern":
        parts = [expression(s, c) if c.type != "dotted_name" else _dotted(s, c) for c in children(at)]
        out: ir.Expr | None = None
        for p in parts:
            one = ir.Binary("==", subject, p, span)
            out = one if out is None else ir.Binary("or", out, one, span)
        return out
    if at.type == "dotted_name":
        names = children(at)
        if len(names) == 1:
            return opaque(s, node, "a capture pattern")
        return ir.Binary("==", subject, _dotted(s, at), span)
    if at.type in ("integer", "string", "true", "false", "none", "float"):
        return ir.Binary("==", subject, expression(s, at), span)
    return opaque(s, node, "a pattern")


def _dotted(s: Source, node: Node) -> ir.Expr:
    parts = children(node)
    out: ir.Expr = ir.Name(s.text(parts[0]), None, s.span(parts[0]))
    for p in parts[1:]:
        out = ir.Attr(out, s.text(p), None, s.span(parts[0], p))
    return out
