"""Expressions as data: variables with their domains, operations, sums of monomials."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal
from weakref import ref

from cutecheck.records import record

OpKind = Literal["div", "mod", "min", "max", "and", "or", "xor", "shl", "shr", "abs", "opaque"]


@record(frozen=True, slots=True)
class Domain:
    """The values a variable may take: ``lo <= v <= hi`` and ``v % step == 0``, or exactly ``values``.

    ``hull``: the range was made around the values of several, and may hold others that the variable never has.
    """

    lo: int | None = None
    hi: int | None = None
    step: int = 1
    values: tuple[int, ...] | None = None
    hull: bool = field(repr=False, compare=False, default=False)

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

    # As a dataclass writes it, without the guard against cycles: obligations are hashed by this text.
    def __repr__(self) -> str:
        return f"Domain(lo={self.lo!r}, hi={self.hi!r}, step={self.step!r}, values={self.values!r})"


ANY = Domain()
NATURAL = Domain(lo=0)


class _Referable:
    __slots__ = ("__weakref__",)


@record(frozen=True, slots=True, eq=False)
class Var(_Referable):
    """A named integer, for instance ``threadIdx.x``, ``lda`` or a template parameter.

    Two of one name and domain are one object: most of what large expressions cost is to hash and compare these.
    """

    name: str
    domain: Domain = ANY

    def __new__(cls, name: str, domain: Domain = ANY) -> Var:
        plain = domain is ANY or domain == ANY
        key = name if plain else (name, domain.lo, domain.hi, domain.step, domain.values)
        known = _VARIABLES.get(key)
        made = known() if known is not None else None
        if made is None:
            made = object.__new__(cls)
            _VARIABLES[key] = ref(made)
            if len(_VARIABLES) > _sweep_at[0]:
                _sweep()
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return Var, (self.name, self.domain)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Var(name={self.name!r}, domain={self.domain!r})"


_VARIABLES: dict[object, ref[Var]] = {}
_sweep_at = [1 << 16]


def _sweep() -> None:
    """Forget variables that are gone: most are made for one step of an evaluation."""
    for key in [key for key, known in _VARIABLES.items() if known() is None]:
        del _VARIABLES[key]
    _sweep_at[0] = max(1 << 16, 2 * len(_VARIABLES))


_LONGEST = 1 << 16  # of one that is known by its text
_LONG = 200  # names and numbers of an expression, from which on its operations are evaluated once each


@record(frozen=True, slots=True)
class Op:
    """A non-polynomial operation; ``opaque`` stands for a named function of its arguments."""

    kind: OpKind
    args: tuple[Expr, ...]
    label: str = ""
    length: int = field(init=False, repr=False, compare=False, default=0)  # names and numbers in it, written out
    _hash: int = field(init=False, repr=False, compare=False, default=0)
    _text: str = field(init=False, repr=False, compare=False, default="")

    def __init__(self, kind: OpKind, args: tuple[Expr, ...], label: str = "") -> None:
        made: Any = self  # written out: expressions are made a million times a run
        made.kind = kind
        made.args = args
        made.label = label
        made.length = sum([a.length for a in args])
        made._hash = hash((kind, args, label))
        made._text = ""

    def __reduce__(self) -> tuple[object, ...]:
        return Op, (self.kind, self.args, self.label)  # another process hashes strings differently

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Op(kind={self.kind!r}, args={self.args!r}, label={self.label!r})"

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


@record(frozen=True, slots=True)
class Expr:
    """A sum of ``coefficient * monomial``, sorted; the empty sum is 0. Build with the functions below."""

    terms: tuple[tuple[Monomial, int], ...]
    length: int = field(init=False, repr=False, compare=False, default=0)  # names and numbers in it, written out
    _hash: int = field(init=False, repr=False, compare=False, default=0)
    _text: str = field(init=False, repr=False, compare=False, default="")
    _whole: str = field(init=False, repr=False, compare=False, default="")  # the text of repr
    _variables: tuple[Var, ...] | None = field(init=False, repr=False, compare=False, default=None)

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        made: Any = self
        made.terms = terms
        length = len(terms)
        for monomial, _ in terms:
            for atom in monomial:
                length += 1 if type(atom) is Var else atom.length  # type: ignore[union-attr]
        made.length = length
        made._hash = hash(terms)
        made._text = made._whole = ""
        made._variables = None

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

    def variables(self) -> tuple[Var, ...]:
        """The variables in the order in which they occur first."""
        if self._variables is None:
            found: list[Var] = []
            for monomial, _ in self.terms:
                for atom in monomial:
                    if isinstance(atom, Var):
                        found.append(atom)
                    else:
                        for argument in atom.args:
                            found += argument.variables()
            object.__setattr__(self, "_variables", tuple(dict.fromkeys(found)))
        return self._variables or ()

    def __repr__(self) -> str:
        if not self._whole:
            object.__setattr__(self, "_whole", f"Expr(terms={self.terms!r})")
        return self._whole

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
        if self.length > _LONG:
            return _evaluate_shared(self, values, {})
        total = 0
        for monomial, factor in self.terms:
            for atom in monomial:
                if type(atom) is Var:
                    factor *= values[atom.name]
                else:
                    factor *= _evaluate_op(atom, values)  # type: ignore[arg-type]
            total += factor
        return total

    def substitute(self, values: Mapping[str, Expr]) -> Expr:
        """Replace variables by expressions and re-canonicalise. Terms without a replaced variable stay as they are."""
        from cutecheck.model.expr.arithmetic import atom_expr, build, const, mul, op

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
        return build(total)


def _mentions(atom: Atom, names: set[str]) -> bool:
    if isinstance(atom, Var):
        return atom.name in names
    return any(v.name in names for a in atom.args for v in a.variables())


def trunc_div(a: int, b: int) -> int:
    """C++ integer division; ZeroDivisionError when b is 0."""
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def trunc_mod(a: int, b: int) -> int:
    """C++ integer remainder; ZeroDivisionError when b is 0."""
    return a - b * trunc_div(a, b)


CONCRETE: dict[str, Callable[..., int]] = {
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


def _evaluate_shared(expr: Expr, values: Mapping[str, int], known: dict[int, int]) -> int:
    """The value of an expression in which the same operations may occur over and over: digits of digits of an index.

    ``known``: of operations that have been evaluated, by their identity.
    """
    total = 0
    for monomial, factor in expr.terms:
        for atom in monomial:
            if isinstance(atom, Var):
                factor *= values[atom.name]
            elif atom.kind == "opaque":
                if atom.length > _LONGEST:
                    raise KeyError  # nobody spells it
                factor *= values[str(atom)]
            else:
                value = known.get(id(atom))
                if value is None:
                    given = [_evaluate_shared(a, values, known) for a in atom.args]
                    value = known[id(atom)] = CONCRETE[atom.kind](*given)
                factor *= value
        total += factor
    return total


def _evaluate_op(op: Op, values: Mapping[str, int]) -> int:
    if op.kind == "opaque":
        return values[str(op)]
    return CONCRETE[op.kind](*[a.evaluate(values) for a in op.args])
