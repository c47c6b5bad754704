"""What every layer of the lowering uses: places, text, failures, and what lower layers need from upper ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from threading import Thread
from typing import Any, TypeVar

from tree_sitter import Node

from cutecheck.facts.span import Span
from cutecheck.source.cpp.lower import assembly
from cutecheck.source.cpp.lower.instructions import instructions
from cutecheck.source.cpp.syntax import Piece, wrapped_piece
from cutecheck.source.cpp.text import Source
from cutecheck.source.eval import ir

T = TypeVar("T")
MAX_REREAD = 40  # pieces read again inside of such pieces
MAX_DEPTH = 110  # nested expressions, types and statements; CuTe's own sources stay below 40
MAX_NESTING = 30  # classes in classes, each of them a piece of its own
_BARRIER = re.compile(r"\bbar(?:rier)?\.|mbarrier\.|cp\.async\.(?:bulk\.)?wait")
_COMMIT = re.compile(r"cp\.async\.commit_group")
_WORD = re.compile(r"\"(?:[^\"\\]|\\.)*\"|[^\W\d]\w*")


class Fail(Exception):
    """The node cannot be lowered; the statement or declaration around it becomes an Opaque or a Note."""


class TooDeep(Fail):
    """Nested beyond :data:`MAX_DEPTH`."""


class Misread(Exception):
    """The tree is not what the text says, though it has no error: the piece has to be folded before it is parsed."""


class Hands:
    """A piece of text with its tree. Offsets are those of the piece."""

    def __init__(self, source: Source, piece: Piece, class_name: str = "", own_stack: bool = False) -> None:
        self.source = source
        self.piece = piece
        self.text = piece.text
        self.shift = piece.shift
        self.class_name = class_name  # of the innermost class around
        self.own_stack = own_stack  # a RecursionError is then the text's doing, not the callers'
        self.depth = 0
        self.nesting = 0  # of classes in classes
        self.reread_in = 0  # pieces that were read again
        self.notes: list[ir.Note] = []

    # ------------------------------------------------------------ text and places

    def of(self, node: Node) -> str:
        """The text of the node, as written."""
        return self.text[node.start_byte : node.end_byte]

    def span(self, begin: int, end: int) -> Span:
        return self.source.span(begin + self.shift, end + self.shift)

    def place(self, node: Node) -> Span:
        return self.source.span(node.start_byte + self.shift, node.end_byte + self.shift)

    def opaque(self, reason: str, begin: int, end: int) -> ir.Opaque:
        names = {word for word in _WORD.findall(self.text, begin, end) if word[0] != '"'}
        return ir.Opaque(reason, self.span(begin, end), tuple(sorted(names)))

    def inline_assembly(self, node: Node) -> ir.Opaque:
        """Opaque; the reason says whether it holds a barrier or commits a group of copies."""
        begin, end = node.start_byte, node.end_byte
        waits = _BARRIER.search(self.text, begin, end) is not None
        commits = not waits and _COMMIT.search(self.text, begin, end) is not None
        held = " with a barrier" if waits else " with a commit" if commits else ""
        found = self.opaque(f"inline assembly{held}", begin, end)
        text = self.text[begin:end]
        stores = assembly.writes_memory(text)
        written = (*assembly.outputs(text), *(assembly.pointed(text) if stores else ()))
        step = self._step_of_assembly(text, begin)
        more = [self._of_groups(s, text, begin) for s in assembly.steps(text)]
        return replace(
            found, written=written, memory=stores, step=step, more=tuple(s for s in more if s is not None),
            operations=self._operations(text, begin),
        )  # fmt: skip

    def _operations(self, text: str, begin: int) -> tuple[ir.Operation, ...] | None:
        """What assembly does with barriers and threads."""
        known = instructions(text)
        if known is None:
            return None

        def expression(at: int | tuple[int, int] | None) -> ir.Expr | None:
            if at is None or isinstance(at, int):
                return None if at is None else ir.Lit(at, "int", self.span(begin, begin + len(text)))
            return self.attempt(lambda: self.reread(begin + at[0], begin + at[1]))

        return tuple(
            ir.Operation(
                one.name,
                tuple(map(expression, one.operands)),
                expression(one.result),
                one.far,
                one.maybe,
                expression(one.to),
            )
            for one in known
        )

    def _step_of_assembly(self, text: str, begin: int) -> tuple[str, ir.Expr | None] | None:
        """What assembly does with groups, where that and the number that it is given are known."""
        step = assembly.step(text)
        return None if step is None else self._of_groups(step, text, begin)

    def _of_groups(
        self, step: tuple[str, int | tuple[int, int] | None], text: str, begin: int
    ) -> tuple[str, ir.Expr | None] | None:
        name, number = step
        if number is None:
            return name, None
        if isinstance(number, int):
            return name, ir.Lit(number, "int", self.span(begin, begin + len(text)))
        first, last = number
        value = self.attempt(lambda: self.reread(begin + first, begin + last))
        return None if value is None else (name, value)

    def note(self, kind: str, text: str, begin: int, end: int) -> None:
        self.notes.append(ir.Note(kind, text, self.span(begin, end)))

    def attempt(self, rule: Callable[[], T]) -> T | None:
        """``rule()``, or None when it fails."""
        depth, notes = self.depth, len(self.notes)
        try:
            return rule()
        except TooDeep:
            raise
        except Fail:
            self.depth = depth
            del self.notes[notes:]
            return None

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooDeep(f"nested deeper than {MAX_DEPTH}")

    def misread(self) -> Exception:
        """To be raised where the tree cannot be true."""
        return Fail("not understood") if self.piece.folded else Misread()

    def with_piece(self, make: Callable[[bool], Piece], lower: Callable[[Any], T]) -> T:
        """``lower`` of a lowering of ``make(folded)``."""
        if self.reread_in >= MAX_REREAD:  # what is folded may be all of a piece, which would be read for ever
            raise TooDeep(f"read again {MAX_REREAD} times")
        for folded in (False, True):
            other = type(self)(self.source, make(folded), self.class_name, self.own_stack)
            other.depth, other.nesting, other.reread_in = self.depth + 1, self.nesting, self.reread_in + 1
            try:
                return lower(other)
            except Misread:
                pass
        raise Fail("not understood")

    def reread_as(self, before: str, begin: int, end: int, after: str, lower: Callable[[Any], T]) -> T:
        """``text[begin:end]`` between words that tell what it is, parsed again."""
        source, shift = self.source, self.shift
        return self.with_piece(
            lambda folded: wrapped_piece(before, source, begin + shift, end + shift, after, folded), lower
        )

    def reread(self, begin: int, end: int) -> ir.Expr:
        """``text[begin:end]`` parsed again, as an expression."""
        args = self.reread_arguments(begin, end)
        if len(args) != 1:
            raise Fail("not an expression")
        return args[0].value

    def reread_arguments(self, begin: int, end: int) -> tuple[ir.Arg, ...]:
        """``text[begin:end]``, between brackets, parsed again as the arguments of a call."""

        def lower(other: Hands) -> tuple[ir.Arg, ...]:
            node = other.call_arguments()
            if node.has_error:
                raise Fail("not an expression")
            return other.arguments(node)

        held = self.text[begin:end].rstrip()
        if held.endswith(","):  # the last one in braces
            end = begin + len(held) - 1
        return self.reread_as("int x=f(", begin, end, ");", lower)

    def reread_type(self, begin: int, end: int) -> ir.Expr:
        """``text[begin:end]`` parsed again, as a type."""

        def lower(other: Hands) -> ir.Expr:
            root = other.piece.root
            kind = root.children[0].child_by_field_name("type") if root.child_count == 1 else None
            if kind is None or root.has_error:
                raise Fail("not a type")
            return other.descriptor(kind)

        return self.reread_as("using x=", begin, end, ";", lower)

    def call_arguments(self) -> Node:
        """The arguments in a piece that was wrapped as a call."""
        root = self.piece.root
        node: Node | None = root.children[0] if root.child_count == 1 else None
        for field in ("declarator", "value", "arguments"):
            node = None if node is None else node.child_by_field_name(field)
        if node is None or node.type != "argument_list" or node.end_byte != len(self.text) - 1:
            raise Fail("not an expression")
        return node

    def as_expression(self, node: Node) -> ir.Expr:
        return self.reread(node.start_byte, node.end_byte)

    def bad(self, node: Node) -> Fail:
        """Why a node that the grammar does not have cannot be lowered."""
        if node.is_missing:
            return Fail(f"expected '{node.type}'")
        if node.type == "ERROR":
            text = self.of(node).split(None, 1)
            return Fail(f"syntax error at '{text[0][:40]}'" if text else "syntax error")
        return Fail(f"{node.type.replace('_', ' ')} not understood")

    # ------------------------------------------------------------ what upper layers provide

    def expression(self, node: Node) -> ir.Expr:
        raise NotImplementedError

    def descriptor(self, node: Node) -> ir.Expr:
        """A type with its abstract declarator."""
        raise NotImplementedError

    def template_arguments(self, node: Node) -> tuple[ir.Expr, ...]:
        raise NotImplementedError

    def decltype(self, node: Node) -> ir.Expr:
        raise NotImplementedError

    def arguments(self, node: Node) -> tuple[ir.Arg, ...]:
        """The arguments of an ``(...)``, ``{...}`` or ``[...]`` node."""
        raise NotImplementedError

    def parameters(self, node: Node) -> tuple[ir.Param, ...]:
        raise NotImplementedError

    def taken(self, node: Node) -> tuple[ir.Expr, ...] | None:
        raise NotImplementedError

    def template_parameters(self, node: Node) -> tuple[ir.TParam, ...]:
        raise NotImplementedError

    def lazy_block(self, node: Node) -> ir.Lazy:
        """The block of the node, lowered on first use."""
        raise NotImplementedError

    def declaration_statements(self, node: Node) -> list[ir.Stmt]:
        """A declaration inside a function body."""
        raise NotImplementedError


def parts(node: Node) -> list[Node]:
    """Children without punctuation."""
    return node.named_children


def steady(make: Callable[[bool], T]) -> T:
    """``make(False)``; should the callers' stack leave it too little room, ``make(True)`` on a stack of its own.

    What a body is lowered to must not depend on how deep the evaluator happened to be when it first asked for it.
    """
    try:
        return make(False)
    except RecursionError:
        pass
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(make(True))
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
