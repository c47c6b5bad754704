"""One value for the two that a variable may have after a branch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.integers import LARGE, LARGEST
from cutecheck.model.ints import Dyn, Int, Sym, as_expr
from cutecheck.model.prove.contracts import in_source, said
from cutecheck.model.prove.domains import OR_NONE, WITHIN, takes_all
from cutecheck.source.eval import classes
from cutecheck.source.eval.chosen import OneOf, one_of
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.factors import by_factors
from cutecheck.source.eval.leaks import forgotten
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.statements.alike import alike
from cutecheck.source.eval.statements.pointers import either_buffer
from cutecheck.source.eval.threads import is_lost, lost, of_shared, some, varies, within
from cutecheck.source.eval.tuples import like
from cutecheck.source.eval.types import type_key, type_of
from cutecheck.source.eval.values import (
    Address,
    Enumeral,
    EnumVal,
    Extern,
    FuncSet,
    Object,
    Pointer,
    Scalar,
    TensorVal,
    Value,
)

OF_CONDITIONAL = "the two branches of ?:"
# of the texts of two values, past which what may be either of them is a number of its own; of values that differ from
# thread to thread 40 times as many on the device, as that would leave nothing to be said of conflicts
_PARTS = 120


def join(m: Machine, a: Value, b: Value, what: str, span: Span, cond: Value = None, varying: bool = False) -> Value:
    """One value for two: the same, a run-time integer covering both, or Unknown.

    ``varying``: which of the two it is may differ from thread to thread.
    """
    if a is b or _same(a, b):
        return a
    if m.dialect.by_value and (isinstance(a, (FuncSet, OneOf)) or isinstance(b, (FuncSet, OneOf))):
        choice = one_of((a, b), f"{what} depends on a condition that is not known", span)
        if choice is not None:
            return choice
    if isinstance(a, TensorVal) and isinstance(b, TensorVal) and a.pointer != b.pointer:
        m.recorder.takes((a, b))  # through the one either may be read
    own = m.dialect.joined(m, a, b, what, span, cond, varying)
    if own is not None:
        return own
    if isinstance(a, Unknown):
        return a
    if isinstance(b, Unknown):
        return b
    enumerated = _enumerated(m, a, b, what, span, varying)
    if enumerated is not None:
        return enumerated
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        if a.value is None or b.value is None or isinstance(a.value, float) or isinstance(b.value, float):
            return Scalar(None, a.ctype) if varying else of_shared(a.ctype, f"either#{m.number()}", a, b)
        static = isinstance(cond, Sym) or (isinstance(cond, Scalar) and isinstance(cond.value, Sym))
        return Scalar(cover(m, a.value, b.value, what, span, static, varying), a.ctype)
    if isinstance(a, (int, Dyn, Sym)) and isinstance(b, (int, Dyn, Sym)):
        return cover(m, a, b, what, span, varying=varying)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return like(a, (join(m, x, y, what, span, cond, varying) for x, y in zip(a, b, strict=True)))
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.buffer == b.buffer and a.type == b.type:
        if isinstance(a.offset, Unknown) or isinstance(b.offset, Unknown):
            return replace(a, offset=Unknown("the offset depends on an unknown condition", span))
        return replace(a, offset=cover(m, a.offset, b.offset, what, span, varying=varying))
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        why = f"{what} depends on a condition that is not known"
        either = either_buffer(m, (a, b), what, span, why, varying)
        if either is not None:
            return either
    if isinstance(a, Address) and isinstance(b, Address):
        return Address(tuple({(id(where), name): (where, name) for where, name in (*a.cells, *b.cells)}.values()))
    for pointer, other in ((a, b), (b, a)):
        if isinstance(pointer, (Address, Pointer)) and isinstance(other, Scalar) and other.ctype == "nullptr_t":
            return pointer  # nothing is read or written through the other
    if isinstance(a, TensorVal) and isinstance(b, TensorVal) and a.layout == b.layout and a.pointer is not None:
        pointer = join(m, a.pointer, b.pointer, what, span, cond, varying)
        offset = join(m, a.offset, b.offset, what, span, cond, varying)
        if isinstance(pointer, Pointer):
            return replace(a, pointer=pointer, offset=offset)
    if (
        isinstance(a, Object)
        and isinstance(b, Object)
        and type_key(a.cls) == type_key(b.cls)
        and a.pointer == b.pointer
    ):
        joined = {}
        for name in dict.fromkeys((*a.fields, *b.fields)):  # the others are as the class says
            one, other = (classes.get_field(m, o, name, span) for o in (a, b))
            joined[name] = join(m, one, other, what, span, cond, varying)
        return replace(a, fields=joined)
    if isinstance(a, Extern) or isinstance(b, Extern):
        both = isinstance(a, Extern) and isinstance(b, Extern) and a.type == b.type
        return Extern(what, span, a.type if both and isinstance(a, Extern) else None)
    made = alike((a, b), lambda ints, name: cover(m, ints[0], ints[1], name, span, varying=varying), what)
    if made is not None:
        return made
    if m.dialect.by_value:
        forgotten(m, a, b)
    return Unknown(f"{what} depends on a condition that is not known", span)


def _enumerated(m: Machine, a: Value, b: Value, what: str, span: Span, varying: bool) -> Value:
    """One of the values of an enumeration that both are of: the integer that it is kept as may be either."""
    both = [(type_of(v), v.value, v.ctype) for v in (a, b) if isinstance(v, (EnumVal, Enumeral))]
    if len(both) < 2 or not isinstance(both[0][0], EnumRef) or both[0][0] != both[1][0]:
        return None
    (of, one, kept), (_, other, _) = both
    if not isinstance(one, (int, Dyn)) or not isinstance(other, (int, Dyn)):
        return None
    return Enumeral(cover(m, one, other, what, span, False, varying), kept, of)


def _same(a: Value, b: Value) -> bool:
    try:
        return (type(a) is type(b) or (isinstance(a, Dyn) and isinstance(b, Dyn))) and bool(a == b)
    except TypeError:
        return False


def cover(m: Machine, a: Any, b: Any, what: str, span: Span, static: bool = True, varying: bool = False) -> Int:
    """An integer that may be either of two, a multiple of what divides both; static when they and the condition are.

    Where they depend on the thread it is one plus 0 or 1 times their difference, so that each thread keeps its own, or
    a multiple of what divides a difference that is the same in all.
    """
    name = what.strip("`") or "join"
    if varying and not (static and isinstance(a, Sym) and isinstance(b, Sym)):
        first, other = as_expr(a), as_expr(b)
        either_of = isinstance(a, int) and isinstance(b, int)
        domain = Domain(values=tuple(sorted({a, b}))) if either_of else hull(first, other)
        if domain != ex.ANY:
            return _either(m, name, (first, other), domain, span)
        if any(is_lost(m, e) and e.variables()[0].domain == domain for e in (first, other)):
            return lost(m, name, domain, True)
        if _longer(_PARTS, first, other):
            return _either_sum(m, name, first, other, domain, span, True)
        return Dyn(ex.add(other, ex.mul(some(m, name, Domain(0, 1), True).expr, ex.sub(first, other))))
    domain = hull(as_expr(a), as_expr(b))
    open_ = _says_nothing(domain) and not isinstance(a, int) and not isinstance(b, int) and not _strangers(m, a, b)
    if varies(a) or varies(b) or open_:
        first, other = as_expr(a), as_expr(b)
        if not varies(a):
            first, other = other, first  # `0 or 8 * threadIdx.x` is one product
        apart_already = varies(a) or varies(b)
        if any(is_lost(m, e) and e.variables()[0].domain == domain for e in (first, other)):  # which says nothing
            return lost(m, name, domain, apart_already)
        most = _PARTS if not apart_already or (m.dialect.by_value and m.recorder.on_host()) else _PARTS * 40
        if _longer(most, first, other):
            return _either_sum(m, name, first, other, domain, span, varying)
        apart = ex.sub(first, other)
        if not varies(apart) and (ex.divisor(apart) > 1 or None not in ex.bounds(apart)):
            return Dyn(ex.add(other, m.fresh(within(name, apart), hull(ex.const(0), apart)).expr))
        return Dyn(ex.add(other, ex.mul(m.fresh(name, Domain(0, 1)).expr, apart)))
    if what == OF_CONDITIONAL and (number := _or_none(m, a, b)) is not None:
        return number
    static = static and isinstance(a, (int, Sym)) and isinstance(b, (int, Sym))
    m.recorder.symbols = m.recorder.symbols or static
    if isinstance(a, int) and isinstance(b, int):
        domain = Domain(values=tuple(sorted({a, b})))
    return (
        Sym.named(f"({m.recorder.text(span) or what})", domain)
        if static
        else m.fresh(within(name, as_expr(a), as_expr(b)), domain)
    )


def _says_nothing(domain: Domain) -> bool:
    """Whether a range is that of a type of 32 bits or more."""
    if domain.lo is None or domain.hi is None:
        return domain == ex.ANY
    return domain.step == 1 and domain.hi - domain.lo >= LARGE


def _either(m: Machine, name: str, values: tuple[Expr, Expr], domain: Domain, span: Span) -> Dyn:
    """What may be either of two values in each thread: any number of a domain, or a multiple of what both are."""
    shared = _factors(*values)
    if not shared:
        return some(m, within(name, *values), domain, True)
    one, other = (Dyn(_without(e, shared)) for e in values)
    return Dyn(ex.mul(_product(shared), as_expr(cover(m, one, other, name, span, False, True))))


def _either_sum(m: Machine, name: str, a: Expr, b: Expr, domain: Domain, span: Span, varying: bool) -> Dyn:
    """What may be either of two values that are too long to be told."""
    split = by_factors(m, name, (a, b), varying) if domain == ex.ANY else None
    if split is None or _longer(_PARTS, *split[1]):
        return some(m, within(name, a, b), domain, varying or varies(a) or varies(b))
    total, rests = split
    one, other = (e.constant if e.constant is not None else Dyn(e) for e in rests)
    rest = one if _same(one, other) else cover(m, one, other, name, span, False, varying)
    return Dyn(ex.add(total, as_expr(rest)))


def _factors(*values: Expr) -> tuple[Var, ...]:
    """The variables, the same in all threads, that every term of the values has as a factor: `row * ld` or 0 is a
    multiple of `ld`, of which something may be known."""
    terms = [monomial for v in values for monomial, _ in v.terms]
    if not terms:
        return ()
    own = dict.fromkeys(a for a in terms[0] if isinstance(a, Var) and not varies(Dyn(ex.atom_expr(a))))
    return tuple(a for a in own if all(a in monomial for monomial in terms))


def _product(factors: Sequence[Var]) -> Expr:
    return reduce(ex.mul, map(ex.atom_expr, factors))


def _without(value: Expr, factors: Sequence[Var]) -> Expr:
    """What is left of a value that is a multiple of these."""
    rest = ex.const(0)
    for monomial, c in value.terms:
        left = list(monomial)
        for f in factors:
            left.remove(f)
        rest = ex.add(rest, reduce(ex.mul, map(ex.atom_expr, left), ex.const(c)))
    return rest


def _strangers(m: Machine, a: Any, b: Any) -> bool:
    """Whether host code chooses between numbers that have nothing in common: what it checks afterwards is about one."""
    if not m.dialect.by_value or not m.recorder.on_host():
        return False
    return not {*as_expr(a).variables()} & {*as_expr(b).variables()}


def _longer(most: int, *values: Expr) -> bool:
    """Whether the texts of values have more than ``most`` parts: what is made of both then says nothing any more.

    The value after `if (++i == n) { i = 0; phase ^= 1; }` doubles with each of them.
    """
    parts, todo = 0, list(values)
    while todo and parts <= most:
        for monomial, _ in todo.pop().terms:
            parts += 1 + len(monomial)
            todo += [a for atom in monomial if isinstance(atom, Op) for a in atom.args]
    return parts > most


def _or_none(m: Machine, a: Any, b: Any) -> Dyn | None:
    """Of a number that the source has a name for, or 0: called after it, as a contract on the number is one on both."""
    named = [as_expr(v) for v in (a, b) if not (isinstance(v, int) and v == 0)]
    terms = named[0].terms if len(named) == 1 else ()
    if len(terms) != 1 or len(terms[0][0]) != 1:
        return None
    ((atom,), times) = terms[0]
    name = said(atom.name) if isinstance(atom, Var) else ""
    if not isinstance(atom, Var) or not in_source(name) or takes_all(atom.name):  # no index, nor counter
        return None
    either = m.fresh(f"{name}{OR_NONE}{WITHIN}", hull(ex.const(0), ex.atom_expr(atom)))
    return Dyn(ex.mul(ex.const(times), either.expr))


def hull(*values: Expr) -> Domain:
    """The least range of multiples that holds the values of all."""
    lows, highs = zip(*(ex.bounds(v) for v in values), strict=True)
    lo = None if None in lows else min(lows)
    hi = max(highs) if None not in highs else LARGEST if any(h is not None and h >= LARGE for h in highs) else None
    return Domain(lo, hi, math.gcd(*map(ex.divisor, values)) or 1, hull=True)
