"""``base[key]`` of Python's containers, of classes and objects, and of what CuTe indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import builtins, classes, containers, cute_values, flow, protocol
from cutecheck.source.dsl.values import Builtin, BuiltinType, Enumerator, TextMatch
from cutecheck.source.eval.containers import Shared, unsure
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Extern, FuncSet, Object, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def index(m: Machine, base: Value, key: Value, span: Span) -> Value:
    """The item of a known ``base`` at ``key``; for a subscripted type or function that itself."""
    if isinstance(base, (list, tuple, str, range)):
        if isinstance(key, Unknown):
            return Shared.of(base, key.reason, span) if isinstance(base, (list, tuple)) else key
        bad = unsure(base)
        if bad is not None:
            return bad
        if isinstance(key, Enumerator):
            key = key.value
        key = protocol.number(m, key, span)
        if isinstance(key, (int, slice)):
            try:
                return base[key]
            except IndexError:
                if m.dialect.supposing is not None:
                    m.dialect.supposing.indexed(m, base, key, span)
                return flow.fails(m, "IndexError", "an index out of range", span)
            except (TypeError, ValueError):
                return Unknown("an index out of range", span)
        why = "an index that is known at run time only"
        return Shared.of(base, why, span) if isinstance(base, (list, tuple)) else Unknown(why, span)
    if isinstance(base, TextMatch):
        return builtins.FUNCTIONS["match.group"](m, [base, key], {}, span)
    if isinstance(base, dict):
        try:
            return containers.get(m, base, key, span)
        except TypeError:
            return Unknown("a key that is not known", span)
    if isinstance(base, (ClassInst, Object)):
        return classes.index(m, base, key, span)
    found = cute_values.index(m, base, key, span)
    if found is not None:
        return found
    if isinstance(base, Builtin) and f"{base.name}.__getitem__" in builtins.FUNCTIONS:
        return builtins.FUNCTIONS[f"{base.name}.__getitem__"](m, [key], {}, span)
    if isinstance(base, (BuiltinType, Builtin, ScalarType, FuncSet)):
        return base
    if isinstance(base, Extern):
        return Extern(f"{base.what}[...]", span)
    return Unknown(f"indexing {builtins.describe(base)}", span)
