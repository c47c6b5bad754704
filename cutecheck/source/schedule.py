"""Jobs in their order: remembered, in this process, or side by side in others, with the same result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from cutecheck import timing
from cutecheck.facts import SourceError
from cutecheck.progress import progress
from cutecheck.source.eval.launches import Walks
from cutecheck.source.recall import Recall
from cutecheck.source.translate import Job, Part, Translator

_WORTH = 4  # jobs for which more processes are worth their start


def parts(
    jobs: Sequence[Job], translator: Translator, walks: Walks, processes: int, recall: Recall | None = None
) -> Iterator[Part]:
    """The part of every job, in order, each as if those before it had run first.

    ``walks`` is the state of the run and ends as the jobs leave it. A unit that is remembered, or evaluated in
    another process, was evaluated against a guess of that state; where the guess was wrong it is evaluated again here.
    """
    known = {i for i, job in enumerate(jobs) if recall is not None and recall.has(job)}
    todo = [job for i, job in enumerate(jobs) if i not in known]
    with progress(f"evaluating, {', '.join(dict.fromkeys(job.arch for job in jobs))}", len(todo)) as step:
        early: list[Part] = []
        fresh = _evaluated(todo, translator, walks, processes, recall, step, early)
        try:
            for i, job in enumerate(jobs):
                launches = walks.of(walks.key(job.arch, job.path))
                part = recall.part(job) if recall is not None and i in known else next(fresh)
                if part is not None and i not in known:
                    timing.evaluated(job.path, part.seconds)
                if part is None or not launches.follows(part.attempts):
                    part = translator.run(job, launches)
                    timing.evaluated(job.path, part.seconds, "evaluated again in its turn" if i not in known else "")
                    if recall is not None:
                        recall.keep(job, part)
                yield part
        except KeyboardInterrupt:  # what is known is shown
            yield from early
            raise
        finally:
            fresh.close()


def _evaluated(
    jobs: Sequence[Job],
    translator: Translator,
    walks: Walks,
    processes: int,
    recall: Recall | None,
    step: Callable[[], None],
    early: list[Part],
) -> Generator[Part, None, None]:
    """The part of every job, after some guess of what was walked before.

    ``step`` hears of each that is evaluated; ``early`` gets those that an interrupt finds evaluated before their turn.
    """
    if processes <= 1 or len(jobs) < _WORTH or not can_fork():
        for job in jobs:
            part = translator.run(job, walks.of(walks.key(job.arch, job.path)).copy())
            if recall is not None:
                recall.keep(job, part)
            step()
            yield part
        return
    from cutecheck.source.workers import Crew

    with Crew(jobs, translator, walks, min(processes, len(jobs)), recall) as crew:
        try:
            for job, found in crew.results(step):
                if found is None:
                    found = translator.run(job, walks.of(walks.key(job.arch, job.path)).copy())
                yield _failed(job, found) if isinstance(found, str) else found
        except KeyboardInterrupt:
            early += crew.waiting()
            raise


def can_fork() -> bool:
    import multiprocessing

    return "fork" in multiprocessing.get_all_start_methods()


def _failed(job: Job, reason: str) -> Part:
    part = Part()
    part.facts.errors[job.path, reason] = SourceError(job.path, reason)
    return part
