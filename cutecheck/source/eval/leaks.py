"""Addresses that go where they are not followed: what they lead to may be written from anywhere afterwards.

An element of an array that is not followed, a member of a union, a variable outside of functions, a container of the
standard library, a function that is not walked: what is written through a pointer that comes from there is no write to
a known place. So all that leads there is kept, and lost by such writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import ir
from cutecheck.source.eval.held_fields import Apart
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.places import Cells, address, again, held, named, of_arguments, read
from cutecheck.source.eval.qualifiers import refers
from cutecheck.source.eval.repeatable import quiet
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.slots import roots, slots
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    Cell,
    Closure,
    Extern,
    ExternType,
    Object,
    ObjectPointer,
    Pack,
    Pointer,
    Reference,
    Scalar,
    TensorVal,
    Value,
    ValueType,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_READ = re.compile(r"(\*.+)[#~]\d+$")
WRAPPER = "reference_wrapper"  # of the standard library
Place: TypeAlias = Cell | Object  # what an address leads to


def leak(m: Machine, *values: Value) -> None:
    """What these values lead to may be written through pointers that are not known."""
    for value in values:
        if not isinstance(value, (Scalar, TensorVal)):
            _add(m, led_to(value))


def forgotten(m: Machine, *values: Value) -> None:
    """These values are not known any more: if they are functions, a call may write what they lead to."""
    for value in values:
        if isinstance(value, (Address, ObjectPointer, Closure, Object, tuple)):
            m.callable.update((_key(place), place) for place in led_to(value))


def called(m: Machine) -> None:
    """A value that is not known is called."""
    _add(m, tuple(m.callable.values()))
    m.callable.clear()


def gone(m: Machine, env: Env) -> None:
    """The variables of a block that is left: no pointer is to them any more, but to what is returned."""
    frame = env.vars
    if m.slots:
        m.slots.pop(id(frame), None)
    for known in (m.leaked, m.callable, m.addressed):
        if known:
            for name in frame:
                known.pop((id(frame), name), None)
    if env.own and (m.leaked or m.callable or m.addressed or m.pointed):
        returned = env.frame.returns if env.frame is not None and env.frame.returns else ()
        kept = {id(obj) for value in returned for obj in _objects(value)}
        for name in env.own:
            _ended(m, frame.get(name), kept)


def _ended(m: Machine, obj: Value, kept: set[int]) -> None:
    """An object is no more, with the objects that are members of it."""
    from cutecheck.source.eval import classes
    from cutecheck.source.eval.references import field_stands

    if not isinstance(obj, Object) or id(obj) in kept or obj.pointer is not None:
        return
    kept.add(id(obj))
    m.pointed.pop(id(obj), None)
    m.slots.pop(id(obj.fields), None)
    for known in (m.leaked, m.callable, m.addressed):
        if known:
            known.pop((id(obj), None), None)
            for name in obj.fields:
                known.pop((id(obj.fields), name), None)
    for owner, decl in classes.fields(m, obj.cls):
        if not field_stands(m, owner, decl):
            _ended(m, obj.fields.get(decl.name), kept)


def _objects(value: Value) -> Iterator[Object]:
    """The objects in a value."""
    todo, seen = [value], set()
    while todo:
        at = todo.pop()
        if isinstance(at, (tuple, list)):
            todo += at
        elif isinstance(at, Object) and id(at) not in seen:
            seen.add(id(at))
            yield at
            todo += at.fields.values()
        elif isinstance(at, Closure) and at.own:
            todo += at.env.vars.values()


def leak_place(m: Machine, value: Value, cells: Cells | None) -> None:
    """What is not followed keeps the address of a variable that has this value."""
    _add(m, [value] if isinstance(value, Object) else roots(cells or ()))


def leak_pointed(m: Machine) -> None:
    """A reference goes where an unknown pointer leads: to any variable whose address was taken."""
    _add(m, (*(place for cell in m.addressed.values() for place in roots((cell,))), *m.pointed.values()))


def _add(m: Machine, places: Iterable[Place]) -> None:
    todo = [*places]
    while todo:
        place = todo.pop()
        if isinstance(_held(place), Extern):
            continue  # of which nothing is known
        if m.leaked.setdefault(_key(place), place) is place:
            todo += [other for other in led_to(_held(place)) if _key(other) not in m.leaked]


def _held(place: Place) -> Value:
    return place if isinstance(place, Object) else place[0].get(place[1])


def points(value: Value) -> bool:
    """A value that leads somewhere else, or may."""
    return isinstance(value, (Address, ObjectPointer, Closure)) or (
        isinstance(value, Pointer) and not isinstance(value.type, ArrayType)
    )


def source_of(value: Value) -> str:
    """``*buffer`` of a number that was read there and is not known; empty of others."""
    number = value.value if isinstance(value, Scalar) else value
    names = [v.name for v in number.expr.variables()] if isinstance(number, Dyn) else []
    found = _READ.match(names[0]) if len(names) == 1 else None
    return found[1] if found is not None else ""


def apart(value: Value, name: str) -> Reference:
    """A reference to what has this value and is not followed."""
    return Reference(((Apart({name: value}), name),))


def keeps_references(t: ir.Expr | None) -> bool:
    """``std::tuple<int&>``."""
    while isinstance(t, ir.TypeMod):
        t = t.inner
    return isinstance(t, (ir.Name, ir.Scoped)) and any(refers(a) for a in t.targs or ())


UNFOLLOWED = Unknown("an element that is a reference is not followed", None)  # the type of such a tuple


def leak_root(m: Machine, node: ir.Expr, env: Env) -> None:
    """A pointer or reference to an element is made: the whole may be written through it."""
    from cutecheck.source.eval.losses import forget_cells

    while isinstance(node, (ir.Index, ir.Call)) or (
        isinstance(node, ir.Attr) and (not quiet(node) or again(m, node, env) is None)
    ):
        if isinstance(node, (ir.Index, ir.Attr)):
            node = node.base
        elif isinstance(node.fn, ir.Attr):
            node = node.fn.base
        elif len(node.args) == 1:
            node = node.args[0].value
        else:
            return
    cells = again(m, node, env)
    whole = read(m, cells) if cells is not None else None
    if cells is not None and isinstance(whole, (tuple, Unknown)):
        forget_cells(m, cells, node.span)
        leak_place(m, None, cells)
    elif isinstance(whole, Object) and whole.pointer is None:  # a method of it gives a reference to a part
        forget_cells(m, cells or (), node.span)
        leak_place(m, whole, cells)


def holds_reference(m: Machine, cls: ClassInst) -> bool:
    """An object of this class has a reference, or has a member that does."""
    from cutecheck.source.eval import classes
    from cutecheck.source.eval.references import field_stands

    key = ("holds reference",)
    if key not in cls.memo:
        cls.memo[key] = False
        own = any(field_stands(m, o, d) for o, d in classes.fields(m, cls))
        types = [] if own else [m.eval(d.type, o.env) for o, d in classes.fields(m, cls) if d.type is not None]
        cls.memo[key] = own or any(
            t == UNFOLLOWED or (isinstance(t, ClassInst) and holds_reference(m, t)) for t in types
        )
    return bool(cls.memo[key])


def lend(
    m: Machine,
    to: Sequence[Sequence[ir.Param]],
    nodes: Sequence[ir.Arg],
    args: list[Value],
    env: Env,
    keeps: bool = False,
) -> None:
    """Elements that are given to references through which may be written: the whole may be, from then on.
    So may whatever is pointed to, where it is not known where a pointer leads that is followed there.

    ``to``: the parameters of the functions that may be called; ``keeps``: references to them are kept.
    """
    from cutecheck.source.eval.qualifiers import constant

    cells = of_arguments(m, args)
    if len(cells) != len(args) or len(nodes) != len(args):
        return
    for i, a in enumerate(nodes):
        behind = isinstance(a.value, ir.Unary) and a.value.op == "*" and _leads_anywhere(m, args[i])
        element = isinstance(a.value, (ir.Index, ir.Attr)) and isinstance(args[i], Scalar)
        if cells[i] is not None or not (behind or element):
            continue
        own = [params[min(i, len(params) - 1)] for params in to if params]
        types = [p.type.pattern if isinstance(p.type, ir.Expand) else p.type for p in own]
        if keeps or any(refers(t) and not constant(t) for t in types):
            if element:
                leak_root(m, a.value, env)
            elif isinstance(args[i], Unknown):
                leak_pointed(m)
            cells[i] = ((Apart({"element": args[i]}), "element"),)


def _leads_anywhere(m: Machine, value: Value) -> bool:
    """What a pointer leads to that is not followed: it may be what has gone where pointers are not."""
    return isinstance(value, Unknown) or (isinstance(value, Scalar) and bool(m.leaked))


def lend_to(m: Machine, cls: ClassInst, nodes: Sequence[ir.Arg], args: list[Value], env: Env) -> None:
    """Elements that are given to a constructor, or to members that are references."""
    made = [d.params for d in cls.index.get(cls.name, ()) if isinstance(d, ir.Function)]
    lend(m, made, nodes, args, env, holds_reference(m, cls))


def leak_bound(m: Machine, typed: Value, init: ir.Expr, env: Env) -> None:
    """References in objects that a braced list initialises, whatever they are bound to."""
    while isinstance(typed, ArrayType):
        typed = typed.inner
    if isinstance(typed, ClassInst):
        binds = isinstance(init, ir.Sequence_) and holds_reference(m, typed)
    elif isinstance(typed, ValueType) and isinstance(typed.value, tuple):
        binds = any(isinstance(t, ClassInst) and holds_reference(m, t) for t in typed.value)
    else:
        binds = typed == UNFOLLOWED or (isinstance(typed, ExternType) and typed.name.endswith(WRAPPER))
    for name in names_in(init) if binds else ():
        cells = named(m, name, env)
        leak_place(m, None if cells is None else held(m, *cells[0]), cells)


def decayed(m: Machine, cells: Cells | None, span: Span) -> Value:
    """A pointer to the first element of an array, which is kept in these cells."""
    first = slots(m, cells)
    if first is not None:
        return address(m, ((first, 0),))
    leak_place(m, None, cells)
    return Unknown("a pointer to an element of an array is not followed", span)


def leak_arguments(m: Machine, type_name: str, args: list[Value]) -> None:
    """An object of a class that is not followed is made of these."""
    leak(m, *args)
    for value, where in zip(args, of_arguments(m, args), strict=False):
        if type_name.endswith(WRAPPER) or type(value) is Elements:
            leak_place(m, value, where)


def _key(place: Place) -> tuple[int, object]:
    return (id(place), None) if isinstance(place, Object) else (id(place[0]), place[1])


def led_to(value: Value) -> Iterator[Place]:
    """The places whose addresses a value holds."""
    todo = [value]
    seen: set[int] = set()
    while todo:
        at = todo.pop()
        if isinstance(at, (Address, Reference)):
            yield from roots(at.cells)
        elif isinstance(at, ObjectPointer):
            yield at.to
        elif isinstance(at, (tuple, list)):
            todo += at
        elif isinstance(at, Pack):
            todo += at.items
        elif isinstance(at, Object):
            if id(at) not in seen:
                seen.add(id(at))
                todo += at.fields.values()
        elif isinstance(at, Closure) and id(at) not in seen:
            seen.add(id(at))
            own, captured = _captured(at)
            todo += own
            yield from captured


def _captured(fn: Closure) -> tuple[list[Value], list[Place]]:
    """What a closure holds a copy of, and what it stands for itself."""
    own: list[Value] = []
    places: list[Place] = []
    for name in names_in(fn.node.body.get()):
        at: Env | None = fn.env.find_var(name)
        if at is None or at.kind not in ("block", "function"):
            continue
        value = at.vars[name]
        if is_type(value) or (isinstance(value, (Scalar, int)) and at.fixed is not None and name in at.fixed):
            continue  # a type, or a constant: nobody writes it
        if fn.own and at is fn.env and not isinstance(value, Object):
            own.append(value)
        elif isinstance(value, Reference):
            places += roots(value.cells)
        elif isinstance(value, Object):
            places.append(value)
        elif not isinstance(value, Closure):
            places.append((at.vars, name))
        else:
            own.append(value)
    return own, places


def all_leaked(m: Machine) -> tuple[Place, ...]:
    """All that addresses which went out of sight lead to, by way of one another."""
    for place in tuple(m.leaked.values()):
        if not isinstance(held := _held(place), (Scalar, Unknown)):  # most are numbers, which lead nowhere
            _add(m, led_to(held))
    return tuple(m.leaked.values())
