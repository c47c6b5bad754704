"""Declarations of namespaces, classes and blocks: the whole lowering."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tree_sitter import Node

from cutecheck.source.cpp.lower import gtest
from cutecheck.source.cpp.lower.blocks import made
from cutecheck.source.cpp.lower.declarators import Declarator
from cutecheck.source.cpp.lower.functions import Heads
from cutecheck.source.cpp.lower.hands import Fail
from cutecheck.source.cpp.lower.names import NAMES
from cutecheck.source.cpp.lower.scopes import DECLARATORS, ScopeLowering
from cutecheck.source.cpp.lower.types import CLASS_KINDS, Specs, inner_declarator, is_width
from cutecheck.source.cpp.words import words
from cutecheck.source.eval import ir

_SILENT = words("access_specifier : ; { } comment attribute_declaration")
_WORDS = re.compile(r"\w+")
_CODE = re.compile(r"\][^\[\];]*\{|&\s*[A-Za-z_]|\w\s*<")  # a lambda, an address, an instance of a template
CONTRACT = "__assume"  # the variable that stands for `// cutecheck: assume E`


class Lowering(ScopeLowering):
    """All layers."""

    # ------------------------------------------------------------ scopes

    def declarations(self, nodes: Sequence[Node], scope: str) -> list[ir.Decl]:
        """Declarations of a scope (``namespace`` or ``class``); one that fails becomes a Note."""
        found: list[ir.Decl] = []
        for node in nodes:
            if node.type in _SILENT:
                continue
            depth = self.depth
            try:
                found.extend(self.declaration(node, scope, ()))
            except (Fail, RecursionError) as error:
                if isinstance(error, RecursionError) and not self.own_stack:
                    raise
                reason = str(error) if isinstance(error, Fail) else "nested too deeply"
                self.depth = depth
                self.note("error", reason, node.start_byte, node.end_byte)
                unread = self.unread_member(node) if scope == "class" else None
                found.extend([] if unread is None else [unread])
        return found

    def declaration(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        kind = node.type
        if kind in CLASS_KINDS:
            return self.lone_class(node, heads)
        method = _DECLARATIONS.get(kind)
        if method is None:
            raise self.bad(node)
        found: list[ir.Decl] = method(self, node, scope, heads)
        return found

    def declaration_statements(self, node: Node) -> list[ir.Stmt]:
        if node.type in ("declaration", "for_range_loop"):
            binding = self.binding(node)
            if binding is not None:
                return [binding]
            expression = self.conjunction(node)
            if expression is not None:
                return [expression]
        stmts: list[ir.Stmt] = []
        for decl in self.declaration(node, "block", ()):
            if isinstance(decl, ir.TopLevel):
                stmts.append(decl.stmt)
            else:
                stmts.append(ir.Local(decl, getattr(decl, "full_span", None) or self.place(node)))
        return stmts

    def conjunction(self, node: Node) -> ir.Stmt | None:
        """``a & b;``, which the grammar takes for a reference ``b``."""
        children = node.children
        if len(children) != 3 or children[1].type != "reference_declarator":
            return None
        if children[0].type not in NAMES or children[1].named_children[0].type != "identifier":
            return None
        if node.type != "declaration" or children[2].type != ";" or node.parent is None:
            return None
        expr = self.reread(node.start_byte, children[2].start_byte)
        return ir.ExprStmt(expr, self.place(node))

    def binding(self, node: Node) -> ir.Stmt | None:
        """``auto [a, b] = e`` and ``for (auto [a, b] : e)``."""
        declarator = node.child_by_field_name("declarator")
        value: Node | None = None
        if declarator is not None and declarator.type == "init_declarator":
            value = declarator.child_by_field_name("value")
            declarator = declarator.child_by_field_name("declarator")
        refers = False
        while declarator is not None and declarator.type == "reference_declarator":
            declarator, refers = declarator.named_children[-1], True
        if declarator is None or declarator.type != "structured_binding_declarator":
            return None
        names = tuple(self.of(part) for part in declarator.named_children)
        if node.type == "for_range_loop":
            span = self.span(node.children[2].start_byte, declarator.end_byte)
            return ir.Bind(names, ir.Name("", None, span), span, refers)
        if value is None:
            value = node.child_by_field_name("value")
        if value is None:
            raise Fail("a structured binding without initialiser")
        self.check(node)
        if value.type in ("argument_list", "initializer_list") and self.of(value.prev_sibling or value) != "=":
            args = self.arguments(value)
            init = args[0].value if args else self.opaque("empty initialiser", value.start_byte, value.end_byte)
        else:
            init = self.expression(value)
        return ir.Bind(names, init, self.place(node), refers)

    # ------------------------------------------------------------ types and what is declared with them

    def lone_class(self, node: Node, heads: Heads) -> list[ir.Decl]:
        made = self.class_(node, heads, named_later=False)
        return [] if made is None else [made]

    def lone_enum(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        self.check(node)
        made = self.enum(node, named_later=False)
        return [] if made is None else [made]

    def base_type(self, node: Node, heads: Heads) -> tuple[list[ir.Decl], ir.Expr, Specs]:
        """The type of a declaration, and what it defines: ``struct { int a; } x;``."""
        kind = node.child_by_field_name("type")
        if kind is None or kind.child_by_field_name("body") is None:
            specs = self.specifiers(node)
            if specs.type is None:
                raise self.bad(node)
            return [], specs.type, specs
        later = node.child_by_field_name("declarator") is not None
        made: ir.Class | ir.Enum | None
        if kind.type == "enum_specifier":
            made = self.enum(kind, named_later=later)
        else:
            made = self.class_(kind, heads, named_later=later)
        specs = Specs(node.start_byte)
        specs.node, specs.begin, specs.end = kind, kind.start_byte, kind.end_byte
        quals: list[str] = []
        for child in node.children:
            if child.type == "type_qualifier":
                self.qualifier(child, specs, quals)
            elif child != kind:
                self.specifier(child, specs)
        assert made is not None
        if isinstance(made, ir.Class) and specs.alignas_ is None:
            specs.alignas_ = made.alignas_ if later and not made.name.startswith("__anonymous") else specs.alignas_
        return [made], ir.Name(made.name, None, made.span), specs

    def simple(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        """``specifiers declarator, declarator;``"""
        children = node.children
        if self.is_untyped(node):
            return self.untyped(node, scope, heads)
        conversion = self.conversion(node, heads)
        if conversion is not None:
            return [conversion]
        found, base, specs = self.base_type(node, heads)
        type_end = -1 if specs.node is None else specs.node.end_byte
        last = len(children)
        for at, child in enumerate(children):
            if child.start_byte < type_end or child.type not in DECLARATORS:
                if child.type == "ERROR" and not is_width(child):
                    raise self.bad(child)
                continue
            if children[at - 1].type in ("=", ":"):
                continue  # the value after a declarator
            stop = at + 1
            while stop < last and children[stop].type not in (",", ";", ":"):
                stop += 1
            ends = (*children[at + 1 : stop], *children[stop : stop + 1])
            if self.text.startswith(":", child.start_byte):  # an unnamed bit-field
                found.append(self.bit_field(base, ends, node))
            else:
                made = self.declared_with(child, children[at + 1 : stop], base, specs, node, scope, heads)
                if node.type == "field_declaration" and isinstance(made, ir.Variable) and any(map(is_width, ends)):
                    made = replace(made, flags=made.flags | {"bits"}, width=self.width(ends))
                if isinstance(made, ir.Variable) and any(c.type == "attribute_declaration" for c in children):
                    text = self.text[node.start_byte : child.start_byte]
                    made = replace(made, flags=made.flags | {"overlaps"}) if "no_unique_address" in text else made
                found.append(
                    self.with_alignment(made, node, child, children[stop].start_byte if stop < last else child.end_byte)
                )
        if node.has_error and not any(child.type == "ERROR" for child in children):
            self.check_outside(node)
        return found

    def check_outside(self, node: Node) -> None:
        """Raise for errors in a declaration that are not in its initialisers, which have dealt with theirs."""
        for child in node.children:
            if child.is_missing and child.type == ";" and self.text[: child.start_byte].rstrip()[-1:] in (")", "}"):
                continue
            if child.type == "init_declarator":
                value = child.child_by_field_name("value")
                for part in child.children:
                    if part != value:
                        self.check(part)
            elif child.has_error and (child.prev_sibling is None or child.prev_sibling.type != "="):
                self.check(child)

    def declared_with(
        self, child: Node, after: Sequence[Node], base: ir.Expr, specs: Specs, node: Node, scope: str, heads: Heads
    ) -> ir.Decl:
        """One declarator of a declaration; ``after``: what follows it up to the next."""
        value: Node | None = None
        assigned = False
        end = child.end_byte
        declarator: Node | None = child
        if child.type == "init_declarator":
            declarator = child.child_by_field_name("declarator")
            value = child.child_by_field_name("value")
            assigned = any(part.type == "=" for part in child.children)
        for at, part in enumerate(after):
            if part.type == "=":
                assigned = True
            elif part.type == "initializer_list" or (assigned and at > 0 and part.is_named):
                value = part
            if part.type not in (",", ";"):
                end = part.end_byte
        named = self.declarator(declarator, base, specs.first)
        if named.function is None:
            if named.name == CONTRACT and value is not None:
                return self.contract(node, value)
            return self.variable(named, specs, heads, node, value, assigned, end)
        if scope == "block":
            params = named.function.child_by_field_name("parameters")
            args = () if params is None else self.parameters_as_arguments(params)
            return self.made_variable(named, specs, heads, node, None, args, end)
        return self.function(node, named, specs, heads)

    def contract(self, node: Node, value: Node) -> ir.Decl:
        cond = self.initialiser(value)
        return ir.TopLevel(ir.Assert("contract", cond, "", self.place(node)))

    def function_definition(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        if self.is_untyped(node):
            return self.untyped(node, scope, heads)
        self.check(node)
        conversion = self.conversion(node, heads)
        if conversion is not None:
            return [conversion]
        found, base, specs = self.base_type(node, ())
        named = self.declarator(node.child_by_field_name("declarator"), base, specs.first)
        if named.function is None:
            raise self.bad(node)
        return [*found, self.function(node, named, specs, heads)]

    def is_untyped(self, node: Node) -> bool:
        """Whether no type is declared; the grammar takes ``explicit`` after other specifiers for one."""
        kind = node.child_by_field_name("type")
        return kind is None or (kind.type == "type_identifier" and self.of(kind) == "explicit")

    def conversion(self, node: Node, heads: Heads) -> ir.Function | None:
        """``constexpr operator bool() const``, where the grammar takes ``operator`` for a type."""
        kind = node.child_by_field_name("type")
        if kind is None or kind.type != "type_identifier" or self.of(kind) != "operator":
            return None
        function = node.child_by_field_name("declarator")
        while function is not None and function.type != "function_declarator":
            function = function.child_by_field_name("declarator") or inner_declarator(function)
        params = None if function is None else function.child_by_field_name("parameters")
        if params is None:
            raise self.bad(node)
        name = "operator " + self.text[kind.end_byte : params.start_byte].strip()
        specs = self.specifiers(node)
        named = Declarator(name, ir.Auto(self.place(kind)), kind, function=function)
        return self.function(node, named, specs, heads, typed=False)

    def untyped(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        """Constructors, destructors, conversions, deduction guides, and macros that look like functions."""
        self.check(node)
        specs = self.specifiers(node)
        if specs.node is not None:
            specs.flags.add("explicit")
        declarator = node.child_by_field_name("declarator")
        if declarator is None:
            raise self.bad(node)
        named = self.declarator(declarator, ir.Auto(self.place(declarator)), specs.first)
        if named.function is None:
            raise self.bad(node)
        known = named.name in (self.class_name, "~" + self.class_name) or named.owner is not None
        if known or named.name.startswith("operator"):
            return [self.function(node, named, specs, heads, typed=False)]
        return self.macro_function(node, named, specs, heads)

    def macro_function(self, node: Node, named: Declarator, specs: Specs, heads: Heads) -> list[ir.Decl]:
        """``TEST(a, b) {...}`` is a function; ``X(a) -> X<A>;`` a deduction guide; ``FOO(x);`` is stepped over."""
        assert named.function is not None
        begin, end = self.name_span(named, node)
        if any(child.type == "trailing_return_type" for child in named.function.children):
            guide = self.function(node, named, specs, heads, typed=False)
            return [replace(guide, name=f"{named.name} guide")]
        body = node.child_by_field_name("body")
        params = named.function.child_by_field_name("parameters")
        span = self.span(begin, end)
        if body is None:
            if named.name in gtest.SUITES and params is not None:
                types = tuple(p.type for p in self.parameters(params) if p.type is not None)
                return gtest.suite(named.name, types, span, self.place(node))
            self.note("macro", self.of(named.function), named.function.start_byte, named.function.end_byte)
            return []
        inner = [] if params is None else _WORDS.findall(self.of(params))
        if named.name in gtest.FIXTURES | gtest.TYPED and len(inner) == 2:
            return gtest.with_fixture(named.name, inner[0], inner[1], self.lazy_block(body), span, self.place(node))
        name = "_".join([named.name, *inner]) if named.name != self.class_name else named.name
        flags = frozenset(specs.flags)
        return [ir.Function(name, None, None, (), ir.Name("void", None, span), self.lazy_block(body), flags, span,
                            self.place(node))]  # fmt: skip

    def expression_declaration(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        """A statement for a declaration: assertions by macro, what registers code; other macros are stepped over."""
        found: list[ir.Decl] = []
        if scope == "namespace" and (guide := self.guide(node)):
            return guide
        if scope == "namespace" and (block := self.registered_block(node)) is not None:
            return [self.registered(node, block)]
        for stmt in self.statement(node):
            if isinstance(stmt, ir.Assert) or (isinstance(stmt, ir.ExprStmt) and isinstance(stmt.expr, ir.Opaque)):
                found.append(ir.TopLevel(stmt))
            elif isinstance(stmt, ir.Local):
                found.append(stmt.decl)
            elif isinstance(stmt, ir.ExprStmt) and (listed := self.suite(stmt.expr)):
                found.extend(listed)
            elif isinstance(stmt, ir.ExprStmt) and scope == "namespace" and _CODE.search(self.of(node)):
                found.append(self.registered(node, made(ir.Block((stmt,), stmt.span))))
            else:
                self.note("macro", self.of(node).rstrip(";"), node.start_byte, node.end_byte)
        return found

    def registered(self, node: Node, body: ir.Lazy) -> ir.Function:
        """``REGISTER("name").set_body([](Args args) {...});`` runs before ``main``: a function that nobody calls."""
        place = self.place(node)
        name, nothing = f"registered@{place.line}:{place.column}", ir.Name("void", None, place)
        return ir.Function(name, None, None, (), nothing, body, frozenset(), place, place)

    def registered_block(self, node: Node) -> ir.Lazy | None:
        """The block of ``AT_START({ ... });``, which is left out of the tree around it."""
        call = node.named_children[0] if len(node.named_children) == 1 else None
        given = call.child_by_field_name("arguments") if call is not None and call.type == "call_expression" else None
        only = given.named_children[0] if given is not None and len(given.named_children) == 1 else None
        block = only is not None and only.type in ("initializer_list", "compound_statement") and ";" in self.of(only)
        return self.lazy_block(only) if block and only is not None and only.start_byte in self.piece.holes else None

    def suite(self, expr: ir.Expr) -> list[ir.Decl]:
        if not isinstance(expr, ir.Call) or not isinstance(expr.fn, ir.Name):
            return []
        return gtest.suite(expr.fn.ident, tuple(a.value for a in expr.args), expr.fn.span, expr.span)

    def statement_declaration(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        return [ir.TopLevel(stmt) for stmt in self.statement(node)]

    def salvaged(self, root: Node) -> Sequence[Node]:
        found: list[Node] = []
        todo = list(reversed(root.children))
        while todo:
            node = todo.pop()
            if node.type in _DECLARATIONS or (node.type in CLASS_KINDS and node.start_byte > 0):
                found.append(node)
            else:
                if node.type == "ERROR":
                    self.note("error", "syntax error", node.start_byte, node.end_byte)
                todo.extend(reversed(node.children))
        return found

    def error(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        """What can be read inside a stretch that the grammar does not have."""
        if scope == "namespace" and (guide := self.guide(node)):
            return guide
        self.note("error", str(self.bad(node)), node.start_byte, node.end_byte)
        inner = [child for child in node.children if child.type in _DECLARATIONS or child.type in CLASS_KINDS]
        return self.declarations(inner, scope)


_D = Lowering
_DECLARATIONS: dict[str, Callable[[Any, Node, str, Heads], list[ir.Decl]]] = {
    "namespace_definition": _D.namespace,
    "linkage_specification": _D.linkage,
    "namespace_alias_definition": _D.namespace_alias,
    "using_declaration": _D.using,
    "alias_declaration": _D.alias,
    "type_definition": _D.typedef,
    "enum_specifier": _D.lone_enum,
    "declaration": _D.simple,
    "field_declaration": _D.simple,
    "for_range_loop": _D.simple,
    "function_definition": _D.function_definition,
    "template_declaration": _D.template,
    "template_instantiation": _D.instantiation,
    "friend_declaration": _D.friend,
    "static_assert_declaration": _D.statement_declaration,
    "expression_statement": _D.expression_declaration,
    "concept_definition": _D.concept,
    "ERROR": _D.error,
}
