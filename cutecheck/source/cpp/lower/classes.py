"""Classes and enums."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, overload

from tree_sitter import Node

from cutecheck.facts.span import Span
from cutecheck.source.cpp.lower.functions import FunctionLowering, Heads
from cutecheck.source.cpp.lower.hands import MAX_NESTING, Fail, Misread, steady
from cutecheck.source.cpp.lower.types import ALIGNED, ATTRIBUTE, Specs
from cutecheck.source.cpp.syntax import NOTHING, members_piece
from cutecheck.source.eval import ir

ClassKind = Literal["struct", "class", "union"]
_PACKED = re.compile(r"\b(?:__)?packed(?:__)?\b")
_KINDS: dict[str, ClassKind] = {"struct_specifier": "struct", "class_specifier": "class", "union_specifier": "union"}


class LazyMembers(Sequence[ir.Decl]):
    """Members of a class, lowered on first use."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], tuple[ir.Decl, ...]]) -> None:
        self._make: Callable[[], tuple[ir.Decl, ...]] | None = make
        self._value: tuple[ir.Decl, ...] | None = None

    def _get(self) -> tuple[ir.Decl, ...]:
        if self._value is None:
            assert self._make is not None
            self._value = self._make()
            self._make = None
        return self._value

    @overload
    def __getitem__(self, index: int) -> ir.Decl: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ir.Decl]: ...
    def __getitem__(self, index: int | slice) -> ir.Decl | Sequence[ir.Decl]:
        return self._get()[index]

    def __len__(self) -> int:
        return len(self._get())

    def __iter__(self) -> Iterator[ir.Decl]:
        return iter(self._get())


class ClassLowering(FunctionLowering):
    """Definitions of types."""

    def declarations(self, nodes: Sequence[Node], scope: str) -> list[ir.Decl]:
        raise NotImplementedError

    def members_of(self, nodes: Sequence[Node]) -> tuple[ir.Decl, ...]:
        return tuple(self.declarations(nodes, "class"))

    def class_(self, node: Node, heads: Heads, *, named_later: bool) -> ir.Class | None:
        """A definition or forward declaration. ``named_later``: declarators follow, so it needs a name."""
        keyword = node.children[0]
        specs = Specs(node.start_byte)
        for child in node.children[1:]:
            self.specifier(child, specs)
        if self.piece.blanks:
            self.hidden(node.start_byte + 1, self.end_of_head(node), specs, [])
        body = node.child_by_field_name("body")
        name_node = node.child_by_field_name("name")
        if name_node is None:
            if body is None:
                return None
            base_clause = _child(node, "base_class_clause")
            at = (body if base_clause is None else base_clause).start_byte
            span = self.span(at, at + 1)
            name, owner, spec_args = "", None, None
            if named_later:
                name = f"__anonymous_{span.line}_{span.column}"
        else:
            named = self.declared(name_node, ir.Auto(self.place(name_node)), None, False)
            name, owner, spec_args = named.name, named.owner, named.targs
            span = self.span(*self.name_span(named, name_node))
        own: tuple[ir.TParam, ...] | None = heads[-1] if heads else None
        outer: tuple[ir.TParam, ...] = ()
        if owner is not None and heads and isinstance(owner, (ir.Name, ir.Scoped)) and owner.targs is not None:
            outer = tuple(p for head in (heads[:-1] if len(heads) > 1 else heads) for p in head)
            own = heads[-1] if len(heads) > 1 else None
        kind = _KINDS[node.type]
        if body is None:
            following = node.next_sibling
            end = following.end_byte if following is not None and following.type == ";" else node.end_byte
            full = self.span(keyword.start_byte, end)
            return ir.Class(name, kind, own, spec_args, (), (), specs.alignas_, span, full, owner, outer, forward=True)
        base_clause = _child(node, "base_class_clause")
        bases = () if base_clause is None else self.bases(base_clause)
        full = self.span(keyword.start_byte, body.end_byte)
        packed, aligned = self.attributes(node, body)
        aligned = aligned if specs.alignas_ is None else specs.alignas_
        pack = self.source.pack_at(node.start_byte + self.shift)
        return ir.Class(name, kind, own, spec_args, bases, self.lazy_members(body, name), aligned, span, full,
                        owner, outer, packed=packed, pack=pack)  # fmt: skip

    def attributes(self, node: Node, body: Node) -> tuple[bool, ir.Expr | None]:
        """Whether GNU's attributes before the name or after the body pack a class, and the alignment that they ask."""
        text, after = self.source.text, self.piece.holes.get(body.start_byte)
        end = (body.end_byte if after is None else after) + self.shift
        packed, aligned = False, None
        for part in ((node.start_byte + self.shift, body.start_byte + self.shift), (end, text.find(";", end))):
            for attribute in ATTRIBUTE.finditer(text, *part):
                packed = packed or _PACKED.search(attribute.group()) is not None
                asked = ALIGNED.search(text, *attribute.span())
                if asked is not None:
                    aligned = self.attempt(partial(self.reread, asked.start(1) - self.shift, asked.end(1) - self.shift))
        return packed, aligned

    def end_of_head(self, node: Node) -> int:
        body = node.child_by_field_name("body")
        return node.end_byte if body is None else body.start_byte

    def bases(self, node: Node) -> tuple[ir.Expr, ...]:
        found: list[ir.Expr] = []
        for child in node.children:
            kind = child.type
            if kind == "...":
                begin = self.begin_of_base
                found[-1] = ir.Expand(found[-1], self.span(begin, child.end_byte))
            elif child.is_named and kind not in ("access_specifier", "attribute_declaration", "virtual"):
                self.begin_of_base = child.start_byte
                found.append(self.plain_type(child))
        return tuple(found)

    begin_of_base = 0

    def lazy_members(self, body: Node, class_name: str) -> Sequence[ir.Decl]:
        after = self.piece.holes.get(body.start_byte)
        if self.nesting >= MAX_NESTING:
            place = self.place(body)
            return (ir.TopLevel(ir.ExprStmt(ir.Opaque("nested too deeply", place), place)),)
        begin, end = body.start_byte + self.shift + 1, (body.end_byte if after is None else after) + self.shift - 1
        outer = self if after is None else type(self)(self.source, NOTHING)
        nesting = self.nesting + 1

        def make(own_stack: bool) -> tuple[ir.Decl, ...]:
            other = outer.fresh(own_stack)
            other.nesting, other.class_name = nesting, class_name
            if after is None:
                try:
                    return other.members_of(body.children[1:-1])
                except Misread:
                    pass
            return other.text_members(begin, end)

        if after is None and body.named_child_count == 0:
            return ()
        return LazyMembers(lambda: steady(make))

    def text_members(self, begin: int, end: int) -> tuple[ir.Decl, ...]:
        """The members between offsets of the source."""

        def lower(other: ClassLowering) -> tuple[ir.Decl, ...]:
            return other.members_of(other.inner_nodes())

        return self.with_piece(lambda folded: members_piece(self.source, begin, end, folded), lower)

    def fresh(self, own_stack: bool) -> ClassLowering:
        found = super().fresh(own_stack)
        assert isinstance(found, ClassLowering)
        return found

    def inner_nodes(self) -> Sequence[Node]:
        """What stands in the class that the piece was wrapped in."""
        first = self.piece.root.children[0] if self.piece.root.child_count else None
        body = None if first is None else first.child_by_field_name("body")
        if body is not None and body.end_byte == len(self.text) - 1:
            return body.children[1:-1]
        return self.salvaged(self.piece.root)

    def salvaged(self, root: Node) -> Sequence[Node]:
        """The declarations in a tree whose outer form is broken."""
        raise NotImplementedError

    # ------------------------------------------------------------ enums

    def enum(self, node: Node, *, named_later: bool) -> ir.Enum | None:
        body, name_node = node.child_by_field_name("body"), node.child_by_field_name("name")
        if body is None:
            return None
        if name_node is not None and self.of(name_node).strip() in ("", ":"):
            name_node = None
        base = node.child_by_field_name("base")
        if name_node is None:
            colon = _child(node, ":")
            at = (body if colon is None else colon).start_byte
            while self.text[at] not in ":{" and at > node.start_byte:
                at -= 1
            span = self.span(at, at + 1)
            name = f"__anonymous_{span.line}_{span.column}" if named_later else ""
        else:
            named = self.declared(name_node, ir.Auto(self.place(name_node)), None, False)
            name, span = named.name, self.span(*self.name_span(named, name_node))
        items: list[tuple[str, ir.Expr | None, Span]] = []
        for item in body.named_children:
            ident, value = item.child_by_field_name("name"), item.child_by_field_name("value")
            if item.type != "enumerator" or ident is None:
                raise Fail("malformed enumerator")
            items.append((self.of(ident), None if value is None else self.expression(value), self.place(ident)))
        scoped = any(child.type in ("class", "struct") for child in node.children)
        underlying = None if base is None else self.plain_type(base)
        return ir.Enum(name, underlying, tuple(items), scoped, span, self.place(node))


def _child(node: Node, kind: str) -> Node | None:
    for child in node.children:
        if child.type == kind:
            return child
    return None
