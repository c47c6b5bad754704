"""Members that are arrays, where a function takes a reference to one: a value of them is a pointer to elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.scope import ClassInst, Env, self_of
from cutecheck.source.eval.values import ArrayType, Object, ObjectPointer, Pointer, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def taken(functions: Iterable[ir.Function]) -> bool:
    """Whether some function has a parameter ``T (&x)[N]``."""
    return any(_is_array(p.type) for fn in functions for p in fn.params)


def declared(m: Machine, nodes: Sequence[ir.Arg], args: Sequence[Value], env: Env) -> dict[int, ArrayType]:
    """The types of the arguments that name such members, by their position."""
    found: dict[int, ArrayType] = {}
    for i, (node, value) in enumerate(zip(nodes, args, strict=True)):
        if isinstance(value, Pointer) and not isinstance(value.type, ArrayType):
            type_ = of_member(m, node.value, env)
            if isinstance(type_, ArrayType) and not type_.name:
                found[i] = type_
    return found


def of_member(m: Machine, node: ir.Expr, env: Env) -> Value | None:
    """The type that a member is declared with."""
    if isinstance(node, ir.Attr) and node.targs is None:
        with m.recorder.unevaluated():
            base = m.eval(node.base, env)
        base = base.to if isinstance(base, ObjectPointer) else base
        cls = base.cls if isinstance(base, Object) else base.type if isinstance(base, Pointer) else None
    elif isinstance(node, ir.Name) and node.targs is None and env.find_var(node.ident) is None:
        this = self_of(env)
        cls = this.cls if isinstance(this, Object) else None
    else:
        return None
    named = [(o, d) for o, d in classes.fields(m, cls) if d.name == node.ident] if isinstance(cls, ClassInst) else []
    if len(named) != 1 or named[0][1].type is None:  # a base's may be hidden
        return None
    return m.eval(named[0][1].type, named[0][0].env)


def _is_array(t: ir.Expr | None) -> bool:
    if not isinstance(t, ir.TypeMod) or t.kind != "ref":
        return False
    inner: ir.Expr = t.inner
    while isinstance(inner, ir.TypeMod) and inner.kind in ("const", "volatile"):
        inner = inner.inner
    return isinstance(inner, ir.TypeMod) and inner.kind == "array"
