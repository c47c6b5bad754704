"""Limits on one evaluation, so that any input ends in a result or a reason."""

from __future__ import annotations

from dataclasses import dataclass

from cutecheck.facts import Span
from cutecheck.source.eval.values import BudgetExceeded


@dataclass(frozen=True, slots=True)
class Limits:
    """What a user can raise. Steps are evaluated nodes; instantiations are walked kernels a declaration,
    ``flag_combinations`` those that differ in boolean template arguments alone."""

    steps_per_root: int = 2_000_000
    depth: int = 400
    call_depth: int = 60
    instantiations: int = 400
    flag_combinations: int = 2
    loop_iterations: int = 4096


class Budget:
    """Steps used by the current root."""

    __slots__ = ("calls", "depth", "limits", "max_depth", "used")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.used = 0
        self.depth = 0
        self.calls = 0
        self.max_depth = limits.depth

    def restart(self) -> None:
        self.used = 0
        self.depth = 0
        self.calls = 0

    def step(self, span: Span | None) -> None:
        self.used += 1
        if self.used > self.limits.steps_per_root:
            raise BudgetExceeded(f"more than {self.limits.steps_per_root} evaluation steps; raise `max-steps`")
