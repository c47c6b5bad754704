"""Expressions and types (a type is a value too)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, Union

from cutecheck.facts.span import Span
from cutecheck.records import record

if TYPE_CHECKING:
    from cutecheck.source.eval.ir.declarations import Param, TParam
    from cutecheck.source.eval.ir.statements import Lazy


@record(frozen=True, slots=True)
class Lit:
    """A literal. ``ctype`` is the C++ type name (``int``, ``unsigned``, ``bool``, ``float`` ...) or ``py``.

    ``text`` is what a literal operator's template gets of a number, character by character.
    """

    value: int | float | bool | str | None
    ctype: str
    span: Span
    text: str = ""


@record(frozen=True, slots=True)
class Name:
    """An unqualified name; ``targs`` is None when no template arguments were written (``f`` against ``f<>``)."""

    ident: str
    targs: tuple[Expr, ...] | None
    span: Span


@record(frozen=True, slots=True)
class Scoped:
    """``base::ident<targs>``; ``base`` None is the global ``::``. ``typename`` and ``template`` are dropped."""

    base: Expr | None
    ident: str
    targs: tuple[Expr, ...] | None
    span: Span


@record(frozen=True, slots=True)
class Attr:
    """``base.ident`` or ``base->ident`` (and Python attribute access); ``owner``: of ``base.owner::ident``."""

    base: Expr
    ident: str
    targs: tuple[Expr, ...] | None
    span: Span
    owner: Expr | None = None


@record(frozen=True, slots=True)
class Arg:
    """A call argument; ``name`` for keywords, ``star`` for ``*x``/``**x`` in Python."""

    value: Expr
    name: str | None = None
    star: Literal["", "*", "**"] = ""


@record(frozen=True, slots=True)
class LaunchConfig:
    """``<<<grid, block, smem, stream>>>``."""

    args: tuple[Expr, ...]
    span: Span


@record(frozen=True, slots=True)
class Call:
    """``fn(args)``. A functional cast ``T(x)`` is a Call too: the evaluator sees that ``fn`` is a type."""

    fn: Expr
    args: tuple[Arg, ...]
    span: Span
    launch: LaunchConfig | None = None


@record(frozen=True, slots=True)
class Construct:
    """``T{args}``; designated initialisers carry names."""

    type: Expr
    args: tuple[Arg, ...]
    span: Span


@record(frozen=True, slots=True)
class Index:
    base: Expr
    args: tuple[Expr, ...]
    span: Span


@record(frozen=True, slots=True)
class SliceExpr:
    """Python ``a:b:c`` inside an index."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None
    span: Span


@record(frozen=True, slots=True)
class Unary:
    """``op`` is one of ``+ - ! ~ & * ++ -- not`` (prefix) or ``p++ p--`` (postfix)."""

    op: str
    operand: Expr
    span: Span


@record(frozen=True, slots=True)
class Binary:
    """``op`` as written: arithmetic, comparison, ``&& || and or in is`` (``not in``, ``is not``), ``,``, ``//`` ``**``.

    An assignment inside a C++ expression is a Binary too (``=``, ``+=`` ...); as a statement it is an Assign.
    """

    op: str
    left: Expr
    right: Expr
    span: Span


@record(frozen=True, slots=True)
class Select:
    """``cond ? then : other`` and Python's conditional expression."""

    cond: Expr
    then: Expr
    other: Expr
    span: Span


@record(frozen=True, slots=True)
class Sequence_:  # noqa: N801 - `Sequence` is taken
    """A Python tuple, list or set display, or a C++ braced list without a type (``init``)."""

    kind: Literal["tuple", "list", "set", "init"]
    items: tuple[Arg, ...]
    span: Span


@record(frozen=True, slots=True)
class DictLit:
    items: tuple[tuple[Expr | None, Expr], ...]  # key None: `**mapping`
    span: Span


@record(frozen=True, slots=True)
class CompClause:
    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@record(frozen=True, slots=True)
class Comprehension:
    kind: Literal["list", "set", "dict", "generator"]
    element: Expr
    value: Expr | None  # of a dict comprehension
    clauses: tuple[CompClause, ...]
    span: Span


@record(frozen=True, slots=True)
class FString:
    parts: tuple[Expr, ...]
    span: Span


@record(frozen=True, slots=True)
class Lambda:
    """A closure; ``tparams`` for generic lambdas (an ``auto`` parameter stays a Param with type None).

    ``captures``: name, whether by reference, and the initialiser where one is written. ``default`` is ``=`` or ``&``.
    """

    tparams: tuple[TParam, ...]
    params: tuple[Param, ...]
    ret: Expr | None
    body: Lazy
    span: Span
    captures: tuple[tuple[str, bool, Expr | None], ...] = ()
    default: Literal["", "=", "&"] = "&"
    mutable: bool = False


@record(frozen=True, slots=True)
class DeclType:
    """``decltype(expr)``; with ``expr`` None: ``decltype(auto)``."""

    expr: Expr | None
    span: Span


@record(frozen=True, slots=True)
class SizeOf:
    """``sizeof(x)``, ``alignof(T)`` or ``sizeof...(pack)``; the operand is an expression or a type."""

    what: Literal["sizeof", "alignof", "sizeof..."]
    operand: Expr
    span: Span


@record(frozen=True, slots=True)
class Cast:
    """``(T)x``, ``static_cast<T>(x)`` and the other named casts (``how`` names them, ``c`` for the first)."""

    how: str
    type: Expr
    operand: Expr
    span: Span


@record(frozen=True, slots=True)
class TypeMod:
    """A type built from another: pointer, lvalue/rvalue reference, const, volatile, array (``extra`` is the extent),
    function (``params`` are the types that it takes, packs as :class:`Expand`; None where they are not known)."""

    kind: Literal["ptr", "ref", "rref", "const", "volatile", "array", "function"]
    inner: Expr
    span: Span
    extra: Expr | None = None
    params: tuple[Expr, ...] | None = None


@record(frozen=True, slots=True)
class Auto:
    """Placeholder type ``auto``; ``constraint``: the concept before it."""

    span: Span
    constraint: Expr | None = None


@record(frozen=True, slots=True)
class Expand:
    """Pack expansion ``pattern...``."""

    pattern: Expr
    span: Span


@record(frozen=True, slots=True)
class Fold:
    """``(pattern op ...)``, ``(... op pattern)``, with optional ``init``."""

    op: str
    pattern: Expr
    init: Expr | None
    left: bool
    span: Span


@record(frozen=True, slots=True)
class Operation:
    """What an instruction of assembly does with barriers or threads, and what it is given (None: not known).

    ``result``: what it sets, once a wait is over, the thread elected, or the address in another block known. ``far``:
    at barriers of other blocks of a cluster, too. ``maybe``: under a predicate. ``to``: the block that it is in.
    """

    name: str
    operands: tuple[Expr | None, ...]
    result: Expr | None
    far: bool
    maybe: bool
    to: Expr | None = None


@record(frozen=True, slots=True)
class Opaque:
    """Source text that was not lowered, and why; ``names`` are the identifiers in it (for escapes).

    ``written``: those that it may write; None for all of them. ``memory``: it may write what addresses lead to.
    ``made``: the type that a ``new`` makes an object of. ``step``: what assembly does with groups of asynchronous
    copies or products, as a fence or with a barrier's bytes, by the name of the function that does the same in CuTe,
    and the number that it is given. ``operations``: what it does with barriers; None where that is not understood.
    ``more``: what several instructions of it do with groups, or as fences, where it is not one alone.
    """

    reason: str
    span: Span
    names: tuple[str, ...] = ()
    written: tuple[str, ...] | None = None
    memory: bool = False
    made: Expr | None = None
    step: tuple[str, Expr | None] | None = None
    more: tuple[tuple[str, Expr | None], ...] = ()
    operations: tuple[Operation, ...] | None = ()


@record(frozen=True, slots=True)
class Requirement:
    """``expr;``, ``typename expr;``, ``{ expr } -> gives;``, and with ``holds`` ``requires expr;``."""

    expr: Expr
    gives: Expr | None
    holds: bool
    span: Span


@record(frozen=True, slots=True)
class Requires:
    """``requires (params) { parts }``: whether the parts are valid; None stands for one that is not read."""

    params: tuple[Param, ...]
    parts: tuple[Requirement | None, ...]
    span: Span


Expr: TypeAlias = Union[
    Lit, Name, Scoped, Attr, Call, Construct, Index, SliceExpr, Unary, Binary, Select, Sequence_, DictLit,
    Comprehension, FString, Lambda, DeclType, SizeOf, Cast, TypeMod, Auto, Expand, Fold, Requires, Opaque,
]  # fmt: skip
