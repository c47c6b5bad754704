"""An evaluation that remembers how its values came about, for ``cutecheck explain``.

It costs time and memory on every node, so it is a machine and a recorder of its own; the usual ones know nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cutecheck.facts import Bindings, Span, Unknown
from cutecheck.facts.explanation import Definition, Step, Trace, Use
from cutecheck.model.notation import show
from cutecheck.source.eval import ir
from cutecheck.source.eval.lookup import Namespace
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.record import Recorder
from cutecheck.source.eval.record.kinds import CONFIG_TYPES
from cutecheck.source.eval.scope import ClassInst, Env, Frame
from cutecheck.source.eval.types import spell
from cutecheck.source.eval.values import FuncSet, Intrinsic, TemplateRef, Value, ValueType

MAX_DEFINITIONS = 200_000
_Place = tuple[str, str]
_NO_VALUES = (FuncSet, Intrinsic, TemplateRef, Namespace)  # what a name can be besides


@dataclass(slots=True)
class Tracing:
    """What the traced machines of one run collect."""

    definitions: dict[tuple[object, ...], Definition] = field(default_factory=dict)
    ways: dict[_Place, tuple[Step, ...]] = field(default_factory=dict)

    def trace(self) -> Trace:
        found = sorted(self.definitions.values(), key=lambda d: (d.span, d.symbol, d.arch))
        return Trace(tuple(found), tuple(self.ways.items()))


class TracingRecorder(Recorder):
    """Notes every definition that is evaluated, and every class instance where it was first asked for."""

    def declared(self, m: Machine, decl: ir.Alias | ir.Variable, value: Value, env: Env, unit: ir.Unit | None) -> None:
        super().declared(m, decl, value, env, unit)
        if isinstance(m, TracingMachine):
            m.define(decl.name, value, env, decl.span, decl.full_span)

    def instantiated(self, m: Machine, inst: ClassInst) -> None:
        super().instantiated(m, inst)
        if isinstance(m, TracingMachine):
            m.entered(inst)

    def place(self, env: Env) -> tuple[str, Bindings]:
        """The qualified name of the scope an environment belongs to, and the bindings in force there."""
        return self._place(env)


class TracingMachine(Machine):
    """Keeps the stack of what is being evaluated, and what names turned out to be."""

    tracing: Tracing

    def __init__(self, tracing: Tracing, *args: Any) -> None:
        super().__init__(*args)
        self.tracing = tracing
        self._stack: list[tuple[Any, Env]] = []
        self._uses: list[Use] = []
        self._frames: set[int] = set()

    def eval(self, node: ir.Expr, env: Env) -> Value:
        self._enter(node, env)
        try:
            value = super().eval(node, env)
        finally:
            self._leave()
        if isinstance(node, (ir.Name, ir.Scoped)) and not isinstance(value, _NO_VALUES):
            self._uses.append(Use(node.ident, node.span, printed(value)))
        return value

    def run(self, node: ir.Stmt, env: Env) -> Value:
        self._enter(node, env)
        before = len(self._uses)
        try:
            value = super().run(node, env)
        finally:
            self._leave()
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.Name):
            at = env.find_var(node.target.ident)
            if at is not None:
                self.define(node.target.ident, at.vars[node.target.ident], env, node.target.span, node.span)
        del self._uses[before:]
        return value

    def define(self, name: str, value: Value, env: Env, span: Span, full_span: Span) -> None:
        """A name got its value in a place; the names used in between belong to it."""
        symbol, bindings = self._recorder.place(env)
        uses = [u for u in self._uses if full_span.holds(u.span)]
        if uses:
            self._uses = [u for u in self._uses if not full_span.holds(u.span)]
        key = (span, symbol, bindings, self.arch)
        if len(self.tracing.definitions) < MAX_DEFINITIONS:
            distinct = {(u.name, u.value): u for u in reversed(uses)}
            ordered = tuple(sorted(distinct.values(), key=lambda u: u.span))
            self.tracing.definitions.setdefault(
                key, Definition(name, symbol, bindings, self.arch, span, full_span, printed(value), ordered)
            )

    def forget(self, part: str) -> None:
        """What was noted of functions whose names have this in them: they are walked again, with other arguments."""
        self._frames.clear()
        trace = self.tracing
        trace.ways = {k: steps for k, steps in trace.ways.items() if part not in k[0]}
        trace.definitions = {k: d for k, d in trace.definitions.items() if part not in d.symbol}

    def entered(self, inst: ClassInst) -> None:
        """A class instance exists from here on: its parameters are definitions, and this is the way to it."""
        symbol, bindings = self._recorder.place(inst.env)
        self._note_way(symbol, bindings)
        for p, (name, value) in zip((p for p in inst.decl.tparams or () if p.name), bindings, strict=False):
            self._parameter(p, name, value, symbol, bindings)

    @property
    def _recorder(self) -> TracingRecorder:
        assert isinstance(self.recorder, TracingRecorder)
        return self.recorder

    def _enter(self, node: Any, env: Env) -> None:
        if not self._stack:
            self._uses.clear()
        frame = env.frame
        if frame is not None and id(frame) not in self._frames:
            self._frames.add(id(frame))
            self._function(frame)
        self._stack.append((node, env))

    def _leave(self) -> None:
        self._stack.pop()

    def _function(self, frame: Frame) -> None:
        self._note_way(frame.symbol, frame.bindings)
        if frame.function is not None:
            params = [p for p in frame.function.tparams or () if p.name]
            for p, (name, value) in zip(params, frame.bindings, strict=False):
                self._parameter(p, name, value, frame.symbol, frame.bindings)

    def _parameter(self, p: ir.TParam, name: str, value: str, symbol: str, bindings: Bindings) -> None:
        key = (p.span, symbol, bindings, self.arch)
        found = Definition(name, symbol, bindings, self.arch, p.span, p.span, value)
        self.tracing.definitions.setdefault(key, found)

    def _note_way(self, symbol: str, bindings: Bindings) -> None:
        key = (symbol, self.arch)
        if key in self.tracing.ways or not symbol:
            return
        steps: list[Step] = []
        place = ""
        for position, (_, env) in enumerate(self._stack):
            inner, inner_bindings = self._recorder.place(env)
            if inner != place and inner:
                if position == 0:
                    steps += self.tracing.ways.get((inner, self.arch), ())
                else:
                    steps.append(Step(place, inner, inner_bindings, self._stack[position - 1][0].span))
            place = inner
        if self._stack and place != symbol:
            steps.append(Step(place, symbol, bindings, self._stack[-1][0].span))
        self.tracing.ways[key] = tuple(steps)


def printed(value: Value) -> str:
    """A value on one line: a layout as CuTe prints it, a type or number as its author would write it."""
    inner = value.value if isinstance(value, ValueType) else value
    if isinstance(inner, Unknown):
        return f"unknown: {inner}"
    if isinstance(inner, FuncSet):
        return "function"
    if isinstance(inner, CONFIG_TYPES):
        return " ".join(show(inner).split())
    return spell(value)
