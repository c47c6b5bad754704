"""From paths to facts: discovery, parsing, evaluation, collection."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cutecheck.facts import Call, Event, Facts, Launch, Lint, Predicate, Site, SmemBuffer, SourceError, Span, Unknown
from cutecheck.source.cpp import lower_expression
from cutecheck.source.cpp.semantics import CppDialect
from cutecheck.source.cpp.tree import TRANSLATION_UNITS, Tree, translation_units
from cutecheck.source.discover import discover, importing
from cutecheck.source.eval import expressions, ir, statements  # noqa: F401  (register the node handlers)
from cutecheck.source.eval.budget import Budget, Limits
from cutecheck.source.eval.machine import History, Machine
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.record import Recorder, kind_by_name
from cutecheck.source.eval.trace import Tracing, TracingMachine, TracingRecorder
from cutecheck.source.roots import Roots, left_open, templates_of

_LIBRARY = re.compile(r"(^|/)include/(cute|cutlass)/")
DEFAULT_ARCH = "sm_80"
MAX_SYNTAX_ERRORS = 1  # lines of a file that says it cannot be read; the first tells where to look
# an architecture of each generation, and the numbers (SM70 to SM120) that ask for it
ARCHITECTURES = {"sm_80": (70, 90), "sm_90a": (90, 100), "sm_100a": (100, 120), "sm_120a": (120, 130)}
_SM = re.compile(r"\bSM(\d\d\d?)_|__CUDA_ARCH__\s*>=?\s*(\d\d\d\d?)")


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """What to read and under which bindings. ``archs`` empty: what the sources' own names ask for.

    ``changed`` not None: of all that is read, these files and what includes or imports them is evaluated and reported.
    """

    paths: tuple[Path, ...]
    archs: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    changed: tuple[Path, ...] | None = None
    cutlass_version: str = ""
    jobs: int = 1
    limits: Limits = field(default_factory=Limits)
    tracing: Tracing | None = field(default=None, compare=False)  # filled when given


@dataclass(slots=True)
class _Collected:
    sites: dict[tuple[object, ...], Site] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    buffers: dict[tuple[str, str], SmemBuffer] = field(default_factory=dict)
    launches: dict[tuple[object, ...], Launch] = field(default_factory=dict)
    lints: dict[Span, Lint] = field(default_factory=dict)
    predicates: dict[tuple[object, ...], Predicate] = field(default_factory=dict)
    facts: dict[tuple[object, ...], Call] = field(default_factory=dict)
    errors: dict[tuple[str, str], SourceError] = field(default_factory=dict)
    calls: dict[str, tuple[tuple[Span, str], ...]] = field(default_factory=dict)
    inactive: set[Span] = field(default_factory=set)
    active: set[Span] = field(default_factory=set)
    reached: dict[tuple[str, str], dict[Span, object]] = field(default_factory=dict)
    reached_open: set[Span] = field(default_factory=set)
    internals: list[tuple[str, Span | None, BaseException]] = field(default_factory=list)


def extract(request: ExtractRequest) -> Facts:
    """Everything the sources say. Never raises for any content of the files."""
    found = discover((*request.paths, *(request.changed or ())), exclude=request.exclude)
    files = {f.path: f.file for f in found.files}
    wanted = [f.path for f in found.files if f.cute and not f.path.endswith((".py", ".ipynb"))]
    wanted_set = frozenset(wanted)
    user = tuple((name, value or "1") for name, _, value in (d.partition("=") for d in request.defines))
    tree = Tree({p: f for p, f in files.items() if not p.endswith((".py", ".ipynb"))}, request.include_dirs, user)
    reach = tree.reaching(frozenset(wanted))
    units = [p for p in files if p in reach and (p in wanted_set or p.endswith(TRANSLATION_UNITS))]
    python = [f.path for f in found.files if f.cute and f.path.endswith(".py")]
    if request.changed is not None:
        changed = {os.path.realpath(f) for f in request.changed}
        touched = frozenset(p for p, f in files.items() if os.path.realpath(f) in changed)
        depend = tree.reaching(touched & reach)
        units = [p for p in units if p in depend]
        python = importing(touched, python, files)
    out = _Collected()
    reported = frozenset(units)
    asked = {p: request.archs or _archs_of(p, tree, reported) for p in translation_units(units, tree, DEFAULT_ARCH)}
    archs = (
        [a for a in ARCHITECTURES if any(a in named for named in asked.values())]
        if not request.archs
        else request.archs
    )
    for arch in archs:
        run = _Run(arch, tree, reported, request, out)
        ordered = [p for p in translation_units(units, tree, arch) if arch in asked.get(p, archs)]
        for path in ordered:
            run.closed(path)
        for path in ordered:
            run.opened(path)
    scripts = {p: f for p, f in files.items() if p.endswith(".py")}
    if python:
        _python(scripts, python, request, out)
    _uncovered(out, archs[-1] if archs else "")
    return Facts(
        sites=tuple(sorted(out.sites.values(), key=lambda s: (s.span, s.symbol, s.arch))),
        events=tuple(sorted(out.events.values(), key=lambda e: (e.span, e.enclosing, e.arch))),
        buffers=tuple(sorted(out.buffers.values(), key=lambda b: (b.span, b.buffer_id, b.arch))),
        launches=tuple(sorted(out.launches.values(), key=lambda s: (s.span, s.kernel, s.arch))),
        calls=tuple(sorted(out.facts.values(), key=lambda c: (c.span, c.enclosing, c.arch))),
        lints=tuple(sorted(out.lints.values(), key=lambda s: s.span)),
        predicates=tuple(sorted(out.predicates.values(), key=lambda p: (p.span, p.buffer, p.enclosing, p.arch))),
        errors=(*_errors_of(found.errors, request.changed), *out.errors.values()),
        files=len(found.files),
        files_with_cute=len(wanted_set if request.changed is None else wanted_set & reported) + len(python),
        cutlass_version=request.cutlass_version,
    )


def _errors_of(errors: Iterable[SourceError], changed: tuple[Path, ...] | None) -> list[SourceError]:
    """What could not be read; with ``changed`` only of those files."""
    names = None if changed is None else {f.name for f in changed}
    return [e for e in errors if names is None or PurePosixPath(e.path).name in names]


def _python(scripts: dict[str, Path], wanted: list[str], request: ExtractRequest, out: _Collected) -> None:
    """Every Python file that names CuTe, run as a script."""
    from cutecheck.source.dsl import extract as dsl

    reported = frozenset(scripts if request.changed is None else wanted)
    for path, driver in dsl.runs(
        scripts, wanted, request.paths, request.archs, request.limits,
        request.instantiate, request.include_dirs, request.tracing,
    ):  # fmt: skip
        unit = driver.library.unit(scripts[path])
        _note_unit(unit, out)
        for error in dsl.unit_errors(unit, scripts[path]):
            out.errors.setdefault((error.path, error.message), error)
        for unknown in driver.cut:
            where = unknown.span.path if unknown.span is not None else path
            out.errors.setdefault((where, unknown.reason), SourceError(where, unknown.reason, unknown.span))
        driver.recorder.flush_loose()
        _merge(driver.recorder, reported, out)


def _archs_of(path: str, tree: Tree, reported: frozenset[str]) -> tuple[str, ...]:
    """The architectures a translation unit speaks of: the atoms and guards of its own files, not of CUTLASS's."""
    numbers: set[int] = set()
    for p in tree.closure(path, DEFAULT_ARCH):
        if p == path or (p in reported and not _LIBRARY.search(p)):
            numbers.update(int(a) if a else int(b) // 10 for a, b in _SM.findall(tree.text(p)))
    named = tuple(arch for arch, (low, high) in ARCHITECTURES.items() if any(low <= n < high for n in numbers))
    return named or (DEFAULT_ARCH,)


@dataclass(frozen=True, slots=True)
class _Run:
    """One architecture of one request."""

    arch: str
    tree: Tree
    reported: frozenset[str]
    request: ExtractRequest
    out: _Collected
    history: History = field(default_factory=History)

    def closed(self, path: str) -> None:
        """Everything that a translation unit instantiates."""
        program, closure = self._program(path)
        roots = self._roots(program, closure)
        asked = [(node, scope.env) for node, scope, _ in program.instantiate]
        asked += [
            (lower_expression(text, "<instantiate>"), program.root.env)
            for text in self.request.instantiate
            if _names(text, program)
        ]
        roots.run(asked)
        self._collect(roots, path)

    def opened(self, path: str) -> None:
        """The templates of a translation unit that nothing in the run instantiated."""
        if not any(p in self.reported and self._left_open(p) for p in self.tree.closure(path, self.arch)):
            return
        program, closure = self._program(path)
        roots = self._roots(program, closure)
        roots.run_open()
        self._collect(roots, path)

    def _left_open(self, path: str) -> bool:
        unit = self.tree.unit(path, self.arch)
        return unit is not None and any(left_open(d, self.history) for d in templates_of(unit))

    def _program(self, path: str) -> tuple[Program, list[str]]:
        program = Program()
        closure = self.tree.closure(path, self.arch)
        for p in closure:
            unit = self.tree.unit(p, self.arch)
            if unit is not None:
                program.add(unit)
                if p in self.reported:
                    _note_unit(unit, self.out)
        return program, closure

    def _roots(self, program: Program, closure: list[str]) -> Roots:
        tracing = self.request.tracing
        recorder = (Recorder if tracing is None else TracingRecorder)(self.arch, self.tree.lines)
        given = (program, CppDialect(), recorder, self.arch, Budget(self.request.limits), self.history)
        m = Machine(*given) if tracing is None else TracingMachine(tracing, *given)
        return Roots(m, self.reported & set(closure))

    def _collect(self, roots: Roots, path: str) -> None:
        roots.m.recorder.flush_loose()
        for unknown in roots.cut:
            where = unknown.span.path if unknown.span is not None else path
            self.out.errors.setdefault((where, unknown.reason), SourceError(where, unknown.reason, unknown.span))
        _merge(roots.m.recorder, self.reported, self.out)


def _names(text: str, program: Program) -> bool:
    """True when the class or function that an ``instantiate`` binding names is declared in the program."""
    name = text.split("<", maxsplit=1)[0].strip().split("::")[-1]
    return any(name in s for s in _scopes(program))


def _scopes(program: Program) -> Iterable[dict[str, object]]:
    stack = [program.root]
    while stack:
        at = stack.pop()
        yield at.decls  # type: ignore[misc]
        stack.extend(at.children.values())


def _note_unit(unit: ir.Unit, out: _Collected) -> None:
    out.calls[unit.path] = unit.calls
    inactive = {n.span for n in unit.notes if n.kind == "inactive"}
    out.active.update(span for span, _ in unit.calls if span not in inactive)
    out.inactive.update(inactive)
    broken = [n for n in unit.notes if n.kind == "error"]
    for n in broken[:MAX_SYNTAX_ERRORS]:
        more = f" ({len(broken)} such places in this file)" if len(broken) > 1 else ""
        message = f"syntax that cannot be read here: {n.text}{more}; the rest of the file is read"
        out.errors.setdefault((unit.path, f"{n.span}"), SourceError(unit.path, message, n.span))


def _merge(recorder: Recorder, reported: frozenset[str], out: _Collected) -> None:
    for key, site in recorder.sites.items():
        if site.span.path not in reported:
            continue
        full = (*key, site.arch)
        old = out.sites.get(full)
        if old is None or _better(site, old):
            out.sites[full] = site
    for event in recorder.events.values():
        if event.span.path in reported:
            old_event = out.events.get(event.event_id)
            if old_event is None or (old_event.reason is not None and event.reason is None):
                out.events[event.event_id] = event
    for b in recorder.buffer_facts():
        out.buffers.setdefault((b.buffer_id, b.arch), b)
    for s in recorder.launches.values():
        of = s.kernel if s.origin != "attribute" else f"{s.kernel} {s.smem_bytes}"
        out.launches.setdefault((s.span, of, s.arch), s)
    out.lints.update({s: lint for s, lint in recorder.lints.items() if s.path in reported})
    for key, predicate in recorder.predicates.items():
        if predicate.span.path in reported:
            out.predicates.setdefault((*key, predicate.arch), predicate)
    for key, fact in recorder.calls.items():
        if fact.span.path in reported:
            out.facts.setdefault((*key, fact.arch), fact)
    for place, values in recorder.reached.items():
        out.reached.setdefault(place, {}).update(values)
    out.reached_open |= recorder.reached_open
    out.internals.extend(recorder.internals)


_RANK = {"resolved": 0, "symbolic": 1, "unknown": 2, "unbound": 3, "dead": 4}


def _better(new: Site, old: Site) -> bool:
    return _RANK[new.status] < _RANK[old.status]


def _uncovered(out: _Collected, arch: str) -> None:
    """Places that the name scan found and no site covers: unbound, unknown or dead, each with its reason."""
    covered: dict[str, list[Span]] = {}
    for s in out.sites.values():
        covered.setdefault(s.call_span.path, []).append(s.call_span)
    for path, calls in out.calls.items():
        spans = covered.get(path, [])
        for span, name in calls:
            if any(c.holds(span) for c in spans):
                continue
            places = out.reached.get((span.path, name), {})
            at, reached = next(((s, v) for s, v in places.items() if s.holds(span)), (span, None))
            if span in out.inactive and span not in out.active:
                status, reason = "dead", "inside a preprocessor branch that is off for every architecture of this run"
            elif isinstance(reached, Unknown):
                status, reason = "unbound" if at in out.reached_open else "unknown", reached.reason
            else:
                status, reason = "unbound", "nothing in the scanned files instantiates or calls the code around it"
            ident = f"{span}:{arch}"
            out.sites[(span, arch)] = Site(
                ident, kind_by_name(name, ""), name, span, span, (), arch, status, None, Unknown(reason, span)  # type: ignore[arg-type]
            )  # fmt: skip
