"""Blocks: parsed when they are needed, and each statement for itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tree_sitter import Node

from cutecheck.source.cpp.lower.expressions import ExpressionLowering
from cutecheck.source.cpp.lower.hands import Fail, Misread, steady
from cutecheck.source.cpp.syntax import NOTHING, body_piece
from cutecheck.source.cpp.words import words
from cutecheck.source.eval import ir

_NESTED = words("compound_statement field_declaration_list declaration_list")


class BlockLowering(ExpressionLowering):
    """A statement that cannot be lowered becomes an Opaque one; the rest of the body stands."""

    def statement(self, node: Node) -> list[ir.Stmt]:
        raise NotImplementedError

    def lazy_block(self, node: Node) -> ir.Lazy:
        after = self.piece.holes.get(node.start_byte)
        if after is not None:
            return self.lazy_text(node.start_byte + self.shift, after + self.shift)
        begin, end = node.start_byte + self.shift, node.end_byte + self.shift

        def make(own_stack: bool) -> ir.Block:
            other = self.fresh(own_stack)
            try:
                return other.whole_block(node)
            except Misread:
                return other.text_block(begin, end)

        return ir.Lazy(lambda: steady(make), self.spelling(begin, end))

    def lazy_text(self, begin: int, end: int) -> ir.Lazy:
        """The block between offsets of the source, braces included, parsed on first use."""
        outer = type(self)(self.source, NOTHING, self.class_name)

        def make(own_stack: bool) -> ir.Block:
            outer.own_stack = own_stack
            return outer.text_block(begin, end)

        return ir.Lazy(lambda: steady(make), self.spelling(begin, end))

    def spelling(self, begin: int, end: int) -> Callable[[], str]:
        """What stands between offsets of the source, with its macros expanded."""
        source = self.source
        return lambda: source.text[begin:end]

    def fresh(self, own_stack: bool) -> BlockLowering:
        """Another lowering of the same piece, for what is lowered later."""
        other = type(self)(self.source, self.piece, self.class_name, own_stack)
        other.nesting = self.nesting
        return other

    def text_block(self, begin: int, end: int) -> ir.Block:
        def lower(other: BlockLowering) -> ir.Block:
            root = other.piece.root
            body = root.children[0].child_by_field_name("body") if root.child_count == 1 else None
            if body is None or body.type != "compound_statement" or body.end_byte != len(other.text):
                return other.broken_block()
            return other.whole_block(body)

        return self.with_piece(lambda folded: body_piece(self.source, begin, end, folded), lower)

    def broken_block(self) -> ir.Block:
        """The body of the piece where even its braces did not come out: what statements there are."""
        begin, end = self.text.index("{"), len(self.text)
        found: list[ir.Stmt] = []
        todo = list(self.piece.root.children)
        while todo:
            node = todo.pop(0)
            if node.type in ("function_definition", "ERROR", "compound_statement", "function_declarator"):
                todo[:0] = node.children
            elif node.is_named and node.start_byte >= begin:
                found.extend(self.safely(node))
        reason = ir.ExprStmt(self.opaque("syntax error in the body", begin, begin + 1), self.span(begin, begin + 1))
        return ir.Block((reason, *found), self.span(begin, end))

    def whole_block(self, node: Node) -> ir.Block:
        try:
            return self.block(node)
        except RecursionError:
            if not self.own_stack:
                raise
            span = self.place(node)
            return ir.Block((ir.ExprStmt(ir.Opaque("nested too deeply", span), span),), span)

    def block(self, node: Node) -> ir.Block:
        return ir.Block(tuple(self.statements(node.named_children)), self.place(node))

    def statements(self, nodes: Sequence[Node]) -> list[ir.Stmt]:
        """Each that fails is replaced by an Opaque one."""
        body: list[ir.Stmt] = []
        for node in nodes:
            body.extend(self.safely(node))
        return body

    def safely(self, node: Node) -> list[ir.Stmt]:
        depth = self.depth
        try:
            return self.statement(node)
        except Fail as error:
            self.depth = depth
            begin, end = node.start_byte, node.end_byte
            return [ir.ExprStmt(self.opaque(str(error), begin, end), self.span(begin, end))]

    def as_block(self, node: Node | None) -> ir.Block:
        """A statement as a block of its own."""
        if node is None:
            raise Fail("expected a statement")
        if node.type == "else_clause":
            node = node.named_children[-1] if node.named_child_count else node
        if node.type == "compound_statement":
            self.enter()
            found = self.block(node)
            self.depth -= 1
            return found
        return ir.Block(tuple(self.statement(node)), self.place(node))

    def check(self, node: Node) -> None:
        """Raise for an error in the node that is not inside a body with statements of its own."""
        if not node.has_error:
            return
        todo = [node]
        while todo:
            part = todo.pop()
            if part.type == "ERROR" or part.is_missing:
                if part.type == ";" and self.text[: part.start_byte].rstrip()[-1:] in (")", "}"):
                    continue  # a macro that stands alone
                raise self.bad(part)
            todo.extend(child for child in part.children if child.has_error and child.type not in _NESTED)

    def reread_statements(self, begin: int, end: int) -> list[ir.Stmt]:
        """``text[begin:end]`` parsed again, as a block."""

        def lower(other: BlockLowering) -> list[ir.Stmt]:
            root = other.piece.root
            body = root.children[0].child_by_field_name("body") if root.child_count == 1 else None
            if body is None or root.has_error:
                raise Fail("not a statement")
            return other.statements(body.named_children)

        return self.reread_as("void f() {", begin, end, "}", lower)


def made(block: ir.Block) -> ir.Lazy:
    """A body that is lowered already."""
    return ir.Lazy(lambda: block)
