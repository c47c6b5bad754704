"""One run of a kernel, pass by pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cutecheck.facts import Span
from cutecheck.source.eval import ir
from cutecheck.source.eval.calls import run_function
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.record.loaded import members
from cutecheck.source.eval.record.pointers import pointers
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import MEMORY, Numbers
from cutecheck.source.eval.record.running import ReplayOver
from cutecheck.source.eval.scope import Entry, Env
from cutecheck.source.eval.values import BudgetExceeded, Object, Value

MOST_STEPS = 200_000  # of a kernel that is run pass by pass
_MOST_WITHOUT = 4  # numbers that are 0 in place of others, one at a time, where a block has no work
_FEW_ITEMS = 1  # of a work that a block is told its part of


@dataclass(frozen=True, slots=True)
class Start:
    """What is run: a kernel, with what it is given and named arguments, the variables around it, and its launch."""

    entry: Entry
    fn: ir.Function
    env: Env
    self_: Object | None
    args: list[Value]
    span: Span
    named: dict[str, Value] = field(default_factory=dict)
    most: int = MOST_STEPS  # steps of one run
    by_source: bool = False  # a kernel of the Python DSL
    numbers: Numbers = field(default_factory=dict)  # run-time numbers of all runs that have no others for them
    zeros: bool = True  # see Running


def run(
    m: Machine,
    start: Start,
    given: bool,
    numbers: Numbers | None = None,
    made: Replaying | None = None,
    most: int = 0,
) -> tuple[Replaying, bool]:
    """A kernel's run pass by pass (``made``: this one), of so many steps, and whether it came to the kernel's end."""
    recorder, complete = m.recorder, True
    running = made if made is not None else Replaying(m, given, numbers=numbers)
    running.by_source = start.by_source
    if start.by_source:
        running.slices.given(start.args)
    led_to = {p.buffer.partition(".")[0] for p in pointers(start.args) if p.space not in ("smem", "rmem")}
    running.memory.of = frozenset({*(p.name for p in start.fn.params), *led_to})
    cut, used = dict(recorder.cut), m.budget.used
    kept = m.breaks, m.continues, m.attempts, m.loop, m.temporaries, m.lingering
    try:
        with recorder.rehearsing(), apart(m), m.budget.aside(), m.budget.at_most(most or start.most):
            m.attempts = None  # what a run may raise is no way out of a `try` around the launch: its walk was
            recorder.replaying = m.dialect.replaying = running
            env = Env(start.env, "function", self_=start.self_)
            run_function(m, start.entry, start.fn, env, list(start.args), dict(start.named), start.span)
    except (ReplayOver, BudgetExceeded):  # what the root has left is for its walk
        complete = False
    finally:
        recorder.replaying = m.dialect.replaying = None
        m.breaks, m.continues, m.attempts, m.loop, m.temporaries, m.lingering = kept
        recorder.cut = cut
        running.cost = m.budget.rewind(used)
    return running, complete


@contextmanager
def apart(m: Machine) -> Iterator[None]:
    """A kernel gets copies: it writes no variable of its host, nor need what it writes be kept after it."""
    host = m.addressed, m.pointed, m.leaked, m.callable
    m.addressed, m.pointed, m.leaked, m.callable = {}, {}, {}, {}
    try:
        with m.journal.forgetting():
            yield
    finally:
        m.addressed, m.pointed, m.leaked, m.callable = host


def others(*runs: Replaying) -> list[Numbers]:
    """Numbers at which a block may have work that had none in these runs, the likeliest first.

    A block may be told by memory what its part of the work is: from which item to which, and where it begins in it.
    Then the first item is 0, and all else that the object, or the numbers beside it, say is few.
    """
    asked = {name for r in runs for name in r.made_by_host}
    every = sorted((n for n in asked if not n.startswith(MEMORY)), key=lambda n: ("." not in n, n))
    told = sorted(asked.difference(every))[:_MOST_WITHOUT]
    names = every[:_MOST_WITHOUT]
    parts = [{members(n): _FEW_ITEMS, n: 0} for n in names if "." in n]
    of_object = {n: {members(n): _FEW_ITEMS} for n in told if "]." in n}
    beside = [{n.partition("[")[0]: _FEW_ITEMS, **of_object.get(n, {}), n: 0} for n in told]
    return [*parts, *beside, *([dict.fromkeys(every, 1)] if every else []), *({n: 0} for n in names)]
