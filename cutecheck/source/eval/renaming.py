"""Run-time numbers of a type as variables of their own."""

from __future__ import annotations

from dataclasses import fields as parts
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.source.eval.values import Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def renamed(m: Machine, value: Value, name: str, domain: Domain | None = None) -> Value:
    """A value of a type whose run-time parts are fresh variables named after it.

    ``domain``: of them all (None: where the type's own is one variable, that one's).
    """
    if isinstance(value, Dyn):
        if domain is not None:
            return m.fresh(name, domain)
        own = value.expr.variables()
        return m.fresh(name, own[0].domain if own and value.expr == ex.atom_expr(own[0]) else ex.ANY)
    if isinstance(value, tuple):
        return tuple(renamed(m, v, f"{name}.{i}", domain) for i, v in enumerate(value))
    if (
        is_dataclass(value)
        and not isinstance(value, type)
        and type(value).__module__.startswith("cutecheck.model.layout")
    ):
        changes = {}
        for part in parts(value):
            old = getattr(value, part.name)
            new = renamed(m, old, name, domain) if isinstance(old, (tuple, Dyn)) or is_dataclass(old) else old
            if new is not old:
                changes[part.name] = new
        return replace(value, **changes) if changes else value
    return value
