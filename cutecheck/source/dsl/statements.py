"""Python statements and definitions to the evaluator's program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from tree_sitter import Node

from cutecheck.source.dsl.expressions import arguments, children, expression, opaque, parameters
from cutecheck.source.dsl.source import RETURN, Source
from cutecheck.source.eval import ir

Lower = Callable[[Source, Node], Iterator[ir.Stmt]]
_LOWER: dict[str, Lower] = {}


def lowers(*kinds: str) -> Callable[[Lower], Lower]:
    def register(function: Lower) -> Lower:
        for kind in kinds:
            _LOWER[kind] = function
        return function

    return register


def block(s: Source, node: Node | None) -> ir.Block:
    """The statements of a body; names live in the function around it."""
    assert node is not None
    return ir.Block(tuple(statements(s, children(node))), s.span(node), False)


def statements(s: Source, nodes: list[Node]) -> Iterator[ir.Stmt]:
    for node in nodes:
        lower = _LOWER.get(node.type)
        if lower is not None:
            yield from lower(s, node)
        else:
            yield ir.ExprStmt(opaque(s, node, f"{node.type.replace('_', ' ')} is not followed"), s.span(node))


@lowers("pass_statement", "comment", "type_alias_statement", "exec_statement", "print_statement")
def _nothing(s: Source, node: Node) -> Iterator[ir.Stmt]:
    return iter(())


@lowers("nonlocal_statement", "global_statement")
def _elsewhere(s: Source, node: Node) -> Iterator[ir.Stmt]:
    for c in children(node):
        span = s.span(c)
        kind = node.type.removesuffix("_statement")
        yield ir.Local(ir.Using("name", ir.Name(s.text(c), None, span), kind, span), span)


@lowers("expression_statement")
def _expression(s: Source, node: Node) -> Iterator[ir.Stmt]:
    parts = children(node)
    if len(parts) == 1 and parts[0].type in ("assignment", "augmented_assignment"):
        yield from _assignment(s, parts[0])
    elif len(parts) == 1 and parts[0].type == "string":
        return
    else:
        for part in parts:
            found, span = expression(s, part), s.span(part)
            leaves = isinstance(found, ir.Call) and spelled(found) in _LEAVES
            yield ir.Raise(found, span) if leaves else ir.ExprStmt(found, span)


def _assignment(s: Source, node: Node) -> Iterator[ir.Stmt]:
    span = s.span(node)
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if right is not None and s.data.startswith(RETURN, node.start_byte):  # see ``source.parse``
        yield ir.Return(expression(s, right), span)
        return
    if node.type == "augmented_assignment":
        op = s.text(node.child_by_field_name("operator"))
        yield ir.Assign(expression(s, left), op, expression(s, right), span)
        return
    annotation = node.child_by_field_name("type")
    if right is None:
        if left is not None and left.type == "identifier" and annotation is not None:
            yield ir.Local(
                ir.Variable(
                    s.text(left), expression(s, annotation), None, None, frozenset({"annotated"}), None,
                    s.span(left), span,
                ),
                span,
            )  # fmt: skip
        return
    targets = [left]
    while right.type == "assignment":
        targets.append(right.child_by_field_name("left"))
        inner = right.child_by_field_name("right")
        if inner is None:
            return
        right = inner
    value = expression(s, right)
    first = targets[0]
    if len(targets) == 1 and first is not None and first.type == "identifier" and annotation is not None:
        yield ir.Local(
            ir.Variable(
                s.text(first), expression(s, annotation), value, None, frozenset({"annotated"}), None, s.span(first),
                span,
            ),
            span,
        )  # fmt: skip
        return
    for position, target in enumerate(targets):
        again = value if position == 0 else expression(s, targets[0])
        yield ir.Assign(expression(s, target), "=", again, span)


@lowers("return_statement")
def _return(s: Source, node: Node) -> Iterator[ir.Stmt]:
    parts = children(node)
    span = s.span(node)
    yield ir.Return(expression(s, parts[0]) if parts else ir.Lit(None, "py", span), span)


@lowers("break_statement", "continue_statement")
def _jump(s: Source, node: Node) -> Iterator[ir.Stmt]:
    yield ir.Jump("break" if node.type == "break_statement" else "continue", s.span(node))


@lowers("raise_statement")
def _raise(s: Source, node: Node) -> Iterator[ir.Stmt]:
    parts = children(node)
    yield ir.Raise(expression(s, parts[0]) if parts else None, s.span(node))


@lowers("assert_statement")
def _assert(s: Source, node: Node) -> Iterator[ir.Stmt]:
    parts = children(node)
    message = s.text(parts[1]) if len(parts) > 1 else ""
    yield ir.Assert("assert", expression(s, parts[0]), message, s.span(node))


@lowers("delete_statement")
def _delete(s: Source, node: Node) -> Iterator[ir.Stmt]:
    """Items are deleted; that a variable or attribute is gone says nothing."""
    parts = children(node)
    for c in children(parts[0]) if len(parts) == 1 and parts[0].type == "expression_list" else parts:
        target = expression(s, c)
        if isinstance(target, ir.Index):
            span = s.span(c)
            args = tuple(ir.Arg(a) for a in (target.base, *target.args))
            yield ir.ExprStmt(ir.Call(ir.Name("del item", None, span), args, span), span)


@lowers("if_statement")
def _if(s: Source, node: Node) -> Iterator[ir.Stmt]:
    tail: ir.Block | None = None
    for c in reversed(node.children_by_field_name("alternative")):
        if c.type == "else_clause":
            tail = block(s, c.child_by_field_name("body"))
        else:
            cond, then = c.child_by_field_name("condition"), c.child_by_field_name("consequence")
            inner = ir.If(expression(s, cond), block(s, then), tail, False, s.span(c))
            tail = ir.Block((inner,), s.span(c), False)
    cond, then = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
    yield ir.If(expression(s, cond), block(s, then), tail, False, s.span(node))


@lowers("for_statement")
def _for(s: Source, node: Node) -> Iterator[ir.Stmt]:
    target = expression(s, node.child_by_field_name("left"))
    iterable = expression(s, node.child_by_field_name("right"))
    body = block(s, node.child_by_field_name("body"))
    yield from _with_else(s, node, body, lambda body: ir.Loop(
        "foreach", None, None, None, target, iterable, body, s.span(node)))  # fmt: skip


@lowers("while_statement")
def _while(s: Source, node: Node) -> Iterator[ir.Stmt]:
    cond = expression(s, node.child_by_field_name("condition"))
    body = block(s, node.child_by_field_name("body"))
    yield from _with_else(s, node, body, lambda body: ir.Loop(
        "while", None, cond, None, None, None, body, s.span(node)))  # fmt: skip


def _with_else(s: Source, node: Node, body: ir.Block, make: Callable[[ir.Block], ir.Loop]) -> Iterator[ir.Stmt]:
    """A loop, and its ``else`` where no ``break`` left it: a variable of its own says that."""
    other = node.child_by_field_name("alternative")
    if other is None:
        yield make(body)
        return
    span = s.span(node)
    left = ir.Name(f"left {span.line}:{span.column}", None, span)
    yield ir.Assign(left, "=", ir.Lit(False, "py", span), span)
    yield make(_noting(body, ir.Assign(left, "=", ir.Lit(True, "py", span), span)))
    yield ir.If(ir.Unary("not", left, span), block(s, other.child_by_field_name("body")), None, False, span)


def _noting(body: ir.Block, note: ir.Assign) -> ir.Block:
    """The body of a loop with a note before each ``break`` that leaves the loop."""

    def inside(at: ir.Block | None) -> ir.Block | None:
        return None if at is None else _noting(at, note)

    out: list[ir.Stmt] = []
    for stmt in body.body:
        if isinstance(stmt, ir.Jump) and stmt.kind == "break":
            out.append(note)
        elif isinstance(stmt, ir.If):
            stmt = replace(stmt, then=_noting(stmt.then, note), other=inside(stmt.other))
        elif isinstance(stmt, (ir.Block, ir.With)):
            stmt = _noting(stmt, note) if isinstance(stmt, ir.Block) else replace(stmt, body=_noting(stmt.body, note))
        elif isinstance(stmt, ir.Attempt):
            handlers = tuple(replace(h, body=_noting(h.body, note)) for h in stmt.handlers)
            stmt = replace(
                stmt, body=_noting(stmt.body, note), handlers=handlers, other=inside(stmt.other),
                final=inside(stmt.final),
            )  # fmt: skip
        out.append(stmt)
    return replace(body, body=tuple(out))


@lowers("try_statement")
def _try(s: Source, node: Node) -> Iterator[ir.Stmt]:
    handlers: list[ir.Handler] = []
    other: ir.Block | None = None
    final: ir.Block | None = None
    for c in children(node):
        if c.type in ("except_clause", "except_group_clause"):
            handlers.append(_handler(s, c))
        elif c.type == "else_clause":
            other = block(s, c.child_by_field_name("body"))
        elif c.type == "finally_clause":
            final = next((block(s, b) for b in children(c) if b.type == "block"), None)
    yield ir.Attempt(block(s, node.child_by_field_name("body")), tuple(handlers), other, final, s.span(node))


def _handler(s: Source, node: Node) -> ir.Handler:
    parts = children(node)
    body = next((p for p in reversed(parts) if p.type == "block"), None)
    given = [p for p in parts if p is not body]
    name: str | None = None
    kind = given[0] if given else None
    if kind is not None and kind.type == "as_pattern":
        alias = kind.child_by_field_name("alias")
        name, kind = s.text(alias) or None, children(kind)[0]
    elif len(given) > 1:  # `except kind as name` of another version of the grammar
        name = s.text(given[1])
    return ir.Handler(None if kind is None else expression(s, kind), name, block(s, body) if body is not None
                      else ir.Block((), s.span(node), False))  # fmt: skip


_REFUSED = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_LEAVES = frozenset({  # calls that raise an exception, always
    "sys.exit", "exit", "quit", "os._exit", "pytest.skip", "pytest.xfail", "pytest.fail", "pytest.exit",
    "self.skipTest", "self.fail",
})  # fmt: skip


@lowers("with_statement")
def _with(s: Source, node: Node) -> Iterator[ir.Stmt]:
    items: list[tuple[ir.Expr, ir.Expr | None]] = []
    stack = [c for c in children(node) if c.type == "with_clause"]
    for clause in stack:
        for item in children(clause):
            value = item.child_by_field_name("value") or item
            if value.type == "as_pattern":
                parts = children(value)
                alias = value.child_by_field_name("alias")
                items.append((expression(s, parts[0]), None if alias is None else expression(s, alias)))
            else:
                items.append((expression(s, value), None))
    body = block(s, node.child_by_field_name("body"))
    called = [spelled(value) if isinstance(value, ir.Call) else "" for value, _ in items]
    if any(name.rpartition(".")[2] in _REFUSED for name in called):
        body = ir.Block((), body.span, False)  # what a test wants refused is no configuration of the tree
    elif any(name.rpartition(".")[2] == "suppress" for name in called):
        given = [a.value for value, _ in items if isinstance(value, ir.Call) for a in value.args]
        handler = ir.Handler(given[0] if len(given) == 1 else None, None, ir.Block((), body.span, False))
        body = ir.Block((ir.Attempt(body, (handler,), None, None, body.span),), body.span, False)
    yield ir.With(tuple(items), body, s.span(node))


@lowers("import_statement", "import_from_statement", "future_import_statement")
def _import(s: Source, node: Node) -> Iterator[ir.Stmt]:
    span = s.span(node)
    if node.type == "future_import_statement":
        return
    if node.type == "import_statement":
        for c in node.children_by_field_name("name"):
            if c.type == "aliased_import":
                module, alias = s.text(c.child_by_field_name("name")), s.text(c.child_by_field_name("alias"))
                yield ir.Local(ir.Import(module, alias, (), False, span), span)
            else:
                yield ir.Local(ir.Import(s.text(c), None, (), False, span), span)
        return
    module = "".join(s.text(node.child_by_field_name("module_name")).split())
    names: list[tuple[str, str | None]] = []
    for c in node.children_by_field_name("name"):
        if c.type == "aliased_import":
            names.append((s.text(c.child_by_field_name("name")), s.text(c.child_by_field_name("alias"))))
        else:
            names.append((s.text(c), None))
    star = any(c.type == "wildcard_import" for c in node.children)
    yield ir.Local(ir.Import(module, None, tuple(names), star, span), span)


@lowers("decorated_definition")
def _decorated(s: Source, node: Node) -> Iterator[ir.Stmt]:
    marks = [expression(s, children(c)[0]) for c in node.children if c.type == "decorator" and children(c)]
    inner = node.child_by_field_name("definition")
    if inner is None:
        return
    decl = _class(s, inner, tuple(marks)) if inner.type == "class_definition" else _function(s, inner, tuple(marks))
    yield ir.Local(decl, s.span(node))


@lowers("function_definition")
def _def(s: Source, node: Node) -> Iterator[ir.Stmt]:
    yield ir.Local(_function(s, node, ()), s.span(node))


@lowers("class_definition")
def _classdef(s: Source, node: Node) -> Iterator[ir.Stmt]:
    yield ir.Local(_class(s, node, ()), s.span(node))


def spelled(e: ir.Expr) -> str:
    """A dotted name, calls dropped: ``cute.jit(x=1)`` is ``cute.jit``."""
    if isinstance(e, ir.Call):
        return spelled(e.fn)
    if isinstance(e, ir.Attr):
        return f"{spelled(e.base)}.{e.ident}"
    return e.ident if isinstance(e, ir.Name) else ""


_FLAGS = {
    "kernel": "kernel", "jit": "jit", "staticmethod": "static", "classmethod": "classmethod", "property": "property",
    "cached_property": "cached", "setter": "setter", "overload": "deleted",
}  # fmt: skip


_COMPILERS = frozenset({"jax", "torch", "triton", "numba", "nb", "taichi", "ti"})
_THEIR_JIT = re.compile(rb"^[ \t]*from (?:jax|torch|triton|numba)[\w.]* import [^\n]*\bjit\b", re.MULTILINE)


def _function(s: Source, node: Node, decorators: tuple[ir.Expr, ...]) -> ir.Function:
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    words = [d for d in map(spelled, decorators) if d.split(".")[-1] in _FLAGS and not _compiles_others(s, d)]
    flags = {_FLAGS[d.split(".")[-1]] for d in words}
    ret = node.child_by_field_name("return_type")
    if body is not None and b"yield" in s.data[body.start_byte : body.end_byte] and _yields(body):
        flags.add("generator")
    return ir.Function(
        s.text(name), None, None, parameters(s, node.child_by_field_name("parameters")),
        None if ret is None else expression(s, ret), ir.Lazy(lambda: block(s, body)), frozenset(flags),
        s.span(name or node), s.span(node), decorators=decorators,
    )  # fmt: skip


def _compiles_others(s: Source, decorator: str) -> bool:
    """Whether a ``jit`` is that of another compiler: what it marks is code of the host for the DSL."""
    top, _, rest = decorator.partition(".")
    return top in _COMPILERS if rest else decorator == "jit" and _THEIR_JIT.search(s.data) is not None


def _yields(body: Node) -> bool:
    """Whether a body has a ``yield`` of its own."""
    stack = [body]
    while stack:
        at = stack.pop()
        if at.type == "yield":
            return True
        stack.extend(c for c in at.children if c.type not in ("function_definition", "lambda", "class_definition"))
    return False


def _class(s: Source, node: Node, decorators: tuple[ir.Expr, ...]) -> ir.Class:
    name = node.child_by_field_name("name")
    given = arguments(s, node.child_by_field_name("superclasses"))
    bases = [a.value for a in given if a.name is None and not a.star]
    keywords = tuple((a.name, a.value) for a in given if a.name is not None)
    body = node.child_by_field_name("body")
    members: list[ir.Decl] = []
    for stmt in statements(s, children(body) if body is not None else []):
        if isinstance(stmt, ir.Local):
            members.append(stmt.decl)
        elif isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Name) and stmt.op == "=":
            target = stmt.target
            members.append(
                ir.Variable(target.ident, None, stmt.value, None, frozenset({"static"}), None, target.span, stmt.span)
            )
        else:
            members.append(ir.TopLevel(stmt))
    return ir.Class(
        s.text(name), "class", None, None, tuple(bases), tuple(members), None, s.span(name or node), s.span(node),
        decorators=decorators, keywords=keywords,
    )  # fmt: skip
