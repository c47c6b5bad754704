"""Where the evaluation of a Python file starts: its module code, its driver, its tests, then what nobody called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cutecheck.facts import Span, SupposedCall, Unknown
from cutecheck.model.version import following_dsl
from cutecheck.source.dsl import classes, functions, modules, novelty, uncalled
from cutecheck.source.dsl.library import Library
from cutecheck.source.dsl.pytests import Tests
from cutecheck.source.dsl.semantics import DslDialect
from cutecheck.source.dsl.skipping import Skipped
from cutecheck.source.dsl.values import SPREAD
from cutecheck.source.eval import expressions, ir, statements  # noqa: F401  (register the node handlers)
from cutecheck.source.eval.budget import Budget, NothingNewError
from cutecheck.source.eval.limits import FILES_SHARE, Limits
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.record import Recorder
from cutecheck.source.eval.scope import ClassInst, Scope
from cutecheck.source.eval.trace import Tracing, TracingMachine, TracingRecorder
from cutecheck.source.eval.values import BudgetExceeded, FuncSet, Object

_VARIANTS = 12  # of the parameters of a test
_SOON = 6  # of them also where tests take many steps
_SHORT = 3  # share of a file's steps up to which there are others
_FEW = 16  # tests of a file that are run in their order
_OTHERS_SHARE = 6  # of the steps of a file: what one gets that is run for what it imports
Test = tuple[Span, list[Callable[[], object]]]


class Driver:
    """Runs one file as Python would: the last one to run is ``__main__``."""

    def __init__(self, library: Library, arch: str, limits: Limits, tracing: Tracing | None = None) -> None:
        self.library = library
        self.dialect = DslDialect(library)
        self.recorder = (Recorder if tracing is None else TracingRecorder)(arch, self._lines)
        given = (Program(), self.dialect, self.recorder, arch, Budget(limits, self._found, self._seen))
        self.machine = Machine(*given) if tracing is None else TracingMachine(tracing, *given)
        self.dialect.machine = self.machine
        self.cut: list[Unknown] = []
        self.limits = limits
        self.spent = 0  # evaluation steps of the whole file
        self.unrun = 0  # tests and functions that were left out when these were used up
        self.supposed: tuple[SupposedCall, ...] = ()  # the call that was supposed last
        self.given_up: dict[str, str] = {}  # what no call could be supposed of, and why
        self._most = limits.steps_per_root
        self._places_in: frozenset[str] | None = None
        self._places: tuple[int, int] = (0, 0)  # where something of CuTe was found, and steps used when the last was

    def about(self, files: frozenset[str]) -> None:
        """Run the file for what it comes to in these, which it imports: as long as it comes to new places there."""
        full = self.limits.steps_per_root
        self._most = full // _OTHERS_SHARE
        self._places_in = files
        self.machine.budget.limits = replace(self.limits, steps_per_root=max(1, full // 2))

    def _found(self) -> int:
        return len(self.recorder.sites) + len(self.recorder.events) + len(self.library.launches)

    def _seen(self) -> int:
        """At how many places something of CuTe was found."""
        recorder, only = self.recorder, self._places_in
        spans = {s.span for s in recorder.sites.values()} | {e.span for e in recorder.events.values()}
        return len(spans) if only is None else sum(s.path in only for s in spans)

    def _is_over(self) -> bool:
        """Whether the file had its steps. It has up to twice as many while its tests come to places that are new."""
        most = self._most
        if self.spent <= most:
            return False
        return self.spent > 2 * self.limits.steps_per_root or 2 * (self.spent - self._places[1]) > most

    def _look(self) -> None:
        count = self._seen()
        if count > self._places[0]:
            self._places = (count, self.spent)

    def _lines(self, path: str) -> list[str]:
        if path not in self.library.lines:
            text = self.library.texts.get(path)
            if text is None:
                return []
            self.library.lines[path] = text.split("\n")
        return self.library.lines[path]

    def run(self, file: Path, path: str) -> None:
        """The file as a script, then its tests."""
        span = Span(path, 1, 1, 1, 1)
        name = modules.module_name(path)
        scope: list[Scope] = []
        if self.guard(lambda: scope.append(modules.load(self.machine, name, file, main=True)), span, keep=True):
            return
        if not scope:
            key = "__main__ " + name
            known = modules.state(self.machine)["scopes"].get(key)
            if known is None:
                return
            scope.append(known)
        tests: list[Test] = []
        found: list[Tests] = []
        self.guard(lambda: found.append(Tests.of(self.machine, scope[0], file)), span)
        if any(t.left_out() for t in found):  # what its helpers do is of its tests
            return
        self.guard(lambda: tests.extend(found[0].all() if found else ()), span)
        for turn in range(_VARIANTS):  # each test once before any again: steps may run out
            if turn >= _SOON and _SHORT * self.spent > self._most:
                break
            for at, calls in _spread(tests):
                if turn < len(calls):
                    self.guard(calls[turn], at)
        self._uncalled(scope[0])

    def _uncalled(self, scope: Scope) -> None:
        """Functions and methods that nothing called: what is closed in them is still evaluated."""
        self.recorder.open = True
        try:
            own = list(scope.env.vars.values())
            for value in reversed(own):  # who calls others mostly stands after them
                if isinstance(value, FuncSet) and value.entries[0].env.namespace() is scope and uncalled.is_host(value):
                    self._if_new(value, None)
            for value in own:
                if isinstance(value, FuncSet) and value.entries[0].env.namespace() is scope:
                    self._if_new(value, None)
                elif isinstance(value, ClassInst) and value.env.namespace() is scope:
                    self._methods(value)
        finally:
            self.recorder.open = False

    def _methods(self, cls: ClassInst) -> None:
        """Those of an object that has what ``__init__`` gives it by default, as far as ``__call__`` reaches them.

        Then each that nothing calls on its own, of an object of which nothing is known: branches that the defaults do
        not take are looked at, too.
        """
        state = modules.state(self.machine)
        members = [f for f in cls.memo["space"].values() if isinstance(f, FuncSet)]
        init, call = classes.find(cls, "__init__"), cls.memo["space"].get("__call__")
        if isinstance(call, FuncSet):
            obj = Object(cls, {}, None, cls.name)
            if isinstance(init, FuncSet):
                self.walk(init, obj, keep=True)
            before = set(state.get("walked", ()))
            uncalled.look_at(self.machine, cls)
            self._if_new(call, obj)
            uncalled.look_at(self.machine, None)
            state["walked"] = before
        for member in members:
            if not member.entries[0].decl.name.startswith("__init"):
                self._if_new(member, uncalled.unmade(cls))

    def _if_new(self, fn: FuncSet, obj: Object | None) -> None:
        if id(fn.entries[0].decl) not in modules.state(self.machine).get("walked", ()):
            self.walk(fn, obj)

    def walk(self, fn: FuncSet, obj: Object | None, keep: bool = False) -> None:
        """A function with its defaults; what has none is unknown."""
        decl: ir.Function = fn.entries[0].decl
        if "deleted" in decl.flags:
            return
        args: list[object] = [] if obj is None or "static" in decl.flags else [obj]
        for p in decl.params[len(args) :]:
            if p.kind in ("varargs", "varkw", "keyword") or p.default is not None:
                args += [SPREAD] if p.kind == "varargs" else []
                break
            args.append(uncalled.argument(self.machine, decl, p))
        entry = fn.entries[0]
        self.guard(lambda: functions.run(self.machine, fn, entry, args, {}, decl.span), decl.span, keep)

    def guard(self, run: object, span: Span, keep: bool = False) -> bool:
        """Whether what was run said that it is to be skipped."""
        m = self.machine
        skipped = False
        if self._is_over():
            self.unrun += 1
            return False
        m.budget.restart()
        before = self._seen()
        mark = m.journal.mark()
        frame = m.recorder.frame
        try:
            with following_dsl():
                run()  # type: ignore[operator]
        except Skipped:
            skipped = True
        except NothingNewError:
            novelty.leave_out(m, f"{span.path}:{span.line}")
        except BudgetExceeded as error:
            most = self.limits.steps_per_root
            others = self._places_in is not None
            whole = m.budget.total + m.budget.used > FILES_SHARE * most
            if others or whole or (m.budget.used > most and self._seen() > before):
                self.unrun += 1  # not to its end
            else:
                self.cut.append(Unknown(str(error), span))
        except RecursionError:
            self.cut.append(Unknown("nesting too deep for the evaluator", span))
        except Exception as error:  # one driver must not hide the others: it becomes one line of the report
            m.recorder.internal("driver", span, error)
            self.cut.append(Unknown(f"internal error while evaluating this: {type(error).__name__}: {error}", span))
        self.spent += m.budget.used
        self._look()
        m.recorder.frame = frame
        if not keep:
            m.journal.undo(mark)
        return skipped


def _spread(tests: list[Test]) -> list[Test]:
    """Tests in an order in which no two neighbours of the file, which are mostly about one thing, come soon after one
    another: steps may run out."""
    if len(tests) <= _FEW:
        return tests
    bits = (len(tests) - 1).bit_length()
    return [tests[i] for i in sorted(range(len(tests)), key=lambda i: f"{i:0{bits}b}"[::-1])]


__all__ = ["ClassInst", "Driver", "classes"]
