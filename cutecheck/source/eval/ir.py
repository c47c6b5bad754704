"""The language-neutral program the evaluator runs.

``source/cpp`` and ``source/dsl`` lower syntax trees to these nodes and nothing else; the evaluator knows no
syntax. Names keep the spelling of the source: resolution (scopes, namespaces, imports) is the evaluator's.

Every node carries the :class:`Span` of the text it came from. What a front end cannot lower becomes
:class:`Opaque` with a reason; it evaluates to ``Unknown``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, Union

from cutecheck.facts.span import Span

# ---------------------------------------------------------------- expressions and types (types are values too)


@dataclass(frozen=True, slots=True)
class Lit:
    """A literal. ``ctype`` is the C++ type name (``int``, ``unsigned``, ``bool``, ``float`` ...) or ``py``."""

    value: int | float | bool | str | None
    ctype: str
    span: Span


@dataclass(frozen=True, slots=True)
class Name:
    """An unqualified name; ``targs`` is None when no template arguments were written (``f`` against ``f<>``)."""

    ident: str
    targs: tuple[Expr, ...] | None
    span: Span


@dataclass(frozen=True, slots=True)
class Scoped:
    """``base::ident<targs>``; ``base`` None is the global ``::``. ``typename`` and ``template`` are dropped."""

    base: Expr | None
    ident: str
    targs: tuple[Expr, ...] | None
    span: Span


@dataclass(frozen=True, slots=True)
class Attr:
    """``base.ident`` or ``base->ident`` (and Python attribute access)."""

    base: Expr
    ident: str
    targs: tuple[Expr, ...] | None
    span: Span


@dataclass(frozen=True, slots=True)
class Arg:
    """A call argument; ``name`` for keywords, ``star`` for ``*x``/``**x`` in Python."""

    value: Expr
    name: str | None = None
    star: Literal["", "*", "**"] = ""


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """``<<<grid, block, smem, stream>>>``."""

    args: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """``fn(args)``. A functional cast ``T(x)`` is a Call too: the evaluator sees that ``fn`` is a type."""

    fn: Expr
    args: tuple[Arg, ...]
    span: Span
    launch: LaunchConfig | None = None


@dataclass(frozen=True, slots=True)
class Construct:
    """``T{args}``; designated initialisers carry names."""

    type: Expr
    args: tuple[Arg, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Index:
    base: Expr
    args: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class SliceExpr:
    """Python ``a:b:c`` inside an index."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    """``op`` is one of ``+ - ! ~ & * ++ -- not`` (prefix) or ``p++ p--`` (postfix)."""

    op: str
    operand: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """``op`` as written: arithmetic, comparison, ``&& || and or in is`` (``not in``, ``is not``), ``,``, ``//`` ``**``.

    An assignment inside a C++ expression is a Binary too (``=``, ``+=`` ...); as a statement it is an Assign.
    """

    op: str
    left: Expr
    right: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Select:
    """``cond ? then : other`` and Python's conditional expression."""

    cond: Expr
    then: Expr
    other: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Sequence_:  # noqa: N801 - `Sequence` is taken
    """A Python tuple, list or set display, or a C++ braced list without a type (``init``)."""

    kind: Literal["tuple", "list", "set", "init"]
    items: tuple[Arg, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DictLit:
    items: tuple[tuple[Expr | None, Expr], ...]  # key None: `**mapping`
    span: Span


@dataclass(frozen=True, slots=True)
class CompClause:
    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    kind: Literal["list", "set", "dict", "generator"]
    element: Expr
    value: Expr | None  # of a dict comprehension
    clauses: tuple[CompClause, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class FString:
    parts: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Lambda:
    """A closure; ``tparams`` for generic lambdas (an ``auto`` parameter stays a Param with type None)."""

    tparams: tuple[TParam, ...]
    params: tuple[Param, ...]
    ret: Expr | None
    body: Lazy
    span: Span


@dataclass(frozen=True, slots=True)
class DeclType:
    """``decltype(expr)``; with ``expr`` None: ``decltype(auto)``."""

    expr: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class SizeOf:
    """``sizeof(x)``, ``alignof(T)`` or ``sizeof...(pack)``; the operand is an expression or a type."""

    what: Literal["sizeof", "alignof", "sizeof..."]
    operand: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Cast:
    """``(T)x``, ``static_cast<T>(x)`` and the other named casts (``how`` names them, ``c`` for the first)."""

    how: str
    type: Expr
    operand: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class TypeMod:
    """A type built from another: pointer, lvalue/rvalue reference, const, volatile, array (``extra`` is the extent)."""

    kind: Literal["ptr", "ref", "rref", "const", "volatile", "array", "function"]
    inner: Expr
    span: Span
    extra: Expr | None = None


@dataclass(frozen=True, slots=True)
class Auto:
    """Placeholder type ``auto``."""

    span: Span


@dataclass(frozen=True, slots=True)
class Expand:
    """Pack expansion ``pattern...``."""

    pattern: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Fold:
    """``(pattern op ...)``, ``(... op pattern)``, with optional ``init``."""

    op: str
    pattern: Expr
    init: Expr | None
    left: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Opaque:
    """Source text that was not lowered, and why; ``names`` are the identifiers in it (for escapes)."""

    reason: str
    span: Span
    names: tuple[str, ...] = ()


Expr: TypeAlias = Union[
    Lit, Name, Scoped, Attr, Call, Construct, Index, SliceExpr, Unary, Binary, Select, Sequence_, DictLit,
    Comprehension, FString, Lambda, DeclType, SizeOf, Cast, TypeMod, Auto, Expand, Fold, Opaque,
]  # fmt: skip


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Block:
    body: tuple[Stmt, ...]
    span: Span
    scoped: bool = True  # False in Python: names live in the function


@dataclass(frozen=True, slots=True)
class ExprStmt:
    expr: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Local:
    """A declaration inside a function body."""

    decl: Decl
    span: Span


@dataclass(frozen=True, slots=True)
class Bind:
    """Structured binding ``auto [a, b] = value`` (names may be nested tuples in Python targets)."""

    names: tuple[str, ...]
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Assign:
    """``target op value``: op is ``=`` or ``+=`` ...; target is any assignable expression."""

    target: Expr
    op: str
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class If:
    cond: Expr
    then: Block
    other: Block | None
    constexpr: bool
    span: Span
    init: Stmt | None = None


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Case:
    values: tuple[Expr, ...]  # empty: default
    body: Block


@dataclass(frozen=True, slots=True)
class Switch:
    subject: Expr
    cases: tuple[Case, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Jump:
    kind: Literal["break", "continue", "goto", "raise"]
    span: Span


@dataclass(frozen=True, slots=True)
class Assert:
    """``static_assert``, ``assert``-like macros, and ``// cutecheck: assume`` contracts."""

    kind: Literal["static_assert", "assert", "contract"]
    cond: Expr
    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class With:
    items: tuple[tuple[Expr, Expr | None], ...]
    body: Block
    span: Span


Stmt: TypeAlias = Union[
    Block, ExprStmt, Local, Bind, Assign, If, Loop, Switch, Return, Jump, Assert, With,
]  # fmt: skip


class Lazy:
    """A function body lowered on first use."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], Block]) -> None:
        self._make: Callable[[], Block] | None = make
        self._value: Block | None = None

    def get(self) -> Block:
        if self._value is None:
            assert self._make is not None
            self._value = self._make()
            self._make = None
        return self._value


# ---------------------------------------------------------------- declarations


@dataclass(frozen=True, slots=True)
class TParam:
    """A template parameter; ``kind`` ``value`` has its type in ``type``. ``name`` is empty when unnamed."""

    name: str
    kind: Literal["type", "value", "template"]
    type: Expr | None
    default: Expr | None
    pack: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Param:
    """A function parameter; ``type`` None is ``auto`` or untyped. ``kind`` follows Python's parameter kinds."""

    name: str
    type: Expr | None
    default: Expr | None
    pack: bool
    span: Span
    kind: Literal["normal", "keyword", "positional", "varargs", "varkw"] = "normal"


@dataclass(frozen=True, slots=True)
class Alias:
    """``using name = target`` (a template when ``tparams`` is not None) or a typedef."""

    name: str
    tparams: tuple[TParam, ...] | None
    target: Expr
    span: Span  # of the name
    full_span: Span


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or data member. ``init`` None: default-initialised; ``brace`` when written ``T x{...}``/``T x(...)``.

    ``type`` None: untyped (Python). ``flags``: static, constexpr, const, shared (``__shared__``), extern, thread,
    device.
    ``alignas_`` the expression of an alignas/ATTRIBUTE annotation, if any.
    """

    name: str
    type: Expr | None
    init: Expr | None
    init_args: tuple[Arg, ...] | None
    flags: frozenset[str]
    alignas_: Expr | None
    span: Span
    full_span: Span
    tparams: tuple[TParam, ...] | None = None
    spec_args: tuple[Expr, ...] | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function, method, constructor (``name`` equals the class) or operator (``operator()``).

    ``flags``: static, constexpr, kernel (``__global__`` or ``@cute.kernel``), jit, device, host, const, explicit,
    virtual, classmethod, staticmethod, property, defaulted, deleted. ``body`` None: only declared.
    ``owner``: for an out-of-class definition ``X<T>::f`` the expression ``X<T>``; ``owner_tparams`` are then the
    parameters of the class's own ``template <...>`` head(s), ``tparams`` those of the member.
    """

    name: str
    tparams: tuple[TParam, ...] | None
    spec_args: tuple[Expr, ...] | None
    params: tuple[Param, ...]
    ret: Expr | None
    body: Lazy | None
    flags: frozenset[str]
    span: Span
    full_span: Span
    owner: Expr | None = None
    owner_tparams: tuple[TParam, ...] = ()
    launch_bounds: tuple[Expr, ...] = ()
    inits: tuple[tuple[str, tuple[Arg, ...]], ...] = ()  # constructor initialisers
    decorators: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Class:
    """A class template, specialisation (``spec_args`` not None) or plain class; ``kind`` names the keyword.

    ``members`` may be lowered on first use. An anonymous union or struct has the name ``""``: its members are
    those of the class around it.
    """

    name: str
    kind: Literal["struct", "class", "union"]
    tparams: tuple[TParam, ...] | None
    spec_args: tuple[Expr, ...] | None
    bases: tuple[Expr, ...]
    members: Sequence[Decl]
    alignas_: Expr | None
    span: Span
    full_span: Span
    owner: Expr | None = None
    owner_tparams: tuple[TParam, ...] = ()
    decorators: tuple[Expr, ...] = ()
    forward: bool = False


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    underlying: Expr | None
    enumerators: tuple[tuple[str, Expr | None, Span], ...]
    scoped: bool
    span: Span
    full_span: Span


@dataclass(frozen=True, slots=True)
class Namespace:
    """``name`` empty: anonymous. ``a::b`` is nested."""

    name: str
    members: tuple[Decl, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Using:
    """``using namespace X``, ``using X::y``, ``namespace a = b`` (kind ``alias``, with ``name``)."""

    kind: Literal["namespace", "name", "alias"]
    target: Expr
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Import:
    """Python import: ``module`` with leading dots for relative ones; ``names`` empty for ``import m [as alias]``."""

    module: str
    alias: str | None
    names: tuple[tuple[str, str | None], ...]
    star: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Instantiate:
    """An explicit instantiation, or ``// cutecheck: instantiate X<...>``."""

    target: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class TopLevel:
    """A statement outside functions (static_assert, Python module code)."""

    stmt: Stmt


Decl: TypeAlias = Union[
    Alias, Variable, Function, Class, Enum, Namespace, Using, Import, Instantiate, TopLevel,
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Note:
    """Something kept from the source text: a blanked annotation, an error node, an ignored construct."""

    kind: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Unit:
    """One parsed file under one set of defines. ``includes`` are as written: (text, is_system, span).

    ``calls`` are the places (span of the callee name, callee text) where a configuration function or type of CuTe is
    spelled: the denominator of every figure, found by a name scan that does not depend on parsing.
    """

    path: str
    language: Literal["cpp", "dsl"]
    decls: tuple[Decl, ...]
    includes: tuple[tuple[str, bool, Span], ...] = ()
    calls: tuple[tuple[Span, str], ...] = ()
    notes: tuple[Note, ...] = field(default=())
