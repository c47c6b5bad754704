"""Names, template argument lists and types."""

from __future__ import annotations

from cutecheck.source.cpp.cursor import Cursor, Fail
from cutecheck.source.cpp.words import BUILTIN_TYPES, KEYWORDS, OPERATOR_TOKENS, SPECIFIERS, words
from cutecheck.source.eval import ir

_CV = {"const": "const", "volatile": "volatile"}
_IGNORED_CV = frozenset(["__restrict__", "__restrict", "restrict", "__unaligned"])
_ELABORATED = frozenset(["struct", "class", "union", "enum"])
# After `name<args>` one of these cannot begin an operand, so the `>` before it must have been a bracket.
_NO_OPERAND = words(") , ; ] } . -> ... ? : == != && || / % < <= | ^ > = += -= <<< << |= &= :: or and") | {""}
_MAYBE_OPERAND = words("( { + - * & [")
_DOUBTFUL_OPS = frozenset(["&&", "||", "==", "!=", "<", ">", "<=", ">=", "="])


class TypeParser(Cursor):
    """Names and types. Types and values are one kind of expression in the IR."""

    # ------------------------------------------------------------ names

    def qualified_name(self, in_type: bool) -> ir.Expr:
        """``[::] a<..>::b::template c<..>``; ``in_type``: a ``<`` always opens template arguments."""
        first = self.at
        self.accept("typename")
        base: ir.Expr | None = None
        is_global = self.accept("::")
        while True:
            named = self.accept("template")
            ident = self.unqualified_ident()
            targs = self.maybe_targs(in_type or named)
            if base is None and not is_global:
                base = ir.Name(ident, targs, self.span(first))
            else:
                base = ir.Scoped(base, ident, targs, self.span(first))
            is_global = False
            if self.tok == "::" and (self.is_ident(1) or self.peek() in ("~", "template")):
                self.at += 1
                continue
            return base

    def unqualified_ident(self) -> str:
        """An identifier, ``~X`` or ``operator...``; operators are spelled ``operator()``, ``operator+``."""
        if self.tok == "~":
            self.at += 1
            return "~" + self.ident()
        if self.tok == "operator":
            return self.operator_ident()
        if self.tok in KEYWORDS:
            raise Fail(f"expected a name before '{self.tok}'")
        return self.ident()

    def operator_ident(self) -> str:
        self.take("operator")
        tok = self.tok
        if tok in ("(", "["):
            close = ")" if tok == "(" else "]"
            self.at += 1
            self.take(close)
            return "operator" + tok + close
        if tok in OPERATOR_TOKENS:
            text = tok
            self.at += 1
            while tok in (">", "<", "-") and self.tok in (">", "=") and self.adjacent():
                text += self.tok
                self.at += 1
            return "operator" + text
        if tok in ("new", "delete"):
            self.at += 1
            if self.tok == "[":
                self.skip_group()
            return "operator " + tok
        if tok.startswith('"'):
            self.at += 1
            return 'operator""' + (self.ident() if self.is_ident() else "")
        first = self.at
        self.type_id(abstract=True, function=False)
        return "operator " + self.text_of(first, self.at - 1)

    # ------------------------------------------------------------ template arguments

    def maybe_targs(self, in_type: bool) -> tuple[ir.Expr, ...] | None:
        """Template arguments at the position if there are any; the position moves over them."""
        if self.tok != "<":
            return None
        if self.at in self.targs_memo:
            known = self.targs_memo[self.at]
        else:
            start = self.at
            found = self.attempt(self.template_arguments)
            known = None if found is None else (found, self.at)
            self.targs_memo[start] = known
            self.at = start
        if known is None:
            if in_type:
                raise Fail("no template argument list")
            return None
        args, after = known
        if not in_type and not self._is_template_use(args, after):
            return None
        self.at = after
        return args

    def _is_template_use(self, args: tuple[ir.Expr, ...], after: int) -> bool:
        """Whether ``name < args >`` before token ``after`` is a template-id and not two comparisons."""
        follower = self.texts[after] if after < self.end else ""
        if follower == "=" and self.starts[after - 1] + 1 == self.starts[after]:
            return False  # a < b >= c
        if follower in _NO_OPERAND:
            return True
        if follower not in _MAYBE_OPERAND:
            return False
        tight = self.adjacent()
        doubtful = any(
            isinstance(arg, ir.Select) or (isinstance(arg, ir.Binary) and arg.op in _DOUBTFUL_OPS) for arg in args
        )
        name = self.texts[self.at - 1]
        typelike = name[0].isupper() or name.endswith(("_v", "_t"))
        if doubtful and not tight:
            return False
        if follower == "{":
            return True
        if follower == "(":
            return tight or typelike or len(args) < 2
        return typelike if doubtful or not tight else True

    def template_arguments(self) -> tuple[ir.Expr, ...]:
        """The list ``<...>`` at the position."""
        self.take("<")
        self.enter()
        args: list[ir.Expr] = []
        while self.tok != ">":
            args.append(self.template_argument())
            if not self.accept(","):
                break
        self.take(">")
        self.leave()
        return tuple(args)

    def template_argument(self) -> ir.Expr:
        first = self.at
        arg = self.attempt(self._type_argument)
        if arg is None:
            arg = self.expression(no_gt=True)
        if self.accept("..."):
            arg = ir.Expand(arg, self.span(first))
        if self.tok not in (",", ">"):
            raise Fail(f"unexpected '{self.tok}' in template arguments")
        return arg

    def _type_argument(self) -> ir.Expr:
        result = self.type_id(abstract=True)
        if self.tok not in (",", ">", "..."):
            raise Fail("not a type")
        return result

    # ------------------------------------------------------------ types

    def type_id(self, abstract: bool, function: bool = True) -> ir.Expr:
        """A type with its pointer operators; ``abstract``: also ``T[n]`` and (``function``) ``R(A, B)``."""
        self.enter()
        first = self.at
        result = self.pointers(self.type_specifier(), first)
        if abstract:
            result = self.abstract_suffix(result, first, function)
        self.leave()
        return result

    def type_specifier(self) -> ir.Expr:
        """Everything before the declarator: cv, builtin words, ``typename X::Y``, ``auto``, ``decltype``."""
        first = self.at
        quals: list[str] = []
        words: list[str] = []
        result: ir.Expr | None = None
        while True:
            tok = self.tok
            if tok in _CV:
                quals.append(tok)
                self.at += 1
            elif tok in _IGNORED_CV:
                self.at += 1
            elif tok in BUILTIN_TYPES and result is None:
                words.append(tok)
                self.at += 1
            elif tok in SPECIFIERS and result is None and not words:
                self.loose_flags.add(SPECIFIERS[tok] or "")
                self.at += 1
            elif result is None and not words:
                if tok == "typename" and self.peek() == "decltype":
                    self.at += 1
                    continue
                if tok in _ELABORATED:
                    self.at += 1
                    if self.tok in ("struct", "class"):
                        self.at += 1
                    continue
                if tok == "auto":
                    self.at += 1
                    result = ir.Auto(self.span(first))
                elif tok in ("decltype", "__typeof__", "typeof"):
                    result = self.scope_rest(self.decltype(), first)
                elif self.is_ident() or tok == "::":
                    result = self.qualified_name(in_type=True)
                    if self.is_concept_auto():
                        self.at += 1
                        result = ir.Auto(self.span(first))
                else:
                    raise Fail(f"expected a type before '{tok}'")
            else:
                break
        if result is None:
            result = ir.Name(" ".join(words), None, self.span(first))
        for qual in dict.fromkeys(quals):
            result = ir.TypeMod("const" if qual == "const" else "volatile", result, self.span(first))
        return result

    def is_concept_auto(self) -> bool:
        """``Concept auto x``."""
        return self.tok == "auto"

    def decltype(self) -> ir.Expr:
        first = self.at
        self.at += 1
        if self.tok != "(":
            raise Fail("expected '(' after decltype")
        close = self.closer()
        self.at += 1
        if self.tok == "auto" and self.at + 1 == close:
            self.at += 2
            return ir.DeclType(None, self.span(first))
        operand = self.comma_expression()
        self.take(")")
        return ir.DeclType(operand, self.span(first))

    def scope_rest(self, base: ir.Expr, first: int) -> ir.Expr:
        """``::name<..>`` parts after a base that is not a name (``decltype(x)::value``)."""
        while self.tok == "::":
            self.at += 1
            named = self.accept("template")
            ident = self.unqualified_ident()
            base = ir.Scoped(base, ident, self.maybe_targs(in_type=named), self.span(first))
        return base

    def pointers(self, inner: ir.Expr, first: int) -> ir.Expr:
        while True:
            tok = self.tok
            if tok == "*":
                self.at += 1
                inner = ir.TypeMod("ptr", inner, self.span(first))
            elif tok == "&":
                self.at += 1
                inner = ir.TypeMod("ref", inner, self.span(first))
            elif tok == "&&":
                self.at += 1
                inner = ir.TypeMod("rref", inner, self.span(first))
            elif tok in _CV:
                self.at += 1
                inner = ir.TypeMod("const" if tok == "const" else "volatile", inner, self.span(first))
            elif tok in _IGNORED_CV:
                self.at += 1
            else:
                return inner

    def abstract_suffix(self, inner: ir.Expr, first: int, function: bool = True) -> ir.Expr:
        if self.tok == "(" and function:
            if self.peek() in ("*", "&", "&&") and self.peek(2) == ")":  # T (*)(A) and T (&)[n]
                kind = self.peek()
                self.at += 3
                inner = self.abstract_suffix(inner, first)
                return ir.TypeMod("ptr" if kind == "*" else "ref", inner, self.span(first))
            if isinstance(inner, (ir.Name, ir.TypeMod, ir.Auto)) and (
                not isinstance(inner, ir.Name) or inner.ident.split(" ")[0] in BUILTIN_TYPES
            ):
                self.parameters()
                while self.tok in ("const", "noexcept", "&", "&&"):
                    self.at += 1
                return ir.TypeMod("function", inner, self.span(first))
            raise Fail("not a type")
        return self.array_suffix(inner, first)

    def array_suffix(self, inner: ir.Expr, first: int) -> ir.Expr:
        """``[n][m]``: an array of n arrays of m."""
        extents: list[ir.Expr | None] = []
        while self.tok == "[" and self.peek() != "[":
            close = self.closer()
            self.at += 1
            extents.append(None if self.at == close else self.comma_expression())
            self.take("]")
        for extent in reversed(extents):
            inner = ir.TypeMod("array", inner, self.span(first), extent)
        return inner
