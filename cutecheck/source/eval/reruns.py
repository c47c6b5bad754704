"""Kernels run once more, pass by pass: the runs of a kernel, of one path for all threads or one of each role."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations

from cutecheck.facts import ELEMENT_READ, Call, Span, TensorFact, Unknown
from cutecheck.facts.core import CHUNK
from cutecheck.facts.replayed import Replay, Step, Thread
from cutecheck.model.expr import Expr
from cutecheck.model.ints import known_value
from cutecheck.source.eval.launches import REPLAYED, key_of
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.one_run import MOST_STEPS, Start, others, run
from cutecheck.source.eval.overloads import Candidate
from cutecheck.source.eval.record.given import apart_from_ends, with_fewer, with_flags
from cutecheck.source.eval.record.numbers import fewer_passes, round_again, several_tiles, undivided
from cutecheck.source.eval.record.regions import by_hardware, whole_of
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import Numbers, agree, shares
from cutecheck.source.eval.record.running import AT_LEAST, FEWER, MORE_PASSES
from cutecheck.source.eval.tile_runs import with_tiles
from cutecheck.source.eval.values import Object, Value

_MOST_REPLAYED = 8  # instantiations of one kernel that are run pass by pass
_MOST_FOR_TILES = 3  # that are run for what they take and leave
_COSTLY = 60_000  # of a run, from which on it is not run for several tiles as well
_MOST_FEWER = 32_000  # of one at fewer tiles, of which more passes of a loop are run
_SHARES = 2  # of a work that blocks share: as many as it has tiles, each has one, whose next tile nobody sees
_FEW_SHARES = (_SHARES, 1)  # where threads go one way; a block that has all of it need not wait for another
_FEW_PASSES, _PASSES_OF_FEW = 4, 6  # of loops: too few to come round the stages, and enough
_WARP = 32
_WARPGROUP = 128
_OF_ROLES = frozenset(t + first for t in range(0, 1024, _WARP) for first in (0, 1))  # threads that a condition may tell
_MOST_OF_TRIES = 200_000  # steps of runs at numbers at which a block has several tiles; then no others are tried
_MOST_ROLES, _MOST_OF_CPP = 12, 24  # that do something; threads of CUTLASS's pipelines tell other blocks, each its own
_MOST_RUN, _MOST_RUN_OF_CPP = 24, 40  # the idle ones, too: each warp of a CUTLASS producer warpgroup is a role
_MOST_IN_VAIN = 2  # runs, after which no other roles are run
_MOST_TRIED = 2  # numbers at which a kernel of the Python DSL may have several tiles


def replay(m: Machine, best: Candidate, self_: Object | None, args: list[Value], symbol: str, span: Span) -> None:
    """Run a kernel once more, pass by pass, where it copies in loops: what is in which stage when."""
    recorder, limits = m.recorder, m.budget.limits
    told = any(c.kernel == symbol and c.subject for c in recorder.calls.values())
    by_name = _by_name(m, symbol, "mbarrier.load") or _by_name(m, symbol, CHUNK)
    copies = by_name or any(e.kernel == symbol for e in recorder.events.values())
    if not m.dialect.by_value or limits.many or not copies:
        return
    if limits.twins and m.history.launches.ask(f"{REPLAYED}{key_of(best.fn)}", "", symbol) != "walk":
        return  # of many instantiations one stands for the others
    walked, steps = m.history.replayed.get(id(best.fn), (0, 0))
    if walked >= _MOST_REPLAYED or steps > MOST_STEPS:
        return
    args = [with_flags(m, a, p.name) for a, p in zip(args, best.fn.params, strict=False)]
    start = Start(best.entry, best.fn, best.env, self_, args, span)
    made: Replay | None
    if told:
        made, cost = roles(m, start, recorder.threads_of(symbol))
    else:
        made, cost = _one_path(m, start) if _pipelined(m, symbol) or _crossing(m, symbol) else (None, 0)
        if _stores_by_tma(m, symbol):
            teams, more = roles(m, start, recorder.threads_of(symbol))
            cost += more
            if teams.seen or all(t.complete for t in teams.threads):
                made = replace(
                    made or teams,
                    threads=teams.threads,
                    sure=teams.sure,
                    counted=teams.counted,
                    seen=teams.seen,
                    pointed=teams.pointed,
                    moved=teams.moved,
                )
    if walked < _MOST_FOR_TILES:
        made, more = with_tiles(m, start, made)
        cost += more
    m.history.replayed[id(best.fn)] = walked + 1, steps + cost
    if made is not None:
        recorder.replayed(made, symbol, best.fn.span)


def _one_path(m: Machine, start: Start) -> tuple[Replay | None, int]:
    """The run of a kernel whose threads go the same way, and the cost; nothing where it has no steps."""
    running, complete = run(m, start, False)
    cost = running.cost
    made_smaller = False
    numbers: Numbers | None = None
    if complete and not running.steps and running.made_by_host:  # the block has no part of a work that others share
        for tried in others(running):
            other = run(m, start, False, numbers=tried)
            cost += other[0].cost
            if other[0].steps:
                (running, complete), numbers = other, tried
                break
    for many in _FEW_SHARES if numbers is None else ():
        divided = dict.fromkeys(shares(running.rounds.loops.values()), many)
        if not divided or (complete and many == 1):
            break
        other = run(m, start, False, numbers=divided)
        cost += other[0].cost
        if (other[1], len(other[0].steps)) > (complete, len(running.steps)):
            (running, complete), numbers = other, divided
    if running.chose and not complete:
        other = run(m, start, True, numbers=numbers)
        cost += other[0].cost
        if len(other[0].steps) > len(running.steps):
            running, complete = other
    if running.long and not complete:
        fewer = Replaying(m, running.given, least=FEWER, passes=MORE_PASSES, numbers=numbers)
        other = run(m, start, running.given, made=fewer, most=_MOST_FEWER)
        cost += other[0].cost
        smaller = [with_fewer(a) for a in start.args]
        if not other[1] and any(a is not b for a, b in zip(start.args, smaller, strict=True)):
            fewer = Replaying(m, running.given, least=FEWER, passes=MORE_PASSES, numbers=numbers)
            other = run(m, replace(start, args=smaller), running.given, made=fewer, most=_MOST_FEWER)
            other[0].steps[:] = apart_from_ends(other[0].steps)
            cost, made_smaller = cost + other[0].cost, other[1]
        running, complete = other if other[1] else (running, complete)
    farther = _farther(running)
    if farther and complete:
        other = run(m, start, running.given, numbers=farther)
        cost += other[0].cost
        running, complete = other if other[1] and len(other[0].steps) > len(running.steps) else (running, complete)
    if not running.steps:
        return None, cost
    missed = running.slices.missed() if complete and not made_smaller else ()
    whole = running.slices.whole() if complete and not made_smaller else ()
    made = Replay(tuple(running.steps), complete, (), missed, whole=whole)
    for numbers in several_tiles(running) if running.cost <= _COSTLY else ():
        again, ended = run(m, start, running.given, numbers=numbers)
        cost += again.cost
        if again.rounds.tiles() <= 1:
            break  # nor has a block more of them where there are more blocks
        if ended:
            return replace(made, more=Replay(tuple(apart_from_ends(again.steps)), ended)), cost
    return made, cost


def _farther(running: Replaying) -> Numbers:
    """Numbers that loops with steps divide by so much that they have few passes at those of the run: more of them."""
    asked = running.rounds.names()
    divided = {v.name: by for v, by in running.rounds.divisors.items() if v.name in asked}
    return {name: by * _PASSES_OF_FEW for name, by in divided.items() if by * _FEW_PASSES > AT_LEAST}


@dataclass(slots=True)
class _Team:
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
    roles: dict[int, int | None] = field(default_factory=dict)  # the first run of the same role, by thread
    all_roles: bool = False
    cost: int = 0
    farther: Numbers = field(default_factory=dict)  # at which a thread comes round the stages that it did not
    in_vain: int = 0  # long runs that came to no end

    def run(self, m: Machine, start: Start, thread: int) -> Replaying:
        made = Replaying(
            m, False, thread, views=self.views, numbers={**start.numbers, **self.numbers}, remembers=self.remembers,
            endless=self.endless,
        )  # fmt: skip
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
        if thread not in self.roles or self.roles[thread] is None:
            alike = (
                i for i, f in enumerate(self.found)
                if (thread % _WARP == 0) == ((f.thread or 0) % _WARP == 0)
                and all(self._says(m, thread, e) == self._says(m, f.thread or 0, e) for e in f.asked)
            )  # fmt: skip
            self.roles[thread] = next(alike, None)
        return self.roles[thread]

    @property
    def idle(self) -> bool:
        """Whether all runs ended before any step, as of a block without work."""
        return all(self.ended) and not any(f.steps for f in self.found)

    def busy(self) -> int:
        """Roles that were run and do something, apart from waiting for all others."""
        return sum(any(_is_step(s) for s in f.steps) for f in self.found)

    def _says(self, m: Machine, thread: int, asked: Expr) -> int | None:
        if (thread, asked) not in self.known:
            self.known[thread, asked] = Replaying(m, thread=thread).number(asked)
        return self.known[thread, asked]

    def left(self, m: Machine) -> list[int]:
        """Threads whose role was not run: the first two of each warp come first."""
        left = [t for t in sorted(_OF_ROLES) if t < self.block and self.role(m, t) is None]
        return left or [t for t in range(self.block) if self.role(m, t) is None]

    def replay(self, m: Machine) -> Replay:
        threads = tuple(
            Thread(f.thread or 0, tuple(f.steps), complete, self._stands_for(m, f.thread or 0))
            for f, complete in zip(self.found, self.ended, strict=True)
        )
        seen = self.all_roles and all(f.sure for f in self.found) and self.block % _WARP == 0
        sure = seen and all(self.ended)
        names = {v.name for e in self.asked for v in e.variables() if v.name.startswith("threadIdx.")}
        counted = sure and names <= {"threadIdx.x"}
        pointed = tuple(sorted({b for f in self.found for b in f.pointed}))
        moved = tuple(sorted({b for f in self.found for b in f.moved}))
        return Replay((), False, threads, sure=sure, counted=counted, partial=not self.all_roles, seen=seen,
                      pointed=pointed, moved=moved)  # fmt: skip

    def _stands_for(self, m: Machine, thread: int) -> int:
        """How many threads of the block a thread stands for: those of its role, of a second one those of its warp."""
        kind = self.role(m, thread)
        alike = [t for t in range(self.block) if self.role(m, t) == kind]
        runs = [f.thread or 0 for f in self.found if self.role(m, f.thread or 0) == kind]
        own = [t for t in alike if t // _WARP == runs[-1] // _WARP] if len(runs) > 1 else []
        return len(own) if thread == runs[-1] and own else len(alike) - len(own)

    @property
    def agrees(self) -> bool:
        """Roles that read the same numbers are told the same by them: each of those that have steps asks for them."""
        stored = {b for f in self.found for b in f.memory.stored}
        read = {b for f in self.found for b in f.memory.read}
        return not stored & read and agree(f.rounds for f in self.found if any(_is_step(s) for s in f.steps))


def _is_step(step: Step) -> bool:
    return step.kind in ("barrier", "load", "copy", "gemm", "drain", "named")


def roles(m: Machine, start: Start, block: int) -> tuple[Replay, int]:
    """The runs of some threads, whether these are all that differ and what holds them back is known, and the cost.

    Of a persistent kernel at numbers at which a block has several tiles, if its roles then agree on them.
    """
    team = _Team(block)
    tried = _team(m, start, team, True) or []
    few = _few_passes(team) if not tried else {}
    if few:
        start = replace(start, numbers={**start.numbers, **few})
        team = _Team(block, cost=team.cost)
        tried = _team(m, start, team, True) or []
    for numbers in others(*team.found) if team.idle and not start.by_source else ():
        other = _Team(block, cost=team.cost)
        _team(m, replace(start, numbers=numbers), other)
        team.cost = other.cost
        if other.busy():
            start, team = replace(start, numbers=numbers), other
            break
    if team.farther:
        more = _Team(block, team.farther)
        _team(m, start, more)
        if all(more.ended) and more.all_roles and more.agrees:
            return more.replay(m), more.cost + team.cost
        team = replace(_Team(block), cost=team.cost + more.cost)
        tried = _team(m, start, team) or []
    divided = {n for f in team.found for n in shares(f.rounds.loops.values())}
    if divided and not start.by_source:
        few = _Team(block, dict.fromkeys(divided, _SHARES))
        _team(m, start, few)
        if all(few.ended) and few.all_roles and few.agrees:
            return few.replay(m), few.cost + team.cost
        team.cost += few.cost
    several, cost = _tiles(m, start, team, tried[:_MOST_TRIED] if start.by_source else tried)
    if several is not None:
        return several.replay(m), cost + team.cost
    if start.by_source and not all(team.ended):
        team = _cheaper(m, start, team)
        return team.replay(m), cost + team.cost
    if not team.all_roles:
        cost += team.cost
        team = _Team(block)
        _team(m, start, team)
    if any(f.memory.read for f in team.found) and not team.agrees:
        cost += team.cost
        team = _Team(block, remembers=False)
        _team(m, start, team)
    return team.replay(m), cost + team.cost


def _few_passes(team: _Team) -> Numbers:
    """Numbers at which the last run's loops have few passes, if it has left one that had too many."""
    left = team.found and not team.ended[-1] and team.found[-1].long
    return fewer_passes(team.found[-1]) if left else {}


def _cheaper(m: Machine, start: Start, team: _Team) -> _Team:
    """The runs at numbers at which loops have fewer passes, where one has come to its limit of steps; or these."""
    if not start.by_source or not team.found or team.ended[-1] or team.found[-1].cost < start.most:
        return team
    few = fewer_passes(team.found[-1], dear=True)
    other = _Team(team.block, team.numbers | few)
    if few:
        _team(m, start, other)
    team.cost += other.cost
    return replace(other, cost=team.cost) if other.found and all(other.ended) else team


def _tiles(m: Machine, start: Start, team: _Team, tried: list[Numbers]) -> tuple[_Team | None, int]:
    """The runs at numbers at which a block has several tiles, where they tell of all roles alike; and the cost."""
    divisors: dict[str, int] = {}
    cost = 0
    while tried and cost <= _MOST_OF_TRIES:
        some = _Team(team.block, tried.pop(0))
        running = some.run(m, start, team.found[-1].thread or 0)
        if few := _few_passes(some):
            some = _Team(team.block, some.numbers | few, cost=some.cost)
            running = some.run(m, start, team.found[-1].thread or 0)
        if some.ended == [True] and running.rounds.tiles() > 1:
            _team(m, start, some)
            some = _cheaper(m, start, some)
            apart = undivided(some.found)
            if some.agrees and not apart:
                return some, cost + some.cost
            tried = several_tiles(team.found[-1], apart) if some.agrees and not divisors else []
            divisors = apart
        elif running.rounds.tiles() <= 1:
            tried = []  # nor has a block more of them where there are more blocks
        cost += some.cost
    return None, cost


def _team(m: Machine, start: Start, team: _Team, asks: bool = False) -> list[Numbers] | None:
    """Run the threads. ``asks``: no more of them once they tell of numbers at which there are several tiles: these."""
    left = team.left(m)
    runs, busy = (_MOST_RUN, _MOST_ROLES) if start.by_source else (_MOST_RUN_OF_CPP, _MOST_OF_CPP)
    while left and len(team.found) < runs and team.busy() < busy and team.in_vain < _MOST_IN_VAIN:
        running = team.run(m, start, left[0])
        tried = several_tiles(running) if asks else []
        if tried:
            return tried
        team.farther = round_again(running) if asks and team.ended[-1] else {}
        if team.farther:
            return None
        if start.by_source and not team.ended[-1]:
            return None  # it is not judged then
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


def _pipelined(m: Machine, symbol: str) -> bool:
    """Whether the kernel reads, in a loop, shared memory that it fills in a loop."""
    met = m.recorder.reads.get(symbol)
    chunks = [c for c in m.recorder.calls.values() if c.kernel == symbol and c.loops and c.function == CHUNK]
    written: set[str | None] = set(met.refilled) if met is not None else set()
    read: set[str | None] = set(met.reread) if met is not None else set()
    for buffer, stored in ((_buffer(c), dict(c.keywords).get("asynchronous")) for c in chunks):
        (written if stored else read).add(buffer)
    read |= {_buffer(c) for c in m.recorder.calls.values() if c.kernel == symbol and c.loops and _is_read(c)}
    return bool((written & read) - {None})


def _crossing(m: Machine, symbol: str) -> bool:
    """Whether two tensors in shared memory of a kernel lie over parts of one another, and both go on elsewhere."""
    found: dict[str, set[tuple[int, int]]] = {}
    for event in (e for e in m.recorder.events.values() if e.kernel == symbol):
        for fact in (t for t in event.operands if t.space == "smem" and t.buffer and t.root_start_bits is not None):
            begin = known_value(fact.root_start_bits) if fact.root_start_bits is not None else None
            whole = whole_of(fact, begin) if begin is not None else (0, -1)
            if whole[0] < whole[1]:
                found.setdefault(fact.buffer or "", set()).add(whole)
    pairs = (pair for wholes in found.values() for pair in combinations(sorted(wholes), 2))
    return any(lo < low < hi < high for (lo, hi), (low, high) in pairs)


def _is_read(call: Call) -> bool:
    return call.function == "element" and isinstance(call.result, Unknown) and call.result.reason == ELEMENT_READ


def _buffer(chunk: Call) -> str | None:
    bytes_ = chunk.arguments[0]
    return bytes_.buffer if isinstance(bytes_, TensorFact) else None


def _stores_by_tma(m: Machine, symbol: str) -> bool:
    """Whether one thread has TMA store what the others may write, of a kernel without barriers in shared memory."""
    copies = [e for e in m.recorder.events.values() if e.kernel == symbol and e.kind == "copy" and len(e.operands) > 1]
    stored = any(by_hardware("copy", e.tiled, list(e.operands))[0] == "drain" for e in copies)
    return stored or (bool(copies) and _by_name(m, symbol, "bulk.store"))


def _by_name(m: Machine, symbol: str, function: str) -> bool:
    """Whether the kernel copies by instructions of TMA's own name, without tensors."""
    return any(c.kernel == symbol and c.function == function for c in m.recorder.calls.values())
