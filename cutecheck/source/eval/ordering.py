"""Which of two specialisations of a template is more specialised: the one whose arguments the other takes, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Entry
from cutecheck.source.eval.values import TemplateRef


def most_specialised(m: Machine, entries: Sequence[Entry]) -> int | None:
    """The number of the one that all others take, where it takes none of them."""
    found = [
        i
        for i, own in enumerate(entries)
        if all(_takes(m, other, own) and not _takes(m, own, other) for j, other in enumerate(entries) if j != i)
    ]
    return found[0] if len(found) == 1 else None


def _takes(m: Machine, general: Entry, special: Entry) -> bool:
    """Whether a specialisation matches whatever another does."""
    names = {p.name for p in general.decl.tparams or ()}
    others = {p.name for p in special.decl.tparams or ()}
    return _Match(m, general, names, others).all(general.decl.spec_args, special.decl.spec_args)


class _Match:
    """Patterns of one specialisation against those of another, whose parameters (``others``) stand for themselves."""

    def __init__(self, m: Machine, entry: Entry, names: set[str], others: set[str]) -> None:
        self.m, self.entry, self.names, self.others = m, entry, names, others
        self.bound: dict[str, ir.Expr] = {}

    def all(self, patterns: Sequence[ir.Expr], given: Sequence[ir.Expr]) -> bool:
        for i, pattern in enumerate(patterns):
            if isinstance(pattern, ir.Expand):
                inner = pattern.pattern
                if isinstance(inner, ir.Name) and inner.ident in self.names and inner.targs is None:
                    return True
                rest = (g.pattern if isinstance(g, ir.Expand) else g for g in given[i:])
                return all(self.one(inner, g) for g in rest)
            if i >= len(given) or isinstance(given[i], ir.Expand) or not self.one(pattern, given[i]):
                return False
        return len(patterns) == len(given)

    def one(self, pattern: ir.Expr, given: ir.Expr) -> bool:
        if isinstance(pattern, ir.Name) and pattern.targs is None and pattern.ident in self.names:
            return _alike(self.bound.setdefault(pattern.ident, given), given)
        if isinstance(given, ir.Name) and given.targs is None and given.ident in self.others:
            return False
        if isinstance(pattern, ir.TypeMod) and isinstance(given, ir.TypeMod) and pattern.kind == given.kind:
            extents = (pattern.extra is None) == (given.extra is None)
            if pattern.extra is not None and given.extra is not None:
                extents = self.one(pattern.extra, given.extra)
            return extents and self.one(pattern.inner, given.inner)
        named = isinstance(pattern, (ir.Name, ir.Scoped)) and isinstance(given, (ir.Name, ir.Scoped))
        if named and pattern.targs is not None and given.targs is not None:  # type: ignore[union-attr]
            return pattern.ident == given.ident and self._template(pattern, given)  # type: ignore[union-attr,arg-type]
        return _alike(pattern, given)

    def _template(self, pattern: ir.Name | ir.Scoped, given: ir.Name | ir.Scoped) -> bool:
        """``Array<T>`` is ``Array<T, 4>`` where that is the default."""
        mine, theirs = list(pattern.targs or ()), list(given.targs or ())
        if len(mine) != len(theirs) and not any(isinstance(t, ir.Expand) for t in (*mine, *theirs)):
            defaults = self._defaults(pattern)
            for shorter, longer in ((mine, theirs), (theirs, mine)):
                shorter += [d for d in defaults[len(shorter) : len(longer)] if d is not None]
        return self.all(mine, theirs)

    def _defaults(self, pattern: ir.Name | ir.Scoped) -> list[ir.Expr | None]:
        named = self.m.eval(ir.Name(pattern.ident, None, pattern.span), self.entry.env)
        for e in named.entries if isinstance(named, TemplateRef) else ():
            if any(p.default is not None for p in e.decl.tparams or ()):
                return [p.default for p in e.decl.tparams]
        return []


def _alike(a: Any, b: Any) -> bool:
    """The same spelling, wherever it stands."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    if hasattr(a, "__dataclass_fields__") and type(a) is type(b):
        return all(
            _alike(getattr(a, f), getattr(b, f)) for f in a.__dataclass_fields__ if f not in ("span", "full_span")
        )
    return bool(a == b)
