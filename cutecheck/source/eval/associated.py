"""Functions that a call finds by the classes of its arguments: their friends, and those of their namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.facts import Unknown
from cutecheck.model.ints import Sym
from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.scope import ClassInst, Entry, Scope
from cutecheck.source.eval.values import (
    EnumVal,
    ExternType,
    FuncSet,
    Intrinsic,
    Object,
    ObjectPointer,
    Pack,
    ScalarType,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

# functions of CuTe that take integers of any types
_OF_INTEGERS = frozenset(("abs", "ceil_div", "gcd", "max", "min", "round_up", "shape_div"))


def with_associated(m: Machine, node: ir.Expr, fn: Value, args: Iterable[Value]) -> Value:
    """What an unqualified name in a call means, given what is called and with what."""
    if not isinstance(node, ir.Name) or node.targs is not None:
        return fn
    if isinstance(fn, FuncSet):
        if fn.self_ is not None or fn.cls is not None:
            return fn
    elif isinstance(fn, Unknown):
        if f"`{node.ident}` is not declared" not in fn.reason:
            return fn
    elif not isinstance(fn, ExternType):  # of the library: `using std::swap;`
        return fn
    args = list(args)
    if isinstance(fn, FuncSet) and node.ident in _OF_INTEGERS and _only_converts(m, fn, args):
        return Intrinsic(node.ident)
    found = functions(m, node.ident, args)
    if not found:
        return fn
    if isinstance(fn, FuncSet):
        known = {id(e.decl) for e in fn.entries}
        more = tuple(e for key, e in found.items() if key not in known)
        return replace(fn, entries=(*fn.entries, *more)) if more else fn
    return FuncSet(node.ident, tuple(found.values()))


def _only_converts(m: Machine, fn: FuncSet, args: list[Value]) -> bool:
    """Whether functions take static integers for run-time ones only: CuTe's templates take them as they are."""
    static = [i for i, a in enumerate(args) if isinstance(a, (int, Sym))]
    for entry in fn.entries if static else ():
        params = entry.decl.params
        if entry.decl.tparams is not None or len(params) != len(args):
            return False
        if not all(isinstance(m.eval(params[i].type, entry.env), ScalarType) for i in static):
            return False
    return bool(static)


def functions(m: Machine, name: str, args: Iterable[Value]) -> dict[object, Entry]:
    """The friends of the classes of arguments, and functions of the namespaces of these."""
    args = list(args)
    own = _classes(m, args, of_arguments=False)
    found: dict[object, Entry] = {(id(cls), id(d)): cls.entry_of(d) for cls in own for d in cls.friends.get(name, ())}
    return found | {id(e.decl): e for scope in _scopes(m, args) for e in _functions(scope, name)}


def _functions(scope: Scope, name: str) -> Iterator[Entry]:
    for entry in scope.decls.get(name, ()):
        if isinstance(entry.decl, ir.Function):
            yield entry


def _classes(m: Machine, args: list[Value], *, of_arguments: bool) -> list[ClassInst]:
    """The classes of arguments, their bases, and the classes around these and enumerations."""
    todo = [a.cls if isinstance(a, Object) else a.to.cls for a in args if isinstance(a, (Object, ObjectPointer))]
    seen: dict[int, ClassInst] = {}
    while todo:
        cls = todo.pop()
        if id(cls) in seen:
            continue
        seen[id(cls)] = cls
        todo += classes.bases(m, cls)
        flat = (v for a in cls.args for v in (a.items if isinstance(a, Pack) else (a,)))
        todo += (v for v in flat if of_arguments and isinstance(v, ClassInst))
    around = [cls.outer for cls in seen.values() if cls.outer is not None]
    around += [a.of.env.cls for a in args if isinstance(a, EnumVal) and a.of is not None and a.of.env.cls is not None]
    return list((seen | {id(cls): cls for cls in around}).values())


def _scopes(m: Machine, args: list[Value]) -> list[Scope]:
    """The namespaces of enumerations and of the classes of arguments, of their bases and template arguments."""
    found: dict[int, Scope] = {}
    enums = [a.of.env for a in args if isinstance(a, EnumVal) and a.of is not None]
    for env in (*enums, *(cls.env for cls in _classes(m, args, of_arguments=True))):
        scope = env.namespace()
        if scope is not None and scope is not m.program.root:
            found[id(scope)] = scope
            if scope.parent is not None and any(kind == "namespace" for kind, _, _ in scope.parent.usings):
                found[id(scope.parent)] = scope.parent  # of an inline namespace
    return list(found.values())
