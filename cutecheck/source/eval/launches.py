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
from dataclasses import dataclass, field, replace
from typing import Literal
from zlib import crc32

from cutecheck.records import record
from cutecheck.source.eval import ir
from cutecheck.source.eval.limits import Limits

Answer = Literal["walk", "again", "open", "before", "dropped", "barren", "repeat", "both", "one"]
_PARTS, _FEW_PARTS = 8, 4  # of a folder
REPLAYED = "pass by pass: "  # before a kernel that is asked for to be run so
MOST_REPLAYED = 8  # instantiations of one kernel that are
WORKS = "*"  # before a class that configures, copies or multiplies, in what is alike
_AGAIN = 4  # walks of one instantiation, launched with arguments of which other things are known
_BARREN = 2  # more that a walk counts for if it came to nothing of CuTe


def neighbourhood(path: str, limits: Limits) -> str:
    """The files whose evaluations count together what is alike: a folder's, in a few parts."""
    folder, _, name = path.rpartition("/")
    return f"{folder}#{crc32(name.encode()) % (_FEW_PARTS if limits.coarse else _PARTS)}"


def key_of(kernel: ir.Function) -> str:
    """What a kernel is asked for by."""
    return f"{kernel.span}:{kernel.name}"


@record(frozen=True, slots=True)
class Attempt:
    """A kernel or host template (by its place and name) under template arguments, ``types`` those that are no flags.

    ``alike`` is the same for those that are; without a signature it is a call on the host. ``flags``: the values of
    those that are, and of a run over more than a few units the element types. ``given``: what is known of the arguments
    (source/eval/contexts.py); a launch of which less is known than of those that were walked is walked again.
    ``unbound``: nothing instantiates what launches it. Answers ``both`` and ``one``: whether both values of the flag in
    the place ``types`` were walked.
    """

    kernel: str
    types: str
    signature: str
    capped: bool  # whether the limits of a kernel apply
    answer: Answer
    alike: str = ""
    flags: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()
    unbound: bool = False


@dataclass(slots=True)
class Launches:
    """The walked signatures by kernel and types. ``attempts`` are those of the current translation unit."""

    limits: Limits
    done: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)  # walked instantiations a kernel
    kinds: dict[str, int] = field(default_factory=dict)  # walked, by what is alike
    flags: dict[tuple[str, int, str], int] = field(default_factory=dict)  # walked, by kernel, place of a flag and value
    given: dict[tuple[str, str, str], list[frozenset[str]]] = field(default_factory=dict)  # by kernel, types, signature
    unbound: dict[str, int] = field(default_factory=dict)  # of the walked ones, those that nothing instantiates
    attempts: list[Attempt] = field(default_factory=list)
    place: str = ""  # the neighbourhood of the current translation unit, in which kinds are counted

    def ask(
        self,
        kernel: str,
        types: str,
        signature: str,
        capped: bool = True,
        alike: str = "",
        flags: tuple[str, ...] = (),
        given: frozenset[str] = frozenset(),
        unbound: bool = False,
    ) -> Answer:
        """Whether to walk an instantiation; noted either way. ``unbound``: nothing instantiates what launches it."""
        alike = alike and f"{self.place} {alike}"
        attempt = Attempt(kernel, types, signature, capped, "walk", alike, flags, given, unbound)
        answer = self._answer(attempt)
        self.attempts.append(attempt if answer == "walk" else replace(attempt, answer=answer))
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
        asked = [a for a in self.attempts[since:] if a.answer not in ("both", "one")]
        kinds = {(a.kernel, a.types) for a in asked if a.answer != "repeat"}
        full = {(a.kernel, a.types) for a in asked if a.answer == "dropped" and a.capped}
        return bool(full) and kinds == full and all(a.answer in ("dropped", "before", "repeat") for a in asked)

    def as_before(self, since: int) -> None:
        """Another way through host code, that was not walked, would have asked as the attempts after ``since`` did."""
        for a in self.attempts[since:]:
            if a.answer in ("dropped", "repeat"):
                self.repeats(a.kernel)

    def knows(self, kernel: str, place: int) -> bool:
        """Whether both values of a flag were walked in some instantiation of a kernel; noted."""
        answer = self._both(kernel, place)
        self.attempts.append(Attempt(kernel, str(place), "", False, answer))
        return answer == "both"

    def _both(self, kernel: str, place: int) -> Answer:
        return "both" if all((kernel, place, value) in self.flags for value in "TF") else "one"

    def _answer(self, asked: Attempt) -> Answer:
        done = self.done.setdefault((asked.kernel, asked.types), set()) if asked.signature else set()
        if asked.signature in done:
            return self._with_less(asked)
        if asked.capped and self.count.get(asked.kernel, 0) >= self.limits.instantiations:
            return "dropped"
        if asked.unbound and self._enough(asked.kernel):
            return "dropped"
        # flags rarely change a layout: a few combinations of them, and each value of each once, stand for the rest
        told = asked.capped or bool(asked.flags)
        few = self.limits.flag_combinations
        if asked.kernel.startswith(REPLAYED) and not self.limits.lone:
            few = MOST_REPLAYED
        if told and len(done) >= few and self._known(asked):
            return "dropped"
        if asked.alike and (self.kinds.get(asked.alike, 0) >= self.limits.alike or self._worn(asked.alike)):
            return "dropped"
        if asked.signature:
            done.add(asked.signature)
            self._walked_with(asked).append(asked.given)
            self.count[asked.kernel] = self.count.get(asked.kernel, 0) + 1
            self.unbound[asked.kernel] = self.unbound.get(asked.kernel, 0) + asked.unbound
            self._count_flags(asked, 1)
        if asked.alike:
            self._count(asked.alike, 1, bool(asked.signature))
        return "walk"

    def _enough(self, kernel: str) -> bool:
        """Whether a kernel that some code instantiates was walked as others would, a few times already."""
        others = self.unbound.get(kernel, 0)
        return self.count.get(kernel, 0) > others >= self.limits.flag_combinations

    def _walked_with(self, asked: Attempt) -> list[frozenset[str]]:
        return self.given.setdefault((asked.kernel, asked.types, asked.signature), [])

    def _with_less(self, asked: Attempt) -> Answer:
        """Whether all that was known when the kernel was walked is known of this launch, too, or it is walked again:
        after a few times with nothing known."""
        walked = self._walked_with(asked)
        if any(known <= asked.given for known in walked):
            return "before"
        last = len(walked) >= _AGAIN
        walked.append(frozenset() if last else asked.given)
        return "open" if last else "again"

    def _known(self, asked: Attempt) -> bool:
        """Whether each flag had its value in some instantiation of the kernel that was walked."""
        return all((asked.kernel, *each) in self.flags for each in enumerate(asked.flags))

    def _count_flags(self, asked: Attempt, walks: int) -> None:
        for place, value in enumerate(asked.flags):
            key = asked.kernel, place, value
            self.flags[key] = self.flags.get(key, 0) + walks
            if not self.flags[key]:
                del self.flags[key]

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
            answer = self._both(a.kernel, int(a.types)) if a.answer in ("both", "one") else self._answer(a)
            if answer in ("walk", "again", "open"):
                added.append(replace(a, answer=answer))
            if answer != a.answer:
                self._forget(added)
                return False
        return True

    def absorb(self, attempts: Iterable[Attempt]) -> None:
        """These walks count, whatever the answers would be now."""
        for a in attempts:
            if a.answer in ("walk", "again", "open"):
                self._answer(a)

    def _forget(self, attempts: Iterable[Attempt]) -> None:
        for a in attempts:
            if a.signature:
                self._walked_with(a).remove(frozenset() if a.answer == "open" else a.given)
            if a.answer in ("again", "open"):
                continue
            if a.signature:
                self.done[a.kernel, a.types].discard(a.signature)
                self.count[a.kernel] -= 1
                self.unbound[a.kernel] -= a.unbound
                self._count_flags(a, -1)
            if a.alike:
                self._count(a.alike, -_BARREN if a.answer == "barren" else -1, bool(a.signature))

    def copy(self) -> Launches:
        """The same state, with no attempts."""
        done = {k: set(v) for k, v in self.done.items()}
        given = {k: list(v) for k, v in self.given.items()}
        counts = dict(self.count), dict(self.kinds), dict(self.flags)
        return Launches(self.limits, done, *counts, given, dict(self.unbound))


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
