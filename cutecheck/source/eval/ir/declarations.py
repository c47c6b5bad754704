"""Declarations and the parsed file that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias, Union

from cutecheck.facts.span import Span
from cutecheck.records import record

if TYPE_CHECKING:
    from cutecheck.source.eval.ir.expressions import Arg, Expr
    from cutecheck.source.eval.ir.statements import Lazy, Stmt


@record(frozen=True, slots=True)
class TParam:
    """A template parameter; ``kind`` ``value`` has its type in ``type``. ``name`` is empty when unnamed."""

    name: str
    kind: Literal["type", "value", "template"]
    type: Expr | None
    default: Expr | None
    pack: bool
    span: Span


@record(frozen=True, slots=True)
class Param:
    """A function parameter; ``type`` None is ``auto`` or untyped. ``kind`` follows Python's parameter kinds."""

    name: str
    type: Expr | None
    default: Expr | None
    pack: bool
    span: Span
    kind: Literal["normal", "keyword", "positional", "varargs", "varkw"] = "normal"


@record(frozen=True, slots=True)
class Alias:
    """``using name = target`` (a template when ``tparams`` is not None) or a typedef."""

    name: str
    tparams: tuple[TParam, ...] | None
    target: Expr
    span: Span  # of the name
    full_span: Span


@record(frozen=True, slots=True)
class Variable:
    """A variable or data member. ``init`` None: default-initialised; ``brace`` when written ``T x{...}``/``T x(...)``.

    ``type`` None: untyped (Python). ``flags``: static, constexpr, const, shared (``__shared__``), extern, thread,
    device, bits (a bit-field; ``static``, too, where it has no name), overlaps (``[[no_unique_address]]``),
    concept (of which ``init`` says what it asks).
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
    constraints: tuple[Expr, ...] = ()
    width: Expr | None = None  # of a bit-field


@record(frozen=True, slots=True)
class Function:
    """A function, method, constructor (``name`` equals the class) or operator (``operator()``).

    A deduction guide of ``X`` has the name ``X guide``, and as its return type what it says.

    ``flags``: static, constexpr, kernel (``__global__`` or ``@cute.kernel``), jit, device, host, const, explicit,
    lvalue and rvalue (``f() &``, ``f() &&``), virtual, classmethod, staticmethod, property, defaulted, deleted.
    ``body`` None: only declared.
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
    constraints: tuple[Expr, ...] = ()
    cluster_dims: tuple[Expr, ...] = ()  # ``__cluster_dims__(x, y, z)``


@record(frozen=True, slots=True)
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
    constraints: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()
    packed: bool = False  # no room between its members
    pack: int = 0  # the largest alignment that its members have, 0 where nothing limits it


@record(frozen=True, slots=True)
class Enum:
    name: str
    underlying: Expr | None
    enumerators: tuple[tuple[str, Expr | None, Span], ...]
    scoped: bool
    span: Span
    full_span: Span


@record(frozen=True, slots=True)
class Namespace:
    """``name`` empty: anonymous. ``a::b`` is nested."""

    name: str
    members: tuple[Decl, ...]
    span: Span


@record(frozen=True, slots=True)
class Using:
    """``using namespace X``, ``using X::y``, ``using enum X``, ``namespace a = b`` (kind ``alias``, with ``name``)."""

    kind: Literal["namespace", "name", "alias", "enum"]
    target: Expr
    name: str
    span: Span


@record(frozen=True, slots=True)
class Import:
    """Python import: ``module`` with leading dots for relative ones; ``names`` empty for ``import m [as alias]``."""

    module: str
    alias: str | None
    names: tuple[tuple[str, str | None], ...]
    star: bool
    span: Span


@record(frozen=True, slots=True)
class Instantiate:
    """An explicit instantiation, or ``// cutecheck: instantiate X<...>``.

    ``each``: a type whose template arguments are those of the template ``target``, one instantiation each.
    ``params``: of a function its parameters, from which template arguments follow that are not written. ``asked``: what
    was written by hand, in a comment or a setting; empty for the program's own.
    """

    target: Expr
    span: Span
    each: Expr | None = None
    params: tuple[Param, ...] | None = None
    asked: str = ""


@record(frozen=True, slots=True)
class TopLevel:
    """A statement outside functions (static_assert, Python module code)."""

    stmt: Stmt


Decl: TypeAlias = Union[
    Alias, Variable, Function, Class, Enum, Namespace, Using, Import, Instantiate, TopLevel,
]  # fmt: skip


@record(frozen=True, slots=True)
class Note:
    """Something kept from the source text: a blanked annotation, an error node, an ignored construct."""

    kind: str
    text: str
    span: Span


@record(frozen=True, slots=True)
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
