"""Residues of expressions: which values of the variables suffice to see every value modulo m.

An expression over variables without finite domains takes finitely many values modulo m, and polynomials depend on
their variables modulo m alone; a truncating division by n of something not negative depends on its argument modulo
``m * n``. :func:`residues` lists the values modulo m, each with the smallest assignment that attains it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import reduce

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Condition
from cutecheck.model.prove.domains import first_values, meets, size_of
from cutecheck.model.prove.engines.compiled import function_of

LIMIT = 1 << 16
MOST_THREADS = 1 << 16  # a block has 1024, a cluster's copies a few times that

Assignment = dict[str, int]


class TooManyError(Exception):
    """Enumeration would pass the limit, or a variable has neither a period nor a finite domain."""


def redomain(e: Expr, domains: Mapping[str, Domain]) -> Expr:
    """The same expression with the obligation's domains on its variables, folded again under them."""
    return e.substitute({name: ex.var(name, d) for name, d in domains.items()})


def _atom_period(atom: ex.Atom, name: str, m: int) -> int | None:
    """Period of ``name`` for the atom's value modulo m; None when there is none."""
    if isinstance(atom, Var):
        return m if atom.name == name else 1
    if not any(v.name == name for a in atom.args for v in a.variables()):
        return 1
    first = atom.args[0]
    n = atom.args[1].constant if len(atom.args) > 1 else None
    low, _ = ex.bounds(first)
    natural = low is not None and low >= 0
    if atom.kind == "div" and n is not None and n > 0 and (natural or ex.divisor(first) % n == 0):  # nothing is cut off
        return expr_period(first, name, m * n)
    if atom.kind == "mod" and n is not None and n > 0 and natural:
        return expr_period(first, name, n)
    if atom.kind == "and" and n is not None and n >= 0:
        return expr_period(first, name, 1 << n.bit_length())
    if atom.kind in ("and", "or", "xor"):
        power = 1 << (m - 1).bit_length()
        if power == m:
            return _lcm(expr_period(a, name, m) for a in atom.args)
    return None


def expr_period(e: Expr, name: str, m: int) -> int | None:
    """A p > 0 such that shifting ``name`` by p leaves the expression unchanged modulo m."""
    return _lcm(_atom_period(atom, name, m // math.gcd(m, factor)) for monomial, factor in e.terms for atom in monomial)


def _lcm(periods: object) -> int | None:
    result = 1
    for p in periods:  # type: ignore[attr-defined]
        if p is None:
            return None
        result = math.lcm(result, p)
    return result


def values_to_try(e: Expr, name: str, domain: Domain, m: int) -> tuple[list[int], bool]:
    """Values of a variable that show every residue of ``e`` modulo m; the flag says that they are all it has."""
    size = size_of(domain)
    period = expr_period(e, name, m)
    if period is None or (domain.values is not None and period > 0):
        if size is None or size > LIMIT:
            raise TooManyError(f"{name} has no finite domain")
        return first_values(domain, size), True
    count = period // math.gcd(period, domain.step)
    if min(count, count if size is None else size) > LIMIT:
        raise TooManyError(f"{name} has {count} residues")
    if size is not None and size <= count:
        return first_values(domain, size), True
    return first_values(domain, count), False


def components(e: Expr) -> list[Expr]:
    """Split a sum into parts that share no variable (numbers form a part of their own)."""
    groups: list[tuple[set[str], Expr]] = []
    for monomial, factor in e.terms:
        term = Expr(((monomial, factor),))
        names = {v.name for v in term.variables()}
        merged = term
        rest: list[tuple[set[str], Expr]] = []
        for other_names, other in groups:
            if names & other_names:
                names |= other_names
                merged = ex.add(merged, other)
            else:
                rest.append((other_names, other))
        groups = [*rest, (names, merged)]
    return [part for _, part in groups]


def residues(
    e: Expr, domains: Mapping[str, Domain], m: int, hypotheses: Sequence[Condition] = ()
) -> tuple[dict[int, Assignment | None], bool]:
    """Every value of ``e`` modulo m with an assignment that gives it; None where attained is not known.

    The flag is True when the set is exact, False when it over-approximates (by a common divisor).
    """
    total: dict[int, Assignment | None] = {0: {}}
    exact = True
    for part in components(e):
        try:
            found: dict[int, Assignment | None] = dict(_component(part, domains, m, hypotheses))
        except TooManyError:
            exact = False
            found = _multiples(part, m)
        if len(total) * len(found) > LIMIT * 16:
            raise TooManyError("too many combinations of residues")
        combined: dict[int, Assignment | None] = {}
        for (r1, a1), (r2, a2) in itertools.product(total.items(), found.items()):
            r = (r1 + r2) % m
            if r not in combined or combined[r] is None:
                combined[r] = None if a1 is None or a2 is None else {**a1, **a2}
        total = combined
    return total, exact


def _multiples(part: Expr, m: int) -> dict[int, Assignment | None]:
    g = reduce(math.gcd, (ex.divisor(Expr((t,))) for t in part.terms), m)
    return dict.fromkeys(range(0, m, g))


def _component(
    part: Expr, domains: Mapping[str, Domain], m: int, hypotheses: Sequence[Condition]
) -> dict[int, Assignment]:
    names = sorted({v.name for v in part.variables()})
    choices = [values_to_try(part, name, domains[name], m)[0] for name in names]
    if math.prod(map(len, choices)) > LIMIT:
        raise TooManyError("too many combinations of parameters")
    inside = [h for h in hypotheses if {v.name for x in (h.lhs, h.rhs) for v in x.variables()} <= set(names)]
    found: dict[int, Assignment] = {}
    function = function_of(part, tuple(names))
    most = m // math.gcd(m, *(factor for _, factor in part.terms))  # values are multiples of what divides all terms
    for combination in itertools.product(*choices):
        r = function(*combination) % m
        if r not in found:
            values = dict(zip(names, combination, strict=True))
            if meets(inside, values):
                found[r] = values
                if len(found) == most:
                    break
    if not found or inside:
        # Hypotheses may rule out the small representatives of a class but not its larger members.
        exhausted = all(values_to_try(part, n, domains[n], m)[1] for n in names)
        if not exhausted:
            raise TooManyError("hypotheses relate parameters without finite domains")
    return found


def without(e: Expr, name: str) -> tuple[Expr, Expr]:
    """The terms that mention a variable, and the others."""
    mine = tuple(t for t in e.terms if any(_mentions(a, name) for a in t[0]))
    return Expr(mine), Expr(tuple(t for t in e.terms if t not in mine))


def _mentions(atom: ex.Atom, name: str) -> bool:
    if isinstance(atom, Var):
        return atom.name == name
    return isinstance(atom, Op) and any(v.name == name for a in atom.args for v in a.variables())
