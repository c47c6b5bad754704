"""What is written without being followed: all that it may change is not known any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.integers import INTEGERS, whole_domain_of
from cutecheck.model.ints import Dyn, Sym
from cutecheck.source.eval import array_members, ir
from cutecheck.source.eval.copies import DEPTH
from cutecheck.source.eval.held_fields import Seen
from cutecheck.source.eval.leaks import Place, all_leaked, forgotten, leak, led_to
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.places import Cells, again, base_of, cells_of, named, read
from cutecheck.source.eval.repeatable import quiet
from cutecheck.source.eval.scope import Env, self_of
from cutecheck.source.eval.slots import Slots, root
from cutecheck.source.eval.threads import some
from cutecheck.source.eval.tuples import Elements, like
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    Closure,
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


_CHARACTER = 8  # bits
_PLACES_A_STEP = 4  # places that are lost in the time of an evaluation step, about
_ATOMICS = "atomic"
_ATOMIC = re.compile(r"atomic(Add|Sub|Exch|CAS|Max|Min|Inc|Dec|And|Or|Xor)(_block|_system)?")
SWAPS = ("swap", "exchange")


def writes_arguments(name: str) -> bool:
    """A function of a library by whose name it is known that it writes what it gets."""
    return name in SWAPS or name.startswith("atomic")


def of_cuda(name: str) -> bool:
    """An atomic function of CUDA: it writes where its first argument points to, and gets numbers."""
    return name.startswith(_ATOMICS) and _ATOMIC.fullmatch(name) is not None


def fills(name: str) -> bool:
    """A function of C or of the CUDA run time that writes the memory which its first argument leads to."""
    return name in ("memset", "memcpy", "memmove") or name.startswith("cudaMemcpy")


def forget_cells(m: Machine, cells: Cells, span: Span) -> None:
    """What is kept there may be anything of its type."""
    from cutecheck.source.eval.statements.havoc import forget

    for where, name in cells:
        if type(where) is Slots:
            where, name = root(where, name)
        old = where.get(name)
        if isinstance(old, Reference):
            forget_cells(m, old.cells, span)
        elif isinstance(old, Object):
            lose(m, old, str(name), span)
        elif isinstance(old, (Address, ObjectPointer, Closure)):
            forgotten(m, old)
            m.journal.set(where, name, Unknown(f"`{name}` may point elsewhere", span))
        elif isinstance(old, Elements) and old and all(isinstance(v, Pointer) for v in old):
            others = (Pointer(f"{name}#{m.number()}", "unknown", v.type) for v in old)
            m.journal.set(where, name, like(old, others))  # that point elsewhere
        elif isinstance(old, Elements) and old and all(isinstance(v, TensorVal) and v.pointer is not None for v in old):
            m.journal.set(where, name, like(old, (_moved(v, name, span) for v in old)))
        elif isinstance(old, tuple) and old and not _of_numbers(old):
            forgotten(m, old)
            m.journal.set(where, name, Unknown(f"`{name}` may have been written", span))
        elif isinstance(old, TensorVal):
            if old.pointer is not None:
                m.journal.set(where, name, _moved(old, name, span))
        elif old is not None:
            made = m.made
            m.journal.set(where, name, forget(m, old, str(name), ex.ANY, span, m.apart))
            m.lose_since(made)


def _of_numbers(value: Value) -> bool:
    if isinstance(value, tuple):
        return all(map(_of_numbers, value))
    return isinstance(value, (Scalar, int, Dyn, Sym)) and not isinstance(value, bool)


def _moved(tensor: TensorVal, name: str, span: Span) -> TensorVal:
    from dataclasses import replace

    assert tensor.pointer is not None
    return replace(tensor, pointer=replace(tensor.pointer, offset=Unknown(f"`{name}` may have been moved", span)))


def lose(m: Machine, obj: Object, name: str, span: Span, depth: int = 0) -> None:
    """Every number that an object holds may be any other, in place."""
    if obj.pointer is not None or depth > DEPTH:
        return
    from cutecheck.source.eval import answers, classes

    answers.forget(m, obj)
    for _, decl in classes.fields(m, obj.cls):
        value = classes.get_field(m, obj, decl.name, span)
        if isinstance(value, Object):
            lose(m, value, f"{name}.{decl.name}", span, depth + 1)
        elif not isinstance(value, (Unknown, Pointer)):
            forget_cells(m, cells_of(obj.fields, decl.name), span)


@contextmanager
def by_threads(m: Machine, varying: bool = True) -> Iterator[None]:
    """Something is written that is not followed: in a kernel each thread may have written something else."""
    before, m.apart = m.apart, m.apart or (varying and m.recorder.in_kernel())
    try:
        yield
    finally:
        m.apart = before


def lost(m: Machine, node: ir.Expr, env: Env) -> None:
    """Something is written that is not followed: what is named may have changed, and all that is pointed at."""
    with by_threads(m):
        _lost(m, node, env)


def _lost(m: Machine, node: ir.Expr, env: Env) -> None:
    array = _own_array(m, node, env) if isinstance(node, ir.Index) else None
    if array is not None:
        lost_under(m, array, node.span, _within)
        return
    if m.leaked:
        lost_leaked(m, node.span)
    if isinstance(node, ir.Unary) and node.op == "*":
        pointer = m.eval(node.operand, env)
        if not isinstance(pointer, (Pointer, Object)):
            lost_pointed(m, node.span)
        lost_under(m, pointer, node.span)
        return
    if isinstance(node, ir.Select):
        for part in (node.then, node.other):
            cells = again(m, part, env)
            if cells is not None:
                forget_cells(m, cells, node.span)
            else:
                lost(m, part, env)
    elif isinstance(node, (ir.Index, ir.Attr)):
        base = base_of(m, node.base, env)
        own = _variable_at(base, env) if isinstance(node, ir.Index) else None
        if own is not None:  # whatever type its address was cast to, all elements are in it
            lose(m, own, own.cls.name, node.span)
            return
        if isinstance(base, (Unknown, Address, ObjectPointer, Scalar)):
            lost_pointed(m, node.span)
        lost_under(m, base, node.span)
        lost_part(m, node.base, env)
    elif isinstance(node, ir.Call) and quiet(node.fn):
        fn = m.eval(node.fn, env)
        lost_under(m, fn, node.span)
        if isinstance(fn, FuncSet) and fn.self_ is not None:
            lose(m, fn.self_, fn.self_.cls.name, node.span)
        if isinstance(fn, (FuncSet, Closure, Unknown)):
            lost_pointed(m, node.span)
        if not isinstance(fn, (TensorVal, Pointer, Object)):
            for a in node.args:
                lost_part(m, a.value, env)
        if isinstance(node.fn, ir.Attr):
            lost_part(m, node.fn.base, env)
    elif isinstance(node, (ir.Binary, ir.Opaque)):
        for name in node.names if isinstance(node, ir.Opaque) else names_in(node):
            cells = named(m, name, env)
            if cells is not None and not isinstance(read(m, cells), (TensorVal, Pointer, FuncSet, Closure)):
                forget_cells(m, cells, node.span)


def _own_array(m: Machine, node: ir.Index, env: Env) -> Pointer | None:
    """The array of numbers that an element is of, a member of an object here: nothing else lies there, and none of its
    elements is followed."""
    base = node.base
    while isinstance(base, ir.Index):
        base = base.base
    if not m.dialect.by_value or not isinstance(base, ir.Name) or base.targs is not None:
        return None
    this = self_of(env) if env.find_var(base.ident) is None else None
    if not isinstance(this, Object) or this.pointer is not None:
        return None
    held, typed = this.fields.get(base.ident), array_members.of_member(m, base, env)
    if not isinstance(held, Pointer) or not isinstance(typed, ArrayType) or not isinstance(typed.extent, int):
        return None
    while isinstance(typed, ArrayType):
        typed = typed.inner
    return held if isinstance(typed, ScalarType) else None


def _variable_at(pointer: Value, env: Env) -> Object | None:
    """The variable of the function that a pointer points to: no other is reached from it."""
    at: Env | None = env if isinstance(pointer, ObjectPointer) else None
    while at is not None and at.kind not in ("class", "namespace"):
        if any(value is pointer.to for value in at.vars.values()):
            found: Object = pointer.to
            return found
        at = at.parent
    return None


def lost_part(m: Machine, node: ir.Expr, env: Env) -> None:
    """Forget a variable that an expression names, but for tensors, whose elements are not known anyway."""
    while isinstance(node, ir.Index):
        node = node.base
    cells = again(m, node, env)
    if cells is not None and not isinstance(read(m, cells), (TensorVal, Pointer, FuncSet, Closure)):
        forget_cells(m, cells, node.span)


def untracked(m: Machine, where: dict[Any, Any], name: Any, value: Value, span: Span) -> None:
    """A value is written to what is not followed: neither it nor what was there is known afterwards."""
    leak(m, value)
    with by_threads(m):
        lost_leaked(m, span)
        m.journal.set(where, name, anything(m, value, str(name), span))
        if isinstance(where, Seen):
            lost_seen(m, where, span)


def to_some(m: Machine, where: Slots, value: Value, span: Span) -> None:
    """An element of an array is written; which of them it is may differ from thread to thread."""
    leak(m, value)
    cell = root(where, None)
    whole = cell[0].get(cell[1])
    if _all_scalars(whole):
        m.journal.set(*cell, _any_scalars(m, whole))
    else:
        forget_cells(m, (cell,), span)


def _all_scalars(value: Value) -> bool:
    return all(map(_all_scalars, value)) if isinstance(value, Elements) else isinstance(value, Scalar)


def _any_scalars(m: Machine, value: Value) -> Value:
    """Any numbers, in each thread others."""
    if isinstance(value, Elements):
        return like(value, (_any_scalars(m, v) for v in value))
    number = isinstance(value, Scalar) and value.ctype in INTEGERS and value.ctype != "bool"
    return Scalar(some(m, "element", whole_domain_of(value.ctype), True) if number else None, value.ctype)


def lost_seen(m: Machine, written: Seen | None, span: Span) -> None:
    """A member of an object behind a pointer was written (None: any of an array's elements): so may others be."""
    for obj in m.seen:
        for name, value in tuple(obj.fields.items()):
            if isinstance(value, Scalar) and obj.fields is not written:
                forget_cells(m, ((obj.fields, name),), span)


def reaches_members(m: Machine, written: Value) -> bool:
    """Whether an element of this may be a member of an object behind a pointer."""
    if not m.seen or not isinstance(written, (Pointer, TensorVal)):
        return False
    if isinstance(written, TensorVal):
        return written.pointer is not None and written.dtype is not None and written.dtype.name in INTEGERS
    return isinstance(written.type, ScalarType) and written.type.dtype.name in INTEGERS


def lost_under(
    m: Machine, written: Value, span: Span, reaches: Callable[[Pointer, Pointer], bool] | None = None
) -> None:
    """An element behind a pointer or of a tensor is written: members of its type may lie there, of objects behind
    other pointers to the same memory."""
    if not reaches_members(m, written):
        return
    pointer = written if isinstance(written, Pointer) else written.pointer
    dtype = written.type.dtype if isinstance(written, Pointer) else written.dtype
    reaches = _overlap if reaches is None else reaches
    for obj in m.seen:
        if obj.pointer is None or not reaches(pointer, obj.pointer):
            continue
        for name, value in tuple(obj.fields.items()):
            if isinstance(value, Scalar) and value.value is not None and _alias(dtype.name, value.ctype):
                forget_cells(m, ((obj.fields, name),), span)


def _overlap(a: Pointer, b: Pointer) -> bool:
    """Whether two pointers may lead to the same bytes; what is below one of them by name is a member of its own."""
    if a.space in ("smem", "rmem") or (b.space in ("smem", "rmem") and a.space != "unknown"):
        return a.buffer == b.buffer
    return not a.buffer.startswith(f"{b.buffer}.")


def _within(array: Pointer, other: Pointer) -> bool:
    """Whether a pointer leads into an array that is known as a whole."""
    return other.buffer == array.buffer or other.buffer.startswith(f"{array.buffer}.")


def _alias(written: str, read: str) -> bool:
    """Whether a member of one integer type may be written as another: of as many bits, or as characters."""
    bits = INTEGERS[written][0]
    return bits == _CHARACTER or (read in INTEGERS and INTEGERS[read][0] == bits)


def anything(m: Machine, value: Value, name: str, span: Span) -> Value:
    """Any value of the type of this one."""
    from cutecheck.source.eval.statements.havoc import forget

    if isinstance(value, (Address, ObjectPointer, Closure)):
        return Unknown(f"`{name}` is not followed", span)
    return value if isinstance(value, (Object, Pointer)) else forget(m, value, name, ex.ANY, span)


def lost_pointed(m: Machine, span: Span) -> None:
    """Something is written through a pointer or reference that is not known."""
    for cell in tuple(m.addressed.values()):
        if isinstance(cell[0], Seen) and isinstance(old := cell[0].get(cell[1]), Scalar):
            _lose_number(m, cell, old)
        else:
            forget_cells(m, (cell,), span)
    for obj in tuple(m.pointed.values()):
        lose(m, obj, obj.cls.name, span)
    lost_leaked(m, span)


def lost_through(m: Machine, value: Value, span: Span) -> None:
    """What a value leads to may be written, by way of one another."""
    todo, seen = [*led_to(value)], set()
    while todo:
        place = todo.pop()
        held = place if isinstance(place, Object) else place[0].get(place[1])
        key = id(place) if isinstance(place, Object) else (id(place[0]), place[1])
        if key not in seen:
            seen.add(key)
            todo += led_to(held)
            _lose_place(m, place, span)


def lost_leaked(m: Machine, span: Span) -> None:
    """Something is written through a pointer that comes from where pointers are not followed."""
    if not m.leaked:
        return
    places = all_leaked(m)
    m.budget.used += len(places) // _PLACES_A_STEP
    for place in places:
        _lose_place(m, place, span)


def _lose_place(m: Machine, place: Place, span: Span) -> None:
    if isinstance(place, Object):
        lose(m, place, place.cls.name, span)
    elif isinstance(old := place[0].get(place[1]), Scalar) and isinstance(place[0], Seen):
        _lose_number(m, place, old)
    elif isinstance(old, Pointer):
        if not isinstance(old.type, ArrayType):  # which is the array itself
            other = Pointer(f"{place[1]}#{m.number()}", "unknown", old.type)
            m.journal.set(*place, other)
    else:
        forget_cells(m, (place,), span)


def _lose_number(m: Machine, cell: tuple[dict[str, Value], str], old: Scalar) -> None:
    """Of an object behind a pointer: another number each time that it is read, so need it not be lost again."""
    if old.value is not None:
        m.journal.set(*cell, Scalar(None, old.ctype))
