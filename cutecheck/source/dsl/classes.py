"""Python classes: bodies, bases, attributes, instances, dataclasses, named tuples and enumerations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import properties
from cutecheck.source.dsl.builtins import FUNCTIONS
from cutecheck.source.dsl.statements import spelled
from cutecheck.source.dsl.values import (
    NONE,
    Builtin,
    BuiltinType,
    Dispatch,
    Enumerator,
    Module,
    Partial,
    Property,
    Super,
)
from cutecheck.source.eval import ir
from cutecheck.source.eval.containers import ANY_NAME
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Closure, Extern, FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

MERGED = "dsl merged"  # what a machine knows of objects that are one of two
SETTER = "setter of "  # never the start of a Python name
_AUTOGRAD = "torch.autograd.Function"
ENUMS = ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")
_PLAIN_BASES = (*ENUMS, "NamedTuple", "ABC", "Protocol", "Generic", "object")
_PROTOCOLS = ("JitArgument", "DynamicExpression")  # of the DSL: what their classes have is declared, nothing else
_OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "==": "eq", "<": "lt",
    "<=": "le", ">": "gt", ">=": "ge", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "@": "matmul",
}  # fmt: skip


def mro(cls: ClassInst) -> list[ClassInst]:
    """The class and its bases in Python's order (depth first, a shared base last)."""
    order: list[ClassInst] = []

    def walk(c: ClassInst) -> None:
        if c in order:
            order.remove(c)
        order.append(c)
        for b in c.bases or ():
            walk(b)

    walk(cls)
    return order


def find(cls: ClassInst, name: str, after: ClassInst | None = None) -> Value | None:
    """A class attribute through the bases; after ``after`` for ``super()``."""
    order = mro(cls)
    if after is not None:
        order = order[order.index(after) + 1 :] if after in order else []
    for c in order:
        space = c.memo["space"]
        if name in space:
            return space[name] if space[name] is not None else NONE
    return None


def bind(m: Machine, found: Value, obj: Object | ClassInst | Enumerator, cls: ClassInst, span: Span) -> Value:
    """A class attribute as the object, class or member has it: a method bound, a property asked."""
    if found is NONE:
        return NONE
    if isinstance(found, Builtin) and found.name == "a static method":
        return NONE if found.self_ is None else found.self_
    if isinstance(found, FuncSet) and found.self_ is None:
        flags = found.entries[0].decl.flags
        if "static" in flags or found.name == "__new__":
            return found
        owner: Any = cls if "classmethod" in flags else obj
        if isinstance(owner, ClassInst) and "classmethod" not in flags:
            return found
        bound = FuncSet(found.name, found.entries, owner, found.cls)
        if "property" in flags or "cached" in flags:
            from cutecheck.source.eval.calls import apply

            made = apply(m, bound, [], {}, span)
            if "cached" in flags and isinstance(obj, Object):
                m.journal.set(obj.fields, found.name, made)
            return NONE if made is None else made
        return bound
    if isinstance(found, Dispatch) and isinstance(obj, Object):
        return replace(found, self_=obj)
    if isinstance(found, Closure) and isinstance(obj, Object):
        return Partial(found, (obj,), ())
    if isinstance(found, Property):
        return properties.asked(m, found, obj, span)
    if isinstance(found, Object) and not isinstance(obj, Enumerator):
        from cutecheck.source.dsl.protocol import asked

        said = asked(m, found, "__get__", [None if obj is cls else obj, cls], span)
        return found if said is None else said
    return found


def attribute(m: Machine, base: Value, name: str, span: Span) -> Value | None:
    """An attribute of an object, class or enumerator; None where the value is none of these, ``NONE`` for None."""
    if isinstance(base, (Object, ClassInst, Enumerator, Super)):
        found = _attribute(m, base, name, span)
        absent = isinstance(base, Enumerator) and name not in ("value", "_value_") and find(base.cls, name) is None
        return NONE if found is None and not absent else found
    return None


def _attribute(m: Machine, base: Value, name: str, span: Span) -> Value | None:
    if isinstance(base, Object):
        if name in base.fields:
            return NONE if base.fields[name] is None else base.fields[name]
        if name == "__class__":
            return base.cls
        if name == "__dict__":
            return base.fields
        if base.cls.memo.get("struct"):
            from cutecheck.source.dsl.storage import member

            return member(m, base, name, span)
        found = find(base.cls, name)
        if found is not None:
            return bind(m, found, base, base.cls, span)
        if name in ("_replace", "_asdict") and base.cls.memo.get("namedtuple"):
            return Builtin(f"object.{name}", base)
        if any(unread(b) for c in mro(base.cls) for b in c.memo["foreign"]):
            stands = _of_run(m, base.cls, name, span)
            return Extern(f"{base.cls.name}.{name}", span) if stands is None else bind(m, stands, base, base.cls, span)
        hook = find(base.cls, "__getattr__")
        if isinstance(hook, FuncSet) and not name.startswith("__"):
            from cutecheck.source.dsl.flow import unless_raised
            from cutecheck.source.eval.calls import apply

            own = FuncSet(hook.name, hook.entries, base, hook.cls)
            why = f"`{base.cls.name}` has no attribute `{name}` here"
            made = unless_raised(m, lambda: apply(m, own, [name], {}, span), why, span)
            return NONE if made is None else made
        return Unknown(f"`{base.cls.name}` has no attribute `{name}` here", span)
    if isinstance(base, ClassInst):
        found = find(base, name)
        if found is not None:
            return bind(m, found, base, base, span)
        if name == "__name__":
            return base.name
        if name == "__subclasses__":
            return Builtin("class.subclasses", base)
        if name == "__members__" and base.memo.get("enum"):
            from cutecheck.source.dsl import enumerations

            return {e.name: e for e in enumerations.members(base)}
        if base.memo.get("struct"):
            from cutecheck.source.dsl.storage import class_member

            return class_member(m, base, name, span)
        if name == "apply" and any(isinstance(b, Extern) and b.what == _AUTOGRAD for b in base.memo["foreign"]):
            return Builtin("autograd.apply", base)
        if name == "_fields" and base.memo.get("namedtuple"):
            return tuple(n for n, _ in fields(base))
        if name == "_make" and base.memo.get("namedtuple"):
            return Builtin("namedtuple._make", base)
        if name == "__dataclass_fields__":
            return {n: None for n, _ in fields(base)}
        if name == "__annotations__":
            from cutecheck.source.dsl.made_classes import annotated

            return annotated(m, base)
        if name == "__dict__":
            return dict(base.memo["space"])
        from cutecheck.source.dsl.metaclasses import attribute as of_metaclass

        found = of_metaclass(m, base, name, span)
        if found is not None:
            return found
        if any(unread(b) for c in mro(base) for b in c.memo["foreign"]):
            stands = _of_run(m, base, name, span)
            return Extern(f"{base.name}.{name}", span) if stands is None else bind(m, stands, base, base, span)
        return Unknown(f"class `{base.name}` has no attribute `{name}` here", span)
    if isinstance(base, Enumerator):
        from cutecheck.source.dsl import enumerations

        return enumerations.attribute(m, base, name, span)
    if isinstance(base, Super):
        cls = base.obj if isinstance(base.obj, ClassInst) else base.obj.cls
        found = find(cls, name, base.cls)
        meta = cls.memo.get("metaclass")
        if found is None and meta is not None and base.obj is cls and derives(meta, base.cls):
            from cutecheck.source.dsl.metaclasses import bound

            found = bound(m, find(meta, name, base.cls), cls, span)
            return found if found is not None else Builtin("type.__call__" if name == "__call__" else "object.__init__",
                                                           cls if name == "__call__" else None)  # fmt: skip
        if found is None:
            return Builtin("object.__new__" if name == "__new__" else "object.__init__")
        return bind(m, found, base.obj, cls, span)
    return None


def _of_run(m: Machine, cls: ClassInst, name: str, span: Span) -> Value | None:
    """What a pipeline of the package that a class is derived from has, in a run thread by thread."""
    if m.dialect.replaying is None or not m.dialect.replaying.by_source:
        return None
    from cutecheck.source.dsl.piping import of_base

    return of_base(m, cls, name, span)


def unread(base: Value) -> bool:
    """Whether a base class that is not of the tree may have attributes that nobody read."""
    where = base.what if isinstance(base, Extern) else base.name if isinstance(base, Module) else ""
    if where.startswith("cutlass.") and where.rpartition(".")[2] in _PROTOCOLS:
        return False
    return not (isinstance(base, BuiltinType) and base.name in _PLAIN_BASES)


def inherits_unread(base: Value, name: str) -> bool:
    """Whether an object or class may have an attribute of a base class that nobody read, and has none of its own."""
    cls = base.cls if isinstance(base, Object) else base
    if not isinstance(cls, ClassInst) or (isinstance(base, Object) and name in base.fields):
        return False
    return find(cls, name) is None and any(unread(b) for c in mro(cls) for b in c.memo["foreign"])


def index(m: Machine, base: Value, key: Value, span: Span) -> Value:
    if isinstance(base, ClassInst):
        if base.memo.get("enum") and isinstance(key, str):
            found = base.memo["space"].get(key)
            return found if found is not None else Unknown(f"no member {key}", span)
        from cutecheck.source.dsl.metaclasses import answers
        from cutecheck.source.dsl.protocol import asked

        if answers(base, "__getitem__"):
            return asked(m, base, "__getitem__", [key], span)
        hook = find(base, "__class_getitem__")
        if isinstance(hook, FuncSet):
            from cutecheck.source.eval.calls import apply

            owner: Any = base
            return apply(m, FuncSet(hook.name, hook.entries, owner, hook.cls), [key], {}, span)
        return base
    if isinstance(base, Object):
        if base.cls.memo.get("namedtuple") and isinstance(key, (int, slice)):
            return tuple(base.fields.values())[key]
        found = find(base.cls, "__getitem__")
        if isinstance(found, FuncSet):
            from cutecheck.source.eval.calls import apply

            return apply(m, bind(m, found, base, base.cls, span), [key], {}, span)
    return Unknown(f"indexing `{base.cls.name}`", span)


def operator(m: Machine, op: str, left: Value, right: Value, span: Span) -> Value | None:
    from cutecheck.source.eval.calls import apply

    word = _OPERATORS.get(op)
    if word is None:
        return None
    if op in ("<", "<=", ">", ">=") and isinstance(left, Object) and isinstance(right, Object):
        said = _by_fields(m, op, left, right, span)
        if said is not None:
            return said
    if isinstance(left, Object):
        found = find(left.cls, f"__{word}__")
        if isinstance(found, FuncSet):
            return apply(m, bind(m, found, left, left.cls, span), [right], {}, span)
    if isinstance(right, Object):
        found = find(right.cls, f"__r{word}__")
        if isinstance(found, FuncSet):
            return apply(m, bind(m, found, right, right.cls, span), [left], {}, span)
    return None


def _by_fields(m: Machine, op: str, left: Object, right: Object, span: Span) -> Value | None:
    """Order of named tuples and of dataclasses with ``order=True``."""
    marks = [d for d in left.cls.decl.decorators if isinstance(d, ir.Call)]
    orders = any(a.name == "order" for d in marks for a in d.args) or left.cls.memo.get("namedtuple")
    if left.cls is not right.cls or not orders:
        return None
    values = tuple(left.fields.values()), tuple(right.fields.values())
    if not all(isinstance(v, (int, float, str)) for part in values for v in part):
        return None
    return m.dialect.binary(op, *values, span)


def fields(cls: ClassInst) -> list[tuple[str, tuple[ClassInst, ir.Variable]]]:
    """Annotated fields of a dataclass or named tuple, bases first."""
    out: dict[str, tuple[ClassInst, ir.Variable]] = {}
    for c in reversed(mro(cls)):
        for name, decl in c.memo["fields"]:
            if decl.type is not None and "ClassVar" in spelled_type(decl.type):
                continue
            out[name] = (c, decl)
    return list(out.items())


def compared(obj: Object) -> dict[str, Value]:
    """What of an instance of a dataclass or named tuple ``==`` looks at: its fields, not what else it holds."""
    if not obj.cls.memo.get("dataclass"):
        return obj.fields
    return {name: obj.fields[name] for name, _ in fields(obj.cls) if name in obj.fields}


def spelled_type(e: ir.Expr) -> str:
    if isinstance(e, ir.Index):
        return spelled(e.base)
    return spelled(e)


def instantiate(m: Machine, cls: ClassInst, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``Class(args)``."""
    from cutecheck.source.dsl.metaclasses import answers
    from cutecheck.source.dsl.protocol import asked

    if answers(cls, "__call__"):
        return asked(m, cls, "__call__", args, span, kwargs)
    return construct(m, cls, args, kwargs, span)


def construct(m: Machine, cls: ClassInst, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """An object of a class, or the member of an enumeration."""
    from cutecheck.source.eval.calls import apply

    if cls.memo.get("enum"):
        from cutecheck.source.dsl import enumerations

        return enumerations.member(m, cls, args, span)
    if any(BuiltinType("TypedDict") in c.memo["foreign"] for c in mro(cls)):
        return FUNCTIONS["dict()"](m, args, kwargs, span)
    obj = Object(cls)
    if cls.memo.get("struct"):
        from cutecheck.source.dsl import storage

        return storage.construct(m, cls, args, span)
    maker = find(cls, "__new__")
    if isinstance(maker, FuncSet):
        made = apply(m, FuncSet(maker.name, maker.entries, None, maker.cls), [cls, *args], kwargs, span)
        if not isinstance(made, Object) or cls not in mro(made.cls):
            return made if made is not None else Unknown("`__new__` returned nothing", span)
        obj = made
    init = find(cls, "__init__") or _of_run(m, cls, "__init__", span)
    if isinstance(init, FuncSet) and not (cls.memo.get("dataclass") and init.cls is None):
        apply(m, FuncSet(init.name, init.entries, obj, init.cls), args, kwargs, span)
        return obj
    if cls.memo.get("dataclass") or cls.memo.get("namedtuple") or cls.memo["fields"]:
        _fill(m, obj, cls, args, kwargs, span)
        post = find(cls, "__post_init__")
        if isinstance(post, FuncSet):
            apply(m, FuncSet(post.name, post.entries, obj, post.cls), [], {}, span)
        return obj
    for key, value in kwargs.items():
        m.journal.set(obj.fields, key, value)
    return obj


def _fill(m: Machine, obj: Object, cls: ClassInst, args: list[Value], kwargs: dict[str, Value], span: Span) -> None:
    positional = list(args)
    for name, (owner, decl) in fields(cls):
        given = owner.memo["space"].get(name)
        if not takes(given):
            value = _default(m, given, span)
        elif positional:
            value = positional.pop(0)
        elif name in kwargs:
            value = kwargs[name]
        elif ANY_NAME in kwargs:
            value = kwargs[ANY_NAME]
        elif decl.init is not None:
            value = owner.memo["space"].get(name)
            if isinstance(value, Builtin) and value.name == "dataclasses.field":
                value = _default(m, value, span)
        else:
            value = Unknown(f"no argument for `{name}`", span)
        m.journal.set(obj.fields, name, value)


def takes(default: Value) -> bool:
    """Whether ``__init__`` of a dataclass takes a field with this default: not where it is ``field(init=False)``."""
    field = isinstance(default, Builtin) and default.name == "dataclasses.field"
    return not field or (default.self_ or {}).get("init", True) is not False


def _default(m: Machine, field: Builtin, span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    options = field.self_ or {}
    if "default" in options:
        return options["default"]
    if "default_factory" in options:
        return apply(m, options["default_factory"], [], {}, span)
    return Unknown("a field without default", span)


def initialized(m: Machine, inst: ClassInst, span: Span, named: dict[str, Value]) -> None:
    """``__init_subclass__`` of the nearest base that has one."""
    from cutecheck.source.eval.calls import apply

    hook = find(inst, "__init_subclass__", inst)
    if isinstance(hook, FuncSet):
        owner: Any = inst
        apply(m, FuncSet(hook.name, hook.entries, owner, hook.cls), [], named, span)


def derives(cls: ClassInst, base: ClassInst) -> bool:
    return base in mro(cls)


def set_attribute(m: Machine, obj: Object, name: str, value: Value, span: Span) -> None:
    """``obj.name = value``."""
    from cutecheck.source.eval.calls import apply

    setter = find(obj.cls, SETTER + name)
    if isinstance(setter, FuncSet):
        apply(m, FuncSet(setter.name, setter.entries, obj, setter.cls), [value], {}, span)
        return
    described = find(obj.cls, name)
    if properties.written(m, described, obj, value, span):
        return
    if isinstance(described, Object) and isinstance(find(described.cls, "__set__"), FuncSet):
        apply(m, attribute(m, described, "__set__", span), [obj, value], {}, span)
        return
    m.journal.set(obj.fields, name, value)
    for other in m.functions.get(MERGED, {}).get(id(obj), ())[1:]:  # it may be any of these
        if name in other.fields:
            set_attribute(m, other, name, Unknown(f"`{name}` of an object that may be another", span), span)


def in_place(m: Machine, op: str, obj: Object, value: Value, span: Span) -> Value:
    """``obj op= value`` by the class's own method."""
    from cutecheck.source.eval.calls import apply

    found = find(obj.cls, f"__i{_OPERATORS.get(op, '')}__")
    if not isinstance(found, FuncSet):
        return DEFER
    return apply(m, bind(m, found, obj, obj.cls, span), [value], {}, span)
