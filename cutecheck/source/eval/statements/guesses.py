"""What a loop changes, guessed from what it changed when it was settled before: in another pass around it, or instance.

A right guess saves a rehearsal, a wrong one costs one: what a loop changes is what its rehearsals show, either way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span
from cutecheck.model.ints import Int
from cutecheck.records import record
from cutecheck.source.eval.scope import Env, self_of
from cutecheck.source.eval.statements.numbers import Numbers, combine, same
from cutecheck.source.eval.values import Object, Reference, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_VISITED = 500  # objects that are looked through for a changed field
_DEEP = 6  # fields in fields
_AGAIN = "'"  # and how often a name was met so far

Path = tuple[str, ...]  # a variable, then fields of objects
Place = tuple[dict[Any, Any], Any]


@record(frozen=True, slots=True)
class Guess:
    """A cell that a loop changed, by where it is found from the loop, and the names of the integers in it that did.

    Those of one name, as the integers of a tensor's pointer and offset are, are told apart by their order.
    """

    path: Path
    numbers: frozenset[str]


def place(env: Env, path: Path) -> Place | None:
    """The cell that a path leads to now."""
    at = env.find_var(path[0])
    if at is None and path[0] != "this":
        return None
    where: Place = ({"this": self_of(env)} if at is None else at.vars, path[0])
    for name in path[1:]:
        value = where[0].get(where[1])
        if isinstance(value, Reference) and len(value.cells) == 1:
            where = value.cells[0]
            value = where[0].get(where[1])
        if not isinstance(value, Object):
            return None
        where = (value.fields, name)
    value = where[0].get(where[1])
    if isinstance(value, Reference):
        return value.cells[0] if len(value.cells) == 1 else None
    return where


def guess(
    m: Machine, env: Env, cells: Sequence[tuple[dict[str, Any], str, Value, Value]], span: Span
) -> tuple[Guess, ...]:
    """Guesses for cells, each with its value before the loop and after an iteration, of which integers alone differ."""
    wanted = {(id(where), name) for where, name, _, _ in cells}
    paths = dict(_paths(env, wanted))
    found = []
    for where, name, old, new in cells:
        path = paths.get((id(where), name))
        if path is None:
            continue
        numbers = changed_numbers(m, old, old, (new,), name, span)
        if numbers and changes_just(m, old, (new,), numbers, name, span):
            found.append(Guess(path, numbers))
    return tuple(found)


def changes_just(
    m: Machine, before: Value, afters: Sequence[Value], numbers: frozenset[str], name: str, span: Span
) -> bool:
    """Whether an iteration changes nothing else of a value."""
    exact = combine(m, _zero, before, before, afters, name, span)
    return same(exact, masked(m, _zero, before, numbers, name, span))


class _Names:
    """Names for the integers of one value, in the order in which they are met."""

    def __init__(self) -> None:
        self._met: Counter[str] = Counter()

    def __call__(self, at: str) -> str:
        self._met[at] += 1
        return at if self._met[at] == 1 else f"{at}{_AGAIN}{self._met[at]}"


def masked(m: Machine, f: Numbers, value: Value, numbers: frozenset[str], name: str, span: Span) -> Value:
    """The value with ``f`` of some of its integers."""

    own = _Names()

    def some(start: Int, before: Int, afters: Sequence[Int], at: str) -> Int:
        return f(start, before, afters, at) if own(at) in numbers else start

    return combine(m, some, value, value, (value,), name, span, whole=True)


def changed_numbers(
    m: Machine, start: Value, before: Value, afters: Sequence[Value], name: str, span: Span
) -> frozenset[str]:
    """The names of the integers in a value that differ from one iteration to another."""
    names: set[str] = set()
    own = _Names()

    def note(start: Int, before: Int, afters: Sequence[Int], at: str) -> Int:
        key = own(at)
        if any(not same(before, a) for a in afters):
            names.add(key)
        return 0

    combine(m, note, start, before, afters, name, span, whole=True)
    return frozenset(names)


def share_a_name(m: Machine, value: Value, name: str, span: Span) -> bool:
    """Whether some integers of a value are told apart by their order alone, which another structure changes."""
    names: list[str] = []

    def note(start: Int, before: Int, afters: Sequence[Int], at: str) -> Int:
        names.append(at)
        return start

    combine(m, note, value, value, (value,), name, span, whole=True)
    return len(names) > len(set(names))


def _zero(start: Int, before: Int, afters: Sequence[Int], name: str) -> Int:
    return 0


def _paths(env: Env, wanted: set[tuple[int, str]]) -> Iterator[tuple[tuple[int, str], Path]]:
    """Paths from the variables in sight to cells."""
    left = set(wanted)
    todo: list[tuple[Path, Mapping[str, Any]]] = []
    seen: set[int] = set()
    at: Env | None = env
    hidden: set[str] = set()
    while at is not None and at.kind not in ("class", "namespace"):
        for name, value in at.vars.items():
            if name in hidden:
                continue
            hidden.add(name)
            if (id(at.vars), name) in left:
                left.discard((id(at.vars), name))
                yield (id(at.vars), name), (name,)
            if isinstance(value, Reference) and len(value.cells) == 1:
                where, key = value.cells[0]
                if (id(where), key) in left:
                    left.discard((id(where), key))
                    yield (id(where), key), (name,)
                value = where.get(key)
            if isinstance(value, Object):
                todo.append(((name,), value.fields))
        at = at.parent
    if (this := self_of(env)) is not None:
        todo.append((("this",), this.fields))
    position = 0
    while left and position < len(todo) and position < _VISITED:
        path, fields = todo[position]
        position += 1
        if id(fields) in seen or len(path) > _DEEP:
            continue
        seen.add(id(fields))
        for name, value in fields.items():
            if (id(fields), name) in left:
                left.discard((id(fields), name))
                yield (id(fields), name), (*path, name)
            if isinstance(value, Reference) and len(value.cells) == 1:
                where, key = value.cells[0]
                value = where.get(key)
            if isinstance(value, Object):
                todo.append(((*path, name), value.fields))
