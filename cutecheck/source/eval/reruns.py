"""Kernels run once more, pass by pass: the runs of a kernel, of one path for all threads or one of each role."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from cutecheck.facts import ELEMENT_READ, Call, Span, TensorFact, Unknown
from cutecheck.facts.core import CHUNK
from cutecheck.facts.replayed import Replay
from cutecheck.model.ints import known_value
from cutecheck.source.eval.alike import kind_of
from cutecheck.source.eval.launches import MOST_REPLAYED, REPLAYED, key_of
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.one_run import MOST_STEPS, Start, others, run
from cutecheck.source.eval.overloads import Candidate
from cutecheck.source.eval.record.given import apart_from_ends, with_fewer, with_flags
from cutecheck.source.eval.record.numbers import more_passes, several_tiles, undivided, with_grid
from cutecheck.source.eval.record.regions import by_hardware, whole_of
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import Numbers, shares
from cutecheck.source.eval.record.running import AT_LEAST, FEWER, MORE_PASSES
from cutecheck.source.eval.record.unwritten import Unwritten
from cutecheck.source.eval.specialised import arguments
from cutecheck.source.eval.teams import Team, cheaper, few_passes, run_team, waits
from cutecheck.source.eval.tile_runs import with_tiles
from cutecheck.source.eval.values import Object, Value

_MOST_FOR_TILES = 3  # that are run for what they take and leave
_COSTLY = 60_000  # of a run, from which on it is not run for several tiles as well
_MOST_FEWER = 32_000  # of one at fewer tiles, of which more passes of a loop are run
_SHARES = 2  # of a work that blocks share: as many as it has tiles, each has one, whose next tile nobody sees
_FEW_SHARES = (_SHARES, 1)  # where threads go one way; a block that has all of it need not wait for another
_FEW_PASSES, _PASSES_OF_FEW = 4, 6  # of loops: too few to come round the stages, and enough
_MOST_OF_TRIES = 200_000  # steps of runs at numbers at which a block has several tiles; then no others are tried
_MOST_SHORTENED = 2  # numbers at which long loops have few passes
_MOST_TRIED = 3  # numbers at which a kernel of the Python DSL may have several tiles


def replay(m: Machine, best: Candidate, self_: Object | None, args: list[Value], symbol: str, span: Span) -> None:
    """Run a kernel once more, pass by pass, where it copies in loops: what is in which stage when."""
    recorder, limits = m.recorder, m.budget.limits
    told = any(c.kernel == symbol and c.subject for c in recorder.calls.values())
    by_name = _by_name(m, symbol, "mbarrier.load") or _by_name(m, symbol, CHUNK)
    copies = by_name or any(e.kernel == symbol for e in recorder.events.values())
    if not m.dialect.by_value or limits.many or not copies or not _is_reported(m, symbol):
        return
    if (limits.shared or limits.twins) and not _is_asked(m, best, self_, symbol):
        return  # of many instantiations one stands for the others
    walked, steps = m.history.replayed.get(id(best.fn), (0, 0))
    if walked >= MOST_REPLAYED or steps > MOST_STEPS:
        return
    args = [with_flags(m, a, p.name) for a, p in zip(args, best.fn.params, strict=False)]
    start = Start(best.entry, best.fn, best.env, self_, args, span)
    made: Replay | None = None
    reads: Unwritten | None = None
    cost = 0
    if told:
        recorder.weighed = False
        made, cost = roles(m, replace(start, zeros=False), recorder.threads_of(symbol))
        if recorder.weighed and not made.sure:  # without what is scaled more may be known
            made, more = roles(m, start, recorder.threads_of(symbol))
            cost += more
    else:
        if _pipelined(m, symbol) or _crossing(m, symbol):
            made, cost, reads = _one_path(m, start)
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
        if reads is not None and made is not None:
            made = replace(made, tiles=reads.all())
        else:
            made, more = with_tiles(m, start, made)
            cost += more
    m.history.replayed[id(best.fn)] = walked + 1, steps + cost
    if made is not None:
        recorder.replayed(made, symbol, best.fn.span)


def _is_asked(m: Machine, best: Candidate, self_: Object | None, symbol: str) -> bool:
    """Whether this instantiation is to be run. Where some files stand for many the first ones are all of one kind: of
    each kind one is."""
    key = key_of(best.fn)
    if m.budget.limits.by_kind:
        symbol = kind_of(m, key, (*arguments(m, best.fn, best.env), *(() if self_ is None else (self_,))))
    return m.history.launches.ask(f"{REPLAYED}{key}", "", symbol) == "walk"


def _is_reported(m: Machine, symbol: str) -> bool:
    """Whether any function of the kernel stands in a file that is reported on: of others nothing of a run is shown.

    Kernels that are made of CUTLASS's own collectives take as long to run as to walk.
    """
    entered, asked = m.recorder.reads[symbol].entered.values(), m.recorder.asked
    return not entered or not asked or any(fn.full_span.path in asked for fn in entered)


def _one_path(m: Machine, start: Start) -> tuple[Replay | None, int, Unwritten | None]:
    """The run of a kernel whose threads go the same way, and the cost; nothing where it has no steps.

    With what it reads that nothing wrote, where all of it is known.
    """
    running, complete = _path(m, start, False)
    cost = running.cost
    made_smaller = False
    numbers: Numbers | None = None
    if complete and not running.steps and running.made_by_host:  # the block has no part of a work that others share
        for tried in others(running):
            other = _path(m, start, False, tried)
            cost += other[0].cost
            if other[0].steps:
                (running, complete), numbers = other, tried
                break
    for many in _FEW_SHARES if numbers is None else ():
        divided = dict.fromkeys(shares(running.rounds.loops.values()), many)
        if not divided or (complete and many == 1):
            break
        other = _path(m, start, False, divided)
        cost += other[0].cost
        if (other[1], len(other[0].steps)) > (complete, len(running.steps)):
            (running, complete), numbers = other, divided
    if running.chose and not complete:
        other = _path(m, start, True, numbers)
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
        other = _path(m, start, running.given, farther)
        cost += other[0].cost
        running, complete = other if other[1] and len(other[0].steps) > len(running.steps) else (running, complete)
    if not running.steps:
        return None, cost, None
    missed = running.slices.missed() if complete and not made_smaller else ()
    whole = running.slices.whole() if complete and not made_smaller else ()
    made = Replay(tuple(running.steps), complete, (), missed, whole=whole)
    reads = running.unwritten if complete and running.unwritten is not None and running.unwritten.known else None
    for numbers in several_tiles(running) if running.cost <= _COSTLY else ():
        again, ended = run(m, start, running.given, numbers=numbers)
        cost += again.cost
        if again.rounds.tiles() <= 1:
            break  # nor has a block more of them where there are more blocks
        if ended:
            return replace(made, more=Replay(tuple(apart_from_ends(again.steps)), ended)), cost, reads
    return made, cost, reads


def _path(m: Machine, start: Start, given: bool, numbers: Numbers | None = None) -> tuple[Replaying, bool]:
    """A run of all threads that keeps what it reads and nothing wrote."""
    running = Replaying(m, given, numbers=numbers)
    running.unwritten = Unwritten(running)
    return run(m, start, given, made=running)


def _farther(running: Replaying) -> Numbers:
    """Numbers that loops with steps divide by so much that they have few passes at those of the run: more of them."""
    asked = running.rounds.names()
    divided = {v.name: by for v, by in running.rounds.divisors.items() if v.name in asked}
    return {name: by * _PASSES_OF_FEW for name, by in divided.items() if by * _FEW_PASSES > AT_LEAST}


def roles(m: Machine, start: Start, block: int) -> tuple[Replay, int]:
    """The runs of some threads, whether these are all that differ and what holds them back is known, and the cost.

    Of a persistent kernel at numbers at which a block has several tiles, if its roles then agree on them.
    """
    team = Team(block)
    tried = run_team(m, start, team, True) or []
    if not tried and start.by_source:  # of C++ what a run has done until then is judged, too
        start, team, tried = _shorter(m, start, team)
    for numbers in others(*team.found) if team.idle and not start.by_source else ():
        other = Team(block, cost=team.cost)
        run_team(m, replace(start, numbers=numbers), other)
        team.cost = other.cost
        if other.busy():
            start, team = replace(start, numbers=numbers), other
            break
    farther = _longer(m, start, team, team.found[-1], team.farther) if team.farther else None
    if farther is not None:
        return farther.replay(m), farther.cost + team.cost
    if team.farther:
        team.farther = []
        tried = run_team(m, start, team) or []
    divided = {n for f in team.found for n in shares(f.rounds.loops.values())}
    if divided and not start.by_source:
        few = Team(block, dict.fromkeys(divided, _SHARES))
        run_team(m, start, few)
        if all(few.ended) and few.all_roles and few.agrees:
            # what divides may be no number of blocks but of heads, and a pass or two is all there is at it
            waiting = next((f for f in few.found if waits(f)), None)
            farther = _longer(m, start, few, waiting, more_passes(waiting)) if waiting is not None else None
            team.cost += few.cost
            return (few.replay(m), team.cost) if farther is None else (farther.replay(m), farther.cost + team.cost)
        team.cost += few.cost
    several, cost = _tiles(m, start, team, tried[:_MOST_TRIED] if start.by_source else tried)
    if several is not None:
        return several.replay(m), cost + team.cost
    if start.by_source and not all(team.ended):
        team = cheaper(m, start, team)
        return team.replay(m), cost + team.cost
    if not team.all_roles:
        cost += team.cost
        team = Team(block)
        run_team(m, start, team)
    if any(f.memory.read for f in team.found) and not team.agrees:
        cost += team.cost
        team = Team(block, remembers=False)
        run_team(m, start, team)
    return team.replay(m), cost + team.cost


def _longer(m: Machine, start: Start, team: Team, run: Replaying, tried: list[Numbers]) -> Team | None:
    """The runs at some of these numbers, at which a thread has more steps than in this run; None where not all is
    known then. What the others cost is the team's."""
    for numbers in tried:
        more = Team(team.block, team.numbers | numbers)
        if len(more.run(m, start, run.thread or 0).steps) > len(run.steps):
            run_team(m, start, more)
            apart = undivided(more.found).keys() - team.numbers.keys()
            if all(more.ended) and more.all_roles and more.agrees and more.busy() and not apart:
                return more
        team.cost += more.cost
    return None


def _shorter(m: Machine, start: Start, long: Team) -> tuple[Start, Team, list[Numbers]]:
    """The runs at numbers at which loops have few passes that had too many, multiples of what any role divides them by;
    these runs where there are no such numbers."""
    few, cost = few_passes(long), long.cost
    for _ in range(_MOST_SHORTENED if few else 0):
        other = replace(start, numbers={**start.numbers, **few})
        team = Team(long.block, cost=cost)
        tried = run_team(m, other, team, True) or []
        apart, cost = undivided(team.found), team.cost
        if not apart:
            return other, team, tried
        few = few_passes(long, apart)
    long.cost = cost
    return start, long, []


def _tiles(m: Machine, start: Start, team: Team, tried: list[Numbers]) -> tuple[Team | None, int]:
    """The runs at numbers at which a block has several tiles, where they tell of all roles alike; and the cost."""
    divisors: dict[str, int] = {}
    cost = 0
    while tried and cost <= _MOST_OF_TRIES:
        some = Team(team.block, tried.pop(0))
        running = some.run(m, start, team.found[-1].thread or 0)
        if start.by_source and (few := few_passes(some)):
            some = Team(team.block, some.numbers | few, cost=some.cost)
            running = some.run(m, start, team.found[-1].thread or 0)
        if not divisors and some.ended == [True] and (divisors := undivided(some.found)):
            tried = several_tiles(team.found[-1], divisors)  # the runs of the others would not be told alike, either
        elif some.ended == [True] and running.rounds.tiles() > 1:
            run_team(m, start, some)
            some = cheaper(m, start, some)
            apart = undivided(some.found)
            if some.agrees and not apart:
                return some, cost + some.cost
            tried = several_tiles(team.found[-1], apart) if some.agrees and not divisors else []
            divisors = apart
        elif running.rounds.tiles() <= 1:  # nor has a block more of them where there are more blocks
            tried = with_grid(tried, some.numbers, narrower=True)
        else:
            tried = with_grid(tried, some.numbers, narrower=False)
        cost += some.cost
    return None, cost


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
