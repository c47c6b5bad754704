"""What was asked of the objects of libraries, by the state they were in (``observed.py``)."""

from __future__ import annotations

from typing import Any

from cutecheck.model.expr.terms import NATURAL
from cutecheck.model.ints import Dyn
from cutecheck.source.eval.values import Value

State = tuple[Any, ...]  # the number of an object, then what was asked of it: names with the constants they were given


class Observations:
    """The states of the variables of host code, and the numbers that were asked of them."""

    def __init__(self) -> None:
        self.numbers: dict[State, Dyn] = {}
        self.shapes: dict[State, list[Value]] = {}  # the extents of those that were made of them
        self._names: dict[str, int] = {}
        self._made = 0

    def new(self) -> State:
        self._made += 1
        return (self._made,)

    def number(self, state: State, text: str) -> Dyn:
        """The number that a state is."""
        if state not in self.numbers:
            count = self._names[text] = self._names.get(text, 0) + 1
            name = text if count == 1 else f"{text}'{count}"
            self.numbers[state] = Dyn.named(name, NATURAL)
        return self.numbers[state]
