"""``functools.singledispatch``: functions chosen by the class of their first argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import classes
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.type_tests import instance_of
from cutecheck.source.dsl.values import Builtin, BuiltinType, Dispatch, Partial
from cutecheck.source.eval import ir
from cutecheck.source.eval.containers import changes, written
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Extern, FuncSet, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_NARROWER = {"bool": ("int",)}  # among Python's own classes


@builtin("functools.singledispatch", "functools.singledispatchmethod")
def _make(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Dispatch(args[0], {})


@builtin("dispatch.register")
def _register(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``f.register(class, function)``, or a decorator: ``@f.register(class)``, ``@f.register``."""
    made, kind, *rest = args
    if rest:
        changes(m, made.table)
        made.table[kind] = rest[0]
        return rest[0]
    if not isinstance(kind, FuncSet):
        return Partial(Builtin("dispatch.register", made), (kind,), ())
    entry = kind.entries[-1]
    params: list[ir.Param] = [p for p in entry.decl.params if kind.cls is None or p.name not in ("self", "cls")]
    for node in _alternatives(params[0].type if params else None):
        _register(m, [made, None if node is None else m.eval(node, entry.env), kind], {}, span)
    return kind


def _alternatives(node: ir.Expr | None) -> list[ir.Expr | None]:
    if isinstance(node, ir.Binary) and node.op == "|":
        return [*_alternatives(node.left), *_alternatives(node.right)]
    return [node]


@builtin("dispatch.dispatch")
def _dispatch(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0].table.get(args[1], Unknown("which function is meant for this class", span))


def call(m: Machine, fn: Dispatch, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Call the function for the class of the first argument."""
    from cutecheck.source.eval.calls import apply

    found = _chosen(m, fn, args[0]) if args else None
    if found is None:
        m.recorder.escape(m, [*args, *kwargs.values()], span)
        for value in (*args, *kwargs.values()):
            written(m, value)
        return Unknown("which function the class of an argument chooses is not known", span)
    return apply(m, found, args if fn.self_ is None else [fn.self_, *args], kwargs, span)


def _chosen(m: Machine, fn: Dispatch, value: Value) -> Value | None:
    """The function for the narrowest class that a value is of; None where that is not known."""
    if isinstance(value, (Unknown, Extern)):
        return None
    fits = {kind: value is None if kind is None else instance_of(m, value, kind) for kind in fn.table}
    if None in fits.values():
        return None
    own = [kind for kind, fit in fits.items() if fit]
    least = [k for k in own if not any(_narrower(other, k) for other in own)]
    if not own:
        return fn.default
    return fn.table[least[0]] if len(least) == 1 else None


def _narrower(a: Value, b: Value) -> bool:
    if isinstance(a, ClassInst) and isinstance(b, ClassInst):
        return a is not b and classes.derives(a, b)
    if isinstance(b, BuiltinType) and b.name == "object":
        return not (isinstance(a, BuiltinType) and a.name == "object")
    return isinstance(a, BuiltinType) and isinstance(b, BuiltinType) and b.name in _NARROWER.get(a.name, ())
