"""One translation unit to facts: what a worker does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from cutecheck.facts import SourceError
from cutecheck.records import record
from cutecheck.source.bystanders import Bystanders
from cutecheck.source.chores import Chores
from cutecheck.source.collect import Collected, collect, note_unit
from cutecheck.source.cpp.errors import Refused, refused
from cutecheck.source.cpp.semantics import CppDialect
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.entrances import Entrances
from cutecheck.source.eval import ir
from cutecheck.source.eval.budget import Budget
from cutecheck.source.eval.handed import Callers, Handed
from cutecheck.source.eval.launches import Attempt, Launches, neighbourhood
from cutecheck.source.eval.limits import FILES_SHARE, Limits
from cutecheck.source.eval.linkage import of_its_own
from cutecheck.source.eval.machine import History, Machine
from cutecheck.source.eval.program import Program, is_cute_header, takes_value_layouts
from cutecheck.source.eval.record import Recorder
from cutecheck.source.eval.record.sayings import Sayings
from cutecheck.source.eval.trace import Tracing, TracingMachine, TracingRecorder
from cutecheck.source.handing import hands_on
from cutecheck.source.linking import join, unmet
from cutecheck.source.relevance import Relevance, Words, is_root
from cutecheck.source.roots import Roots, left_open, templates_of
from cutecheck.source.vocabulary import names_cute
from cutecheck.source.wishes import wishes

_TILED_MMA = "cute/atom/mma_atom.hpp"  # the header of CuTe that has TiledMMA

Template = tuple[str, int]  # a file, and the position of a template in it


@record(frozen=True, slots=True)
class Job:
    """A translation unit for one architecture.

    ``owned`` are the files of its closure whose own declarations are evaluated here. ``open`` not None: instead of
    what the unit instantiates, these templates under open parameters. ``handing``: functions that other units define,
    the calls of which are wanted; ``given``: what other units know of the functions that this one defines; ``helpers``:
    functions that it calls of files without CuTe, with these.
    """

    arch: str
    path: str
    owned: frozenset[str]
    open: tuple[Template, ...] | None = None
    handing: frozenset[str] = frozenset()
    given: tuple[Callers, ...] = ()
    helpers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Part:
    """The facts of a job. ``templates`` counts those of each owned file; ``instantiated`` are those met.

    ``handed``: the calls of functions of other units; ``unsure``: those of which it may have others.
    """

    facts: Collected = field(default_factory=Collected)
    attempts: tuple[Attempt, ...] = ()
    templates: dict[str, int] = field(default_factory=dict)
    instantiated: frozenset[Template] = frozenset()
    handed: tuple[Handed, ...] = ()
    unsure: Set[str] = frozenset()
    refused: Refused | None = None  # the `#error` that preprocessing reaches
    seconds: float = field(default=0.0, compare=False)  # of the processor, that its evaluation took


@dataclass(slots=True)
class Translator:
    """Evaluates jobs over one tree.

    ``reported`` are the files whose sites are wanted, ``others`` those of the tree whose kernels are left to a run that
    reports them, ``beneath`` those of the tree that neither name CuTe nor include what does: headers of barriers and
    waits, whose steps are the kernels' that include them.
    """

    tree: Tree
    reported: frozenset[str]
    limits: Limits
    instantiate: tuple[str, ...] = ()
    tracing: Tracing | None = None
    others: frozenset[str] = frozenset()
    beneath: frozenset[str] = frozenset()
    _templates: dict[tuple[str, str], list[ir.Decl]] = field(default_factory=dict)
    _words: dict[str, Words] = field(default_factory=dict)
    _named: dict[str, bool] = field(default_factory=dict)  # files that name CuTe

    def run(self, job: Job, launches: Launches) -> Part:
        """The facts of a job after ``launches``, which learn what was walked here."""
        launches.attempts, launches.place = [], neighbourhood(job.path, self.limits)
        began = time.process_time()
        try:
            part = self._run(job, launches)
        except Exception as error:  # one unit must not hide the others: it becomes one line of the report
            part = Part(attempts=tuple(launches.attempts))
            said = f"internal error while reading this: {type(error).__name__}: {error}"
            part.facts.errors[job.path, said] = SourceError(job.path, said)
        part.seconds = time.process_time() - began
        return part

    def _run(self, job: Job, launches: Launches) -> Part:
        closure = self.tree.closure(job.path, job.arch)
        own = self._units([p for p in closure if p in self.reported], job.arch)
        part = Part(refused=None if job.open is not None else refused(self.tree, job.path, job.arch))
        for unit in own:
            if unit.path in job.owned:
                note_unit(unit, part.facts)
        part.templates = {p: len(self._templates_of(p, job.arch)) for p in closure if p in job.owned}
        if self.others and not self.instantiate and not job.handing and all(hands_on(unit) for unit in own):
            return part
        units = self._units(closure, job.arch)
        relevance = self._relevance(job, units)
        names_cute = bool(job.handing) or any(
            self._names_cute(p) for p in (*closure, *self.tree.fragments(job.path, job.arch))
        )
        if not names_cute or not self._matters(job, units, relevance):
            part.unsure = unmet(units, job.handing, set(), self.tree)
            return part
        program = Program()
        program.value_layouts = any(
            p.endswith(_TILED_MMA) and is_cute_header(p) and self.tree.once(p, takes_value_layouts) for p in closure
        )
        for unit in units:
            program.add(unit)
        for path in dict.fromkeys(path for _, path in job.helpers):
            join(program, self._units(self.tree.closure(path, job.arch), job.arch), path)
        if job.given:
            taken = unmet(units, frozenset(c.name for c in job.given), None, self.tree)  # called by who has the address
            job = replace(job, given=tuple(replace(c, complete=c.complete and c.name not in taken) for c in job.given))
        roots = self._roots(job, program, relevance, launches)
        if job.open is None:
            roots.run(wishes(program, self.instantiate))
        else:
            wanted = set(job.open)
            roots.run_open(
                frozenset(
                    decl
                    for path in {p for p, _ in wanted}
                    for decl, position in self._templates_of(path, job.arch).items()
                    if (path, position) in wanted
                )
            )
        self._finish(job, roots, closure, part)
        if job.handing:
            part.handed = tuple(roots.m.recorder.handed)
            limited = roots.cut or roots.m.recorder.cut or roots.m.budget.refused
            history = roots.m.history
            others = frozenset(name for name in job.handing if not of_its_own(program, name))
            unsure = history.unsure | unmet(units, others, history.met, self.tree, history.left)
            part.unsure = frozenset(u for u in unsure if u.rpartition("::")[2] in job.handing)
            part.unsure = job.handing if limited else part.unsure
        part.attempts = tuple(launches.attempts)
        return part

    def _units(self, paths: Sequence[str], arch: str) -> list[ir.Unit]:
        return [u for p in paths if (u := self.tree.unit(p, arch)) is not None]

    def _names_cute(self, path: str) -> bool:
        known = self._named.get(path)
        if known is None:
            file = self.tree.file(path)
            text = "" if file is None else file.stripped
            known = self._named[path] = names_cute(text) or "cutecheck:" in self.tree.text(path)
        return known

    def _roots(self, job: Job, program: Program, relevance: Relevance, launches: Launches) -> Roots:
        tracing = self.tracing
        recorder = (Recorder if tracing is None else TracingRecorder)(job.arch, self.tree.lines)
        if not self.limits.twins:  # of a whole library none of its kernels is run for what may have been edited
            recorder.asked = self.reported
        budget = Budget(self.limits, recorder.progress)
        if job.open is not None:
            budget.look_around(Sayings(recorder), FILES_SHARE * self.limits.idle_steps)
        history = History(launches)
        history.handing = job.handing
        if self.others:
            history.wanted = Bystanders(relevance, self.others, self.reported).wanted
        chores = Chores(relevance, self._words[job.arch], self.limits.coarse)
        history.chore, history.tells = chores.one, chores.tells
        history.entrances = Entrances(self._words[job.arch], relevance).of
        given = (program, CppDialect(), recorder, job.arch, budget, history)
        m = Machine(*given) if tracing is None else TracingMachine(tracing, *given)
        return Roots(m, self.reported & program.units.keys(), job.owned, relevance.matters, job.given)

    def _relevance(self, job: Job, units: list[ir.Unit]) -> Relevance:
        spelled = self._words.setdefault(job.arch, Words(self.tree, job.arch))
        if self.instantiate or any(spelled.file(unit).asks for unit in units):
            return Relevance(spelled, units, None, job.handing)
        if job.open is None:
            own = [named for unit in units if unit.path in job.owned for named in spelled.file(unit).named]
            return Relevance(spelled, units, [(decl, path) for _, decl, path in own if is_root(decl)], job.handing)
        return Relevance(spelled, units, [(decl, path) for decl, path, _ in self._wanted(job)])

    def _wanted(self, job: Job) -> Iterator[tuple[ir.Decl, str, int]]:
        """The templates of a job under open parameters."""
        wanted = set(job.open or ())
        for path in {p for p, _ in wanted}:
            for position, decl in enumerate(self._open_in(path, job.arch)):
                if (path, position) in wanted:
                    yield decl, path, position

    def _matters(self, job: Job, units: list[ir.Unit], relevance: Relevance) -> bool:
        """Whether anything that the job evaluates can come to something of CuTe."""
        if job.open is not None:
            return any(relevance.matters(decl, path) for decl, path, _ in self._wanted(job))
        return (
            bool(self.instantiate)
            or any(self._words[job.arch].file(unit).asks for unit in units)
            or any(relevance.any_root(unit) for unit in units if unit.path in job.owned)
        )

    def _finish(self, job: Job, roots: Roots, closure: list[str], part: Part) -> None:
        recorder, history = roots.m.recorder, roots.m.history
        recorder.flush_loose()
        for unknown in roots.cut:
            where = unknown.span.path if unknown.span is not None else job.path
            part.facts.errors.setdefault((where, unknown.reason), SourceError(where, unknown.reason, unknown.span))
        if not any(launch.origin != "attribute" for launch in recorder.launches.values()):  # none was walked
            recorder.launches = {k: a for k, a in recorder.launches.items() if a.span.path not in self.others}
        collect(recorder, self.reported, part.facts, self.beneath)
        met = history.functions | history.classes
        part.instantiated = frozenset(
            (path, position)
            for path in closure
            if path in self.reported
            for decl, position in self._templates_of(path, job.arch).items()
            if decl in met
        )

    def _templates_of(self, path: str, arch: str) -> dict[int, int]:
        """Positions of the templates of a file that may be left open, by the ``id`` of their declaration."""
        return {id(d): i for i, d in enumerate(self._open_in(path, arch))}

    def _open_in(self, path: str, arch: str) -> list[ir.Decl]:
        """The templates of a file that may be left open."""
        key = (path, arch)
        if key not in self._templates:
            unit = self.tree.unit(path, arch)
            none_met = History(Launches(self.limits))
            self._templates[key] = [] if unit is None else [d for d in templates_of(unit) if left_open(d, none_met)]
        return self._templates[key]
