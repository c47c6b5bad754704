"""Blocks of several dimensions: the indices of a thread as functions of its place in the block, by which warps are cut.

The hardware numbers threads along x first; 32 consecutive numbers are a warp. Rules take ``threadIdx.x`` as that
number, which it is in a block of one dimension. Where the block has several, facts are restated over the number before
any rule sees them; where its shape is not known and y or z are used, each index is a variable of each thread its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from cutecheck.facts import Facts
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.ints import Condition, Dyn, Sym
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.model.prove.properties import THREAD
from cutecheck.records import field_names, record

Extents = tuple["int | None", ...]

_AXES = tuple(f"threadIdx.{axis}" for axis in "xyz")
_SHAPE = tuple(f"blockDim.{axis}" for axis in "xyz")
_OF_THREADS, _NONE = frozenset((*_AXES, *_SHAPE)), frozenset[str]()
_LOST = f" of a block of unknown shape{PER_THREAD}"


def several(block: Extents) -> bool:
    """The block may have more than one thread along y or z."""
    return any(extent != 1 for extent in block[1:])


@record(frozen=True, slots=True)
class Place:
    """What the indices of a thread are in a block: ``exact`` by its number, ``joined`` where x, y and z are one sum."""

    exact: Mapping[str, Expr]
    joined: Mapping[str, Expr]

    def of(self, e: Expr) -> Expr:
        names = {v.name for v in e.variables()}
        if not names & self.exact.keys():
            return e
        whole = e.substitute(self.joined)
        if any(v.name in _AXES[1:] for v in whole.variables()):
            whole = e.substitute(self.exact)
        return whole


def place(block: Extents, used: Iterable[str]) -> Place | None:
    """The place of threads in a block of these extents (empty: not known) whose facts use these variables.

    None where the indices are what rules take them for.
    """
    names = _OF_THREADS.intersection(used)
    if not names or (not block and names <= {THREAD, *_SHAPE}):
        return None
    x, y, z = (*block, 1, 1, 1)[:3] if block else (None, None, None)
    shape = {name: ex.const(size) for name, size in zip(_SHAPE, (x, y, z), strict=True) if size is not None}
    if block and not several(block):
        return Place({**shape, **dict.fromkeys(_AXES[1:], ex.const(0))}, shape)
    number = ex.var(THREAD, Domain(0, x * y * z - 1 if x and y and z else 1023))
    found = {name: ex.var(name + _LOST, Domain(0)) for name in _AXES}
    joined: dict[str, Expr] = {}
    if x is not None:
        found[_AXES[0]] = ex.op("mod", number, ex.const(x))
        rows = ex.op("div", number, ex.const(x))
        if z == 1:
            found[_AXES[1]] = rows
        elif y is not None:
            found[_AXES[1]] = ex.op("mod", rows, ex.const(y))
        if y is not None:
            found[_AXES[2]] = ex.op("div", number, ex.const(x * y))
            up, on = ex.var(_AXES[1], Domain(0, y - 1)), ex.var(_AXES[2], Domain(0, 63 if z is None else z - 1))
            before = ex.add(ex.mul(ex.const(x), up), ex.mul(ex.const(x * y), on))
            joined = {**shape, _AXES[0]: ex.sub(number, before)}
        found |= {name: ex.const(0) for name, size in zip(_AXES, (x, y, z), strict=True) if size == 1}
        joined |= {name: ex.const(0) for name, size in zip(_AXES[1:], (y, z), strict=True) if size == 1 and joined}
    return Place({**shape, **found}, joined or {**shape, **found})


class _Placing:
    """Restates the thread indices in facts; which parts have some is found once a part."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, frozenset[str]]] = {}  # a part that is kept alive, and its names

    def restated(self, fact: Any, block: Extents) -> Any:
        at = place(block, self._names(fact))
        return fact if at is None else self.placed(fact, at)

    def placed(self, value: Any, at: Place) -> Any:
        if isinstance(value, Expr):
            return at.of(value)
        if isinstance(value, (Dyn, Sym)):
            changed = at.of(value.expr)
            return value if changed is value.expr else (Sym if isinstance(value, Sym) else Dyn)(changed)
        if self._names(value).isdisjoint(at.exact):
            return value
        if isinstance(value, tuple):
            return tuple(self.placed(item, at) for item in value)
        return replace(value, **{f.name: self.placed(getattr(value, f.name), at) for f in fields(value) if f.init})

    def _names(self, value: Any) -> frozenset[str]:
        """The indices of threads and extents of blocks in a part of a fact."""
        if isinstance(value, Expr):
            return _OF_THREADS.intersection([v.name for v in value.variables()])
        parts = value if isinstance(value, tuple) else [getattr(value, name) for name in field_names(type(value))]
        if not parts:
            return _NONE
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = (value, _NONE.union(*map(self._names, parts)))
        return known[1]


def by_number(facts: Facts) -> Facts:
    """The facts with ``threadIdx.x`` the number of a thread in its block, whatever the block's shape."""
    placing = _Placing()
    events = tuple(placing.restated(event, event.block) for event in facts.events)
    predicates = tuple(placing.restated(p, p.block) for p in facts.predicates)
    calls = tuple(placing.restated(call, call.block) if call.block else call for call in facts.calls)
    pairs = zip((*events, *predicates, *calls), (*facts.events, *facts.predicates, *facts.calls), strict=True)
    return facts if all(a is b for a, b in pairs) else replace(facts, events=events, predicates=predicates, calls=calls)


def numbered(condition: Condition, block: Extents) -> Condition:
    """A condition on ``threadIdx.x`` as one on the number of the thread."""
    at = place(block, (THREAD,)) if several(block) else None
    return condition if at is None else replace(condition, lhs=at.of(condition.lhs), rhs=at.of(condition.rhs))
