"""The text of a Python file and places in it."""

from __future__ import annotations

from tree_sitter import Language, Node, Parser

from cutecheck.facts.span import Span


class Source:
    """One file: its bytes, its lines as characters, and spans of syntax nodes."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.data = text.encode("utf-8", "surrogatepass")
        self.ascii = text.isascii()
        self._lines = [] if self.ascii else self.data.split(b"\n")
        self.depth = 0

    def _column(self, row: int, column: int) -> int:
        if self.ascii or row >= len(self._lines):
            return column + 1
        return len(self._lines[row][:column].decode("utf-8", "replace")) + 1

    def span(self, node: Node, last: Node | None = None) -> Span:
        """The place of a node (through the end of ``last``)."""
        a, b = node.start_point, (last or node).end_point
        return Span(self.path, a[0] + 1, self._column(*a), b[0] + 1, self._column(*b))

    def text(self, node: Node | None) -> str:
        return "" if node is None else self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")


_PARSER: Parser | None = None


def parse(source: Source) -> Node:
    """The syntax tree of a file."""
    global _PARSER
    if _PARSER is None:
        import tree_sitter_python

        _PARSER = Parser(Language(tree_sitter_python.language()))
    return _PARSER.parse(source.data).root_node
