"""Lists, sets, dictionaries and the containers of ``collections``: their methods, items written and deleted.

What is written goes through :func:`cutecheck.source.eval.containers.changes`, so that branches and loops undo and join
it; a container of which it is not known what it holds stays so until it is cleared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Dyn, Sym
from cutecheck.source.dsl import protocol
from cutecheck.source.dsl.builtins import FUNCTIONS, builtin, sequence, unique
from cutecheck.source.dsl.equality import combined, contains, equal, subset
from cutecheck.source.dsl.flow import fails
from cutecheck.source.dsl.values import Defaults, Deque, Distinct, Enumerator, Environment, Table
from cutecheck.source.eval.containers import OPEN, Lost, Shared, changes, lose, unsure, written
from cutecheck.source.eval.values import Extern, Object, Scalar, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

MAX_ITEMS = 1 << 16


def uncertain(key: Value) -> bool:
    """Whether a key may be equal to another than those it is written like."""
    if isinstance(key, tuple):
        return any(map(uncertain, key))
    return isinstance(key, (Unknown, Extern, Scalar, Dyn, Sym, TensorVal, slice))


def own_key(m: Machine, table: Table, key: Value, span: Span) -> Value:
    """The key of a table that is equal to another, as records with equal fields are, and the members of an ``IntEnum``
    and numbers; else the other itself."""
    if isinstance(key, (int, str, Enumerator)) and key not in table:
        alike = (k for k in table if isinstance(k, Enumerator) or isinstance(key, Enumerator))
        return next((k for k in alike if isinstance(k, (int, str, Enumerator)) and equal(k, key)), key)
    if not isinstance(key, (Object, tuple)) or not len(table):
        return key
    for k in table:
        if type(k) is type(key) and k is not key:
            same = m.dialect.truth(m.dialect.operator(m, "==", k, key, span))
            if same is None:
                return Unknown("a key that may be equal to another", span)
            if same:
                return k
    return key


# -------------------------------------------------------------------- items


def get(m: Machine, table: Table, key: Value, span: Span) -> Value:
    """``table[key]``."""
    key = own_key(m, table, key, span)
    if key in table:
        return table[key]
    if OPEN in table or uncertain(key):
        return Shared.of(table.values(), "a key that is not known", span)
    if isinstance(table, Defaults) and table.factory is not None:
        from cutecheck.source.eval.calls import apply

        made = apply(m, table.factory, [], {}, span)
        put(m, table, key, made, span)
        return made
    if isinstance(table, Environment):  # a program that asks so is started with it
        return Unknown(f"the environment variable {key}", span)
    return fails(m, "KeyError", f"no key {key} in this dictionary", span)


def put(m: Machine, container: list[Value] | Table, key: Value, value: Value, span: Span) -> None:
    """``container[key] = value``."""
    if isinstance(container, dict):
        key = own_key(m, container, key, span)
        try:
            hash(key)
        except TypeError:
            lose(m, container, Unknown("a key that is not known was written", span))
            return
        changes(m, container)
        if uncertain(key) and len(container):
            lost = Lost("a key that is not known was written", span)
            container.update(dict.fromkeys(container, lost))
            container[OPEN] = lost
        container[key] = value
        return
    if unsure(container) is not None:
        return
    changes(m, container)
    if isinstance(key, int) and -len(container) <= key < len(container):
        container[key] = value
    elif isinstance(key, slice):
        items = sequence(m, value, span)
        if isinstance(items, Unknown):
            lose(m, container, items)
        else:
            container[key] = items
    else:
        container[:] = [Unknown("an item that is not known was written", span)] * len(container)


@builtin("del item")
def _delete(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``del container[key]``."""
    container, key = args[0], args[1]
    protocol.asked(m, container, "__delitem__", [key], span)
    written(m, container)
    if not isinstance(container, (list, dict)) or unsure(container) is not None:
        return None
    if uncertain(key) and not isinstance(key, slice):
        lose(m, container, Unknown("an item that is not known was deleted", span))
        return None
    changes(m, container)
    if isinstance(container, dict) and key not in container:
        return fails(m, "KeyError", f"no key {key} in this dictionary", span)
    del container[key]
    return None


# -------------------------------------------------------------------- lists, sets and deques


def _bounded(m: Machine, items: list[Value], more: list[Value], span: Span) -> Value:
    if len(items) + len(more) > MAX_ITEMS:
        return Unknown(f"a list of over {MAX_ITEMS} items", span)
    changes(m, items)
    items.extend(more)
    if isinstance(items, Deque) and items.most is not None:
        del items[: max(0, len(items) - items.most)]
    return None


def extend(m: Machine, items: list[Value], value: Value, span: Span) -> Value:
    """``items += value``, in place."""
    if unsure(items) is not None:
        return None
    more = sequence(m, value, span)
    if isinstance(more, Unknown):
        lose(m, items, more)
        return None
    return _bounded(m, items, list(more), span)


@builtin("list.append")
def _append(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return None if unsure(args[0]) is not None else _bounded(m, args[0], [args[1]], span)


@builtin("list.extend")
def _extend(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return extend(m, args[0], args[1], span)


@builtin("list.appendleft")
def _append_left(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if unsure(args[0]) is None:
        changes(m, args[0])
        args[0].insert(0, args[1])
        if isinstance(args[0], Deque) and args[0].most is not None:
            del args[0][args[0].most :]
    return None


def _in_place(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        items, given = args[0], args[1:]
        bad = unsure(items)
        if bad is not None and word != "clear":
            return bad
        if any(not isinstance(a, int) for a in given[:1]):
            lose(m, items, Unknown(f"`{word}` at an index that is not known", span))
            return Unknown("an item that is not known", span)
        changes(m, items)
        return getattr(items, word)(*given)

    FUNCTIONS[f"list.{word}"] = run


for _word in ("insert", "pop", "reverse", "clear"):
    _in_place(_word)


@builtin("list.popleft")
def _pop_left(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return FUNCTIONS["list.pop"](m, [args[0], 0], {}, span)


@builtin("list.remove", "list.discard")
def _remove(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    answers = [equal(x, args[1]) for x in args[0]]
    at = next((i for i, same in enumerate(answers) if same is not False), None)
    if at is None or unsure(args[0]) is not None:
        return None
    if answers[at] is None:
        lose(m, args[0], Unknown("which item was removed is not known", span))
        return None
    changes(m, args[0])
    del args[0][at]
    return None


def _found(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        answers = [equal(x, args[1]) for x in args[0]]
        if unsure(args[0]) is not None or None in answers:
            return Unknown("where this item is, is not known", span)
        return answers.index(True) if word == "index" else answers.count(True)

    for kind in ("list", "tuple"):
        FUNCTIONS[f"{kind}.{word}"] = run


_found("index")
_found("count")


@builtin("list.sort")
def _sort(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    made = FUNCTIONS["sorted"](m, [args[0]], kwargs, span)
    if unsure(args[0]) is None:
        changes(m, args[0])
        args[0][:] = [Unknown("an order that is not known", span)] * len(args[0]) if isinstance(made, Unknown) else made
    return None


@builtin("list.copy", "dict.copy", "copy.copy")
def _copy(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return copied(args[0])


def copied(v: Value) -> Value:
    """Another container of the same kind with the same items; an object of the same class with the same fields."""
    if isinstance(v, Defaults):
        return Defaults(v.factory, v)
    if isinstance(v, Deque):
        return Deque(v, v.most)
    if isinstance(v, Distinct):
        return Distinct(v)
    if isinstance(v, Object):
        return Object(v.cls, dict(v.fields), v.pointer, v.name)
    return list(v) if isinstance(v, list) else dict(v) if isinstance(v, dict) else v


@builtin("copy.deepcopy")
def _deep_copy(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    made: dict[int, Value] = {}

    def deep(v: Value) -> Value:
        if id(v) in made:
            return made[id(v)]
        if isinstance(v, tuple):
            return tuple(map(deep, v)) if type(v) is tuple else v
        if not isinstance(v, (list, dict, Object)):
            return v
        made[id(v)] = new = copied(v)
        if isinstance(new, list):
            new[:] = [deep(x) for x in new]
        elif isinstance(new, dict):
            new.update({k: deep(x) for k, x in new.items()})
        else:
            new.fields.update({k: deep(x) for k, x in new.fields.items()})
        return new

    return deep(args[0])


@builtin("list.add")
def _add(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    there = contains(args[1], args[0])
    if there is None:
        lose(m, args[0], Unknown("whether the set has this item is not known", span))
        return None
    return None if there else _bounded(m, args[0], [args[1]], span)


def _of_sets(word: str, op: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        out: Distinct | None = args[0]
        for other in args[1:]:
            items = sequence(m, other, span)
            if isinstance(items, Unknown) or out is None or unsure(out) is not None:
                return Unknown("a set that is not known", span)
            out = combined(op, out, unique(items))
        return Unknown("a set that is not known", span) if out is None else copied(out)

    def update(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        made = run(m, args, kwargs, span)
        if isinstance(made, Unknown):
            lose(m, args[0], made)
        else:
            changes(m, args[0])
            args[0][:] = made
        return None

    FUNCTIONS[f"list.{word}"] = run
    FUNCTIONS[f"list.{word}_update" if word != "union" else "list.update"] = update


_of_sets("union", "|")
_of_sets("intersection", "&")
_of_sets("difference", "-")
_of_sets("symmetric_difference", "^")


def _related(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        items = sequence(m, args[1], span)
        if isinstance(items, Unknown) or unsure(args[0]) is not None:
            return Scalar(None, "bool")
        other = unique(items)
        if word == "isdisjoint":
            answers = [contains(x, other) for x in args[0]]
            answer = False if True in answers else None if None in answers else True
        else:
            answer = subset(args[0], other) if word == "issubset" else subset(other, args[0])
        return Scalar(None, "bool") if answer is None else answer

    FUNCTIONS[f"list.{word}"] = run


for _word in ("issubset", "issuperset", "isdisjoint"):
    _related(_word)
