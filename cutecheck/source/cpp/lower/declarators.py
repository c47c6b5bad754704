"""Declarators, parameters and template parameters."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from cutecheck.source.cpp.lower.hands import Fail
from cutecheck.source.cpp.lower.names import NAMES
from cutecheck.source.cpp.lower.statements import StatementLowering
from cutecheck.source.cpp.lower.types import inner_declarator
from cutecheck.source.eval import ir

_NAMED = NAMES | {"operator_cast"}


@dataclass(slots=True)
class Declarator:
    """A declared name with its type. ``owner`` is set for ``X<T>::name``; ``function`` for functions."""

    name: str
    type: ir.Expr
    node: Node | None  # of the name
    owner: ir.Expr | None = None
    targs: tuple[ir.Expr, ...] | None = None
    function: Node | None = None  # the declarator with the parameters
    pack: bool = False


class DeclaratorLowering(StatementLowering):
    """The parts that declarations share."""

    def declarator(self, node: Node | None, inner: ir.Expr, first: int) -> Declarator:
        """The name and the type that a declarator makes of the specifiers' type ``inner``."""
        arrays_end = limit = -1
        plain = True
        pack = False
        function: Node | None = None
        while node is not None:
            kind = node.type
            if kind in _NAMED and self.text[node.start_byte : node.end_byte].isspace():
                break  # a name that only the grammar needs
            if kind in _NAMED:
                return self.declared(node, inner, function, pack)
            if kind != "array_declarator":
                arrays_end = -1
            following = node.child_by_field_name("declarator")
            if kind in ("pointer_declarator", "reference_declarator", "pointer_type_declarator"):
                array = inner_declarator(node) if self.text[node.start_byte - 1] == "(" else None
                while array is not None and array.type == "array_declarator":  # `T (&x)[n]`, its brackets hidden
                    size = array.child_by_field_name("size")
                    extent = None if size is None else self.expression(size)
                    limit = node.end_byte
                    inner = ir.TypeMod("array", inner, self.span(first, limit), extent)
                    array = following = array.child_by_field_name("declarator")
                inner = self.pointer(node, inner, first, limit)
            elif kind == "array_declarator":
                arrays_end = max(node.end_byte if arrays_end < 0 else arrays_end, limit)
                size = node.child_by_field_name("size")
                extent = None if size is None else self.expression(size)
                inner = ir.TypeMod("array", inner, self.span(first, arrays_end), extent)
            elif kind == "function_declarator":
                if following is not None and following.type in _NAMED and plain:
                    function = node
                else:
                    inner = ir.TypeMod("function", inner, self.span(first, node.end_byte), params=self.taken(node))
                    limit = max(limit, node.end_byte)
            elif kind == "parenthesized_declarator":
                plain = False
                limit = max(limit, node.end_byte, arrays_end)
            elif kind == "variadic_declarator":
                pack = True
            elif kind.startswith("abstract_"):
                return Declarator("", self.abstract(node, inner, first), None, pack=pack)
            elif kind != "attributed_declarator":
                raise self.bad(node)
            limit = max(limit, arrays_end) if not plain or arrays_end >= 0 else limit
            node = following if following is not None else inner_declarator(node)
        return Declarator("", inner, None, pack=pack)

    def declared(self, node: Node, inner: ir.Expr, function: Node | None, pack: bool) -> Declarator:
        """A declared name: ``x``, ``f<int>``, ``X<T>::f``, ``operator bool``."""
        owner: ir.Expr | None = None
        first = node.start_byte
        is_global = False
        while node.type == "qualified_identifier":
            scope, name = node.child_by_field_name("scope"), node.child_by_field_name("name")
            if name is None:
                raise self.bad(node)
            if scope is None:
                is_global = True
            else:
                owner = self.name_part(scope, owner, is_global, first)
                is_global = False
            node = name
        targs: tuple[ir.Expr, ...] | None = None
        if node.type == "dependent_name":
            node = node.children[-1]
        if node.type in ("template_function", "template_method", "template_type"):
            targs = self.template_arguments(node.children[-1])
            node = node.children[0]
        if node.type == "operator_cast":
            kind = node.child_by_field_name("type")
            rest = node.child_by_field_name("declarator")
            while rest is not None and rest.type != "abstract_function_declarator":
                rest = rest.child_by_field_name("declarator") or inner_declarator(rest)
            if kind is None or rest is None:
                raise self.bad(node)
            text = self.text[node.children[0].end_byte : rest.start_byte].strip()
            return Declarator("operator " + text, inner, node.children[0], owner, None, rest, pack)
        ident = self.ident(node)
        cut = ident.rfind("::")
        if cut > 0 and "<" in ident[:cut] and ">" not in ident[cut:]:  # `X<T>::Y<I>::f`, seen as one name
            owner, ident = self.reread_type(first, node.start_byte + cut), ident[cut + 2 :]
        elif cut >= 0:
            *outer, ident = ident.split("::")
            at = node.start_byte
            for part in outer:
                at += len(part)
                if part:
                    owner = self.name_of(part, None, owner, is_global, first, at)
                is_global = not part
                at += 2
        return Declarator(ident, inner, node, owner, targs, function, pack)

    def name_span(self, named: Declarator, default: Node) -> tuple[int, int]:
        """Where the declared name stands; of an operator its word."""
        node = named.node
        if node is None:
            return default.start_byte, default.end_byte
        if node.type == "destructor_name":
            return node.end_byte - len(named.name) + 1, node.end_byte
        if node.type == "operator" or self.text.startswith("operator", node.start_byte):
            return node.start_byte, node.start_byte + len("operator")
        return node.end_byte - len(named.name), node.end_byte

    # ------------------------------------------------------------ parameters

    def taken(self, node: Node) -> tuple[ir.Expr, ...] | None:
        """The types of what a function takes, in the declarator of a pointer to it."""
        listed = next((c for c in node.children if c.type == "parameter_list"), None)
        given = None if listed is None else self.attempt(lambda: self.parameters(listed))
        if given is None or any(p.kind == "varargs" or p.type is None for p in given):
            return None
        types = ((p.type, p) for p in given if p.type is not None)
        return tuple(ir.Expand(t, p.span) if p.pack and not isinstance(t, ir.Expand) else t for t, p in types)

    def parameters(self, node: Node) -> tuple[ir.Param, ...]:
        found: list[ir.Param] = []
        for part in node.children:
            if part.is_named:
                found.append(self.parameter(part))
            elif part.type == "...":
                found.append(ir.Param("", None, None, True, self.place(part), "varargs"))
        if (
            len(found) == 1
            and not found[0].name
            and self.text[node.start_byte + 1 : node.end_byte - 1].strip() == "void"
        ):
            return ()
        return tuple(found)

    def parameter(self, node: Node) -> ir.Param:
        kind = node.type
        if kind == "explicit_object_parameter_declaration":
            node = node.named_children[-1]
        elif kind not in ("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"):
            raise self.bad(node)
        specs = self.specifiers(node)
        if specs.type is None:
            raise self.bad(node)
        named = self.declarator(node.child_by_field_name("declarator"), specs.type, specs.begin)
        inner = named.type
        if isinstance(inner, ir.TypeMod) and inner.kind == "array" and "shared" not in specs.flags:
            inner = ir.TypeMod("ptr", inner.inner, inner.span)  # arrays decay
        default_node = node.child_by_field_name("default_value")
        default = None if default_node is None else self.expression(default_node)
        begin, end = self.name_span(named, node)
        declared = None if isinstance(inner, ir.Auto) and inner.constraint is None else inner
        return ir.Param(named.name, declared, default, named.pack, self.span(begin, end))

    def template_parameters(self, node: Node) -> tuple[ir.TParam, ...]:
        return tuple([self.template_parameter(part) for part in node.named_children])

    def template_parameter(self, node: Node) -> ir.TParam:
        kind = node.type
        if kind in ("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"):
            specs = self.specifiers(node)
            if specs.type is None:
                raise self.bad(node)
            named = self.declarator(node.child_by_field_name("declarator"), specs.type, specs.begin)
            default_node = node.child_by_field_name("default_value")
            default = None if default_node is None else self.expression(default_node)
            begin, end = self.name_span(named, node)
            return ir.TParam(named.name, "value", named.type, default, named.pack, self.span(begin, end))
        whole = node
        template = kind == "template_template_parameter_declaration"
        if template:
            node = node.named_children[-1]
        if node.type not in (
            "type_parameter_declaration", "optional_type_parameter_declaration", "variadic_type_parameter_declaration",
        ):  # fmt: skip
            raise self.bad(node)
        default_node = node.child_by_field_name("default_type")
        name_node = node.child_by_field_name("name")
        if name_node is None:
            name_node = next(
                (c for c in node.named_children if c.type == "type_identifier" and c != default_node), None
            )
        if name_node is not None and default_node is not None and name_node.start_byte >= default_node.start_byte:
            name_node = None
        default = None if default_node is None else self.template_argument(default_node)
        pack = node.type == "variadic_type_parameter_declaration"
        name = "" if name_node is None else self.of(name_node)
        span = self.place(whole if name_node is None else name_node)
        return ir.TParam(name, "template" if template else "type", None, default, pack, span)

    def alias_type(self, node: Node) -> ir.Expr:
        """The type after ``using X =``; what is not understood there becomes Opaque."""
        found = self.attempt(lambda: self.checked_type(node))
        if found is None:
            return self.opaque("type not understood", node.start_byte, node.end_byte)
        return found

    def checked_type(self, node: Node) -> ir.Expr:
        self.check(node)
        if node.type != "type_descriptor":
            raise Fail("not a type")
        specs = self.specifiers(node)
        if specs.type is None:
            raise self.bad(node)
        declarator = node.child_by_field_name("declarator")
        if declarator is None:
            return specs.type
        return self.abstract(declarator, specs.type, specs.begin)
