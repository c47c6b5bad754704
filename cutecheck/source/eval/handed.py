"""Calls of functions that another translation unit of the tree defines: what is known of their arguments.

A call leaves what it knows of each number and pointer among its arguments, also in objects, with the conditions on
these. The unit of the function starts from that instead of from any values of the parameters' types; from several calls
it takes what is the same in all of them: constants, and what divides a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from cutecheck.facts import Hypothesis, Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Condition, Dyn, Rel, Sym, as_expr
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.records import record
from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.contexts import about, leaves, number, stated
from cutecheck.source.eval.linkage import Linked, linked
from cutecheck.source.eval.observations import State
from cutecheck.source.eval.observed import telling
from cutecheck.source.eval.record.ways import lone
from cutecheck.source.eval.symbolic import symbolic_parameter
from cutecheck.source.eval.types import spell
from cutecheck.source.eval.values import Enumeral, Enumerated, Null, Object, Pointer, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Entry, Env

_LARGEST = 4096  # of divisors that calls have in common
_MOST = 64  # calls of functions that are not known; past them nothing is taken of any


@record(frozen=True, slots=True)
class Place:
    """Where a pointer points, in elements of the type that is spelled, from a start with this alignment."""

    offset: int | Dyn
    align: int | None
    type: str


@record(frozen=True, slots=True)
class Handed:
    """A call of a function; ``lines`` are the same for calls that say the same. The object of a method comes first."""

    function: Linked
    lines: frozenset[str]
    leaves: tuple[tuple[str, object], ...]
    conditions: tuple[Hypothesis, ...]
    told: tuple[
        tuple[str, int, State], ...
    ] = ()  # of leaves those that an argument of a library's class tells, by what


@record(frozen=True, slots=True)
class Indirect:
    """A call through a pointer to a function, or an object, that is not known: of how many arguments, and what holds
    of these."""

    count: int
    leaves: tuple[tuple[str, object], ...]
    conditions: tuple[Hypothesis, ...]


@record(frozen=True, slots=True)
class Callers:
    """The calls of the functions of one name in the tree; ``complete``: they are all that it has.

    ``taken``: but for those of these namespaces, whose addresses are taken.
    """

    name: str
    complete: bool
    calls: tuple[Handed, ...] = ()
    taken: frozenset[str] = frozenset()


def hand(
    m: Machine,
    function: Linked,
    targs: Sequence[Value],
    args: Sequence[Value],
    told: Mapping[int, Mapping[State, Dyn]],
) -> bool:
    """Note a call of a function that is declared only; False where it is not known which it is."""
    if any(v is None or isinstance(v, (Unknown, Dyn, Sym)) or _is_open(v) for v in targs):
        return False
    found: list[tuple[str, object]] = []
    asked = [(i, at, n) for i, numbers in sorted(told.items()) for at, n in sorted(numbers.items(), key=str)]
    more = tuple((f"@{i} tells {at}", i, at) for i, at, _ in asked)
    found += [(path, Scalar(n, "long")) for (path, _, _), (_, _, n) in zip(more, asked, strict=True)]
    found += _told(args)
    conditions = _conditions(m, found)
    known = stated(m, [*args, *(Scalar(n, "long") for _, _, n in asked)]).lines()
    m.recorder.handed.append(Handed(function, known.union(p for p, _, _ in more), tuple(found), conditions, more))
    return True


def met(m: Machine, args: Sequence[Value]) -> None:
    """Note a call on the host of a function that is not known which."""
    known, recorder = m.history.indirect, m.recorder
    if args and len(known) < _MOST and recorder.on_host() and not recorder.rehearsal:
        found = _told(args)
        known.append(Indirect(len(args), tuple(found), _conditions(m, found)))


def _told(args: Sequence[Value]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for path, value in leaves(args):
        plain = _plain(value)
        if plain is not None:
            found.append((path, plain))
        elif isinstance(value, Pointer) and isinstance(value.offset, (int, Dyn)) and value.swizzle is None:
            found.append((path, Place(value.offset, value.align, spell(value.type))))
    return found


def _conditions(m: Machine, found: Sequence[tuple[str, object]]) -> tuple[Hypothesis, ...]:
    expressions = [e for _, v in found if (e := _expression(v)) is not None]
    return tuple(about(m.recorder.hypotheses, expressions))


def asked(m: Machine, args: Sequence[Value], span: Span) -> list[Value]:
    """The arguments of a function whose address is taken, where calls that are not known which function they are of
    may be of it: of numbers what divides them in all of these.

    A host that asks whether sizes are multiples, and then calls through a table, asks that for every function in it.
    """
    calls = [call for call in m.history.indirect if call.count == len(args) and _fits(dict(call.leaves), args)]
    if not calls or len(m.history.indirect) >= _MOST:  # there may be more, of which nothing was noted
        return [*args]
    known, conditions = _common(m, calls, constants=False)
    m.recorder.hypotheses += conditions
    return [_argument(m, v, f"@{i}", known, span) for i, v in enumerate(args)]


def _fits(leaf: Mapping[str, object], args: Sequence[Value]) -> bool:
    """Whether numbers stand where the function takes some, and pointers where it takes these."""
    kinds = ((leaf.get(f"@{i}"), v) for i, v in enumerate(args))
    return not any(
        isinstance(given, (Scalar, Place)) and isinstance(given, Scalar) is not isinstance(v, Scalar)
        for given, v in kinds
    )


def _plain(value: Value) -> Scalar | None:
    """A number without the enumeration or class of this program that it is of: nothing of that goes along."""
    if not isinstance(value, Scalar) or isinstance(value, (Enumeral, Null)) or number(value) is None:
        return None
    held = value.value
    return Scalar(
        Dyn(held.expr) if isinstance(held, Enumerated) else int(held) if isinstance(held, int) else held, value.ctype
    )


def _is_open(value: Value) -> bool:
    return isinstance(value, Scalar) and not isinstance(value.value, int)


def _expression(value: object) -> Expr | None:
    return number(value.offset) if isinstance(value, Place) else number(value)


def of_function(m: Machine, callers: Callers | None, entry: Entry, fn: ir.Function, env: Env) -> list[Handed]:
    """The calls of a function in the tree, where these are all; none where it may have others."""
    if callers is None or not callers.complete or m.recorder.open:
        return []
    own = linked(m, entry, fn, env)
    if own is None or own.scope in callers.taken:
        return []
    met = [(call, own.means(call.function)) for call in callers.calls]
    return [] if any(same is None for _, same in met) else [call for call, same in met if same]


def taken(
    m: Machine, fn: ir.Function, env: Env, calls: Sequence[Handed], self_: Object | None = None
) -> tuple[Value, list[Value]]:
    """The object and the arguments of a function that these calls, and no others, are of; what holds of them is taken
    to hold."""
    calls = list({call.lines: call for call in calls}.values())
    known, conditions = _alone(m, calls[0]) if len(calls) == 1 else _common(m, calls)
    m.recorder.hypotheses += conditions
    args = [symbolic_parameter(m, p, env) for p in takewhile(lambda p: not p.pack, fn.params)]
    given = [_argument(m, v, f"@{i}", known, fn.span) for i, v in enumerate(args if self_ is None else [self_, *args])]
    m.lvalues = (
        (rest := given[self_ is not None :]),
        [telling(m, value, _numbers(calls, known, i)) for i, value in enumerate(given) if i or self_ is None],
    )
    return None if self_ is None else given[0], rest


def _numbers(calls: Sequence[Handed], known: Mapping[str, object], index: int) -> dict[State, Dyn]:
    """What an argument of a library's class tells."""
    return {
        at: v.value
        for path, i, at in calls[0].told
        if i == index and isinstance(v := known.get(path), Scalar) and isinstance(v.value, Dyn)
    }


def _argument(m: Machine, value: Value, path: str, known: Mapping[str, object], span: Span) -> Value:
    """An argument, of which a number may have another type than the parameter: it is converted with the others."""
    own = known.get(path)
    return own if isinstance(own, Scalar) and isinstance(value, Scalar) else _with(m, value, path, known, span)


def _with(m: Machine, value: Value, path: str, known: Mapping[str, object], span: Span) -> Value:
    """A value of which only the type is known, with what is known of it and of its members."""
    if isinstance(value, Object):
        inside = {p[len(path) + 1 :].partition(".")[0] for p in known if p.startswith(f"{path}.")}
        for name in sorted(inside):
            held = classes.get_field(m, value, name, span)
            value.initial[name] = value.fields[name] = _with(m, held, f"{path}.{name}", known, span)
        return value
    if type(value) is tuple:
        return tuple(_with(m, v, f"{path}.{i}", known, span) for i, v in enumerate(value))
    own = known.get(path)
    if isinstance(own, Scalar) and isinstance(value, Scalar) and own.ctype == value.ctype:
        return own
    if isinstance(own, Place) and isinstance(value, Pointer) and spell(value.type) == own.type:
        return replace(value, offset=own.offset, align=own.align)
    return value


def _alone(m: Machine, call: Handed) -> tuple[dict[str, object], list[Hypothesis]]:
    """What one call knows, its numbers under names that nothing here has."""
    names: dict[str, Expr] = {}

    def here(e: Expr) -> Expr:
        for v in e.variables():
            if v.name not in names:
                names[v.name] = m.fresh(_stem(v.name), v.domain).expr
        return e.substitute({v.name: names[v.name] for v in e.variables()})

    known: dict[str, object] = {}
    for path, leaf in call.leaves:
        if isinstance(leaf, Place):
            known[path] = replace(leaf, offset=Dyn(here(leaf.offset.expr))) if isinstance(leaf.offset, Dyn) else leaf
        elif isinstance(leaf, Scalar):
            known[path] = replace(leaf, value=Dyn(here(leaf.value.expr))) if isinstance(leaf.value, Dyn) else leaf
    conditions = [
        replace(h, condition=Condition(h.condition.rel, here(h.condition.lhs), here(h.condition.rhs)))
        for h in call.conditions
    ]
    return known, conditions


def _stem(name: str) -> str:
    return name.partition("#")[0].partition(PER_THREAD)[0]


def _common(
    m: Machine, calls: Sequence[Handed | Indirect], constants: bool = True
) -> tuple[dict[str, object], list[Hypothesis]]:
    """What all of several calls know: constants that are equal, and what divides numbers."""
    known: dict[str, object] = {}
    conditions: list[Hypothesis] = []
    every = [dict(call.leaves) for call in calls]
    for path, first in every[0].items():
        values = [of.get(path) for of in every]
        if not isinstance(first, Scalar) or not all(isinstance(v, Scalar) and v.ctype == first.ctype for v in values):
            continue
        if constants and all(v == first for v in values) and isinstance(first.value, int):
            known[path] = first
            continue
        told = [_divisor(e, call) for v, call in zip(values, calls, strict=True) if (e := number(v)) is not None]
        common = math.gcd(*(d for d, _ in told))
        if len(told) == len(calls) and common > 1 and first.ctype != "bool":
            made = m.fresh(path.rpartition(".")[2].lstrip("@") if "." in path else "argument")
            known[path] = Scalar(made, first.ctype)
            where = next((h for _, h in told if h is not None), None)
            condition = Condition(Rel.DIVIDES, ex.const(common), made.expr)
            conditions.append(Hypothesis(condition, where.span if where else None, where.origin if where else "assert"))
    return known, conditions


def _divisor(e: Expr, call: Handed | Indirect) -> tuple[int, Hypothesis | None]:
    """What divides a number where a call is made, and a condition that says so."""
    if e.constant is not None:
        return math.gcd(e.constant, _LARGEST), None
    told: dict[str, tuple[int, Hypothesis]] = {}
    for h in call.conditions:
        variable, by = lone(h.condition.rhs), h.condition.lhs.constant
        if h.condition.rel is Rel.DIVIDES and variable is not None and by:
            told[variable.name] = max(told.get(variable.name, (0, h)), (abs(by), h), key=lambda x: x[0])
    stands = {v.name: as_expr(Dyn.named(v.name) * told[v.name][0]) for v in e.variables() if v.name in told}
    return ex.divisor(e.substitute(stands)), next((told[n][1] for n in stands), None)


__all__ = ["Callers", "Handed", "Indirect", "asked", "hand", "met", "of_function", "taken"]
