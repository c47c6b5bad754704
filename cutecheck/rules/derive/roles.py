"""Kernels whose threads tell each other by barriers in shared memory what is filled and what is done with: the runs of
one thread of each role, side by side.

What happened before what is told by clocks: a thread knows of its own steps, and by a barrier that it waited for of
those that the threads did before they arrived there. A load by TMA is done with the phase of the barrier that expects
its bytes. What is not ordered so may happen in any order.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from cutecheck.facts.replayed import Place, Replay, Step
from cutecheck.rules.derive.arrivals import made_twice, starved, uninitialised
from cutecheck.rules.derive.beside import in_neighbour, of_both
from cutecheck.rules.derive.companions import apart, mislaid, odd
from cutecheck.rules.derive.displaced import displaced
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.gates import learn, made_again
from cutecheck.rules.derive.role_block import Block
from cutecheck.rules.derive.role_loads import Barrier, gate_of, holds, key_of
from cutecheck.rules.derive.role_memory import Clock, How
from cutecheck.rules.derive.role_stops import under_way
from cutecheck.rules.derive.role_tmem import OF_SUMS, sums_of
from cutecheck.rules.derive.role_workers import (
    Tile,
    Worker,
    kind_of,
    meets_all,
    only_tells,
    reads_shared,
)
from cutecheck.rules.derive.tma_walks import never_filled, not_counted, not_walked
from cutecheck.rules.derive.untold import untold

# of a clock: steps of each thread, by its position, and phases of each barrier that are over
_WALKS = (not_walked, not_counted, displaced, mislaid, apart, odd, of_both, in_neighbour)
_WARP = 32
_NEVER = 1 << 62


class _Run(Block):
    """The threads' steps in an order in which they can happen."""

    def run(self) -> list[Fault]:
        threads = tuple(w.thread for w in self.workers)
        missing = (uninitialised(threads) or starved(threads) or untold(threads)) if self.sure else None
        if missing is not None:
            return [missing]
        while True:
            moved = False
            for i, w in enumerate(self.workers):
                while w.at < len(w.thread.steps) and not self._ahead(w) and self._do(i, w, w.thread.steps[w.at]):
                    w.read += reads_shared(w.thread.steps[w.at])
                    w.at += 1
                    moved = True
                if w.at == len(w.thread.steps):
                    if not w.thread.complete:
                        return self.faults  # what it does next is not known
                    self._arrive_now(i, w)
            if not moved and self._warps():
                continue
            if not moved and self.together and any(w.at < len(w.thread.steps) and self._ahead(w) for w in self.workers):
                self.together = False  # they part somewhere
            elif not moved and not self._pass() and not self._met():
                if all(w.at == len(w.thread.steps) for w in self.workers):
                    self._count()
                    self._left_open()
                    if not self.faults and not self.partial:
                        counted = self.sure and self.counted and not self._others_come()
                        own = [load for load in self.loads if load[0][0] not in self.open]
                        late = under_way(own, self.workers) if counted else None
                        found = [walked(threads) for walked in _WALKS]
                        self.faults += [f for f in (*found, late) if f is not None]
                self._never_opens()
                return self.faults

    def _left_open(self) -> None:
        """Threads of the Python DSL that end while TMA may still read what they have it store."""
        for i, w in enumerate(self.workers):
            store = self.memory.left_open(i) if self.sure and w.thread.complete else None
            if store is not None and store.step.span.is_python and not store.step.maybe:
                self._note("left open", store.step, store.place, None, 0)

    def _warps(self) -> bool:
        """Nobody goes on: lanes that came to ``__syncwarp()`` do, first those of warps of which all came there."""
        here = [w for w in self.workers if w.at < len(w.thread.steps)]
        meeting: dict[int, list[Worker]] = defaultdict(list)
        for w in here:
            if w.thread.steps[w.at].kind == "warp":
                meeting[w.thread.number // _WARP].append(w)
        going = {n: sum(w.thread.number // _WARP == n for w in here) for n in meeting}
        whole = [lanes for n, lanes in meeting.items() if len(lanes) == going[n]]
        for lanes in whole or meeting.values():
            both: Clock = {}
            for w in lanes:
                learn(both, w.clock)
            for w in lanes:
                learn(w.clock, both)
                w.at += 1
        return bool(meeting)

    def _pass(self) -> bool:
        """Nobody goes on: threads go past barriers whose last phase is the one that they wait for, which they knew."""
        here = [w for w in self.workers if w.at < len(w.thread.steps) and not w.passes]
        for w in (w for w in here if w.thread.steps[w.at].kind == "barrier"):
            step = w.thread.steps[w.at]
            gate, known = self.gates[gate_of(step)], w.clock.get(gate_of(step), -1)
            old = gate.count > 0 and step.function == "wait" and known & 1 == (step.number or 0) & 1
            w.passes = old and len(gate.over) & 1 != (step.number or 0) & 1
        return any(w.passes for w in here)

    def _ahead(self, w: Worker) -> bool:
        """Whether a thread waits for those that read together with it."""
        return self.together and any(other.read < w.read for other in w.mates)

    def _met(self) -> bool:
        """All threads that go on came to where they wait for each other."""
        here = [w for w in self.workers if w.at < len(w.thread.steps)]
        if not here or any(not meets_all(w.thread.steps[w.at]) for w in here):
            return False
        both: Clock = {}
        for w in here:
            learn(both, w.clock)
        for w in here:
            learn(w.clock, both)
            w.sums.waited()
            w.at += 1
        return True

    def _do(self, me: int, w: Worker, step: Step) -> bool:
        """One step; False where the thread waits."""
        if step.kind != "load":
            self._arrive_now(me, w)
        if meets_all(step) or step.kind == "warp":
            return False
        if step.kind == "barrier":
            for kind, at, place, other in w.sums.does(step) if step.asynchronous else ():
                self._note(kind, at, place, other, 0)
            return self._at_barrier(me, w, step)
        if step.kind == "named":
            return self._at_named(me, w, step)
        w.clock[me] = w.clock.get(me, 0) + 1
        if step.function == "warpgroup_commit_batch":
            w.groups.append(w.reading)
            w.reading = []
        elif step.function == "warpgroup_wait":
            w.retired(me, step.number or 0)
        if not self.late:
            self._remember(me, w, step)
            early = self.sums.does(me, w.clock, step) if w.thread.number % _WARP == 0 else None
            if early is not None and self.sure and not step.maybe:
                place = sums_of(early[1]) if early[1].kind == "gemm" else early[1].places[0]
                self._note(early[0], early[1], place, early[2], 0)
            unfenced = self.proxies.does(me, w.clock, step)
            if unfenced is not None and self.sure and not step.maybe:
                self._note("unflushed" if step.kind == "drain" else "unfenced", step, *unfenced, 0)
        for kind, at, place, other in w.sums.does(step):
            self._note(kind, at, place, other, 0)
        if step.kind == "load":
            self._load(me, w, step)
        elif step.kind != "drain":
            for place in step.places[:1] if step.kind == "copy" else step.places:
                if place.space == "smem" and step.kind in ("copy", "gemm"):
                    self._read(me, w, step, place)
            if step.kind == "copy" and step.places[1].space == "smem":
                self.now[key_of(step.places[1])] = Tile(step, 0, None, 0)
        return True

    def _remember(self, me: int, w: Worker, step: Step) -> None:
        """What the step does with shared memory that other tensors lie in, too, or that TMA stores."""
        self.memory.orders(me, w.clock, step)
        if step.kind not in ("copy", "load", "gemm", "drain"):
            return
        if step.kind == "drain" and key_of(step.places[0]) in self.stored_in_parts:
            return
        if step.function == "umma" and w.thread.number % _WARP:
            return  # all lanes come to it, and one issues it and tells when it is done
        uses: list[tuple[Place, How, bool]]
        if step.kind == "gemm":  # of A each warp reads its own rows
            used = step.places[-3:-1] if step.function == "umma" else step.places[-2:-1]
            uses = [(p, "mma", False) for p in used if step.asynchronous]
            rows = step.places[-3:-2]
            shared = [(step.span, p.bits, p.whole) in self.shared_rows for p in rows]
            by_source = step.span.is_python  # whose steps of threads are all seen
            uses += [(p, "rows" if s else "part", False) for p, s in zip(rows, shared, strict=True) if s or by_source]
        elif step.kind == "copy":
            uses = [(p, "threads", i == 1) for i, p in enumerate(step.places[:2])]
        elif step.kind == "load":
            uses = [(step.places[1], "load", True)]
        else:
            uses = [(step.places[0], "drain", False)]
        for place, how, written in uses:
            phase = w.expecting if how == "load" else None
            clash = self.memory.used(me, w.clock, step, place, how, written, phase, w.thread.number // _WARP)
            if clash is None or not self.seen or step.maybe:
                continue
            other = clash.access
            if clash.first:
                self._note("unstored", other.step, other.place, step, 0)
            else:
                self._note(kind_of(other.how, how, written), step, place, other.step, 0)

    def _at_named(self, me: int, w: Worker, step: Step) -> bool:
        gate, count = self.named[step.places[0].buffer], step.number or 0
        if w.waits is None:
            w.clock[me] = w.clock.get(me, 0) + 1
            gate.came += w.thread.counts * (_WARP if step.span in self.lone else 1)  # it counts whole warps
            learn(gate.known, w.clock)
            gate.last = step
            w.waits = len(gate.opened)
            if gate.came > count and self.sure:
                self._note("crowded", step, step.places[0], None, gate.came)
            if gate.came >= count:
                gate.opened.append(gate.known)
                gate.came, gate.known = 0, {}
        if step.function != "arrive":
            if len(gate.opened) == w.waits:
                return False
            learn(w.clock, gate.opened[w.waits])
            w.sums.waited()
        w.waits = None
        return True

    def _at_barrier(self, me: int, w: Worker, step: Step) -> bool:
        gate, at = self.gates[gate_of(step)], gate_of(step)
        unmade = self.made.does(me, w.clock, step) if self.sure and not self.late else None
        if unmade is not None:
            self._note("premature", step, step.places[0], unmade, 0)
        if step.function == "wait":
            w.sums.waited()
            known = w.clock.get(at, -1) + 1  # phases that are over for certain: no more need be when it is asked
            if known & 1 == (step.number or 0) & 1:
                self.waited[at] = max(self.waited.get(at, 0), known + 1)
                if len(gate.over) <= known:
                    return False
                learn(w.clock, gate.over[known])
                w.clock[at] = known
            elif gate.count and self.late and not w.passes:
                return False
            else:
                self.passed |= gate.count > 0
            w.passes = False
        elif step.function == "expect":
            w.due, w.expecting = (at, step), (at, len(gate.over) + gate.pending(me, self.comers[at]))
            w.told[at] = w.expecting[1]
        elif step.function == "arrive":
            if step.asynchronous:
                for tile in w.committing:
                    tile.reads[me] = w.clock[me], tile.reads[me][1]
                w.committing = []
            self._arrive(me, w, at, step)
        return True

    def _arrive_now(self, me: int, w: Worker) -> None:
        if w.due is not None:
            (at, step), w.due = w.due, None
            self._arrive(me, w, at, step)

    def _arrive(self, me: int, w: Worker, at: Barrier, step: Step) -> None:
        gate = self.gates[at]
        if only_tells(step):
            return
        if gate.count:
            gate.come(me, w.thread.counts * (step.arrives or 0), w.clock)
            return
        gate.arrived[me].append(dict(w.clock))
        while all(len(gate.arrived[i]) >= gate.each for i in self.comers[at]):
            known = dict(gate.over[-1]) if gate.over else {}
            for i in (i for i in self.comers[at] for _ in range(gate.each)):
                learn(known, gate.arrived[i].pop(0))
            gate.over.append(known)

    def _read(self, me: int, w: Worker, step: Step, place: Place) -> None:
        if step.kind == "drain" and key_of(step.places[0]) in self.stored_in_parts:
            return
        if step.function == "umma" and w.thread.number % _WARP:
            return  # all lanes come to it, and one issues it
        tile = next((t for k, t in self.now.items() if holds(k, key_of(place))), None)
        if tile is None:
            if any(holds(k, key_of(place)) for k in self.filled) and not self._lane_waits(me, None, place):
                self._note("unready", step, place, None, 0)
            return
        late = tile.gate is not None and w.clock.get(tile.gate, -1) < tile.phase
        if late and tile.gate is not None and not self._lane_waits(me, tile.gate, place):
            self._note("unready", step, place, tile.step, tile.number)
        tile.reads[me] = w.clock[me], step
        if step.function == "wgmma" and w.counts_groups:
            tile.reads[me] = _NEVER, step  # until its group has been waited for
            w.reading.append(tile)
        elif step.function == "umma" and w.commits:
            tile.reads[me] = _NEVER, step  # until a barrier is told that it is done
            w.committing.append(tile)

    def _load(self, me: int, w: Worker, step: Step) -> None:
        place = step.places[1]
        key, before = key_of(place), self.now.get(key_of(place))
        if key in self.parted:
            return
        after = w.told_after.get(w.at)
        exact = (step.function, step.number) if step.number is not None else None
        if exact is not None and not step.span.is_python and exact not in self.comers:
            exact = None  # a barrier that has another name where threads come to it
        if exact is not None:  # who tells it of the bytes may be another thread, or do so later
            now = len(self.gates[exact].over) + self.gates[exact].pending(me, self.comers[exact])
            w.expecting = exact, now if w.at in w.told_after else w.told.get(exact, now)
        elif after is not None:
            told = self.gates[after]
            w.expecting = after, len(told.over) + told.pending(me, self.comers[after])
        elif w.at in w.told_after:
            w.expecting = None
        if w.expecting is None:
            self.now.pop(key, None)
            return
        gate, phase = w.expecting
        self.loads.append((gate, phase, step))
        if self.sure and self.loaders.again(me, w.thread, step, gate, phase):
            self._note("repeated", step, place, None, 0)
        heaped = self.loaders.over(me, step, gate, phase)
        if heaped is not None and self.sure:
            self._note("heaped", step, place, heaped, 0)
        if before is not None and (before.gate, before.phase) == (gate, phase) and not before.reads:
            return  # another part of the same tile
        if before is not None and before.gate is not None:
            late = self._late(me, w, before)
            if late is not None:
                self._note("unreleased", step, place, late, before.number)
        self.count[key] += 1
        self.now[key] = Tile(step, self.count[key] - 1, gate, phase)


def faults_of_roles(replay: Replay) -> list[Fault]:
    """What goes wrong between the threads of a block; where a barrier's phases begin again on the way that alone."""
    if any(made_again(t) for t in replay.threads):
        twice = made_twice(replay.threads)
        return [twice] if twice is not None else []
    block = _Run(replay)
    found = block.run()
    if any(f.kind == "replaced early" for f in found):  # one that runs ahead comes to other sums, too
        found = [f for f in found if f.kind not in ("replaced", "kept")]
    if replay.sure and all(f.kind == "heaped" for f in found):  # what came to another's place is missed at its own
        found = [*found, *(f for f in (never_filled(replay),) if f is not None)]
    if not block.passed or any(f.kind not in OF_SUMS for f in found):
        return found
    outrun = [replace(f, kind="outrun") for f in _Run(replay, late=True).run() if f.kind == "stuck"]
    return outrun or found
