"""``match``: each pattern as a condition on its subject and the names that it binds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from cutecheck.facts import Span
from cutecheck.source.dsl.expressions import children, expression, name_expr, opaque
from cutecheck.source.dsl.source import Source
from cutecheck.source.dsl.statements import block, lowers
from cutecheck.source.eval import ir

_SINGLE = ("true", "false", "none")  # compared by identity
_VALUES = ("integer", "float", "string", "concatenated_string")


@dataclass(slots=True)
class _Found:
    """What a pattern asks for, all of it, and the names that it binds then."""

    conditions: list[ir.Expr] = field(default_factory=list)
    names: list[tuple[str, ir.Expr]] = field(default_factory=list)

    def add(self, other: _Found) -> None:
        self.conditions += other.conditions
        self.names += other.names


@lowers("match_statement")
def _match(s: Source, node: Node) -> Iterator[ir.Stmt]:
    subjects = [expression(s, c) for c in node.children_by_field_name("subject")]
    body = node.child_by_field_name("body")
    if not subjects or body is None:
        return
    span = s.span(node)
    value = subjects[0] if len(subjects) == 1 else ir.Sequence_("tuple", tuple(map(ir.Arg, subjects)), span)
    subject: ir.Expr = ir.Name(f"subject {span.line}:{span.column}", None, span)
    yield ir.Assign(subject, "=", value, span)
    tail: ir.Block | None = None
    for case in reversed([c for c in children(body) if c.type == "case_clause"]):
        tail = ir.Block(tuple(_case(s, subject, case, tail)), s.span(case), False)
    if tail is not None:
        yield tail


def _case(s: Source, subject: ir.Expr, case: Node, tail: ir.Block | None) -> Iterator[ir.Stmt]:
    span = s.span(case)
    patterns = [c for c in children(case) if c.type == "case_pattern"]
    if len(patterns) == 1 and "splat_pattern" not in [c.type for c in children(patterns[0])]:
        found = _pattern(s, subject, patterns[0])
    else:
        found = _sequence(s, subject, patterns, span)
    then = block(s, case.child_by_field_name("consequence"))
    bound = [ir.Assign(ir.Name(name, None, span), "=", value, span) for name, value in found.names]
    guard = case.child_by_field_name("guard")
    if guard is not None:  # it sees the names, and they stay bound where it does not hold
        taken = ir.Name(f"case {span.line}:{span.column}", None, span)
        asked = ir.Assign(taken, "=", expression(s, children(guard)[0]), s.span(guard))
        yield ir.Assign(taken, "=", ir.Lit(False, "py", span), span)
        yield from _where(_both(found.conditions, span), (*bound, asked), None, span)
        yield ir.If(taken, then, tail, False, span)
    else:
        then = ir.Block((*bound, *then.body), then.span, False)
        yield from _where(_both(found.conditions, span), then.body, tail, span)


def _where(cond: ir.Expr | None, then: tuple[ir.Stmt, ...], tail: ir.Block | None, span: Span) -> Iterator[ir.Stmt]:
    if cond is None:
        yield from then
    else:
        yield ir.If(cond, ir.Block(then, span, False), tail, False, span)


def _both(conditions: list[ir.Expr], span: Span) -> ir.Expr | None:
    out: ir.Expr | None = None
    for c in conditions:
        out = c if out is None else ir.Binary("and", out, c, span)
    return out


def _asks(word: str, span: Span, *args: ir.Expr) -> ir.Expr:
    return ir.Call(ir.Name(word, None, span), tuple(map(ir.Arg, args)), span)


def _pattern(s: Source, subject: ir.Expr, node: Node) -> _Found:
    if node.type == "case_pattern":
        inner = children(node)
        if not inner:
            text = s.text(node)
            return _Found() if text == "_" else _Found([opaque(s, node, "a pattern")])
        if len(inner) == 1 and inner[0].type in ("integer", "float"):
            return _Found([ir.Binary("==", subject, _number(s, inner[0], s.text(node)), s.span(node))])
        return _pattern(s, subject, inner[0]) if len(inner) == 1 else _Found([opaque(s, node, "a pattern")])
    span = s.span(node)
    parts = children(node)
    if node.type in _SINGLE:
        return _Found([ir.Binary("is", subject, expression(s, node), span)])
    if node.type in _VALUES:
        return _Found([ir.Binary("==", subject, expression(s, node), span)])
    if node.type in ("dotted_name", "identifier"):
        if node.type == "identifier" or len(parts) == 1:
            return _Found() if s.text(node) == "_" else _Found([], [(s.text(node), subject)])
        return _Found([ir.Binary("==", subject, _dotted(s, node), span)])
    if node.type == "as_pattern" and len(parts) == 2:
        found = _pattern(s, subject, parts[0])
        found.names.append((s.text(parts[1]), subject))
        return found
    if node.type == "union_pattern":
        return _either(s, subject, node)
    if node.type in ("list_pattern", "tuple_pattern"):
        commas = any(c.type == "," for c in node.children)
        if node.type == "tuple_pattern" and len(parts) == 1 and not commas:
            return _pattern(s, subject, parts[0])  # parentheses
        return _sequence(s, subject, parts, span)
    if node.type == "dict_pattern":
        return _mapping(s, subject, node)
    return _class(s, subject, node) if node.type == "class_pattern" else _Found([opaque(s, node, "a pattern")])


def _number(s: Source, node: Node, text: str) -> ir.Expr:
    value = expression(s, node)
    return ir.Unary("-", value, s.span(node)) if text.startswith("-") else value


def _either(s: Source, subject: ir.Expr, node: Node) -> _Found:
    """``a | b``: the alternatives bind the same names; which of them does is said by its condition."""
    span = s.span(node)
    found: list[_Found] = []
    minus = False
    for c in node.children:
        if c.type == "-":
            minus = True
        elif c.is_named and c.type != "comment":
            number = minus and c.type in ("integer", "float")
            less: list[ir.Expr] = [ir.Binary("==", subject, _number(s, c, "-"), span)] if number else []
            found.append(_Found(less) if less else _pattern(s, subject, c))
            minus = False
    conditions = [_both(f.conditions, span) for f in found]
    cond: ir.Expr | None = conditions[-1]
    names = dict(found[-1].names)
    for one, f in zip(reversed(conditions[:-1]), reversed(found[:-1]), strict=True):
        if one is None:
            cond, names = None, dict(f.names)
            continue
        cond = None if cond is None else ir.Binary("or", one, cond, span)
        names = {n: ir.Select(one, v, names.get(n, v), span) for n, v in f.names}
    return _Found([] if cond is None else [cond], list(names.items()))


def _sequence(s: Source, subject: ir.Expr, parts: list[Node], span: Span) -> _Found:
    star = next((i for i, p in enumerate(parts) if "splat_pattern" in (p.type, *(c.type for c in children(p)))), None)
    least = len(parts) - (star is not None)
    count, exact = ir.Lit(least, "py", span), ir.Lit(star is None, "py", span)
    found = _Found([_asks("match sequence", span, subject, count, exact)])
    for i, p in enumerate(parts):
        if i == star:
            end = ir.Lit(i + 1 - len(parts), "py", span) if i + 1 < len(parts) else None
            rest = ir.Index(subject, (ir.SliceExpr(ir.Lit(i, "py", span), end, None, span),), span)
            name = s.text(p).lstrip("* ")
            found.names += [] if name == "_" else [(name, _asks("list", span, rest))]
        else:
            at = i if star is None or i < star else i - len(parts)
            found.add(_pattern(s, ir.Index(subject, (ir.Lit(at, "py", span),), span), p))
    return found


def _mapping(s: Source, subject: ir.Expr, node: Node) -> _Found:
    span = s.span(node)
    found = _Found([_asks("isinstance", span, subject, name_expr(s, "dict", node))])
    keys = [expression(s, k) if k.type != "dotted_name" else _dotted(s, k) for k in node.children_by_field_name("key")]
    for key, value in zip(keys, node.children_by_field_name("value"), strict=False):
        found.conditions.append(ir.Binary("in", key, subject, span))
        found.add(_pattern(s, ir.Index(subject, (key,), span), value))
    for c in children(node):
        if c.type == "splat_pattern":
            found.names.append((s.text(c).lstrip("* "), _asks("match rest", span, subject, *keys)))
    return found


def _class(s: Source, subject: ir.Expr, node: Node) -> _Found:
    span = s.span(node)
    parts = children(node)
    kind = _dotted(s, parts[0])
    found = _Found([_asks("isinstance", span, subject, kind)])
    for i, p in enumerate(parts[1:]):
        inner = children(p)
        if len(inner) == 1 and inner[0].type == "keyword_pattern":
            ident, *given = children(inner[0])
            value: ir.Expr = ir.Attr(subject, s.text(ident), None, span)
            found.conditions.append(_asks("hasattr", span, subject, ir.Lit(s.text(ident), "py", span)))
            text = s.text(inner[0]).partition("=")[2].strip()
            if not given:
                found.add(_Found() if text == "_" else _Found([opaque(s, p, "a pattern")]))
            elif given[0].type in ("integer", "float"):
                found.conditions.append(ir.Binary("==", value, _number(s, given[0], text), span))
            else:
                found.add(_pattern(s, value, given[0]))
        else:
            found.add(_pattern(s, _asks("match position", span, subject, kind, ir.Lit(i, "py", span)), p))
    return found


def _dotted(s: Source, node: Node) -> ir.Expr:
    parts = children(node)
    out: ir.Expr = ir.Name(s.text(parts[0]), None, s.span(parts[0]))
    for p in parts[1:]:
        out = ir.Attr(out, s.text(p), None, s.span(parts[0], p))
    return out
