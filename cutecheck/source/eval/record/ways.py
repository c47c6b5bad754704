"""What holds after a call: what holds wherever the function returns, and what one of its results says.

``if (!aligned(lda)) return;`` and ``if (check(lda) != 0) return;`` state what the comparison in the function does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cutecheck.facts import Hypothesis
from cutecheck.model.expr import Expr, Var
from cutecheck.model.ints import Condition, Dyn, as_expr
from cutecheck.source.eval import ir
from cutecheck.source.eval.values import EnumVal, Scalar, Value, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Frame

# The results that a number may be, as far as they are constants, and what holds where each is returned.
Told = tuple[tuple[Value, tuple[Condition, ...]], ...]


class Ways:
    """The places where one activation of a function returns."""

    def __init__(self, m: Machine, body: ir.Block) -> None:
        self._m = m
        self._before = len(m.recorder.hypotheses)
        self._body = body
        self.found: list[tuple[Value, tuple[Hypothesis, ...]]] = []

    def returns(self, value: Value) -> None:
        self.found.append((value, tuple(self._m.recorder.hypotheses[self._before :])))

    def again(self, since: int) -> None:
        """Ways like those after the first ``since``, of which no more is known to hold than what does at hand."""
        for value, _ in self.found[since:]:
            self.returns(value)

    def falls_off(self, block: ir.Block) -> None:
        """The end of a block is reached: that of the body is a way out."""
        if block is self._body:
            self.returns(None)

    def common(self) -> list[Hypothesis]:
        """What holds at all of them; what is asserted when the program is compiled stays with its function."""
        if not self.found:
            return []
        kept = [{h.condition for h in holding} for _, holding in self.found[1:]]
        first = [h for h in self.found[0][1] if h.origin != "static_assert"]
        return [h for h in first if all(h.condition in other for other in kept)]


def holds_after(m: Machine, frame: Frame) -> None:
    """After a call holds what holds wherever it returns."""
    if frame.ways is not None:
        known = {h.condition for h in m.recorder.hypotheses}
        m.recorder.hypotheses += [h for h in frame.ways.common() if h.condition not in known]


def result_tells(m: Machine, frame: Frame, value: Value) -> None:
    """Remember of a new number that stands for one of several results what holds where each was returned."""
    ways = frame.ways
    number = value.value if isinstance(value, Scalar) else value
    variable = lone(number.expr) if isinstance(number, Dyn) else None
    if ways is None or variable is None or len(ways.found) < 2:
        return
    found: list[tuple[Value, tuple[Hypothesis, ...]]] = [
        (Scalar(v.value, v.ctype) if isinstance(v, EnumVal) else v, holding) for v, holding in ways.found
    ]
    results = [v for v, _ in found]
    if any(not isinstance(v, Scalar) or isinstance(v.value, float) or v.value is None for v in results):
        return
    if any(lone(as_expr(v.value)) == variable for v in results):
        return  # it is one of them
    m.told[variable.name] = tuple((v, tuple(h.condition for h in holding)) for v, holding in found)


def lone(e: Expr) -> Var | None:
    """The variable that an expression is."""
    if len(e.terms) == 1 and e.terms[0][1] == 1 and len(e.terms[0][0]) == 1:
        atom = e.terms[0][0][0]
        return atom if isinstance(atom, Var) else None
    return None


def where(told: Told, meets: Callable[[int], bool], otherwise: Callable[[Value], list[Condition]]) -> list[Condition]:
    """What holds in all cases whose result meets a condition; ``otherwise`` what a result that is no constant says."""
    cases: list[list[Condition]] = []
    for value, conditions in told:
        number = constant(value)
        if number is None:
            cases.append([*conditions, *otherwise(value)])
        elif meets(number):
            cases.append(list(conditions))
    return [c for c in cases[0] if all(c in case for case in cases[1:])] if cases else []
