"""Canonical integer expressions over named variables.

An :class:`Expr` is a sum of monomials with integer coefficients. The factors of a
monomial are variables, or operations that are not polynomial (truncating division,
remainder, bit operations, minimum, maximum). Two expressions that are equal as
polynomials over the same atoms compare equal, so a CuTe layout with symbolic extents
can be compared structurally.

Division and remainder follow C++: they truncate towards zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import Literal

OpKind = Literal["div", "mod", "min", "max", "and", "or", "xor", "shl", "shr", "abs", "opaque"]


@dataclass(frozen=True, slots=True)
class Domain:
    """The values a variable may take: ``lo <= v <= hi`` and ``v % step == 0``, or exactly ``values``."""

    lo: int | None = None
    hi: int | None = None
    step: int = 1
    values: tuple[int, ...] | None = None

    def __contains__(self, value: int) -> bool:
        if self.values is not None:
            return value in self.values
        return (
            (self.lo is None or value >= self.lo) and (self.hi is None or value <= self.hi) and value % self.step == 0
        )

    def bounds(self) -> tuple[int | None, int | None]:
        return (min(self.values), max(self.values)) if self.values else (self.lo, self.hi)

    def divisor(self) -> int:
        return math.gcd(*self.values) if self.values else self.step


ANY = Domain()
NATURAL = Domain(lo=0)


@dataclass(frozen=True, slots=True)
class Var:
    """A named integer, for instance ``threadIdx.x``, ``lda`` or a template parameter."""

    name: str
    domain: Domain = ANY

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Op:
    """A non-polynomial operation; ``opaque`` stands for a named function of its arguments."""

    kind: OpKind
    args: tuple[Expr, ...]
    label: str = ""
    _hash: int = field(init=False, repr=False, compare=False, default=0)
    _text: str = field(init=False, repr=False, compare=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.kind, self.args, self.label)))

    def __reduce__(self) -> tuple[object, ...]:
        return Op, (self.kind, self.args, self.label)  # another process hashes strings differently

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if not self._text:
            object.__setattr__(self, "_text", self._spell())
        return self._text

    def _spell(self) -> str:
        symbol = {"div": "/", "mod": "%", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
        if self.kind in symbol:
            left, right = (f"({a})" if len(a.terms) > 1 else str(a) for a in self.args)
            return f"({left} {symbol[self.kind]} {right})"
        return f"{self.label or self.kind}({', '.join(map(str, self.args))})"


Atom = Var | Op
Monomial = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Expr:
    """A sum of ``coefficient * monomial``, sorted; the empty sum is 0. Build with the functions below."""

    terms: tuple[tuple[Monomial, int], ...]
    _hash: int = field(init=False, repr=False, compare=False, default=0)
    _text: str = field(init=False, repr=False, compare=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.terms))

    def __reduce__(self) -> tuple[object, ...]:
        return Expr, (self.terms,)

    def __hash__(self) -> int:
        return self._hash

    @property
    def constant(self) -> int | None:
        """The value if the expression is a number, else None."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    def variables(self) -> Iterator[Var]:
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, Var):
                    yield atom
                else:
                    for argument in atom.args:
                        yield from argument.variables()

    def __str__(self) -> str:
        if not self._text:
            object.__setattr__(self, "_text", self._spell())
        return self._text

    def _spell(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for monomial, factor in self.terms:
            names = "*".join(map(str, monomial))
            if not monomial:
                text = str(factor)
            elif factor == 1:
                text = names
            elif factor == -1:
                text = f"-{names}"
            else:
                text = f"{factor}*{names}"
            parts.append(text)
        return " + ".join(parts).replace("+ -", "- ")

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The value under an assignment of every variable; KeyError when one is missing."""
        return sum(factor * math.prod(_evaluate_atom(a, values) for a in monomial) for monomial, factor in self.terms)

    def substitute(self, values: Mapping[str, Expr]) -> Expr:
        """Replace variables by expressions and re-canonicalise. Terms without a replaced variable stay as they are."""
        changed = {v.name for v in self.variables() if v.name in values and values[v.name].terms != (((v,), 1),)}
        if not changed:
            return self
        total: dict[Monomial, int] = {}
        for monomial, factor in self.terms:
            parts: tuple[tuple[Monomial, int], ...] = ((monomial, factor),)
            if any(_mentions(atom, changed) for atom in monomial):
                product = const(factor)
                for atom in monomial:
                    if isinstance(atom, Var):
                        product = mul(product, values.get(atom.name, atom_expr(atom)))
                    else:
                        product = mul(
                            product, op(atom.kind, *(a.substitute(values) for a in atom.args), label=atom.label)
                        )
                parts = product.terms
            for inner, count in parts:
                total[inner] = total.get(inner, 0) + count
        return _build(total)


def _mentions(atom: Atom, names: set[str]) -> bool:
    if isinstance(atom, Var):
        return atom.name in names
    return any(v.name in names for a in atom.args for v in a.variables())


def const(value: int) -> Expr:
    return Expr((((), value),) if value else ())


def atom_expr(atom: Atom) -> Expr:
    return Expr((((atom,), 1),))


def var(name: str, domain: Domain = ANY) -> Expr:
    return atom_expr(Var(name, domain))


def _build(terms: dict[Monomial, int]) -> Expr:
    kept = [(m, c) for m, c in terms.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda t: (len(t[0]) == 0, -len(t[0]), tuple(map(str, t[0]))))
    return Expr(tuple(kept))


def add(a: Expr, b: Expr) -> Expr:
    terms = dict(a.terms)
    for monomial, factor in b.terms:
        terms[monomial] = terms.get(monomial, 0) + factor
    return _build(terms)


def neg(a: Expr) -> Expr:
    return Expr(tuple((m, -c) for m, c in a.terms))


def sub(a: Expr, b: Expr) -> Expr:
    return add(a, neg(b))


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
    return _build(terms) if cancelled is None else add(_build(terms), cancelled)


def _cancel(monomial: Monomial, c: int) -> Expr | None:
    """``c * (x / m) * ...`` with numbers cancelled where the division is exact; None when nothing cancels."""
    for i, atom in enumerate(monomial):
        if isinstance(atom, Op) and atom.kind == "div":
            m = atom.args[1].constant
            if m is not None and m > 1 and (g := math.gcd(c, m)) > 1 and divisor(atom.args[0]) % m == 0:
                others = Expr(((monomial[:i] + monomial[i + 1 :], c // g),))
                return mul(others, _exact(atom.args[0], m // g))
    return None


def trunc_div(a: int, b: int) -> int:
    """C++ integer division; ZeroDivisionError when b is 0."""
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def trunc_mod(a: int, b: int) -> int:
    """C++ integer remainder; ZeroDivisionError when b is 0."""
    return a - b * trunc_div(a, b)


_CONCRETE: dict[str, Callable[..., int]] = {
    "div": trunc_div,
    "mod": trunc_mod,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "abs": abs,
}


def _evaluate_atom(atom: Atom, values: Mapping[str, int]) -> int:
    if isinstance(atom, Var):
        return values[atom.name]
    if atom.kind == "opaque":
        return values[str(atom)]
    return _CONCRETE[atom.kind](*(a.evaluate(values) for a in atom.args))


def op(kind: OpKind, *args: Expr, label: str = "") -> Expr:
    """Apply an operation, folding numbers and what ranges and divisors decide."""
    if kind != "opaque":
        numbers = [a.constant for a in args]
        if all(n is not None for n in numbers) and not (kind in ("div", "mod") and numbers[1] == 0):
            return const(_CONCRETE[kind](*numbers))
        folded = _fold(kind, args)
        if folded is not None:
            return folded
    return atom_expr(Op(kind, args, label))


def _fold(kind: OpKind, args: tuple[Expr, ...]) -> Expr | None:
    if kind == "abs":
        return args[0] if _at_least(args[0], 0) else None
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
        if _at_least(difference, 0):
            return b if kind == "min" else a
        if _at_least(neg(difference), 0):
            return a if kind == "min" else b
    if kind == "shl" and n is not None and n >= 0:
        return mul(a, const(1 << n))
    if kind == "shr" and n is not None and n >= 0 and _at_least(a, 0):
        return op("div", a, const(1 << n))
    if kind == "and" and n is not None and n >= 0 and (n + 1) & n == 0 and _at_least(a, 0):
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
    if _at_least(a, 0):
        # Bits above the mask, then those below it, where a sum keeps them apart.
        within = op("mod", a, const(1 << n.bit_length()))
        low = n & -n
        whole, rest = _split_multiples(within, low)
        lo, hi = bounds(rest)
        if lo is not None and lo >= 0 and hi is not None and hi < low and _at_least(whole, 0):
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
    if not _at_least(a, 0):
        return None
    if _at_least(rest, 0):
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
        if c * math.prod(map(_atom_divisor, monomial)) % n == 0:
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
    if not (_at_least(b, 1) and _at_least(a, 0)):
        return None
    quotient = _leading_quotient(a, b)
    rest = sub(a, mul(quotient, b))
    for q, r in ((quotient, rest), (sub(quotient, const(1)), add(rest, b))):
        if _at_least(r, 0) and _at_least(sub(b, r), 1):
            return q if kind == "div" else r
    if quotient.terms and rest.terms and _at_least(rest, 0):
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


def divisor(a: Expr) -> int:
    """A number that divides every value of the expression (0 for the constant 0)."""
    return reduce(math.gcd, (c * math.prod(map(_atom_divisor, m)) for m, c in a.terms), 0)


def _atom_divisor(atom: Atom) -> int:
    if isinstance(atom, Var):
        return atom.domain.divisor()
    if atom.kind in ("min", "max", "mod"):
        return math.gcd(*(divisor(a) for a in atom.args)) or 1
    if atom.kind == "div" and (n := atom.args[1].constant):
        d = divisor(atom.args[0])
        return max(1, d // abs(n)) if d % n == 0 else 1
    return 1


Interval = tuple[int | None, int | None]


@lru_cache(maxsize=1 << 16)
def bounds(a: Expr) -> Interval:
    """A range that holds every value of the expression; None is unbounded."""
    lo: int | None = 0
    hi: int | None = 0
    for monomial, factor in a.terms:
        part: Interval = (factor, factor)
        for atom in monomial:
            part = _times(part, _atom_bounds(atom))
        lo = None if lo is None or part[0] is None else lo + part[0]
        hi = None if hi is None or part[1] is None else hi + part[1]
    return lo, hi


def _times(x: Interval, y: Interval) -> Interval:
    inf = math.inf
    xs = (-inf if x[0] is None else x[0], inf if x[1] is None else x[1])
    ys = (-inf if y[0] is None else y[0], inf if y[1] is None else y[1])
    products = [0 if p == 0 or q == 0 else p * q for p in xs for q in ys]
    lo, hi = min(products), max(products)
    return (None if lo == -inf else int(lo), None if hi == inf else int(hi))


def _atom_bounds(atom: Atom) -> Interval:
    if isinstance(atom, Var):
        return atom.domain.bounds()
    ranges = [bounds(a) for a in atom.args]
    first_nonneg = bool(ranges) and ranges[0][0] is not None and ranges[0][0] >= 0
    if atom.kind == "abs":
        return 0, None
    if atom.kind in ("min", "max"):
        pick = min if atom.kind == "min" else max
        los, his = [r[0] for r in ranges], [r[1] for r in ranges]
        known_lo = [v for v in los if v is not None]
        known_hi = [v for v in his if v is not None]
        if atom.kind == "min":
            return (pick(known_lo) if len(known_lo) == len(los) else None), (pick(known_hi) if known_hi else None)
        return (pick(known_lo) if known_lo else None), (pick(known_hi) if len(known_hi) == len(his) else None)
    if atom.kind in ("div", "mod") and first_nonneg:
        n_lo, n_hi = ranges[1]
        if n_lo is not None and n_lo > 0:
            top = ranges[0][1]
            if atom.kind == "div":
                bottom = 0 if n_hi is None else (ranges[0][0] or 0) // n_hi
                return bottom, None if top is None else top // n_lo
            limits = [v for v in (top, None if n_hi is None else n_hi - 1) if v is not None]
            return 0, min(limits) if limits else None
    if atom.kind == "and":  # one argument of no sign clears the sign of the other
        tops = [r[1] for r in ranges if r[0] is not None and r[0] >= 0]
        known = [t for t in tops if t is not None]
        return (0 if tops else None), (min(known) if known else None)
    if atom.kind in ("or", "xor", "shr") and all(r[0] is not None and r[0] >= 0 for r in ranges):
        tops = [r[1] for r in ranges]
        if atom.kind in ("or", "xor") and tops[0] is not None and tops[1] is not None:
            return 0, (1 << max(tops[0].bit_length(), tops[1].bit_length())) - 1
        return 0, tops[0] if atom.kind == "shr" else None
    return None, None


def _at_least(a: Expr, limit: int) -> bool:
    lo, _ = bounds(a)
    return lo is not None and lo >= limit
