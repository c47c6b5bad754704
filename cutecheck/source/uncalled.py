"""Functions that a program uses where no call of them can be followed.

A function whose address is taken stands in a table, a member or a library's object, and is called from there; virtual
methods are called through their base, and those of a class that is explicitly instantiated by other files. They are
walked on values of their parameters' types, after all that can be called was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile

from cutecheck.facts import Span
from cutecheck.source.eval import callbacks, classes, ir
from cutecheck.source.eval.calls import run_function
from cutecheck.source.eval.handed import Callers, asked, of_function, taken
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.symbolic import symbolic, symbolic_parameter
from cutecheck.source.eval.templates import bind
from cutecheck.source.eval.types import spell
from cutecheck.source.eval.values import FuncSet, Intrinsic, Object, Value

Root = Callable[[Callable[[], object], Span], None]  # runs something as a root of its own


@dataclass(slots=True)
class Uncalled:
    """Those of one program. ``matters`` is asked of what is walked, which stands in ``reported`` files; ``owned`` are
    those of them that belong to it."""

    m: Machine
    root: Root
    matters: Callable[[ir.Decl, str], bool]
    reported: frozenset[str]
    owned: frozenset[str]
    given: Mapping[str, Callers]
    _instances: int = 0
    _named: int = 0
    _lambdas: int = 0
    _taken: set[tuple[int, int]] = field(default_factory=set)  # methods that other units call

    def run(self) -> bool:
        """Walk what came up since the last time; whether anything was."""
        m = self.m
        walked = False
        instances, self._instances = m.recorder.instances[self._instances :], len(m.recorder.instances)
        for inst in instances:
            used: list[ir.Function] = []
            self.root(partial(self._used, inst, used), inst.decl.span)
            for fn in used:
                walked |= self.method(inst, fn)
        lambdas, self._lambdas = m.history.lambdas[self._lambdas :], len(m.history.lambdas)
        for made in lambdas:
            walked |= not made.fn.called
            self.root(partial(callbacks.walk, m, made), made.fn.node.span)
        named, self._named = list(m.history.named.values())[self._named :], len(m.history.named)
        for value, span, function in named:
            for entry in value.entries:
                walked |= self._function(value, entry, span, function)
        return walked

    def define(self) -> None:
        """Meet the classes whose methods are defined in the program's own files."""
        for o in self.m.program.outside:
            if o.unit.path in self.owned and o.special and o.fn.owner is not None and self.matters(o.fn, o.unit.path):
                self.root(partial(self.m.eval, o.fn.owner, o.scope.env), o.fn.span)

    def methods(self, inst: ClassInst) -> None:
        """Those of a class that is explicitly instantiated."""
        for fn in inst.methods():
            self.method(inst, fn, asked=True)

    def method(self, inst: ClassInst, fn: ir.Function, asked: bool = False) -> bool:
        """Walk a method on an object of its class, unless it was walked; whether it was now.

        ``asked``: an instantiation asks for it, in whatever file it is defined.
        """
        entry = inst.entry_of(fn)
        known = (id(entry.env.cls), id(fn)) in self.m.history.methods
        called = fn.name in self.given and (id(entry.env.cls), id(fn)) not in self._taken
        if (known and not called) or fn.body is None or fn.tparams is not None:
            return False
        if entry.unit.path not in self.reported | self.owned and not asked:
            return False
        if not self.matters(fn, entry.unit.path):
            return False
        if fn.name.lstrip("~") == inst.decl.name or "deleted" in fn.flags:
            return False

        self._taken.add((id(entry.env.cls), id(fn)))

        def walk() -> None:
            self_ = None if "static" in fn.flags else symbolic(self.m, inst, inst.name, fn.span)
            calls = of_function(self.m, self.given.get(fn.name), entry, fn, entry.env)
            if not calls or _virtual(self.m, inst, fn):
                self._walk(entry, fn, Env(entry.env, "function", self_=self_), entry.env)
                return
            held, args = taken(self.m, fn, entry.env, calls, self_ if isinstance(self_, Object) else None)
            run_function(self.m, entry, fn, Env(entry.env, "function", self_=held), args, {}, fn.span)

        self.root(walk, fn.span)
        return True

    def _used(self, inst: ClassInst, used: list[ir.Function]) -> None:
        """Adds the methods of a class that may be called though no call of them is to be seen."""
        if not _outside_functions(inst):
            return
        for fn in inst.methods():
            if (_plain(inst) and inst.entry_of(fn).unit.path in self.owned) or _virtual(self.m, inst, fn):
                used.append(fn)

    def _function(self, value: FuncSet, entry: Entry, span: Span, function: Span | None) -> bool:
        m, fn = self.m, entry.decl
        if not isinstance(fn, ir.Function) or fn.body is None:
            return False
        if fn.tparams is None:
            return entry.env.cls is not None and self.method(entry.env.cls, fn)
        given = value.targs or ()
        needed = [p for p in takewhile(lambda p: not p.pack, fn.tparams) if p.default is None]
        if len(given) < len(needed):
            return False  # which function it is depends on what takes the address
        env = Env(entry.env, "template")
        bound: list[bool] = []

        def bind_all() -> None:
            bind(m, fn.tparams or (), given, env)
            bound.append(True)

        self.root(bind_all, span)
        if not bound:
            return False
        shown = tuple(spell(env.vars[p.name]) for p in fn.tparams if p.name)
        if (id(fn), id(entry.env.cls), shown) in m.history.walked:
            return False
        kernel: FuncSet | Intrinsic = FuncSet(value.name, (entry,), None, value.cls, given)
        if fn.name == "device_kernel" and given and isinstance(given[0], ClassInst):  # of CUTLASS, whose is its class
            if id(given[0]) in m.history.launched:
                return False
            kernel = Intrinsic(fn.name, given)
        elif entry.unit.path not in self.reported or not self._comes_to_something(fn, entry.unit.path, given):
            return False
        if "kernel" in fn.flags:
            self.root(lambda: m.recorder.launch_by_address(m, kernel, span, function), span)
        else:
            self.root(lambda: self._walk(entry, fn, Env(env, "function"), env), span)
        return True

    def _comes_to_something(self, fn: ir.Function, path: str, given: tuple[Value, ...]) -> bool:
        """A function matters, or a class that its template is given does: ``&launch<Gemm<half_t, 128>>``."""
        made = (v for v in given if isinstance(v, ClassInst))
        return self.matters(fn, path) or any(self.matters(c.decl, c.entry.unit.path) for c in made)

    def _walk(self, entry: Entry, fn: ir.Function, env: Env, names: Env) -> None:
        given = takewhile(lambda p: not p.pack and p.default is None, fn.params)
        args = asked(self.m, [symbolic_parameter(self.m, p, names) for p in given], fn.span)
        run_function(self.m, entry, fn, env, args, {}, fn.span)


def _plain(inst: ClassInst) -> bool:
    """Whether no template arguments are needed to name a class."""
    return not inst.decl.tparams and (inst.outer is None or _plain(inst.outer))


def _outside_functions(inst: ClassInst) -> bool:
    env: Env | None = inst.entry.env
    while env is not None:
        if env.kind in ("function", "block"):
            return False
        env = env.parent
    return True


def _virtual(m: Machine, inst: ClassInst, fn: ir.Function) -> bool:
    """Whether a method is virtual: declared so, or in a base."""
    if "virtual" in fn.flags:
        return True
    return any(_virtual(m, b, f) for b in classes.bases(m, inst) for f in b.methods() if f.name == fn.name)
