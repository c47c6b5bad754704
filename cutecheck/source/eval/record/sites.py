"""Configuration sites: a declared or passed TiledCopy, TiledMMA, atom or layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Bindings, Bound, Guard, Lint, Predicate, Site, SiteKind, SiteStatus, Span, Unknown
from cutecheck.model.ints import Int, known_value
from cutecheck.source.eval import ir
from cutecheck.source.eval.record.kinds import CONFIG_NAMES, has_open, kind_by_name, site_kind
from cutecheck.source.eval.record.reading import ReadingRecorder
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Value, ValueType

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


MOST_ELEMENTS = 256  # of one predicate tensor that are kept
_RESOLVED: SiteStatus = "resolved"
_SYMBOLIC: SiteStatus = "symbolic"
_UNKNOWN: SiteStatus = "unknown"
_UNBOUND: SiteStatus = "unbound"


def _of_threads(guard: Guard) -> bool:
    """What a condition compares may differ from thread to thread, block to block or pass to pass."""
    names = [v.name for c in guard.holds for side in (c.lhs, c.rhs) for v in side.variables()]
    return any("Idx" in n or "#" in n for n in names)


class SiteRecorder(ReadingRecorder):
    """Configurations, by the declaration that names them."""

    def declared(self, m: Machine, decl: ir.Alias | ir.Variable, value: Value, env: Env, unit: ir.Unit | None) -> None:
        """A named alias or variable was evaluated: a configuration site if its value is one."""
        if self.rehearsal:
            return
        config = value.value if isinstance(value, ValueType) else value
        place, bindings = self._place(env)
        kind = site_kind(decl.name, config)
        own = [k for k, v in self.loose.items() if decl.full_span.holds(v[1])]
        if kind is None:
            if not isinstance(value, Unknown):
                return
            names = [(span, name) for name, span, _, _ in (self.loose[k] for k in own)]
            names += [(s, n) for s, n in (unit.calls if unit is not None else ()) if decl.full_span.holds(s)]
            if not names or (isinstance(decl, ir.Variable) and isinstance(value, Unknown) and value.span == decl.span):
                return
            outermost = [n for s, n in names if not any(t != s and t.holds(s) for t, _ in names)]
            kind = kind_by_name(outermost[0], decl.name)
        for k in own:
            del self.loose[k]
        self._site(kind, decl.name, place, bindings, decl.span, decl.full_span, value)

    def _site(
        self, kind: SiteKind, name: str, place: str, bindings: Bindings, span: Span, call_span: Span, value: Value
    ) -> None:
        config = value.value if isinstance(value, ValueType) else value
        symbol = f"{place}::{name}" if place and name else name or place
        key = (span.path, span.line, span.column, symbol, bindings)
        if isinstance(config, Unknown):
            status, reason, shown = _UNBOUND if self.open else _UNKNOWN, config, None
        else:
            status, reason, shown = _SYMBOLIC if self.symbols and has_open(config) else _RESOLVED, None, config
        old = self.sites.get(key)
        if old is not None and old.status == "resolved":
            return
        ident = f"{span.path}:{span.place}:{symbol}:{self.arch}"
        self.sites[key] = Site(
            ident, kind, symbol, span, call_span, bindings, self.arch, status, shown, reason, tuple(self.hypotheses)
        )

    def configured(self, m: Machine, name: str, span: Span, value: Value) -> None:
        """A configuration function or type of CuTe was applied somewhere."""
        if self.rehearsal:
            return
        where = (self.frame.symbol, self.frame.bindings) if self.frame is not None else ("", ())
        old = self.loose.get((span, where))
        if old is None or not isinstance(value, Unknown):
            self.loose[span, where] = (name, span, value, self.open)

    def entered(self, m: Machine, fn: ir.Function, env: Env) -> None:
        """A function body is about to run: parameters like ``Copy_Atom<Args...> const&`` are configurations."""
        if not self.open:
            self.walked.add(fn.full_span)
            if self.frame is not None and self.frame.kernel:
                self.reads[self.frame.kernel].entered[id(fn)] = fn
        if self.replaying is not None:
            self.replaying.enters(fn)
        for p in fn.params:
            t = p.type
            while isinstance(t, ir.TypeMod):
                t = t.inner
            if isinstance(t, (ir.Name, ir.Scoped)) and t.targs is not None and t.ident in CONFIG_NAMES:
                value = env.vars.get(p.name)
                if site_kind("", value) is not None:
                    self.configured(m, t.ident, t.span, value)

    def flush_loose(self) -> None:
        """Configurations that no declaration names become sites of their own (called at the end)."""
        by_path: dict[str, list[Span]] = {}
        for s in self.sites.values():
            by_path.setdefault(s.span.path, []).append(s.call_span)
        before = self.open
        for (_, (symbol, bindings)), (name, span, value, opened) in self.loose.items():
            self.open = opened
            if any(c.holds(span) for c in by_path.get(span.path, ())):
                continue
            config = value.value if isinstance(value, ValueType) else value
            kind = site_kind("", config) or kind_by_name(name, "")
            self._site(kind, "", symbol, bindings, span, span, value)
        self.open = before
        self.loose.clear()

    def used(self, m: Machine, ident: str, span: Span, value: Value) -> None:
        """A name was evaluated; the scan of configuration names asks which places were reached."""
        if ident in CONFIG_NAMES:
            if self.open and span not in self.reached.setdefault((span.path, ident), {}):
                self.reached_open.add(span)
            self.reached.setdefault((span.path, ident), {}).setdefault(span, value)

    def comma(self, node: ir.Expr) -> None:
        """An argument of a CuTe call is a comma expression: all but its last operand is discarded."""
        span = node.span
        self.lints.setdefault(span, Lint("comma-drops-coordinate", span, f"({self.text(node)})"))

    def predicate(
        self, m: Machine, buffer: str, span: Span, bounds: tuple[Bound, ...], complete: bool,
        element: Int | None = None, constant: bool | None = None, plain: tuple[Bound, ...] = (),
    ) -> None:  # fmt: skip
        """An element of a register tensor of bools was assigned.

        An unrolled loop of the DSL assigns to each element by itself.
        """
        if self._events_off or self.frame is None:
            return
        block = self.block_shape()
        kernel = self.frame.kernel
        key: tuple[object, ...] = (buffer, span, self.frame.symbol, self.frame.bindings, block, kernel)
        at = None if element is None else known_value(element)
        if at is not None and at < MOST_ELEMENTS:
            key = (*key, at)
        guards = [g for g in self._guards if not g.host]
        if guards and (constant or not all(g.holds and not _of_threads(g) for g in guards)):
            constant = None
        self.predicates[key] = Predicate(
            buffer, span, bounds, complete, self.frame.symbol, self.arch, element, block, kernel, constant, plain
        )
