"""Operators that classes have: members, friends, and functions beside them (C++ [over.match.oper])."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import associated, calls, comparisons, places
from cutecheck.source.eval.lookup import lookup, member
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.overloads import Candidate, bind
from cutecheck.source.eval.ranking import Given
from cutecheck.source.eval.scope import Entry, Scope
from cutecheck.source.eval.values import Enumeral, EnumVal, FuncSet, Object, Scalar, Value

NO_OPERATOR = "operator"
_EXACT = 3  # from here on an argument is what a parameter takes


def unary(m: Machine, op: str, value: Object, span: Span, kind: Given) -> Value | None:
    """What a class, or a function beside it, says of ``-x``, ``+x``, ``~x`` and ``!x``; None where neither does."""
    name = f"operator{op}"
    method = member(m, value.cls, name, value, span)
    if isinstance(method, FuncSet):
        own = tuple(e for e in method.entries if not e.decl.params)
        if own:
            m.given = ((), kind)
            return calls.apply(m, replace(method, entries=own), [], {}, span)
    free = functions(m, name, [value], span)
    made = None if free is None else calls.apply(m, free, [value], {}, span)
    return None if none_takes(made) else made


def changing(
    m: Machine, op: str, operands: list[Value], cells: places.Cells | None, span: Span, post: bool = False
) -> Value | None:
    """``x += y``, ``++x`` and ``x++`` (``post``) of ``x`` in ``cells``; None where no function of its own does that."""
    given = [*operands, Scalar(0, "int")] if post else operands
    name = f"operator{op}"
    own = member(m, operands[0].cls, name, operands[0], span) if isinstance(operands[0], Object) else None
    if isinstance(own, FuncSet):
        several = any(e.decl.body is not None or op != "=" for e in own.entries)
        return calls.apply(m, own, given[1:], {}, span) if several else None
    free = functions(m, name, given, span) if op != "=" else None
    if free is None or not any(bind(m, e, free, given, {}) for e in free.entries):
        return None
    if cells is None and not isinstance(operands[0], Object):
        return Unknown(f"what {name} does to an object that is not followed", span)
    m.lvalues = (given, [cells, *[None] * (len(given) - 1)])
    return calls.apply(m, free, given, {}, span)


def functions(m: Machine, name: str, operands: list[Value], span: Span) -> FuncSet | None:
    """The functions outside of classes that an operator may call: friends, and those beside the operands' classes."""
    found: dict[object, Entry] = {}
    for v in operands:
        scope = _namespace(v) if m.dialect.by_value else None
        free = None if scope is None else lookup(m, name, scope.env, span)
        if isinstance(free, FuncSet) and free.cls is None:
            found |= {id(e.decl): e for e in free.entries}
    found |= associated.functions(m, name, operands)
    entries = tuple(e for e in found.values() if len(e.decl.params) == len(operands))
    return FuncSet(name, entries) if entries else None


def _namespace(v: Value) -> Scope | None:
    if isinstance(v, EnumVal):
        return None if v.of is None else v.of.env.namespace()
    return v.cls.env.namespace() if isinstance(v, Object) else None


def of_enumerations(m: Machine, op: str, operands: list[Value], span: Span) -> Value | None:
    """What a function says of an operator on enumerations; None where it is the one of the language."""
    if not m.dialect.by_value or not any(
        (isinstance(v, EnumVal) and v.of is not None) or isinstance(v, Enumeral) for v in operands
    ):
        return None
    free = functions(m, f"operator{op}", operands, span)
    if free is None or not any(bind(m, e, free, operands, {}) for e in free.entries):
        return None
    return calls.apply(m, free, operands, {}, span)


def binary(
    m: Machine,
    op: str,
    left: Value,
    right: Value,
    span: Span,
    args: list[Value] | None,
    kinds: tuple[Given, Given] = ("", ""),
) -> Value:
    """``left op right`` where one of them is an object; ``args``: the two, as what they name is known of them."""
    value = _called(m, op, left, right, span, args, kinds)
    if not none_takes(value) or not m.dialect.by_value:
        return value
    rewritten = comparisons.rewritten(m, op, left, right, span, _called)
    return value if rewritten is None else rewritten


def none_takes(value: Value) -> bool:
    """No operator of a class's own takes the operands."""
    return isinstance(value, Unknown) and value.reason.startswith(("no overload of", NO_OPERATOR))


def _called(
    m: Machine,
    op: str,
    left: Value,
    right: Value,
    span: Span,
    args: list[Value] | None = None,
    kinds: tuple[Given, Given] = ("", ""),
) -> Value:
    name = f"operator{op}"
    own = member(m, left.cls, name, left, span) if isinstance(left, Object) else None
    both = [left, right] if args is None else args
    free = functions(m, name, both, span)
    if isinstance(own, FuncSet) and free is not None:
        choice = _choice(m, own, free, both)
        if choice is None:
            return Unknown(f"which {name} of `{own.cls.name if own.cls else ''}` is meant", span)
        own, free = (own, None) if choice else (None, free)
    if isinstance(own, FuncSet):
        m.given = (kinds[1:], kinds[0])
        return calls.apply(m, own, [right], {}, span)
    if free is not None:
        m.given = (kinds, "")
        return calls.apply(m, free, both, {}, span)
    of = next(v for v in (left, right) if isinstance(v, Object))
    return Unknown(f"{NO_OPERATOR} {op} on `{of.cls.name}`", span)


def _choice(m: Machine, own: FuncSet, free: FuncSet, both: list[Value]) -> bool | None:
    """Whether the member is called and no function outside of the class; None where that is not known."""
    members = [c for c in (bind(m, e, own, both[1:], {}) for e in own.entries) if c is not None]
    others = [c for c in (bind(m, e, free, both, {}) for e in free.entries) if c is not None]
    if not members or not others:
        return not others
    if not all(c.sure for c in (*members, *others)):
        return None
    answers = {_better(one, other) for one in members for other in others}
    return answers.pop() if len(answers) == 1 else None


def _better(one: Candidate, other: Candidate) -> bool | None:
    """Whether a member is a better match than a function that takes the object as its first argument."""
    mine = [_EXACT, *(min(f, _EXACT) if f <= 0 else _EXACT for f in one.fits)]
    theirs = [min(f, _EXACT) if f <= 0 else _EXACT for f in other.fits]
    more = any(a > b for a, b in zip(mine, theirs, strict=False))
    less = any(a < b for a, b in zip(mine, theirs, strict=False))
    if more or less:
        return None if more and less else more
    templates = bool(other.fn.tparams) - bool(one.fn.tparams)
    return templates > 0 if templates else None
