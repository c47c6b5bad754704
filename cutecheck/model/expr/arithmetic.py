"""Building expressions: sums, products and operations in canonical form, folded where ranges and divisors decide."""

from __future__ import annotations

import math
from functools import lru_cache

from cutecheck.model.expr.ranges import at_least, atom_divisor, bounds, divisor
from cutecheck.model.expr.terms import ANY, CONCRETE, Atom, Domain, Expr, Monomial, Op, OpKind, Var

_CONSTANTS: dict[int, Expr] = {}
_MOST_CONSTANTS = 1 << 14


def const(value: int) -> Expr:
    """A number; a unit it has (bits, bytes, elements) stays outside."""
    value = int(value)
    made = _CONSTANTS.get(value)
    if made is None:
        made = Expr((((), value),) if value else ())
        if len(_CONSTANTS) < _MOST_CONSTANTS:
            _CONSTANTS[value] = made
    return made


def atom_expr(atom: Atom) -> Expr:
    return Expr((((atom,), 1),))


def var(name: str, domain: Domain = ANY) -> Expr:
    return atom_expr(Var(name, domain))


def build(terms: dict[Monomial, int]) -> Expr:
    kept = [(m, c) for m, c in terms.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda t: _rank(t[0]))
    return Expr(tuple(kept))


@lru_cache(maxsize=1 << 16)
def _rank(monomial: Monomial) -> tuple[bool, int, tuple[str, ...]]:
    return len(monomial) == 0, -len(monomial), tuple(map(str, monomial))


@lru_cache(maxsize=1 << 16)
def add(a: Expr, b: Expr) -> Expr:
    terms = dict(a.terms)
    for monomial, factor in b.terms:
        terms[monomial] = terms.get(monomial, 0) + factor
    return build(terms)


def neg(a: Expr) -> Expr:
    return Expr(tuple((m, -c) for m, c in a.terms))


@lru_cache(maxsize=1 << 16)
def sub(a: Expr, b: Expr) -> Expr:
    return add(a, neg(b))


@lru_cache(maxsize=1 << 16)
def mul(a: Expr, b: Expr) -> Expr:
    terms: dict[Monomial, int] = {}
    cancelled = None
    for m1, c1 in a.terms:
        for m2, c2 in b.terms:
            monomial = tuple(sorted(m1 + m2, key=str)) if m1 and m2 else m1 + m2
            c = c1 * c2
            shorter = _cancel(monomial, c) if c not in (1, -1) else None
            if shorter is not None:
                cancelled = shorter if cancelled is None else add(cancelled, shorter)
            else:
                terms[monomial] = terms.get(monomial, 0) + c
    return build(terms) if cancelled is None else add(build(terms), cancelled)


def _cancel(monomial: Monomial, c: int) -> Expr | None:
    """``c * (x / m) * ...`` with numbers cancelled where the division is exact; None when nothing cancels."""
    for i, atom in enumerate(monomial):
        if isinstance(atom, Op) and atom.kind == "div":
            m = atom.args[1].constant
            if m is not None and m > 1 and (g := math.gcd(c, m)) > 1 and divisor(atom.args[0]) % m == 0:
                others = Expr(((monomial[:i] + monomial[i + 1 :], c // g),))
                return mul(others, _exact(atom.args[0], m // g))
    return None


def op(kind: OpKind, *args: Expr, label: str = "") -> Expr:
    """Apply an operation, folding numbers and what ranges and divisors decide."""
    return _op(kind, args, label)


@lru_cache(maxsize=1 << 16)
def _op(kind: OpKind, args: tuple[Expr, ...], label: str) -> Expr:
    if kind != "opaque":
        numbers = [a.constant for a in args]
        if all(n is not None for n in numbers) and not (kind in ("div", "mod") and numbers[1] == 0):
            return const(CONCRETE[kind](*numbers))
        folded = _fold(kind, args)
        if folded is not None:
            return folded
    return atom_expr(Op(kind, args, label))


def _fold(kind: OpKind, args: tuple[Expr, ...]) -> Expr | None:
    if kind == "abs":
        return args[0] if at_least(args[0], 0) else None
    a, b = args
    n = b.constant
    if kind in ("div", "mod") and n is not None and n > 0:
        return _fold_division(kind, a, n)
    if kind in ("div", "mod") and n is None:
        return _fold_quotient(kind, a, b)
    if kind in ("min", "max"):
        if a == b:
            return a
        difference = sub(a, b)
        if at_least(difference, 0):
            return b if kind == "min" else a
        if at_least(neg(difference), 0):
            return a if kind == "min" else b
    if kind == "shl" and n is not None and n >= 0:
        return mul(a, const(1 << n))
    if kind == "shr" and n is not None and n >= 0 and at_least(a, 0):
        return op("div", a, const(1 << n))
    if kind == "and" and n is not None and n >= 0 and (n + 1) & n == 0 and at_least(a, 0):
        return op("mod", a, const(n + 1))
    if kind == "and" and (n == 0 or a.constant == 0):
        return const(0)
    if kind == "and" and n is not None and n > 0:
        return _fold_mask(a, n)
    if kind in ("or", "xor", "shr") and n == 0:
        return a
    return None


def _fold_mask(a: Expr, n: int) -> Expr | None:
    """``a & n``: two masks are one; a mask over every bit that a value can have does nothing."""
    if at_least(a, 0):
        # Bits above the mask, then those below it, where a sum keeps them apart.
        within = op("mod", a, const(1 << n.bit_length()))
        low = n & -n
        whole, rest = _split_multiples(within, low)
        lo, hi = bounds(rest)
        if lo is not None and lo >= 0 and hi is not None and hi < low and at_least(whole, 0):
            within = whole
        if within != a:
            return op("and", within, const(n))
    lo, hi = bounds(a)
    if lo is not None and lo >= 0 and hi is not None:
        d = divisor(a)
        possible = ((1 << hi.bit_length()) - 1) & ~((d & -d) - 1)
        if possible & n == 0:
            return const(0)
        if possible & ~n == 0:
            return a
    inner = a.terms[0][0][0] if len(a.terms) == 1 and len(a.terms[0][0]) == 1 and a.terms[0][1] == 1 else None
    if isinstance(inner, Op) and inner.kind == "and" and (m := inner.args[1].constant) is not None and m >= 0:
        return op("and", inner.args[0], const(m & n))
    return None


def _fold_division(kind: OpKind, a: Expr, n: int) -> Expr | None:
    """``a / n`` and ``a % n`` for a positive number n: split off the multiples of n when a >= 0."""
    if n == 1:
        return a if kind == "div" else const(0)
    whole, rest = _split_multiples(a, n)
    if not rest.terms:
        return const(0) if kind == "mod" else _exact(whole, n)
    if not at_least(a, 0):
        return None
    if at_least(rest, 0):
        _, hi = bounds(rest)
        if hi is not None and hi < n:
            return rest if kind == "mod" else _exact(whole, n)
        if whole.terms:
            tail = op(kind, rest, const(n))
            return tail if kind == "mod" else add(_exact(whole, n), tail)
    inner = a.terms[0][0][0] if len(a.terms) == 1 and len(a.terms[0][0]) == 1 and a.terms[0][1] == 1 else None
    if isinstance(inner, Op) and inner.kind == kind and (m := inner.args[1].constant) is not None and m > 0:
        if kind == "div":
            return op("div", inner.args[0], const(m * n))
        if m % n == 0:
            return op("mod", inner.args[0], const(n))
    return None


def _split_multiples(a: Expr, n: int) -> tuple[Expr, Expr]:
    """``(whole, rest)`` with ``a == whole + rest``: every value of ``whole`` is a multiple of n."""
    whole: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    for monomial, c in a.terms:
        if c * math.prod(map(atom_divisor, monomial)) % n == 0:
            whole.append((monomial, c))
            continue
        over = c % n
        rest.append((monomial, over))
        if c != over:
            whole.append((monomial, c - over))
    return Expr(tuple(whole)), Expr(tuple(rest))


def _exact(a: Expr, n: int) -> Expr:
    """``a / n`` where n divides every term's values: numbers cancel, what is left stays a division."""
    total = const(0)
    for monomial, c in a.terms:
        g = math.gcd(c, n)
        term = Expr(((monomial, c // g),))
        total = add(total, term if g == n else atom_expr(Op("div", (term, const(n // g)))))
    return total


def _fold_quotient(kind: OpKind, a: Expr, b: Expr) -> Expr | None:
    """``a / b`` and ``a % b`` by an expression b >= 1, for a >= 0: polynomial division as far as ranges prove it."""
    if not (at_least(b, 1) and at_least(a, 0)):
        return None
    quotient = _leading_quotient(a, b)
    rest = sub(a, mul(quotient, b))
    for q, r in ((quotient, rest), (sub(quotient, const(1)), add(rest, b))):
        if at_least(r, 0) and at_least(sub(b, r), 1):
            return q if kind == "div" else r
    if quotient.terms and rest.terms and at_least(rest, 0):
        tail = op(kind, rest, b)
        return add(quotient, tail) if kind == "div" else tail
    return None


def _leading_quotient(a: Expr, b: Expr) -> Expr:
    """A polynomial q for which ``a - q * b`` may be small: term by term, by the first term of b."""
    lead, scale = b.terms[0]
    total = const(0)
    for monomial, c in a.terms:
        left = list(monomial)
        for atom in lead:
            if atom not in left:
                break
            left.remove(atom)
        else:
            total = add(total, Expr(((tuple(left), c // scale),)) if c // scale else const(0))
            if len(b.terms) > 1:
                break
    return total
