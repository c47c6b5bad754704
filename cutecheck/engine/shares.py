"""Rules side by side: facts are shared out among processes, and what rules find is put together in one order.

Facts of one function and architecture stay together, so that no obligation is noted in two shares. What depends on all
that was found before (the layouts that are sought in a run) is left to the parent, which goes through the results in
the order in which one process would have made them.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cutecheck import timing
from cutecheck.facts import Facts, SourceError, Span
from cutecheck.findings import Finding
from cutecheck.model.ints import NotModelledError, UndecidedError
from cutecheck.model.prove.obligation import Obligation, Outcome
from cutecheck.progress import progress
from cutecheck.records import record
from cutecheck.rules import Context, Rule
from cutecheck.rules.base import LeftToParentError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

WORTH = 2_000  # facts for which another process is worth its start
_GROUPS: dict[str, Callable[[Any], str]] = {  # facts that rules look at, and the function each belongs to
    "site": lambda site: site.symbol,
    "event": lambda event: event.enclosing,
    "buffer": lambda buffer: buffer.enclosing,
    "launch": lambda launch: launch.kernel,
    "call": lambda call: call.enclosing,
    "lint": lambda lint: "",
}
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
    if not hasattr(os, "fork"):
        processes = 1
    owners = _owners(work, processes)
    count = max((max(o, default=0) for o in owners.values()), default=0) + 1
    results: dict[_Place, Found] = {}
    done = {0}
    children: list[tuple[Connection, int]] = []
    try:
        if count > 1:
            _ = context.index, len(context.answers)  # made once, for all
            children = [_start(work, owners, share, context, crash) for share in range(1, count)]
            mine = sum(own.count(0) for block in work for own in (owners[block.kind],))
            with progress("checking", mine) as step:
                results.update(_share(work, owners, 0, context, crash, step))
            for share, (pipe, _) in enumerate(children, 1):
                if _receive(pipe, context, results):
                    done.add(share)
            context.outcomes.clear()
        with progress("checking", sum(len(block.facts) for block in work) if count == 1 else 0) as step:
            for b, block in enumerate(work):
                own = owners[block.kind]
                for i, fact in enumerate(block.facts):
                    found = results.pop((b, i), None)
                    if count == 1 or own[i] not in done or (found is not None and found.left):
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


def _owners(work: Sequence[Block], processes: int) -> dict[str, list[int]]:
    """For each kind of fact the process of each fact: groups go, largest first, to the one with the least to do."""
    kinds = {block.kind: block.facts for block in work}
    rules = {kind: sum(block.kind == kind for block in work) * (10 if kind == "event" else 1) for kind in kinds}
    load: dict[tuple[str, str], int] = {}
    for kind, facts in kinds.items():
        for fact in facts:
            key = (_GROUPS[kind](fact), getattr(fact, "arch", ""))
            load[key] = load.get(key, 0) + rules[kind]
    taken = [0] * max(1, processes)
    owner: dict[tuple[str, str], int] = {}
    for key, weight in sorted(load.items(), key=lambda item: (-item[1], item[0])):
        least = taken.index(min(taken))
        owner[key] = least
        taken[least] += weight
    return {k: [owner[_GROUPS[k](f), getattr(f, "arch", "")] for f in facts] for k, facts in kinds.items()}


def _one(block: Block, fact: Any, context: Context, crash: Crash) -> Found:
    began = time.perf_counter()
    findings: list[Finding] = []
    try:
        findings.extend(block.hook(fact, context))  # what was found before an error stays
        return Found(findings)
    except LeftToParentError:
        return Found(left=True)
    except (UndecidedError, NotModelledError) as error:  # a question that open parameters leave open is no crash
        context.open(block.rule, block.kind, fact, str(error))
        return Found(findings)
    except Exception as error:
        return Found(failure=crash(block.rule, error, fact.span))
    finally:
        timing.spent(block.rule, time.perf_counter() - began)


def _share(
    work: Sequence[Block],
    owners: dict[str, list[int]],
    share: int,
    context: Context,
    crash: Crash,
    step: Callable[[], None] = lambda: None,
) -> Iterator[tuple[_Place, Found]]:
    """What the hooks say of the facts of one share; where they say and note nothing, nothing."""
    noted = context.journal = []
    try:
        for b, block in enumerate(work):
            own = owners[block.kind]
            for i, fact in enumerate(block.facts):
                if own[i] != share:
                    continue
                found = _one(block, fact, context, crash)
                found.noted = list(noted)
                noted.clear()
                step()
                if found.findings or found.failure is not None or found.noted or found.left:
                    yield (b, i), found
    finally:
        context.journal = None


def _start(
    work: Sequence[Block], owners: dict[str, list[int]], share: int, context: Context, crash: Crash
) -> tuple[Connection, int]:
    """A child that goes through a share and sends what it found, what it proved, and the time of each rule."""
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
        found = dict(_share(work, owners, share, context, crash))
        proved = {key: answer for key, answer in context.answers.items() if key not in known}
        theirs.send_bytes(pickle.dumps((found, proved, timing.rules()), protocol=pickle.HIGHEST_PROTOCOL))
    finally:
        os._exit(0)  # no exit handlers of the parent's, no flush of its buffers


def _receive(pipe: Connection, context: Context, results: dict[_Place, Found]) -> bool:
    """Take what a child found; False where it died, and the parent does its work."""
    try:
        found, proved, seconds = pickle.loads(pipe.recv_bytes())
    except (EOFError, OSError, pickle.UnpicklingError):
        return False
    results.update(found)
    for key, answer in proved.items():
        if key not in context.answers:
            context.answers[key] = answer
    for rule, spent in seconds.items():
        timing.spent(rule, spent)
    return True
