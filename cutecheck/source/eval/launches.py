"""Which instantiations of a kernel are walked: each once in a run, and not more than the limits say.

A translation unit is evaluated against what the units before it walked. It keeps what it asked and what the answers
were, so that a run whose units were evaluated side by side, or came from a cache, can tell whether the answers would
have been the same one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from cutecheck.records import record
from cutecheck.source.eval.limits import Limits

Answer = Literal["walk", "before", "dropped"]


@record(frozen=True, slots=True)
class Attempt:
    """A kernel (by its place and name) under template arguments; ``types`` are those that are no flags."""

    kernel: str
    types: str
    signature: str
    capped: bool  # whether the limits apply
    answer: Answer


@dataclass(slots=True)
class Launches:
    """The walked signatures by kernel and types. ``attempts`` are those of the current translation unit."""

    limits: Limits
    done: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)  # walked instantiations a kernel
    attempts: list[Attempt] = field(default_factory=list)

    def ask(self, kernel: str, types: str, signature: str, capped: bool = True) -> Answer:
        """Whether to walk an instantiation; noted either way."""
        answer = self._answer(kernel, types, signature, capped)
        self.attempts.append(Attempt(kernel, types, signature, capped, answer))
        return answer

    def _answer(self, kernel: str, types: str, signature: str, capped: bool) -> Answer:
        done = self.done.setdefault((kernel, types), set())
        if signature in done:
            return "before"
        # flags rarely change a layout: a few combinations of them stand for the rest
        if capped and (
            len(done) >= self.limits.flag_combinations or self.count.get(kernel, 0) >= self.limits.instantiations
        ):
            return "dropped"
        done.add(signature)
        self.count[kernel] = self.count.get(kernel, 0) + 1
        return "walk"

    def follows(self, attempts: Iterable[Attempt]) -> bool:
        """Whether a unit with these attempts had the right answers after what was walked so far; then they count."""
        added: list[Attempt] = []
        for a in attempts:
            answer = self._answer(a.kernel, a.types, a.signature, a.capped)
            if answer == "walk":
                added.append(a)
            if answer != a.answer:
                self._forget(added)
                return False
        return True

    def _forget(self, attempts: Iterable[Attempt]) -> None:
        for a in attempts:
            self.done[a.kernel, a.types].discard(a.signature)
            self.count[a.kernel] -= 1

    def copy(self) -> Launches:
        """The same state, with no attempts."""
        return Launches(self.limits, {k: set(v) for k, v in self.done.items()}, dict(self.count))
