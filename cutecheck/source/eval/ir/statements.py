"""Statements, and function bodies that are lowered on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias, Union

from cutecheck.facts.span import Span
from cutecheck.records import record

if TYPE_CHECKING:
    from cutecheck.source.eval.ir.declarations import Decl
    from cutecheck.source.eval.ir.expressions import Expr


@record(frozen=True, slots=True)
class Block:
    body: tuple[Stmt, ...]
    span: Span
    scoped: bool = True  # False in Python: names live in the function


@record(frozen=True, slots=True)
class ExprStmt:
    expr: Expr
    span: Span


@record(frozen=True, slots=True)
class Local:
    """A declaration inside a function body."""

    decl: Decl
    span: Span


@record(frozen=True, slots=True)
class Bind:
    """Structured binding ``auto [a, b] = value`` (names may be nested tuples in Python targets)."""

    names: tuple[str, ...]
    value: Expr
    span: Span
    refers: bool = False  # ``auto& [a, b]``


@record(frozen=True, slots=True)
class Assign:
    """``target op value``: op is ``=`` or ``+=`` ...; target is any assignable expression."""

    target: Expr
    op: str
    value: Expr
    span: Span


@record(frozen=True, slots=True)
class If:
    cond: Expr
    then: Block
    other: Block | None
    constexpr: bool
    span: Span
    init: Stmt | None = None


@record(frozen=True, slots=True)
class Loop:
    """``kind``: ``for`` (init; cond; step), ``while``, ``do``, ``foreach`` (target in iterable)."""

    kind: Literal["for", "while", "do", "foreach"]
    init: Stmt | None
    cond: Expr | None
    step: Stmt | None
    target: Expr | Stmt | None
    iterable: Expr | None
    body: Block
    span: Span


@record(frozen=True, slots=True)
class Case:
    values: tuple[Expr, ...]  # empty: default
    body: Block


@record(frozen=True, slots=True)
class Switch:
    subject: Expr
    cases: tuple[Case, ...]
    span: Span


@record(frozen=True, slots=True)
class Try:
    """``try``: the handlers run from wherever in the body something was thrown."""

    body: Block
    handlers: tuple[Block, ...]
    span: Span


@record(frozen=True, slots=True)
class Handler:
    """``except type as name:``; no type: anything."""

    type: Expr | None
    name: str | None
    body: Block


@record(frozen=True, slots=True)
class Attempt:
    """Python's ``try``: a handler runs where something of its type was raised."""

    body: Block
    handlers: tuple[Handler, ...]
    other: Block | None  # where nothing was
    final: Block | None
    span: Span


@record(frozen=True, slots=True)
class Raise:
    """``raise value``; no value: the exception that is handled."""

    value: Expr | None
    span: Span


@record(frozen=True, slots=True)
class Return:
    value: Expr | None
    span: Span


@record(frozen=True, slots=True)
class Jump:
    kind: Literal["break", "continue", "goto", "raise"]
    span: Span


@record(frozen=True, slots=True)
class Assert:
    """``static_assert``, ``assert``-like macros, and ``// cutecheck: assume`` contracts."""

    kind: Literal["static_assert", "assert", "contract"]
    cond: Expr
    message: str
    span: Span


@record(frozen=True, slots=True)
class With:
    items: tuple[tuple[Expr, Expr | None], ...]
    body: Block
    span: Span


Stmt: TypeAlias = Union[
    Block, ExprStmt, Local, Bind, Assign, If, Loop, Switch, Try, Attempt, Raise, Return, Jump, Assert, With,
]  # fmt: skip


class Lazy:
    """A function body lowered on first use. ``spelled`` gives its text with macros expanded, where that is known."""

    __slots__ = ("_make", "_value", "spelled")

    def __init__(self, make: Callable[[], Block], spelled: Callable[[], str] | None = None) -> None:
        self._make: Callable[[], Block] | None = make
        self._value: Block | None = None
        self.spelled = spelled

    def get(self) -> Block:
        if self._value is None:
            assert self._make is not None
            self._value = self._make()
            self._make = None
        return self._value
