"""Definitions of Python classes: their bodies, bases, members and what their decorators make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import enumerations, metaclasses, modules
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.classes import ENUMS, SETTER
from cutecheck.source.dsl.statements import spelled
from cutecheck.source.dsl.values import Builtin, BuiltinType, Enumerator
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.values import FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_CHILDREN = "subclasses"
_OWNERS = "classes of methods"


def define(m: Machine, decl: ir.Class, env: Env, unit: ir.Unit) -> Value:
    """Run a class body: one class object a definition executed, which a metaclass may replace."""
    inst = ClassInst(Entry(decl, env, unit), decl, Env(env, "class"), (), None, None)
    inst.ident = id(inst)
    space: dict[str, Value] = inst.env.vars
    inst.memo["space"] = space
    inst.memo["fields"] = []
    inst.memo["foreign"] = []
    inst.bases = []
    for node in decl.bases:
        base = m.eval(node, env)
        if isinstance(base, ClassInst):
            inst.bases.append(base)
        else:
            inst.memo["foreign"].append(base)
    inst.memo["enum"] = any(_is_enum(b) for b in (*inst.memo["foreign"], *inst.bases))
    for member in decl.members:
        _member(m, inst, member, unit)
    _named(m, inst, decl.span)
    marks = [spelled(d).split(".")[-1] for d in decl.decorators]
    last = [d.split(".")[-1] for d in map(spelled, decl.decorators)]
    inst.memo["struct"] = "struct" in last or "union" in last
    inst.memo["union"] = "union" in last
    inst.memo["dataclass"] = "dataclass" in marks or any(b.memo.get("dataclass") for b in inst.bases)
    tuples = [b for b in inst.memo["foreign"] if isinstance(b, BuiltinType) and b.name == "NamedTuple"]
    inst.memo["namedtuple"] = bool(tuples) or any(b.memo.get("namedtuple") for b in inst.bases)
    if any(m_ in ("mlir_namedtuple",) for m_ in marks):
        inst.memo["namedtuple"] = True
    if inst.memo["enum"]:
        enumerations.complete(m, inst, decl.span)
    given = {name: m.eval(node, env) for name, node in decl.keywords}
    metaclasses.choose(inst, given.pop("metaclass", None))
    for parent in inst.bases:
        others = parent.memo.get(_CHILDREN, ())  # not known where only some branches define one
        m.journal.set(parent.memo, _CHILDREN, (*others, inst) if isinstance(others, tuple) else others)
    return metaclasses.made(m, inst, given, decl.span)


@builtin("class.subclasses")
def _subclasses(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``Base.__subclasses__()``: of those that were defined so far; what branches leave open is not known."""
    found = args[0].memo.get(_CHILDREN, ())
    return list(found) if isinstance(found, tuple) else Unknown("which subclasses there are is not known", span)


def _named(m: Machine, inst: ClassInst, span: Span) -> None:
    """Tell the descriptors among the attributes of a class their names."""
    from cutecheck.source.dsl.protocol import asked

    for name, value in list(inst.memo["space"].items()):
        if isinstance(value, Object):
            asked(m, value, "__set_name__", [inst, name], span)


def owner(m: Machine, fn: ir.Function) -> str:
    """The name of the class of a method: methods of two classes in a module are not one function."""
    found: str = modules.state(m).get(_OWNERS, {}).get(id(fn), "")
    return found


def _is_enum(base: Value) -> bool:
    if isinstance(base, BuiltinType):
        return base.name in ENUMS
    return isinstance(base, ClassInst) and bool(base.memo.get("enum"))


def _member(m: Machine, inst: ClassInst, member: ir.Decl, unit: ir.Unit) -> None:
    space = inst.env.vars
    if isinstance(member, ir.Function):
        modules.state(m).setdefault(_OWNERS, {})[id(member)] = inst.name
        from cutecheck.source.dsl.flow import closed

        given = closed(m, member.params, inst.env)
        around = inst.env.parent or inst.env
        if given is not inst.env:  # a method does not see the names of its class, its defaults do
            given.parent = around
        entry = Entry(member, around if given is inst.env else given, unit)
        made = FuncSet(member.name, (entry,), None, inst)
        if "setter" in member.flags:
            space[SETTER + member.name] = made
            return
        space[member.name] = made
        from cutecheck.source.dsl.made_classes import wrapped

        around_it = wrapped(m, made, inst.env)
        if around_it is not made:
            space[f"undecorated {member.name}"] = made
            space[member.name] = around_it
    elif isinstance(member, ir.Variable):
        if "annotated" in member.flags:
            inst.memo["fields"].append((member.name, member))
        if member.init is not None:
            value = m.eval(member.init, inst.env)
            if isinstance(value, Enumerator) and value.cls is inst:
                value = value.value  # flags of earlier members, `AB = A | B`
            space[member.name] = Enumerator(inst, member.name, value) if inst.memo["enum"] else value
            same = [
                e for e in space.values() if isinstance(e, Enumerator) and e.name != member.name and _alias(e, value)
            ]
            if inst.memo["enum"] and same:
                space[member.name] = same[0]
            if inst.memo["enum"] and isinstance(value, Builtin) and value.name == "enum.auto":
                del space[member.name]
                space[member.name] = Enumerator(inst, member.name, enumerations.next_member(inst, member.name))
    elif isinstance(member, ir.Class):
        from cutecheck.source.dsl.made_classes import decorated

        space[member.name] = decorated(m, define(m, member, inst.env, unit), member, inst.env)
    elif isinstance(member, ir.TopLevel):
        m.run(member.stmt, inst.env)
    elif isinstance(member, ir.Import):
        m.dialect.declare(m, member, inst.env)


def _alias(e: Enumerator, value: Value) -> bool:
    return type(e.value) is type(value) and isinstance(value, (int, str)) and e.value == value
