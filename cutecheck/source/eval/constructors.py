"""Objects from arguments: constructors of the class and of its bases, aggregates, copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cutecheck.facts import Span
from cutecheck.source.eval import (
    classes,
    constness,
    copies,
    elision,
    initialisation,
    ir,
    leaks,
    losses,
    open_arguments,
    places,
    qualifiers,
    ranking,
    temporaries,
)
from cutecheck.source.eval.calls import run_function
from cutecheck.source.eval.lookup import lookup
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.overloads import bind
from cutecheck.source.eval.parameters import bind_parameters
from cutecheck.source.eval.references import field_stands
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.unwalked import may_write
from cutecheck.source.eval.values import ArrayType, FuncSet, Object, Pack, Reference, Scalar, Value


def construct_object(m: Machine, cls: ClassInst, args: list[Value], names: list[str | None], span: Span) -> Value:
    """``T(args)`` or ``T{args}`` of a class of the tree."""
    if len(args) == 1 and isinstance(args[0], Object) and classes.derives(m, args[0].cls, cls):
        whole = args[0]
        if whole.cls is not cls:
            part = Object(cls, {}, whole.pointer, whole.name)
            kept = {decl.name for _, decl in classes.fields(m, cls)}
            part.fields.update({k: copies.copied(m, classes.get_field(m, whole, k, span)) for k in kept})
            return part
        if not copies.copies_itself(cls):
            return copies.copied(m, whole)
    obj = Object(cls)
    obj.zeroed = m.dialect.by_value and not _constructors(cls)
    watched = m.dialect.watches(m, cls)
    m.recorder.making += watched
    try:
        _initialise(m, cls, obj, args, names, span)
        if m.dialect.by_value:
            _settle(m, cls, obj, span)
    finally:
        m.recorder.making -= watched
    if watched and not m.recorder.making:
        m.dialect.constructed(m, obj, args, span)
    temporaries.made(m, obj)
    return obj


def minded(m: Machine, type_: Value, nodes: Sequence[ir.Arg], args: list[Value], env: Env) -> None:
    """Note what the arguments of a class of several constructors are, before one of them is chosen."""
    if not isinstance(type_, ClassInst) or not m.dialect.by_value or len(nodes) != len(args):
        return
    declared = _constructors(type_)
    if len(declared) > 1:
        m.kinds = (args, ranking.arguments(m, nodes, args, env))
        if constness.takes_pointers(declared):
            m.leads = (args, tuple(constness.leads_to_constant(m, a.value, env) for a in nodes))


def part_of(m: Machine, cls: ClassInst, value: Object, span: Span) -> Value:
    """What an object of a class is made of that is derived from it: the part that is the base."""
    derived = value.cls is not cls and classes.derives(m, value.cls, cls)
    return construct_object(m, cls, [value], [], span) if derived else value


def _initialise(
    m: Machine, cls: ClassInst, obj: Object, args: list[Value], names: list[str | None], span: Span
) -> None:
    """The part of an object that is of a class: by its constructors, or member by member."""
    if not args and _is_defaulted(cls):
        _default_bases(m, cls, obj, span)
        return
    if _constructors(cls):
        entries = tuple(cls.entry_of(d) for d in _constructors(cls) if d.body is not None)
        if entries:
            _construct_with(m, entries, cls, obj, args, span)
        elif cls is not obj.cls or args:
            _not_walked(m, _constructors(cls), cls, obj, args, span)
        return
    if args and (base := _inherits(m, cls)) is not None:
        _default_bases(m, cls, obj, span, (base,))
        _initialise(m, base, obj, args, names, span)
        return
    if not args:
        _default_bases(m, cls, obj, span)
        return
    if cls is not obj.cls and isinstance(args[0], Object):  # a base that is copied
        for name in {decl.name for _, decl in classes.fields(m, cls)}:
            m.journal.set(obj.fields, name, copies.copied(m, classes.get_field(m, args[0], name, span)))
        return
    cells = places.of_arguments(m, args)
    done: list[ClassInst] = []
    if m.dialect.by_value and not any(names):
        grouped = elision.regrouped(m, elision.members(m, cls), args)
        if grouped is not args:
            for v, where in zip(args, cells, strict=False):  # in one of the lists it becomes a pointer
                if type(v) is Elements and not any(part is v for part in grouped):
                    leaks.leak_place(m, None, where)
            cells, args = _kept(args, cells, grouped), grouped
        args, done = _bases_of_list(m, cls, obj, args, span)
        cells = [] if done else cells
    members = {decl.name: (owner, decl) for owner, decl in classes.fields(m, cls) if owner not in done}
    for i, (value, given, first) in enumerate(zip(args, names + [None] * len(args), members, strict=False)):
        target = given or first
        owner, decl = members.get(target, members[first])
        where = cells[i] if i < len(cells) else None
        if type(value) is Elements and not field_stands(m, owner, decl):
            value = leaks.decayed(m, where, span)  # an array is no initialiser of another
        if field_stands(m, owner, decl) and where is not None and not isinstance(value, Object):
            m.journal.set(obj.fields, target, Reference(where))
            continue
        typed = m.eval(decl.type, owner.env) if decl.type is not None and not isinstance(decl.type, ir.Auto) else None
        value = value if typed is None else initialisation.convert(m, typed, value, span)
        if target in classes.overlaid(m, cls):
            leaks.leak(m, value)
        if _unbound(m, owner, decl, value):
            m.journal.set(obj.fields, target, leaks.apart(losses.anything(m, value, target, span), target))
            continue
        m.journal.set(obj.fields, target, value if field_stands(m, owner, decl) else _part(m, value))


def _kept(args: list[Value], cells: list[places.Cells | None], grouped: list[Value]) -> list[places.Cells | None]:
    """Where initialisers are kept, after others went into lists of their own."""
    at = 0

    def taken(part: Value) -> places.Cells | None:
        nonlocal at
        if at < len(args) and part is args[at]:
            at += 1
            return cells[at - 1] if at <= len(cells) else None
        for inner in part if isinstance(part, tuple) else ():
            taken(inner)
        return None

    return [taken(part) for part in grouped]


def _bases_of_list(
    m: Machine, cls: ClassInst, obj: Object, args: list[Value], span: Span
) -> tuple[list[Value], list[ClassInst]]:
    """``D{{1, 2}, 3}``: what is left for members after lists and objects that initialise bases, and their classes."""
    done: list[ClassInst] = []
    for base in classes.bases(m, cls):
        first = args[0] if args else None
        listed = isinstance(first, tuple) and not isinstance(first, Elements)
        if not listed and not (isinstance(first, Object) and classes.derives(m, first.cls, base)):
            break
        _initialise(m, base, obj, list(first) if isinstance(first, tuple) else [first], [], span)
        args = args[1:]
        done += [base, *(owner for owner, _ in classes.fields(m, base))]
    return args, done


def _part(m: Machine, value: Value) -> Value:
    """What a member holds that is initialised with a value."""
    return copies.copied(m, temporaries.owned(m, value))


def _unbound(m: Machine, owner: ClassInst, decl: ir.Variable, value: Value) -> bool:
    """A reference to what is not followed."""
    written = field_stands(m, owner, decl) and not qualifiers.constant(decl.type)
    return written and (isinstance(value, Scalar) or leaks.points(value))


def _is_defaulted(cls: ClassInst) -> bool:
    """Whether ``State() = default;`` makes an object of nothing, beside constructors that take something."""
    own = (d for d in cls.index.get(cls.name, []) if isinstance(d, ir.Function) and "defaulted" in d.flags)
    return any(not d.params for d in own)


def _constructors(cls: ClassInst) -> list[ir.Function]:
    return [d for d in cls.index.get(cls.name, []) if isinstance(d, ir.Function) and "defaulted" not in d.flags]


def _inherits(m: Machine, cls: ClassInst) -> ClassInst | None:
    """The base whose constructors a class takes over: ``using Base::Base;``."""
    taken = [d.target for d in cls.decl.members if isinstance(d, ir.Using) and d.kind == "name"]
    targets = [t for t in taken if isinstance(t, ir.Scoped)]
    for base in classes.bases(m, cls):
        for t in targets:
            named = t.ident in (base.name, getattr(t.base, "ident", ""))
            of = m.eval(t.base, cls.env) if named and t.base is not None else None
            if isinstance(of, ClassInst) and of.ident == base.ident:
                return of
    return None


def _settle(m: Machine, cls: ClassInst, obj: Object, span: Span) -> None:
    """Members whose default initialisers name other members are initialised when the object is made."""
    for owner, decl in _dependent(m, cls):
        if decl.name in obj.fields or decl.init is None or decl.name in classes.overlaid(m, obj.cls):
            continue
        if field_stands(m, owner, decl):
            continue
        value = m.eval(decl.init, Env(owner.env, "function", self_=obj))
        typed = m.eval(decl.type, owner.env) if decl.type is not None else None
        obj.fields[decl.name] = _part(m, value if typed is None else initialisation.convert(m, typed, value, span))


def _dependent(m: Machine, cls: ClassInst) -> list[tuple[ClassInst, ir.Variable]]:
    key = ("dependent",)
    if key not in cls.memo:
        every = classes.fields(m, cls)
        names = {d.name for _, d in every} | {"this"}
        cls.memo[key] = [(o, d) for o, d in every if d.init is not None and not names.isdisjoint(names_in(d.init))]
    found: list[tuple[ClassInst, ir.Variable]] = cls.memo[key]
    return found


def _default_bases(m: Machine, cls: ClassInst, obj: Object, span: Span, but: tuple[ClassInst, ...] = ()) -> None:
    for base in classes.bases(m, cls):
        if base not in but and _constructs(m, base):
            _initialise(m, base, obj, [], [], span)


def _constructs(m: Machine, cls: ClassInst) -> bool:
    """Whether something runs when an object is made of nothing."""
    key = ("constructs",)
    if key not in cls.memo:
        cls.memo[key] = False
        cls.memo[key] = bool(_constructors(cls)) or any(_constructs(m, b) for b in classes.bases(m, cls))
    found: bool = cls.memo[key]
    return found


def _not_walked(
    m: Machine, declared: Iterable[ir.Function], cls: ClassInst, obj: Object, args: list[Value], span: Span
) -> None:
    """One of these constructors runs, which is not known."""
    for fn in declared:
        if "deleted" not in fn.flags:
            may_write(m, fn, args, span, obj)
    _lose(m, cls, obj, span)


def _lose(m: Machine, cls: ClassInst, obj: Object, span: Span) -> None:
    """What a constructor that is not known left of its members."""
    for _, decl in classes.fields(m, cls):
        value = classes.get_field(m, obj, decl.name, span)
        if isinstance(value, Object):
            losses.lose(m, value, decl.name, span)
        else:
            losses.forget_cells(m, places.cells_of(obj.fields, decl.name), span)


def _construct_with(
    m: Machine, entries: tuple[Entry, ...], cls: ClassInst, obj: Object, args: list[Value], span: Span
) -> None:
    """Run the constructor that takes the arguments: bases and members, then the body."""
    fset = FuncSet(cls.name, entries, obj, cls)
    kinds = m.kinds[1] if m.kinds[0] is args else ()
    found = [c for c in (bind(m, e, fset, args, {}, kinds) for e in entries) if c is not None]
    if m.leads[0] is args:
        found = constness.by_pointers(found, m.leads[1])
    if not found:
        _not_walked(m, [e.decl for e in entries], cls, obj, args, span)
        return
    best = ranking.best_of(found, kinds)
    if open_arguments.unsettled(m, found, best, args):
        _not_walked(m, [e.decl for e in entries], cls, obj, args, span)
        return
    env = Env(best.env, "function", self_=obj)
    given = m.lvalues
    bind_parameters(m, best.fn.params, args, {}, env, span)
    types = {d.name: (o, d) for o, d in classes.fields(m, cls)}
    above = [] if all(name in types for name, _ in best.fn.inits) else classes.bases(m, cls)
    made: list[ClassInst] = []
    delegates = False
    for name, init in best.fn.inits:
        if name in types:
            continue
        for of, inner in _meant(m, name, init, cls, above, env, span):
            values = places.arguments(m, init, inner) if m.dialect.by_value else [m.eval(a.value, inner) for a in init]
            delegates = delegates or of is cls
            made.append(of)
            _initialise(m, of, obj, values, [], span)
    if not delegates:
        _default_bases(m, cls, obj, span, tuple(made))
    order = list(types)
    for name, init in sorted((i for i in best.fn.inits if i[0] in types), key=lambda i: order.index(i[0])):
        values = places.arguments(m, init, env) if m.dialect.by_value else [m.eval(a.value, env) for a in init]
        owner, decl = types[name]
        cells = places.of_arguments(m, values)
        if (
            field_stands(m, owner, decl)
            and len(cells) == 1
            and cells[0] is not None
            and not isinstance(values[0], Object)
        ):
            m.journal.set(obj.fields, name, Reference(cells[0]))
            continue
        typed = m.eval(decl.type, owner.env) if decl.type is not None else None
        if name in classes.overlaid(m, cls):
            leaks.leak(m, *values)
        if len(values) == 1 and _unbound(m, owner, decl, values[0]):
            m.journal.set(obj.fields, name, leaks.apart(losses.anything(m, values[0], name, span), name))
            continue
        if len(values) == 1 and type(values[0]) is Elements:
            values = [leaks.decayed(m, cells[0] if cells else None, span)]
        value = (
            values[0]
            if len(values) == 1 and typed is None
            else initialisation.convert(m, typed, (), span)
            if not values and isinstance(typed, ArrayType)
            else classes.construct(m, typed, values, [None] * len(values), span)
        )
        m.journal.set(obj.fields, name, value if field_stands(m, owner, decl) else _part(m, value))
    m.lvalues = given
    if not delegates:
        _settle(m, cls, obj, span)
    run_function(m, best.entry, best.fn, env, args, {}, span)


def _meant(
    m: Machine, name: str, init: tuple[ir.Arg, ...], cls: ClassInst, bases: list[ClassInst], env: Env, span: Span
) -> list[tuple[ClassInst, Env]]:
    """The classes that an initialiser names, and where its arguments are evaluated: ``Bases(values)...``."""
    at = env.find_var(name)
    if at is not None and isinstance(at.vars[name], Pack):
        from cutecheck.source.eval.templates import each

        every = each(ir.Call(ir.Name(name, None, span), init, span), env)
        return [(base, inner) for inner in every for base in bases if inner.vars[name] is base]
    of = cls if name == cls.name else _base(m, name, bases, env, span)
    return [] if of is None else [(of, env)]


def _base(m: Machine, name: str, bases: list[ClassInst], env: Env, span: Span) -> ClassInst | None:
    """The base that an initialiser names, by its own name or another."""
    for base in bases:
        if base.name == name:
            return base
    meant = lookup(m, name, env, span)
    return next((b for b in bases if b is meant), None)
