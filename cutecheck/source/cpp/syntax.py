"""Pieces of C++ text and the syntax trees that tree-sitter-cuda makes of them."""

from __future__ import annotations

from bisect import bisect_left
from threading import local

import tree_sitter
import tree_sitter_cuda
from tree_sitter import Node

from cutecheck.source.cpp.outline import holes, without
from cutecheck.source.cpp.regular import Blank, Regular, regularise
from cutecheck.source.cpp.text import Source

_LANGUAGE = tree_sitter.Language(tree_sitter_cuda.language())
_LOCAL = local()


class Piece:
    """A stretch of a source's text, parsed on its own.

    ``text`` is the stretch as written between the few words that make it complete C++; offsets of nodes are offsets
    in ``text``, and ``shift`` turns them into offsets of the source. ``holes`` maps the offset of a brace to the
    offset after its partner where the contents were left out. ``blanks``: what was hidden from the grammar.
    ``folded``: template-ids in template-ids were shown to it as one name.
    """

    __slots__ = ("_begins", "blanks", "folded", "holes", "root", "shift", "text")

    def __init__(
        self, text: str, shift: int, left_out: dict[int, int], shown: str | None = None, folded: bool = False
    ) -> None:
        self.text = text
        self.shift = shift
        self.holes = left_out
        regular, self.root, self.folded = _parsed(text if shown is None else shown, left_out, folded)
        self.blanks: tuple[Blank, ...] = regular.blanks
        self._begins = [blank.begin for blank in regular.blanks]

    def blanks_in(self, begin: int, end: int) -> tuple[Blank, ...]:
        """What was blanked in ``text[begin:end]``."""
        begins = self._begins
        return self.blanks[bisect_left(begins, begin) : bisect_left(begins, end)] if begins else ()


def _parsed(text: str, left_out: dict[int, int], folded: bool) -> tuple[Regular, Node, bool]:
    """The tree of the regular text; of the folded one where the grammar loses track otherwise."""
    ranges = _ranges(left_out, len(text)) if left_out else None
    if folded:
        regular = regularise(text, folds=True)
        return regular, _tree(regular.text, ranges), True
    regular = regularise(text, folds=False)
    root = _tree(regular.text, ranges)
    if not root.has_error:
        return regular, root, False
    again = regularise(text, folds=True)
    if again.text == regular.text:
        return regular, root, True
    other = _tree(again.text, ranges)
    if other.has_error and _errors(root) <= _errors(other):
        return regular, root, True
    return again, other, True


def _tree(text: str, ranges: list[tree_sitter.Range] | None) -> Node:
    parser: tree_sitter.Parser | None = getattr(_LOCAL, "parser", None)
    if parser is None:
        parser = _LOCAL.parser = tree_sitter.Parser(_LANGUAGE)
    if ranges is None:
        return parser.parse(text.encode("ascii", "replace")).root_node
    parser.included_ranges = ranges
    try:
        return parser.parse(text.encode("ascii", "replace")).root_node
    finally:
        del parser.included_ranges


def _ranges(left_out: dict[int, int], length: int) -> list[tree_sitter.Range]:
    """What stands outside the holes, so that the blanks in them cost nothing. Points are not used, only offsets."""
    found: list[tree_sitter.Range] = []
    begin = 0
    for opened, after in left_out.items():
        found.append(tree_sitter.Range((0, begin), (0, opened + 2), begin, opened + 2))
        begin = after - 1
    found.append(tree_sitter.Range((0, begin), (0, length), begin, length))
    return found


def _errors(root: Node) -> int:
    """Characters in the tree that the grammar has no place for, missing ones included."""
    todo, found = [root], 0
    while todo:
        node = todo.pop()
        if node.is_error or node.is_missing:
            found += node.end_byte - node.start_byte + 1
        elif node.has_error:
            todo.extend(node.children)
    return found


def file_piece(source: Source, folded: bool = False) -> Piece:
    """The whole text, without the bodies in it."""
    text = source.text
    parts = holes(text, 0, len(text), scopes=True)
    return Piece(text, 0, dict(parts), without(text, 0, len(text), parts), folded)


_CLASS = "struct X {"
_FUNCTION = "void f() "


def members_piece(source: Source, begin: int, end: int, folded: bool = False) -> Piece:
    """What stands between the braces of a class, ``text[begin:end]``, without the bodies in it."""
    shift = begin - len(_CLASS)
    parts = holes(source.text, begin, end, scopes=False)
    shown = f"{_CLASS}{without(source.text, begin, end, parts)}}};"
    text = f"{_CLASS}{source.text[begin:end]}}};" if parts else shown
    return Piece(text, shift, {opened - shift: after - shift for opened, after in parts}, shown, folded)


def body_piece(source: Source, begin: int, end: int, folded: bool = False) -> Piece:
    """The block ``text[begin:end]``, braces included."""
    return Piece(_FUNCTION + source.text[begin:end], begin - len(_FUNCTION), {}, folded=folded)


def wrapped_piece(before: str, source: Source, begin: int, end: int, after: str, folded: bool = False) -> Piece:
    """``text[begin:end]`` with words around it that tell what it is."""
    return Piece(f"{before}{source.text[begin:end]}{after}", begin - len(before), {}, folded=folded)


NOTHING = Piece("", 0, {})
