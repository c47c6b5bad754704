"""Literals and names: lookup, qualified names, members, template arguments."""

from __future__ import annotations

import re
from dataclasses import replace

from cutecheck.facts import Span, Unknown
from cutecheck.model.tiled import TiledMMA
from cutecheck.source.eval import (
    classes,
    intrinsics,
    ir,
    leaks,
    losses,
    matrix_descriptors,
    memory,
    named_bases,
    places,
    qualified,
    references,
    std_arrays,
    templates,
)
from cutecheck.source.eval.barrier_types import is_number
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.intrinsics.names import as_trait
from cutecheck.source.eval.intrinsics.registry import KEEP_QUALIFIERS
from cutecheck.source.eval.lookup import Namespace, in_path, lookup, member, missing, namespace_of, type_member
from cutecheck.source.eval.machine import Machine, handles
from cutecheck.source.eval.qualified import plain
from cutecheck.source.eval.record.kinds import CONFIG_NAMES, NOTED_BY_NAME
from cutecheck.source.eval.scope import ClassInst, Env, Frame, self_of
from cutecheck.source.eval.tuples import Elements, Held
from cutecheck.source.eval.types import is_type, type_key, type_of
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    Closure,
    CuteOp,
    Extern,
    ExternType,
    FuncSet,
    Intrinsic,
    Object,
    ObjectPointer,
    Pack,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    TemplateRef,
    TensorVal,
    Value,
    ValueType,
)

_TELLS = re.compile(r"expect_t|transaction_bytes")  # functions whose calls are noted with the bytes that they are given
_FENCE = "fence_view_async_shared"
_TUPLES = frozenset({"tuple", "pair"})  # whose elements may be references
# methods of frameworks' tensors: with `<T>` they give a `T*`
_TYPED_DATA = frozenset({
    "data", "data_ptr", "mutable_data_ptr", "const_data_ptr", "mutable_data", "Data", "MutableData",
})  # fmt: skip


@handles(ir.Lit)
def _literal(m: Machine, node: ir.Lit, env: Env) -> Value:
    return m.dialect.literal(node)


@handles(ir.Opaque)
def _opaque(m: Machine, node: ir.Opaque, env: Env) -> Value:
    given: list[Value] = []
    for name in node.names:
        at = env.find_var(name)
        if at is not None:
            m.recorder.escape(m, [at.vars[name]], node.span)
            given.append(at.vars[name])
        if m.dialect.by_value and (node.written is None or name in node.written):
            cells = places.named(m, name, env)
            held = None if cells is None else places.read(m, cells)
            if cells is None:  # a variable outside functions, or a pointer that is one
                losses.lost_leaked(m, node.span)
            elif not isinstance(held, Scalar):
                losses.lost_through(m, held, node.span)
                losses.lost_leaked(m, node.span)
            if cells is not None and not isinstance(held, (TensorVal, Pointer, FuncSet, Closure)):
                losses.forget_cells(m, cells, node.span)
    if node.memory and m.dialect.by_value:
        _stores(m, node, env)
    if node.made is not None:
        m.eval(node.made, env)  # its virtual methods may be called from anywhere (source/uncalled.py)
    if node.reason.startswith("syntax") and not m.recorder.rehearsal:
        m.recorder.unread[node.span] = f"{node.reason}: nothing is said of this statement"
    for step in (s for s in node.more if s[0] == _FENCE):
        _step(m, step, node, env)  # before what the statement copies, as written
    noted = m.dialect.assembled(m, node, env)
    reads = node.operations == () and not node.memory  # of a load no barrier takes notice
    for value in given if not noted and not reads else ():
        m.recorder.assembled(value, node.span)
    if not noted and node.operations == ():
        m.dialect.leads(m, given, node.span)
    for step in (s for s in node.more if s[0] != _FENCE):
        _step(m, step, node, env)
    if node.step is not None and not (noted and node.step[0].endswith("expect_tx")):
        _step(m, node.step, node, env)
    elif noted:
        return Unknown(node.reason, node.span)
    elif node.reason.endswith("a barrier"):
        m.recorder.synchronises(m, "asm.barrier", [], node.span)
    elif node.reason.endswith("a commit"):
        m.recorder.synchronises(m, "asm.commit", [], node.span)
    if m.dialect.replaying is not None:
        m.dialect.replaying.assembly(node.memory)
    return Unknown(node.reason, node.span)


def _step(m: Machine, step: tuple[str, ir.Expr | None], node: ir.Opaque, env: Env) -> None:
    """A wait for groups, their commit ..., as CuTe's function of that name: but where it was noted when it was called.

    Bytes are told of where the function was called that does nothing else.
    """
    name, number = step
    frame = m.recorder.frame
    around = "" if frame is None else frame.symbol.partition("<")[0].rpartition("::")[2]
    tells = name.endswith("expect_tx")
    if tells:
        m.recorder.synchronises(m, "asm.barrier", [], node.span)
    other = around == "cp_async_wait" and name == "cp_async_wait_group"  # of 0 groups CuTe's waits for all copies
    if (around in NOTED_BY_NAME and not other) or (tells and _TELLS.search(around)):
        return
    given = [] if number is None else [m.eval(number, env)]
    if tells and frame is not None and frame.caller is not None and _only(frame, node):
        m.recorder.frame = frame.caller
    try:
        m.recorder.synchronises(m, name, given, node.span)
    finally:
        m.recorder.frame = frame


def _only(frame: Frame, node: ir.Opaque) -> bool:
    """The assembly ends its function, and nothing but variables are declared before."""
    if frame.function is None or frame.function.body is None:
        return False
    body = frame.function.body.get().body
    last = body[-1] if body else None
    return isinstance(last, ir.ExprStmt) and last.expr is node and all(isinstance(s, ir.Local) for s in body[:-1])


def _stores(m: Machine, node: ir.Opaque, env: Env) -> None:
    """Assembly writes through an address: of any that it is given, or got before."""
    for name in node.names:
        cells = places.named(m, name, env)
        held = None if cells is None else places.read(m, cells)
        if isinstance(held, Unknown):
            losses.lost_pointed(m, node.span)
        elif held is not None:
            losses.lost_through(m, held, node.span)
    losses.lost_leaked(m, node.span)


@handles(ir.Name)
def _name(m: Machine, node: ir.Name, env: Env) -> Value:
    value = lookup(m, node.ident, env, node.span)
    if node.targs is not None:
        called = node is m.callee
        value = _spelled(m, node, _with_targs(m, value, node.targs, env, node.span))
        if type(value) is FuncSet and not called:
            _taken(m, value, node.span)
    elif type(value) is Pack and len(value.items) == 1:
        value = value.items[0]
    elif type(value) is Elements and m.whole is not node:
        return leaks.decayed(m, places.named(m, node.ident, env), node.span)
    elif isinstance(value, (Pointer, Unknown)):
        place = m.recorder.single(node.ident, env)
        if place is not None and is_number(place.type):
            return intrinsics.dereference(m, place, node.span)  # what a `__shared__` number holds
    if node.ident in CONFIG_NAMES:
        m.recorder.used(m, node.ident, node.span, value)
    return value


@handles(ir.Scoped)
def _scoped(m: Machine, node: ir.Scoped, env: Env) -> Value:
    called = node is m.callee
    if node.base is None:
        value = in_path(m, Namespace(m.program.root, ""), node.ident, node.span)
        if missing(value):
            value = lookup(m, node.ident, m.program.root.env, node.span)
    else:
        base = _scope_of(m, node.base, env)
        base = m.spelled[1] if m.spelled[0] is node.base else base
        value = _member_of(m, plain(base), node, env)
        if node.targs is None:
            m.owner = (node, base)
    if node.targs is not None:
        value = _spelled(m, node, _with_targs(m, value, node.targs, env, node.span))
    elif isinstance(value, Pack) and len(value.items) == 1:
        value = value.items[0]
    if type(value) is FuncSet and not called:
        _taken(m, value, node.span)
    m.recorder.used(m, node.ident, node.span, value)
    return value


def _spelled(m: Machine, node: ir.Expr, value: Value) -> Value:
    """A type as what an expression gives, its qualifiers kept for who asks next (source/eval/spelled.py)."""
    m.spelled = (node, value)
    return plain(value)


def _taken(m: Machine, value: FuncSet, span: Span) -> None:
    """A function is named and not called: whoever gets its address may call it (source/uncalled.py)."""
    if not m.recorder.rehearsal and not m.recorder.in_kernel() and not m.recorder.open:
        key = tuple((id(e.decl), id(e.env)) for e in value.entries), type_key(value.targs or ())
        m.history.named.setdefault(key, (value, span, m.recorder.function()))


def _scope_of(m: Machine, node: ir.Expr, env: Env) -> Value:
    """What stands left of ``::``: functions and variables do not count there, so ``gemm::`` is the namespace."""
    value = m.eval(node, env)
    plain = isinstance(node, (ir.Name, ir.Scoped)) and node.targs is None
    if plain and isinstance(value, (Intrinsic, FuncSet, Unknown, ExternType, Pointer, Address, Scalar, Object)):
        scope = env.namespace()
        found = namespace_of(m, node, scope if scope is not None else m.program.root)
        if found is not None and not (isinstance(value, ExternType) and found.scope is None):
            return found
    return value


def _member_of(m: Machine, base: Value, node: ir.Scoped, env: Env) -> Value:
    if isinstance(base, Unknown):
        return base
    if isinstance(base, Namespace):
        found = in_path(m, base, node.ident, node.span)
        return Unknown(f"`{base.library}::{node.ident}` is not known", node.span) if missing(found) else found
    if isinstance(base, ClassInst):
        this = self_of(env)
        found = member(
            m, base, node.ident, this if this is not None and classes.derives(m, this.cls, base) else None, node.span
        )
        if missing(found):
            if classes.complete(m, base):
                return Unknown(f"`{base.name}` {classes.NO_MEMBER} `{node.ident}`", node.span)
            return Unknown(f"`{base.name}` has no member `{node.ident}` in the scanned files", node.span)
        return found
    return type_member(m, base, node.ident, node.span)


def _with_targs(m: Machine, value: Value, targs: tuple[ir.Expr, ...] | None, env: Env, span: Span) -> Value:
    """Apply written template arguments to what a name means."""
    if targs is None:
        if isinstance(value, Pack) and len(value.items) == 1:
            return value.items[0]
        return value
    given = templates.arguments(m, targs, env)
    if isinstance(value, TemplateRef):
        if value.entries:
            return templates.apply_template(m, value, given, span)
        if m.dialect.by_value and value.name in _TUPLES:
            given = _elements(m, targs, given, env)
        made = intrinsics.apply_type(m, value.name, given, span)
        if is_type(made) and value.name not in KEEP_QUALIFIERS and any(plain(g) is not g for g in given):
            made = qualified.made(made, None, False, "")  # what it is made of is kept without
        return as_trait(value.name, made)
    if isinstance(value, FuncSet):
        return FuncSet(value.name, value.entries, value.self_, value.cls, given)
    if not isinstance(value, (Closure, ClassInst)):
        given = tuple(map(plain, given))
    if isinstance(value, Intrinsic):
        return Intrinsic(value.name, given, value.self_)
    if isinstance(value, Closure):
        return replace(value, targs=given)
    if isinstance(value, ExternType):
        return ExternType(value.name, given)
    if isinstance(value, ValueType) and isinstance(value.value, CuteOp):
        return ValueType(CuteOp(value.value.name, given, value.value.traits))
    if isinstance(value, ClassInst) and value.entry is not None:
        # the injected class name used as a template
        siblings = value.entry.env.namespace()
        entries = tuple(siblings.decls.get(value.name, ())) if siblings is not None else ()
        return templates.apply_template(m, TemplateRef(value.name, entries), given, span) if entries else value
    return value


def _elements(m: Machine, targs: tuple[ir.Expr, ...], given: tuple[Value, ...], env: Env) -> tuple[Value, ...]:
    """The types of a tuple's elements; what one stands for that is a reference may change."""
    if len(targs) != len(given):
        return given
    kinds = (ScalarType, PtrType, ClassInst)
    return tuple(
        leaks.UNFOLLOWED if isinstance(plain(v), kinds) and references.stands(m, t, env) else v
        for t, v in zip(targs, given, strict=True)
    )


@handles(ir.Attr)
def _attr(m: Machine, node: ir.Attr, env: Env) -> Value:
    whole = m.whole
    base = places.base_of(m, node.base, env, node.ident)
    value = of_base(m, node, base, env)
    if type(value) is Elements and whole is not node:
        return leaks.decayed(m, places.again(m, node, env), node.span)
    if type(base) is Held and node.ident in std_arrays.LENDS:  # what that gives may be written through
        leaks.leak_root(m, node.base, env)
        array = type_of(base)
        assert isinstance(array, ArrayType)
        return attribute(m, m.recorder.array(m, array, node.span), node.ident, node.span)
    if node.ident in _TYPED_DATA and node.targs and isinstance(value, (Unknown, Extern)) and m.recorder.on_host():
        said = tuple(map(plain, templates.arguments(m, node.targs, env)))
        if len(said) == 1 and is_type(said[0]):
            shown = value.what if isinstance(value, Extern) else f"{node.ident}@{node.span.place}"
            return Extern(shown, node.span, ExternType(node.ident, said))
    return plain(_with_targs(m, value, node.targs, env, node.span))


def of_base(m: Machine, node: ir.Attr, base: Value, env: Env) -> Value:
    """``base.ident``, or ``base.Owner::ident``, which is the base class's own."""
    if node.ident == "accumulate_" and isinstance(base, TiledMMA):  # a reference or a pointer may be made of it
        m.recorder.scaled(node.base.ident if isinstance(node.base, ir.Name) else "", base, None)
    if m.dialect.by_value and matrix_descriptors.has(base, node.ident):
        return base if matrix_descriptors.starts(node.ident) else matrix_descriptors.apart(node.span)[0]
    obj = base.to if isinstance(base, ObjectPointer) else base
    if node.owner is not None and isinstance(obj, Object):
        owner = m.eval(node.owner, env)
        if isinstance(owner, Unknown) or not isinstance(owner, ClassInst):
            return Unknown(f"the class that `{node.ident}` is a member of is not known", node.span)
        if classes.derives(m, obj.cls, owner):
            found = member(m, owner, node.ident, obj, node.span)
            if not missing(found):
                return found
    elif isinstance(obj, Object) and (base_class := named_bases.named_as(m, node.base, obj, env)) is not None:
        found = member(m, base_class, node.ident, obj, node.span)
        if not missing(found) and not classes.virtual(m, base_class, node.ident):
            return found
    return attribute(m, base, node.ident, node.span)


def attribute(m: Machine, base: Value, name: str, span: Span) -> Value:
    """``base.name`` for any value."""
    own = m.dialect.attribute(m, base, name, span)
    if own is not DEFER:
        return own
    if isinstance(base, Unknown):
        return base
    if isinstance(base, Object):
        found = member(m, base.cls, name, base, span)
        if not missing(found):
            return found
        if name in base.fields:
            return base.fields[name]
        if classes.complete(m, base.cls):
            return Unknown(f"`{base.cls.name}` {classes.NO_MEMBER} `{name}`", span)
        return Unknown(f"`{base.cls.name}` has no member `{name}` in the scanned files", span)
    if isinstance(base, ObjectPointer):
        return attribute(m, base.to, name, span)
    if isinstance(base, Closure) and name == "operator()":
        return base
    if isinstance(base, Address):
        return attribute(m, places.read(m, base.cells, span), name, span)
    if isinstance(base, Pointer) and isinstance(base.type, ClassInst):
        return attribute(m, memory.get_object(m, base), name, span)
    if isinstance(base, Namespace):
        found = in_path(m, base, name, span)
        return Unknown(f"`{base.library}.{name}` is not known", span) if missing(found) else found
    return intrinsics.method(m, base, name, span)
