"""Runs of some threads of a block side by side: one of each role, another of one with several warps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cutecheck.facts.replayed import Replay, Step, Thread
from cutecheck.model.expr import Expr
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.one_run import Start, run
from cutecheck.source.eval.record.numbers import fewer_passes, more_passes, round_again, several_tiles, undivided
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import Numbers, agree, shares

_COSTLY = 40_000  # of a run that came to no end: two of these, and no more roles are run
_WARP = 32
_WARPGROUP = 128
_OF_ROLES = frozenset(t + first for t in range(0, 1024, _WARP) for first in (0, 1))  # threads that a condition may tell
_MOST_ROLES = 24  # that do something: an epilogue's stores of single elements part the lanes of each warpgroup
_MOST_RUN = 40  # the idle ones, too: each warp of a CUTLASS producer warpgroup is a role
_MOST_OF_UMMA = 12, 24  # of a DSL kernel with UMMA: more read numbers of several operands, which only its host ties
_MOST_IN_VAIN = 2  # runs, after which no other roles are run


@dataclass(slots=True)
class Team:
    """The runs of some threads of a block, at the same numbers; one of each role, another of one with several warps."""

    block: int
    numbers: Numbers = field(default_factory=dict)
    remembers: bool = True
    asked: dict[Expr, None] = field(default_factory=dict)
    views: dict[object, int] = field(default_factory=dict)
    endless: set[int] = field(default_factory=set)  # loops that came to no end, by ``id``
    found: list[Replaying] = field(default_factory=list)
    ended: list[bool] = field(default_factory=list)
    known: dict[tuple[int, Expr], int | None] = field(default_factory=dict)  # what threads answer to what was asked
    voice: Replaying | None = None  # a run that is none, which answers for each thread
    roles: dict[int, int] = field(default_factory=dict)  # the first run of the same role, by thread
    compared: dict[int, int] = field(default_factory=dict)  # with so many of the runs no role was found, by thread
    all_roles: bool = False
    cost: int = 0
    farther: list[Numbers] = field(default_factory=list)  # at which a thread may come round the stages: it did not
    in_vain: int = 0  # long runs that came to no end

    def run(self, m: Machine, start: Start, thread: int) -> Replaying:
        """``start`` is that of all runs of the team."""
        for known, complete in zip(self.found, self.ended, strict=True):
            same = known.of_thread(thread)
            if same is not None:
                self.found.append(same)
                self.ended.append(complete)
                self.in_vain += not complete and same.cost > _COSTLY
                return same
        made = Replaying(
            m, False, thread, views=self.views, numbers={**start.numbers, **self.numbers}, remembers=self.remembers,
            endless=self.endless,
        )  # fmt: skip
        made.zeros = start.zeros
        running, complete = run(m, start, False, made=made)
        self.asked.update(running.asked)
        self.found.append(running)
        self.ended.append(complete)
        self.cost += running.cost
        self.in_vain += not complete and running.cost > _COSTLY
        return running

    def role(self, m: Machine, thread: int) -> int | None:
        """The first run that tells what a thread does: of one that answers alike whatever that run asked of its thread.

        What it did not ask no thread is asked on that way. One that is elected is another role. None: none of the runs.
        """
        if thread not in self.roles:
            for i in range(self.compared.get(thread, 0), len(self.found)):
                f = self.found[i]
                if (thread % _WARP == 0) == ((f.thread or 0) % _WARP == 0) and all(
                    self._says(m, thread, e) == self._says(m, f.thread or 0, e) for e in f.asked
                ):
                    self.roles[thread] = i
                    break
            self.compared[thread] = len(self.found)
        return self.roles.get(thread)

    @property
    def idle(self) -> bool:
        """Whether all runs ended before any step, as of a block without work."""
        return all(self.ended) and not any(f.steps for f in self.found)

    @property
    def multiplies(self) -> bool:
        """Whether some thread issues an UMMA."""
        return any(s.function == "umma" for f in self.found for s in f.steps)

    def busy(self) -> int:
        """Roles that were run and do something, apart from waiting for all others."""
        return sum(any(_is_step(s) for s in f.steps) for f in self.found)

    def _says(self, m: Machine, thread: int, asked: Expr) -> int | None:
        if (thread, asked) not in self.known:
            self.voice = self.voice or Replaying(m)
            self.voice.thread = thread
            self.known[thread, asked] = self.voice.number(asked)
        return self.known[thread, asked]

    def left(self, m: Machine) -> list[int]:
        """Threads whose role was not run: the first two of each warp come first."""
        left = [t for t in sorted(_OF_ROLES) if t < self.block and self.role(m, t) is None]
        return left or [t for t in range(self.block) if self.role(m, t) is None]

    def replay(self, m: Machine) -> Replay:
        ends = self._ends_together()
        threads = tuple(
            Thread(f.thread or 0, tuple(f.steps), complete and (ends or not f.supposed),
                   self._stands_for(m, f.thread or 0), _decided(f))
            for f, complete in zip(self.found, self.ended, strict=True)
        )  # fmt: skip
        seen = self.all_roles and all(f.sure for f in self.found) and self.block % _WARP == 0 and self._by_turns()
        sure = seen and all(self.ended)
        names = {v.name for e in self.asked for v in e.variables() if v.name.startswith("threadIdx.")}
        counted = sure and names <= {"threadIdx.x"}
        pointed = tuple(sorted({b for f in self.found for b in f.pointed}))
        moved = tuple(sorted({b for f in self.found for b in f.moved}))
        unset = tuple({s.span: s for f in self.found if f.by_source for s in f.never_set()}.values())
        return Replay((), False, threads, sure=sure, counted=counted, partial=not self.all_roles, seen=seen,
                      pointed=pointed, moved=moved, tiles=unset,
                      in_turn=max((f.rounds.in_turn() for f in self.found), default=0))  # fmt: skip

    def _stands_for(self, m: Machine, thread: int) -> int:
        """How many threads of the block a thread stands for: those of its role, of a second one those of its warp."""
        kind = self.role(m, thread)
        alike = [t for t in range(self.block) if self.role(m, t) == kind]
        runs = [f.thread or 0 for f in self.found if self.role(m, f.thread or 0) == kind]
        own = [t for t in alike if t // _WARP == runs[-1] // _WARP] if len(runs) > 1 else []
        return len(own) if thread == runs[-1] and own else len(alike) - len(own)

    def _by_turns(self) -> bool:
        """Where roles go through tiles that a scheduler tells of, all that tell each other anything have as many."""
        supposed = {n for f in self.found for n in f.supposed.values()}
        tell = [f for f in self.found if any(s.kind == "load" or _is_told(s) for s in f.steps)]
        return not supposed or {n for f in tell for n in f.supposed.values() or [f.rounds.tiles()]} == supposed

    def _ends_together(self) -> bool:
        """Whether roles that suppose their tiles are told of each of them by the same phases of the same barriers.

        Where they find them by themselves, or warpgroups take turns, some may have more: what they do is the start of
        what they do with more tiles, and nothing is known of the end.
        """
        told = {tuple(f.heard_of) for f in self.found if f.supposed}
        return len(told) < 2 and not any(None in heard for heard in told)

    @property
    def agrees(self) -> bool:
        """Roles that read the same numbers are told the same by them: each of those that have steps asks for them."""
        stored = {b for f in self.found for b in f.memory.stored}
        read = {b for f in self.found for b in f.memory.read}
        return not stored & read and agree(f.rounds for f in self.found if any(_is_step(s) for s in f.steps))


def _decided(run: Replaying) -> tuple[str, ...] | None:
    names = {n.partition("#")[0] for n in run.slices.decided}
    return None if run.slices.of_blocks else tuple(sorted(names))


def waits(run: Replaying) -> bool:
    """Whether a thread waits for barriers in memory."""
    return any((s.kind, s.function) == ("barrier", "wait") for s in run.steps)


def _is_told(step: Step) -> bool:
    return step.kind == "barrier" and step.function in ("wait", "arrive", "expect")


def _is_step(step: Step) -> bool:
    """All threads may be where a pipeline is made."""
    return step.kind in ("barrier", "load", "copy", "gemm", "drain", "named") and step.function != "init"


def few_passes(team: Team, divisors: Mapping[str, int] | None = None) -> Numbers:
    """Numbers at which the last run's loops have few passes, if it has left one that had too many."""
    left = team.found and not team.ended[-1] and team.found[-1].long
    return fewer_passes(team.found[-1], divisors=divisors) if left else {}


def cheaper(m: Machine, start: Start, team: Team) -> Team:
    """The runs at numbers at which loops have fewer passes, where one has come to its limit of steps; or these."""
    if not start.by_source or not team.found or team.ended[-1] or team.found[-1].cost < start.most:
        return team
    few = fewer_passes(team.found[-1], dear=True)
    other = Team(team.block, team.numbers | few)
    if few:
        run_team(m, start, other)
    team.cost += other.cost
    ended = bool(other.found) and all(other.ended) and not undivided(other.found)
    return replace(other, cost=team.cost) if ended else team


def run_team(m: Machine, start: Start, team: Team, asks: bool = False) -> list[Numbers] | None:
    """Run the threads. ``asks``: no more of them once they tell of numbers at which there are several tiles: these."""
    left = team.left(m)
    while left and team.in_vain < _MOST_IN_VAIN:
        busy, runs = _MOST_OF_UMMA if start.by_source and team.multiplies else (_MOST_ROLES, _MOST_RUN)
        if len(team.found) >= runs or team.busy() >= busy:
            break
        running = team.run(m, start, left[0])
        tried = several_tiles(running) if asks else []
        if tried:
            return tried
        if asks and team.ended[-1] and waits(running):
            again = round_again(running)
            shared = shares(running.rounds.loops.values())  # of work that blocks share there are other numbers
            team.farther = [again] if again else [] if shared else more_passes(running)
        if team.farther:
            return None
        if not team.ended[-1] and (start.by_source or (m.recorder.weighed and not start.zeros)):
            return None  # it is not judged then, or run once more without what is weighed
        left = team.left(m)
    team.all_roles = not left
    for role in list(team.found):
        thread = role.thread or 0
        kind = team.role(m, thread)
        elsewhere = [t for t in range(team.block) if t // _WARP != thread // _WARP]
        alike = [t for t in elsewhere if team.role(m, t) == kind]
        others = [t for t in alike if t in _OF_ROLES] or alike
        if thread % _WARP == 0:  # one that is elected stands for its warp, unless other warpgroups elect one, too
            others = [t for t in others if t // _WARPGROUP != thread // _WARPGROUP]
        if others and len(role.steps) > 1:
            team.run(m, start, others[-1])
    return None
