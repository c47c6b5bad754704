"""Whole runs, kept: where nothing that decides a report has changed, it is the report of before."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from cutecheck.cache import Store, digest
from cutecheck.cache.codec import DecodeError, decode, encode
from cutecheck.facts import Event, Facts, Site, TensorFact
from cutecheck.model.prove.obligation import Outcome
from cutecheck.model.version import cute_version
from cutecheck.report.data import Report
from cutecheck.source.discover import Discovery, discover
from cutecheck.source.eval.limits import MEMORY_IS_UP, TIME_IS_UP
from cutecheck.source.files import holds, same, watched
from cutecheck.source.installed import told
from cutecheck.source.request import ExtractRequest

_KIND = "runs"


class Runs:
    """The memory of one question: these paths under these settings.

    A record says which files were found, with a digest of each, what else was read, and where something was looked for
    and what stood there. ``about``: whatever decides the report besides.
    """

    def __init__(self, store: Store, request: ExtractRequest, about: str, timeout_s: float) -> None:
        self._store = store
        # below the least time limit of a query: what ends sooner ended by the reproducible budget
        self._short_ms = min(1000.0, timeout_s * 900)
        self._request = request
        places = [os.path.abspath(p) for p in (*request.paths, *(request.changed or ()))]  # noqa: PTH100
        asked = replace(request, store=None, jobs=1)
        self._name = digest("run", about, repr(asked), repr(places), repr(cute_version()), _dsl(request))

    def recall(self) -> Report | None:
        """The report of before, if all that it depends on is as it was."""
        text = None if holds() else self._store.get(_KIND, self._name)
        if text is None:
            return None
        try:
            listed, found, other, parts = decode(text)
            if not isinstance(other, dict) or (listed, found) != self._listed or not same(other):
                return None
            facts, findings, suppressed, outcomes, errors, failures = parts
            return Report(facts, findings, suppressed, outcomes, errors, failures)
        except (DecodeError, TypeError, ValueError):
            return None

    def keep(self, report: Report, seen: Mapping[str, str]) -> None:
        """Keep a report that was made while ``seen`` was noted; nothing that time or a crash had a part in."""
        if holds() or report.failures or any(_accident(e.message) for e in report.errors):
            return
        if any(self._gave_up(outcome) for outcome in report.outcomes):
            return
        listed, found = self._listed
        if any(seen.get(path) != known for path, known in found.items()):
            return  # changed since it was looked for
        other = {path: answer for path, answer in seen.items() if path not in found}
        parts = (
            _counted(report.facts), report.findings, report.suppressed, report.outcomes, report.errors, report.failures
        )  # fmt: skip
        try:
            self._store.put(_KIND, self._name, encode((listed, found, other, parts)))
        except TypeError:
            return

    def _gave_up(self, outcome: Outcome) -> bool:
        """Whether Z3 may have run out of time: asked again, it may know."""
        return any(
            r.answer == "unknown"
            and ("timeout" in r.detail or "cancel" in r.detail)
            and r.milliseconds > self._short_ms
            for r in outcome.runs
        )

    @cached_property
    def found(self) -> tuple[Discovery, Mapping[str, str]]:
        """What discovery finds, for the run to go on from, and the digest of each file that it reads."""
        with watched() as seen:
            found = discover((*self._request.paths, *(self._request.changed or ())), exclude=self._request.exclude)
        return found, dict(seen)

    @property
    def _listed(self) -> tuple[tuple[Any, ...], Mapping[str, str]]:
        found, seen = self.found
        libraries = tuple(str(v.folder) for v in found.vendored)
        return (tuple((f.path, str(f.file), f.cute) for f in found.files), found.errors, libraries), seen


def _dsl(request: ExtractRequest) -> str:
    return told((*request.include_dirs, *request.paths))


def _accident(message: str) -> bool:
    """Whether a line of the report is about time, memory, or a process that died."""
    return any(word in message for word in (MEMORY_IS_UP, TIME_IS_UP, "interrupted", "not evaluated: the process"))


def _counted(facts: Facts) -> Facts:
    """What reports count of the facts: places and their status, without the values."""
    sites = {(s.span, s.kind, s.status): _bare_site(s) for s in facts.sites}
    events = {(e.span, e.reason is None): _bare_event(e) for e in facts.events}
    return replace(
        facts, sites=tuple(sites.values()), events=tuple(events.values()), buffers=(), launches=(), calls=(), lints=(),
        predicates=(),
    )  # fmt: skip


def _bare_site(site: Site) -> Site:
    return Site("", site.kind, "", site.span, site.span, (), "", site.status)


def _bare_event(event: Event) -> Event:
    none: tuple[TensorFact, ...] = ()
    return Event("", event.kind, "", event.span, None, None, none, None, False, "", "", reason=event.reason)
