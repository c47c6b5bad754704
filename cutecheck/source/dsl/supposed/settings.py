"""Objects of the tree's own that a supposed call is given: configurations that need no arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.source.dsl import classes, uncalled
from cutecheck.source.dsl.supposed.guesses import Given, Wanted
from cutecheck.source.dsl.values import NONE, Enumerator
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.values import FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def setting(m: Machine, given: Given, p: Wanted, param: ir.Param, env: Env) -> Value | None:
    """What a class gives that a parameter names as its type: all its own defaults, or its first member.

    None where the parameter names no such class, or where something of the object would not be known.
    """
    cls = None if p.kind is None else m.eval(p.kind, env)
    if not isinstance(cls, ClassInst) or (p.optional and not given.guess.get((p.name, "is"), given.guess.full)):
        return None
    if cls.memo.get("enum"):
        made: Value = next((v for v in cls.memo["space"].values() if isinstance(v, Enumerator) and v.cls is cls), None)
        if isinstance(made, Enumerator):
            given.shown[param.name] = f"{cls.name}.{made.name}"
        return made
    if not _needs_nothing(cls):
        return None
    made = classes.instantiate(m, cls, [], {}, param.span)
    if not isinstance(made, Object) or not uncalled.closed(made):
        return None
    given.shown[param.name] = f"{cls.name}()"
    return made


def _needs_nothing(cls: ClassInst) -> bool:
    """Whether a class is made without arguments, and of nothing but the tree."""
    if any(classes.unread(base) for c in classes.mro(cls) for base in c.memo["foreign"]):
        return False
    init = classes.find(cls, "__init__")
    if isinstance(init, FuncSet):
        params = init.entries[-1].decl.params[1:]
        return all(p.default is not None or p.kind in ("varargs", "varkw") for p in params)
    if init is not None and init is not NONE:
        return False
    return all(decl.init is not None for _, (_, decl) in classes.fields(cls))


__all__ = ["setting"]
