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
_IN_KERNELS = 4  # times the steps without anything of CuTe: what a kernel computes between its copies is long
_CLOCK_STEPS = 5_000  # steps between two looks at the clock


def memory_mib() -> int:
    """What this process holds now, where the system says it; else 0."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - asked often
            return int(file.read().split()[1]) * _PAGE_BYTES >> 20
    except OSError:
        return 0


class NothingNewError(BudgetExceeded):
    """All that a root comes to is known by now."""


class NothingFoundError(BudgetExceeded):
    """A root goes on without anything of CuTe."""


class CallIsDone(BudgetExceeded):
    """A call on the host went on after what it is for was met."""


class Budget:
    """Steps used by the current root, and the time by which its file must be done. ``found`` counts what it came to.

    ``known``: how often something was met that is known already. It shows that a root is about CuTe, and nothing new.
    ``places`` counts where in the source it came to something: a root that has come to no other place for two
    thirds of its steps is done.

    Whoever counts a step compares ``used`` with ``next_check`` and calls :meth:`check` past it.
    """

    __slots__ = (
        "_around", "_aside", "_before", "_call", "_computed", "_end", "_forgiven", "_found", "_idle", "_known",
        "_loops", "_new", "_new_since", "_place", "_place_since", "_places", "_quiet", "_since", "barren", "calls",
        "deadline", "depth", "known", "limits", "max_depth", "next_check", "patience", "refused", "total", "used",
    )  # fmt: skip

    def __init__(
        self, limits: Limits, found: Callable[[], int] | None = None, places: Callable[[], int] | None = None
    ) -> None:
        self.limits = limits
        self.max_depth = limits.depth
        # of the processor: how busy the machine is must not decide what is found
        self.deadline = time.thread_time() + limits.seconds_per_file if limits.seconds_per_file else None
        self._found, self._places = found, places
        self._around: int | None = None  # steps of a root without another place, from its start on
        self._forgiven = -1  # found when a loop was left the last time
        self._place = 0  # places when last looked at, and steps used when that grew
        self._place_since = 0
        self._before = 0  # found when last looked at
        self._since = 0  # steps used then
        self.known = 0
        self._new = 0  # found that was not known, when last looked at; steps used, and ``known``, then
        self._new_since = self._known = 0
        self._aside: int | None = None  # steps used when what leaves no facts began
        self._quiet = 0  # steps of the root that left no facts
        self._idle = 0  # steps at whose end roots were cut because they found nothing more
        self.patience = 1
        self.refused = 0  # values not looked for because evaluations were nested too deep
        self.total = 0
        self.used = 0
        self.restart()

    def restart(self) -> None:
        """A new root of the same file."""
        self.total += self.used
        self.used = 0
        self._call: Callable[[], int] | None = None
        self._end: int | None = None  # steps used at which a kernel without CuTe is left
        self._computed = 0  # steps of loops that only compute, and are run as often as they say
        self._loops = 0  # over known items that are being walked, one in another
        self.barren = 0  # their iterations in a row that did much and met nothing new
        self.depth = 0
        self.calls = 0
        self.next_check = 0
        self._since = self._new_since = self._place_since = 0
        self._known = self.known
        self._quiet = 0
        self.patience = 1

    def look_around(self, places: Callable[[], int], most: int) -> None:
        """Roots are done after so many steps, whatever for, without another of these places."""
        self._places, self._around = places, most

    def places(self) -> int | None:
        """How many of these there are by now; None where roots are not ended by them."""
        return self._places() if self._places is not None and self._around is not None else None

    @contextmanager
    def in_kernel(self) -> Iterator[None]:
        """A kernel may take more steps that come to nothing than its host code, which they count for as much less."""
        before, self.patience = self.patience, _IN_KERNELS
        started = self._spent()
        try:
            yield
        finally:
            self.patience = before
            if before < _IN_KERNELS:
                self._since += self._surplus(max(started, self._since))
                self._new_since += self._surplus(max(started, self._new_since))
                if self._around is not None:
                    self._place_since += self._surplus(max(started, self._place_since))

    def _spent(self) -> int:
        """Steps that leave facts or could have."""
        return (self.used if self._aside is None else self._aside) - self._quiet

    def _surplus(self, since: int) -> int:
        """Of a kernel's steps that came to nothing, those which its host code is not charged with."""
        idle = max(self._spent() - since, 0)
        return idle - idle // _IN_KERNELS

    def forgive(self) -> None:
        """Roots to come are not the kind of those that found nothing."""
        self._idle = 0

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

    def rewind(self, used: int) -> int:
        """What was done aside since so many steps were used is not charged; returns the steps that it took."""
        cost = self.used - used
        self.used = self.next_check = used
        if self._aside is None:
            self._quiet -= cost
        return cost

    def may_compute(self) -> bool:
        """Loops that only compute are not yet most of what the root may do without a fact."""
        return self._computed < self.limits.idle_steps // 2 * self.patience

    @contextmanager
    def computing(self) -> Iterator[None]:
        before = self.used
        try:
            with self.aside():
                yield
        finally:
            self._computed += self.used - before

    @contextmanager
    def importing(self) -> Iterator[None]:
        """A module may take as many steps that come to nothing as a root; what imports it is not charged for them."""
        if self._aside is not None:
            yield
            return
        found, since, start = self._before, self._since, self.used - self._quiet
        new, new_since = self._new, self._new_since
        self._since = self._new_since = start
        try:
            yield
        finally:
            end = self.used - self._quiet
            self._since = since + end - start if self._before == found else end
            self._new_since = new_since + end - start if self._new == new else end

    @contextmanager
    def calling(self, met: Callable[[], int | None]) -> Iterator[None]:
        """A call on the host. ``met`` counts what it is for, 0 before that, None on the way (in a kernel).

        After it was met, idle steps are limited to a third; raises CallIsDone where they are used up.
        """
        before: int | None = 0
        since = 0

        def look() -> int:
            nonlocal before, since
            now, steps = met(), self.used - self._quiet
            if now is None or now != before:
                before, since = now, steps
            return steps - since if now else 0

        outer, self._call = self._call, look
        try:
            yield
        finally:
            self._call = outer

    @contextmanager
    def at_most(self, steps: int) -> Iterator[None]:
        """All steps inside are limited; raises CallIsDone where they are used up."""
        outer, self._end = self._end, min(self._end or self.used + steps, self.used + steps)
        try:
            yield
        finally:
            self._end = outer

    @contextmanager
    def iterating(self) -> Iterator[None]:
        """A loop over known items; ``barren`` counts anew in one that is in no other."""
        if not self._loops:
            self.barren = 0
        self._loops += 1
        try:
            yield
        finally:
            self._loops -= 1

    def is_mostly_idle(self, share: float = 0.5) -> bool:
        """Whether more than this share of the steps that may come to nothing at a stretch are used up."""
        if self._found is None or self._found() != self._new:
            return False
        most = self.limits.idle_steps * self.patience
        used = self._idle_steps(self._new_since)
        return used > share * (most // 10 if self._idle > FILES_SHARE * most else most)

    def forgive_loop(self) -> None:
        """A loop that came to nothing was left: what follows it may do as much, once before something is found."""
        if self._forgiven != self._new:
            self._forgiven = self._new
            self._since = self._new_since = self.used - self._quiet

    def _idle_steps(self, since: int) -> int:
        return self._spent() - since

    def check(self) -> None:
        """Raises BudgetExceeded when steps or time are used up."""
        most = self.limits.steps_per_root
        if self.used > most:
            raise BudgetExceeded(f"more than {most} evaluation steps; raise `max-steps`")
        if self.total + self.used > FILES_SHARE * most:
            raise BudgetExceeded(f"more than {FILES_SHARE * most} evaluation steps for a file; raise `max-steps`")
        if self._call is not None and self._aside is None and self._call() > self.limits.idle_steps // FILES_SHARE:
            raise CallIsDone("a call went on after the kernels that it is for were met")
        if self._end is not None and self.used > self._end:
            raise CallIsDone("a kernel that uses nothing of CuTe goes on")
        if self._found is not None:
            self._look(self._found())
        if self._places is not None:
            self._look_around(self._places())
        if self.deadline is not None and time.thread_time() > self.deadline:
            raise BudgetExceeded(f"more than {self.limits.seconds_per_file} seconds for a file; {TIME_IS_UP}")
        if self.limits.mebibytes and memory_mib() > self.limits.mebibytes:
            raise BudgetExceeded(f"more than {self.limits.mebibytes} MiB of memory in use; {MEMORY_IS_UP}")
        self.next_check = min(most, self.used + _CLOCK_STEPS)

    def _look_around(self, places: int) -> None:
        if places != self._place:
            self._place, self._place_since = places, self.used if self._around is None else self._spent()
        elif self._around is not None:
            most = max(self._around, self.limits.idle_steps * self.patience)
            if self._idle_steps(self._place_since) > most:
                raise NothingNewError(f"{most} steps of a root came to no other place")
        elif 3 * (self.used - self._place_since) > 2 * self.limits.steps_per_root and self._place_since:
            raise NothingNewError("two thirds of the steps of a root came to no other place")

    def _look(self, found: int) -> None:
        most = self.limits.idle_steps * self.patience
        used = self._idle_steps(self._since)
        if found != self._new:
            self._new, self._new_since, self._known = found, self.used - self._quiet, self.known
        elif self._idle_steps(self._new_since) > most and self.known != self._known:
            raise NothingNewError(f"more than {most} evaluation steps that came to what was known")
        found += self.known
        if found != self._before:
            self._before, self._since = found, self.used - self._quiet
        elif used > most or (self._idle > FILES_SHARE * most and used > most // 10):
            whose = "" if used > most else f" after {FILES_SHARE} roots of the file that went on as long"
            self._idle += used
            most = most if not whose else most // 10
            steps = f"more than {most} evaluation steps without anything of CuTe"
            raise NothingFoundError(f"{steps}{whose}; raise `max-idle-steps`")
