"""Python expressions to the evaluator's program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from tree_sitter import Node

from cutecheck.source.dsl import own_arguments
from cutecheck.source.dsl.source import Source
from cutecheck.source.eval import ir

MAX_DEPTH = 200
YIELD = "what is yielded"  # the name of what takes it; never a Python name
Lower = Callable[[Source, Node], ir.Expr]
_LOWER: dict[str, Lower] = {}


def lowers(*kinds: str) -> Callable[[Lower], Lower]:
    def register(function: Lower) -> Lower:
        for kind in kinds:
            _LOWER[kind] = function
        return function

    return register


def expression(s: Source, node: Node | None) -> ir.Expr:
    """The expression of a node; what is not understood becomes Opaque."""
    if node is None:
        raise ValueError("no expression")
    lower = _LOWER.get(node.type)
    if lower is None:
        return opaque(s, node, f"{node.type.replace('_', ' ')} is not followed")
    if s.depth > MAX_DEPTH:
        return opaque(s, node, "nested too deeply")
    s.depth += 1
    try:
        return lower(s, node)
    except RecursionError:  # the stack was deep before
        return opaque(s, node, "nested too deeply")
    finally:
        s.depth -= 1


def opaque(s: Source, node: Node, reason: str) -> ir.Opaque:
    return ir.Opaque(reason, s.span(node), tuple(dict.fromkeys(_names(s, node))))


def _names(s: Source, node: Node) -> Iterator[str]:
    stack = [node]
    while stack:
        at = stack.pop()
        if at.type == "identifier":
            yield s.text(at)
        stack.extend(at.named_children)


def children(node: Node) -> list[Node]:
    return [c for c in node.named_children if c.type not in ("comment", "line_continuation")]


def name_expr(s: Source, ident: str, node: Node) -> ir.Expr:
    return ir.Name(ident, None, s.span(node))


@lowers("identifier", "keyword_identifier")
def _identifier(s: Source, node: Node) -> ir.Expr:
    return name_expr(s, s.text(node), node)


@lowers("integer", "float")
def _number(s: Source, node: Node) -> ir.Expr:
    try:
        value = ast.literal_eval(s.text(node))
    except (ValueError, SyntaxError):
        return opaque(s, node, "not a number")
    if isinstance(value, complex):
        return opaque(s, node, "a complex number")
    return ir.Lit(value, "py", s.span(node))


@lowers("true", "false", "none")
def _constant(s: Source, node: Node) -> ir.Expr:
    return ir.Lit({"true": True, "false": False, "none": None}[node.type], "py", s.span(node))


@lowers("ellipsis")
def _ellipsis(s: Source, node: Node) -> ir.Expr:
    return ir.Lit("...", "py", s.span(node))


@lowers("parenthesized_expression")
def _parens(s: Source, node: Node) -> ir.Expr:
    inner = children(node)
    return expression(s, inner[0]) if inner else opaque(s, node, "empty parentheses")


@lowers("attribute")
def _attribute(s: Source, node: Node) -> ir.Expr:
    base = node.child_by_field_name("object")
    ident = node.child_by_field_name("attribute")
    return ir.Attr(expression(s, base), s.text(ident), None, s.span(node))


def arguments(s: Source, node: Node | None) -> tuple[ir.Arg, ...]:
    """The arguments of a call or the items of a display."""
    if node is None:
        return ()
    if node.type == "generator_expression":
        return (ir.Arg(expression(s, node)),)
    out = []
    for c in children(node):
        if c.type == "keyword_argument":
            name = s.text(c.child_by_field_name("name"))
            out.append(ir.Arg(expression(s, c.child_by_field_name("value")), name))
        else:
            out.append(argument(s, c))
    return tuple(out)


def argument(s: Source, c: Node) -> ir.Arg:
    if c.type == "list_splat":
        return ir.Arg(expression(s, children(c)[0]), None, "*")
    if c.type == "dictionary_splat":
        return ir.Arg(expression(s, children(c)[0]), None, "**")
    if s.data[c.start_byte : c.start_byte + 1] == b"*":  # the grammar takes `[*f(x)]` for a call of `*f`
        return ir.Arg(expression(s, c), None, "*")
    return ir.Arg(expression(s, c))


@lowers("list_splat")
def _splat(s: Source, node: Node) -> ir.Expr:
    return expression(s, children(node)[0])


@lowers("call")
def _call(s: Source, node: Node) -> ir.Expr:
    own = own_arguments.counted(s, node)
    if own is not None:
        return own
    fn = expression(s, node.child_by_field_name("function"))
    return ir.Call(fn, arguments(s, node.child_by_field_name("arguments")), s.span(node))


@lowers("subscript")
def _subscript(s: Source, node: Node) -> ir.Expr:
    value = node.child_by_field_name("value")
    own = own_arguments.sliced(s, node, value) if value is not None else None
    if own is not None:
        return own
    items = node.children_by_field_name("subscript")
    given = tuple(_item(s, i) for i in items)
    args = tuple(a.value for a in given)
    # `x[a,]` is a tuple of one, as `x[*a]` is one
    comma = len(items) == 1 and any(c.type == "," for c in node.children)
    if len(args) > 1 or comma or any(a.star for a in given):
        args = (ir.Sequence_("tuple", given, s.span(node)),)
    return ir.Index(expression(s, value), args, s.span(node))


@lowers("slice")
def _slice(s: Source, node: Node) -> ir.Expr:
    parts: list[ir.Expr | None] = [None, None, None]
    at = 0
    for c in node.children:
        if c.type == ":":
            at += 1
        elif c.is_named and c.type != "comment" and at < 3:
            parts[at] = expression(s, c)
    return ir.SliceExpr(parts[0], parts[1], parts[2], s.span(node))


@lowers("unary_operator")
def _unary(s: Source, node: Node) -> ir.Expr:
    op = s.text(node.child_by_field_name("operator"))
    return ir.Unary(op, expression(s, node.child_by_field_name("argument")), s.span(node))


@lowers("not_operator")
def _not(s: Source, node: Node) -> ir.Expr:
    return ir.Unary("not", expression(s, node.child_by_field_name("argument")), s.span(node))


@lowers("binary_operator", "boolean_operator")
def _binary(s: Source, node: Node) -> ir.Expr:
    op = s.text(node.child_by_field_name("operator"))
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    return ir.Binary(op, expression(s, left), expression(s, right), s.span(node))


@lowers("comparison_operator")
def _comparison(s: Source, node: Node) -> ir.Expr:
    operands: list[Node] = []
    ops: list[str] = []
    word = ""
    for c in node.children:
        if c.is_named and c.type not in ("comment", "is not", "not in"):
            if operands:
                ops.append(word.strip())
            operands.append(c)
            word = ""
        elif c.type != "comment":
            word += " " + s.text(c)
    values = [expression(s, o) for o in operands]
    for i, op in enumerate(ops):
        values[i + 1] = own_arguments.searched(s, op, operands[i + 1]) or values[i + 1]
    out: ir.Expr | None = None
    for i, op in enumerate(ops):
        one = ir.Binary(" ".join(op.split()), values[i], values[i + 1], s.span(operands[i], operands[i + 1]))
        out = one if out is None else ir.Binary("and", out, one, s.span(node))
    return out if out is not None else opaque(s, node, "a comparison without operator")


@lowers("conditional_expression")
def _conditional(s: Source, node: Node) -> ir.Expr:
    parts = children(node)
    if len(parts) != 3:
        return opaque(s, node, "an incomplete conditional expression")
    then, cond, other = (expression(s, p) for p in parts)
    return ir.Select(cond, then, other, s.span(node))


@lowers("tuple", "expression_list", "pattern_list", "tuple_pattern")
def _tuple(s: Source, node: Node) -> ir.Expr:
    return ir.Sequence_("tuple", tuple(_item(s, c) for c in children(node)), s.span(node))


@lowers("list", "list_pattern")
def _list(s: Source, node: Node) -> ir.Expr:
    return ir.Sequence_("list", tuple(_item(s, c) for c in children(node)), s.span(node))


@lowers("set")
def _set(s: Source, node: Node) -> ir.Expr:
    return _distinct(s, node, ir.Sequence_("list", tuple(_item(s, c) for c in children(node)), s.span(node)))


def _distinct(s: Source, node: Node, items: ir.Expr) -> ir.Expr:
    return ir.Call(name_expr(s, "set", node), (ir.Arg(items),), s.span(node))


def _item(s: Source, c: Node) -> ir.Arg:
    if c.type in ("list_splat_pattern",):
        return ir.Arg(expression(s, children(c)[0]), None, "*")
    return argument(s, c)


@lowers("dictionary")
def _dictionary(s: Source, node: Node) -> ir.Expr:
    items: list[tuple[ir.Expr | None, ir.Expr]] = []
    for c in children(node):
        if c.type == "pair":
            key = expression(s, c.child_by_field_name("key"))
            items.append((key, expression(s, c.child_by_field_name("value"))))
        elif c.type == "dictionary_splat":
            items.append((None, expression(s, children(c)[0])))
    return ir.DictLit(tuple(items), s.span(node))


@lowers("list_comprehension", "set_comprehension", "generator_expression", "dictionary_comprehension")
def _comprehension(s: Source, node: Node) -> ir.Expr:
    body = node.child_by_field_name("body")
    clauses: list[ir.CompClause] = []
    for c in children(node):
        if c.type == "for_in_clause":
            target = expression(s, c.child_by_field_name("left"))
            iterables = c.children_by_field_name("right")
            iterable = expression(s, iterables[0]) if iterables else opaque(s, c, "no iterable")
            clauses.append(ir.CompClause(target, iterable, ()))
        elif c.type == "if_clause" and clauses:
            last = clauses.pop()
            cond = expression(s, children(c)[0])
            clauses.append(ir.CompClause(last.target, last.iterable, (*last.conditions, cond)))
    kind = {"list_comprehension": "list", "set_comprehension": "list", "generator_expression": "generator"}
    if body is not None and body.type == "pair":
        key = expression(s, body.child_by_field_name("key"))
        value = expression(s, body.child_by_field_name("value"))
        return ir.Comprehension("dict", key, value, tuple(clauses), s.span(node))
    element = expression(s, body)
    made = ir.Comprehension(kind[node.type], element, None, tuple(clauses), s.span(node))  # type: ignore[arg-type]
    return _distinct(s, node, made) if node.type == "set_comprehension" else made


@lowers("lambda")
def _lambda(s: Source, node: Node) -> ir.Expr:
    body = node.child_by_field_name("body")
    params = parameters(s, node.child_by_field_name("parameters"))

    def make() -> ir.Block:
        span = s.span(node)
        return ir.Block((ir.Return(expression(s, body), span),), span, False)

    return ir.Lambda((), params, None, ir.Lazy(make), s.span(node))


@lowers("named_expression")
def _walrus(s: Source, node: Node) -> ir.Expr:
    name = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    return ir.Binary("=", expression(s, name), expression(s, value), s.span(node))


@lowers("type")
def _type(s: Source, node: Node) -> ir.Expr:
    return expression(s, children(node)[0])


@lowers("generic_type", "union_type", "member_type", "constrained_type", "splat_type")
def _generic(s: Source, node: Node) -> ir.Expr:
    parts = children(node)
    if node.type == "generic_type" and len(parts) == 2 and parts[1].type == "type_parameter":
        args = tuple(expression(s, c) for c in children(parts[1]))
        return ir.Index(expression(s, parts[0]), args, s.span(node))
    return opaque(s, node, "a type annotation")


@lowers("as_pattern_target")
def _target(s: Source, node: Node) -> ir.Expr:
    return expression(s, children(node)[0])


def parameters(s: Source, node: Node | None) -> tuple[ir.Param, ...]:
    """Parameters of a function or lambda; annotations are kept as types."""
    out: list[ir.Param] = []
    keyword = False
    for c in children(node) if node is not None else ():
        span = s.span(c)
        kind = "keyword" if keyword else "normal"
        inner = c
        annotation = c.child_by_field_name("type")
        default = c.child_by_field_name("value")
        if c.type == "keyword_separator":
            keyword = True
            continue
        if c.type == "positional_separator":
            out = [replace(p, kind="positional") for p in out]
            continue
        if c.type in ("typed_parameter",):
            inner = children(c)[0]
        elif c.type in ("default_parameter", "typed_default_parameter"):
            inner = c.child_by_field_name("name") or c
        if inner.type == "list_splat_pattern":
            kind, keyword = "varargs", True
            inner = children(inner)[0]
        elif inner.type == "dictionary_splat_pattern":
            kind = "varkw"
            inner = children(inner)[0]
        out.append(
            ir.Param(
                s.text(inner),
                None if annotation is None else expression(s, annotation),
                None if default is None else expression(s, default),
                False,
                span,
                kind,  # type: ignore[arg-type]
            )
        )
    return tuple(out)


@lowers("yield")
def _yield(s: Source, node: Node) -> ir.Expr:
    items = children(node)
    value = expression(s, items[0]) if items else ir.Lit(None, "py", s.span(node))
    every = any(c.type == "from" for c in node.children)
    more = (ir.Arg(ir.Lit(True, "py", s.span(node)), "all"),) if every else ()
    return ir.Call(ir.Name(YIELD, None, s.span(node)), (ir.Arg(value), *more), s.span(node))
