"""Limits on one evaluation, so that any input ends in a result or a reason."""

from __future__ import annotations

import time
from dataclasses import dataclass

from cutecheck.source.eval.values import BudgetExceeded

TIME_IS_UP = "raise `file-timeout`"  # what only messages about time say
FILES_SHARE = 3
_CLOCK_STEPS = 20_000  # steps between two looks at the clock


@dataclass(frozen=True, slots=True)
class Limits:
    """What a user can raise. Steps are evaluated nodes; instantiations are walked kernels a declaration,
    ``flag_combinations`` those that differ in boolean template arguments alone; ``seconds_per_file`` 0 is no limit.

    A file may take ``FILES_SHARE`` times the steps of a root: many roots that each run out are soon left alone."""

    steps_per_root: int = 2_000_000
    depth: int = 400
    call_depth: int = 60
    instantiations: int = 400
    flag_combinations: int = 2
    loop_iterations: int = 4096
    seconds_per_file: int = 600


class Budget:
    """Steps used by the current root, and the time by which its file must be done.

    Whoever counts a step compares ``used`` with ``next_check`` and calls :meth:`check` past it.
    """

    __slots__ = ("calls", "deadline", "depth", "limits", "max_depth", "next_check", "total", "used")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.max_depth = limits.depth
        self.deadline = time.monotonic() + limits.seconds_per_file if limits.seconds_per_file else None
        self.total = 0
        self.used = 0
        self.restart()

    def restart(self) -> None:
        """A new root of the same file."""
        self.total += self.used
        self.used = 0
        self.depth = 0
        self.calls = 0
        self.next_check = 0

    def check(self) -> None:
        """Raises BudgetExceeded when steps or time are used up."""
        most = self.limits.steps_per_root
        if self.used > most:
            raise BudgetExceeded(f"more than {most} evaluation steps; raise `max-steps`")
        if self.total + self.used > FILES_SHARE * most:
            raise BudgetExceeded(f"more than {FILES_SHARE * most} evaluation steps for a file; raise `max-steps`")
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise BudgetExceeded(f"more than {self.limits.seconds_per_file} seconds for a file; {TIME_IS_UP}")
        self.next_check = min(most, self.used + _CLOCK_STEPS)
