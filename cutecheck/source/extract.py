"""From paths to facts: discovery, parsing, evaluation, collection."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from cutecheck.cache import digest
from cutecheck.facts import Facts, SourceError, Span
from cutecheck.model.version import cute_version
from cutecheck.source.bindings import unmatched, unmet
from cutecheck.source.builds.macros import BuildMacros, build_macros
from cutecheck.source.collect import Collected, absorb, bound_elsewhere, bound_launches, uncovered
from cutecheck.source.collectives import collectives
from cutecheck.source.cpp import errors
from cutecheck.source.cpp.absent import unasked, unfound, unnamed
from cutecheck.source.cpp.errors import Refused
from cutecheck.source.cpp.splice import TRANSLATION_UNITS, of_library
from cutecheck.source.cpp.tree import PRELUDE, Tree, translation_units
from cutecheck.source.discover import discover
from cutecheck.source.embedded.find import find as embedded
from cutecheck.source.eval import expressions, statements  # noqa: F401  (register the node handlers)
from cutecheck.source.eval.handed import Callers
from cutecheck.source.eval.launches import REPLAYED, Walks
from cutecheck.source.eval.limits import MANY_UNITS
from cutecheck.source.files import read_bytes
from cutecheck.source.generations import ARCHITECTURES, DEFAULT_ARCH, architectures_of
from cutecheck.source.imports import drivers, importing
from cutecheck.source.linking import Links, links, of_scope
from cutecheck.source.notebooks import split
from cutecheck.source.project import Called, around, call_from_project, uncalled
from cutecheck.source.recall import Recall
from cutecheck.source.representatives import left_out
from cutecheck.source.request import ExtractRequest
from cutecheck.source.schedule import parts
from cutecheck.source.scripts import alone, evaluate, unread, unrun
from cutecheck.source.suppositions import Supposed, suppose
from cutecheck.source.translate import Job, Part, Template, Translator
from cutecheck.source.vendored import beside, include_dirs, note
from cutecheck.timing import phase

_FRAMES = 5_000  # of Python: the evaluator's own limits of nesting come first, whoever calls it
INTERRUPTED = "interrupted: not everything was read; this is what is known"


def extract(request: ExtractRequest) -> Facts:
    """Everything the sources say. Never raises for any content of the files."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        return _extract(request)
    finally:
        sys.setrecursionlimit(before)


def _extract(request: ExtractRequest) -> Facts:
    with phase("  of this: discover"):
        found = request.found or discover((*request.paths, *(request.changed or ())), exclude=request.exclude)
        request = replace(request, include_dirs=beside((*request.include_dirs, *include_dirs(found.vendored))))
        inside = embedded(found.files)
    files = {f.path: f.file for f in found.files} | dict(inside.files)
    wanted = [f.path for f in found.files if f.cute and not f.path.endswith((".py", ".ipynb"))]
    wanted += inside.cute
    wanted_set = frozenset(wanted)
    used = collectives(files, wanted, request.include_dirs, request.installed)
    if used.read is not None:
        request = replace(request, include_dirs=(*request.include_dirs, *used.read.directories()))
    cpp = {p: f for p, f in files.items() if not p.endswith((".py", ".ipynb"))}
    by_place = dict(request.unit_defines)
    own = (
        {p: _macros(by_place[real]) for p, f in cpp.items() if (real := os.path.realpath(f)) in by_place}
        if by_place
        else {}
    )
    tree = Tree(cpp, (*request.include_dirs, PRELUDE), _macros(request.defines), own)
    reach = tree.reaching(frozenset(wanted))
    units = [p for p in files if p in reach and (p in wanted_set or p.endswith(TRANSLATION_UNITS))]
    built = BuildMacros()
    if request.build_files and units:
        built = build_macros({p: files[p] for p in units}, request.paths, request.defines)
        places = tuple((os.path.realpath(files[path]), own) for path, own in built.units)
        request = replace(request, defines=(*request.defines, *built.common), unit_defines=places)
        tree.user = _macros(request.defines)
        tree.own = {path: _macros(own) for path, own in built.units}
    recall = None if request.store is None else Recall(request.store, tree, _about(request))
    python = [f.path for f in found.files if f.cute and f.path.endswith((".py", ".ipynb"))]
    named = tuple(python)
    python += drivers(python, files)
    touched: frozenset[str] = frozenset()
    # headers that name nothing of CuTe, and include what does: what kernels call there is reported all the same
    between = {p for p in cpp if p in reach and not of_library(p)}
    if request.changed is not None:
        touched = _touched(files, request.changed)
        depend = tree.reaching(touched)
        units = [p for p in units if p in depend]
        between &= depend
        python = importing(touched, python, files)
        named = tuple(python)
    out = Collected()
    reported = frozenset(units)
    starts = translation_units(units, tree, DEFAULT_ARCH)
    many = len(starts) > MANY_UNITS
    leading = reported | {p for p in files if p in reach}  # a header that includes others by the architecture
    asked = {p: request.archs or architectures_of(p, tree, leading, many) for p in starts}
    fragments = {
        fragment
        for p, named in asked.items()
        for arch in named
        for fragment, around in tree.fragments(p, arch).items()
        if around in reported and not of_library(fragment)
    }
    reported |= fragments | between
    archs = (
        [a for a in ARCHITECTURES if any(a in named for named in asked.values())]
        if not request.archs
        else request.archs
    )
    others = frozenset() if request.changed is None else frozenset(files) - reported
    reading = {*map(_file, (*units, *fragments, *between, *touched)), *python}
    partial = None if request.changed is None else tuple(sorted(reading))
    apart = left_out(asked, tree, request.limits)
    out.dropped.update(apart.counts)
    limits = request.limits.over(len(asked), len(apart.paths))
    asked.update((p, ()) for p in apart.paths)
    beneath = frozenset(p for p in cpp if p not in reach and not of_library(p))
    translator = Translator(tree, reported, limits, request.instantiate, request.tracing, others, beneath)
    if recall is not None:
        recall.limits = limits.by_units()
        recall.reported, recall.beneath = reported, beneath
    met: dict[str, dict[str, Refused | None]] = {}
    try:
        linked = Links() if limits.twins else links(tree, [*starts])
        _architectures(archs, units, asked, translator, request.jobs, out, recall, met, linked)
    except KeyboardInterrupt:
        out.errors["", INTERRUPTED] = SourceError("", INTERRUPTED)
        python = []
    scripts = {p: f for p, f in files.items() if p.endswith((".py", ".ipynb"))}
    called, supposed = Called(), Supposed()
    if python:
        try:
            evaluate(scripts, python, request, _about(request), out, None if request.changed is None else touched)
            if request.changed is None:
                called = call_from_project(scripts, python, request, _about(request), out)
                supposed = suppose(scripts, python, request, _about(request), out)
        except KeyboardInterrupt:
            out.errors["", INTERRUPTED] = SourceError("", INTERRUPTED)
    vain = list(unmet(out.wishes, by_setting=True)) if request.changed is None else []
    if request.changed is None and any(p.is_dir() for p in request.paths):  # of single files, bindings may mean others
        for error in (*unmatched(request.instantiate, files), *vain):
            out.errors[error.path, error.message] = error
        vain = []
    for error in unmet(out.wishes, by_setting=False):
        if error.path in reported:
            out.errors.setdefault((error.path, error.message), error)
    uncovered(out, archs[-1] if archs else "")
    bound_elsewhere(out)
    return Facts(
        sites=tuple(sorted(out.sites.values(), key=lambda s: (s.span, s.symbol, s.arch))),
        events=tuple(sorted(out.events.values(), key=lambda e: (e.span, e.enclosing, e.arch))),
        buffers=tuple(sorted(out.buffers.values(), key=lambda b: (b.span, b.buffer_id, b.arch))),
        launches=tuple(sorted(bound_launches(out), key=lambda s: (s.span, s.kernel, s.arch))),
        calls=tuple(sorted(out.facts.values(), key=lambda c: (c.span, c.enclosing, c.arch))),
        lints=tuple(sorted(out.lints.values(), key=lambda s: s.span)),
        predicates=tuple(sorted(out.predicates.values(), key=lambda p: (p.span, p.buffer, p.enclosing, p.arch))),
        errors=(*_errors_of(found.errors, request.changed), *out.errors.values()),
        files=len(found.files),
        files_with_cute=len(
            {*map(_file, wanted_set if request.changed is None else wanted_set & reported), *named} - out.importers
        ),
        cutlass_version=request.cutlass_version,
        archs=request.archs,
        dropped=tuple(sorted(out.dropped.items())),
        reported=partial,
        unfinished=tuple(python)
        if out.importers or called.unfinished or (any(p not in touched for p in out.unrun) and partial)
        else (),
        notes=tuple(
            filter(
                None,
                [
                    note(found.vendored),
                    used.note(),
                    built.note,
                    inside.note(),
                    apart.note,
                    unfound(tree, reported, archs, request.changed is None),
                    unrun(out),
                    *(error.message for error in vain),
                    called.note,
                    supposed.note,
                    supposed.left,
                    alone(out, request),
                    uncalled(out, request),
                    unread(out),
                    "" if request.changed is not None else unnamed(out.beside, tree),
                    "" if request.changed is not None else unasked(_open_kernels(out), around(request.paths)),
                    *errors.notes(met, bool(request.archs)),
                ],
            )
        ),
        supposed=supposed.calls,
        commented=tuple(
            p
            for p in ([*(f.path for f in found.files if f.cute or f.path in fragments)] if partial is None else partial)
            if _has_comments(p, files)
        ),
    )


def _open_kernels(out: Collected) -> dict[Span, str]:
    """Kernel templates that no unit instantiates for any architecture: another one may be all that one unit has."""
    made = [at for at in out.walked if any(at.path == k.path for k in out.open_kernels)]
    return {k: name for k, name in out.open_kernels.items() if not any(at.holds(k) for at in made)}


def _architectures(
    archs: Sequence[str],
    units: Sequence[str],
    asked: Mapping[str, Sequence[str]],
    translator: Translator,
    jobs: int,
    out: Collected,
    recall: Recall | None,
    met: dict[str, dict[str, Refused | None]],
    links: Links,
) -> None:
    """All translation units for their architectures: what they instantiate, then the templates that none did.

    ``met`` learns which ``#error`` each of them reaches.
    """
    with phase("  of this: evaluate"):
        walks = Walks(translator.limits)
        starts = {
            arch: [p for p in translation_units(units, translator.tree, arch) if arch in asked.get(p, archs)]
            for arch in archs
        }
        closed = _linked(
            [job for arch in archs for job in _closed(arch, starts[arch], translator)], links, archs, translator.tree
        )
        meant = {
            arch: frozenset[str]().union(*(translator.tree.configured(p, arch) for p in starts[arch])) for arch in archs
        }
        instantiated: dict[str, set[Template]] = {arch: set() for arch in archs}
        templates: dict[tuple[str, str], int] = {}
        for job, part in _staged(closed, links, lambda stage: parts(stage, translator, walks, jobs, recall)):
            if job.path not in translator.reported:
                continue  # a caller alone
            absorb(part.facts, out, job.path if _configures(job, meant[job.arch], translator.tree) else "")
            _count_dropped(part, out)
            instantiated[job.arch] |= part.instantiated
            met.setdefault(job.path, {})[job.arch] = part.refused
            templates.update({(job.arch, path): n for path, n in part.templates.items()})
        opened = []
        for job in closed:
            every = [(p, i) for p in sorted(job.owned) for i in range(templates.get((job.arch, p), 0))]
            left = tuple(t for t in every if t not in instantiated[job.arch])
            if left:
                opened.append(replace(job, open=left, handing=frozenset(), given=(), helpers=()))
        for part in parts(opened, translator, walks, jobs, recall):
            absorb(part.facts, out)
            _count_dropped(part, out)


def _configures(job: Job, meant: frozenset[str], tree: Tree) -> bool:
    """Whether what a unit includes means what its own macros say, or something else than in a unit that has such."""
    if job.path in tree.fragments(job.path, job.arch).values():
        return True
    return bool(meant) and not meant.isdisjoint(tree.closure(job.path, job.arch))


def _linked(jobs: Sequence[Job], links: Links, archs: Sequence[str], tree: Tree) -> list[Job]:
    """The jobs, with the calls that are wanted of each, and those of callers that are evaluated for these alone."""
    known = {job.path for job in jobs}
    callers = sorted({u for units in links.callers.values() for u in units} - known)
    hosts = [Job(archs[0], path, frozenset({path})) for path in callers]
    if not links.callers and not links.helpers:
        return list(jobs)
    return [
        replace(job, handing=links.handing(job.path), helpers=links.helped(tree, job.path)) for job in (*hosts, *jobs)
    ]


def _staged(
    jobs: Sequence[Job], links: Links, run: Callable[[Sequence[Job]], Iterator[Part]]
) -> Iterator[tuple[Job, Part]]:
    """Each job with its part, callers before the units of the functions that they call."""
    stages = links.stages(sorted({job.path for job in jobs})) if links.callers else {}
    calls: dict[str, dict[str, list[Part]]] = {}  # by unit and function
    for stage in sorted({stages.get(job.path, 0) for job in jobs}):
        now = [
            replace(
                job,
                given=tuple(_callers(links, calls, name, job.path) for name in sorted(links.defines.get(job.path, ()))),
            )
            for job in jobs
            if stages.get(job.path, 0) == stage
        ]
        for job, part in zip(now, run(now), strict=True):
            for name in job.handing:
                calls.setdefault(job.path, {}).setdefault(name, []).append(part)
            yield job, part


def _callers(links: Links, calls: Mapping[str, Mapping[str, Sequence[Part]]], name: str, of: str) -> Callers:
    """All that is known of the calls of a function by units other than its own; one not evaluated may have any."""
    found = [calls.get(unit, {}).get(name, ()) for unit in sorted(links.callers[name] - {of})]
    complete = all(parts and not any(name in p.unsure for p in parts) for parts in found)
    handed = {h: None for parts in found for p in parts for h in p.handed if complete}
    end = of_scope("", name)
    addressed = frozenset(u.removesuffix(end) for parts in found for p in parts for u in p.unsure if u.endswith(end))
    return Callers(name, complete, tuple(h for h in handed if h.function.name == name), addressed)


def _closed(arch: str, ordered: Sequence[str], translator: Translator) -> list[Job]:
    """The translation units of an architecture; a header's own declarations are those of the first that includes it."""
    jobs: list[Job] = []
    seen: set[str] = set()
    for path in ordered:
        owned = frozenset(p for p in translator.tree.closure(path, arch) if p in translator.reported and p not in seen)
        seen |= owned
        jobs.append(Job(arch, path, owned))
    return jobs


def _count_dropped(part: Part, out: Collected) -> None:
    for attempt in part.attempts:
        if attempt.answer in ("dropped", "repeat") and not attempt.kernel.startswith(REPLAYED):
            out.dropped[attempt.kernel] = out.dropped.get(attempt.kernel, 0) + 1


def _macros(defines: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value if equals else "1") for name, equals, value in (d.partition("=") for d in defines))


def _about(request: ExtractRequest) -> str:
    """A digest of what the facts of a translation unit depend on besides the files."""
    limits = replace(request.limits, seconds_per_file=0, mebibytes=0)
    return digest(repr((request.defines, request.unit_defines, request.instantiate, cute_version(), limits)))


def _touched(files: Mapping[str, Path], changed: Iterable[Path]) -> frozenset[str]:
    """The files that changed, or that stand in folders that are named so."""
    names = {os.path.realpath(f) for f in changed}
    folders = tuple(os.path.join(n, "") for n in names if os.path.isdir(n))  # noqa: PTH112, PTH118 - many files
    parents: dict[str, str] = {}

    def where(file: Path) -> str:
        parent, name = os.path.split(file)
        if parent not in parents:
            parents[parent] = os.path.realpath(parent)
        return os.path.realpath(file) if os.path.islink(file) else os.path.join(parents[parent], name)  # noqa: PTH114, PTH118

    real = {p: where(Path(_file(str(f)))) for p, f in files.items()}
    return frozenset(p for p, at in real.items() if at in names or at.startswith(folders))


def _file(path: str) -> str:
    """The file that a path of a tree means: of a unit in a string that in which the string stands."""
    return split(path)[0]


def _has_comments(path: str, files: Mapping[str, Path]) -> bool:
    try:
        return not path.endswith(".ipynb") and b"cutecheck:" in read_bytes(files[path])
    except OSError:
        return False


def _errors_of(errors: Iterable[SourceError], changed: tuple[Path, ...] | None) -> list[SourceError]:
    """What could not be read; with ``changed`` only of those files."""
    if changed is None or any(f.is_dir() for f in changed):
        return list(errors)
    names = {f.name for f in changed}
    return [e for e in errors if PurePosixPath(e.path).name in names]
