"""A block whose threads run side by side: what is known of it, and why nobody goes on."""

from __future__ import annotations

from collections import defaultdict

from cutecheck.facts.replayed import Place, Replay, Step
from cutecheck.facts.span import Span
from cutecheck.rules.derive.arrivals import PIPELINE, counts, miscounted
from cutecheck.rules.derive.faults import Fault, Kind
from cutecheck.rules.derive.gates import Gate, Made, Named
from cutecheck.rules.derive.proxies import Proxies
from cutecheck.rules.derive.role_loads import (
    Barrier,
    Key,
    gate_of,
    in_parts,
    key_of,
    sized,
    stored_in_parts,
    without_elements,
)
from cutecheck.rules.derive.role_memory import Memory, shared_rows
from cutecheck.rules.derive.role_stops import Loaders, arrives_later, nobody_comes, too_few
from cutecheck.rules.derive.role_tmem import TensorMemory
from cutecheck.rules.derive.role_workers import (
    Tile,
    Worker,
    arrives_at,
    is_unseen,
    meets_all,
    only_tells,
    reads_shared,
)

_WARP = 32
_WARPGROUP = 128
_OF_BLOCK = "0"  # the named barrier that is the block's own


class Block:
    """The threads side by side. ``late``: one that waits for a phase that was over when it last asked comes there after
    the others wait, too: the next phase may be over then."""

    def __init__(self, replay: Replay, late: bool = False) -> None:
        threads = sized(without_elements(replay.threads))
        self.late = late
        self.passed = False  # such waits are made
        self.sure = replay.sure
        self.seen = replay.sure or replay.seen
        self.partial = replay.partial
        self.counted = replay.counted
        self.memory = Memory()
        self.proxies = Proxies()
        self.sums = TensorMemory([s for t in threads for s in t.steps], replay.moved)
        self.named: dict[str, Named] = defaultdict(Named)
        stored = any(s.kind == "copy" and s.places[-1].space == "tmem" for t in threads for s in t.steps if s.places)
        self.workers = [Worker(t, stored) for t in threads]
        for i, t in enumerate(threads):
            python = any(s.span.is_python for s in t.steps)
            self.memory.follows(i, t.steps, self.workers[i].counts_groups, python or (self.sure and self.counted))
        self.gates: dict[Barrier, Gate] = defaultdict(Gate)
        self.comers: dict[Barrier, set[int]] = defaultdict(set)  # who arrives at a barrier at all
        self.tellers: set[int] = set()  # who arrives at some barrier
        self.memory.tellers = self.tellers
        self.waiters: dict[Barrier, set[int]] = defaultdict(set)
        self.lone: set[Span] = set()  # where of each warp only the elected lane comes to a barrier of the hardware
        self.filled: set[Key] = set()  # what TMA fills at some time
        for i, t in enumerate(threads):
            for s in t.steps:
                if s.kind == "barrier" and s.function in ("arrive", "expect") and not only_tells(s):
                    self.comers[gate_of(s)].add(i)
                    self.tellers.add(i)
                elif s.kind == "barrier" and s.function == "wait":
                    self.waiters[gate_of(s)].add(i)
                elif s.kind == "load":
                    self.filled.add(key_of(s.places[1]))
        lanes: dict[Span, set[bool]] = defaultdict(set)
        for t in threads:
            for s in (s for s in t.steps if s.kind == "named"):
                lanes[s.span].add(t.number % _WARP == 0)
        self.lone = {at for at, first in lanes.items() if first == {True}} if not replay.partial else set()
        self.parted = in_parts(threads)
        self.stored_in_parts = stored_in_parts(threads)
        self.shared_rows = shared_rows(threads)
        self.filled -= self.parted
        self.now: dict[Key, Tile] = {}
        self.count: dict[Key, int] = defaultdict(int)
        self.made = Made(threads)
        self.loaders = Loaders()
        self.loads: list[tuple[Barrier, int, Step]] = []  # with the phase that says that each has come
        self.faults: list[Fault] = []
        self.together = True
        self._pair()
        self.waited: dict[Barrier, int] = {}  # phases of a barrier that some thread has waited for
        self.open = self._open_to_others()
        if self.sure and self.counted and not self._others_come():
            for at, count in counts(threads).items():
                if at[0] not in self.open:
                    self.gates[at].share(count, threads, self.comers[at], at)
        else:
            for at, count in counts(threads).items():
                if len(self.comers[at]) == 1 and at[0] not in self.open:
                    self.gates[at].alone(count, threads[next(iter(self.comers[at]))].steps, at)

    def _pair(self) -> None:
        """Lanes of a warp read together, warps of a warpgroup what a WGMMA multiplies; one lane arrives for them."""
        teams: dict[tuple[int, tuple[Span, ...]], list[Worker]] = defaultdict(list)
        for i, w in enumerate(self.workers):
            teams[self._team(i), tuple(s.span for s in w.thread.steps if reads_shared(s))].append(w)
        for (_, spans), team in teams.items():
            for w in team if spans else ():
                w.mates = [other for other in team if other is not w]

    def _count(self) -> bool:
        """Nobody goes on: whether fewer or more arrive at some barrier than it counts."""
        ends = all(w.at == len(w.thread.steps) for w in self.workers)
        counted = [at for at, gate in self.gates.items() if gate.count]
        found = list(miscounted(tuple(w.thread for w in self.workers), counted, self.waited, ends))
        if found:  # what comes too early or late by these phases follows from it
            self.faults = found
        return bool(found)

    def _must_open(self, at: Barrier) -> bool:
        """What ends a phase of the barrier is known: its count, or that all that arrive do so in each phase."""
        steps = [[s.span for s in self.workers[i].thread.steps if arrives_at(s, at)] for i in self.comers[at]]
        if at[0].startswith(PIPELINE) and self._by_hand():
            return False
        if at[0].startswith(PIPELINE) and self.gates[at].count:
            return True
        return bool(steps) and (self.gates[at].count > 0 or all(s == steps[0] for s in steps))

    def _forgotten(self, at: Barrier, fed: set[str]) -> bool:
        """Nobody arrives at the barrier of a pipeline's stage, and somebody at those of others."""
        return at[0].startswith(PIPELINE) and at[0] in fed and not self.comers[at] and not self._by_hand()

    def _alone(self, wait: Step, fed: set[str]) -> bool:
        """No thread of the block arrives at a barrier that counts some, at others of its array they do; and there is no
        other block that may. Of the Python DSL, whose runs have all steps, and where each thread does as one of these.
        """
        at = gate_of(wait)
        every = (s.function for w in self.workers for s in w.thread.steps)
        all_steps = wait.span.is_python or (self.counted and not at[0].startswith(PIPELINE))
        known = all_steps and at[0] in fed and not self.comers[at] and self.gates[at].count > 0
        return known and not any("cluster" in function or "MULTICAST" in function for function in every)

    def _by_hand(self) -> bool:
        """Barriers that nothing initialises are used, which may be those of a pipeline."""
        steps = [s for w in self.workers for s in w.thread.steps if s.kind == "barrier"]
        made = {s.places[0].buffer for s in steps if s.function == "init"}
        return any(not s.places[0].buffer.startswith(PIPELINE) for s in steps if s.places[0].buffer not in made)

    def _never_opens(self) -> None:
        """All that go on wait: at named barriers for more threads than come, or for phases that none of them ends."""
        here = [w for w in self.workers if w.at < len(w.thread.steps)]
        steps = [w.thread.steps[w.at] for w in here]
        waits = [s for s in steps if s.kind == "barrier"] if self.sure and not self._others_come() else []
        fed = {at[0] for at, who in self.comers.items() if who}
        if any(gate_of(s)[0] in self.open for s in waits):
            return  # others may hold back who waits there
        if any(gate_of(s)[0] not in fed and self._of_pipeline(gate_of(s)) for s in waits):
            return  # a pipeline of which not all steps are seen
        if waits and self._count():
            return
        for step in steps if self.sure and (waits or self._held_by_block(steps)) else ():
            if step.kind == "named" and (not waits or nobody_comes(step, here)):
                self._note("shut", step, step.places[0], None, self.named[step.places[0].buffer].came)
                return
        stuck = [
            s for s in waits if self._must_open(gate_of(s)) or self._forgotten(gate_of(s), fed) or self._alone(s, fed)
        ]
        few = next(
            (
                found
                for s in stuck
                if (found := too_few(gate_of(s), self.workers, self.gates[gate_of(s)].count)) is not None
            ),
            None,
        )
        if few is not None:
            self._note("scant", few[0], few[0].places[0], None, few[1])
        elif stuck:  # the first is one that nobody comes to, if any is: others wait for who waits there
            step = next((s for s in stuck if not any(arrives_later(w, gate_of(s)) for w in here)), stuck[0])
            other = next((s for s in steps if s.kind == "barrier" and gate_of(s) != gate_of(step)), None)
            self._note("stuck", step, step.places[0], other, 0)

    def _held_by_block(self, steps: list[Step]) -> bool:
        """Each waits at a named barrier, or at one of the block that those do not come to."""
        elsewhere = [s for s in steps if s.kind != "named"]
        if not elsewhere:
            return True
        named = {s.places[0].buffer.rpartition(" ")[2] for s in steps if s.kind == "named"}
        return _OF_BLOCK not in named and all(map(meets_all, elsewhere)) and not self._others_come()

    def _of_pipeline(self, at: Barrier) -> bool:
        """A barrier of a pipeline of which it is not known how many arrive there."""
        return at[0].startswith(PIPELINE) and not self.gates[at].count

    def _others_come(self) -> bool:
        """Other blocks may arrive at barriers of this one, or code that is not run.

        Not those of a cluster whose threads all arrive at barriers of their own block, and only wait for each other.
        """
        every = [s for w in self.workers for s in w.thread.steps]
        meet = any("cluster" in s.function or "MULTICAST" in s.function for s in every)
        return any(map(is_unseen, every)) or (meet and any(not s.span.is_python for s in every if _is_vague(s)))

    def _open_to_others(self) -> set[str]:
        """Barriers, by their arrays, at which other blocks of a cluster may arrive, of the Python DSL: where this one
        arrives at theirs, or it is not known how often it does."""
        every = [s for w in self.workers for s in w.thread.steps]
        meet = any("cluster" in s.function or "MULTICAST" in s.function for s in every)
        return {s.places[0].buffer for s in every if _is_vague(s) and s.places} if meet else set()

    def _late(self, me: int, w: Worker, tile: Tile) -> Step | None:
        """A read of a tile of which this thread need not know that it is done.

        A WGMMA is one of all four warps: any thread of theirs may say for the others that it is done with the stage,
        as CUTLASS's pipelines have it. So may one of a warp for copies of lanes that never say so (``__syncwarp()``),
        not to the thread that loads, be it to others.
        """
        known = [(i, s.function) for i, (t, s) in tile.reads.items() if w.clock.get(i, 0) >= t]
        said = {self._team(i) for i, function in known if function == "wgmma"}
        for i, (t, step) in tile.reads.items():
            if i == me or w.clock.get(i, 0) >= t or (known and step.kind == "copy" and not self._tells(i, me)):
                continue
            if self.partial and i not in self.tellers:
                continue  # one that was not run may say so for it
            if step.function != "wgmma" or self._team(i) not in said:
                return step
        return None

    def _tells(self, one: int, other: int) -> bool:
        """Whether a thread arrives at a barrier that another waits at; at others it says nothing to it."""
        return any(one in self.comers[at] for at, waiting in self.waiters.items() if other in waiting)

    def _lane_waits(self, me: int, at: Barrier | None, place: Place) -> bool:
        """The first lanes of warps, which read this, too, wait for the others, which never do (``__syncwarp()``)."""
        waiters = set().union(*self.waiters.values()) if at is None else self.waiters[at]
        if me in waiters or self.workers[me].thread.number % _WARP == 0:
            return False
        return any(self.workers[i].thread.number % _WARP == 0 and self._reads(i, place.buffer) for i in waiters)

    def _reads(self, worker: int, buffer: str) -> bool:
        steps = (s for s in self.workers[worker].thread.steps if s.kind in ("copy", "gemm"))
        return any(p.buffer == buffer for s in steps for p in (s.places[:1] if s.kind == "copy" else s.places))

    def _team(self, worker: int) -> int:
        return self.workers[worker].thread.number // _WARPGROUP

    def _note(self, kind: Kind, step: Step, place: Place, other: Step | None, tile: int) -> None:
        if not any((f.kind, f.step.span) == (kind, step.span) for f in self.faults):
            self.faults.append(Fault(kind, step, place, other, tile))


def _is_vague(step: Step) -> bool:
    """An arrival of which it is not known how often it is one at a barrier of this block."""
    return step.kind == "barrier" and step.function in ("arrive", "expect") and step.arrives is None
