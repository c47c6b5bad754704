"""The text of a Python file and places in it."""

from __future__ import annotations

import re
from bisect import bisect_right

from tree_sitter import Language, Node, Parser

from cutecheck.facts.span import Span
from cutecheck.source.notebooks import Cell, place


class Source:
    """One file: its bytes, its lines as characters, and spans of syntax nodes."""

    def __init__(self, path: str, text: str, cells: tuple[Cell, ...] | None = None) -> None:
        self.path = path
        self.cells = cells  # of a notebook: spans name them
        self.starts = [c.start for c in cells or ()]
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
        if self.cells:
            at = self.cells[max(0, bisect_right(self.starts, a[0]) - 1)]
            row, end = a[0] - at.start + 1, b[0] - at.start + 1
            return Span(place(self.path, at.number), row, self._column(*a), end, self._column(*b))
        return Span(self.path, a[0] + 1, self._column(*a), b[0] + 1, self._column(*b))

    def text(self, node: Node | None) -> str:
        return "" if node is None else self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")


RETURN = b"_____="  # stands for ``return``
_PARSER: Parser | None = None


def parse(source: Source) -> Node:
    """The syntax tree of a file."""
    global _PARSER
    if _PARSER is None:
        import tree_sitter_python

        _PARSER = Parser(Language(tree_sitter_python.language()))
    root = _PARSER.parse(source.data).root_node
    if not root.has_error:
        return root
    # the grammar has no `return a, *(b)`: the same statement as an assignment, of as many bytes, it can read
    patched = bytearray(source.data)
    for node in _broken_returns(root):
        patched[node.start_byte : node.start_byte + len(RETURN)] = RETURN
    _bracket_generators(patched)
    if patched == source.data:
        return root
    again = _PARSER.parse(bytes(patched)).root_node
    return again if not again.has_error or again.descendant_count >= root.descendant_count else root


def _bracket_generators(text: bytearray) -> None:
    """``*(x for x in y)`` as ``*[x for x in y]``, which unpacks to the same."""
    for found in re.finditer(rb"\*\(", bytes(text)):
        depth, at = 0, found.end() - 1
        for i in range(at, min(len(text), at + 4096)):
            depth += (text[i] in b"([{") - (text[i] in b")]}")
            if depth == 0:
                inner = bytes(text[at + 1 : i])
                if re.search(rb"\sfor\s", inner) and re.search(rb"\sin\s", inner):
                    text[at], text[i] = ord("["), ord("]")
                break


def _broken_returns(root: Node) -> list[Node]:
    """Return statements that have, or stand on the line of, a syntax error."""
    found: list[Node] = []
    lines: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "ERROR" or node.is_missing:
            lines.add(node.start_point[0])
        elif node.type == "return_statement":
            found.append(node)
        stack.extend(node.children)
    return [n for n in found if n.has_error or lines & set(range(n.start_point[0], n.end_point[0] + 1))]
