"""Objects that references and pointers name as ones of a base class: which of two methods of a name is called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cutecheck.source.eval import classes, ir, qualifiers
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.values import Object, ObjectPointer, PtrType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def note(m: Machine, name: str, t: ir.Expr | None, value: Value, env: Env, init: ir.Expr | None = None) -> None:
    """A variable of a declared type has this value, which an expression gave."""
    if init is not None and t is not None and qualifiers.is_auto(t):
        base = named_as(m, init, value, env)
    else:
        base = _above(m, t, value, env) if name else None
    if base is not None:
        env.name_as(name, base)


def named_as(m: Machine, node: ir.Expr, value: Value, env: Env) -> ClassInst | None:
    """The base class that an object is named as by an expression; None where it is named as what it is."""
    if isinstance(node, ir.Unary) and node.op in ("*", "&"):
        return named_as(m, node.operand, value, env)
    if isinstance(node, ir.Cast):
        return _above(m, node.type, value, env)
    at = env.find_var(node.ident) if isinstance(node, ir.Name) and node.targs is None else None
    return at.as_base.get(node.ident) if at is not None and at.as_base and isinstance(node, ir.Name) else None


def hides(m: Machine, node: ir.Expr, value: Value, env: Env) -> bool:
    """An argument is named as one of a base class, of which its own class hides something.

    What a template deduces of it is the base.
    """
    obj = value.to if isinstance(value, ObjectPointer) else value
    if not isinstance(obj, Object) or (base := named_as(m, node, value, env)) is None:
        return False
    return not base.index.keys().isdisjoint(_own(m, obj.cls, base) - {base.name})


def _own(m: Machine, cls: ClassInst, base: ClassInst) -> set[str]:
    """Names that a class, and those between it and its base, declare."""
    if cls is base:
        return set()
    above = (b for b in classes.bases(m, cls) if classes.derives(m, b, base))
    return set(cls.index).union(*(_own(m, b, base) for b in above))


def deduced(fns: Iterable[ir.Function], at: int) -> bool:
    """Whether the type of a parameter is one that a template deduces of any argument."""
    return any(at < len(fn.params) and _bare(fn, fn.params[at].type) for fn in fns)


def _bare(fn: ir.Function, t: ir.Expr | None) -> bool:
    while isinstance(t, (ir.TypeMod, ir.Expand)):
        t = t.inner if isinstance(t, ir.TypeMod) else t.pattern
    return isinstance(t, ir.Auto) or (isinstance(t, ir.Name) and any(p.name == t.ident for p in fn.tparams or ()))


def _above(m: Machine, t: ir.Expr | None, value: Value, env: Env) -> ClassInst | None:
    obj = value.to if isinstance(value, ObjectPointer) else value
    if not isinstance(obj, Object) or t is None or qualifiers.is_auto(t) or not classes.bases(m, obj.cls):
        return None
    typed = m.eval(t, env)
    typed = typed.inner if isinstance(typed, PtrType) else typed
    above = isinstance(typed, ClassInst) and typed is not obj.cls and classes.derives(m, obj.cls, typed)
    return typed if above else None
