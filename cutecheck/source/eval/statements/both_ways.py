"""What was checked in both branches of an ``if`` holds after it, of what they leave as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import gcd

from cutecheck.facts.hypothesis import Hypothesis
from cutecheck.model import expr as ex
from cutecheck.model.conditions import Condition, Rel, decide
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.values import Scalar, Value


def checked(m: Machine, first: Sequence[Hypothesis], second: Sequence[Hypothesis]) -> None:
    """Keep what both branches checked: of one number's divisors what divides both."""
    if not first or not second:
        return
    other = {h.condition for h in second}
    for h in first:
        if h.condition in other:
            _keep(m, h)
            continue
        divisor = h.condition.lhs.constant
        for c in other if h.condition.rel is Rel.DIVIDES and divisor else ():
            shared = gcd(divisor or 0, c.lhs.constant or 0)
            if c.rel is Rel.DIVIDES and c.rhs == h.condition.rhs and shared > 1:
                _keep(m, replace(h, condition=Condition(Rel.DIVIDES, ex.const(shared), c.rhs)))


def of_joined(
    m: Machine,
    ends: Iterable[tuple[Value, Value, Value]],
    first: Sequence[Hypothesis],
    second: Sequence[Hypothesis],
) -> None:
    """Keep what divides a variable's value at the end of each branch, ``ends``: both and the one they are joined to."""
    divisors = [h for h in (*first, *second) if h.condition.rel is Rel.DIVIDES and h.condition.lhs.constant]
    if not divisors:
        return
    by_way = [h.condition for h in first], [h.condition for h in second]
    for one, other, joined in _numbers(ends):
        for h in divisors:
            about = Condition(Rel.DIVIDES, h.condition.lhs, joined)
            ways = zip((one, other), by_way, strict=True)
            if decide(about) is not True and all(
                decide(Condition(Rel.DIVIDES, about.lhs, e), known) is True for e, known in ways
            ):
                _keep(m, replace(h, condition=about))


def _numbers(ends: Iterable[tuple[Value, Value, Value]]) -> Iterator[tuple[Expr, Expr, Expr]]:
    """Those of joined values that are run-time numbers and neither of the two."""
    for end in ends:
        held = [v.value if isinstance(v, Scalar) else v for v in end]
        numbers = [as_expr(v) for v in held if isinstance(v, (int, Dyn, Sym))]
        if len(numbers) == len(held) and isinstance(held[2], Dyn) and numbers[2] not in numbers[:2]:
            yield numbers[0], numbers[1], numbers[2]


def _keep(m: Machine, h: Hypothesis) -> None:
    if all(h.condition != known.condition for known in m.recorder.hypotheses):
        m.recorder.hypotheses.append(h)
