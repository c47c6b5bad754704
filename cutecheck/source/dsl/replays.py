"""Kernels of the DSL run once more, pass by pass: what is in which stage of shared memory when."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.facts.replayed import Place, Replay, Step
from cutecheck.model import algebra as alg
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.integers import INTEGERS, whole_domain_of
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.dsl import piping
from cutecheck.source.dsl.barriers import NAMED
from cutecheck.source.dsl.values import NONE, RunTimeRange
from cutecheck.source.eval import calls, ir
from cutecheck.source.eval.one_run import Start, apart
from cutecheck.source.eval.record.numbers import longer_loops, shorter_loop
from cutecheck.source.eval.record.past import GRID
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import Numbers
from cutecheck.source.eval.record.running import AT_LEAST, FEWER, PASSES, ReplayOver
from cutecheck.source.eval.reruns import roles
from cutecheck.source.eval.scope import Entry, Env
from cutecheck.source.eval.statements.loop_text import advances
from cutecheck.source.eval.values import BudgetExceeded, Object, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_STEPS = 60_000  # of the evaluation, a kernel that is run pass by pass
_WARP = 32
_STEPS_OF_ROLE = 100_000  # of one thread of it
_MOST = 4  # configurations of one kernel that are
_MOST_SHORTENED = 2  # runs for loops that other numbers alone say the passes of
_ENOUGH = 100_000  # steps of these together, after which no other is
_ENOUGH_OF_OTHERS = 300_000  # ... but one of another class, or with another number of threads: its roles are others
_MOST_ADVANCED = 8  # stages that a thread leaves to others
_LABELS = {"==": "eq", "<": "lt", "<=": "le"}
_COMPARE = {"==": operator.eq, "<": operator.lt, "<=": operator.le}


def replay(
    m: Machine, entry: Entry, decl: ir.Function, args: list[Value], kwargs: dict[str, Value], symbol: str, span: Span
) -> None:
    """Run a kernel again, where it reads what it copies to shared memory: on the way that all threads go.

    One whose threads tell each other by barriers in memory is run thread by thread, one of each role.
    """
    if m.recorder.rehearsal or m.recorder.open:
        return
    walked, used = m.history.replayed.get(id(decl), (0, 0))
    enough = _ENOUGH if _way(m, args, symbol) in m.history.ways.setdefault(id(decl), set()) else _ENOUGH_OF_OTHERS
    if walked >= _MOST or used > enough:
        return
    m.history.ways[id(decl)].add(_way(m, args, symbol))
    if _by_barriers(m, symbol):
        _by_roles(
            m, Start(entry, decl, Env(entry.env, "template"), None, args, span, kwargs, _STEPS_OF_ROLE, True), symbol
        )
        return
    if not _copies_and_reads(m, symbol):
        return
    running, complete = _run(m, entry, decl, args, kwargs, span, AT_LEAST)
    if running.long and not complete:
        fewer = _run(m, entry, decl, args, kwargs, span, FEWER)
        running, complete = fewer if fewer[1] or len(fewer[0].steps) > len(running.steps) else (running, complete)
    cost, few = running.cost, running.shorter
    for _ in range(_MOST_SHORTENED if few and not complete else 0):
        shorter, complete = _run(m, entry, decl, args, kwargs, span, AT_LEAST, few)
        cost += shorter.cost
        running = shorter if complete or len(shorter.steps) > len(running.steps) else running
        if complete or not shorter.shorter:
            break
        few = {**few, **shorter.shorter}
    more = longer_loops(running) if complete and not few else {}
    if more:
        longer, ended = _run(m, entry, decl, args, kwargs, span, running.least, more)
        cost += longer.cost
        running = longer if ended and len(longer.steps) > len(running.steps) else running
    m.history.replayed[id(decl)] = walked + 1, used + cost
    if running.steps:
        missed, whole = (running.slices.missed(), running.slices.whole()) if complete else ((), ())
        scanned = m.dialect.library.scanned  # type: ignore[attr-defined]
        unset = m.recorder.set_later(symbol, (s for s in running.never_set() if scanned(s.span.path)))
        m.recorder.replayed(
            Replay(tuple(running.steps), complete, (), missed, tiles=unset, whole=whole), symbol, decl.span
        )


def _way(m: Machine, args: list[Value], symbol: str) -> tuple[int, object, frozenset[tuple[object, ...]]]:
    """The class that a kernel is run as, the threads of a block, and what is left out of what it is given: with a
    tensor more there may be a role more."""
    own = args[0] if args else None
    left_out = frozenset(_left_out(args))
    return m.recorder.threads_of(symbol), own.cls.name if isinstance(own, Object) else None, left_out


def _left_out(values: Iterable[Value], at: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Where ``None`` stands: among the arguments, and in objects that these are."""
    for i, v in enumerate(values):
        if v is NONE or v is None:
            yield (*at, i)
        elif not at and isinstance(v, (Object, tuple)):
            yield from _left_out(v if isinstance(v, tuple) else v.fields.values(), (i,))


def _by_roles(m: Machine, start: Start, symbol: str) -> None:
    """Run some threads of a block, of which it is known how many it has, in one row."""
    threads, dims = m.recorder.threads_of(symbol), m.recorder.shape_of(symbol)
    if threads < _WARP or dims[1:] not in ((), (1, 1)):
        return
    piping.prepare(m)
    walked, used = m.history.replayed.get(id(start.fn), (0, 0))
    made, cost = roles(m, start, threads)
    m.history.replayed[id(start.fn)] = walked + 1, used + cost
    if made.sure:  # all threads came to the end, and nothing that may hold them back is unknown
        files = {s.span.path for t in made.threads for s in t.steps}
        scanned = m.dialect.library.scanned  # type: ignore[attr-defined]
        unset = m.recorder.set_later(symbol, (s for s in made.tiles if scanned(s.span.path)), True)
        made = replace(made, files=frozenset(filter(scanned, files)), tiles=unset)
        m.recorder.replayed(made, symbol, start.fn.span)


def _by_barriers(m: Machine, symbol: str) -> bool:
    """Barriers in memory tell who waits for what."""
    subjects = (c.subject for c in m.recorder.calls.values() if c.kernel == symbol)
    return any(s and not s.endswith(f"|{NAMED}") for s in subjects)


def _copies_and_reads(m: Machine, symbol: str) -> bool:
    """Shared memory is copied to and read."""
    found = [e for e in m.recorder.events.values() if e.kernel == symbol]
    written = {e.operands[1].buffer for e in found if e.kind == "copy" and e.operands[1:]}
    read = {t.buffer for e in found for t in (e.operands[:1] if e.kind == "copy" else e.operands) if t.space == "smem"}
    values = m.recorder.reads[symbol].values if symbol in m.recorder.reads else set()
    return bool((written & (read | values)) - {None})


def _run(
    m: Machine,
    entry: Entry,
    decl: ir.Function,
    args: list[Value],
    kwargs: dict[str, Value],
    span: Span,
    least: int,
    numbers: Numbers | None = None,
) -> tuple[Replaying, bool]:
    recorder, complete = m.recorder, True
    running = Replaying(m, least=least, numbers=numbers)
    running.of_elements = True
    running.slices.given([*args, *kwargs.values()])
    running.memory.of = frozenset(p.name for p in decl.params)
    cut, used = dict(recorder.cut), m.budget.used
    kept = m.breaks, m.continues, m.attempts, m.loop
    try:
        with recorder.rehearsing(), apart(m), m.budget.aside(), m.budget.at_most(_STEPS):
            m.attempts = None  # what a run may raise is no way out of a `try` around the launch: its walk was
            recorder.replaying = m.dialect.replaying = running
            env = Env(Env(entry.env, "template"), "function")
            calls.run_function(m, entry, decl, env, list(args), dict(kwargs), span)
    except (ReplayOver, BudgetExceeded):
        complete = False
    finally:
        recorder.replaying = m.dialect.replaying = None
        m.breaks, m.continues, m.attempts, m.loop = kept
        recorder.cut = cut
        running.cost = m.budget.rewind(used)
    return running, complete


def items(m: Machine, loop: RunTimeRange, node: ir.Loop) -> list[Value] | None:
    """The numbers of a loop's passes, in the run of a kernel; None outside of one, and where threads differ in them."""
    run = m.recorder.acts()
    if run is not None and run.thread is not None and advances(node):
        return _advances(run, loop)
    if run is None or id(node) not in m.recorder.eventful:
        return None
    limits = [_number(run, x) for x in (loop.start, loop.stop, loop.step)]
    if None in limits or limits[2] == 0:
        return None
    passes = range(*limits)  # type: ignore[arg-type]
    start, stop, step = (as_expr(x) for x in (loop.start, loop.stop, loop.step))
    # one that goes on by the size of the grid asks before each pass, as its text in C++ would
    times = len(passes) + 1 if any(v.name.startswith(GRID) for v in step.variables()) else 1
    begins = [ex.add(start, ex.mul(step, ex.const(n))) for n in range(min(times, PASSES))]
    asked = [ex.op("opaque", begin, stop, label="lt") for begin in begins]
    if len(passes) > PASSES:
        run.long = True
        run.shorter = shorter_loop(run, start, stop, len(passes))
        run.rounds.counted(id(node), *asked)
        run.rounds.too_long(id(node))
        run.end()
    for x in (loop.start, loop.stop):
        run.slices.decide(as_expr(x))
    run.rounds.counted(id(node), *asked)
    return list(passes)


def _advances(run: Replaying, loop: RunTimeRange) -> list[Value] | None:
    """The few passes in which a thread moves states on to its own stages: other threads may have others."""
    start, stop, step = (run.whole(x) for x in (loop.start, loop.stop, loop.step))
    if start is None or stop is None or not step:
        return None
    passes = range(start, stop, step)
    return list(passes) if len(passes) <= _MOST_ADVANCED else None


def compared(run: Replaying, op: str, a: Value, b: Value) -> bool | None:
    """A comparison of run-time numbers, at those of a run; None where threads may answer differently."""
    left, right = _number(run, a), _number(run, b)
    if left is None or right is None:
        return None
    for x in (a, b):
        run.slices.decide(as_expr(x))
    run.rounds.compared(ex.op("opaque", as_expr(a), as_expr(b), label=_LABELS[op]))
    return bool(_COMPARE[op](left, right))


def written(m: Machine, t: Value, span: Span) -> None:
    """Registers get values that are computed, or shared memory does, which is then more than what is copied there."""
    run, recorder = m.recorder.acts(), m.recorder
    if run is None or recorder.frame is None or not isinstance(t, TensorVal):
        return
    if t.pointer is not None and t.space == "rmem":
        at = Place(t.name, span, "rmem", t.pointer.buffer, 0)
        run.add(Step("fill", span, recorder.frame.symbol, "fill", None, (at,)))
    elif t.pointer is not None and t.space == "smem" and run.thread is None:
        place = run.place(recorder.tensor_fact(t, span))
        at = place or Place(t.name, span, "smem", t.pointer.buffer, 0, bits=(0, -1))
        run.add(Step("cleared", span, recorder.frame.symbol, "fill", None, (at,)))


def loaded(m: Machine, t: TensorVal, coord: Any) -> Value:
    """The number that lies there in global memory, one for all roles of a run; None where it is not told apart."""
    run = m.recorder.acts()
    if run is None or t.space != "gmem" or t.pointer is None or t.dtype is None or t.dtype.name not in INTEGERS:
        return None
    at = None if isinstance(t.layout, Unknown) else alg.apply_layout(t.layout, coord)
    if not isinstance(at, (int, Dyn)) or not isinstance(t.offset, (int, Dyn)):
        return None
    where = as_expr(t.offset + at)
    name = run.loaded(t.pointer.buffer, where) if _alike(where) else None
    return None if name is None else Dyn.named(name, whole_domain_of(t.dtype.name))


def _number(run: Replaying, value: Value) -> int | None:
    if type(value) is int:
        return value
    return run.number(value.expr) if isinstance(value, (Dyn, Sym)) and _alike(value.expr) else None


def _alike(e: Expr) -> bool:
    return not any(v.name.startswith("threadIdx.") or PER_THREAD in v.name for v in e.variables())
