"""The variables of an obligation: their domains, and concrete values to try."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import gcd, lcm

from cutecheck.model.expr import Domain, Expr, Var, const, sub
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove.obligation import FiniteSet, Multiple, Obligation, ParamDomain
from cutecheck.records import field_names

PER_THREAD = "~"  # in the name of a variable: any integer of its domain, of each thread its own

WITHIN = "'"  # ends the name of a variable, before its number, whose values lie in its domain and may be fewer
OR_NONE = (
    "|0"  # after the name of a number, before that mark: the number or 0, as a stride of a mode that may be absent
)
INDICES = ("threadIdx.", "blockIdx.", "rest[", "value[", "iteration#", "iterations#")


def takes_all(name: str) -> bool:
    """Whether a variable takes each value of its domain: not what is read from memory (``*``), nor a parameter."""
    if name.startswith("*") or f"{WITHIN}#" in name or f"{WITHIN}{PER_THREAD}" in name:
        return False
    return "#" in name or per_thread(name) or name.startswith(INDICES)


def per_thread(name: str) -> bool:
    """Whether a variable may differ from thread to thread; all others but the thread's index are uniform in a warp."""
    return PER_THREAD in name


def as_domain(param: ParamDomain) -> Domain:
    if isinstance(param, FiniteSet):
        return Domain(values=tuple(sorted(set(param.values))))
    if isinstance(param, Multiple):
        return Domain(lo=param.lo, hi=param.hi, step=param.of)
    return Domain(lo=param.lo, hi=param.hi)


def expressions(value: object) -> Iterator[Expr]:
    """Every expression inside a payload, layout or condition, in order."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, Expr):
            yield part
        elif isinstance(part, tuple):
            todo += part[::-1]
        else:
            todo += [getattr(part, name) for name in reversed(field_names(type(part)))]


def opaque_names(e: Expr) -> Iterator[str]:
    """What no lane can be evaluated with: opaque operations (unknown functions), variables of each thread its own."""
    for monomial, _ in e.terms:
        for atom in monomial:
            if isinstance(atom, Var):
                if per_thread(atom.name):
                    yield atom.name
            else:
                if atom.kind == "opaque":
                    yield str(atom)
                for argument in atom.args:
                    yield from opaque_names(argument)


def variable_domains(obligation: Obligation) -> dict[str, Domain]:
    """Domain of every named variable of the payload and hypotheses, sorted by name.

    A parameter's domain replaces the variable's own. A hypothesis ``n divides v`` or ``n divides 2 * v``
    raises the step of ``v``, and ``v + m <= n`` or ``v + m < n`` bounds it, where ``v`` is a plain variable. Variables
    that are equal have one domain.
    """
    found: dict[str, Domain] = {}
    for e in expressions((obligation.objects, obligation.hypotheses)):
        for v in e.variables():
            found.setdefault(v.name, v.domain)
    for name, param in obligation.params:
        if name in found:
            found[name] = as_domain(param)
    for hypothesis in obligation.hypotheses:
        _narrow(found, hypothesis)
    _share(found, obligation.hypotheses)
    return dict(sorted(found.items()))


def _share(found: dict[str, Domain], hypotheses: Iterable[Condition]) -> None:
    """``v == w``: what holds of the one holds of the other, and of what that is equal to."""
    equal = []
    for c in hypotheses:
        if c.rel is Rel.EQ:
            (one, times), (other, as_often) = _lone_variable(c.lhs), _lone_variable(c.rhs)
            if one in found and other in found and times == as_often:
                equal.append((str(one), str(other)))
    for _ in equal:
        before = dict(found)
        for one, other in equal:
            a, b = found[one], found[other]
            found[one] = found[other] = a if a == b else _meet(a, b)
        if before == found:
            return


def _meet(a: Domain, b: Domain) -> Domain:
    """The values that are in both."""
    if a.values is None and b.values is not None:
        a, b = b, a
    both = clip(with_step(a, b.step), lo=b.lo, hi=b.hi)
    if a.values is not None and b.values is not None:
        return Domain(values=tuple(v for v in both.values or () if v in b.values))
    return both


def without_others(obligation: Obligation) -> Obligation:
    """The obligation without the hypotheses that say nothing of its numbers, by way of one another either."""
    about = [frozenset(v.name for e in expressions(h) for v in e.variables()) for h in obligation.hypotheses]
    known = {v.name for e in expressions(obligation.objects) for v in e.variables()}
    before = -1
    while len(known) > before:
        before = len(known)
        known.update(*(names for names in about if names & known))
    kept = tuple(h for h, names in zip(obligation.hypotheses, about, strict=True) if names & known)
    return obligation if len(kept) == len(about) else replace(obligation, hypotheses=kept)


def _lone_variable(e: Expr) -> tuple[str | None, int]:
    """The variable that an expression is a multiple of, and how many times; None for any other."""
    if len(e.terms) == 1 and len(e.terms[0][0]) == 1:
        atom = e.terms[0][0][0]
        return (atom.name if isinstance(atom, Var) else None), e.terms[0][1]
    return None, 1


def _moved_variable(e: Expr) -> tuple[str | None, int]:
    """The variable that an expression is a sum of with a constant, and the constant; None for any other."""
    constant = sum(factor for monomial, factor in e.terms if not monomial)
    name, times = _lone_variable(e if not constant else sub(e, const(constant)))
    return (name if times == 1 else None), constant


def _narrow(found: dict[str, Domain], c: Condition) -> None:
    left, right = c.lhs.constant, c.rhs.constant
    name, times = _lone_variable(c.rhs)
    if name in found and left is not None and c.rel is Rel.DIVIDES and left > 0:  # of `2 * v`, too
        found[name] = with_step(found[name], left // gcd(left, times))
        return
    name, more = _moved_variable(c.rhs)
    if name in found and left is not None:
        d = found[name]
        if c.rel in (Rel.LE, Rel.LT):
            found[name] = clip(d, lo=left - more + (c.rel is Rel.LT))
        elif c.rel is Rel.EQ:
            found[name] = _only(d, left - more)
    name, more = _moved_variable(c.lhs)
    if name in found and right is not None:
        d = found[name]
        if c.rel in (Rel.LE, Rel.LT):
            found[name] = clip(d, hi=right - more - (c.rel is Rel.LT))
        elif c.rel is Rel.EQ:
            found[name] = _only(d, right - more)


def _only(d: Domain, value: int) -> Domain:
    """One number, and what it is a multiple of: engines that ask for residues see no range."""
    one = clip(d, lo=value, hi=value)
    return with_step(one, abs(value)) if value else one


def with_step(d: Domain, step: int) -> Domain:
    if d.values is not None:
        return Domain(values=tuple(v for v in d.values if v % step == 0))
    return Domain(d.lo, d.hi, lcm(d.step, step))


def clip(d: Domain, lo: int | None = None, hi: int | None = None) -> Domain:
    if d.values is not None:
        return Domain(values=tuple(v for v in d.values if (lo is None or v >= lo) and (hi is None or v <= hi)))
    low = max((x for x in (d.lo, lo) if x is not None), default=None)
    high = min((x for x in (d.hi, hi) if x is not None), default=None)
    return Domain(low, high, d.step)


def first_values(d: Domain, count: int) -> list[int]:
    """The first ``count`` values of a domain, from its lower bound up (from 0 when unbounded below)."""
    if d.values is not None:
        return list(d.values[:count])
    start = d.lo
    if start is None:
        start = 0 if d.hi is None or d.hi >= 0 else d.hi - (count - 1) * d.step
    start += -start % d.step
    end = start + count * d.step
    return list(range(start, end if d.hi is None else min(end, d.hi + 1), d.step))


def size_of(d: Domain) -> int | None:
    """How many values a domain has, None when infinite."""
    if d.values is not None:
        return len(d.values)
    if d.lo is None or d.hi is None:
        return None
    first = d.lo + -d.lo % d.step
    return max(0, (d.hi - first) // d.step + 1)


def meets(conditions: Iterable[Condition], values: dict[str, int]) -> bool:
    """Plain evaluation of hypotheses; a condition over names without a value counts as met."""
    for c in conditions:
        try:
            left, right = c.lhs.evaluate(values), c.rhs.evaluate(values)
        except KeyError:
            continue
        except ZeroDivisionError:
            return False
        if not condition_value(c.rel, left, right):
            return False
    return True


def condition_value(rel: Rel, left: int, right: int) -> bool:
    if rel is Rel.DIVIDES:
        return left != 0 and right % left == 0
    if rel is Rel.LT:
        return left < right
    if rel is Rel.LE:
        return left <= right
    return (left == right) is (rel is Rel.EQ)


def describe(name: str, d: Domain) -> str:
    """A domain in words for scopes: ``kBlockM multiple of 64``, ``hd in {32, 64}``."""
    if d.values is not None:
        return f"{name} in {{{', '.join(map(str, d.values))}}}"
    text = f"{name} multiple of {d.step}" if d.step > 1 else name
    if d.lo is not None and d.hi is not None:
        return f"{text} in {d.lo}..{d.hi}"
    if d.lo is not None:
        return f"{text} >= {d.lo}"
    return f"{text} <= {d.hi}" if d.hi is not None else text
