"""Which instantiations of a kernel are walked: each once in a run, and not more than the limits say.

The same for the host templates that a test or a ``main`` calls: of many alike (source/eval/alike.py) that lead to
kernels of the same kind, or to nothing of CuTe, a few are walked in each neighbourhood: files of a folder that one
process evaluates one after the other, so that the answers do not wait for those of other processes.

A translation unit is evaluated against what the units before it walked. It keeps what it asked and what the answers
were, so that a run whose units were evaluated side by side, or came from a cache, can tell whether the answers would
have been the same one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal
from zlib import crc32

from cutecheck.records import record
from cutecheck.source.eval.limits import Limits

Answer = Literal["walk", "before", "dropped", "barren", "repeat"]
_PARTS, _FEW_PARTS = 8, 4  # of a folder
WORKS = "*"  # before a class that configures, copies or multiplies, in what is alike
_BARREN = 2  # more that a walk counts for if it came to nothing of CuTe


def neighbourhood(path: str, limits: Limits) -> str:
    """The files whose evaluations count together what is alike: a folder's, in a few parts."""
    folder, _, name = path.rpartition("/")
    return f"{folder}#{crc32(name.encode()) % (_FEW_PARTS if limits.coarse else _PARTS)}"


@record(frozen=True, slots=True)
class Attempt:
    """A kernel or host template (by its place and name) under template arguments, ``types`` those that are no flags.

    ``alike`` is the same for those that are; without a signature it is a call on the host.
    """

    kernel: str
    types: str
    signature: str
    capped: bool  # whether the limits of a kernel apply
    answer: Answer
    alike: str = ""


@dataclass(slots=True)
class Launches:
    """The walked signatures by kernel and types. ``attempts`` are those of the current translation unit."""

    limits: Limits
    done: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)  # walked instantiations a kernel
    kinds: dict[str, int] = field(default_factory=dict)  # walked, by what is alike
    attempts: list[Attempt] = field(default_factory=list)
    place: str = ""  # the neighbourhood of the current translation unit, in which kinds are counted

    def ask(self, kernel: str, types: str, signature: str, capped: bool = True, alike: str = "") -> Answer:
        """Whether to walk an instantiation; noted either way."""
        alike = alike and f"{self.place} {alike}"
        answer = self._answer(kernel, types, signature, capped, alike)
        self.attempts.append(Attempt(kernel, types, signature, capped, answer, alike))
        return answer

    def ask_host(self, function: str, alike: str) -> bool:
        """Whether to walk a call of a host template; noted either way."""
        return self.ask(function, "", "", False, alike) == "walk"

    def came_to_nothing(self, alike: str) -> None:
        """The walk of a call on the host met nothing of CuTe."""
        alike = f"{self.place} {alike}"
        self._count(alike, _BARREN, False)
        self.attempts.append(Attempt("", "", "", False, "barren", alike))

    def repeats(self, function: str) -> None:
        """A call on the host was not walked again (source/eval/repeats.py); noted, but nothing hangs on it."""
        self.attempts.append(Attempt(function, "", "", False, "repeat"))

    def only_dropped(self, since: int) -> bool:
        """Whether the attempts after the first ``since`` walked nothing, and asked for no kernel and types of which
        they were not told that no further flags are walked."""
        asked = self.attempts[since:]
        kinds = {(a.kernel, a.types) for a in asked if a.answer != "repeat"}
        full = {(a.kernel, a.types) for a in asked if a.answer == "dropped" and a.capped}
        return bool(full) and kinds == full and all(a.answer in ("dropped", "before", "repeat") for a in asked)

    def as_before(self, since: int) -> None:
        """Another way through host code, that was not walked, would have asked as the attempts after ``since`` did."""
        for a in self.attempts[since:]:
            if a.answer in ("dropped", "repeat"):
                self.repeats(a.kernel)

    def _answer(self, kernel: str, types: str, signature: str, capped: bool, alike: str) -> Answer:
        done = self.done.setdefault((kernel, types), set()) if signature else set()
        if signature in done:
            return "before"
        # flags rarely change a layout: a few combinations of them stand for the rest
        if capped and (
            len(done) >= self.limits.flag_combinations or self.count.get(kernel, 0) >= self.limits.instantiations
        ):
            return "dropped"
        if alike and (self.kinds.get(alike, 0) >= self.limits.alike or self._worn(alike)):
            return "dropped"
        if signature:
            done.add(signature)
            self.count[kernel] = self.count.get(kernel, 0) + 1
        if alike:
            self._count(alike, 1, bool(signature))
        return "walk"

    def _count(self, alike: str, walks: int, kernel: bool) -> None:
        for key in (alike, *(self._working(alike) if kernel else ())):
            self.kinds[key] = self.kinds.get(key, 0) + walks

    def _working(self, alike: str) -> list[str]:
        """The classes with sites or copies of their own that an instantiation is made of, as they are counted."""
        if not self.limits.coarse:
            return []
        place, *parts = alike.split(" ")
        return [f"{place} {p}" for p in parts if p.startswith(WORKS)]

    def _worn(self, alike: str) -> bool:
        """Whether each class with sites or copies of its own was walked often enough, in whatever combination."""
        working = self._working(alike)
        return bool(working) and all(self.kinds.get(key, 0) >= self.limits.a_class for key in working)

    def follows(self, attempts: Iterable[Attempt]) -> bool:
        """Whether a unit with these attempts had the right answers after what was walked so far; then they count."""
        added: list[Attempt] = []
        for a in attempts:
            if a.answer == "repeat":
                continue
            if a.answer == "barren":
                self._count(a.alike, _BARREN, False)
                added.append(a)
                continue
            answer = self._answer(a.kernel, a.types, a.signature, a.capped, a.alike)
            if answer == "walk":
                added.append(a)
            if answer != a.answer:
                self._forget(added)
                return False
        return True

    def absorb(self, attempts: Iterable[Attempt]) -> None:
        """These walks count, whatever the answers would be now."""
        for a in attempts:
            if a.answer == "walk":
                self._answer(a.kernel, a.types, a.signature, a.capped, a.alike)

    def _forget(self, attempts: Iterable[Attempt]) -> None:
        for a in attempts:
            if a.signature:
                self.done[a.kernel, a.types].discard(a.signature)
                self.count[a.kernel] -= 1
            if a.alike:
                self._count(a.alike, -_BARREN if a.answer == "barren" else -1, bool(a.signature))

    def copy(self) -> Launches:
        """The same state, with no attempts."""
        return Launches(self.limits, {k: set(v) for k, v in self.done.items()}, dict(self.count), dict(self.kinds))


@dataclass(slots=True)
class Walks:
    """What was walked, apart for files whose answers do not depend on each other.

    These are the files of an architecture; of more than the translation units for which limits fall, those of a
    neighbourhood, so that nothing waits for what other neighbourhoods walked.
    """

    limits: Limits
    _parts: dict[tuple[str, str], Launches] = field(default_factory=dict)

    def key(self, arch: str, path: str) -> tuple[str, str]:
        """The same for files whose answers depend on each other."""
        return (arch, neighbourhood(path, self.limits) if self.limits.many else "")

    def of(self, key: tuple[str, str]) -> Launches:
        """The state for these files, which goes on."""
        return self._parts.setdefault(key, Launches(self.limits))
