"""Trying fixes: edit in memory, check and prove again, keep what helps and harms nothing, put the rest back."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from cutecheck.engine.check import internal_error
from cutecheck.engine.fixes.bench import Bench, Proposal
from cutecheck.engine.fixes.files import Files
from cutecheck.engine.fixes.judge import COSTS, problem
from cutecheck.engine.fixes.remedies import proposals
from cutecheck.engine.fixes.text import Change, SourceText, overlap
from cutecheck.engine.fixes.trial import Trial, changes_of
from cutecheck.facts import SourceError
from cutecheck.findings import Finding, Fix
from cutecheck.records import record
from cutecheck.report.data import Report
from cutecheck.rules import Context
from cutecheck.source.files import held

MAX_ROUNDS = 200
_NOT_ALIKE = ("CUT601", "CUT602")  # copies of other elements, or of elements that others own
_MORE = 6  # fixes that are tried for a finding that another fix brought up
Key = tuple[object, ...]
Checked = tuple[Report, Context]
Checker = Callable[[], Checked]
Todo = list[tuple[Finding, Proposal]]


@record(frozen=True, slots=True)
class Applied:
    """One fix that was tried: ``problem`` says why it was rolled back, empty where it stays."""

    finding: Finding
    fix: Fix
    problem: str = ""


@dataclass(slots=True)
class FixRun:
    """The result: the report of the edited sources, their contents by file, what stayed and what was rolled back."""

    report: Report
    contents: dict[Path, bytes] = field(default_factory=dict)
    originals: dict[Path, SourceText] = field(default_factory=dict)
    applied: list[Applied] = field(default_factory=list)
    rolled_back: list[Applied] = field(default_factory=list)


def fix_all(paths: tuple[Path, ...], checker: Checker, unsafe: bool) -> FixRun:
    """Fix what can be fixed. ``checker`` checks the sources as they are held; nothing is written.

    A round tries the first fix of every finding that no other overlaps, together; where that does not work out, half
    of them, down to one. A fix stays when its finding is gone, no finding is new, no proof was lost and nothing that
    was understood is unknown. A fix that brings up a finding may stay together with the fix of that one.
    """
    run = _Run(paths, checker, unsafe, checker())
    for _ in range(MAX_ROUNDS):
        if not run.round():
            break
    return run.result()


class _Run:
    def __init__(self, paths: tuple[Path, ...], checker: Checker, unsafe: bool, state: Checked) -> None:
        self.paths, self.checker, self.unsafe, self.state = paths, checker, unsafe, state
        self.out = FixRun(state[0])
        self.tried: set[Key] = set()
        self.failures: dict[SourceError, None] = {}

    def round(self) -> bool:
        """One round; False when there is nothing left to try."""
        with held(self.out.contents):
            files = Files(self.paths)
            bench = Bench(self.state[1], files, thorough=True)
            todo = self._candidates(bench)
            batch = _disjoint(todo, files)
            if not batch:
                return False
            trial = Trial(self.out.contents)
            while len(batch) > 1:
                if self._kept(trial.then([p.fix for _, p in batch], files), batch, files):
                    return True
                batch = batch[: len(batch) // 2]
            self._single(batch[0], files)
        return True

    def _candidates(self, bench: Bench) -> Todo:
        """The first untried fix of every finding; better kinds of remedy first, which may help others, too."""
        found = []
        apart = {(f.span, f.arch) for f in self.state[0].findings if f.code in _NOT_ALIKE}
        for finding in self.state[0].findings:
            if finding.code in COSTS and (finding.span, finding.arch) in apart:
                continue  # of a copy that moves the wrong elements
            for proposal in self._proposals(finding, bench):
                if (self.unsafe or proposal.fix.safe) and _key(finding, proposal.fix, bench.files) not in self.tried:
                    found.append((finding, proposal))
                    break
        best = min((p.rank for _, p in found), default=0)
        return [(f, p) for f, p in found if p.rank == best]

    def _proposals(self, finding: Finding, bench: Bench) -> list[Proposal]:
        try:
            return proposals(finding, bench)
        except Exception as error:
            self.failures[internal_error(f"the fixes of {finding.code}", error, finding.span)] = None
            return []

    def _kept(self, trial: Trial | None, batch: Todo, files: Files) -> bool:
        """Check a trial of several fixes, and keep it where nothing speaks against it."""
        if trial is None:
            return False
        with held(trial.contents):
            after = self.checker()
        if problem(self.state[0], after[0], [f for f, _ in batch], trial, self._loose(), _uncover(batch)) is not None:
            return False
        self._keep(trial, batch, after, files)
        return True

    def _single(self, one: tuple[Finding, Proposal], files: Files) -> None:
        """Try one fix, and with it the fixes of what it brings up."""
        finding, proposal = one
        trial = Trial(self.out.contents).then([proposal.fix], files)
        text = "the edit cannot be made in the file's encoding"
        if trial is not None:
            with held(trial.contents):
                after = self.checker()
                wrong = problem(self.state[0], after[0], [finding], trial, self._loose(), _uncover([one]))
                if wrong is None:
                    self._keep(trial, [one], after, files)
                    return
                if wrong.new and self._together(one, trial, after, wrong.new[0], files):
                    return
                text = wrong.text
        self.tried.add(_key(finding, proposal.fix, files))
        self.out.rolled_back.append(Applied(finding, proposal.fix, text))

    def _together(
        self, first: tuple[Finding, Proposal], trial: Trial, state: Checked, new: Finding, files: Files
    ) -> bool:
        """Try the fixes of a new finding on top; all or none of them stay. Sources are held as ``trial`` has them."""
        edited = Files(self.paths)
        more = [p for p in self._proposals(new, Bench(state[1], edited, thorough=True)) if self.unsafe or p.fix.safe]
        for proposal in more[:_MORE]:
            both = trial.then([proposal.fix], edited)
            if both is None:
                continue
            with held(both.contents):
                after = self.checker()
            if problem(self.state[0], after[0], [first[0]], both, self._loose(), _uncover([first])) is None:
                self._keep(both, [first, (new, proposal)], after, files)
                return True
        return False

    def _loose(self) -> Set[Key]:
        """Shared memory that safe fixes leave as it is; empty where unsafe ones are asked for."""
        if self.unsafe:
            return frozenset()
        bench = Bench(self.state[1], Files(self.paths))
        return {(b.buffer_id, b.arch) for b in self.state[0].facts.buffers if bench.loose(b)}

    def _keep(self, trial: Trial, batch: Todo, after: Checked, files: Files) -> None:
        for step in trial.steps:
            for source in step.before.values():
                self.out.originals.setdefault(source.file, source)
        self.out.contents = dict(trial.contents)
        self.state = after
        for finding, proposal in batch:
            self.tried.add(_key(finding, proposal.fix, files))
            self.out.applied.append(Applied(finding, proposal.fix))

    def result(self) -> FixRun:
        """The run; what was rolled back and later fixed another way is no news."""
        report = self.state[0]
        self.out.report = replace(report, failures=tuple(dict.fromkeys((*report.failures, *self.failures))))
        fixed = {_of(a.finding) for a in self.out.applied}
        self.out.rolled_back = [a for a in self.out.rolled_back if _of(a.finding) not in fixed]
        return self.out


def _uncover(batch: Todo) -> bool:
    """Only what an access is said of changes, not the access."""
    return all(p.uncovers for _, p in batch)


def _of(finding: Finding) -> Key:
    return finding.code, finding.message, finding.enclosing, finding.arch


def _key(finding: Finding, fix: Fix, files: Callable[[str], SourceText | None]) -> Key:
    """A fix by what it does, whatever line it has moved to."""
    texts = []
    for edit in fix.edits:
        source = files(edit.span.path)
        if source is not None:
            try:
                begin, end = source.region(edit.span)
            except ValueError:
                continue
            texts.append((edit.span.path, source.text[begin:end], edit.replacement, _line(source, begin)))
    return (*_of(finding), fix.title, tuple(texts))


def _line(source: SourceText, at: int) -> str:
    begin = source.text.rfind("\n", 0, at) + 1
    return source.text[begin : source.text.find("\n", at)]


def _disjoint(todo: Todo, files: Files) -> Todo:
    """Fixes in order, without those that overlap an earlier one."""
    taken: dict[str, list[Change]] = {}
    kept = []
    for finding, proposal in todo:
        changes = changes_of(proposal.fix, files)
        if changes is None or any(
            overlap(c, d) for path, some in changes.items() for c in some for d in taken.get(path, ())
        ):
            continue
        for path, some in changes.items():
            taken.setdefault(path, []).extend(some)
        kept.append((finding, proposal))
    return kept
