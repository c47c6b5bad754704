"""What is left of a value of the DSL that a loop changes, and what two branches make of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.expr import ANY, Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.source.dsl import cute_values, functions
from cutecheck.source.dsl.classes import MERGED, find
from cutecheck.source.eval import ir
from cutecheck.source.eval.containers import Holding, Shared
from cutecheck.source.eval.containers import joined as held_by_either
from cutecheck.source.eval.dialect import MISSING, Dialect
from cutecheck.source.eval.statements.havoc import forget
from cutecheck.source.eval.statements.joins import cover, join
from cutecheck.source.eval.threads import varies
from cutecheck.source.eval.undetermined import decides, undetermined
from cutecheck.source.eval.values import Extern, Object, Scalar, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_NESTED = 16  # objects in one another; beyond that they hold themselves


class Merging(Dialect):
    """The part of the dialect for loops and branches."""

    def __init__(self) -> None:
        self._copies: dict[tuple[int, ...], Object] | None = None

    def forgotten(self, m: Machine, old: Value, name: str, span: Span) -> Value | None:
        if isinstance(old, bool):
            return Scalar(None, "bool")
        if isinstance(old, float):
            return Scalar(None, "float")
        if isinstance(old, (int, Dyn)) and not functions.in_device_body(m):
            return undetermined(m, str(name))
        if isinstance(old, tuple):
            return tuple(None if v is None else forget(m, v, name, ANY, span) for v in old)
        if isinstance(old, TensorVal):
            return cute_values.moved_in_loop(m, old, name)
        if isinstance(old, (TiledMMA, TiledCopy, MMAAtom, CopyAtom)) and functions.in_device_body(m):
            return old  # the DSL refuses a loop that changes the type of a value, and theirs says all
        name = str(name)  # of an item of a dictionary its key
        if isinstance(old, Object) and name.count(".") > _NESTED:
            return Unknown(f"`{name.split('.', maxsplit=1)[0]}` holds itself and changes in a loop", span)
        if isinstance(old, Object):
            with self._once((id(old),), Object(old.cls, {}, old.pointer, old.name)) as (new, first):
                if first:
                    m.budget.used += 1
                    new.fields.update({k: forget(m, v, f"{name}.{k}", ANY, span) for k, v in old.fields.items()})
                return new
        return None

    @contextmanager
    def _once(self, of: tuple[int, ...], new: Object) -> Iterator[tuple[Object, bool]]:
        """Objects that one value holds in several places become one object: its copy, and whether it is new."""
        outer = self._copies
        self._copies = copies = {} if outer is None else outer
        try:
            first = of not in copies
            yield copies.setdefault(of, new), first
        finally:
            self._copies = outer

    def missing(self, value: Value) -> bool:
        return value is MISSING

    def settles(self, m: Machine) -> bool:
        return functions.in_device_body(m)

    def taken(self, m: Machine, asked: ir.Expr, cond: Value, ends: Sequence[tuple[Value, Value]]) -> int | None:
        """The one that needs nothing of a library that is not read, where host code asks whether such a one gave it.

        Both have been walked; what comes after is walked for the program's own choice (a default configuration where
        no file or heuristic has one), not for neither.
        """
        if functions.in_device_body(m) or not _asks_for_foreign(asked, cond):
            return None
        own = [i for i in (0, 1) if any(isinstance(e[1 - i], Extern) and _is_own(e[i]) for e in ends)]
        return own[0] if len(own) == 1 else None

    def joined(self, m: Machine, a: Value, b: Value, what: str, span: Span, cond: Value, varying: bool) -> Value | None:
        number = (int, float, Dyn, Scalar)
        if isinstance(a, (bool, Scalar)) and isinstance(b, (bool, Scalar)):
            return Scalar(None, "bool" if isinstance(a, bool) or isinstance(b, bool) else a.ctype)
        if isinstance(a, (int, Dyn)) and isinstance(b, (int, Dyn)):
            by_python = not functions.in_device_body(m) or decides(cond)
            if by_python and not varies(a) and not varies(b):
                if isinstance(a, int) and isinstance(b, int):
                    return undetermined(m, what, Domain(values=tuple(sorted({a, b}))))
                return undetermined(m, what)
            return cover(m, a, b, what, span, static=False, varying=varying)
        if isinstance(a, number) and isinstance(b, number):
            return Scalar(None, "float")
        if isinstance(a, (list, dict, Shared)) or isinstance(b, (list, dict, Shared)):
            return Shared.of((a, b), f"{what} depends on a condition that is not known", span)
        if isinstance(a, Holding) and isinstance(b, Holding):
            why = Unknown("what this holds depends on a condition that is not known", span)
            return held_by_either(a, b, lambda x, y: join(m, x, y, what, span, cond, varying), why)
        if isinstance(a, Object) and isinstance(b, Object) and a.cls is b.cls:
            # the DSL makes a new object of the values that leave a branch
            pointer = a.pointer if a.pointer == b.pointer else None
            with self._once((id(a), id(b)), Object(a.cls, {}, pointer, a.name)) as (new, first):
                if first:
                    m.budget.used += 1
                    if not functions.in_device_body(m):
                        m.functions.setdefault(MERGED, {})[id(new)] = (new, a, b)
                    for k in dict.fromkeys((*a.fields, *b.fields)):
                        one, other = (_field(o, k, span) for o in (a, b))
                        new.fields[k] = join(m, one, other, f"{what}.{k}", span, cond, varying)
                return new
        return None


def _asks_for_foreign(asked: ir.Expr, cond: Value) -> bool:
    """``value is None``, ``not value``, ``exists(...)``: of a comparison the outcome may follow from the values."""
    if isinstance(asked, ir.Unary) and asked.op in ("!", "not"):
        asked = asked.operand
    if isinstance(asked, ir.Binary):
        nothing = isinstance(asked.right, ir.Lit) and asked.right.value is None
        return nothing and asked.op in ("is", "is not") and isinstance(cond, (Extern, Scalar))
    return isinstance(asked, (ir.Name, ir.Attr, ir.Call)) and isinstance(cond, Extern)


def _is_own(value: Value) -> bool:
    return value is not None and value is not MISSING and not isinstance(value, (Unknown, Extern))


def _field(obj: Object, name: str, span: Span) -> Value:
    """A field as its object or class has it; unknown where one of two branches alone sets it."""
    if name in obj.fields:
        return obj.fields[name]
    found = find(obj.cls, name)
    return found if found is not None else Unknown(f"`{name}` is set under a condition that is not known", span)
