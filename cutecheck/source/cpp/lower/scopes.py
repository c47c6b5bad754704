"""Namespaces, using declarations, aliases, templates: declarations that hold or name others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from tree_sitter import Node

from cutecheck.source.cpp.lower.classes import ClassLowering
from cutecheck.source.cpp.lower.functions import Heads
from cutecheck.source.cpp.lower.names import NAMES
from cutecheck.source.cpp.lower.types import CLASS_KINDS, Specs
from cutecheck.source.cpp.words import words
from cutecheck.source.eval import ir

DECLARATORS = NAMES | words(
    """init_declarator pointer_declarator reference_declarator array_declarator function_declarator operator_cast
    parenthesized_declarator attributed_declarator structured_binding_declarator pointer_type_declarator"""
)


_TO_MEMBER = re.compile(r"::\s*\*\s*(\w+)\s*\)?[^)]*\)?\s*[;={]")
_LAST_NAME = re.compile(r"\b([^\W\d]\w*)\s*(?:\[[^\];]*\]\s*)*(?:[={][^;]*)?;")  # of what is no function
_WORD = re.compile(r"\w+")
_CHANGED = "an alias with an alignment, or a vector, of its own"
_GUIDE = re.compile(r"\s*(?:explicit\s+)?(\w+)\s*\([^;{}]{0,400}\)\s*->\s*\1\s*<")


class ScopeLowering(ClassLowering):
    """Declarations around and about others."""

    def guide(self, node: Node) -> list[ir.Decl]:
        """``X(char const*) -> X<int>;``, which the grammar has as a template alone."""
        found = _GUIDE.match(self.text, node.start_byte)
        if found is None:
            return []
        begin, end = node.start_byte, self.text.find(";", found.end())

        def lower(other: ClassLowering) -> list[ir.Decl]:
            return other.declarations(other.piece.root.children, "namespace")

        read = self.attempt(lambda: self.reread_as("template <class> ", begin, end, ";", lower))
        functions = [d for d in read or () if isinstance(d, ir.Function)]
        return [replace(d, tparams=None) for d in functions if d.name == f"{found[1]} guide"]

    def declaration(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        raise NotImplementedError

    def base_type(self, node: Node, heads: Heads) -> tuple[list[ir.Decl], ir.Expr, Specs]:
        """The type of a declaration, and what it defines: ``struct { int a; } x;``."""
        raise NotImplementedError

    def namespace(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        body, name_node = node.child_by_field_name("body"), node.child_by_field_name("name")
        if body is None:
            raise self.bad(node)
        names: list[Node] = []
        inline: set[int] = set()  # which of them say `inline`: their names are those of what is around them
        if name_node is not None:
            todo = [child for child in node.children if child.type == "inline"] + [name_node]
            while todo:
                part = todo.pop(0)
                if part.type == "nested_namespace_specifier":
                    todo[:0] = part.children
                elif part.type == "inline":
                    inline.add(len(names))
                elif part.is_named:
                    names.append(part)
        made = self.declarations(body.children[1:], "namespace")
        span = self.place(names[-1] if names else node.children[0])
        for at, name in reversed([*enumerate(map(self.of, names) if names else ("",))]):
            made = [ir.Namespace(name, tuple(made), span)]
            if name and at in inline:
                made.append(ir.Using("namespace", ir.Name(name, None, span), "", span))
        return made

    def linkage(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        body = node.child_by_field_name("body")
        if body is None:
            raise self.bad(node)
        if body.type == "declaration_list":
            return self.declarations(body.children[1:], "namespace")
        return self.declaration(body, "namespace", heads)

    def namespace_alias(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        name, target = node.named_children[0], node.named_children[-1]
        parts = [self.of(part) for part in target.named_children] or [self.of(target)]
        joined: ir.Expr | None = None
        begin = end = target.start_byte
        is_global = self.of(target).startswith("::")
        for part in "::".join(parts).removeprefix("::").split("::"):
            part = part.strip()
            end = self.text.index(part, end) + len(part)
            joined = self.name_of(part, None, joined, is_global and joined is None, begin, end)
        assert joined is not None
        return [ir.Using("alias", joined, self.of(name), self.place(node))]

    def using(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        self.check(node)
        words = [child.type for child in node.children]
        kind: Literal["namespace", "name", "enum"] = (
            "namespace" if "namespace" in words else "enum" if "enum" in words else "name"
        )
        found: list[ir.Decl] = []
        for target in node.named_children:
            name = self.name(target)
            span = self.span(node.start_byte, target.end_byte)
            found.append(ir.Using(kind, name, "", span))
        return found

    def alias(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        name, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is None or kind is None:
            raise self.bad(node)
        specifier = kind.child_by_field_name("type")
        if specifier is not None and specifier.child_by_field_name("body") is not None:
            if specifier.type == "enum_specifier":
                enum = self.enum(specifier, named_later=False)
                return [] if enum is None else [replace(enum, name=self.of(name))]
            made = self.class_(specifier, (), named_later=False)
            return [] if made is None else [replace(made, name=self.of(name))]
        changed = self.changes(node.start_byte, kind.end_byte)
        if changed:
            target: ir.Expr = self.opaque(_CHANGED, node.start_byte, node.end_byte)
        elif any(child.type == "ERROR" for child in node.children):
            target = self.misread_target(node)
        else:
            target = self.alias_type(kind)
        tparams = heads[-1] if heads else None
        return [ir.Alias(self.of(name), tparams, target, self.place(name), self.place(node))]

    def misread_target(self, node: Node) -> ir.Expr:
        """The type of an alias of which the grammar took a part alone for the type: read once more without the rest."""
        equals = next((child for child in node.children if child.type == "="), None)
        if equals is not None and node.children[-1].type == ";":
            begin, end = equals.end_byte, node.children[-1].start_byte
            found = self.attempt(lambda: self.reread_type(begin, end))
            if found is not None:
                return found
        return self.opaque("type not understood", node.start_byte, node.end_byte)

    def typedef(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        self.check(node)
        found, base, specs = self.base_type(node, heads=())
        for child in node.named_children:
            if specs.node is not None and child.start_byte >= specs.node.end_byte and child.type in DECLARATORS:
                named = self.declarator(child, base, specs.first)
                kind = named.type
                if named.function is not None:
                    kind = ir.TypeMod("function", kind, self.span(specs.first, child.end_byte))
                begin, end = self.name_span(named, child)
                if not found or not isinstance(found[0], ir.Class):
                    changed = self.changes(node.start_byte, node.end_byte)
                    kind = self.opaque(_CHANGED, specs.first, child.end_byte) if changed else kind
                found.append(
                    ir.Alias(named.name, None, kind, self.span(begin, end), self.span(specs.first, child.end_byte))
                )
        return found

    def template(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        params = node.child_by_field_name("parameters")
        inner = node.children[-1]
        if params is None:
            raise self.bad(node)
        self.check(params)
        for child in node.children:
            if child.type == "ERROR":
                raise self.bad(child)
        if inner.type == ";":
            inner = node.children[-2]
        asked = self.constraints(node)
        found = self.declaration(inner, scope, (*heads, self.template_parameters(params)))
        if not asked:
            return found
        return [
            replace(d, constraints=(*asked, *d.constraints))
            if isinstance(d, (ir.Function, ir.Class, ir.Variable))
            else d
            for d in found
        ]

    def instantiation(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        """``template class X<...>;`` and ``template R f<...>(...);``."""
        if node.children[0].type == "extern":
            return []
        kind, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        span = self.place(node)
        if kind is not None and kind.type in CLASS_KINDS:
            name = kind.child_by_field_name("name")
            if name is None:
                raise self.bad(node)
            return [ir.Instantiate(self.name(name), span)]
        specs = self.specifiers(node)
        named = self.declarator(declarator, specs.type or ir.Auto(span), specs.first)
        at = self.span(*self.name_span(named, node))
        lists = [] if named.function is None else [p for p in named.function.children if p.type == "parameter_list"]
        params = self.parameters(lists[0]) if lists else None
        if named.owner is None:
            return [ir.Instantiate(ir.Name(named.name, named.targs, at), span, None, params)]
        return [ir.Instantiate(ir.Scoped(named.owner, named.name, named.targs, at), span, None, params)]

    def concept(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        self.note("concept", self.of(node), node.start_byte, node.end_byte)
        name, asked = node.child_by_field_name("name"), node.named_children[-1]
        if name is None or not heads:
            return []
        kind = ir.Name("bool", None, self.place(name))
        flags = frozenset({"constexpr", "concept"})
        init = self.condition_of(asked)
        return [
            ir.Variable(self.of(name), kind, init, None, flags, None, self.place(name), self.place(node), heads[-1])
        ]

    def friend(self, node: Node, scope: str, heads: Heads) -> list[ir.Decl]:
        """Friend functions that are defined here are functions of the namespace; other friends say nothing."""
        specs = Specs(node.start_byte)
        for child in node.children:
            self.specifier(child, specs)
        found: list[ir.Decl] = []
        for child in node.named_children:
            if child.type in ("function_definition", "declaration"):
                for decl in self.declaration(child, "class", heads):
                    if isinstance(decl, ir.Function) and (
                        decl.body is not None or decl.flags & {"deleted", "defaulted"}
                    ):
                        flags = decl.flags | specs.flags | {"friend"}
                        found.append(replace(decl, flags=flags, full_span=self.place(node)))
        return found

    def bit_field(self, base: ir.Expr, ends: Sequence[Node], node: Node) -> ir.Variable:
        """``int : 3;``, of which only the room counts."""
        place = self.place(node)
        flags = frozenset(("static", "bits"))
        return ir.Variable("", base, None, None, flags, None, place, place, width=self.width(ends))

    def width(self, ends: Sequence[Node]) -> ir.Expr | None:
        """How many bits a bit-field has, from what follows its name; with a value after it that is an error's part."""
        parts = [part for end in ends for part in (end.children if end.type == "ERROR" else (end,))]
        clause = next((p for p in parts if p.type == "bitfield_clause" and p.named_child_count == 1), None)
        return None if clause is None else self.attempt(lambda: self.expression(clause.named_children[0]))

    def unread_member(self, node: Node) -> ir.Variable | None:
        """A data member that is not understood, which takes room in objects of the class."""
        name = _TO_MEMBER.search(self.text, node.start_byte, node.end_byte)
        what = "a pointer to a member"
        if name is None and node.type == "field_declaration" and "static" not in _WORD.findall(self.of(node)):
            name, what = _LAST_NAME.search(self.text, node.start_byte, node.end_byte), "a member that is not understood"
        if name is None:
            return None
        place, kind = self.place(node), self.opaque(what, node.start_byte, node.end_byte)
        return ir.Variable(name[1], kind, None, None, frozenset(), None, place, place)

    def with_alignment(self, made: ir.Decl, node: Node, child: Node, end: int) -> ir.Decl:
        """A variable with what attributes in front of a declaration or after a name ask of its alignment."""
        if not isinstance(made, ir.Variable) or made.alignas_ is not None or "aligned" not in self.of(node):
            return made
        own = re.compile("[={]").search(self.text, child.start_byte, end)
        asked = self.asked(node.start_byte, node.children[0].end_byte)
        asked = self.asked(child.start_byte, end if own is None else own.start()) or asked
        return made if asked is None else replace(made, alignas_=asked)
