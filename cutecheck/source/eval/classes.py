"""Classes of the tree: instances under template arguments, bases, objects, construction and conversion."""

from __future__ import annotations

from collections.abc import Sequence

from cutecheck.facts import Span, Unknown
from cutecheck.model.dtype import DType
from cutecheck.model.integers import INTEGERS
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.eval import (
    ages,
    conversions,
    copies,
    enums,
    initialisation,
    ir,
    leaks,
    outside,
    places,
    qualified,
    qualifiers,
    std_arrays,
    vectors,
)
from cutecheck.source.eval.ancestry import NAMED, ends_never, named_bases
from cutecheck.source.eval.fitting import of_nothing
from cutecheck.source.eval.held_fields import Apart
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.types import type_key, type_of
from cutecheck.source.eval.values import (
    TYPE_TAG,
    Address,
    ArrayType,
    Extern,
    ExternType,
    Object,
    ObjectPointer,
    Pack,
    PtrType,
    Reference,
    Scalar,
    ScalarType,
    Shared,
    Str,
    TraitType,
    Value,
    ValueType,
    is_zero,
    null,
)

NO_MEMBER = "has all its bases known, and no member"
ALIGNED = "aligned_struct"  # `struct S : cute::aligned_struct<128>`


def instance(
    m: Machine,
    entry: Entry,
    decl: ir.Class,
    args: tuple[Value, ...],
    shown: tuple[Value, ...] | None,
    outer: ClassInst | None,
    bindings: dict[str, Value] | None = None,
    siblings: tuple[Entry, ...] = (),
) -> ClassInst:
    """The class under template arguments, one object an argument list."""
    key = (id(decl), id(entry.env), type_key(args), _kinds(decl, args))
    found = m.instances.get(key)
    if found is not None:
        made: ClassInst = found
        return made
    template = Env(entry.env, "template")
    template.vars.update(bindings or {})
    for name in bindings or ():
        qualified.note(template, name)
    env = Env(template, "class")
    inst = ClassInst(entry, decl, env, args, shown, outer)
    inst.ident = len(m.instances) + 1
    env.cls = inst
    m.instances[key] = inst
    outside.complete(m, inst)
    m.history.classes.add(id(decl))
    m.history.classes.update(id(e.decl) for e in siblings)
    m.recorder.instantiated(m, inst)
    return inst


def _kinds(decl: ir.Class, args: tuple[Value, ...]) -> tuple[str, ...]:
    """The types of the numbers that are arguments of ``template <auto V>``."""
    if not any(isinstance(p.type, ir.Auto) for p in decl.tparams or ()):
        return ()
    flat = (v for a in args for v in (a.items if isinstance(a, Pack) else (a,)))
    return tuple(v.ctype if isinstance(v, Scalar) else "" for v in flat)


def bases(m: Machine, inst: ClassInst) -> list[ClassInst]:
    """The base classes that are in the tree, in order; known types among the others are ``inst.known_bases``."""
    if inst.bases is None:
        inst.bases = []
        named = named_bases(m, inst)
        inst.bases = [b for b in named if isinstance(b, ClassInst) and not ends_never(inst, b)]
        inst.known_bases = tuple(  # `struct X : cute::false_type`
            b
            for b in named
            if isinstance(b, (ValueType, TraitType, Scalar))
            or (isinstance(b, ExternType) and b.name in (ALIGNED, TYPE_TAG))
        )
    return inst.bases


def complete(m: Machine, inst: ClassInst) -> bool:
    """Whether all bases of a class are known, all the way up: then it has no members besides those it shows."""
    above = bases(m, inst)
    return len(above) + len(inst.known_bases) == inst.memo.get(NAMED, len(inst.decl.bases)) and all(
        complete(m, b) for b in above
    )


def fields(m: Machine, inst: ClassInst) -> list[tuple[ClassInst, ir.Variable]]:
    """Non-static data members, bases first, in declaration order; with those of anonymous unions and structs."""
    if inst.fields is not None:
        return inst.fields
    own: list[tuple[ClassInst, ir.Variable]] = []
    for part in parts(m, inst):
        own.extend([(inst, part)] if isinstance(part, ir.Variable) else fields(m, part))
    above = bases(m, inst)
    found = [f for base in above for f in fields(m, base)] + own
    if above or not inst.decl.bases:  # else perhaps asked while its bases are being evaluated
        inst.fields = found
    return found


def parts(m: Machine, inst: ClassInst) -> list[ir.Variable | ClassInst]:
    """What a class itself stores, in order: data members, and anonymous unions and structs as classes."""
    found: list[ir.Variable | ClassInst] = []
    for d in inst.decl.members:
        if isinstance(d, ir.Variable) and not d.flags & {"static", "constexpr"} and d.tparams is None:
            found.append(d)
        elif isinstance(d, ir.Class) and not d.name:
            found.append(instance(m, Entry(d, inst.env, inst.entry.unit), d, (), None, inst))
    return found


def get_field(m: Machine, obj: Object, name: str, span: Span) -> Value:
    """A data member of an object; a view of memory yields the sub-object at its offset."""
    if obj.pointer is None and name in overlaid(m, obj.cls):
        owner, decl = next((o, d) for o, d in fields(m, obj.cls) if d.name == name)
        typed = m.eval(decl.type, owner.env) if decl.type is not None else None
        return symbolic(m, typed, f"{name}{PER_THREAD}{m.number()}", span)
    if name in obj.fields:
        held = obj.fields[name]
        return places.read(m, held.cells, span) if type(held) is Reference else held
    for owner, decl in fields(m, obj.cls):
        if decl.name == name:
            value: Value
            mark = m.journal.mark()
            if obj.pointer is not None:
                from cutecheck.source.eval.memory import member_view

                value = member_view(m, obj, owner, decl, span)
            elif name in obj.initial:
                value = copies.copied(m, obj.initial[name])
            elif decl.init is not None and not obj.name:
                value = m.eval(decl.init, owner.env)
                if isinstance(value, (tuple, Scalar)) and decl.type is not None and not qualifiers.never_written(decl):
                    typed = m.eval(decl.type, owner.env)
                    kinds = (ArrayType, ValueType, ClassInst) if isinstance(value, tuple) else (ScalarType, ClassInst)
                    value = initialisation.convert(m, typed, value, span) if isinstance(typed, kinds) else value
                    value = null(typed.inner) if isinstance(typed, PtrType) and is_zero(value) else value
                obj.initial[name] = value
                value = copies.copied(m, value)
            elif decl.init_args is not None and decl.type is not None and not obj.name:
                given = places.arguments(m, decl.init_args, owner.env)
                typed = m.eval(decl.type, owner.env)
                value = obj.initial[name] = construct(m, typed, given, names_of(decl.init_args, given), span)
                value = copies.copied(m, value)
            else:
                typed = m.eval(decl.type, owner.env) if decl.type is not None else None
                if obj.zeroed and not obj.name and _is_zero(typed) and not has_constructors(owner):
                    value = initialisation.convert(m, typed, (), span)
                else:
                    from cutecheck.source.eval.member_defaults import unset

                    value = unset(m, obj, owner, decl, typed, span)
                obj.initial[name] = value
                value = copies.copied(m, value)
            if type(obj.fields) is Apart and isinstance(value, Object) and value.pointer is None:
                value.fields = Apart(value.fields)
            ages.age(value, obj)
            m.journal.keep(mark)  # what it held from the start, and all that this is made of: no undo takes it back
            obj.fields[name] = value
            return value
    return Unknown(f"`{obj.cls.name}` has no data member `{name}` in the tree", span)


def has_constructors(cls: ClassInst) -> bool:
    """Constructors of its own, other than defaulted ones."""
    return any(isinstance(d, ir.Function) and "defaulted" not in d.flags for d in cls.index.get(cls.name, ()))


def _is_zero(type_: Value) -> bool:
    """A type whose values ``{}`` makes zeros that are followed."""
    if (
        isinstance(type_, ArrayType)
        and isinstance(type_.extent, int)
        and type_.extent <= initialisation.LONGEST
        and not type_.name
    ):
        type_ = type_.inner
    return isinstance(type_, (ClassInst, enums.EnumRef)) or (isinstance(type_, ScalarType) and integral(type_.dtype))


def overlaid(m: Machine, cls: ClassInst) -> frozenset[str]:
    """Members that share memory or a name with others, or have not all bits of their type: they are not followed."""
    key = ("overlaid",)
    if key not in cls.memo:
        names = [decl.name for _, decl in fields(m, cls)]  # a base's may be hidden by the class's own
        cls.memo[key] = frozenset(
            decl.name
            for owner, decl in fields(m, cls)
            if owner.decl.kind == "union" or "bits" in decl.flags or names.count(decl.name) > 1
        )
    found: frozenset[str] = cls.memo[key]
    return found


def of_any_time(m: Machine, value: Object, name: str) -> Object:
    """An object outside of functions: whatever it was given first, any function may have written it since."""
    if value.pointer is not None or not fields(m, value.cls):
        return value
    return Object(value.cls, Apart({}), None, str(m.fresh(name)))


def default_value(m: Machine, type_: Value, span: Span) -> Value:
    """``T{}``."""
    if isinstance(type_, ValueType):
        return of_nothing(m, type_.value, span)
    if isinstance(type_, ScalarType):
        return Scalar(0 if integral(type_.dtype) else None, type_.dtype.name)
    if isinstance(type_, ClassInst):
        return Object(type_)
    if isinstance(type_, PtrType):
        return null(type_.inner)
    if isinstance(type_, ArrayType):
        held = std_arrays.made(m, type_, (), span)
        if held is None and not type_.name and m.dialect.by_value and isinstance(type_.extent, int):
            return initialisation.convert(m, type_, (), span)
        return m.recorder.array(m, type_, span) if held is None else held
    if isinstance(type_, ExternType):
        return (1, 1, 1) if type_.name == "dim3" else _foreign(m, type_, [], span)
    return type_


def names_of(written: Sequence[ir.Arg], values: Sequence[Value]) -> list[str | None]:
    """The members that arguments name; those of a pack name none."""
    return [a.name for a in written] if len(written) == len(values) else [None] * len(values)


def integral(d: DType) -> bool:
    return d.bits is not None and (d.name in INTEGERS or ("int" in d.name and "128" not in d.name))


def construct(m: Machine, type_: Value, args: list[Value], names: list[str | None], span: Span) -> Value:
    """``T(args)`` or ``T{args}``."""
    from cutecheck.source.eval import calls, constructors, intrinsics

    if isinstance(type_, Unknown):
        return type_
    if isinstance(type_, ClassInst):
        return constructors.construct_object(m, type_, args, names, span)
    if isinstance(type_, enums.EnumRef):
        return enums.made(m, type_, args[0] if args else Scalar(0, "int"), span)
    if not args:
        return default_value(m, type_, span)
    if any(type(a) is Elements for a in args):
        leaks.leak_arguments(m, "", args)
    if isinstance(type_, ScalarType):
        vector = vectors.filled(m, type_.dtype.name, args, span) if len(args) > 1 else None
        if vector is not None:
            return vector  # `int3{x, y, z}`
        if isinstance(args[0], (Address, ObjectPointer)):
            leaks.leak(m, args[0])
        own = conversions.converted(m, args[0], type_, span, True) if isinstance(args[0], Object) else None
        return initialisation.number(m, type_, args[0], span) if own is None else own
    if isinstance(type_, ValueType):
        return intrinsics.construct_value(m, type_.value, args, span)
    if isinstance(type_, ExternType):
        if type_.name == "dim3":
            return tuple(m.dialect.to_model(a) for a in args) + (1,) * (3 - len(args))
        if m.dialect.by_value:
            leaks.leak_arguments(m, type_.name, args)
        if len(args) == 1 and isinstance(args[0], Str) and type_.name.endswith("string_view"):
            return args[0]
        return _foreign(m, type_, args, span)
    if isinstance(type_, PtrType):
        return initialisation.convert(m, type_, args[0], span)
    if isinstance(type_, ArrayType):
        held = std_arrays.made(m, type_, args, span)
        if held is None and not type_.name and m.dialect.by_value and len(args) > 1:
            return initialisation.convert(m, type_, tuple(args), span)
        if held is not None:
            return held
        leaks.leak(m, *args)
        return m.recorder.array(m, type_, span)
    return calls.apply(m, type_, args, {}, span)


def _foreign(m: Machine, type_: ExternType, args: list[Value], span: Span) -> Value:
    """An object of a class that is not in the tree."""
    made = Extern(type_.name, span, type_)
    watched = type_.name.rpartition("::")[2] in m.dialect.watched
    return m.dialect.constructed(m, made, args, span) if watched else made


def derives(m: Machine, cls: ClassInst, base: ClassInst) -> bool:
    """Whether a class is another or has it among its bases."""
    return cls is base or any(derives(m, b, base) for b in bases(m, cls))


def overridden(m: Machine, cls: ClassInst, base: ClassInst, name: str) -> bool:
    """Whether a call of a base's method runs the one of the object's class: a virtual function of that name."""
    return cls is not base and virtual(m, base, name) and derives(m, cls, base)


def virtual(m: Machine, cls: ClassInst, name: str) -> bool:
    own = any(isinstance(d, ir.Function) and "virtual" in d.flags for d in cls.index.get(name, ()))
    return own or any(virtual(m, base, name) for base in bases(m, cls))


def declare(m: Machine, type_: Value, decl: ir.Variable, env: Env) -> Value:
    """``T x;``: a default-constructed object, an array, a shared-memory allocation, or an unset scalar."""
    if "shared" in decl.flags:
        return m.recorder.shared(m, type_, decl, env)
    if isinstance(type_, ArrayType):
        from cutecheck.source.eval.statements.elements import unset

        own = unset(m, type_, decl, env)
        return m.recorder.array(m, type_, decl.span, decl.name) if own is None else own
    if isinstance(type_, ScalarType):
        unset_ = symbolic(m, type_, f"{decl.name}#{m.fresh('').expr}", decl.span)
        return Scalar(None, unset_.ctype) if isinstance(unset_, Shared) else unset_
    if isinstance(type_, PtrType):
        return symbolic(m, type_, decl.name, decl.span)
    value = construct(m, type_, [], [], decl.span)
    if isinstance(value, Object):
        value.zeroed = False
    return value


__all__ = [
    "bases",
    "construct",
    "declare",
    "default_value",
    "fields",
    "get_field",
    "instance",
    "type_of",
]
