"""Where evaluation starts, and its fixpoint over the classes that are instantiated on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import classes, ir, lookup, overloads
from cutecheck.source.eval.budget import NothingFoundError, NothingNewError
from cutecheck.source.eval.calls import STREAM, instance_symbol, run_function
from cutecheck.source.eval.entrances import enter, reached, refused
from cutecheck.source.eval.handed import Callers, of_function, taken
from cutecheck.source.eval.machine import History, Machine
from cutecheck.source.eval.made_once import declared_value
from cutecheck.source.eval.ranking import best_of
from cutecheck.source.eval.reruns import replay
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.specialised import arguments
from cutecheck.source.eval.symbolic import symbolic_parameter
from cutecheck.source.eval.templates import bind
from cutecheck.source.eval.types import class_name, spell
from cutecheck.source.eval.values import BudgetExceeded, ExternType, FuncSet, Pack, SubstitutionFailure, Value
from cutecheck.source.uncalled import Uncalled
from cutecheck.source.wishes import declared

_GENERATIONS = 32


def templates_of(unit: ir.Unit) -> list[ir.Decl]:
    """The class and function templates of a file, namespaces descended into."""
    out: list[ir.Decl] = []
    stack = list(unit.decls)
    while stack:
        decl = stack.pop()
        if isinstance(decl, ir.Namespace):
            stack.extend(decl.members)
        elif isinstance(decl, (ir.Class, ir.Function)) and decl.tparams is not None:
            out.append(decl)
    return out


def left_open(decl: ir.Decl, history: History) -> bool:
    """True for a template that nothing has instantiated so far."""
    if isinstance(decl, ir.Class):
        return decl.tparams is not None and not decl.forward and id(decl) not in history.classes
    return (
        isinstance(decl, ir.Function)
        and decl.tparams is not None
        and decl.body is not None
        and id(decl) not in history.functions
    )


class Roots:
    """Runs the roots of one program.

    ``reported`` are the files whose sites are wanted, ``owned`` those of them whose own declarations are roots here: a
    header's are roots of one translation unit only. Those that do not matter (``matters``) are left out. ``given``: of
    functions that other units call what these calls know.
    """

    def __init__(
        self,
        m: Machine,
        reported: frozenset[str],
        owned: frozenset[str],
        matters: Callable[[ir.Decl, str], bool],
        given: Iterable[Callers] = (),
    ) -> None:
        self.m = m
        self.reported = reported
        self.owned = owned
        self.matters = matters
        self.given = {callers.name: callers for callers in given}
        self.cut: list[Unknown] = []
        self._done = 0
        self._met_in: dict[int, int] = {}  # of an instance in whose members another was met
        self._kernels: list[tuple[str, overloads.Candidate, list[Value]]] = []  # that were walked without a launch

    def run(self, instantiate: Iterable[tuple[ir.Instantiate, Sequence[Env]]]) -> None:
        """``instantiate``: what is asked for, each over the template arguments of a type if one is given, and where its
        names are looked up: in the first scope that has them."""
        self._guard(partial(self._all, instantiate), None)

    def _all(self, instantiate: Iterable[tuple[ir.Instantiate, Sequence[Env]]]) -> None:
        m = self.m
        uncalled = Uncalled(m, self._guard, self.matters, self.reported, self.owned, self.given)
        for wish, scopes in instantiate:
            each = wish.each
            named, env = self._named(wish, scopes)
            for value in named:
                if isinstance(value, ClassInst):
                    uncalled.methods(value)
                elif isinstance(value, FuncSet):
                    for targs in (value.targs,) if each is None else self._each(each, env):
                        self._function(replace(value, targs=targs), wish.params, env)
            self.fixpoint()
        entries = [e for e in m.program.entries() if e.unit.path in self.owned and self._matters(e)]
        for e in entries:
            self._declared(e)
        self.fixpoint()
        for e in self._callers_first(entries):
            if isinstance(e.decl, ir.Function) and (e.decl.name in self.given or not self._walked(e.decl)):
                self._walk(e, e.decl, e.env)
                self.fixpoint()
        self._enter()
        uncalled.define()
        self.fixpoint()
        while uncalled.run():
            self.fixpoint()
        launched = {launch.kernel for launch in m.recorder.launches.values() if launch.origin == "launch"}
        for symbol, kernel, args in self._kernels:
            if symbol not in launched and m.recorder.threads_of(symbol) > 1 and self._is_whole(symbol, kernel):
                self._guard(partial(replay, m, kernel, None, args, symbol, kernel.fn.span), kernel.fn.span)

    def _named(self, wish: ir.Instantiate, scopes: Sequence[Env]) -> tuple[list[Value], Env]:
        """What a wish names, in the first scope that has it; noted where it was asked for by hand and none has."""
        m = self.m
        named: list[Value] = []
        for env in scopes:
            named = []
            known = len(m.history.named)
            self._guard(lambda env=env, named=named: named.append(m.eval(wish.target, env)), wish.target.span)
            for key in list(m.history.named)[known:]:
                del m.history.named[key]  # an instantiation takes no address: which overload it is its parameters say
            if any(not isinstance(v, Unknown) for v in named):
                break
        if wish.asked:
            why = _unmet(named)
            if any(isinstance(v, Unknown) for v in named) and (others := declared(m.program, wish.asked)):
                why += f" (there is `{'`, `'.join(others)}`)"
            m.recorder.wishes[wish.span.path, wish.asked] = (wish.span, why)
        return named, env

    def _is_whole(self, symbol: str, kernel: overloads.Candidate) -> bool:
        """Its threads wait for each other: at barriers in memory, or at any in a kernel instantiated for its own sake.

        Others that nothing launches may be parts of one, which read what nothing of theirs writes.
        """
        own = [c for c in self.m.recorder.calls.values() if c.kernel == symbol and c.function != STREAM]
        meets = any(isinstance(c.result, Unknown) and c.result.reason == "a barrier" for c in own)
        return any(c.subject for c in own) or (meets and bool(kernel.fn.tparams))

    def _enter(self) -> None:
        """The kernels of classes that are instantiated, and that no walk came to."""
        m = self.m
        position = 0
        while position < len(m.recorder.instances):
            inst = m.recorder.instances[position]
            position += 1
            leading = m.history.entrances(inst)
            if leading.first and not reached(m, inst, leading):
                m.budget.forgive()
                self._guard(lambda inst=inst: refused(m, inst) or enter(m, inst, inst.decl.span), inst.decl.span)
                self.fixpoint()

    def run_open(self, decls: frozenset[int]) -> None:
        """Templates (by ``id``) that no translation unit instantiated, with open parameters."""
        entries = [e for e in self.m.program.entries() if id(e.decl) in decls and self._matters(e)]
        self._guard(partial(self._open, entries), None)

    def _matters(self, e: Entry) -> bool:
        return not isinstance(e.decl, tuple) and self.matters(e.decl, e.unit.path)

    def _callers_first(self, entries: list[Entry]) -> list[Entry]:
        """Functions that are no templates: what a caller passes is known before a callee is walked on its own.

        Functions without parameters, then host and device functions, then kernels; each from the end of the files,
        where callers stand. What a walk reached is not walked again with open arguments.
        """
        plain = [
            e
            for e in reversed(entries)
            if isinstance(e.decl, ir.Function) and not e.decl.tparams and e.decl.body is not None
        ]

        def rank(e: Entry) -> int:
            fn = e.decl
            assert isinstance(fn, ir.Function)
            return 2 if "kernel" in fn.flags else 1 if fn.params else 0

        return sorted(plain, key=rank)

    def _each(self, node: ir.Expr, env: Env) -> list[tuple[Value, ...]]:
        """The template arguments of a type, one a tuple."""
        found: list[Value] = []
        self._guard(lambda: found.append(self.m.eval(node, env)), node.span)
        listed = [a for value in found if isinstance(value, (ExternType, ClassInst)) for a in value.args]
        return [(a,) for of in listed for a in (of.items if isinstance(of, Pack) else (of,))]

    def _function(self, value: FuncSet, params: Sequence[ir.Param] | None, env: Env) -> None:
        """``template __global__ void kernel<...>(...);``: the function under these template arguments."""
        entries = [e for e in value.entries if isinstance(e.decl, ir.Function) and e.decl.tparams and e.decl.body]
        if params is not None:
            found: list[overloads.Candidate] = []
            self._guard(lambda: found.extend(self._taking(entries, value, params, env)), None)
            if found:
                best = best_of(found)
                told = (best.env.vars[p.name] for p in best.fn.tparams or () if p.name)
                self._walk(best.entry, best.fn, best.entry.env, tuple(told))
                return
            entries = [e for e in entries if len(e.decl.params) == len(params)]
        for e in entries:
            if value.targs is not None:
                self._walk(e, e.decl, e.env, value.targs)

    def _taking(
        self, entries: Sequence[Entry], value: FuncSet, params: Sequence[ir.Param], env: Env
    ) -> Iterator[overloads.Candidate]:
        """The overloads that have these parameters, with the template arguments that follow from their types."""
        given = [symbolic_parameter(self.m, p, env) for p in params]
        for e in entries:
            if len(params) == len(e.decl.params) and not any(p.pack for p in (*e.decl.params, *e.decl.tparams)):
                took = overloads.bind(self.m, e, value, given, {})
                if took is not None:
                    yield took

    def _guard(self, run: object, span: Span | None, may_end: bool = False) -> None:
        """``may_end``: a root that may go on without anything of CuTe, as its end is no judgement of anything."""
        self.m.budget.restart()
        mark = self.m.journal.mark()
        known = len(self.m.recorder.hypotheses)
        try:
            run()  # type: ignore[operator]
        except NothingNewError:
            pass  # a template that nothing instantiates says no more of the places that it leads to
        except BudgetExceeded as error:
            if not (may_end and isinstance(error, NothingFoundError)):
                self.cut.append(Unknown(str(error), span))
        except SubstitutionFailure:
            pass
        except RecursionError:
            self.cut.append(Unknown("nesting too deep for the evaluator", span))
        except Exception as error:  # one root must not hide the others: it becomes one line of the report
            self._internal(span, error)
        self.m.journal.undo(mark)
        del self.m.recorder.hypotheses[known:]  # parameters of other roots have the same names

    def _internal(self, span: Span | None, error: Exception) -> None:
        self.m.recorder.internal("root", span, error)
        self.cut.append(Unknown(f"internal error while evaluating this: {type(error).__name__}: {error}", span))

    def _declared(self, e: Entry) -> None:
        """Namespace-scope aliases, variables and classes that are not templates."""
        m, decl = self.m, e.decl
        if id(decl) in m.history.declared:
            return
        m.history.declared.add(id(decl))
        if (
            isinstance(decl, (ir.Alias, ir.Variable, ir.Class))
            and decl.tparams is None
            and getattr(decl, "spec_args", None) is None
        ):
            if isinstance(decl, ir.Class) and decl.forward:
                return
            scope = e.env.namespace()
            memo = scope.memo if scope is not None else {}
            self._guard(lambda: declared_value(m, e, decl.name, memo, decl.span), decl.span)
        elif isinstance(decl, ir.Class) and decl.spec_args is not None and not decl.tparams:
            self._guard(lambda: self._specialised(e, decl), decl.span)

    def _specialised(self, e: Entry, decl: ir.Class) -> None:
        """``template <> struct X<0>``: its arguments are part of the name, two of them are two classes."""
        args = tuple(self.m.eval(a, e.env) for a in decl.spec_args or ())
        classes.instance(self.m, e, decl, args, args, None)

    def fixpoint(self) -> None:
        """Evaluate the members of every class instantiated so far, until no new one appears."""
        instances = self.m.recorder.instances
        while self._done < len(instances):
            at, inst = self._done, instances[self._done]
            self._done += 1
            key = (id(inst.decl), class_name(inst))
            if key in self.m.history.members:
                continue
            self.m.history.members.add(key)
            known = len(instances)
            if (inst.entry.unit.path in self.reported or self._derives(inst)) and not self._grows(at):
                self._guard(lambda inst=inst: self._members(inst), inst.decl.span)
                self._met_in.update(dict.fromkeys(range(known, len(instances)), at))

    def _grows(self, at: int) -> bool:
        """The class was met in its own members so often that it has no end: ``using More = List<Is..., 0>;``.

        A compiler makes a class that an alias names where its members are asked for, not before."""
        instances = self.m.recorder.instances
        decl, times, inner = instances[at].decl, 0, at
        while times < _GENERATIONS and inner in self._met_in:
            inner = self._met_in[inner]
            times += instances[inner].decl is decl
        return times >= _GENERATIONS

    def _derives(self, inst: ClassInst) -> bool:
        """Some base of the class is of a reported file; bases that cannot be told are not."""
        self.m.budget.restart()
        try:
            return any(b.entry.unit.path in self.reported for b in classes.bases(self.m, inst))
        except (BudgetExceeded, SubstitutionFailure, RecursionError):
            return False
        except Exception as error:
            self._internal(inst.decl.span, error)
            return False

    def _members(self, inst: ClassInst) -> None:
        m = self.m
        known = len(m.recorder.hypotheses)
        for decl in inst.decl.members:
            if isinstance(decl, ir.TopLevel) and isinstance(decl.stmt, ir.Assert):
                m.run(decl.stmt, inst.env)
        for decl in inst.decl.members:
            if (
                (isinstance(decl, ir.Alias) and decl.tparams is None)
                or (
                    isinstance(decl, ir.Variable)
                    and decl.flags & {"static", "constexpr"}
                    and decl.tparams is None
                    and decl.init is not None
                )
            ) or (isinstance(decl, ir.Class) and decl.tparams is None and not decl.forward and decl.name):
                lookup.member(m, inst, decl.name, None, decl.span)
        del m.recorder.hypotheses[known:]

    def _walk(self, e: Entry, fn: ir.Function, scope: Env, targs: tuple[Value, ...] = ()) -> None:
        """A function body with symbolic arguments."""
        m = self.m
        template = Env(scope, "template")

        def run() -> None:
            bind(m, fn.tparams or (), targs, template)
            calls = of_function(m, self.given.get(fn.name), e, fn, template)
            if calls:
                _, args = taken(m, fn, template, calls)
            else:
                args = [symbolic_parameter(m, p, template) for p in takewhile(lambda p: not p.pack, fn.params)]
            run_function(m, e, fn, Env(template, "function"), args, {}, fn.span)
            if "kernel" in fn.flags and not m.recorder.open:
                symbol = instance_symbol(e, fn, tuple(map(spell, arguments(m, fn, template))))
                self._kernels.append((symbol, overloads.Candidate(0, (), e, fn, template, True, frozenset()), args))

        launches_nothing = "kernel" in fn.flags or ("device" in fn.flags and "host" not in fn.flags)
        self._guard(run, fn.span, may_end=m.recorder.open and launches_nothing)

    def _open(self, entries: list[Entry]) -> None:
        """Templates that nothing instantiated: evaluated with open parameters."""
        m = self.m
        m.recorder.open = True
        try:
            for e in entries:
                decl = e.decl
                if isinstance(decl, ir.Class):
                    self._guard(lambda e=e, decl=decl: self._open_class(e, decl), decl.span)
            self.fixpoint()
            for e in entries:
                decl = e.decl
                if isinstance(decl, ir.Function) and not self._walked(decl):
                    if "kernel" in decl.flags:
                        scope = e.env.namespace()
                        within = f"{scope.path}::" if scope is not None and scope.path else ""
                        m.recorder.open_kernels[decl.span] = f"{within}{decl.name}"
                    self._walk(e, decl, e.env)
                    self.fixpoint()
        finally:
            m.recorder.open = False

    def _walked(self, fn: ir.Function) -> bool:
        return id(fn) in self.m.history.functions

    def _open_class(self, e: Entry, decl: ir.Class) -> None:
        env = Env(e.env, "template")
        args = bind(self.m, decl.tparams or (), (), env)
        classes.instance(self.m, e, decl, args, args, None, env.vars)


def _unmet(named: Sequence[Value]) -> str:
    """Why a wish that was given by hand comes to nothing; empty where it has a value."""
    for value in named:
        if isinstance(value, FuncSet):
            templates = all(isinstance(e.decl, ir.Function) and e.decl.tparams for e in value.entries)
            return "its template arguments are not given" if templates and value.targs is None else ""
        if isinstance(value, Unknown):
            return value.reason
    return ""


__all__ = ["Roots"]
