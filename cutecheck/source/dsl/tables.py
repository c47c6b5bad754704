"""Dictionaries and the containers of ``collections``: their methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl.builtins import FUNCTIONS, builtin, sequence
from cutecheck.source.dsl.containers import own_key, put, uncertain
from cutecheck.source.dsl.equality import contains
from cutecheck.source.dsl.flow import fails
from cutecheck.source.dsl.values import BuiltinType, Defaults, Deque
from cutecheck.source.eval.containers import OPEN, Shared, changes, lose, unsure
from cutecheck.source.eval.values import Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def _views(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        bad = unsure(args[0])
        return bad if bad is not None else list(getattr(args[0], word)())

    FUNCTIONS[f"dict.{word}"] = run


for _word in ("keys", "values", "items"):
    _views(_word)


@builtin("dict.get")
def _get(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    table, key = args[0], args[1]
    default = args[2] if len(args) > 2 else kwargs.get("default")
    key = own_key(m, table, key, span)
    if key in table:
        return table[key]
    if OPEN in table or (uncertain(key) and len(table)):
        return Shared.of((*table.values(), default), "a key that is not known", span)
    return default


@builtin("dict.fromkeys")
def _from_keys(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    keys = sequence(m, args[0], span)
    if isinstance(keys, Unknown) or any(map(uncertain, keys)):
        return keys if isinstance(keys, Unknown) else Unknown("keys that are not known", span)
    return dict.fromkeys(keys, args[1] if len(args) > 1 else None)


@builtin("dict.setdefault")
def _set_default(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    table, key = args[0], args[1]
    if contains(key, table) is False:
        put(m, table, key, args[2] if len(args) > 2 else None, span)
    elif contains(key, table) is None:
        put(m, table, key, Unknown("a key that may have been there", span), span)
    return table[key]


@builtin("dict.pop")
def _pop(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    table, key = args[0], args[1]
    there = contains(key, table)
    if there is None:
        lose(m, table, Unknown("a key that is not known was removed", span))
        return Unknown("a key that is not known", span)
    if not there:
        return args[2] if len(args) > 2 else fails(m, "KeyError", "no such key in this dictionary", span)
    changes(m, table)
    return table.pop(key)


@builtin("dict.popitem")
def _pop_item(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    bad = unsure(args[0])
    if bad is not None or not args[0]:
        return bad if bad is not None else Unknown("an item of an empty dictionary", span)
    key = next(iter(args[0])) if kwargs.get("last") is False else list(args[0])[-1]
    changes(m, args[0])
    return (key, args[0].pop(key))


@builtin("dict.clear")
def _clear(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    changes(m, args[0])
    args[0].clear()
    return None


@builtin("dict.move_to_end")
def _move_to_end(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    table, last = args[0], kwargs.get("last", args[2] if len(args) > 2 else True)
    if unsure(table) is None and args[1] in table:
        changes(m, table)
        value = table.pop(args[1])
        rest = dict(table)
        table.clear()
        table.update({**rest, args[1]: value} if last else {args[1]: value, **rest})
    return None


@builtin("dict.update")
def _update(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    given = args[1] if len(args) > 1 else {}
    table = FUNCTIONS["dict()"](m, [given], kwargs, span)
    if isinstance(args[0], Defaults) and args[0].counts:
        return _count(m, args[0], given, kwargs, span)
    if not isinstance(table, dict) or unsure(table) is not None:
        lose(m, args[0], table if isinstance(table, Unknown) else Unknown("keys that are not known", span))
        return None
    for key, value in table.items():
        put(m, args[0], key, value, span)
    return None


# -------------------------------------------------------------------- collections


@builtin("collections.defaultdict")
def _defaults(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    made = FUNCTIONS["dict()"](m, args[1:], kwargs, span)
    return made if isinstance(made, Unknown) else Defaults(args[0] if args else None, made)


def _count(m: Machine, table: Defaults, given: Value, kwargs: dict[str, Value], span: Span) -> Value:
    pairs = list(given.items()) if isinstance(given, dict) else None
    found = [] if pairs is not None else sequence(m, given, span)
    items = found if isinstance(found, list) else []
    bad = (found if isinstance(found, Unknown) else None) or unsure(given) or unsure(table)
    if bad is not None or any(map(uncertain, items)):
        lose(m, table, bad or Unknown("items that are not known are counted", span))
        return None
    changes(m, table)
    for key, number in pairs if pairs is not None else [(i, 1) for i in items]:
        table[key] = table.get(key, 0) + number
    return None


@builtin("collections.Counter")
def _counter(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    made = Defaults(BuiltinType("int"), {}, True)
    if args:
        _count(m, made, args[0], kwargs, span)
    return made


@builtin("dict.most_common")
def _most_common(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    bad = unsure(args[0])
    if bad is not None or any(not isinstance(v, int) for v in args[0].values()):
        return bad or Unknown("counts that are not known", span)
    order: list[Any] = sorted(args[0].items(), key=lambda kv: -kv[1])
    return order[: args[1]] if len(args) > 1 and isinstance(args[1], int) else order


@builtin("collections.deque")
def _deque(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = sequence(m, args[0], span) if args else []
    most = args[1] if len(args) > 1 else kwargs.get("maxlen")
    if isinstance(items, Unknown) or not (most is None or isinstance(most, int)):
        return items if isinstance(items, Unknown) else Unknown("a deque of a length that is not known", span)
    return Deque(items if most is None else items[len(items) - min(most, len(items)) :], most)


@builtin("collections.ChainMap")
def _chain_map(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return FUNCTIONS["dict()"](m, [{k: v for d in reversed(args) for k, v in d.items()}], {}, span)
