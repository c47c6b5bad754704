"""Classes that a program makes while it runs: ``type(...)``, ``make_dataclass``, ``NamedTuple(...)``, decorators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl.builtins import builtin, sequence
from cutecheck.source.dsl.values import Builtin, BuiltinType, Partial
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.values import Closure, Extern, FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

Fields = list[tuple[str, Value, tuple[Value, ...]]]  # name, type, default if any


def make(m: Machine, name: str, bases: list[Value], space: dict[str, Value], fields: Fields, span: Span) -> ClassInst:
    """A class object from its parts."""
    from cutecheck.source.dsl import classes

    decl = ir.Class(name, "class", None, None, (), (), None, span, span)
    unit = ir.Unit(span.path, "dsl", (), (), (), ())
    env = Env(None, "class")
    inst = ClassInst(Entry(decl, env, unit), decl, env, (), None, None)
    inst.ident = id(inst)
    inst.bases = [b for b in bases if isinstance(b, ClassInst)]
    inst.memo["foreign"] = [b for b in bases if not isinstance(b, (ClassInst, BuiltinType))]
    inst.memo["space"] = dict(space)
    inst.memo["fields"] = []
    for word, kind, default in fields:
        init = ir.Lit(0, "int", span) if default else None
        member = ir.Variable(word, None, init, None, frozenset({"annotated"}), None, span, span)
        inst.memo["fields"].append((word, member))
        inst.memo["field", word] = kind
        if default:
            inst.memo["space"][word] = default[0]
    for mark in ("enum", "struct", "union"):
        inst.memo[mark] = False
    inst.memo["dataclass"] = any(b.memo.get("dataclass") for b in inst.bases)
    inst.memo["namedtuple"] = any(b.memo.get("namedtuple") for b in inst.bases)
    classes.initialized(m, inst, span, {})
    return inst


def annotated(m: Machine, cls: ClassInst) -> dict[str, Value]:
    """``cls.__annotations__``."""
    from cutecheck.source.dsl.storage import field_type

    return {name: field_type(m, cls, name) for name, _ in cls.memo["fields"]}


def type_of_three(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``type(name, bases, namespace)``."""
    name, bases, space = args[:3]
    if not isinstance(name, str) or not isinstance(bases, (tuple, list)) or not isinstance(space, dict):
        return Extern("type(...)", span)
    noted = space.get("__annotations__", {})
    fields: Fields = []
    if isinstance(noted, dict):
        fields = [(n, t, (space[n],) if n in space else ()) for n, t in noted.items() if isinstance(n, str)]
    rest = {k: v for k, v in space.items() if isinstance(k, str) and k != "__annotations__"}
    return make(m, name, list(bases), rest, fields, span)


def _fields(m: Machine, given: Value, span: Span) -> Fields | Unknown:
    items = sequence(m, given, span)
    if isinstance(items, Unknown):
        return items
    out: Fields = []
    for item in items:
        if isinstance(item, str):
            out.append((item, BuiltinType("Any"), ()))
        elif isinstance(item, (tuple, list)) and len(item) >= 2 and isinstance(item[0], str):
            out.append((item[0], item[1], _default(item[2]) if len(item) > 2 else ()))
        else:
            return Unknown("a field that is not known", span)
    return out


def _default(v: Value) -> tuple[Value, ...]:
    if isinstance(v, Builtin) and v.name == "dataclasses.field" and isinstance(v.self_, dict):
        return (v.self_["default"],) if "default" in v.self_ else (v,) if "default_factory" in v.self_ else ()
    return (v,)


@builtin("dataclasses.make_dataclass")
def _make_dataclass(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    fields = _fields(m, args[1] if len(args) > 1 else kwargs.get("fields"), span)
    bases = kwargs.get("bases", ())
    if isinstance(fields, Unknown):
        return fields
    space = kwargs.get("namespace")
    made = make(m, str(args[0]), list(bases) if isinstance(bases, (tuple, list)) else [],
                space if isinstance(space, dict) else {}, fields, span)  # fmt: skip
    made.memo["dataclass"] = True
    return made


def _named_tuple(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``NamedTuple("Name", [(field, type), ...])`` and ``collections.namedtuple``."""
    given = args[1] if len(args) > 1 else kwargs.get("fields", kwargs.get("field_names", []))
    if isinstance(given, str):
        given = given.replace(",", " ").split()
    fields = _fields(m, given, span)
    if isinstance(fields, Unknown):
        return fields
    defaults = kwargs.get("defaults")
    if isinstance(defaults, (tuple, list)) and defaults:
        tail = len(fields) - len(defaults)
        fields = [(n, t, (defaults[i - tail],) if i >= tail else d) for i, (n, t, d) in enumerate(fields)]
    made = make(m, str(args[0]), [], {}, fields, span)
    made.memo["namedtuple"] = True
    return made


builtin("collections.namedtuple", "typing.NamedTuple()")(_named_tuple)


@builtin("dataclasses.MISSING")
def _missing(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Unknown("a call of `dataclasses.MISSING`", span)


@builtin("dataclasses.fields")
def _dataclass_fields(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Objects with ``name``, ``type``, ``default`` and ``metadata`` for each field."""
    from cutecheck.source.dsl import classes
    from cutecheck.source.dsl.storage import field_type
    from cutecheck.source.dsl.values import Namespace

    cls = args[0] if isinstance(args[0], ClassInst) else getattr(args[0], "cls", None)
    if not isinstance(cls, ClassInst):
        return Unknown("the fields of a value that is not known", span)
    missing, out = Builtin("dataclasses.MISSING"), []
    for name, (owner, _) in classes.fields(cls):
        default = owner.memo["space"].get(name, missing)
        options: dict[str, Value] = {"default": default}
        if isinstance(default, Builtin) and default.name == "dataclasses.field":
            options = {"default": missing, **(default.self_ or {})}
        known = {"default_factory": missing, "metadata": {}, "init": True, "repr": True, "kw_only": False, **options}
        out.append(Namespace({"name": name, "type": field_type(m, owner, name), **known}))
    return tuple(out)


def decorated(m: Machine, inst: Value, decl: ir.Class, env: Env) -> Value:
    """The class after the decorators that are functions or classes of the tree; others are known by name."""
    from cutecheck.source.eval.calls import apply

    value: Value = inst
    for node in reversed(decl.decorators):
        found = m.eval(node, env)
        own = found.entries[0].env.namespace() if isinstance(found, FuncSet) else None
        if own is not None and not own.name.startswith("cutlass"):
            made = apply(m, found, [value], {}, node.span)
            value = value if isinstance(made, (Unknown, Extern)) or made is None else made
    return value


_KEEP = ("dispatch.register", "functools.update_wrapper")  # decorators that give back what they take


def wrapped(m: Machine, fn: FuncSet, env: Env) -> Value:
    """The function after the decorators that are functions or classes of the tree; others are known by name."""
    from cutecheck.source.eval.calls import apply

    value: Value = fn
    for node in reversed(fn.entries[-1].decl.decorators):
        found = m.eval(node, env)
        if isinstance(found, Builtin) and found.name.startswith(("functools.singledispatch", "dispatch.")):
            value = apply(m, found, [value], {}, node.span)
            continue
        if isinstance(found, Partial) and isinstance(found.fn, Builtin) and found.fn.name in _KEEP:
            apply(m, found, [value], {}, node.span)
            continue
        entry = found.entries[-1] if isinstance(found, FuncSet) else getattr(found, "entry", None)
        at = found.env if isinstance(found, Closure) else None if entry is None else entry.env
        own = None if at is None else at.namespace()
        if own is None or own.name.startswith("cutlass"):
            continue
        made = apply(m, found, [value], {}, node.span)
        if isinstance(made, (FuncSet, Closure, Object, Partial)):
            value = made
    return value
