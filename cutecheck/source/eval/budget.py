"""Limits on one evaluation, so that any input ends in a result or a reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cutecheck.source.eval.limits import FILES_SHARE, MEMORY_IS_UP, TIME_IS_UP, Limits
from cutecheck.source.eval.values import BudgetExceeded

try:
    import resource
except ImportError:  # not on every platform
    resource = None  # type: ignore[assignment]

_PAGE_BYTES = resource.getpagesize() if resource is not None else 4096
_CLOCK_STEPS = 5_000  # steps between two looks at the clock


def memory_mib() -> int:
    """What this process holds now, where the system says it; else 0."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - asked often
            return int(file.read().split()[1]) * _PAGE_BYTES >> 20
    except OSError:
        return 0


class Budget:
    """Steps used by the current root, and the time by which its file must be done. ``found`` counts what it came to.

    Whoever counts a step compares ``used`` with ``next_check`` and calls :meth:`check` past it.
    """

    __slots__ = (
        "_aside", "_before", "_found", "_idle", "_quiet", "_since", "calls", "deadline", "depth", "limits", "max_depth",
        "next_check", "refused", "total", "used",
    )  # fmt: skip

    def __init__(self, limits: Limits, found: Callable[[], int] | None = None) -> None:
        self.limits = limits
        self.max_depth = limits.depth
        # of the processor: how busy the machine is must not decide what is found
        self.deadline = time.thread_time() + limits.seconds_per_file if limits.seconds_per_file else None
        self._found = found
        self._before = 0  # found when last looked at
        self._since = 0  # steps used then
        self._aside: int | None = None  # steps used when what leaves no facts began
        self._quiet = 0  # steps of the root that left no facts
        self._idle = 0  # steps at whose end roots were cut because they found nothing more
        self.refused = 0  # values not looked for because evaluations were nested too deep
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
        self._since = 0
        self._quiet = 0

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Steps inside, which leave no facts by design, do not count as coming to nothing."""
        outer, self._aside = self._aside, self.used
        try:
            yield
        finally:
            if outer is None:
                self._quiet += self.used - self._aside
            self._aside = outer

    def check(self) -> None:
        """Raises BudgetExceeded when steps or time are used up."""
        most = self.limits.steps_per_root
        if self.used > most:
            raise BudgetExceeded(f"more than {most} evaluation steps; raise `max-steps`")
        if self.total + self.used > FILES_SHARE * most:
            raise BudgetExceeded(f"more than {FILES_SHARE * most} evaluation steps for a file; raise `max-steps`")
        if self._found is not None:
            self._look(self._found())
        if self.deadline is not None and time.thread_time() > self.deadline:
            raise BudgetExceeded(f"more than {self.limits.seconds_per_file} seconds for a file; {TIME_IS_UP}")
        if self.limits.mebibytes and memory_mib() > self.limits.mebibytes:
            raise BudgetExceeded(f"more than {self.limits.mebibytes} MiB of memory in use; {MEMORY_IS_UP}")
        self.next_check = min(most, self.used + _CLOCK_STEPS)

    def _look(self, found: int) -> None:
        most = self.limits.idle_steps
        used = (self.used if self._aside is None else self._aside) - self._quiet - self._since
        if found != self._before:
            self._before, self._since = found, self.used - self._quiet
        elif used > most or (self._idle > FILES_SHARE * most and used > most // 10):
            whose = "" if used > most else f" after {FILES_SHARE} roots of the file that went on as long"
            self._idle += used
            steps = f"more than {most if not whose else most // 10} evaluation steps without anything of CuTe"
            raise BudgetExceeded(f"{steps}{whose}; raise `max-idle-steps`")
