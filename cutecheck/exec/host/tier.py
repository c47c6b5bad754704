"""From facts to confirmations: which probes a site gets, asked in groups that share their includes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from cutecheck.exec import child
from cutecheck.exec.confirmation import Attempt, Confirmation, Route
from cutecheck.exec.headers import Headers, NoHeaders
from cutecheck.exec.host import probes
from cutecheck.exec.host.probes import Probe, Source
from cutecheck.exec.host.toolchain import Answer, Included, Toolchain
from cutecheck.exec.spell import UnspellableError
from cutecheck.facts import Call, Facts, Site
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.tiled import TiledCopy, TiledMMA

_OPEN = {
    "symbolic": "its value depends on open template parameters",
    "unknown": "its value is not known",
    "unbound": "nothing binds its template parameters",
    "dead": "it is never compiled",
}

_WORTH_A_UNIT = 64  # probes that take as long as an author's file


@dataclass(frozen=True, slots=True)
class HostOptions:
    """``options``: the user's ``-I`` and ``-D`` arguments; ``chunk``: probes a translation unit, at most; ``jobs``: how
    many compile at a time (cores)."""

    options: tuple[str, ...] = ()
    chunk: int = 200
    jobs: int | None = None
    limits: child.Limits = field(default_factory=lambda: child.Limits(seconds=300.0))
    routes: tuple[Route, ...] = ("named", "rebuilt", "spelled")


def confirm(
    facts: Facts,
    headers: Headers | NoHeaders,
    file_of: Callable[[str], Path | None],
    options: HostOptions | None = None,
) -> tuple[Confirmation, ...]:
    """Hold every site of the facts against CuTe on the host, in order; ``file_of`` finds a span's file.

    Compiles and runs code derived from the scanned sources: only for a user who asked for it.
    """
    options = options or HostOptions()
    if isinstance(headers, NoHeaders):
        nothing = (Attempt("spelled", "unavailable", headers.reason),)
        return tuple(Confirmation(s, _closed(s) or nothing) for s in facts.sites)
    plans = _Plans(facts, file_of, options.routes)
    answers = _answers(plans, headers, options)
    return tuple(
        Confirmation(site, _closed(site) or _attempts(planned, answers), _note(site))
        for site, planned in zip(facts.sites, plans.planned, strict=True)
    )


def _closed(site: Site) -> tuple[Attempt, ...]:
    """The one attempt of a site that has nothing to confirm."""
    if site.span.is_python and site.value is None and site.status == "resolved":
        return (
            Attempt("spelled", "unavailable", "a result of the Python DSL that is no layout, atom or tiled object"),
        )
    if site.status == "resolved" and site.value is not None:
        return ()
    return (Attempt("spelled", "unavailable", _OPEN.get(site.status, "it has no value")),)


Planned = list[tuple[Route, "Probe | str"]]  # a probe, or why there is none


class _Plans:
    """The probes of every site, each different one once.

    What a site asks without its file goes with what it asks by name: CuTe's templates are then instantiated once.
    """

    def __init__(self, facts: Facts, file_of: Callable[[str], Path | None], routes: tuple[Route, ...]) -> None:
        self.file_of = file_of
        self.routes = routes
        self.groups: dict[Source | None, list[list[Probe]]] = {}
        self._asked: set[Probe] = set()
        self._lines: dict[str, list[str]] = {}
        self._calls: dict[str, list[Call]] = {}
        for call in facts.calls:
            self._calls.setdefault(call.span.path, []).append(call)
        self._spellings: dict[tuple[object, ...], Planned] = {}
        self.planned = [[] if _closed(s) else self._plan(s) for s in facts.sites]

    def _plan(self, site: Site) -> Planned:
        out: Planned = []
        for route in self.routes:
            if site.span.is_python and route != "spelled":
                continue  # names and recorded calls of the DSL are Python
            try:
                probe = self._probe(route, site)
            except UnspellableError as error:
                out.append((route, str(error)))
                continue
            if probe is not None:
                out.append((route, probe))
        probes = [p for _, p in out if isinstance(p, Probe)]
        if new := [p for p in dict.fromkeys(probes) if p not in self._asked]:
            self._asked.update(new)
            source = next((p.source for p in probes if p.source is not None), None)
            self.groups.setdefault(source, []).append(new)
        return out

    def _probe(self, route: Route, site: Site) -> Probe | None:
        if route == "named":
            if self.file_of(site.span.path) is None:
                raise UnspellableError("its file is not there any more")
            return probes.named(site, self.lines(site.span.path))
        if route == "rebuilt":
            return probes.rebuilt(site, self._calls.get(site.span.path, ()))
        return probes.spelled(site)

    def lines(self, path: str) -> list[str]:
        """The lines of a scanned file, none where it cannot be read."""
        if path not in self._lines:
            file = self.file_of(path)
            try:
                text = file.read_bytes().decode("utf-8", errors="replace") if file is not None else ""
            except OSError:
                text = ""
            self._lines[path] = text.replace("\r\n", "\n").split("\n")
        return self._lines[path]


def _answers(plans: _Plans, headers: Headers, options: HostOptions) -> dict[Probe, Answer]:
    """Every probe's answer: one precompiled prelude, then units side by side, each in a folder of its own."""
    jobs = options.jobs or os.cpu_count() or 1
    batches: list[tuple[list[Probe], Included | None]] = []
    for source, sites in plans.groups.items():
        file = plans.file_of(source.path) if source is not None else None
        included = Included(file.resolve(), source.arch) if file is not None and source is not None else None
        count = sum(map(len, sites))
        # an author's file is compiled with each unit that includes it: few of them
        parts = max(1, min(jobs, count // _WORTH_A_UNIT if included is not None else count), -(-count // options.chunk))
        batches += [([p for site in sites[i::parts] for p in site], included) for i in range(parts)]
    batches.sort(key=lambda batch: -len(batch[0]))
    answers: dict[Probe, Answer] = {}
    with tempfile.TemporaryDirectory(prefix="cutecheck-") as folder:
        toolchain = Toolchain(headers, Path(folder), options.options, options.limits, options.chunk)

        def ask(number: int) -> list[Answer]:
            return toolchain.beside(f"unit{number}").ask(*batches[number])

        if batches:
            toolchain.precompile()
        with ThreadPoolExecutor(jobs) as pool:
            for (asked, _), found in zip(batches, pool.map(ask, range(len(batches))), strict=True):
                answers.update(zip(asked, found, strict=True))
    return answers


def _attempts(planned: Planned, answers: dict[Probe, Answer]) -> tuple[Attempt, ...]:
    return tuple(_attempt(route, item, answers) for route, item in planned)


def _attempt(route: Route, item: Probe | str, answers: dict[Probe, Answer]) -> Attempt:
    if isinstance(item, str):
        return Attempt(route, "unavailable", item)
    answer = answers[item]
    if answer.failure:
        return Attempt(route, "unavailable", answer.failure)
    differences = item.differences(answer.fields)
    return Attempt(route, "contradicted" if differences else "confirmed", "", differences, item.point)


def _note(site: Site) -> str:
    """What a host compiler leaves unchecked although it prints the fields."""
    value = site.value
    atom = value.atom if isinstance(value, (TiledCopy, TiledMMA)) else value
    if isinstance(atom, MMAAtom) and atom.kind in ("wgmma", "umma"):
        return "the layouts only: a host compiler does not check the descriptors of WGMMA and UMMA operands"
    if isinstance(atom, CopyAtom) and atom.tensor_map is not None:
        return "a tensor map is not checked"
    return ""


def summary(confirmations: Sequence[Confirmation]) -> dict[str, int]:
    """How many of each status."""
    out = {"confirmed": 0, "contradicted": 0, "unavailable": 0}
    for c in confirmations:
        out[c.status] += 1
    return out
