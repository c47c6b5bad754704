"""Statements of function bodies."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from cutecheck.source.cpp.cursor import Fail, steady
from cutecheck.source.cpp.expressions import ExpressionParser
from cutecheck.source.cpp.lexer import lex
from cutecheck.source.cpp.words import BUILTIN_TYPES, KEYWORDS, SPECIFIERS, SPELLED
from cutecheck.source.eval import ir

ASSIGN_OPS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])
# Macros that state a condition; they are understood by name and never expanded.
STATIC_ASSERTS = frozenset(["CUTE_STATIC_ASSERT_V", "CUTE_STATIC_ASSERT", "CUTLASS_STATIC_ASSERT"])
ASSERTS = frozenset(["assert", "CUTE_ASSERT", "CUTLASS_ASSERT", "CUTE_RUNTIME_ASSERT_V", "gpu_assert"])
CONTRACTS = frozenset(["TORCH_CHECK", "TORCH_INTERNAL_ASSERT", "AT_ASSERT", "AT_ASSERTM", "ASSUME", "__builtin_assume"])
_DECLARATION_WORDS = (
    frozenset(SPECIFIERS)
    | BUILTIN_TYPES
    | frozenset(["const", "volatile", "auto", "using", "typedef", "struct", "class", "union", "enum", "alignas",
                 "__align__", "template", "typename", "namespace", "static_assert"])
)  # fmt: skip
_AFTER_DECLARATOR = frozenset([";", "=", ",", "(", "{", "[", ":", ")"])
_ASM = frozenset(["asm", "__asm__", "__asm", "asm_volatile"])


class StatementParser(ExpressionParser):
    """Function bodies. One that cannot be lowered becomes an Opaque statement; the rest of the body stands."""

    share_tokens = True

    # ------------------------------------------------------------ provided by the declaration layer

    def block_declaration(self) -> list[ir.Stmt]:
        raise NotImplementedError

    # ------------------------------------------------------------ blocks

    def lazy_block(self, open_at: int) -> ir.Lazy:
        close = self.partner[open_at]
        if close < 0 or close >= self.end:
            raise Fail("'{' is not closed")
        kind, source, class_name = type(self), self.source, self.class_name
        begin, end = self.starts[open_at], self.starts[close] + 1
        tokens = self.tokens if self.share_tokens else None

        def make(own_stack: bool) -> ir.Block:
            if tokens is None:
                parser = kind(source, lex(source.text, begin, end))
            else:
                parser = kind(source, tokens, open_at, close + 1)
            parser.share_tokens = True
            parser.class_name = class_name
            parser.own_stack = own_stack
            try:
                return parser.block()
            except (Fail, RecursionError) as error:
                if isinstance(error, RecursionError) and not own_stack:
                    raise
                span = source.span(begin, end)
                reason = str(error) if isinstance(error, Fail) else "nested too deeply"
                return ir.Block((ir.ExprStmt(ir.Opaque(reason, span), span),), span)

        return ir.Lazy(lambda: steady(make))

    def block(self) -> ir.Block:
        """The braced block at the position."""
        first = self.at
        close = self.closer()
        self.at += 1
        body = self.statements(close)
        self.at = close + 1
        return ir.Block(tuple(body), self.span(first))

    def statements(self, close: int) -> list[ir.Stmt]:
        """Statements up to token ``close``; each that fails is replaced by an Opaque one."""
        body: list[ir.Stmt] = []
        outer, self.end = self.end, close
        while self.at < close:
            start, depth = self.at, self.depth
            try:
                body.extend(self.statement())
            except Fail as error:
                self.at, self.end, self.depth = start, close, depth
                self.skip_statement()
                body.append(ir.ExprStmt(self.opaque(str(error), start), self.span(start)))
            if self.at == start:
                self.at += 1
        self.end = outer
        return body

    def skip_statement(self) -> None:
        """Step to after the next ``;`` or braced group at this depth."""
        start = self.at
        while self.at < self.end:
            tok = self.tok
            if tok in ("(", "[", "{") and 0 <= self.partner[self.at] < self.end:
                self.at = self.partner[self.at] + 1
                if tok == "{" and self.tok not in (";", ")", ",", ".", "(") and self.at > start:
                    return
            else:
                self.at += 1
                if tok == ";":
                    return

    def as_block(self) -> ir.Block:
        """The statement at the position as a block of its own."""
        if self.tok == "{":
            return self.block()
        first = self.at
        body = self.statement()
        return ir.Block(tuple(body), self.span(first))

    # ------------------------------------------------------------ dispatch

    def statement(self) -> list[ir.Stmt]:
        self.enter()
        try:
            return self._statement()
        finally:
            self.leave()

    def _statement(self) -> list[ir.Stmt]:
        first, tok = self.at, self.tok
        if tok == ";":
            self.at += 1
            return []
        if tok == "{":
            return [self.block()]
        if tok == "[" and self.peek() == "[":
            self.skip_group()
            return self._statement() if self.at < self.end else []
        method = _KEYWORD_STATEMENTS.get(tok)
        if method is not None:
            return list(getattr(self, method)())
        if tok in _ASM:
            return self.asm_statement()
        if tok in STATIC_ASSERTS or tok in ASSERTS or tok in CONTRACTS:
            return self.assert_macro()
        if tok in _DECLARATION_WORDS and self.begins_declaration():
            return self.block_declaration()
        if self.is_ident() and self.peek() == ":" and self.peek(2) != ":":
            self.at += 2  # label
            return []
        if tok not in _DECLARATION_WORDS and self.begins_declaration():
            return self.block_declaration()
        if self.is_ident() and tok.isupper() and self.peek() in ("for", "while", "do", "if", "{", "return"):
            self.at += 1  # an unknown statement macro such as MY_UNROLL
            return self._statement()
        return self.expression_statement(first)

    def begins_declaration(self, condition: bool = False) -> bool:
        """Whether a declaration rather than an expression begins here: ``int x`` against ``int(x) + 1``.

        One in a ``condition`` has an initialiser: ``if (T* p = q)`` against ``if (a * b)``.
        """
        tok = self.tok
        if tok in BUILTIN_TYPES:
            return self.peek() not in ("(", "{")
        if tok == "typename" or tok not in _DECLARATION_WORDS:
            return (self.is_ident() or tok == "::") and self.looks_like_declaration(condition)
        return True

    def looks_like_declaration(self, condition: bool = False) -> bool:
        """``T x``, ``A<B>::C* x``, ``T (&x)[n]`` at the position (which does not move)."""
        start = self.at

        def rule() -> bool:
            if self.tok in ("decltype", "typename"):
                self.type_specifier()
            else:
                self.qualified_name(in_type=True)
            if self.is_concept_auto():
                return True
            kind = self.pointers(ir.Lit(None, "", self.span(start)), start)
            while self.tok in SPECIFIERS or self.tok == "alignas":
                self.at += 1
                if self.tok == "(":
                    self.skip_group()
            if self.tok == "(" and self.peek() in ("&", "*") and self.is_ident(2) and self.peek(3) == ")":
                return self.peek(4) in ("[", "(")
            if not self.is_ident() or self.tok in KEYWORDS or self.tok in SPELLED or self.tok == "not":
                return False
            self.ident()
            if condition:
                return self.tok in ("=", "{")
            if isinstance(kind, ir.TypeMod) and kind.kind in ("ref", "rref") and self.tok in (";", ",", ")", ""):
                return False  # a reference without initialiser: `a & b;`
            return self.tok in _AFTER_DECLARATOR or self.at >= self.end

        found = self.attempt(rule)
        self.at = start
        return bool(found)

    def expression_statement(self, first: int) -> list[ir.Stmt]:
        expr = self.comma_expression()
        if self.tok == ";" or self.at >= self.end:
            self.accept(";")
        elif not (self.texts[self.at - 1] in (")", "}") and self.tok != ")"):
            raise Fail(f"expected ';' before '{self.tok}'")
        return [self.as_statement(expr, first)]

    def as_statement(self, expr: ir.Expr, first: int) -> ir.Stmt:
        """An expression as a statement: assignments become Assign."""
        if isinstance(expr, ir.Binary) and expr.op in ASSIGN_OPS:
            return ir.Assign(expr.left, expr.op, expr.right, expr.span)
        if isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Lambda) and not expr.args:
            return ir.ExprStmt(expr, expr.span)
        return ir.ExprStmt(expr, self.span(first))

    # ------------------------------------------------------------ keyword statements

    def if_statement(self) -> list[ir.Stmt]:
        first = self.at
        self.at += 1
        constexpr = self.accept("constexpr") or self.accept("consteval")
        if self.accept("!"):
            constexpr = self.accept("consteval")
        init: ir.Stmt | None = None
        if self.tok != "(":
            if not constexpr:
                raise Fail("expected '(' after if")
            cond: ir.Expr = self.opaque("if consteval", first)
        else:
            init, cond = self.condition()
        then = self.as_block()
        other: ir.Block | None = None
        if self.accept("else"):
            other = self.as_block()
        return [ir.If(cond, then, other, constexpr, self.span(first), init)]

    def condition(self) -> tuple[ir.Stmt | None, ir.Expr]:
        """``(init; cond)`` or ``(T x = e)``: the declaration becomes the init and its name the condition."""
        close = self.closer()
        self.at += 1
        outer, self.end = self.end, close
        init: ir.Stmt | None = None
        cond: ir.Expr
        if ";" in self.texts[self.at : close] and self._has_top_level(";", close):
            parts = self.statement()
            init = parts[0] if len(parts) == 1 else ir.Block(tuple(parts), self.span(self.at), scoped=False)
        if self.begins_declaration(condition=True):
            start = self.at
            parts = self.block_declaration()
            init = parts[0] if init is None else ir.Block((init, *parts), self.span(start), scoped=False)
            local = parts[0]
            if isinstance(local, ir.Local) and isinstance(local.decl, ir.Variable):
                cond = ir.Name(local.decl.name, None, local.decl.span)
            else:
                cond = self.opaque("declaration as condition", start)
        else:
            cond = self.comma_expression()
        if self.at != close:
            raise Fail(f"unexpected '{self.tok}' in condition")
        self.end = outer
        self.at = close + 1
        return init, cond

    def _has_top_level(self, text: str, close: int) -> bool:
        at = self.at
        while at < close:
            if self.texts[at] == text:
                return True
            at = self.partner[at] + 1 if self.partner[at] > at else at + 1
        return False

    def for_statement(self) -> list[ir.Stmt]:
        first = self.at
        self.at += 1
        if self.tok != "(":
            raise Fail("expected '(' after for")
        close = self.closer()
        self.at += 1
        if not self._has_top_level(";", close):
            return self.range_for(first, close)
        outer, self.end = self.end, close
        parts = self.statement()
        start = self.at
        if not parts:
            init: ir.Stmt | None = None
        elif len(parts) == 1:
            init = parts[0]
        else:
            init = ir.Block(tuple(parts), self.span(start - 1), scoped=False)
        cond = None if self.tok == ";" else self.comma_expression()
        self.take(";")
        step: ir.Stmt | None = None
        if self.at < close:
            start = self.at
            steps = self._comma_statements(self.comma_expression(), start)
            step = steps[0] if len(steps) == 1 else ir.Block(tuple(steps), self.span(start), scoped=False)
        if self.at != close:
            raise Fail(f"unexpected '{self.tok}' in for")
        self.end = outer
        self.at = close + 1
        body = self.as_block()
        return [ir.Loop("for", init, cond, step, None, None, body, self.span(first))]

    def _comma_statements(self, expr: ir.Expr, first: int) -> list[ir.Stmt]:
        if isinstance(expr, ir.Binary) and expr.op == ",":
            return [*self._comma_statements(expr.left, first), *self._comma_statements(expr.right, first)]
        return [replace(stmt, span=expr.span) for stmt in [self.as_statement(expr, first)]]

    def range_for(self, first: int, close: int) -> list[ir.Stmt]:
        outer, self.end = self.end, close
        parts = self.block_declaration()
        self.take(":")
        iterable: ir.Expr = self.expression()
        if self.at != close or len(parts) != 1:
            raise Fail("malformed range-for")
        self.end = outer
        self.at = close + 1
        body = self.as_block()
        return [ir.Loop("foreach", None, None, None, parts[0], iterable, body, self.span(first))]

    def while_statement(self) -> list[ir.Stmt]:
        first = self.at
        self.at += 1
        init, cond = self.condition()
        body = self.as_block()
        return [ir.Loop("while", init, cond, None, None, None, body, self.span(first))]

    def do_statement(self) -> list[ir.Stmt]:
        first = self.at
        self.at += 1
        body = self.as_block()
        self.take("while")
        _, cond = self.condition()
        self.accept(";")
        return [ir.Loop("do", None, cond, None, None, None, body, self.span(first))]

    def switch_statement(self) -> list[ir.Stmt]:
        first = self.at
        self.at += 1
        init, subject = self.condition()
        if self.tok != "{":
            raise Fail("expected '{' after switch")
        close = self.closer()
        self.at += 1
        groups: list[tuple[list[ir.Expr], list[ir.Stmt], int]] = []
        outer, self.end = self.end, close
        while self.at < close:
            start = self.at
            if self.tok in ("case", "default"):
                label: list[ir.Expr] = []
                if self.accept("case"):
                    label = [self.expression()]
                else:
                    self.at += 1
                self.take(":")
                groups.append((label, [], start))
            else:
                stop = self._next_label(close)
                body = self.statements(stop)
                if groups:
                    groups[-1][1].extend(body)
        self.end = outer
        self.at = close + 1
        found = ir.Switch(subject, _cases(groups, self), self.span(first))
        return [found] if init is None else [ir.Block((init, found), self.span(first))]

    def _next_label(self, close: int) -> int:
        at = self.at
        while at < close and self.texts[at] not in ("case", "default"):
            at = self.partner[at] + 1 if self.partner[at] > at else at + 1
        return min(at, close)

    def return_statement(self) -> list[ir.Stmt]:
        first = self.at
        self.at += 1
        value: ir.Expr | None = None
        if self.tok not in (";", ""):
            value = self.comma_expression()
        if not self.accept(";") and self.at < self.end:
            raise Fail(f"expected ';' before '{self.tok}'")
        return [ir.Return(value, self.span(first))]

    def jump_statement(self) -> list[ir.Stmt]:
        first, word = self.at, self.tok
        while self.at < self.end and self.tok != ";":
            self.at += 1
        self.accept(";")
        span = self.span(first)
        if word == "throw":
            return [ir.Jump("raise", span)]
        if word == "break":
            return [ir.Jump("break", span)]
        return [ir.Jump("continue" if word == "continue" else "goto", span)]

    def try_statement(self) -> list[ir.Stmt]:
        self.at += 1
        found: list[ir.Stmt] = [self.block()]
        while self.tok == "catch":
            first = self.at
            self.at += 1
            self.skip_group()
            handler = self.block()
            found.append(ir.If(self.opaque("exception handler", first), handler, None, False, self.span(first)))
        return found

    def asm_statement(self) -> list[ir.Stmt]:
        first = self.at
        while self.at < self.end and self.tok != ";":
            if self.tok == "(":
                self.skip_group()
            else:
                self.at += 1
        self.accept(";")
        return [ir.ExprStmt(self.opaque("inline assembly", first), self.span(first))]

    def static_assert(self) -> list[ir.Stmt]:
        """``static_assert(cond, "message");``."""
        return [self.assertion("static_assert")]

    def assert_macro(self) -> list[ir.Stmt]:
        word = self.tok
        if self.peek() != "(":
            return self.expression_statement(self.at)
        if word in STATIC_ASSERTS:
            return [self.assertion("static_assert")]
        return [self.assertion("assert" if word in ASSERTS else "contract")]

    def assertion(self, kind: Literal["static_assert", "assert", "contract"]) -> ir.Assert:
        first = self.at
        self.at += 1
        if self.tok != "(":
            raise Fail("expected '(' after an assertion")
        close = self.closer()
        self.at += 1
        start = self.at
        cond = self.attempt(self.expression)
        if cond is None or self.tok not in (",", ")"):
            cond = self.opaque("condition not understood", start, close - 1)
        message = "".join(text[1:-1] for text in self.texts[self.at : close] if text.endswith('"'))
        self.at = close + 1
        self.accept(";")
        return ir.Assert(kind, cond, message, self.span(first))


def _cases(groups: list[tuple[list[ir.Expr], list[ir.Stmt], int]], parser: StatementParser) -> tuple[ir.Case, ...]:
    """Cases with shared labels merged and fall-through made explicit (the following body is appended)."""
    merged: list[tuple[list[ir.Expr], list[ir.Stmt], int, bool]] = []
    pending: list[ir.Expr] = []
    has_default = False
    for labels, body, start in groups:
        has_default = has_default or not labels
        pending.extend(labels)
        if body:
            merged.append((pending, body, start, has_default))
            pending, has_default = [], False
    if pending or has_default:
        merged.append((pending, [], groups[-1][2], has_default))
    cases: list[ir.Case] = []
    for at, (labels, _, start, default) in enumerate(merged):
        whole: list[ir.Stmt] = []
        for _, part, _, _ in merged[at:]:
            whole.extend(part)
            if part and _leaves(part[-1]):
                break
        block = ir.Block(tuple(whole), parser.span(start, start))
        if labels:
            cases.append(ir.Case(tuple(labels), block))
        if default:
            cases.append(ir.Case((), block))
    return tuple(cases)


def _leaves(stmt: ir.Stmt) -> bool:
    if isinstance(stmt, ir.Block):
        return bool(stmt.body) and _leaves(stmt.body[-1])
    return isinstance(stmt, (ir.Return, ir.Jump))


_KEYWORD_STATEMENTS = {
    "if": "if_statement",
    "for": "for_statement",
    "while": "while_statement",
    "do": "do_statement",
    "switch": "switch_statement",
    "return": "return_statement",
    "co_return": "return_statement",
    "break": "jump_statement",
    "continue": "jump_statement",
    "goto": "jump_statement",
    "throw": "jump_statement",
    "try": "try_statement",
    "static_assert": "static_assert",
    "_Static_assert": "static_assert",
}
