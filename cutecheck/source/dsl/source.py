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


RETURN = b"_    =("  # stands for ``return ``
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
    # the grammar has no `return a, *(b)`, and has `x = (a, *(b))`: columns stay, a bracket goes to the line's end
    patched = _bracketed(source.data, [n.start_byte for n in _returns(root)])
    again = _PARSER.parse(patched).root_node
    if patched == source.data or again.has_error:
        return root
    source.data = patched
    return again


def _returns(root: Node) -> list[Node]:
    """The ``return`` keywords of a file, also those inside what could not be parsed."""
    found: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "return_statement" or (node.type in ("return", "identifier") and node.parent is not None
                                               and node.parent.type == "ERROR"):  # fmt: skip
            found.append(node)
        stack.extend(node.children)
    return found


def _bracketed(data: bytes, starts: list[int]) -> bytes:
    """Each ``return X, *Y`` among the starts as ``_    =(X, *Y)``."""
    closing: dict[int, int] = {}
    for start in starts:
        if data[start : start + 7] != b"return ":
            continue
        depth, at = 0, start + 7
        while at < len(data) and (depth or data[at : at + 1] not in (b"\n", b"#", b";")):
            depth += (data[at] in b"([{") - (data[at] in b")]}")
            at += 1
        statement = data[start:at]
        if b"*" in statement and not re.search(rb"['\"]", statement):
            closing[start] = at
    out, last = bytearray(), 0
    for start, end in sorted(closing.items()):
        if start < last:
            continue
        out += data[last:start] + RETURN + data[start + len(RETURN) : end].rstrip() + b")"
        last = end
    return bytes(out + data[last:])
