"""Where values are kept: what references and pointers of the program stand for, copies, and writes through them.

A cell is a dictionary of variables or fields and a name in it, or the elements of an array and the number of one. Only
cells that are followed have a place here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.constants import type_of_constant
from cutecheck.model.expr import ANY
from cutecheck.source.eval import ir, matrix_descriptors
from cutecheck.source.eval.held_fields import SEEN_AS, Apart
from cutecheck.source.eval.repeatable import changes_nothing, is_assignment, passes_on, quiet
from cutecheck.source.eval.scope import ClassInst, Env, self_of
from cutecheck.source.eval.slots import roots
from cutecheck.source.eval.values import (
    Address,
    Cell,
    FuncSet,
    Object,
    ObjectPointer,
    Pointer,
    Reference,
    Scalar,
    ScalarType,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

Cells = tuple[Cell, ...]
BOXES = ("std::optional", "c10::optional", "std::any", "std::expected")  # what they hold is not followed


def read(m: Machine, cells: Cells, span: Span | None = None) -> Value:
    """The value that a reference to these cells has; of several, one that covers them all."""
    values = [held(m, where, name) for where, name in cells]
    if len(values) == 1:
        return values[0]
    from cutecheck.source.eval.statements.joins import join

    value = values[0]
    for other in values[1:]:
        value = join(m, value, other, "what a reference stands for", span or Span("", 1, 1, 1, 1), None, True)
    return value


def held(m: Machine, where: dict[Any, Any], name: Any) -> Value:
    value = where.get(name)
    if value is None:
        return Unknown(f"`{name}` is not set", None)
    if isinstance(value, Scalar) and type(where) is Apart:
        from cutecheck.source.eval.statements.havoc import forget

        return forget(m, value, str(name), ANY, Span("", 1, 1, 1, 1))
    return read(m, value.cells) if isinstance(value, Reference) else value


def cells_of(where: dict[Any, Any], name: Any) -> Cells:
    value = where.get(name)
    return value.cells if isinstance(value, Reference) else ((where, name),)


def named(m: Machine, ident: str, env: Env) -> Cells | None:
    """The cell of a variable, or of a member of the object whose method runs."""
    at = env.find_var(ident)
    if at is not None:
        return cells_of(at.vars, ident)
    this = self_of(env)
    if this is None:
        return None
    from cutecheck.source.eval import classes

    if any(d.name == ident for _, d in classes.fields(m, this.cls)):
        classes.get_field(m, this, ident, Span("", 1, 1, 1, 1))
        if ident in _overlaid(m, this):
            return None
        return cells_of(this.fields, ident)
    return None


def whole(m: Machine, node: ir.Expr, env: Env) -> Value:
    """The value of an expression where an array is that array, and no pointer to its first element."""
    m.whole = node
    return m.eval(node, env)


def locate(m: Machine, node: ir.Expr, env: Env) -> tuple[Value, Cells | None]:
    """The value of an expression, evaluated once, and the cells it names where it names some that are followed."""
    if isinstance(node, ir.Name) and node.targs is None:
        return whole(m, node, env), named(m, node.ident, env)
    if isinstance(node, ir.Attr) and node.targs is None:
        base = base_of(m, node.base, env, node.ident)
        base = aimed_at(m, base)
        from cutecheck.source.eval.expressions.names import of_base

        if m.dialect.by_value and matrix_descriptors.has(base, node.ident):
            starts = matrix_descriptors.starts(node.ident)
            return (base, again(m, node.base, env)) if starts else matrix_descriptors.apart(node.span)
        value = of_base(m, node, base, env)
        if isinstance(base, Object) and node.ident in base.fields and node.ident not in _overlaid(m, base):
            return value, cells_of(base.fields, node.ident)
        return value, None
    if isinstance(node, ir.Index):
        from cutecheck.source.eval.expressions.invocations import indexed

        return indexed(m, node, env)
    if isinstance(node, ir.Unary):
        if node.op == "*":
            pointer = m.eval(node.operand, env)
            if isinstance(pointer, Address):
                return read(m, pointer.cells), pointer.cells
            if dereferences(m, pointer, node.span):
                from cutecheck.source.eval.ranking import operand

                m.given = ((), operand(m, node.operand, m.chosen, pointer, env))
                m.returned = None
                return overloaded(m, pointer, "operator*", node.span), m.returned
            from cutecheck.source.eval import intrinsics

            return intrinsics.dereference(m, pointer, node.span), None
        if node.op in ("++", "--"):
            return m.eval(node, env), again(m, node.operand, env)
    if isinstance(node, ir.Binary):
        if node.op == ",":
            m.eval(node.left, env)
            return locate(m, node.right, env)
        if is_assignment(node):
            return m.eval(node, env), again(m, node.left, env)
    if isinstance(node, ir.Select):
        from cutecheck.source.eval.conversions import tested

        cond = tested(m, node.cond, env)
        known = m.dialect.truth(cond)
        if known is not None:
            value, where = locate(m, node.then if known else node.other, env)
            common = with_other(m, value, node.other if known else node.then, env)
            return common, where if common is value else None
        from cutecheck.source.eval.statements.branches import alternatives

        found: list[Cells | None] = []

        def branch(part: ir.Expr) -> Value:
            value, cells = locate(m, part, env)
            found.append(cells)
            return value

        value = alternatives(m, node, cond, env, lambda: branch(node.then), lambda: branch(node.other))
        first, second = found
        if isinstance(value, Object):
            return one_of(m, node, env), None
        return value, None if first is None or second is None else (*first, *second)
    if isinstance(node, ir.Cast):
        from cutecheck.source.eval.references import stands

        value = m.eval(node, env)
        if not stands(m, node.type, env):
            return value, None
        cells = again(m, node.operand, env)
        return (value, cells) if cells is None else aliased(m, cells, m.eval(node.type, env), value)
    if isinstance(node, ir.Call):
        m.returned = None
        value = m.eval(node, env)
        if m.returned is None and passes_on(node):
            return value, again(m, node.args[0].value, env)
        if m.returned is None and type(value) is TensorVal:
            from cutecheck.source.eval.statements.elements import gotten

            return value, gotten(m, node, env)
        return value, m.returned
    return whole(m, node, env), None


def _overlaid(m: Machine, obj: Object) -> frozenset[str]:
    from cutecheck.source.eval import classes

    return classes.overlaid(m, obj.cls)


def again(m: Machine, node: ir.Expr, env: Env) -> Cells | None:
    """The cells of an expression that was evaluated before and whose evaluation does nothing."""
    if isinstance(node, ir.Name) and node.targs is None:
        return named(m, node.ident, env)
    if isinstance(node, ir.Cast):
        from cutecheck.source.eval.references import stands

        return again(m, node.operand, env) if stands(m, node.type, env) else None
    if isinstance(node, ir.Index):
        return locate(m, node, env)[1] if quiet(node) else None
    if isinstance(node, ir.Attr) or (isinstance(node, ir.Unary) and node.op == "*"):
        return locate(m, node, env)[1] if quiet(node) else None
    return None


def aliased(m: Machine, cells: Cells, type_: Value, value: Value) -> tuple[Value, Cells]:
    """What a cast to a reference names: other bits than all of a number, if it is of another type."""
    from cutecheck.source.eval.leaks import leak_place

    old = read(m, cells)
    if not isinstance(old, Scalar) or (isinstance(type_, ScalarType) and type_.dtype.name == old.ctype):
        return value, cells
    leak_place(m, old, cells)
    other = Unknown("the bits of a number as another type", None)
    return other, ((Apart({"bits": other, SEEN_AS: type_}), "bits"),)


def with_other(m: Machine, value: Value, beside: ir.Expr, env: Env) -> Value:
    """The value of ``?:`` whose other branch is not evaluated: a number has the type that both have in common."""
    if not m.dialect.by_value or not isinstance(value, (Scalar, int)) or not changes_nothing(beside):
        return value
    other = m.eval(beside, env)
    if isinstance(value, int) or isinstance(other, int):
        return _of_constants(m, value, other)
    value, _ = m.dialect.alike(value, other)
    return value


def _of_constants(m: Machine, value: Value, other: Value) -> Value:
    """Of a constant of CuTe and another number: constants of one type stay one, others are the numbers they hold."""
    from cutecheck.source.eval.types import type_key, type_of

    if not isinstance(value, (int, Scalar)) or not isinstance(other, (int, Scalar)):
        return value
    if isinstance(value, int) and isinstance(other, int) and type_key(value) == type_key(other):
        return value
    if isinstance(value, Scalar):
        return value  # a constant converts itself to its type
    number = Scalar(int(value), type_of_constant(value))
    if isinstance(other, Scalar):
        return m.dialect.cast(type_of(other), number, Span("", 1, 1, 1, 1))
    return m.dialect.alike(number, Scalar(int(other), type_of_constant(other)))[0]


def arguments(m: Machine, args: Iterable[ir.Arg], env: Env) -> list[Value]:
    """Values of arguments, packs expanded; the cells that they name are kept for who binds references to them."""
    values: list[Value] = []
    cells: list[Cells | None] = []
    for a in args:
        if isinstance(a.value, ir.Expand):
            from cutecheck.source.eval.templates import expand, references

            values += expand(m, a.value.pattern, env)
            own = references(a.value.pattern, env)
            cells += own if len(cells) + len(own) == len(values) else [None] * (len(values) - len(cells))
            continue
        value, where = locate(m, a.value, env)
        values.append(value)
        cells.append(where)
    m.lvalues = (values, cells)
    return values


def of_arguments(m: Machine, args: list[Value]) -> list[Cells | None]:
    """The cells that the arguments of a call name."""
    given, cells = m.lvalues
    return cells if given is args else []


def base_of(m: Machine, node: ir.Expr, env: Env, ident: str | None = None) -> Value:
    """The value of which a member is named: of one of several objects it is not known which."""
    if m.dialect.by_value and isinstance(node, ir.Select):
        return locate(m, node, env)[0]
    value = whole(m, node, env)
    return (
        aimed(m, value, ident, node.span)
        if type(value) is Object and ident is not None and m.dialect.by_value
        else value
    )


def aimed_at(m: Machine, value: Value) -> Value:
    """What ``value->member`` is a member of."""
    if isinstance(value, Pointer) and isinstance(value.type, ClassInst) and m.dialect.by_value:
        from cutecheck.source.eval.memory import get_object

        return get_object(m, value)
    if isinstance(value, Address) and len(value.cells) == 1 and isinstance(obj := read(m, value.cells), Object):
        return obj
    return value.to if isinstance(value, ObjectPointer) else value


def aimed(m: Machine, obj: Object, ident: str, span: Span) -> Value:
    """What ``obj->ident`` is a member of, where the object's class says so and has no such member itself."""
    from cutecheck.source.eval.lookup import member, missing

    if obj.pointer is not None or missing(member(m, obj.cls, "operator->", obj, span)):
        return obj
    if not missing(member(m, obj.cls, ident, obj, span)):
        return obj
    return overloaded(m, obj, "operator->", span)


def overloaded(m: Machine, obj: Object, name: str, span: Span) -> Value:
    """What an operator without operands of an object's own gives."""
    from cutecheck.source.eval.calls import apply
    from cutecheck.source.eval.lookup import member

    return apply(m, member(m, obj.cls, name, obj, span), [], {}, span)


def dereferences(m: Machine, value: Value, span: Span) -> bool:
    """An object whose class has a ``*`` of its own."""
    from cutecheck.source.eval.lookup import member

    if not isinstance(value, Object) or value.pointer is not None or not m.dialect.by_value:
        return False
    own = member(m, value.cls, "operator*", value, span)
    return isinstance(own, FuncSet) and any(not e.decl.params for e in own.entries)


def one_of(m: Machine, node: ir.Select, env: Env) -> Unknown:
    """What stands for one of two objects, which of them is not known."""
    for part in (node.then, node.other):
        cells = again(m, part, env) or ()
        for where, name in cells:
            obj = held(m, where, name)
            if isinstance(obj, Object):
                pointer_to(m, obj)
    return Unknown("which of two objects this is depends on a condition that is not known", node.span)


def pointer_to(m: Machine, obj: Object) -> ObjectPointer:
    m.pointed[id(obj)] = obj
    return ObjectPointer(obj)


def address(m: Machine, cells: Cells) -> Address:
    for where, name in roots(cells):
        m.addressed[id(where), name] = (where, name)
        m.recorder.takes((where.get(name),))
    return Address(cells)
