"""A supposed call that is being run, and what the evaluation tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span
from cutecheck.source.dsl.supposed.guesses import Given
from cutecheck.source.dsl.supposed.moves import RefusedError, moves, of_rank
from cutecheck.source.eval import ir
from cutecheck.source.eval.values import Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Env


@dataclass(slots=True)
class Supposition:
    """A dialect has it while the call runs. ``tag`` is in the names of all functions that are walked for it."""

    tag: str
    given: Given
    called: frozenset[Span]  # functions that something in the tree calls: their kernels are not supposed
    text: str = ""
    words: list[str] = field(default_factory=list)  # texts that it is given
    kernels: set[Span] = field(default_factory=set)  # those of the tree that were walked
    known: int = 0  # kernels that something in the tree launches
    refused: list[str] = field(default_factory=list)  # what the DSL refuses of it

    @property
    def binding(self) -> tuple[str, str]:
        return "supposed", self.text

    def asserted(self, m: Machine, node: ir.Assert, env: Env) -> None:
        """An assertion that does not hold ends the call."""
        if _certain(m) and m.dialect.truth(m.eval(node.cond, env)) is False:
            what = f"the assertion at {node.span.path}:{node.span.line} does not hold"
            raise RefusedError(what, moves(m, self.given, node.cond, True, env))

    def raised(self, m: Machine, node: ir.Raise, env: Env) -> None:
        """So does an exception that nothing catches; what would avoid it the conditions around it say."""
        if not _certain(m):
            return
        fn = env.frame.function if env.frame is not None else None
        found: list[Any] = []
        if fn is not None and fn.body is not None:
            for cond, taken in _around(fn.body.get(), node):
                found += moves(m, self.given, cond, not taken, env)
        raise RefusedError(f"an exception is raised at {node.span.path}:{node.span.line}", found)

    def unpacked(self, m: Machine, value: Value, count: int, span: Span) -> None:
        """A shape is taken apart into another number of extents than were supposed."""
        found = of_rank(self.given, value, count)
        if found and _certain(m):
            raise RefusedError(f"{count} modes are wanted at {span.path}:{span.line}", found)

    def indexed(self, m: Machine, value: Value, at: Value, span: Span) -> None:
        """A mode of a shape is taken that was not supposed."""
        if type(at) is int:
            self.unpacked(m, value, at + 1 if at >= 0 else -at, span)


def _certain(m: Machine) -> bool:
    """Whether the program comes here for sure."""
    return m.attempts is None and not m.recorder.standing()[1] and not m.recorder.rehearsal


def _around(at: ir.Stmt | None, node: ir.Stmt) -> Iterator[tuple[ir.Expr, bool]]:
    """The conditions around a statement, the innermost first, and whether it stands where they hold."""
    if isinstance(at, ir.If):
        for branch, taken in ((at.then, True), (at.other, False)):
            if branch is not None and _holds(branch, node):
                yield from _around(branch, node)
                yield at.cond, taken
    elif at is not None:
        for inner in _parts(at):
            if _holds(inner, node):
                yield from _around(inner, node)


def _parts(at: ir.Stmt) -> list[ir.Stmt]:
    if isinstance(at, ir.Block):
        return list(at.body)
    if isinstance(at, ir.If):
        return [b for b in (at.then, at.other) if b is not None]
    return [at.body] if isinstance(at, (ir.Loop, ir.With, ir.Attempt)) else []


def _holds(at: ir.Stmt, node: ir.Stmt) -> bool:
    return at is node or any(_holds(inner, node) for inner in _parts(at))
