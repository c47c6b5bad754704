"""Python files to facts: each a run of its own as a script, in this process or side by side in others, with one result.

What one file's launches walked is not walked again by the same file; files share nothing but what was read and parsed.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecheck import timing
from cutecheck.cache import digest
from cutecheck.facts import SourceError, Span
from cutecheck.progress import progress
from cutecheck.source.collect import Collected, absorb, collect, note_unit
from cutecheck.source.files import holds, noted, watched
from cutecheck.source.installed import OF_PACKAGE, absent, told
from cutecheck.source.recall import ScriptRecall
from cutecheck.source.request import ExtractRequest
from cutecheck.source.schedule import can_fork
from cutecheck.timing import phase

if TYPE_CHECKING:
    from cutecheck.source.dsl.supposed.leading import Leading

_BOUND = "\0"  # in no name of a file: before those whose bindings, which are given by hand, are run
_WORTH = 4  # files for which more processes are worth their start
_FOR_IMPORTERS = 3  # times the steps of one file: what all those have together that import what changed


def evaluate(
    scripts: dict[str, Path],
    wanted: list[str],
    request: ExtractRequest,
    about: str,
    out: Collected,
    changed: frozenset[str] | None = None,
) -> None:
    """Every Python file that names CuTe, run as a script; or what that came to before.

    ``about``: a digest of what the facts depend on besides the files. ``changed``: the files that a hook is about, of
    which others are run for what they come to there.
    """
    reported = frozenset(scripts if request.changed is None else wanted)
    steps = None if changed is None else _FOR_IMPORTERS
    with phase("  of this: scripts"):
        absorb(recalled(scripts, wanted, reported, request, about, changed, steps), out)


def recalled(
    scripts: Mapping[str, Path],
    wanted: Sequence[str],
    reported: frozenset[str],
    request: ExtractRequest,
    about: str,
    changed: frozenset[str] | None,
    allowed: int | None,
) -> Collected:
    """:func:`run`, of each file what it came to before where that is known."""
    recall = None
    if request.store is not None and request.tracing is None and not holds():
        places = [os.path.abspath(p) for p in request.paths]  # noqa: PTH100
        files = sorted((path, str(file)) for path, file in scripts.items())
        package = told((*request.include_dirs, *request.paths))
        about_files = (sorted(reported), sorted(changed or ()), package, files)
        whole = (request.archs, request.include_dirs, places, *about_files)
        recall = ScriptRecall(request.store, digest(about, repr(whole)))
    return run(scripts, wanted, reported, request, recall, changed, allowed)


def run(
    scripts: Mapping[str, Path],
    wanted: Sequence[str],
    reported: frozenset[str],
    request: ExtractRequest,
    recall: ScriptRecall | None = None,
    changed: frozenset[str] | None = None,
    allowed: int | None = None,
) -> Collected:
    """Every wanted file run as a script.

    ``allowed``: how many files' steps all those have together that are not among the changed ones; None: no limit.
    """
    out = Collected()
    work = _Work(scripts, wanted, reported, request, changed)
    left = inf if allowed is None else allowed * work.steps
    every = work.parts(request.jobs if request.tracing is None else 1, recall)
    with progress("evaluating Python", len(wanted)) as step, closing(every) as coming:
        for at, parts in enumerate(coming):
            for part in parts:
                absorb(part, out)
                left -= 0 if wanted[at] in (changed or ()) else part.steps
            step()
            if left <= 0:
                out.importers = set(wanted[at + 1 :])
                break
    for part in _kept(recall, _BOUND.join(["", *wanted]), work.bound):  # each of them may have a binding in a comment
        absorb(part, out)
    forget_unbound(out)
    return out


def recalled_suppositions(
    scripts: Mapping[str, Path],
    wanted: Sequence[str],
    cute: Sequence[str],
    request: ExtractRequest,
    about: str,
    called: frozenset[Span],
) -> Collected:
    """What supposed calls of each wanted file come to. ``called``: the functions that something in the tree calls."""
    from cutecheck.source.dsl.supposed.leading import leading

    reported = frozenset(scripts)
    recall = None
    if request.store is not None and request.tracing is None and not holds():
        files = sorted((path, str(file)) for path, file in scripts.items())
        package = told((*request.include_dirs, *request.paths))
        spans = sorted(str(s) for s in called)
        whole = (request.archs, request.include_dirs, [str(p) for p in request.paths], package, files, spans)
        recall = ScriptRecall(request.store, digest(about, "supposed", repr(whole)))
    work = _Work(scripts, wanted, reported, request, None)
    work.called, work.leading = called, leading(scripts, cute)
    out = Collected()
    every = work.parts(request.jobs if request.tracing is None else 1, recall)
    with progress("supposing calls", len(wanted)) as step, closing(every) as coming:
        for parts in coming:
            for part in parts:
                absorb(part, out)
            step()
    return out


def forget_unbound(out: Collected) -> None:
    """One script calls what is around a site, another does not."""
    bound = {key[:4] for key, site in out.sites.items() if site.status != "unbound"}
    for key in [k for k, site in out.sites.items() if site.status == "unbound" and k[:4] in bound]:
        del out.sites[key]


def _kept(recall: ScriptRecall | None, path: str, work: Callable[[], list[Collected]]) -> list[Collected]:
    """What ``work`` comes to, kept."""
    if recall is None:
        return work()
    known = recall.parts(path)
    if known is None:
        with watched() as seen:
            known = work()
        recall.keep(path, seen, known)
    return known


def unrun(out: Collected) -> str | None:
    """What a run says of scripts that had no steps left for all of their tests, or that were not run at all."""
    if out.importers:
        return (
            f"{len(out.importers)} of the files that import what changed were not run, and of others not all tests: "
            "those that are nearest used up the steps for them (max-steps); a check of the whole tree runs them"
        )
    if not out.unrun:
        return None
    first, *more = sorted(out.unrun)
    others = f" and {len(more)} more" if more else ""
    count = sum(out.unrun.values())
    what = f"{count} tests or functions were not run, or not to their ends"
    return f"{first}{others}: {what}: the steps of the file were used up (max-steps)"


def alone(out: Collected, request: ExtractRequest) -> str:
    """What a run says of Python files that were named without what calls them; empty where folders were named."""
    if request.changed is not None or any(p.is_dir() for p in request.paths):
        return ""
    places = {site.span for site in out.sites.values() if site.status == "unbound" and site.span.is_python}
    if not places:
        return ""
    what = "1 configuration is" if len(places) == 1 else f"{len(places)} configurations are"
    first = min(places)
    return (
        f"{what} called with values that nothing in the named files binds ({first.file}:{first.line}): name their "
        "folder (`--tree FOLDER` reports these files alone) or bind them with a comment `# cutecheck: instantiate CALL`"
    )


def unread(out: Collected) -> str:
    """What a run says of configurations that are not known for want of the DSL's own source; empty for none."""
    places = {s.span for s in out.sites.values() if s.reason is not None and OF_PACKAGE in s.reason.reason}
    if not places:
        return ""
    count = "1 configuration" if len(places) == 1 else f"{len(places)} configurations"
    return f"not known: {count} of the Python DSL; {OF_PACKAGE}{absent()}"


class _Work:
    """The runs of one request."""

    def __init__(
        self,
        scripts: Mapping[str, Path],
        wanted: Sequence[str],
        reported: frozenset[str],
        request: ExtractRequest,
        changed: frozenset[str] | None,
    ) -> None:
        from cutecheck.source.dsl.extract import Runner

        self._scripts = scripts
        self._wanted = wanted
        self._reported = reported
        self._instantiate = request.instantiate
        self.called: frozenset[Span] = frozenset()
        self.leading: Leading | None = None  # not None: calls are supposed
        self._runner = Runner(
            scripts, request.paths, request.archs, request.limits, request.include_dirs, request.tracing, changed
        )

    @property
    def steps(self) -> int:
        """Of a file with all its tests."""
        return self._runner.steps

    def one(self, path: str) -> list[Collected]:
        """What a file comes to, for each architecture."""
        if self.leading is not None:
            return self._collected(self._runner.supposed(path, self.called, self.leading))
        return self._collected(self._runner.script(path))

    def timed(self, path: str) -> list[Collected]:
        """What a file comes to, in this process."""
        began = time.process_time()
        try:
            return self.one(path)
        finally:
            timing.evaluated(path, time.process_time() - began)

    def bound(self) -> list[Collected]:
        """What bindings that are given by hand come to."""
        return self._collected(self._runner.bound(self._wanted, self._instantiate))

    def parts(self, processes: int, recall: ScriptRecall | None = None) -> Generator[list[Collected], None, None]:
        """What every file comes to, in order."""
        recalled = [None if recall is None else recall.parts(path) for path in self._wanted]
        missing = [path for path, known in zip(self._wanted, recalled, strict=True) if known is None]
        made = self._made(missing, processes)
        for path, known in zip(self._wanted, recalled, strict=True):
            if known is not None:
                yield known
                continue
            with watched() as seen:
                parts = next(made)
            if recall is not None:
                recall.keep(path, seen, parts)
            yield parts

    def _made(self, paths: Sequence[str], processes: int) -> Iterator[list[Collected]]:
        if processes <= 1 or len(paths) < _WORTH or not can_fork():
            yield from map(self.timed, paths)
            return
        before = set(multiprocessing.active_children())
        context = multiprocessing.get_context("fork")
        size = min(processes, len(paths))
        with ProcessPoolExecutor(size, context, initializer=_begin, initargs=(self,)) as pool:
            coming: list[Future[bytes]] = []
            try:
                coming += [pool.submit(_run, path) for path in paths]
                for path, future in zip(paths, coming, strict=True):
                    yield self._received(path, future)
            except BaseException:  # an interrupt, say: none goes on
                pool.shutdown(wait=False, cancel_futures=True)
                for process in set(multiprocessing.active_children()) - before:
                    process.kill()
                raise

    def _received(self, path: str, future: Future[bytes]) -> list[Collected]:
        try:
            parts, seen, seconds = pickle.loads(future.result())
        except Exception as error:  # one of them died, which ends the others, or a value does not travel or arrive
            timing.evaluated(path, 0.0, f"evaluated again, alone: {type(error).__name__}: {error}")
            return self.timed(path)
        noted(seen)
        timing.evaluated(path, seconds)
        assert isinstance(parts, list)
        return parts

    def _collected(self, runs: Iterator[tuple[str, Any]]) -> list[Collected]:
        from cutecheck.source.dsl.extract import unit_errors
        from cutecheck.source.dsl.launching import configured
        from cutecheck.source.dsl.novelty import dropped

        parts: list[Collected] = []
        for path, driver in runs:
            out = Collected()
            unit = driver.library.unit(self._scripts[path])
            note_unit(unit, out)
            for error in unit_errors(unit, self._scripts[path]):
                out.errors.setdefault((error.path, error.message), error)
            for unknown in driver.cut:
                where = unknown.span.path if unknown.span is not None else path
                out.errors.setdefault((where, unknown.reason), SourceError(where, unknown.reason, unknown.span))
            driver.recorder.flush_loose()
            collect(driver.recorder, self._reported | driver.library.cells_of(self._reported), out)
            out.configured = dict(configured(driver.machine))
            out.dropped = dict(dropped(driver.machine))
            out.steps = driver.spent
            out.supposed = {c.tag: c for c in driver.supposed}
            out.given_up = dict(driver.given_up)
            if driver.unrun:
                out.unrun[path] = driver.unrun
            parts.append(out)
        return parts


_mine: list[_Work] = []  # in a worker: what its parent is at


def _begin(work: _Work) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _mine.append(work)


def _run(path: str) -> bytes:
    began = time.process_time()
    with watched() as seen:
        part = _mine[0].one(path)
    return pickle.dumps((part, dict(seen), time.process_time() - began))
