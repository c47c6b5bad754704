"""Template argument lists, specifiers and types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial

from tree_sitter import Node

from cutecheck.source.cpp.lower.names import NameLowering
from cutecheck.source.cpp.words import BUILTIN_TYPES, SPECIFIERS, words
from cutecheck.source.eval import ir

_IDENTIFIERS = words("identifier type_identifier")
CLASS_KINDS = words("struct_specifier class_specifier union_specifier")
_ATTRIBUTES = words("attribute_specifier attribute_declaration ms_declspec_modifier ms_call_modifier")
QUALIFIED = {"const": "const", "volatile": "volatile"}

ATTRIBUTE = re.compile(r"\b__attribute__\s*\(\s*\([^;{}]*?\)\s*\)|\[\[[^;{}]*?\]\]")
_OF_A_TYPE = re.compile(r"\b(?:__)?(?:aligned|vector_size|ext_vector_type)(?:__)?\s*\(")
ALIGNED = re.compile(r"\b(?:__)?aligned(?:__)?\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")


@dataclass(slots=True)
class Specs:
    """What stands before the declarators of a declaration, and where its type does."""

    first: int
    flags: set[str] = field(default_factory=set)
    alignas_: ir.Expr | None = None
    launch_bounds: tuple[ir.Expr, ...] = ()
    cluster_dims: tuple[ir.Expr, ...] = ()
    type: ir.Expr | None = None
    node: Node | None = None  # of the type
    begin: int = -1  # of the type with its qualifiers
    end: int = -1


def _gives_array(declarator: Node) -> bool:
    """``(x)[0]`` behind a type: that of a function that gives an array, which there is none of."""
    inner: Node | None = declarator
    while inner is not None and inner.type == "abstract_array_declarator":
        inner = inner.child_by_field_name("declarator")
    return (
        inner is not None
        and inner is not declarator
        and inner.type == "abstract_function_declarator"
        and inner.child_by_field_name("declarator") is None
    )


class TypeLowering(NameLowering):
    """Types. Types and values are one kind of expression in the IR."""

    # ------------------------------------------------------------ template arguments

    def template_arguments(self, node: Node) -> tuple[ir.Expr, ...]:
        self.enter()
        found = tuple([self.template_argument(part) for part in node.named_children])
        self.depth -= 1
        return found

    def template_argument(self, node: Node) -> ir.Expr:
        kind = node.type
        if kind == "type_descriptor":
            return self.descriptor(node)
        if kind == "parameter_pack_expansion":
            return ir.Expand(self.template_argument(node.children[0]), self.place(node))
        if kind == "subscript_expression":  # T[n] is a type here
            extents = []
            while node.type == "subscript_expression":  # the last extent is that of the innermost arrays
                extents.append((self.place(node), self.arguments(node.children[-1])))
                node = node.children[0]
            inner = self.expression(node)
            for place, given in extents:
                inner = ir.TypeMod("array", inner, place, given[0].value if given else None)
            return inner
        return self.expression(node)

    # ------------------------------------------------------------ types

    def descriptor(self, node: Node) -> ir.Expr:
        """A type with its abstract declarator."""
        specs = self.specifiers(node)
        declarator = node.child_by_field_name("declarator")
        if specs.type is None:
            raise self.bad(node)
        if declarator is None:
            return specs.type
        if (
            declarator.type == "abstract_function_declarator"
            and declarator.child_by_field_name("declarator") is None  # `R(*)(T)` is no call
            and (is_plain_name(specs.type) or self.text.startswith("sizeof", declarator.start_byte + 1))
        ):
            return self.as_expression(node)  # f(x) is a call, not the type of a function
        if is_plain_name(specs.type) and _gives_array(declarator):
            return self.as_expression(node)  # f(x)[0]: no function gives an array
        return self.abstract(declarator, specs.type, specs.begin)

    def specifiers(self, node: Node) -> Specs:
        """Specifiers, qualifiers and the type among the children of a node."""
        specs = Specs(node.start_byte)
        quals: list[str] = []
        kind_node: Node | None = node.child_by_field_name("type")
        kind_at = -1 if kind_node is None else kind_node.start_byte
        for child in node.children:
            kind = child.type
            if kind_node is not None and child.start_byte == kind_at and specs.node is None and child == kind_node:
                specs.node = child
                if specs.begin < 0:
                    specs.begin = child.start_byte
                specs.end = child.end_byte
            elif kind == "type_qualifier":
                self.qualifier(child, specs, quals)
            elif not self.specifier(child, specs):
                if kind == "ERROR" and not is_width(child):
                    raise self.bad(child)
                if specs.node is not None:
                    break
        if node.type == "for_range_loop":
            specs.first = specs.begin
        if self.piece.blanks:
            declarator = node.child_by_field_name("declarator")
            self.hidden(specs.first, node.end_byte if declarator is None else declarator.start_byte, specs, quals)
        if kind_node is not None:
            for child in kind_node.children if kind_node.type == "sized_type_specifier" else ():
                if child.type == "type_qualifier":  # `unsigned const`
                    self.qualifier(child, specs, quals)
            found = self.plain_type(kind_node, specs)
            for qual in dict.fromkeys(quals):
                found = ir.TypeMod("const" if qual == "const" else "volatile", found, self.span(specs.begin, specs.end))
            if "const" in quals:
                specs.flags.add("const")
            specs.type = found
        return specs

    def hidden(self, begin: int, end: int, specs: Specs, quals: list[str]) -> None:
        """Specifiers that were blanked before the grammar saw the text, between two offsets or just before them."""
        for blank in reversed(self.piece.blanks_in(max(0, begin - 400), begin)):
            if self.text[blank.end : begin].strip() not in ("", "friend", "extern", "static", "inline"):
                break
            begin = blank.begin
        for blank in self.piece.blanks_in(begin, end):
            text = self.text[blank.begin : blank.end]
            if blank.kind == "specifier":
                flag = SPECIFIERS.get(text.strip())
                if flag is not None:
                    specs.flags.add(flag)
            elif blank.kind == "const":
                quals.append("const")
            elif blank.kind in ("alignas", "launch_bounds", "cluster_dims"):
                inner = blank.begin + text.index("(") + 1
                args = self.reread_arguments(inner, blank.end - 1)
                if blank.kind == "launch_bounds":
                    specs.launch_bounds = tuple([arg.value for arg in args])
                elif blank.kind == "cluster_dims":
                    specs.cluster_dims = tuple([arg.value for arg in args])
                elif args:
                    specs.alignas_ = self.as_alignment(args[0].value, inner - 1, blank.end)
            elif blank.kind == "attribute" and (asked := self.asked(blank.begin, blank.end)) is not None:
                specs.alignas_ = asked

    def asked(self, begin: int, end: int) -> ir.Expr | None:
        """The alignment of ``__attribute__((aligned(16)))`` or ``[[gnu::aligned(16)]]`` between two offsets."""
        for attribute in ATTRIBUTE.finditer(self.text, begin, end):
            found = ALIGNED.search(self.text, *attribute.span())
            if found is not None:
                return self.attempt(partial(self.reread, *found.span(1)))
        return None

    def changes(self, begin: int, end: int) -> bool:
        """Whether an attribute between two offsets makes another type of the one that an alias names."""
        return any(_OF_A_TYPE.search(self.text, *a.span()) for a in ATTRIBUTE.finditer(self.text, begin, end))

    def qualifier(self, node: Node, specs: Specs, quals: list[str]) -> None:
        word = self.of(node)
        if word in QUALIFIED:
            quals.append(word)
            if specs.begin < 0:
                specs.begin = node.start_byte
            specs.end = node.end_byte
        elif node.children and node.children[0].type == "alignas_qualifier":
            self.aligned(node.children[0], specs)
        else:
            flag = SPECIFIERS.get(word)
            if flag is not None:
                specs.flags.add(flag)

    def specifier(self, node: Node, specs: Specs) -> bool:
        """Take a specifier that is no part of the type; False if the node is none."""
        kind = node.type
        if kind in SPECIFIERS:
            flag = SPECIFIERS[kind]
        elif kind == "storage_class_specifier":
            flag = SPECIFIERS.get(self.of(node))
        elif kind == "explicit_function_specifier":
            flag = "explicit"
        elif kind == "alignas_qualifier":
            self.aligned(node, specs)
            return True
        elif kind == "launch_bounds":
            specs.launch_bounds = tuple([self.expression(part) for part in node.named_children])
            return True
        else:
            return kind in _ATTRIBUTES
        if flag is not None:
            specs.flags.add(flag)
        return True

    def aligned(self, node: Node, specs: Specs) -> None:
        """``alignas``, which compilers ignore behind a type (``char alignas(8) c``); ``__align__`` they do not."""
        if specs.node is None or not self.of(node).startswith("alignas"):
            specs.alignas_ = self.alignment(node)

    def alignment(self, node: Node) -> ir.Expr:
        """``alignas(expr)`` or ``alignas(type)``, in bytes."""
        inner = node.named_children
        if len(inner) != 1:
            raise self.bad(node)
        begin = node.children[1].start_byte
        found = self.template_argument(inner[0])
        return self.as_alignment(found, begin, node.end_byte)

    def as_alignment(self, found: ir.Expr, begin: int, end: int) -> ir.Expr:
        if isinstance(found, ir.TypeMod) or (isinstance(found, ir.Name) and found.ident in BUILTIN_TYPES):
            return ir.SizeOf("alignof", found, self.span(begin, end))
        return found

    def plain_type(self, node: Node, specs: Specs | None = None) -> ir.Expr:
        """A type specifier without qualifiers."""
        kind = node.type
        if kind in _IDENTIFIERS:
            text = self.of(node)
            if not text.isidentifier():
                return self.folded(node, text)
        begin, end = (node.start_byte, node.end_byte) if specs is None else (specs.begin, specs.end)
        if kind in ("type_identifier", "qualified_identifier", "template_type", "dependent_type", "identifier"):
            return self.name(node)
        if kind in ("primitive_type", "sized_type_specifier"):
            text = self.of(node)
            if text in BUILTIN_TYPES or kind == "sized_type_specifier":
                return ir.Name(sized(text), None, self.span(begin, end))
            return ir.Name(text, None, self.place(node))
        if kind == "placeholder_type_specifier":
            last = node.children[-1]
            if last.type == "decltype":
                return self.decltype(last)
            asked = node.child_by_field_name("constraint")
            return ir.Auto(self.span(begin, node.end_byte), None if asked is None else self.condition_of(asked))
        if kind == "auto":
            return ir.Auto(self.span(begin, node.end_byte))
        if kind == "decltype":
            return self.decltype(node)
        if kind in CLASS_KINDS or kind == "enum_specifier":
            named = node.child_by_field_name("name")
            if named is None or node.child_by_field_name("body") is not None:
                raise self.bad(node)
            return self.name(named)
        raise self.bad(node)

    def condition_of(self, node: Node) -> ir.Expr:
        """What a constraint asks; what is not understood there becomes Opaque."""
        if node.type in ("constraint_conjunction", "constraint_disjunction"):
            left, right = (self.condition_of(part) for part in node.named_children)
            return ir.Binary("&&" if node.type == "constraint_conjunction" else "||", left, right, self.place(node))
        found = self.attempt(lambda: self.template_argument(node))
        return ir.Opaque("constraint not understood", self.place(node)) if found is None else found

    def constraints(self, node: Node) -> tuple[ir.Expr, ...]:
        """Of the requires clauses among the children of a node."""
        found = []
        for child in node.children:
            if child.type == "requires_clause":
                self.note("requires", self.of(child), child.start_byte, child.end_byte)
                found += [self.condition_of(asked) for asked in child.named_children]
        return tuple(found)

    def decltype(self, node: Node) -> ir.Expr:
        inner = node.named_children
        if len(inner) != 1:
            raise self.bad(node)
        if inner[0].type == "auto":
            return ir.DeclType(None, self.place(node))
        return ir.DeclType(self.expression(inner[0]), self.place(node))

    # ------------------------------------------------------------ what is built from a type

    def abstract(self, node: Node | None, inner: ir.Expr, first: int) -> ir.Expr:
        """The type that an abstract declarator makes of ``inner``."""
        arrays_end = limit = -1
        while node is not None:
            kind = node.type
            if kind != "abstract_array_declarator":
                arrays_end = -1
            if kind in ("abstract_pointer_declarator", "abstract_reference_declarator"):
                inner = self.pointer(node, inner, first, limit)
            elif kind == "abstract_array_declarator":
                arrays_end = node.end_byte if arrays_end < 0 else arrays_end
                size = node.child_by_field_name("size")
                extent = None if size is None else self.expression(size)
                inner = ir.TypeMod("array", inner, self.span(first, arrays_end), extent)
            elif kind == "abstract_function_declarator":
                place = self.span(first, node.end_byte)
                inner = ir.TypeMod("function", inner, place, self.cast_operand(node), self.taken(node))
                limit = max(limit, node.end_byte)
            elif kind == "abstract_parenthesized_declarator":
                limit = max(limit, node.end_byte, arrays_end)
            else:
                raise self.bad(node)
            limit = max(limit, arrays_end)
            node = next((child for child in node.named_children if child.type.startswith("abstract_")), None)
        return inner

    def cast_operand(self, node: Node) -> ir.Expr | None:
        """``int(I)`` in a template list is a number if ``I`` is one: the only parameter, if it may be an operand.

        So is ``int(Traits::kSize)``, which the grammar takes for a type, too.
        """
        inside = self.of(node)[1:-1].strip()
        if inside.isidentifier():
            return None if inside in BUILTIN_TYPES else ir.Name(inside, None, self.place(node))
        if "::" not in inside or inside.startswith("typename"):
            return None
        named = self.attempt(lambda: self.reread(node.start_byte + 1, node.end_byte - 1))
        return named if isinstance(named, ir.Scoped) else None

    def pointer(self, node: Node, inner: ir.Expr, first: int, limit: int = -1) -> ir.Expr:
        """``*``, ``&`` or ``&&`` with the qualifiers after it. ``limit``: the end of the whole if it is in ``( )``."""
        for child in node.children:
            kind = child.type
            end = max(limit, child.end_byte)
            if kind == "*":
                inner = ir.TypeMod("ptr", inner, self.span(first, end))
            elif kind == "&":
                inner = ir.TypeMod("ref", inner, self.span(first, end))
            elif kind == "&&":
                inner = ir.TypeMod("ref" if limit >= 0 else "rref", inner, self.span(first, end))
            elif kind == "type_qualifier":
                word = self.of(child)
                if word in QUALIFIED and limit < 0:
                    inner = ir.TypeMod("const" if word == "const" else "volatile", inner, self.span(first, end))
        return inner


def inner_declarator(node: Node) -> Node | None:
    """The declarator in a declarator whose grammar gives it no field."""
    for child in reversed(node.named_children):
        if child.type.endswith(("declarator", "identifier", "_name", "operator_cast", "template_function")):
            return child
    return None


def sized(text: str) -> str:
    """An integer type of several words by its shortest name, which is one that values have; others as they are."""
    given = [word for word in text.split() if word not in QUALIFIED]
    if not set(given) <= {"unsigned", "signed", "long", "short", "int", "char"} or len(given) == 1:
        return "int" if given == ["signed"] else " ".join(given)
    sign = "unsigned " if "unsigned" in given else ""
    if "char" in given:
        return f"{sign or 'signed '}char"
    width = "short" if "short" in given else " ".join(["long"] * given.count("long"))
    return f"{sign}{width}" if width else f"{sign}int"


def is_plain_name(kind: ir.Expr) -> bool:
    """Whether a type is only a name, so that it might as well be that of a value."""
    if isinstance(kind, ir.Name):
        return kind.ident.split(" ", 1)[0] not in BUILTIN_TYPES
    return isinstance(kind, (ir.Scoped, ir.DeclType))


def is_width(node: Node) -> bool:
    """What follows the name of a bit-field."""
    only = node.children[0] if node.type == "ERROR" and node.child_count == 1 else node
    return only.type == "bitfield_clause" or node.type == ":"
