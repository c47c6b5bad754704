"""Which template a type is an instance of, and whether a pattern of template arguments names it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutecheck.model.integers import canonical
from cutecheck.source.eval import ir
from cutecheck.source.eval.lookup import lookup
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.values import ScalarType, TemplateRef, Value

TUPLE_HEADS = frozenset({"Shape", "Stride", "Step", "Coord", "Tile", "tuple", "Underscore"})


def sized(m: Machine, pattern: ir.Name | ir.Scoped, names: dict[str, Any], env: Env) -> bool:
    """``array<T, N>``: ``N`` is deduced where it is declared as what it is there."""
    last = pattern.targs[-1] if pattern.targs else None
    p = names.get(last.ident) if isinstance(last, ir.Name) else None
    if p is None or p.kind != "value" or p.type is None or isinstance(p.type, ir.Auto):
        return True
    typed = m.eval(p.type, env)
    return not isinstance(typed, ScalarType) or canonical(typed.dtype.name) == canonical("size_t")


def names_it(m: Machine, head: str, pattern: ir.Name | ir.Scoped, env: Env) -> bool:
    """Whether a pattern names a template; of those that libraries have of their own the one that it means counts."""
    if pattern.ident not in ("integral_constant", "bool_constant"):
        return _named(head, pattern)
    if head.rpartition("::")[2] != pattern.ident:
        return False
    named = m.eval(replace(pattern, targs=None), env)
    return isinstance(named, TemplateRef) and not named.entries and named.name == head


def _named(head: str, pattern: ir.Name | ir.Scoped) -> bool:
    """The template of a type by its name; one of a library that is not read has its namespaces in its name."""
    if head == pattern.ident or (head == "tuple" and pattern.ident in TUPLE_HEADS):
        return True
    scope, _, own = head.rpartition("::")
    return own == pattern.ident and (not isinstance(pattern, ir.Scoped) or scope == _spelled(pattern.base))


def _spelled(scope: ir.Expr | None) -> str:
    if isinstance(scope, ir.Scoped):
        outer = _spelled(scope.base)
        return f"{outer}::{scope.ident}" if outer else scope.ident
    return scope.ident if isinstance(scope, ir.Name) else ""


def template_of(m: Machine, value: Value, head: str) -> TemplateRef:
    """The template that a type is an instance of."""
    if isinstance(value, ClassInst):
        found = lookup(m, head, value.entry.env, value.decl.span)
        if isinstance(found, TemplateRef):
            return found
    return TemplateRef(head)


def same_template(a: TemplateRef, b: TemplateRef) -> bool:
    """By their declarations, where both are of the tree; else by name."""
    if a.entries and b.entries:
        return not {id(e.decl) for e in a.entries}.isdisjoint({id(e.decl) for e in b.entries})
    return a.name == b.name
