"""Members of class type that nothing initialises: what they hold says their own class (C++ [dcl.init])."""

from __future__ import annotations

from cutecheck.facts import Span
from cutecheck.source.eval import classes, ir, temporaries, tensor_arrays
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.references import field_stands
from cutecheck.source.eval.repeatable import changes_nothing
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
    if classes.has_constructors(typed) and _is_made_quietly(m, typed):
        from cutecheck.source.eval.constructors import construct_object

        return temporaries.owned(m, construct_object(m, typed, [], [], span))
    if not _says_itself(m, typed) or not _initialises(m, typed):
        return symbolic(m, typed, path, span)
    made = Object(typed)
    for of, d in classes.fields(m, typed):
        if d.init is None and d.init_args is None:  # what these hold has the name of the whole
            made.initial[d.name] = _value(m, of, d, _type(m, of, d), f"{path}.{d.name}", span)
    return made


def _type(m: Machine, owner: ClassInst, decl: ir.Variable) -> Value:
    return m.eval(decl.type, owner.env) if decl.type is not None else None


def _is_made_quietly(m: Machine, cls: ClassInst) -> bool:
    """Whether all that runs to make an object of nothing sets its members: it may then run at any time."""
    key = ("made quietly",)
    if key not in cls.memo:
        cls.memo[key] = classes.complete(m, cls) and cls.decl.kind != "union" and _sets_members(m, cls)
    found: bool = cls.memo[key]
    return found


def _sets_members(m: Machine, cls: ClassInst) -> bool:
    own = [d for d in cls.index.get(cls.name, ()) if isinstance(d, ir.Function)]
    takes_nothing = [d for d in own if not any(p.default is None for p in d.params)]
    if (own and len(takes_nothing) != 1) or not all(map(_is_quiet, takes_nothing)):
        return False
    made = [*classes.bases(m, cls), *(_type(m, o, d) for o, d in classes.fields(m, cls) if d.init is None)]
    return all(_is_made_quietly(m, c) for c in made if isinstance(c, ClassInst))


def _is_quiet(made: ir.Function) -> bool:
    """A constructor that does nothing but give its members, and bases, values whose evaluation changes nothing."""
    if made.body is None:
        return "defaulted" in made.flags
    body = made.body.get()
    values = [a.value for _, init in made.inits for a in init]
    for at in body.body if isinstance(body, ir.Block) else (body,):
        if not isinstance(at, ir.Assign) or not isinstance(at.target, ir.Name) or at.op != "=":
            return False
        values.append(at.value)
    return all(map(changes_nothing, values))


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
