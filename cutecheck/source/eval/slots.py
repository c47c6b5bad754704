"""Elements of arrays as places of their own: what references to them stand for and pointers to them lead to."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.eval.held_fields import Apart, Seen, Settled
from cutecheck.source.eval.tuples import Constants, Elements, like
from cutecheck.source.eval.values import Address, Cell, Pointer, Scalar, Value, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

Cells = tuple[Cell, ...]
_NO_ELEMENT = "no element of this array, or one that is not known"


class Slots(dict[Any, Any]):
    """The elements of an array that a variable or member holds, by their numbers.

    Reading one reads the array; what the journal writes to one it writes to the array, so that nobody else keeps them.
    """

    __slots__ = ("inner", "name", "where")

    def __init__(self, where: dict[Any, Any], name: Any) -> None:
        super().__init__()
        self.where = where
        self.name = name
        self.inner: dict[Any, Slots] = {}  # of elements that are arrays

    def get(self, key: Any, default: Any = None) -> Any:
        whole = self.where.get(self.name)
        if type(key) is int and isinstance(whole, tuple) and 0 <= key < len(whole):
            return whole[key]
        return Unknown(_NO_ELEMENT, None)

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __contains__(self, key: Any) -> bool:
        return True

    def changed(self, key: Any, value: Any) -> Any:
        """The array with another element; not known where it is none of its elements."""
        whole = self.where.get(self.name)
        if type(key) is not int or not isinstance(whole, tuple) or not 0 <= key < len(whole):
            return Unknown(_NO_ELEMENT, None)
        return like(whole, (*whole[:key], value, *whole[key + 1 :]))


def root(where: dict[Any, Any], name: Any) -> Cell:
    """The variable or member that holds the array whose element a cell is; the cell itself where it is none."""
    while isinstance(where, Slots):
        name, where = where.name, where.where
    return where, name


def written(where: dict[Any, Any], name: Any, value: Any) -> tuple[dict[Any, Any], Any, Any]:
    """The variable or member that holds the array whose element is written, and what it holds then."""
    while isinstance(where, Slots):
        value = where.changed(name, value)
        name, where = where.name, where.where
    return where, name, value


def of_array(where: dict[Any, Any]) -> list[Any]:
    """The names of the array that elements are of, and of those that it is an element of: outermost first."""
    names: list[Any] = []
    while isinstance(where, Slots):
        names = [where.name, *names]
        where = where.where
    return names


def roots(cells: Cells) -> Cells:
    return cells if all(type(where) is not Slots for where, _ in cells) else tuple(root(*cell) for cell in cells)


def slots(m: Machine, cells: Cells | None) -> Slots | None:
    """The elements of the array that a cell holds; None where it holds none, or one that is not followed."""
    if cells is None or len(cells) != 1:
        return None
    where, name = cells[0]
    whole = where.get(name)
    if type(where) in (Apart, Seen, Settled) or not isinstance(whole, Elements) or isinstance(whole, Constants):
        return None
    known = where.inner if type(where) is Slots else m.slots.setdefault(id(where), {})
    found = known.get(name)
    if found is None:
        found = known[name] = Slots(where, name)
    return found


def element(m: Machine, cells: Cells | None, index: Value) -> Cells | None:
    """The cell of an element of the array in a cell."""
    of = slots(m, cells)
    return None if of is None else ((of, _number(m, index)),)


def part(m: Machine, cells: Cells | None, index: Value) -> Cells | None:
    """The cell of a tuple's element: ``get<1>(tensors)``."""
    if cells is None or len(cells) != 1:
        return None
    where, name = cells[0]
    whole, n = where.get(name), constant(index)
    if type(where) in (Apart, Seen, Settled, Slots) or type(whole) is not tuple or n is None or n >= len(whole):
        return None
    of = m.slots.setdefault(id(where), {})
    return ((of.setdefault(name, Slots(where, name)), n),)


def is_address(value: Value) -> bool:
    """A pointer to elements of arrays."""
    return isinstance(value, Address) and all(type(where) is Slots for where, _ in value.cells)


def moved(m: Machine, pointer: Address, by: Value, span: Span) -> Value:
    """``pointer + by``."""
    n = _number(m, by)
    if n == 0 and type(n) is int:
        return pointer
    if not is_address(pointer) or isinstance(n, Unknown):
        return Unknown("arithmetic on an address", span)
    if any(isinstance(at, Unknown) for _, at in pointer.cells):
        return Unknown("arithmetic on an address", span)
    return Address(tuple((where, at + n) for where, at in pointer.cells))


def compared(op: str, left: Address, right: Address) -> Value | None:
    """``p - q``, ``p < q`` ... of pointers to elements of one array; None where it is not known which those are."""
    if len(left.cells) != 1 or len(right.cells) != 1 or left.cells[0][0] is not right.cells[0][0]:
        return None
    a, b = left.cells[0][1], right.cells[0][1]
    if type(left.cells[0][0]) is not Slots or type(a) is not int or type(b) is not int:
        return None
    if op == "-":
        return Scalar(a - b, "long")
    answers = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    return Scalar(int(answers[op]), "bool") if op in answers else None


def one_of_pointers(m: Machine, array: Value, index: Any) -> Pointer | None:
    """An element of an array of pointers, at an index that is not constant: ``stages[i % 4]`` of those to 4 buffers."""
    pointers = [p for p in array if isinstance(p, Pointer)] if isinstance(array, Elements) else []
    if not isinstance(array, Elements) or len(pointers) != len(array) or not isinstance(index, (Dyn, Sym)):
        return None
    first, *rest = pointers
    if any(p.type is not first.type and p.type != first.type for p in rest):
        return None
    alike = all((p.buffer, p.space, p.swizzle) == (first.buffer, first.space, first.swizzle) for p in rest)
    offsets = [p.offset for p in pointers if not isinstance(p.offset, Unknown)]
    if alike and len(offsets) == len(pointers) > 1:
        begin, step = as_expr(offsets[0]), ex.sub(as_expr(offsets[1]), as_expr(offsets[0]))
        at = [ex.add(begin, ex.mul(step, ex.const(i))) for i in range(len(offsets))]
        if all(as_expr(o) == a for o, a in zip(offsets, at, strict=True)):
            aligned = [p.align for p in pointers if p.align is not None]
            align = gcd(*aligned) if len(aligned) == len(pointers) else None
            moved = ex.add(begin, ex.mul(step, as_expr(index)))
            return replace(first, offset=Dyn(moved) if moved.constant is None else moved.constant, align=align)
    return Pointer(f"*{PER_THREAD}{m.number()}", "unknown", first.type)


def _number(m: Machine, index: Value) -> Any:
    """An index as cells are named by it."""
    number = constant(index)
    if number is not None:
        return number
    made = m.dialect.to_model(index)
    return made if isinstance(made, (Dyn, Sym)) else Unknown("an index that is not known", None)
