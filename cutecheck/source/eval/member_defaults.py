"""Members of class type that nothing initialises: what they hold says their own class (C++ [dcl.init])."""

from __future__ import annotations

from cutecheck.facts import Span
from cutecheck.source.eval import classes, ir, tensor_arrays
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.references import field_stands
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.values import Object, Value


def unset(m: Machine, obj: Object, owner: ClassInst, decl: ir.Variable, typed: Value, span: Span) -> Value:
    """A member that its declaration and ``{}`` leave alone: some value, where its class does not say more."""
    path = f"{obj.name or obj.cls.name}.{decl.name}"
    own = not obj.name and m.dialect.by_value
    tensors = tensor_arrays.member(m, typed, decl.name, decl.span) if own and not field_stands(m, owner, decl) else None
    if tensors is not None:
        return tensors
    return _value(m, owner, decl, typed, path, span) if own else symbolic(m, typed, path, span)


def _value(m: Machine, owner: ClassInst, decl: ir.Variable, typed: Value, path: str, span: Span) -> Value:
    if not isinstance(typed, ClassInst) or field_stands(m, owner, decl):
        return symbolic(m, typed, path, span)
    if not _says_itself(m, typed) or not _initialises(m, typed):
        return symbolic(m, typed, path, span)
    made = Object(typed)
    for of, d in classes.fields(m, typed):
        if d.init is None and d.init_args is None:  # what these hold has the name of the whole
            made.initial[d.name] = _value(m, of, d, _type(m, of, d), f"{path}.{d.name}", span)
    return made


def _type(m: Machine, owner: ClassInst, decl: ir.Variable) -> Value:
    return m.eval(decl.type, owner.env) if decl.type is not None else None


def _says_itself(m: Machine, cls: ClassInst) -> bool:
    """Neither the class nor one it derives from has constructors, and no two of its members share their place."""
    if not classes.complete(m, cls) or classes.has_constructors(cls) or cls.decl.kind == "union":
        return False
    return all(_says_itself(m, b) for b in classes.bases(m, cls))


def _initialises(m: Machine, cls: ClassInst) -> bool:
    """The class says what some member holds, or a member's class does."""
    for owner, d in classes.fields(m, cls):
        if d.init is not None or d.init_args is not None:
            return True
        typed = _type(m, owner, d)
        if isinstance(typed, ClassInst) and not field_stands(m, owner, d) and _initialises(m, typed):
            return True
    return False
