"""Calls, constructions, lambdas and subscripts."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.tiled import TiledCopy
from cutecheck.source.eval import (
    array_members,
    associated,
    callbacks,
    calls,
    classes,
    constness,
    constructors,
    conversions,
    copies,
    exchanges,
    foreign,
    intrinsics,
    ir,
    leaks,
    literal_operators,
    losses,
    matrix_descriptors,
    named_bases,
    observed,
    places,
    ranking,
    repeatable,
    slots,
    std_algorithms,
    steps,
    templates,
    tensor_arrays,
)
from cutecheck.source.eval.chosen import OneOf, one_of
from cutecheck.source.eval.class_layout import class_layout
from cutecheck.source.eval.containers import ANY_NAME, OPEN, Lost, unsure
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.expressions import effects
from cutecheck.source.eval.lookup import member
from cutecheck.source.eval.machine import Machine, handles
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.scope import ClassInst, Env, self_of
from cutecheck.source.eval.statements.branches import guard_of
from cutecheck.source.eval.threads import differs, varies
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import (
    Address,
    Closure,
    Extern,
    FuncSet,
    Intrinsic,
    Object,
    ObjectPointer,
    Pack,
    Pointer,
    Reference,
    Scalar,
    SubstitutionFailure,
    TemplateRef,
    TensorVal,
    Value,
    constant,
)


@handles(ir.Call)
def _call(m: Machine, node: ir.Call, env: Env) -> Value:
    if isinstance(node.fn, ir.Name) and node.fn.ident == "offsetof" and m.dialect.by_value and len(node.args) == 2:
        return _offset(m, node, env)
    at = std_algorithms.iterator(m, node, env)
    if at is not None:
        return at
    m.callee = node.fn
    m.chosen = None
    fn = m.eval(node.fn, env)
    before = m.chosen  # of `f().g()` what `f` is
    called = node.fn
    if isinstance(fn, FuncSet) and literal_operators.takes_characters(node, fn):
        return calls.apply(m, literal_operators.of_characters(node, fn), [], {}, node.span)
    if isinstance(fn, Object) and m.dialect.by_value and node.launch is None:
        method = member(m, fn.cls, "operator()", fn, node.span)
        if isinstance(method, FuncSet):
            fn, called = method, ir.Attr(node.fn, "operator()", None, node.span)
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    cells: list[places.Cells | None] = []
    given_outside: list[str] = []  # variables outside functions, which a reference may be bound to
    for a in node.args:
        if len(cells) < len(args):
            cells += [None] * (len(args) - len(cells))
        if isinstance(a.value, ir.Expand):
            args.extend(templates.expand(m, a.value.pattern, env))
            cells += templates.references(a.value.pattern, env)
        elif a.star == "*":
            value = m.eval(a.value, env)
            if not isinstance(value, (tuple, list, Unknown, Extern)):
                value = m.dialect.spread(m, value, node.span)
            if not isinstance(value, (tuple, list)) or unsure(value) is not None:
                value = [Lost("unpacking of an unknown sequence", node.span)]
                if isinstance(fn, (FuncSet, Closure, ClassInst)):  # as many as it has parameters
                    kwargs[ANY_NAME] = value[0]
            args.extend(value)
        elif a.star == "**":
            value = m.eval(a.value, env)
            kwargs.update({k: v for k, v in value.items() if isinstance(k, str)} if isinstance(value, dict) else {})
            if (not isinstance(value, dict) or OPEN in value) and isinstance(fn, (FuncSet, Closure, ClassInst)):
                kwargs[ANY_NAME] = Unknown("which arguments `**` gives is not known", node.span)
        elif a.name is not None:
            kwargs[a.name] = m.eval(a.value, env)
        elif m.dialect.by_value:
            value, where = places.locate(m, a.value, env)
            if isinstance(value, Pack):
                args.extend(value.items)
            else:
                if type(value) is Elements and where is None and not isinstance(fn, Intrinsic):
                    leaks.leak_root(m, a.value, env)
                if isinstance(fn, FuncSet) and named_bases.hides(m, a.value, value, env):
                    value, where = _as_base(m, fn, len(args), value, where, a.value.span)
                args.append(value)
                cells.append(where)
                if where is None and isinstance(a.value, (ir.Name, ir.Scoped)) and isinstance(value, Scalar):
                    given_outside.append(a.value.ident)
        else:
            value = m.eval(a.value, env)
            behind = kwargs.get(ANY_NAME)  # of items of which nobody knows how many they are
            value = behind if isinstance(behind, Lost) else value
            args.extend(value.items) if isinstance(value, Pack) else args.append(value)
    if node.launch is not None:
        config = [m.eval(a, env) for a in node.launch.args]
        return m.recorder.launch(m, fn, config, args, node.span)
    m.recorder.call = node
    if m.dialect.by_value and not kwargs:
        fn = associated.with_associated(m, node.fn, fn, args)
    if not isinstance(fn, (FuncSet, Closure)):
        for a in node.args:
            if isinstance(a.value, ir.Binary) and a.value.op == ",":
                m.recorder.comma(a.value)
    if isinstance(fn, Unknown):
        steps.synchronises(m, getattr(node.fn, "ident", ""), args, node.span)
    if len(args) == len(node.args) and _minds_kinds(fn):
        m.given = (
            ranking.arguments(m, node.args, args, env),
            ""
            if not isinstance(fn, FuncSet) or fn.self_ is None
            else ranking.of_object(m, called, before, fn.self_, env),
        )
        if isinstance(fn, FuncSet) and constness.takes_pointers(e.decl for e in fn.entries):
            m.leads = (args, tuple(constness.leads_to_constant(m, a.value, env) for a in node.args))
    if isinstance(fn, FuncSet) and len(args) == len(node.args) and array_members.taken(e.decl for e in fn.entries):
        m.arrays = (args, array_members.declared(m, node.args, args, env))
    constructors.minded(m, fn, node.args, args, env)
    if m.dialect.by_value and fn == leaks.UNFOLLOWED:
        for value, where in zip(args, cells, strict=False):
            leaks.leak_place(m, value, where)
    if given_outside and isinstance(fn, FuncSet):
        m.rewritten.update(given_outside)
    exchange = exchanges.exchanged(m, node, fn, args, cells, env)
    if exchange is None:
        exchange = std_algorithms.applied(m, node, fn, args, cells, env)
    if exchange is not None:
        return exchange
    if m.dialect.takes_references(fn) and len(args) == len(node.args):
        args = [_address(m, a.value, env) or v for a, v in zip(node.args, args, strict=True)]
    m.lvalues = (args, cells)
    if m.dialect.by_value and isinstance(fn, (FuncSet, Closure)):
        to = [fn.node.params] if isinstance(fn, Closure) else [e.decl.params for e in fn.entries]
        leaks.lend(m, to, node.args, args, env)
    if len(args) == len(node.args) and any(isinstance(v, Object) for v in args):
        constants = (i for i, a in enumerate(node.args) if constness.read_only(m, a.value, env))
        m.constants = (args, frozenset(constants))
    m.returned = None
    try:
        value = calls.apply(m, fn, args, kwargs, node.span)
    except SubstitutionFailure as failure:
        return Unknown(f"substitution failure: {failure}", node.span)
    finally:
        m.given = ((), "")
    if m.dialect.by_value and isinstance(fn, (FuncSet, Closure)):
        effects.lose_elements(m, node, fn, cells if len(args) == len(node.args) else [], env)
    elif m.dialect.by_value:
        if not isinstance(fn, Object):  # whose own operator may return a reference
            m.returned = None
        if not m.dialect.writes_nothing(fn):
            with losses.by_threads(m, any(map(varies, args))):  # what is given may be what is written
                effects.may_write(m, node, fn, args, cells, env, value)
        if isinstance(value, (Unknown, Extern)) and isinstance(node.fn, ir.Attr):
            number = observed.asked(m, node, env)
            return value if number is None else number
        if isinstance(node.fn, ir.Attr) and node.fn.ident == "with" and len(args) == len(node.args) == 1:
            return _filled(m, value, node.args[0].value, args[0], env)
    return value


def _address(m: Machine, node: ir.Expr, env: Env) -> Value:
    """Where an argument is, as a pointer; None where that is not known."""
    if isinstance(node, ir.Unary) and node.op == "*":
        value = m.eval(node.operand, env)
    else:
        value = m.eval(ir.Unary("&", node, node.span), env) if isinstance(node, (ir.Index, ir.Call)) else None
    return value if isinstance(value, Pointer) else None


def _filled(m: Machine, copy: Value, node: ir.Expr, cond: Value, env: Env) -> Value:
    """``atom.with(row < rows)`` of a cp.async that fills with zeros: its copies are under the condition."""
    atom = copy.atom if isinstance(copy, TiledCopy) else copy
    if not isinstance(atom, CopyAtom) or not atom.op.endswith("_ZFILL") or m.dialect.truth(cond) is not None:
        return copy
    guard = guard_of(m, node, cond, env, differs(m, node, cond, env))
    return m.recorder.asking(copy, guard)


def _minds_kinds(fn: Value) -> bool:
    """Whether it matters to a call which of its arguments are variables, constants and values."""
    if isinstance(fn, FuncSet):
        return len(fn.entries) > 1 or any(e.decl.tparams for e in fn.entries)
    return isinstance(fn, Closure) and any(map(_deduced_reference, fn.node.params))


def _deduced_reference(p: ir.Param) -> bool:
    t = p.type.pattern if isinstance(p.type, ir.Expand) else p.type
    return isinstance(t, ir.TypeMod) and t.kind in ("ref", "rref")


def _offset(m: Machine, node: ir.Call, env: Env) -> Value:
    """``offsetof(T, member)``."""
    cls = m.eval(node.args[0].value, env)
    if not isinstance(cls, ClassInst):
        return cls if isinstance(cls, Unknown) else Unknown("where a member of this type is", node.span)
    name = getattr(node.args[1].value, "ident", "")
    at = class_layout(m, cls, node.span).offsets.get(name, Unknown(f"where `{name}` is", node.span))
    return at if isinstance(at, Unknown) else Scalar(at, "size_t")


def _as_base(
    m: Machine, fn: FuncSet, at: int, value: Value, where: places.Cells | None, span: Span
) -> tuple[Value, places.Cells | None]:
    """An argument that is named as one of a base class: what a template makes of that class is not followed."""
    if not named_bases.deduced((e.decl for e in fn.entries), at):
        return value, where
    obj = value.to if isinstance(value, ObjectPointer) else value
    losses.lose(m, obj, obj.cls.name, span)
    leaks.leak_place(m, obj, None)
    return Unknown("an object that is named as one of a base class", span), None


@handles(ir.Construct)
def _construct(m: Machine, node: ir.Construct, env: Env) -> Value:
    m.callee = node.type
    type_ = m.eval(node.type, env)
    args: list[Value] = []
    names: list[str | None] = []
    cells: list[places.Cells | None] = []
    for a in node.args:
        if isinstance(a.value, ir.Expand):
            more = templates.expand(m, a.value.pattern, env)
            args.extend(more)
            names.extend([None] * len(more))
            cells += [None] * len(more)
        else:
            value, where = places.locate(m, a.value, env) if m.dialect.by_value else (m.eval(a.value, env), None)
            args.append(value)
            cells.append(where)
            names.append(a.name)
    if leaks.keeps_references(node.type) or type_ == leaks.UNFOLLOWED:
        for value, where in zip(args, cells, strict=True):
            leaks.leak_place(m, value, where)
    m.lvalues = (args, cells)
    if isinstance(type_, ClassInst) and m.dialect.by_value:
        leaks.lend_to(m, type_, node.args, args, env)
    if isinstance(type_, TemplateRef):
        return intrinsics.deduce_class(m, type_, args, node.span)
    if isinstance(type_, (FuncSet, Intrinsic, Closure)):
        return calls.apply(m, type_, args, {}, node.span)
    if m.dialect.by_value and foreign.undeclared(type_):
        foreign.may_write(m, node.type, node.args, type_, args, env, node.span)
    if not is_type(type_) and not isinstance(type_, Unknown):
        return type_ if not args else Unknown("braces after a value", node.span)
    constructors.minded(m, type_, node.args, args, env)
    return classes.construct(m, type_, args, names, node.span)


@handles(ir.Index)
def _index(m: Machine, node: ir.Index, env: Env) -> Value:
    kept = m.whole
    value, cells = indexed(m, node, env)
    if isinstance(value, (Unknown, Extern)) and m.dialect.by_value:
        number = observed.asked(m, node, env)
        return _of_table(m, node, value, env) if number is None else number
    if type(value) is Elements and kept is not node:
        if cells is None:
            leaks.leak_root(m, node, env)
        return leaks.decayed(m, cells, node.span)
    return value


def _of_table(m: Machine, node: ir.Index, value: Value, env: Env) -> Value:
    """An element of a table of functions, which of them is not known."""
    if not isinstance(value, Unknown) or isinstance(value, OneOf) or not _is_settled(node.base):
        return value
    return one_of(_of_rows(m, node, env), value.reason, node.span) or value


def _is_settled(node: ir.Expr) -> bool:
    """A table, or a row of one, that may be evaluated again."""
    if isinstance(node, ir.Index):
        return _is_settled(node.base) and all(map(repeatable.changes_nothing, node.args))
    return repeatable.quiet(node)


def _of_rows(m: Machine, node: ir.Index, env: Env) -> list[Value]:
    """What an element may be of a table, or of a table of tables: ``table[i][j]``."""
    base = places.whole(m, node.base, env)
    rows = [base] if isinstance(base, tuple) else _of_rows(m, node.base, env) if isinstance(node.base, ir.Index) else []
    at = constant(m.eval(node.args[0], env)) if len(node.args) == 1 and repeatable.quiet(node.args[0]) else None
    parts = [row if at is None else row[at : at + 1] for row in rows if isinstance(row, tuple)]
    return [v for part in parts for v in part] if len(parts) == len(rows) else []


def indexed(m: Machine, node: ir.Index, env: Env) -> tuple[Value, places.Cells | None]:
    """The value of ``base[index]``, and the cell of an array's element."""
    where: places.Cells | None = None
    if m.dialect.by_value and isinstance(node.base, (ir.Index, ir.Call)):
        base, where = places.locate(m, node.base, env)
    else:
        base = places.whole(m, node.base, env)
    args = [m.eval(a, env) for a in node.args]
    if m.dialect.by_value and len(args) == 1:
        cells: places.Cells | None = None
        if isinstance(node.base, ir.Attr) and matrix_descriptors.is_words(base, node.base.ident):
            first = constant(conversions.number(m, args[0], node.span)) == 0
            return (base, places.again(m, node.base, env)) if first else matrix_descriptors.apart(node.span)
        if isinstance(base, Elements):
            where = places.again(m, node.base, env) if where is None and repeatable.quiet(node.base) else where
            cells = slots.element(m, where, conversions.number(m, args[0], node.span))
        elif isinstance(base, Address):
            moved = slots.moved(m, base, conversions.number(m, args[0], node.span), node.span)
            cells = moved.cells if isinstance(moved, Address) else None
        if cells is not None:
            value = places.read(m, cells, node.span)
            if isinstance(value, Unknown):
                leaks.leak(m, base)  # any of them
                one: Value = slots.one_of_pointers(m, base, cells[0][1]) if len(cells) == 1 else None
                one = tensor_arrays.one_of(m, base, cells[0][1]) if one is None and len(cells) == 1 else one
                value = value if one is None else one
            return value, cells
    m.returned = None
    return _element(m, node, base, args, env), m.returned


def _element(m: Machine, node: ir.Index, base: Value, args: list[Value], env: Env) -> Value:
    """An element of anything else."""
    own = m.dialect.index(m, base, args, node.span)
    if own is not DEFER:
        return own
    if isinstance(base, Unknown):
        return base
    if isinstance(base, (TemplateRef, FuncSet)):
        return base
    if isinstance(base, Object):
        method = member(m, base.cls, "operator[]", base, node.span)
        if isinstance(method, FuncSet):
            before = m.chosen if isinstance(node.base, ir.Call) and not node.args else None
            m.given = ((), ranking.operand(m, node.base, before, base, env) if m.dialect.by_value else "")
            return calls.apply(m, method, args, {}, node.span)
    value = intrinsics.index(m, base, [conversions.number(m, a, node.span) for a in args], node.span)
    if isinstance(value, Unknown) and m.dialect.by_value:
        leaks.leak(m, base)  # any of them
    m.returned = None
    return value


@handles(ir.Lambda)
def _lambda(m: Machine, node: ir.Lambda, env: Env) -> Value:
    made = _closure(m, node, env)
    callbacks.made(m, made)
    return made


def _closure(m: Machine, node: ir.Lambda, env: Env) -> Closure:
    if not m.dialect.by_value or not (node.captures or node.default == "="):
        return Closure(node, m.dialect.closed(m, node.params, env))
    own = Env(env, "block")
    for name, by_reference, init in node.captures:
        if init is None and by_reference:
            continue
        if name == "this":  # `*this`
            own.self_ = copies.copied(m, self_of(env))
            continue
        if isinstance(init, ir.Expand):
            own.vars[name] = Pack(tuple(copies.copied(m, v) for v in templates.expand(m, init.pattern, env)))
            if by_reference:
                leaks.leak(m, *own.vars[name].items)
            continue
        value, cells = places.locate(m, ir.Name(name, None, node.span) if init is None else init, env)
        if by_reference and cells is not None and not isinstance(value, Object):
            own.vars[name] = Reference(cells)
        elif by_reference and cells is None and init is not None and not isinstance(value, (Object, TensorVal)):
            leaks.leak_root(m, init, env)
            own.vars[name] = leaks.apart(Unknown("an element that a lambda refers to", node.span), name)
        else:
            own.vars[name] = value if by_reference else copies.copied(m, value)
            if not by_reference and not node.mutable:
                own.fix(name)
            if by_reference:
                own.refer(name)
    if node.default == "=":
        refers = {name for name, by_reference, init in node.captures if by_reference and init is None}
        for name in names_in(node.body.get()):
            at = env.find_var(name)
            if name not in own.vars and name not in refers and at is not None and at.kind in ("block", "function"):
                own.vars[name] = copies.copied(m, places.held(m, at.vars, name))
                if not node.mutable:
                    own.fix(name)
    return Closure(node, own, True)
