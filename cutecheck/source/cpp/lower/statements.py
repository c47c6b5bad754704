"""Statements of function bodies."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from tree_sitter import Node

from cutecheck.source.cpp.lower.blocks import BlockLowering
from cutecheck.source.cpp.lower.hands import Fail
from cutecheck.source.cpp.lower.types import CLASS_KINDS
from cutecheck.source.cpp.words import ASSERTION_MACROS, ASSERTS, CHECK_MACRO, STATIC_ASSERTS, words
from cutecheck.source.eval import ir

DECLARATIONS = CLASS_KINDS | words(
    """declaration alias_declaration type_definition using_declaration namespace_alias_definition enum_specifier
    template_declaration function_definition"""
)
_CAST = re.compile(r"\w+_cast\b")
_DECLARED = re.compile(r"[^\W\d][\w:<>, ]*[\s*&>][^\W\d]\w*")
_LITERALS = words("string_literal raw_string_literal concatenated_string")


class StatementLowering(BlockLowering):
    """Statements, one method for each kind of node."""

    def statement(self, node: Node) -> list[ir.Stmt]:
        kind = node.type
        method = _STATEMENTS.get(kind)
        if method is None:
            if kind in DECLARATIONS:
                return self.declaration_statements(node)
            raise self.bad(node)
        self.enter()
        found: list[ir.Stmt] = method(self, node)
        self.depth -= 1
        return found

    def block_statement(self, node: Node) -> list[ir.Stmt]:
        return [self.block(node)]

    def expression_statement(self, node: Node) -> list[ir.Stmt]:
        self.check(node)
        inner = node.named_children
        if not inner:
            return []
        expr = inner[0]
        if expr.type == "assignment_expression":
            array = self.array_reference(expr, node)
            if array is not None:
                return [array]
            if _DECLARED.fullmatch(self.of(expr.children[0])) is not None:  # in the branch of an `if`
                return self.reread_statements(node.start_byte, node.end_byte)
        elif expr.type == "call_expression":
            word = self.of(expr.children[0])
            if word in ASSERTION_MACROS or word == "static_assert":
                kind: Literal["static_assert", "assert", "contract"] = (
                    "static_assert"
                    if word in STATIC_ASSERTS or word == "static_assert"
                    else "assert"
                    if word in ASSERTS
                    else "contract"
                )
                return [self.assertion(kind, node, expr.children[-1].children[1:-1])]
        elif expr.type == "gnu_asm_expression":
            span = self.place(node)
            return [ir.ExprStmt(self.inline_assembly(node), span)]
        made = self.as_statement(expr, node.end_byte)
        return [_stated(made) or made]

    def array_reference(self, node: Node, whole: Node) -> ir.Stmt | None:
        """``T (&x)[n] = y;``, which the grammar takes for an assignment to a call."""
        target = node.children[0]
        if target.type != "subscript_expression":
            return None
        while target.type == "subscript_expression":
            target = target.children[0]
        if target.type != "call_expression" or _CAST.match(self.text, target.start_byte) is not None:
            return None
        args = target.children[-1].named_children
        if len(args) != 1 or args[0].type != "pointer_expression" or args[0].children[-1].type != "identifier":
            return None
        name = args[0].children[-1]
        kind = self.plain_type(target.children[0])
        first = whole.start_byte
        end = node.children[0].end_byte
        extents: list[ir.Expr] = []
        part = node.children[0]
        while part.type == "subscript_expression":
            extents.append(self.arguments(part.children[-1])[0].value)
            part = part.children[0]
        for extent in extents:
            kind = ir.TypeMod("array", kind, self.span(first, end), extent)
        kind = ir.TypeMod("ref", kind, self.span(first, end))
        full = self.span(first, node.end_byte)
        init = self.expression(node.children[-1])
        local = ir.Variable(self.of(name), kind, init, None, frozenset(), None, self.place(name), full)
        return ir.Local(local, full)

    def as_statement(self, node: Node, end: int) -> ir.Stmt:
        """An expression as a statement that ends at ``end``: assignments become Assign."""
        kind = node.type
        if kind == "assignment_expression":
            found = self.assignment(node)
            assert isinstance(found, ir.Binary)
            return ir.Assign(found.left, found.op, found.right, found.span)
        expr = self.expression(node)
        if isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Lambda) and not expr.args:
            return ir.ExprStmt(expr, expr.span)
        return ir.ExprStmt(expr, self.span(self.begin_of_name(node), end))

    # ------------------------------------------------------------ keyword statements

    def if_statement(self, node: Node) -> list[ir.Stmt]:
        constexpr = False
        for child in node.children:
            if child.type in ("constexpr", "consteval"):
                constexpr = True
        clause = node.child_by_field_name("condition")
        init: ir.Stmt | None = None
        if clause is None or clause.is_missing:
            if not constexpr:
                raise Fail("expected '(' after if")
            begin = node.start_byte
            cond: ir.Expr = self.opaque("if consteval", begin, node.children[1].end_byte)
        else:
            init, cond = self.condition(clause)
        then = self.as_block(node.child_by_field_name("consequence"))
        alternative = node.child_by_field_name("alternative")
        other = None if alternative is None else self.as_block(alternative)
        return [ir.If(cond, then, other, constexpr, self.place(node), init)]

    def condition(self, node: Node) -> tuple[ir.Stmt | None, ir.Expr]:
        """``(init; cond)`` or ``(T x = e)``: the declaration becomes the init and its name the condition."""
        self.check(node)
        init: ir.Stmt | None = None
        if node.type == "parenthesized_expression":
            return None, self.expression(node)
        first = node.child_by_field_name("initializer")
        if first is not None:
            parts = self.statement(first.children[0])
            init = parts[0] if len(parts) == 1 else ir.Block(tuple(parts), self.place(first), scoped=False)
        value = node.child_by_field_name("value")
        if value is None:
            raise Fail("expected a condition")
        if value.type != "declaration":
            return init, self.expression(value)
        parts = self.declaration_statements(value)
        local = parts[0]
        init = local if init is None else ir.Block((init, *parts), self.place(value), scoped=False)
        if isinstance(local, ir.Local) and isinstance(local.decl, ir.Variable):
            return init, ir.Name(local.decl.name, None, local.decl.span)
        return init, self.opaque("declaration as condition", value.start_byte, value.end_byte)

    def for_statement(self, node: Node) -> list[ir.Stmt]:
        first = node.child_by_field_name("initializer")
        cond_node = node.child_by_field_name("condition")
        update = node.child_by_field_name("update")
        for part in node.children:
            if part.type == "ERROR" or part.is_missing:
                raise self.bad(part)
        init: ir.Stmt | None = None
        if first is not None:
            self.check(first)
            if first.type in DECLARATIONS:
                parts = self.declaration_statements(first)
                init = parts[0] if len(parts) == 1 else ir.Block(tuple(parts), self.place(first), scoped=False)
            else:
                following = first.next_sibling
                init = self.as_statement(first, first.end_byte if following is None else following.end_byte)
        cond: ir.Expr | None = None
        declared: list[ir.Stmt] = []
        if cond_node is not None:
            self.check(cond_node)
            if cond_node.type == "assignment_expression" and _DECLARED.fullmatch(self.of(cond_node.children[0])):
                following = cond_node.next_sibling
                assert following is not None  # the semicolon
                declared = self.reread_statements(cond_node.start_byte, following.end_byte)
            else:
                cond = self.expression(cond_node)
        step: ir.Stmt | None = None
        if update is not None:
            self.check(update)
            steps = [self.step(part) for part in _comma_parts(update)]
            step = steps[0] if len(steps) == 1 else ir.Block(tuple(steps), self.place(update), scoped=False)
        body = self.while_holds(declared, self.as_block(node.child_by_field_name("body")))
        return [ir.Loop("for", init, cond, step, None, None, body, self.place(node))]

    def while_holds(self, declared: list[ir.Stmt], body: ir.Block) -> ir.Block:
        """The body of a loop whose condition declares a variable: made anew each time, left where it is false."""
        if not declared:
            return body
        local = declared[-1]
        assert isinstance(local, ir.Local)
        if isinstance(local.decl, ir.Variable):
            value: ir.Expr = ir.Name(local.decl.name, None, local.decl.span)
        else:
            value = ir.Opaque("declaration as condition", local.span)
        out = ir.Block((ir.Jump("break", local.span),), local.span)
        leave = ir.If(ir.Unary("!", value, local.span), out, None, False, local.span)
        return ir.Block((*declared, leave, body), body.span)

    def step(self, node: Node) -> ir.Stmt:
        return self.as_statement(node, node.end_byte)

    def range_for(self, node: Node) -> list[ir.Stmt]:
        right, body_node = node.child_by_field_name("right"), node.child_by_field_name("body")
        if right is None or any(part.type == "ERROR" or part.is_missing for part in node.children):
            raise Fail("malformed range-for")
        self.check(right)
        parts = self.declaration_statements(node)
        if len(parts) != 1:
            raise Fail("malformed range-for")
        iterable = self.expression(right)
        return [ir.Loop("foreach", None, None, None, parts[0], iterable, self.as_block(body_node), self.place(node))]

    def while_statement(self, node: Node) -> list[ir.Stmt]:
        clause = node.child_by_field_name("condition")
        if clause is None:
            raise self.bad(node)
        body = self.as_block(node.child_by_field_name("body"))
        value = clause.child_by_field_name("value")
        if value is not None and value.type == "declaration":
            body = self.while_holds(self.declaration_statements(value), body)
            return [ir.Loop("for", None, None, None, None, None, body, self.place(node))]
        init, cond = self.condition(clause)
        return [ir.Loop("while", init, cond, None, None, None, body, self.place(node))]

    def do_statement(self, node: Node) -> list[ir.Stmt]:
        clause = node.child_by_field_name("condition")
        if clause is None:
            raise self.bad(node)
        body = self.as_block(node.child_by_field_name("body"))
        _, cond = self.condition(clause)
        return [ir.Loop("do", None, cond, None, None, None, body, self.place(node))]

    def switch_statement(self, node: Node) -> list[ir.Stmt]:
        clause, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if clause is None or body is None or body.type != "compound_statement":
            raise Fail("expected '{' after switch")
        init, subject = self.condition(clause)
        groups: list[tuple[list[ir.Expr], list[ir.Stmt], Node]] = []
        before: list[ir.Stmt] = [] if init is None else [init]
        for case in body.named_children:
            if case.type != "case_statement":
                if groups:
                    groups[-1][1].extend(self.safely(case))
                elif case.type == "ERROR":
                    raise self.bad(case)
                else:  # names are declared there, though nothing runs
                    before += [s for s in self.safely(case) if isinstance(s, ir.Local) and isinstance(s.decl, _NAMES)]
                continue
            value = case.child_by_field_name("value")
            labels: list[ir.Expr] = []
            more = [part for part in case.children if part.type == "ERROR"]
            if value is not None and (more or value.type == "parameter_pack_expansion"):
                labels.append(self.opaque("case label", value.start_byte, max(p.end_byte for p in (value, *more))))
            elif value is not None:
                self.check(value)
                labels.append(self.expression(value))
            rest = [
                part
                for part in case.named_children
                if part not in more and (value is None or part.start_byte > value.start_byte)
            ]
            groups.append((labels, self.statements(rest), case))
        found = ir.Switch(subject, _cases(groups, self), self.place(node))
        return [ir.Block((*before, found), self.place(node))] if before else [found]

    def return_statement(self, node: Node) -> list[ir.Stmt]:
        self.check(node)
        inner = node.named_children
        value = self.expression(inner[0]) if inner else None
        return [ir.Return(value, self.place(node))]

    def jump(self, node: Node) -> list[ir.Stmt]:
        return [ir.Jump(_JUMPS[node.type], self.place(node))]

    def label(self, node: Node) -> list[ir.Stmt]:
        return self.statements(node.named_children[1:])

    def attributed(self, node: Node) -> list[ir.Stmt]:
        return self.statement(node.named_children[-1])

    def try_statement(self, node: Node) -> list[ir.Stmt]:
        body: ir.Block | None = None
        handlers: list[ir.Block] = []
        for part in node.named_children:
            if part.type == "compound_statement":
                body = self.block(part)
            elif part.type == "catch_clause":
                handler = part.child_by_field_name("body")
                if handler is None:
                    raise self.bad(part)
                handlers.append(self.block(handler))
        if body is None:
            raise self.bad(node)
        return [ir.Try(body, tuple(handlers), self.place(node))]

    def static_assert(self, node: Node) -> list[ir.Stmt]:
        return [self.assertion("static_assert", node, node.named_children)]

    def assertion(
        self, kind: Literal["static_assert", "assert", "contract"], node: Node, parts: Sequence[Node]
    ) -> ir.Assert:
        """A condition and what is said about it."""
        named = [part for part in parts if part.is_named]
        cond: ir.Expr | None = None
        if named and not node.has_error:
            cond = self.attempt(lambda: self.expression(named[0]))
        if cond is None:
            begin = named[0].start_byte if named else node.start_byte
            cond = self.opaque("condition not understood", begin, named[-1].end_byte if named else node.end_byte)
        texts: list[str] = []
        for part in named[1:]:
            for piece in part.children if part.type == "concatenated_string" else (part,):
                if piece.type in _LITERALS:
                    text = self.of(piece)
                    texts.append(text[1:-1])
        return ir.Assert(kind, cond, "".join(texts), self.place(node))


_RELATIONS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


def _stated(made: ir.Stmt) -> ir.Assert | None:
    """``CHECK(a == b) << "why";`` and ``CHECK_EQ(a, b);`` by macros that no file defines."""
    call = made.expr if isinstance(made, ir.ExprStmt) else None
    while isinstance(call, ir.Binary) and call.op == "<<":
        call = call.left
    if not isinstance(call, ir.Call) or not isinstance(call.fn, ir.Name) or call.launch is not None:
        return None
    word = CHECK_MACRO.fullmatch(call.fn.ident)
    if word is None or not call.args or any(a.name or a.star for a in call.args):
        return None
    cond: ir.Expr = call.args[0].value
    if word[1]:
        if len(call.args) < 2:
            return None
        cond = ir.Binary(_RELATIONS[word[1]], cond, call.args[1].value, call.span)
    return ir.Assert("contract", cond, "", made.span) if _compares(cond) else None


def _compares(node: ir.Expr) -> bool:
    """Comparisons, all of which are evaluated where it is known that they hold."""
    if not isinstance(node, ir.Binary):
        return False
    return node.op in _RELATIONS.values() or (node.op == "&&" and _compares(node.left) and _compares(node.right))


def _comma_parts(node: Node) -> list[Node]:
    found: list[Node] = []
    while node.type == "comma_expression":
        found.append(node.children[0])
        node = node.children[-1]
    found.append(node)
    return found


def _cases(groups: list[tuple[list[ir.Expr], list[ir.Stmt], Node]], lowering: StatementLowering) -> tuple[ir.Case, ...]:
    """Cases with shared labels merged and fall-through made explicit (the following body is appended)."""
    merged: list[tuple[list[ir.Expr], list[ir.Stmt], Node, bool]] = []
    pending: list[ir.Expr] = []
    has_default = False
    for labels, body, node in groups:
        has_default = has_default or not labels
        pending.extend(labels)
        if body:
            merged.append((pending, body, node, has_default))
            pending, has_default = [], False
    if pending or has_default:
        merged.append((pending, [], groups[-1][2], has_default))
    cases: list[ir.Case] = []
    for at, (labels, _, node, default) in enumerate(merged):
        whole: list[ir.Stmt] = []
        for _, part, _, _ in merged[at:]:
            whole.extend(part)
            if part and _leaves(part[-1]):
                break
        block = ir.Block(tuple(whole), lowering.place(node.children[0]))
        if labels:
            cases.append(ir.Case(tuple(labels), block))
        if default:
            cases.append(ir.Case((), block))
    return tuple(cases)


def _leaves(stmt: ir.Stmt) -> bool:
    if isinstance(stmt, ir.Block):
        return bool(stmt.body) and _leaves(stmt.body[-1])
    return isinstance(stmt, (ir.Return, ir.Jump))


_NAMES = (ir.Using, ir.Alias, ir.Class, ir.Enum)
_JUMPS: dict[str, Literal["break", "continue", "goto", "raise"]] = {
    "break_statement": "break",
    "continue_statement": "continue",
    "goto_statement": "goto",
    "throw_statement": "raise",
}
_S = StatementLowering
_STATEMENTS: dict[str, Callable[[Any, Node], list[ir.Stmt]]] = {
    "compound_statement": _S.block_statement,
    "expression_statement": _S.expression_statement,
    "if_statement": _S.if_statement,
    "for_statement": _S.for_statement,
    "for_range_loop": _S.range_for,
    "while_statement": _S.while_statement,
    "do_statement": _S.do_statement,
    "switch_statement": _S.switch_statement,
    "return_statement": _S.return_statement,
    "co_return_statement": _S.return_statement,
    "labeled_statement": _S.label,
    "attributed_statement": _S.attributed,
    "try_statement": _S.try_statement,
    "static_assert_declaration": _S.static_assert,
    "break_statement": _S.jump,
    "continue_statement": _S.jump,
    "goto_statement": _S.jump,
    "throw_statement": _S.jump,
}
