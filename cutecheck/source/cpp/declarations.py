"""Declarations of namespaces, classes and blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from cutecheck.source.cpp.classes import ClassParser
from cutecheck.source.cpp.cursor import Fail
from cutecheck.source.cpp.specifiers import Declarator, Specs
from cutecheck.source.cpp.statements import ASSERTS, CONTRACTS, STATIC_ASSERTS
from cutecheck.source.eval import ir

MACROS = STATIC_ASSERTS | ASSERTS | CONTRACTS
Heads = tuple[tuple[ir.TParam, ...], ...]
_FUNCTION_FOLLOW = frozenset(
    ["{", ";", ":", "->", "const", "noexcept", "override", "final", "=", "try", "&", "&&", "requires", "volatile",
     "__attribute__", "[", ",", ""]
)  # fmt: skip


class DeclarationParser(ClassParser):
    """All declarations: the whole parser."""

    # ------------------------------------------------------------ scopes

    def declarations(self, close: int, scope: Literal["namespace", "class"]) -> list[ir.Decl]:
        """Declarations up to token ``close``; one that fails becomes a Note and is stepped over."""
        found: list[ir.Decl] = []
        outer, self.end = self.end, close
        around, self.in_class = self.in_class, scope == "class"
        while self.at < close:
            start = self.at
            try:
                found.extend(self.declaration(scope))
            except (Fail, RecursionError) as error:
                if isinstance(error, RecursionError) and not self.own_stack:
                    raise
                reason = str(error) if isinstance(error, Fail) else "nested too deeply"
                self.depth, self.at, self.end = 0, start, close
                self.skip_statement()
                self.note("error", reason, start, max(start, self.at - 1))
            if self.at == start:
                self.at += 1
        self.end, self.in_class = outer, around
        return found

    def declaration(self, scope: Literal["namespace", "class", "block"]) -> list[ir.Decl]:
        tok = self.tok
        if tok == ";":
            self.at += 1
            return []
        if tok in MACROS and self.peek() == "(":
            return [ir.TopLevel(stmt) for stmt in self.assert_macro()]
        if tok in _BY_WORD:
            method: Callable[[str], list[ir.Decl] | None] = getattr(self, _BY_WORD[tok])
            found = method(scope)
            if found is not None:
                return found
        elif tok in ("alignas", "__align__"):
            aligned = self.attempt(lambda: self.aligned_class(scope))
            if aligned is not None:
                return aligned
        elif scope == "class" and tok in ("public", "private", "protected"):
            self.at += 1
            self.accept(":")
            return []
        return self.simple_declaration(scope, ())

    def block_declaration(self) -> list[ir.Stmt]:
        """A declaration inside a function body, as statements (also ``auto [a, b] = e``)."""
        first = self.at
        binding = self.attempt(self.structured_binding)
        if binding is not None:
            return [binding]
        decls = self.declaration("block")
        stmts: list[ir.Stmt] = []
        for decl in decls:
            if isinstance(decl, ir.TopLevel):
                stmts.append(decl.stmt)
            else:
                stmts.append(ir.Local(decl, getattr(decl, "full_span", None) or self.span(first)))
        return stmts

    def structured_binding(self) -> ir.Stmt:
        first = self.at
        while self.tok in ("const", "auto", "&", "&&", "constexpr", "static"):
            self.at += 1
        if self.tok != "[" or self.at == first:
            raise Fail("not a structured binding")
        self.at += 1
        names: list[str] = []
        while self.tok != "]":
            names.append(self.ident())
            if not self.accept(","):
                break
        self.take("]")
        value: ir.Expr
        if self.accept("="):
            value = self.comma_expression()
        elif self.tok in ("(", "{"):
            args = self.brace_arguments() if self.tok == "{" else self.call_arguments()
            value = args[0].value if args else self.opaque("empty initialiser", first)
        elif self.tok == ":":
            return ir.Bind(tuple(names), ir.Name("", None, self.span(first)), self.span(first))
        else:
            raise Fail("not a structured binding")
        if self.at < self.end:
            self.take(";")
        return ir.Bind(tuple(names), value, self.span(first))

    def call_arguments(self) -> tuple[ir.Arg, ...]:
        self.take("(")
        return self.arguments(")")

    # ------------------------------------------------------------ by first word

    def namespace(self, scope: str) -> list[ir.Decl] | None:
        first = self.at
        if self.tok == "inline":
            if self.peek() != "namespace":
                return None
            self.at += 1
        self.at += 1
        names: list[str] = []
        name_at = first
        while self.is_ident() or self.tok == "::":
            if self.tok not in ("::", "inline"):
                if self.tok == "__attribute__":
                    self.at += 1
                    self.skip_group()
                    continue
                name_at = self.at
                names.append(self.tok)
            self.at += 1
        if self.accept("="):
            target = self.qualified_name(in_type=False)
            self.accept(";")
            return [ir.Using("alias", target, names[-1] if names else "", self.span(first))]
        if self.tok == "[":
            self.skip_group()
        if self.tok != "{":
            raise Fail(f"expected '{{' before '{self.tok}'")
        close = self.partner[self.at] if 0 <= self.partner[self.at] < self.end else self.end
        self.at += 1
        members = tuple(self.declarations(close, "namespace"))
        self.at = min(close + 1, self.end)
        for name in reversed(names[1:]):
            members = (ir.Namespace(name, members, self.span(name_at, name_at)),)
        return [ir.Namespace(names[0] if names else "", members, self.span(name_at, name_at))]

    def extern(self, scope: str) -> list[ir.Decl] | None:
        """``extern "C" { ... }`` and ``extern template ...``."""
        if self.peek() == "template":
            self.skip_statement()
            return []
        if not self.peek().startswith('"'):
            return None
        self.at += 2
        if self.tok != "{":
            return self.declaration("namespace")
        close = self.closer()
        self.at += 1
        members = self.declarations(close, "namespace")
        self.at = close + 1
        return members

    def using(self, scope: str) -> list[ir.Decl] | None:
        return self.using_declaration(None)

    def using_declaration(self, tparams: tuple[ir.TParam, ...] | None) -> list[ir.Decl]:
        first = self.at
        self.take("using")
        if self.accept("namespace"):
            target = self.qualified_name(in_type=False)
            self.accept(";")
            return [ir.Using("namespace", target, "", self.span(first))]
        if self.accept("enum"):
            target = self.qualified_name(in_type=True)
            self.accept(";")
            return [ir.Using("name", target, "", self.span(first))]
        if self.is_ident() and (self.peek() == "=" or (self.peek() == "[" and self.peek(2) == "[")):
            at = self.at
            name = self.ident()
            if self.tok == "[":
                self.skip_group()
            self.take("=")
            if self.tok in ("struct", "class", "union", "enum"):
                defined = self.attempt(lambda: self.class_or_enum((), "typedef"))
                if defined is not None:
                    self.accept(";")
                    return [replace(decl, name=name) for decl in defined if isinstance(decl, (ir.Class, ir.Enum))]
            target = self.alias_target()
            return [ir.Alias(name, tparams, target, self.span(at, at), self.span(first))]
        found: list[ir.Decl] = []
        while True:
            target = self.qualified_name(in_type=True)
            self.accept("...")
            found.append(ir.Using("name", target, "", self.span(first)))
            if not self.accept(","):
                break
        self.accept(";")
        return found

    def alias_target(self) -> ir.Expr:
        """The type after ``using X =`` up to ``;``; what is not a type there becomes Opaque."""
        start = self.at

        def rule() -> ir.Expr:
            found = self.type_id(abstract=True)
            if self.tok != ";" and self.at < self.end:
                raise Fail(f"expected ';' before '{self.tok}'")
            return found

        target = self.attempt(rule)
        if target is None:
            target = self.attempt(self._function_type)
        if target is None:
            self.skip_statement()
            target = self.opaque("type not understood", start, max(start, self.at - 2))
        else:
            self.accept(";")
        return target

    def _function_type(self) -> ir.Expr:
        first = self.at
        inner = self.pointers(self.type_specifier(), first)
        if self.tok != "(":
            raise Fail("not a function type")
        self.skip_group()
        while self.tok in ("const", "noexcept"):
            self.at += 1
        if self.tok != ";":
            raise Fail("not a function type")
        return ir.TypeMod("function", inner, self.span(first))

    def typedef(self, scope: str) -> list[ir.Decl] | None:
        first = self.at
        self.at += 1
        found: list[ir.Decl] = []
        if self.tok in ("struct", "class", "union", "enum"):
            defined = self.attempt(lambda: self.class_or_enum((), "typedef"))
            if defined is not None:
                found.extend(defined)
        if found:
            last = found[-1]
            assert isinstance(last, (ir.Class, ir.Enum))
            base: ir.Expr = ir.Name(last.name, None, last.span)
        else:
            base = self.specifiers(False).type or self.opaque("type not understood", first)
        while self.tok != ";" and self.at < self.end:
            named = self.declarator(base, first)
            kind = named.type
            if self.tok == "(":
                self.skip_group()
                kind = ir.TypeMod("function", kind, self.span(first))
            kind = self.array_suffix(kind, first)
            found.append(ir.Alias(named.name, None, kind, self.span(named.at, named.at), self.span(first)))
            if not self.accept(","):
                break
        self.accept(";")
        return found

    def static_assertion(self, scope: str) -> list[ir.Decl] | None:
        return [ir.TopLevel(stmt) for stmt in self.static_assert()]

    def assembly(self, scope: str) -> list[ir.Decl] | None:
        return [ir.TopLevel(stmt) for stmt in self.asm_statement()]

    def class_declaration(self, scope: str) -> list[ir.Decl] | None:
        """A class or enum definition, or None for an elaborated type in another declaration."""
        return self.attempt(lambda: self.class_or_enum((), scope))

    def aligned_class(self, scope: str) -> list[ir.Decl]:
        """``alignas(128) struct { ... } name;``: the alignment is the variable's."""
        lead = Specs(self.at)
        while self.specifier(lead):
            pass
        if self.tok not in ("struct", "class", "union"):
            raise Fail("not a class")
        return self.class_or_enum((), scope, lead)

    def friend(self, scope: str, heads: Heads = ()) -> list[ir.Decl] | None:
        """Friend functions with a body are functions of the namespace; other friends say nothing."""
        found = self.attempt(lambda: self.simple_declaration("class", heads))
        if found is None:
            self.skip_statement()
            return []
        return [decl for decl in found if isinstance(decl, ir.Function) and decl.body is not None]

    # ------------------------------------------------------------ templates

    def template(self, scope: str) -> list[ir.Decl] | None:
        first = self.at
        if self.peek() != "<":
            return self.explicit_instantiation(first)
        heads: list[tuple[ir.TParam, ...]] = []
        while self.tok == "template":
            self.at += 1
            heads.append(self.template_parameters())
            self.requires_clause()
        tok = self.tok
        if tok == "using":
            return self.using_declaration(heads[-1])
        if tok == "concept":
            self.skip_statement()
            self.note("concept", self.text_of(first, self.at - 1), first)
            return []
        if tok == "friend":
            return self.friend(scope, tuple(heads))
        if tok in ("struct", "class", "union"):
            found = self.attempt(lambda: self.class_or_enum(tuple(heads), scope))
            if found is not None:
                return found
        return self.simple_declaration(scope, tuple(heads))

    def requires_clause(self) -> None:
        """Steps over ``requires ...`` before a declaration; constraints are not evaluated."""
        if not self.accept("requires"):
            return
        first = self.at
        while True:
            while self.tok == "!":
                self.at += 1
            if self.tok == "(":
                self.skip_group()
            elif self.tok == "requires":
                self.unsupported_expression("requires")
            else:
                self.qualified_name(in_type=True)
            if self.tok not in ("&&", "||"):
                break
            self.at += 1
        self.note("requires", self.text_of(first, self.at - 1), first)

    def explicit_instantiation(self, first: int) -> list[ir.Decl]:
        """``template class X<...>;`` and ``template R f<...>(...);``."""
        self.at += 1
        if self.tok in ("struct", "class", "union"):
            self.at += 1
            target = self.qualified_name(in_type=True)
        else:
            specs = self.specifiers(True)
            if specs.type is None:
                raise Fail("expected a type")
            named = self.declarator(specs.type, first)
            span = self.span(named.at, named.at)
            if named.owner is None:
                target = ir.Name(named.name, named.targs, span)
            else:
                target = ir.Scoped(named.owner, named.name, named.targs, span)
            if self.tok == "(":
                self.skip_group()
        while self.at < self.end and self.tok != ";":
            self.at += 1
        self.accept(";")
        return [ir.Instantiate(target, self.span(first))]

    # ------------------------------------------------------------ functions and variables

    def simple_declaration(self, scope: str, heads: Heads) -> list[ir.Decl]:
        """``specifiers declarator, declarator;`` or a function with its body."""
        first = self.at
        specs = self.specifiers(member_macros=scope != "block")
        if specs.type is None:
            return self.untyped_declaration(specs, scope, heads, first)
        if self.tok == ";" or self.at >= self.end:
            self.accept(";")
            return []
        found: list[ir.Decl] = []
        while True:
            named = self.declarator(specs.type, first)
            if self.tok == "(" and named.plain and self.is_function(scope):
                function = self.function(named, specs, heads)
                found.append(function)
                if function.body is not None:
                    return found
            else:
                found.append(self.variable(named, specs, heads, first))
            if not self.accept(","):
                break
        if self.tok == ":" and scope == "block":
            return found  # range-for: the caller goes on
        if self.at < self.end and not self.accept(";"):
            raise Fail(f"expected ';' before '{self.tok}'")
        return found

    def untyped_declaration(self, specs: Specs, scope: str, heads: Heads, first: int) -> list[ir.Decl]:
        """Constructors, destructors, conversions, deduction guides, and macros that look like functions."""
        if not self.is_ident() and self.tok not in ("~", "operator", "::"):
            raise Fail(f"expected a declaration before '{self.tok}'")
        at = self.at
        named = self.declarator(ir.Auto(self.span(at, at)), at)
        if self.tok != "(":
            raise Fail(f"expected a declaration before '{self.texts[at]}'")
        known = named.name in (self.class_name, "~" + self.class_name) or named.owner is not None
        if not known and not named.name.startswith("operator"):
            return self.macro_function(named, specs, first)
        function = self.function(named, specs, heads, typed=False)
        if function.body is None:
            self.accept(";")
        return [function]

    def macro_function(self, named: Declarator, specs: Specs, first: int) -> list[ir.Decl]:
        """``TEST(a, b) {...}`` is a function; ``X(a) -> X<A>;`` a deduction guide; ``FOO(x)`` is stepped over."""
        open_at = self.at
        close = self.closer()
        after = self.texts[close + 1] if close + 1 < self.end else ""
        if after == "->":
            self.at = close + 1
            while self.at < self.end and self.tok != ";":
                self.at += 1
            self.accept(";")
            self.note("deduction guide", named.name, first)
            return []
        self.at = close + 1
        if after == "{":
            inner = [text for text in self.texts[open_at + 1 : close] if text and (text[0].isalnum() or text[0] == "_")]
            name = "_".join([named.name, *inner]) if named.name != self.class_name else named.name
            body = self.lazy_block(self.at)
            self.skip_group()
            span = self.span(named.at, named.at)
            return [ir.Function(name, None, None, (), ir.Name("void", None, span), body, frozenset(specs.flags),
                                span, self.span(first))]  # fmt: skip
        self.accept(";")
        self.note("macro", self.text_of(first, close), first, close)
        return []

    def is_function(self, scope: str) -> bool:
        """Whether ``(`` at the position opens parameters rather than constructor arguments."""
        if scope == "block":
            return False
        start = self.at

        def rule() -> bool:
            self.parameters()
            return self.tok in _FUNCTION_FOLLOW or self.at >= self.end or self.tok.startswith("__")

        found = self.attempt(rule)
        self.at = start
        return bool(found)


_BY_WORD = {
    "template": "template",
    "namespace": "namespace",
    "inline": "namespace",
    "extern": "extern",
    "using": "using",
    "typedef": "typedef",
    "static_assert": "static_assertion",
    "_Static_assert": "static_assertion",
    "asm": "assembly",
    "struct": "class_declaration",
    "class": "class_declaration",
    "union": "class_declaration",
    "enum": "class_declaration",
    "friend": "friend",
}
