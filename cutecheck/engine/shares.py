"""Rules side by side: facts are shared out among processes, and what rules find is put together in one order.

Facts of one function and architecture are one task, so that no obligation is noted in two; who is idle takes the next.
What depends on all that was found before (the layouts that are sought in a run) is left to the parent, which goes
through the results in the order in which one process would have made them.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import struct
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cutecheck import timing
from cutecheck.facts import Facts, SourceError, Span
from cutecheck.findings import Finding
from cutecheck.model.ints import NotModelledError, UndecidedError
from cutecheck.model.prove.obligation import Obligation, Outcome
from cutecheck.progress import progress
from cutecheck.records import record
from cutecheck.rules import Context, Rule, supposed
from cutecheck.rules.base import LeftToParentError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_FINE, _MOST = 64, 4_000  # tasks for each process, if all are of one size, and in all: a pipe holds their numbers
WORTH = 2_000  # facts for which another process is worth its start
_GROUPS: dict[str, Callable[[Any], str]] = {  # facts that rules look at, and the function each belongs to
    "site": lambda site: site.symbol,
    "event": lambda event: event.enclosing,
    "buffer": lambda buffer: buffer.enclosing,
    "launch": lambda launch: launch.kernel,
    "call": lambda call: call.enclosing,
    "lint": lambda lint: "",
}
_NUMBER = re.compile(r"\b\d+\b")  # of a template's arguments
Crash = Callable[[str, Exception, Span], SourceError]
_Place = tuple[int, int]  # a block, and the position of a fact in it


@record(frozen=True, slots=True)
class Block:
    """A hook of one rule, and the facts that it is called with."""

    rule: str
    kind: str
    hook: Callable[[Any, Context], Iterable[Finding]]
    facts: Sequence[Any]


@dataclass(slots=True)
class Found:
    """What a hook said of one fact: findings, or the line for its crash, and the outcomes in the order it noted them.

    ``left``: the parent is to ask again.
    """

    findings: list[Finding] = field(default_factory=list)
    failure: SourceError | None = None
    noted: list[tuple[Obligation, Outcome]] = field(default_factory=list)
    left: bool = False


@dataclass(slots=True)
class Task:
    """Facts that one process looks at, one after the other: their positions, by kind."""

    facts: dict[str, list[int]] = field(default_factory=dict)
    weight: int = 0

    def add(self, kind: str, position: int, weight: int) -> None:
        self.facts.setdefault(kind, []).append(position)
        self.weight += weight

    def take(self, other: Task) -> None:
        """The other's facts, too, in the order in which one process would look at them."""
        for kind, positions in other.facts.items():
            self.facts[kind] = sorted((*self.facts.get(kind, ()), *positions))
        self.weight += other.weight


def blocks(rules: Iterable[type[Rule]], facts: Facts) -> list[Block]:
    """Every hook that the rules have, in the order in which they run."""
    found = []
    for rule in rules:
        instance = rule()
        for kind in _GROUPS:
            name = f"on_{kind}"
            if getattr(rule, name) is not getattr(Rule, name):
                found.append(Block(f"{rule.code} {rule.name}", kind, getattr(instance, name), getattr(facts, f"{kind}s")
                                   if kind != "launch" else facts.launches))  # fmt: skip
    return found


def run(work: Sequence[Block], context: Context, processes: int, crash: Crash) -> Generator[Found, None, None]:
    """What the hooks say, in order. ``context`` ends as if all had run here, one after the other."""
    tasks = _tasks(work, processes) if processes > 1 and hasattr(os, "fork") else []
    count = min(processes, len(tasks))
    total = sum(len(block.facts) for block in work)
    results: dict[_Place, Found] = {}
    owner: dict[str, dict[int, int]] = {}
    done: set[int] = set()
    children: list[tuple[Connection, int]] = []
    queue = None
    try:
        if count > 1:
            _ = context.index, len(context.answers)  # made once, for all
            for t, task in enumerate(tasks):
                for kind, positions in task.facts.items():
                    owner.setdefault(kind, {}).update(dict.fromkeys(positions, t))
            queue = _queue(len(tasks))
            children = [_start(work, tasks, queue, context, crash) for _ in range(1, count)]
            with progress("checking", total // count) as step:
                for t in _taken(queue):
                    results.update(_share(work, tasks[t], context, crash, step))
                    done.add(t)
            for pipe, _ in children:
                done |= _receive(pipe, context, results)
            context.outcomes.clear()
        with progress("checking", total if count <= 1 else 0) as step:
            for b, block in enumerate(work):
                own = owner.get(block.kind, {})
                for i, fact in enumerate(block.facts):
                    found = results.pop((b, i), None)
                    if own.get(i) not in done or (found is not None and found.left):
                        yield _one(block, fact, context, crash)
                    elif found is not None:
                        context.outcomes.update(found.noted)
                        yield found
                    step()
    finally:
        for pipe, child in children:
            pipe.close()
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        if queue is not None:
            os.close(queue)


def _tasks(work: Sequence[Block], processes: int) -> list[Task]:
    """The facts by function, those of a template's instantiations together (they ask equal questions), largest first.

    Templates with more than a fair part of the facts are taken apart, those that differ in types and flags alone last:
    these change few questions. Functions with few facts are put together.
    """
    kinds = {block.kind: block.facts for block in work}
    rules = {kind: sum(block.kind == kind for block in work) * (10 if kind == "event" else 1) for kind in kinds}
    functions: dict[tuple[str, str], Task] = {}
    for kind, facts in kinds.items():
        for i, fact in enumerate(facts):
            key = (_GROUPS[kind](fact), getattr(fact, "arch", ""))
            functions.setdefault(key, Task()).add(kind, i, rules[kind])
    fair = sum(task.weight for task in functions.values()) / processes
    tasks: list[Task] = []
    for own in _together(functions, lambda function: function.split("<", 1)[0]):
        whole = _whole(own.values())
        if whole.weight <= fair:
            tasks.append(whole)
            continue
        for alike in _together(own, lambda function: tuple(_NUMBER.findall(function))):
            whole = _whole(alike.values())
            tasks += [whole] if whole.weight <= fair else alike.values()
    tasks.sort(key=lambda task: -task.weight)
    packed: list[Task] = []
    for task in tasks:
        if packed and packed[-1].weight < fair * processes / min(_FINE * processes, _MOST):
            packed[-1].take(task)
        else:
            packed.append(task)
    return packed


def _together(
    functions: Mapping[tuple[str, str], Task], kind: Callable[[str], object]
) -> Iterable[dict[tuple[str, str], Task]]:
    """The tasks of functions, those of a kind together."""
    found: dict[object, dict[tuple[str, str], Task]] = {}
    for key, task in functions.items():
        found.setdefault(kind(key[0]), {})[key] = task
    return found.values()


def _whole(tasks: Iterable[Task]) -> Task:
    whole = Task()
    for task in tasks:
        whole.take(task)
    return whole


def _queue(count: int) -> int:
    """A pipe from which processes take the numbers of tasks, each once, until there are no more."""
    taking, giving = os.pipe()
    os.write(giving, struct.pack(f"={count}I", *range(count)))
    os.close(giving)
    return taking


def _taken(queue: int) -> Iterator[int]:
    while number := os.read(queue, 4):
        yield struct.unpack("=I", number)[0]


def _one(block: Block, fact: Any, context: Context, crash: Crash) -> Found:
    began = time.perf_counter()
    findings: list[Finding] = []
    try:
        findings.extend(block.hook(fact, context))  # what was found before an error stays
        return Found(supposed.told(findings, fact))
    except LeftToParentError:
        return Found(left=True)
    except (UndecidedError, NotModelledError) as error:  # a question that open parameters leave open is no crash
        context.open(block.rule, block.kind, fact, str(error))
        return Found(supposed.told(findings, fact))
    except Exception as error:
        return Found(failure=crash(block.rule, error, fact.span))
    finally:
        timing.spent(block.rule, time.perf_counter() - began)


def _share(
    work: Sequence[Block], task: Task, context: Context, crash: Crash, step: Callable[[], None] = lambda: None
) -> Iterator[tuple[_Place, Found]]:
    """What the hooks say of the facts of one task; where they say and note nothing, nothing."""
    noted = context.journal = []
    try:
        for b, block in enumerate(work):
            for i in task.facts.get(block.kind, ()):
                found = _one(block, block.facts[i], context, crash)
                found.noted = list(noted)
                noted.clear()
                step()
                if found.findings or found.failure is not None or found.noted or found.left:
                    yield (b, i), found
    finally:
        context.journal = None


def _start(
    work: Sequence[Block], tasks: Sequence[Task], queue: int, context: Context, crash: Crash
) -> tuple[Connection, int]:
    """A child that takes tasks and sends which, what it found, what it proved, and the time of each rule."""
    import multiprocessing

    ours, theirs = multiprocessing.get_context("fork").Pipe(duplex=False)
    child = os.fork()
    if child:
        theirs.close()
        return ours, child
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and ends us
        ours.close()
        timing.restart()
        known = set(context.answers)
        found: dict[_Place, Found] = {}
        done = set()
        for t in _taken(queue):
            found.update(_share(work, tasks[t], context, crash))
            done.add(t)
        proved = {key: answer for key, answer in context.answers.items() if key not in known}
        theirs.send_bytes(pickle.dumps((done, found, proved, timing.rules()), protocol=pickle.HIGHEST_PROTOCOL))
    finally:
        os._exit(0)  # no exit handlers of the parent's, no flush of its buffers


def _receive(pipe: Connection, context: Context, results: dict[_Place, Found]) -> set[int]:
    """Take what a child found, and for which tasks; for none where it died, and the parent does its work."""
    try:
        done: set[int]
        done, found, proved, seconds = pickle.loads(pipe.recv_bytes())
    except (EOFError, OSError, pickle.UnpicklingError):
        return set()
    results.update(found)
    for key, answer in proved.items():
        if key not in context.answers:
            context.answers[key] = answer
    for rule, spent in seconds.items():
        timing.spent(rule, spent)
    return done
