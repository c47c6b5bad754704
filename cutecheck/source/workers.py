"""Processes that evaluate translation units: forked, so that what is read and parsed so far is theirs as well.

A worker that dies costs the unit it was at; a new one goes on with the rest of its share. What a worker has in memory
is bounded: past a limit it is replaced.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pickle import PicklingError
from types import TracebackType

from cutecheck.source.eval.launches import Launches, Walks
from cutecheck.source.handouts import Handouts, Share
from cutecheck.source.recall import Recall
from cutecheck.source.translate import Job, Part, Translator

MOST_MIB = 3 << 10  # of a worker before it is replaced
_TRIES = 2  # to evaluate a unit again: the first may come before the last that it depends on


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    share: Share = field(default_factory=deque)  # positions of the jobs it still owes
    last: int | None = None  # where it is in the order of shares


class Crew:
    """Workers over a list of jobs; a context manager that leaves no process behind."""

    def __init__(
        self,
        jobs: Sequence[Job],
        translator: Translator,
        walks: Walks,
        processes: int,
        recall: Recall | None = None,
    ) -> None:
        self._jobs = jobs
        self._translator = translator
        self._walks = walks
        self._recall = recall
        self._processes = processes
        self._context = multiprocessing.get_context("fork")
        self._workers: list[_Worker] = []
        self._ready: dict[int, Part | str | None] = {}
        self._shares = Handouts(jobs, processes, walks)
        self._again: dict[int, Launches] = {}  # of jobs that are to be evaluated again: what was walked before them
        self._revised: dict[int, Part] = {}  # what these came to before
        self._tries: Counter[int] = Counter()
        self._settled: set[int] = set()  # jobs that were evaluated again when their turn came

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for worker in self._workers:
            worker.process.kill()
            worker.pipe.close()
        for worker in self._workers:
            worker.process.join()

    def results(self, step: Callable[[], None] = lambda: None) -> Iterator[tuple[Job, Part | str | None]]:
        """Every job in order with its part, the reason why there is none, or None where it must be evaluated here.

        ``step`` hears of each as it first comes, which is not in order.
        """
        ready = self._ready
        following = 0
        while following < len(self._jobs):
            while following in ready and not self._outdated(following):
                self._revised.pop(following, None)
                yield self._jobs[following], ready.pop(following)
                following += 1
            if following == len(self._jobs):
                return
            while self._shares and len(self._workers) < self._processes:
                self._start()
            for pipe in wait([w.pipe for w in self._workers]):
                worker = next(w for w in self._workers if w.pipe is pipe)
                came = self._receive(worker)
                ready.update(came)
                if self._revised.keys().isdisjoint(came):
                    step()
            if not self._shares and len(self._workers) < self._processes and not self._walks.limits.many:
                self._revise(following)

    def _outdated(self, following: int) -> bool:
        """Whether the next part is evaluated once more, now that it is known what those before it walked.

        The parent does not do it: while it evaluates, nothing is handed out.
        """
        part = self._ready[following]
        state = self._walks.of(_key(self._jobs[following], self._walks))
        if not isinstance(part, Part) or following in self._settled or state.copy().follows(part.attempts):
            return False
        self._settled.add(following)
        self._evaluate_again(following, part, state.copy(), soon=True)
        return True

    def _revise(self, following: int) -> None:
        """Share out what was evaluated against a wrong guess, while there are idle processes.

        A part that walked what an earlier one did would be evaluated again when its turn comes, one after the other.
        """
        states: dict[tuple[str, str], Launches] = {}
        for position, part in self._early(following):
            key = _key(self._jobs[position], self._walks)
            state = states.setdefault(key, self._walks.of(key).copy())
            if state.follows(part.attempts):
                continue
            if position in self._ready and self._tries[position] < _TRIES:
                self._tries[position] += 1
                self._evaluate_again(position, part, state.copy())
            state.absorb(part.attempts)

    def _evaluate_again(self, position: int, part: Part, state: Launches, soon: bool = False) -> None:
        self._revised[position] = part
        self._again[position] = state
        self._shares.urge(deque([position]), soon)
        del self._ready[position]

    def _early(self, following: int) -> list[tuple[int, Part]]:
        """What is known of jobs whose turn has not come, in order."""
        known = sorted({**self._revised, **self._ready}.items(), key=lambda item: item[0])
        return [(i, part) for i, part in known if isinstance(part, Part) and i >= following]

    def waiting(self) -> list[Part]:
        """The parts that have come before their turn."""
        return [part for _, part in self._early(0)]

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        others = [w.pipe for w in self._workers]
        process = self._context.Process(
            target=_serve, args=(theirs, [ours, *others], self._jobs, self._translator, self._walks, self._recall)
        )
        process.daemon = True
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        self._hand_out(worker)

    def _hand_out(self, worker: _Worker) -> None:
        before = worker.last
        worker.share, worker.last = self._shares.take(worker.last)
        first = worker.share[0]
        again = self._again.get(first)
        states: dict[tuple[str, str], Launches] = {}
        for key in {_key(self._jobs[i], self._walks) for i in worker.share}:
            states[key] = state = self._walks.of(key).copy() if again is None else again
            for position, part in self._early(0) if again is None else ():
                if position < first and _key(self._jobs[position], self._walks) == key:
                    state.absorb(part.attempts)
        with contextlib.suppress(OSError):  # it died: noticed when its pipe is read
            back = before is not None and worker.last is not None and worker.last < before
            worker.pipe.send((tuple(worker.share), states, again is not None or back))

    def _receive(self, worker: _Worker) -> dict[int, Part | str | None]:
        try:
            sent = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            return self._lost(worker)
        try:
            part, used = pickle.loads(sent)
        except Exception:  # a value that travels but does not arrive: evaluated here
            part, used = None, 0
        position = worker.share.popleft()
        if not worker.share:
            if self._shares and used <= MOST_MIB:
                self._hand_out(worker)
            else:
                self._dismiss(worker)
        return {position: part}

    def _lost(self, worker: _Worker) -> dict[int, Part | str | None]:
        """A worker is gone: the unit it was at is given up, the rest of its share goes to another."""
        self._dismiss(worker)
        position = worker.share.popleft()
        if worker.share:
            self._shares.urge(worker.share)
        code = worker.process.exitcode
        how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        return {position: f"not evaluated: the process that read it {how}"}

    def _dismiss(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.join(timeout=5)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _serve(
    pipe: Connection,
    others: list[Connection],
    jobs: Sequence[Job],
    translator: Translator,
    walks: Walks,
    recall: Recall | None,
) -> None:
    """The life of a worker: shares of jobs in, one part each out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in others:
        other.close()
    own: dict[tuple[str, str], Launches] = {}
    try:
        while True:
            share, states, exact = pipe.recv()
            own.update({k: state if exact or k not in own else _united(state, own[k]) for k, state in states.items()})
            for position in share:
                part = translator.run(jobs[position], own[_key(jobs[position], walks)])
                if recall is not None:
                    recall.keep(jobs[position], part)
                try:
                    pipe.send((part, _mebibytes()))
                except (TypeError, AttributeError, ValueError, PicklingError):
                    pipe.send((None, _mebibytes()))  # a value that cannot travel: the parent evaluates it
    except (EOFError, OSError):
        pass
    finally:
        os._exit(0)  # no exit handlers of the parent's, no flush of its buffers


def _key(job: Job, walks: Walks) -> tuple[str, str]:
    return walks.key(job.arch, job.path)


def _united(a: Launches, b: Launches) -> Launches:
    for key, signatures in b.done.items():
        mine = a.done.setdefault(key, set())
        a.count[key[0]] = a.count.get(key[0], 0) + len(signatures - mine)
        mine |= signatures
    for launched, walked in b.given.items():
        known = a.given.setdefault(launched, [])
        known += [g for g in walked if g not in known]
    for kind, walks in b.kinds.items():
        a.kinds[kind] = max(a.kinds.get(kind, 0), walks)
    for flag, walks in b.flags.items():
        a.flags[flag] = max(a.flags.get(flag, 0), walks)
    return a


def _mebibytes() -> int:
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
