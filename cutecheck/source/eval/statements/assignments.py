"""Assignments: to names, fields, and targets that take a value apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import Int
from cutecheck.model.tiled import TiledMMA
from cutecheck.source.eval import (
    classes,
    copies,
    initialisation,
    ir,
    leaks,
    losses,
    observed,
    places,
    predicates,
    slots,
    writes,
)
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.intrinsics import cuda
from cutecheck.source.eval.machine import Machine, runs
from cutecheck.source.eval.scope import Env, self_of
from cutecheck.source.eval.statements import element_reads, elements, global_elements, shared_elements, touches
from cutecheck.source.eval.statements.done import Done
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import (
    EnumVal,
    Extern,
    ExternType,
    Object,
    Pointer,
    Reference,
    Scalar,
    ScalarType,
    Tag,
    TensorVal,
    Value,
    is_variant,
)


@runs(ir.Bind)
def _bind(m: Machine, node: ir.Bind, env: Env) -> Done:
    value, cells = places.locate(m, node.value, env) if node.refers else (places.whole(m, node.value, env), None)
    shared = cells is not None and isinstance(value, tuple) and m.dialect.by_value
    if shared and cells is not None:
        parts = [part for i in range(len(value)) if (part := slots.part(m, cells, i)) is not None]
        if len(parts) == len(node.names) == len(value):
            for name, part in zip(node.names, parts, strict=True):
                m.journal.set(env.vars, name, Reference(part))
            return Done.NORMAL
        losses.forget_cells(m, cells, node.span)  # elements have no place of their own: either name may write them
        leaks.leak_place(m, None, cells)
        value = places.read(m, cells, node.span)
    _take_apart(m, node, value, env)
    for name in node.names if shared else ():
        if isinstance(env.vars[name], Scalar):
            m.journal.set(env.vars, name, leaks.apart(env.vars[name], name))
    return Done.NORMAL


def _stored(m: Machine, node: ir.Assign, env: Env) -> None:
    """An element of a tensor is assigned to: a step of a kernel that is run pass by pass."""
    target = node.target
    if m.recorder.acts() is not None and not isinstance(target, ir.Name):
        touches.assigned(m, target, env)
    base = target.fn if isinstance(target, ir.Call) else target.base if isinstance(target, ir.Index) else None
    base = target.operand if isinstance(target, ir.Unary) and target.op == "*" else base
    replay = m.recorder.acts()
    if replay is None or not isinstance(base, (ir.Name, ir.Attr)):
        return
    tensor = places.whole(m, base, env)
    pointer = tensor.pointer if isinstance(tensor, TensorVal) else tensor
    if isinstance(pointer, Pointer) and pointer.space not in ("rmem", "smem"):
        replay.memory.stored.add(pointer.buffer)
    if isinstance(tensor, TensorVal):
        m.recorder.element(tensor, True, node.span)


def _take_apart(m: Machine, node: ir.Bind, value: Value, env: Env) -> None:
    """The names of a structured binding are set to the parts of a value."""
    parts: Iterable[Value]
    if isinstance(value, (tuple, list)) and len(value) == len(node.names):
        parts = [m.dialect.from_model(v) for v in value]
        predicates.bound(m, node.value, tuple(parts), env)
    elif isinstance(value, Object):
        parts = [_part(m, value, d.name, node.span) for _, d in classes.fields(m, value.cls)]
        if node.refers and len(parts) == len(node.names):
            for name, (_, d) in zip(node.names, classes.fields(m, value.cls), strict=True):
                m.journal.set(env.vars, name, Reference(places.cells_of(value.fields, d.name)))
            return
    elif isinstance(value, Tag) and value.name in cuda.BUILTINS:  # `auto [x, y, z] = blockIdx;`
        parts = [cuda.component(m, value.name, axis) for axis in "xyz"]
    else:
        reason = value if isinstance(value, Unknown) else Unknown("cannot take this value apart", node.span)
        parts = [reason] * len(node.names)
    for name, part in zip(node.names, parts, strict=False):
        if part == leaks.UNFOLLOWED:
            m.journal.set(env.vars, name, leaks.apart(part, name))
            continue
        m.journal.set(
            env.vars, name, replace(part, name=name) if isinstance(part, TensorVal) else copies.copied(m, part)
        )


def _part(m: Machine, obj: Object, name: str, span: Span) -> Value:
    """A member of an object, where it is a reference that itself: its name stands for the same."""
    value = classes.get_field(m, obj, name, span)
    held = obj.fields.get(name)
    return held if type(held) is Reference else value


@runs(ir.Assign)
def _assign(m: Machine, node: ir.Assign, env: Env) -> Done:
    element_reads.computed_with(m, node, env)
    value = m.eval(node.value, env)
    noted(m, node, env)
    if isinstance(node.target, ir.Name):
        predicates.kept(m, node.value, value, env)
    state = observed.state_kept(m, node.value, value, env) if node.op == "=" else None
    cells = assign_by(m, node.target, node.op, value, env, node.span)
    told(m, node, value, env)
    if state is not None and cells is not None and len(cells) == 1:
        observed.keep(m, *cells[0], state)
    return Done.NORMAL


def noted(m: Machine, node: ir.Assign, env: Env) -> None:
    """What facts have of an assignment, also of one in an expression: ``a(i) = b(i) = x``."""
    predicates.note(m, node, env)
    _stored(m, node, env)
    shared_elements.reads(m, node.value, env)
    if node.op != "=":
        shared_elements.reads(m, node.target, env)
    shared_elements.stores(m, node.target, env)
    global_elements.stores(m, node.target, env)


def told(m: Machine, node: ir.Assign, value: Value, env: Env) -> None:
    """Whether an MMA's products are added, once it is assigned to: ``mma.accumulate_ = ...`` or ``mma = other``."""
    target = node.target
    if not m.dialect.by_value:
        return
    if isinstance(target, ir.Attr) and target.ident == "accumulate_":
        of = target.base
        m.recorder.scaled(of.ident if isinstance(of, ir.Name) else "", m.eval(of, env), value)
    elif isinstance(target, ir.Name) and isinstance(value, TiledMMA):
        replay, frame = m.recorder.acts(), m.recorder.frame
        if replay is not None and frame is not None and value in replay.scalable:
            adds = replay.adds(frame, node.value.ident, value) if isinstance(node.value, ir.Name) else None
            replay.scales(frame, target.ident, value, None if replay.under else adds)


def assign_by(m: Machine, target: ir.Expr, op: str, value: Value, env: Env, span: Span) -> places.Cells | None:
    """``target op value``, by the operator of its own that an object has; the cells that are written, if followed."""
    if op == "=" and isinstance(value, tuple) and isinstance(target, ir.Call) and _ties(m, target, value, env):
        for a, part in zip(target.args, [copies.copied(m, m.dialect.from_model(v)) for v in value], strict=True):
            if getattr(a.value, "ident", "") != "ignore":
                assign_by(m, a.value, "=", part, env, span)
        return None
    if m.dialect.by_value and not isinstance(target, ir.Sequence_):
        cells = places.named(m, target.ident, env) if isinstance(target, ir.Name) else None
        if cells is not None:
            old = places.read(m, cells, span)
        else:
            old, cells = places.locate(m, target, env)
        if isinstance(old, (Object, EnumVal)):
            from cutecheck.source.eval.own_operators import changing

            own = changing(m, op, [old, value], cells, span)
            if own is not None and (cells is not None or isinstance(old, Object)):
                return cells
            if own is not None:
                assign(m, target, own, env, span)
                return None
        if op != "=":
            from cutecheck.source.eval.expressions.operators import binary

            value = binary(m, op[:-1], old, value, span)
        if isinstance(value, Unknown) and isinstance(old, Scalar) and m.recorder.on_host() and cells is not None:
            kind = dtype(old.ctype)  # `n = atoi(argv[1]);`: any number of the variable's type
            value = value if kind is None else initialisation.convert(m, ScalarType(kind), value, span)
        elif isinstance(old, Extern) and is_variant(old.type):
            value = initialisation.convert(m, old.type, value, span)
        put(m, target, old, cells, value, env, span)
        return cells
    if op != "=":
        from cutecheck.source.eval.expressions.operators import binary

        old = m.eval(target, env)
        own = m.dialect.augmented(m, op[:-1], old, value, span)
        value = binary(m, op[:-1], old, value, span) if own is DEFER else own
    assign(m, target, value, env, span)
    return None


def _ties(m: Machine, target: ir.Call, value: tuple[Value, ...], env: Env) -> bool:
    """``std::tie(a, b)``, as the target of an assignment of as many parts."""
    if getattr(target.fn, "ident", "") != "tie" or len(target.args) != len(value) or not m.dialect.by_value:
        return False
    fn = m.eval(target.fn, env)
    return isinstance(fn, ExternType) and fn.name in ("std::tie", "cuda::std::tie")


def put(
    m: Machine, target: ir.Expr, old: Value, cells: places.Cells | None, value: Value, env: Env, span: Span
) -> None:
    """Write to what an expression names: to ``cells``, where those are known, which hold ``old``."""
    if cells is not None:
        writes.write(m, cells, value, span)
    elif isinstance(old, Object) and old.pointer is None and not isinstance(target, ir.Name):
        writes.overwrite(m, old, value, span)
    elif not elements.write(m, target, value, env, span):
        assign(m, target, value, env, span)


def assign(m: Machine, target: ir.Expr, value: Value, env: Env, span: Span) -> None:
    """Write to a variable, a field, or forget what cannot be followed."""
    if m.dialect.assign(m, target, value, env, span):
        return
    if isinstance(target, ir.Name):
        at = env.find_var(target.ident)
        if at is not None and m.dialect.by_value:
            writes.store(m, at.vars, target.ident, value, span)
            return
        if at is not None:
            old = at.vars.get(target.ident)
            if isinstance(old, (TensorVal,)) and not isinstance(value, TensorVal):
                return
            if isinstance(old, Scalar) and not isinstance(value, Unknown):
                value = initialisation.convert(m, type_of(old), value, span)
            m.journal.set(at.vars, target.ident, value)
            return

        this = self_of(env)
        if this is not None and any(d.name == target.ident for _, d in classes.fields(m, this.cls)):
            if m.dialect.by_value:
                classes.get_field(m, this, target.ident, span)
                writes.store(m, this.fields, target.ident, value, span)
            else:
                m.journal.set(this.fields, target.ident, value)
        elif not m.dialect.block_scope:
            m.journal.set(env.vars, target.ident, value)
        else:
            leaks.leak(m, value)
            m.rewritten.add(target.ident)
    elif isinstance(target, ir.Attr):
        base = places.base_of(m, target.base, env, target.ident)
        base = places.aimed_at(m, base)
        if isinstance(base, Object):
            if m.dialect.by_value:
                classes.get_field(m, base, target.ident, span)
                if base.pointer is not None or target.ident in classes.overlaid(m, base.cls):
                    leaks.leak(m, value)  # where others may read it
                writes.store(m, base.fields, target.ident, value, span)
            else:
                m.journal.set(base.fields, target.ident, value)
        elif m.dialect.by_value and (whole := _with_part(m, target, base, value, env, span)) is not None:
            assign(m, target.base, whole, env, span)
        elif m.dialect.by_value:
            _untracked(m, target, value, env)
    elif isinstance(target, ir.Scoped):
        leaks.leak(m, value)
        m.rewritten.add(target.ident)
    elif (
        isinstance(target, ir.Call) and isinstance(target.fn, ir.Attr) and target.fn.ident == "data" and not target.args
    ):
        tensor = m.eval(target.fn.base, env)
        if isinstance(tensor, TensorVal):
            if m.dialect.replaying is not None:
                m.dialect.replaying.made_over(value, span)
            assign(m, target.fn.base, pointed(tensor, value, span), env, span)
    elif isinstance(target, ir.Sequence_):
        bind_target(m, target, value, env, span)
    elif isinstance(target, ir.Index):
        base = m.eval(target.base, env)
        if isinstance(base, (list, dict)):
            keys = [m.eval(a, env) for a in target.args]
            if len(keys) == 1 and isinstance(base, dict):
                base[keys[0]] = value
        elif m.dialect.by_value:
            _untracked(m, target, value, env)
    elif m.dialect.by_value:
        _untracked(m, target, value, env)


def _with_part(m: Machine, target: ir.Attr, base: Value, value: Value, env: Env, span: Span) -> Value | None:
    """``v.x = n`` of a vector type: all of it; None where its parts are not followed, or it is behind a pointer."""
    if not isinstance(base, (Scalar, tuple)) or not isinstance(target.base, (ir.Name, ir.Attr)):
        return None
    held = m.eval(target.base, env)
    return cuda.with_part(m, base, target.ident, value, span) if isinstance(held, (Scalar, tuple)) else None


def _untracked(m: Machine, target: ir.Expr, value: Value, env: Env) -> None:
    """Something is written where it is not followed."""
    leaks.leak(m, value)
    losses.lost(m, target, env)
    observed.may_replace(m, target, value, env)


def pointed(tensor: TensorVal, to: Value, span: Span) -> TensorVal:
    """``tensor.data() = to``: the tensor from another place on, which is told where it is in the same memory.

    An offset inside a swizzled layout stays where it is: the pointer moves outside of the swizzle.
    """
    old = tensor.pointer
    if old is None:
        return replace(tensor, offset=to if isinstance(to, tuple) else Unknown("not a coordinate", span))
    if old.space == "tmem":
        return tensor  # addresses in tensor memory are not followed
    before = data(tensor, span)
    unknown = isinstance(old.offset, Unknown) or isinstance(before.offset, Unknown)
    if not isinstance(to, Pointer) or isinstance(to.offset, Unknown) or unknown:
        return replace(tensor, pointer=replace(old, offset=Unknown("a pointer that is not followed", span)))
    if to.buffer != old.buffer:
        return replace(tensor, pointer=replace(to, type=old.type, swizzle=old.swizzle), offset=0)
    return replace(
        tensor, pointer=replace(old, offset=cast("Int", old.offset) + (to.offset - cast("Int", before.offset)))
    )


def data(tensor: TensorVal, span: Span) -> Pointer:
    """``tensor.data()``."""
    assert tensor.pointer is not None
    if isinstance(tensor.pointer.offset, Unknown) or isinstance(tensor.offset, Unknown):
        return replace(tensor.pointer, offset=Unknown("the offset of this tensor is not known", span))
    return replace(tensor.pointer, offset=tensor.pointer.offset + tensor.offset)


def bind_target(m: Machine, target: Any, value: Value, env: Env, span: Span) -> None:
    """Bind an assignment target (a name or a nested sequence of them) in a frame."""
    if isinstance(target, ir.Sequence_):
        items = value if isinstance(value, (tuple, list)) and len(value) == len(target.items) else None
        for i, a in enumerate(target.items):
            part = (
                m.dialect.from_model(items[i])
                if items is not None
                else value
                if isinstance(value, Unknown)
                else Unknown("cannot take this value apart", span)
            )
            bind_target(m, a.value, part, env, span)
    elif isinstance(target, ir.Name):
        m.journal.set(env.vars, target.ident, value)
    elif isinstance(target, ir.Local) and isinstance(target.decl, ir.Variable):
        m.journal.set(env.vars, target.decl.name, value)
    elif isinstance(target, ir.Bind):  # `for (auto [a, b] : pairs)`
        _take_apart(m, target, value, env)
        if target.refers and not isinstance(value, Object):  # through which elements may be written
            for name in target.names:
                m.journal.set(env.vars, name, leaks.apart(env.vars[name], name))
    elif isinstance(target, (ir.Attr, ir.Index)):
        assign(m, target, value, env, span)
