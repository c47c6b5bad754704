"""Copies of values: objects and closures hold what others may change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.tuples import like
from cutecheck.source.eval.values import Closure, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

DEPTH = 16  # objects in one another


def copied(m: Machine, value: Value, depth: int = 0) -> Value:
    """A value of its own: objects and closures hold what others may change."""
    if not m.dialect.by_value:
        return value
    if isinstance(value, Object):
        if value.pointer is not None or depth > DEPTH:
            return value
        made = Object(value.cls, {}, None, value.name, value.initial, value.zeroed)
        bound = _references(m, value.cls)
        made.fields.update({k: v if k in bound else copied(m, v, depth + 1) for k, v in value.fields.items()})
        if copies_itself(value.cls):
            from cutecheck.source.eval.losses import lose

            lose(m, made, value.cls.name, value.cls.decl.span, depth)  # if the copy is made at all
        return made
    if isinstance(value, tuple) and any(isinstance(v, (Object, tuple, Closure)) for v in value):
        return like(value, (copied(m, v, depth + 1) for v in value))
    if isinstance(value, Closure) and value.own:
        own = copied(m, value.env.self_, depth + 1) if value.env.self_ is not None else None
        env = Env(value.env.parent, "block", self_=own)
        env.frame = value.env.frame
        env.refs = refs = value.env.refs
        env.fixed = value.env.fixed
        env.vars.update({k: v if refs and k in refs else copied(m, v, depth + 1) for k, v in value.env.vars.items()})
        return replace(value, env=env)
    return value


def _references(m: Machine, cls: ClassInst) -> frozenset[str]:
    """Members that are references: a copy has the same."""
    key = ("references",)
    if key not in cls.memo:
        from cutecheck.source.eval.references import field_stands

        cls.memo[key] = frozenset(d.name for o, d in cls.fields or () if field_stands(m, o, d))
        if cls.fields is None:
            return cls.memo.pop(key)  # type: ignore[no-any-return]
    found: frozenset[str] = cls.memo[key]
    return found


def copies_itself(cls: ClassInst) -> bool:
    """Whether a class says what its copies hold."""
    key = ("copies",)
    if key not in cls.memo:
        cls.memo[key] = any(
            isinstance(d, ir.Function)
            and not d.flags & {"defaulted", "deleted"}
            and d.body is not None
            and bool(d.body.get().body or d.inits)
            and bool(d.params)
            and isinstance(d.params[0].type, ir.TypeMod)
            and d.params[0].type.kind in ("ref", "rref")
            and _class_name(d.params[0].type) == cls.name
            and all(p.default is not None for p in d.params[1:])
            for d in cls.index.get(cls.name, [])
        )
    found: bool = cls.memo[key]
    return found


def _class_name(t: ir.Expr) -> str:
    while isinstance(t, ir.TypeMod):
        t = t.inner
    return t.ident if isinstance(t, ir.Name) else ""
