"""Expressions, by precedence climbing."""

from __future__ import annotations

from cutecheck.source.cpp import literals
from cutecheck.source.cpp.cursor import Fail
from cutecheck.source.cpp.types import TypeParser
from cutecheck.source.cpp.words import BINARY, BUILTIN_TYPES, CASTS, KEYWORDS, SPELLED
from cutecheck.source.eval import ir

_UNARY = frozenset(["+", "-", "!", "~", "&", "*", "++", "--"])
_FOLD_OPS = frozenset(BINARY) | {","}
_CAST_STARTS = frozenset(["(", "{", "this", "sizeof", "alignof", "true", "false", "nullptr", "new"])


class ExpressionParser(TypeParser):
    """Expressions. ``no_gt``: inside template arguments, where ``>`` closes."""

    def expression(self, no_gt: bool = False) -> ir.Expr:
        self.enter()
        result = self.binary(1, no_gt)
        self.leave()
        return result

    def comma_expression(self) -> ir.Expr:
        first = self.at
        left = self.expression()
        while self.tok == ",":
            self.at += 1
            left = ir.Binary(",", left, self.expression(), self.span(first))
        return left

    # ------------------------------------------------------------ operators

    def operator_here(self, no_gt: bool) -> tuple[str, int] | None:
        """The binary operator at the position and its number of tokens."""
        tok = self.tok
        if tok == ">":
            if no_gt:  # `>=` is a token of its own: inside template arguments only a plain `>` closes
                return (">=", 2) if self.joined(1, "=") else None
            text, count = ">", 1
            while self.peek(count) in (">", "=") and count < 3 and self.adjacent(count):
                text += self.peek(count)
                count += 1
                if text.endswith("="):
                    break
            return (text, count) if text in BINARY else (">", 1)
        if tok == "<=" and self.joined(1, ">"):
            return "<=>", 2
        if tok in BINARY:
            return tok, 1
        if tok == "." and self.peek() == "*" and self.adjacent(1):
            return ".*", 2
        return None

    def binary(self, least: int, no_gt: bool) -> ir.Expr:
        first = self.at
        left = self.unary(no_gt)
        while True:
            found = self.operator_here(no_gt)
            if found is None:
                return left
            op, count = found
            level = BINARY[op]
            if level < least:
                return left
            if self.peek(count) == "..." and self.peek(count + 1) in (")", *_FOLD_OPS):
                return left  # `(pack op ...)`: the fold's
            self.at += count
            if op == "?":
                then = self.expression() if self.tok != ":" else left
                self.take(":")
                other = self.binary(1, no_gt)
                left = ir.Select(left, then, other, self.span(first))
            elif level == 1:
                value = self.braced() if self.tok == "{" else self.binary(1, no_gt)
                left = ir.Binary(op, left, value, self.span(first))
            else:
                right = self.binary(level + 1, no_gt)
                left = ir.Binary(SPELLED.get(op, op), left, right, self.span(first))

    def unary(self, no_gt: bool) -> ir.Expr:
        first = self.at
        tok = self.tok
        if tok in _UNARY or tok in ("not", "compl"):
            self.enter()
            self.at += 1
            operand = self.unary(no_gt)
            self.leave()
            op = {"not": "!", "compl": "~"}.get(tok, tok)
            return ir.Unary(op, operand, self.span(first))
        if tok in ("sizeof", "alignof", "__alignof__", "_Alignof", "noexcept"):
            return self.size_of()
        if tok == "(":
            cast = self.attempt(self.c_cast)
            if cast is not None:
                return cast
        return self.postfix(self.primary(no_gt), first)

    def size_of(self) -> ir.Expr:
        first = self.at
        word = self.tok
        self.at += 1
        if word == "noexcept":
            self.skip_group()
            return self.opaque("noexcept operator", first)
        if word == "sizeof" and self.accept("..."):
            self.take("(")
            operand: ir.Expr = self.qualified_name(in_type=False)
            self.take(")")
            return ir.SizeOf("sizeof...", operand, self.span(first))
        what = "sizeof" if word == "sizeof" else "alignof"
        if self.tok == "(":
            self.at += 1
            operand = self.type_or_expression((")",))
            self.take(")")
        else:
            operand = self.unary(no_gt=False)
        return ir.SizeOf("sizeof" if what == "sizeof" else "alignof", operand, self.span(first))

    def type_or_expression(self, stops: tuple[str, ...]) -> ir.Expr:
        def as_type() -> ir.Expr:
            found = self.type_id(abstract=True)
            if self.tok not in stops:
                raise Fail("not a type")
            return found

        found = self.attempt(as_type)
        return self.comma_expression() if found is None else found

    def c_cast(self) -> ir.Expr:
        """``(T)x``: only where ``T`` can be nothing but a type, or where what follows makes it one."""
        first = self.at
        close = self.closer()
        self.at += 1
        inner = self.at
        target = self.type_id(abstract=True)
        if self.at != close:
            raise Fail("not a cast")
        self.at += 1
        follower = self.tok
        surely_type = isinstance(target, (ir.TypeMod, ir.DeclType, ir.Auto)) or self.texts[inner] in (
            "typename", "struct", "const", *BUILTIN_TYPES,
        )  # fmt: skip
        starts_operand = bool(follower) and (
            (follower[0].isalnum() or follower[0] in "_\"'" or (follower[0] == "." and follower[1:2].isdigit()))
            and (follower not in KEYWORDS or follower in _CAST_STARTS or follower in CASTS)
            and follower not in ("and", "or")
        )
        if not surely_type:
            is_type_word = isinstance(target, ir.Name) and target.ident.endswith("_t")
            starts_operand = starts_operand or (is_type_word and follower in ("(", "-", "!", "~"))
        else:
            starts_operand = starts_operand or follower in _UNARY or follower in ("(", "[", "{")
        if not starts_operand or (follower in BINARY and not surely_type and follower != "-"):
            raise Fail("not a cast")
        if follower == "{":
            return ir.Construct(target, self.brace_arguments(), self.span(first))
        operand = self.unary(no_gt=False)
        return ir.Cast("c", target, operand, self.span(first))

    # ------------------------------------------------------------ primaries

    def primary(self, no_gt: bool) -> ir.Expr:
        first = self.at
        tok = self.tok
        if not tok:
            raise Fail("expected an expression before the end")
        head = tok[0]
        if head.isdigit() or (head == "." and tok[1:2].isdigit()):
            self.at += 1
            return literals.number(tok, self.span(first))
        if head in "\"'" or (head in "uULR" and tok[-1] in "\"'"):
            return self.text_literal()
        if head.isalpha() or head in "_:":
            return self.word_primary(tok)
        if tok == "(":
            return self.parenthesised()
        if tok == "[":
            return self.lambda_()
        if tok == "{":
            return self.braced()
        if tok == "<<<" or head == "#":
            raise Fail(f"unexpected '{tok}'")
        raise Fail(f"expected an expression before '{tok}'")

    def text_literal(self) -> ir.Expr:
        first = self.at
        if self.tok[-1] == "'":
            self.at += 1
            return literals.character(self.texts[first], self.span(first))
        texts: list[str] = []
        while self.tok.endswith('"'):
            texts.append(self.tok)
            self.at += 1
            if self.is_ident() and not self.adjacent() and (self.peek().endswith('"') or self.tok.isupper()):
                self.at += 1  # "a" PRIx64 "b": a macro that the tree does not define
        literal = literals.string(texts, self.span(first))
        if self.is_ident() and self.adjacent():  # "(8,8):(1,8)"_lay
            suffix = ir.Name('operator""' + self.ident(), None, self.span(self.at - 1))
            return ir.Call(suffix, (ir.Arg(literal),), self.span(first))
        return literal

    def word_primary(self, tok: str) -> ir.Expr:
        first = self.at
        if tok in ("true", "false"):
            self.at += 1
            return ir.Lit(tok == "true", "bool", self.span(first))
        if tok == "nullptr":
            self.at += 1
            return ir.Lit(None, "nullptr", self.span(first))
        if tok == "this":
            self.at += 1
            return ir.Name("this", None, self.span(first))
        if tok in CASTS:
            self.at += 1
            self.take("<")
            target = self.type_id(abstract=True)
            self.take(">")
            self.take("(")
            operand = self.comma_expression()
            self.take(")")
            return ir.Cast(tok, target, operand, self.span(first))
        if tok == "decltype":
            return self.scope_rest(self.decltype(), first)
        if tok in ("typename", "const", "auto", "struct", "volatile") or tok in BUILTIN_TYPES:
            return self.type_specifier()
        if tok in ("new", "delete", "throw", "requires", "typeid", "co_await", "co_yield"):
            return self.unsupported_expression(tok)
        return self.qualified_name(in_type=False)

    def unsupported_expression(self, word: str) -> ir.Expr:
        """``new``, ``delete``, ``throw``, ``typeid``, ``requires``: parsed past, not lowered."""
        first = self.at
        self.at += 1
        if word == "requires":
            if self.tok == "(":
                self.skip_group()
            if self.tok == "{":
                self.skip_group()
        elif word == "typeid":
            self.skip_group()
        elif word == "new":
            if self.tok == "(":
                self.skip_group()
            self.type_id(abstract=True, function=False)
            if self.tok in ("(", "{"):
                self.skip_group()
        else:
            if self.tok == "[":
                self.skip_group()
            if self.tok not in (";", ")", ":", ",", ""):
                self.expression()
        return self.opaque(f"{word} expression", first)

    def parenthesised(self) -> ir.Expr:
        first = self.at
        close = self.closer()
        if self.peek() == "{":  # GNU statement expression
            self.at = close + 1
            return self.opaque("statement expression", first)
        self.at += 1
        if self.tok == "...":  # (... op pattern)
            self.at += 1
            op, count = (",", 1) if self.tok == "," else self.operator_here(no_gt=False) or ("", 0)
            self.at += count
            pattern = self.unary_level(op)
            self.take(")")
            return ir.Fold(op, pattern, None, True, self.span(first))
        left_at = self.at
        left = self.expression()
        left_end = self.at
        while self.tok == "," and self.peek() != "...":
            self.at += 1
            left = ir.Binary(",", left, self.expression(), self.span(first + 1))
        if self.tok == ")":
            self.at += 1
            return left
        op, count = (",", 1) if self.tok == "," else self.operator_here(no_gt=False) or ("", 0)
        if not op or self.peek(count) != "...":
            raise Fail(f"unexpected '{self.tok}' in parentheses")
        self.at += count + 1
        if self.tok == ")":
            self.at += 1
            return ir.Fold(op, left, None, False, self.span(first))
        again, count = (",", 1) if self.tok == "," else self.operator_here(no_gt=False) or ("", 0)
        if again != op:
            raise Fail("malformed fold expression")
        self.at += count
        right = self.unary_level(op)
        self.take(")")
        packs = self.source.packs
        in_left, in_right = (
            not packs.isdisjoint(self.texts[a:b]) for a, b in ((left_at, left_end), (left_end, self.at))
        )
        if in_right > in_left or (in_right == in_left and isinstance(left, ir.Lit)):
            return ir.Fold(op, right, left, True, self.span(first))
        return ir.Fold(op, left, right, False, self.span(first))

    def unary_level(self, op: str) -> ir.Expr:
        return self.expression() if op == "," else self.binary(BINARY.get(op, 1) + 1, no_gt=False)

    def braced(self) -> ir.Sequence_:
        first = self.at
        items = self.brace_arguments()
        return ir.Sequence_("init", items, self.span(first))

    def brace_arguments(self) -> tuple[ir.Arg, ...]:
        self.take("{")
        return self.arguments("}")

    def arguments(self, close: str) -> tuple[ir.Arg, ...]:
        args: list[ir.Arg] = []
        while self.tok != close:
            args.append(self.argument())
            if not self.accept(","):
                break
        self.take(close)
        return tuple(args)

    def argument(self) -> ir.Arg:
        first = self.at
        name: str | None = None
        if self.tok == "." and self.is_ident(1) and self.peek(2) in ("=", "{"):  # designated initialiser
            self.at += 1
            name = self.ident()
            self.accept("=")
        value = self.expression()
        if self.accept("..."):
            value = ir.Expand(value, self.span(first))
        return ir.Arg(value, name)

    # ------------------------------------------------------------ postfix

    def postfix(self, base: ir.Expr, first: int) -> ir.Expr:
        while True:
            tok = self.tok
            if tok == "(":
                self.enter()
                self.at += 1
                args = self.arguments(")")
                self.leave()
                base = ir.Call(base, args, self.span(first))
            elif tok == "{" and isinstance(base, (ir.Name, ir.Scoped, ir.DeclType, ir.Auto, ir.TypeMod)):
                self.enter()
                base = ir.Construct(base, self.brace_arguments(), self.span(first))
                self.leave()
            elif tok == "[":
                if self.peek() == "[" and self.partner[self.at + 1] + 1 == self.partner[self.at]:
                    self.skip_group()  # attribute
                    continue
                self.at += 1
                parts = tuple(arg.value for arg in self.arguments("]"))
                base = ir.Index(base, parts, self.span(first))
            elif tok in (".", "->") and not (tok == "." and self.peek() == "*"):
                base = self.member(base, first)
            elif tok in ("++", "--"):
                self.at += 1
                base = ir.Unary("p" + tok, base, self.span(first))
            elif tok == "<<<":
                base = self.launch(base, first)
            else:
                return base

    def member(self, base: ir.Expr, first: int) -> ir.Expr:
        self.at += 1
        named = self.accept("template")
        while True:
            ident = self.unqualified_ident()
            targs = self.maybe_targs(in_type=named)
            if not self.accept("::"):  # x.Base::f: the member is f
                return ir.Attr(base, ident, targs, self.span(first))
            named = self.accept("template")

    def launch(self, base: ir.Expr, first: int) -> ir.Expr:
        start = self.at
        self.at += 1
        args: list[ir.Expr] = []
        while self.tok != ">":
            args.append(self.braced() if self.tok == "{" else self.expression(no_gt=True))
            if not self.accept(","):
                break
        for _ in range(3):
            self.take(">")
        config = ir.LaunchConfig(tuple(args), self.span(start))
        self.take("(")
        return ir.Call(base, self.arguments(")"), self.span(first), config)

    # ------------------------------------------------------------ lambdas

    def lambda_(self) -> ir.Expr:
        first = self.at
        self.skip_group()  # captures: by reference or by value, the evaluator sees the enclosing scope
        tparams: tuple[ir.TParam, ...] = ()
        params: tuple[ir.Param, ...] = ()
        ret: ir.Expr | None = None
        if self.tok == "<":
            tparams = self.template_parameters()
        self.skip_lambda_words()
        if self.tok == "(":
            params = self.parameters()
        self.skip_lambda_words()
        if self.accept("->"):
            ret = self.type_id(abstract=True, function=False)
            self.skip_lambda_words()
        if self.tok != "{":
            raise Fail("expected the body of a lambda")
        body = self.lazy_block(self.at)
        self.skip_group()
        return ir.Lambda(tparams, params, ret, body, self.span(first))

    def skip_lambda_words(self) -> None:
        while True:
            if self.tok in ("mutable", "constexpr", "consteval", "static", "noexcept") or self.tok.startswith("__"):
                self.at += 1
                if self.tok == "(" and self.texts[self.at - 1] in ("noexcept", "__attribute__"):
                    self.skip_group()
            elif self.tok == "[" and self.peek() == "[":
                self.skip_group()
            else:
                return
