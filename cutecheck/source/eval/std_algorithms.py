"""Iterators of ``std::array`` and plain arrays, and algorithms of the standard library over what lies between two.

An iterator is a pointer to an element. Constants outside of functions have a cell of their own for this, which nobody
writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import calls, ir, places, repeatable, slots, writes
from cutecheck.source.eval.expressions.operators import binary
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.tuples import Constants, Elements, Held
from cutecheck.source.eval.values import Address, Cell, Closure, Extern, ExternType, FuncSet, Object, Scalar, Tag, Value

_ENDS = {"begin": False, "cbegin": False, "data": False, "end": True, "cend": True}
_STD = ("std::", "cuda::std::")
_OPERATORS = {"plus": "+", "minus": "-", "multiplies": "*", "less": "<", "greater": ">"}


class _OpenError(Exception):
    """Something that decides is not known."""


def iterator(m: Machine, node: ir.Call, env: Env) -> Value | None:
    """``a.begin()`` and ``std::end(a)`` of an array that is followed; None of all other calls."""
    ident = getattr(node.fn, "ident", "")
    if ident not in _ENDS or not m.dialect.by_value:
        return _filled(m, node, env) if ident == "fill" and m.dialect.by_value else None
    if isinstance(node.fn, ir.Attr) and not node.args:
        of = node.fn.base
    elif isinstance(node.fn, ir.Scoped) and getattr(node.fn.base, "ident", "") == "std" and len(node.args) == 1:
        of = node.args[0].value
    else:
        return None
    if not repeatable.quiet(of):
        return None
    value, cells = places.locate(m, of, env)
    if not isinstance(value, Elements) or (isinstance(node.fn, ir.Attr) and type(value) is not Held):
        return None
    first = slots.slots(m, cells) if cells is not None else None
    if first is None and (cells is None or isinstance(value, Constants)):
        kept = m.functions.setdefault(("elements of a constant", id(value)), {})
        if not kept:
            kept.update({"elements": value if type(value) is Held else Elements(value), "constant": value})
        first = slots.slots(m, ((kept, "elements"),))
    return None if first is None else places.address(m, ((first, len(value) if _ENDS[ident] else 0),))


def _filled(m: Machine, node: ir.Call, env: Env) -> Value | None:
    """``a.fill(4)``."""
    if not isinstance(node.fn, ir.Attr) or len(node.args) != 1 or not repeatable.quiet(node.fn.base):
        return None
    value, cells = places.locate(m, node.fn.base, env)
    first = slots.slots(m, cells) if type(value) is Held and repeatable.changes_nothing(node.args[0].value) else None
    if first is None:
        return None
    try:
        given = _known(m.eval(node.args[0].value, env))
        return _written(m, [(first, i) for i in range(len(value))], [given] * len(value), node.span)
    except _OpenError:
        return None


def applied(
    m: Machine, node: ir.Call, fn: Value, given: list[Value], cells: Sequence[places.Cells | None], env: Env
) -> Value | None:
    """What an algorithm gives, once it has written; None of all others, and of what is not known."""
    name = getattr(fn, "name", None) or getattr(fn, "library", "") if m.dialect.by_value else ""
    if not given or not isinstance(name, str) or not name.startswith(_STD):
        return None
    short = next(name.removeprefix(s) for s in _STD if name.startswith(s))
    if short not in _ALGORITHMS:
        return None
    args = [_decayed(m, v, w) for v, w in zip(given, [*cells, *[None] * (len(given) - len(cells))], strict=False)]
    if not isinstance(args[0], Address):
        return None
    if short in ("next", "prev"):
        by = args[1] if len(args) > 1 else Scalar(1, "int")
        return slots.moved(m, args[0], by if short == "next" else m.dialect.unary("-", by, node.span), node.span)
    if len(args) < 2 or not isinstance(args[1], Address):
        return None
    if short == "distance":
        return slots.compared("-", args[1], args[0])
    between = _between(args[0], args[1])
    if between is None:
        return None
    try:
        return _run(m, short, between, args[1], args[2:], node.span)
    except _OpenError:
        return None


def _decayed(m: Machine, value: Value, where: places.Cells | None) -> Value:
    """A plain array as the pointer to its first element."""
    first = slots.slots(m, where) if type(value) is Elements and where is not None else None
    return value if first is None else places.address(m, ((first, 0),))


def _between(first: Address, last: Address) -> list[Cell] | None:
    if len(first.cells) != 1 or len(last.cells) != 1 or first.cells[0][0] is not last.cells[0][0]:
        return None
    (where, a), (_, b) = first.cells[0], last.cells[0]
    if type(where) is not slots.Slots or type(a) is not int or type(b) is not int or b < a:
        return None
    return [(where, i) for i in range(a, b)]


def _run(m: Machine, name: str, cells: list[Cell], last: Address, rest: Sequence[Value], span: Span) -> Value:
    values = [] if name in ("fill", "iota") else [_known(places.read(m, (c,), span)) for c in cells]
    if name in ("accumulate", "reduce"):
        total = rest[0] if rest else Scalar(0, "int")
        for v in values:
            total = _like(m, total, _called(m, rest[1] if len(rest) > 1 else "+", [total, v], span), span)
        return total
    if name in ("max_element", "min_element"):
        best = 0
        for i in range(1, len(values)):
            pair = [values[best], values[i]] if name == "max_element" else [values[i], values[best]]
            best = i if _true(m, _called(m, rest[0] if rest else "<", pair, span)) else best
        return Address((cells[best],)) if cells else last
    if name in ("find", "find_if", "find_if_not", "count", "count_if", "any_of", "all_of", "none_of"):
        stop = {"find": True, "find_if": True, "find_if_not": False, "any_of": True, "all_of": False, "none_of": True}
        asked: list[bool] = []
        for v in values:  # what follows the element that decides is not asked, which may write
            plain = name in ("find", "count")
            asked.append(_true(m, binary(m, "==", v, rest[0], span) if plain else _called(m, rest[0], [v], span)))
            if asked[-1] is stop.get(name):
                break
        return _answer(name, asked, cells, last)
    if name == "sort":
        less = rest[0] if rest else "<"
        if isinstance(less, Closure) and (less.node.captures or less.node.default):
            raise _OpenError  # in which order it is called nobody says
        order = sorted(values, key=cmp_to_key(lambda a, b: -1 if _true(m, _called(m, less, [a, b], span)) else 1
                                              if _true(m, _called(m, less, [b, a], span)) else 0))  # fmt: skip
        if rest and any(isinstance(v, Object) for v in values):
            raise _OpenError  # what is equal may come in any order
        return _written(m, cells, order, span)
    if name == "reverse":
        return _written(m, cells, values[::-1], span)
    if name == "fill":
        return _written(m, cells, [_known(rest[0])] * len(cells), span)
    if name == "iota":
        numbers = [_known(rest[0])]
        for _ in cells[1:]:
            numbers.append(binary(m, "+", numbers[-1], Scalar(1, "int"), span))
        return _written(m, cells, numbers[: len(cells)], span)
    out = rest[0] if rest else None
    if not isinstance(out, Address) or len(out.cells) != 1 or type(out.cells[0][1]) is not int:
        raise _OpenError
    where, at = out.cells[0]
    made = values if name == "copy" else [_called(m, rest[1], [v], span) for v in values]
    _written(m, [(where, at + i) for i in range(len(made))], made, span)
    return Address(((where, at + len(made)),))


def _answer(name: str, asked: list[bool], cells: list[Cell], last: Address) -> Value:
    if name.startswith("find"):
        wanted = name != "find_if_not"
        return next((Address((c,)) for c, held in zip(cells, asked, strict=False) if held is wanted), last)
    if name.startswith("count"):
        return Scalar(sum(asked), "long")
    known = {"any_of": any(asked), "all_of": all(asked), "none_of": not any(asked)}
    return Scalar(int(known[name]), "bool")


def _written(m: Machine, cells: list[Cell], values: Sequence[Value], span: Span) -> Value:
    for cell, value in zip(cells, values, strict=True):
        writes.write(m, (cell,), _known(value), span)
    return Extern("what an algorithm of the standard library returns", span)


def _called(m: Machine, op: Value, args: list[Value], span: Span) -> Value:
    of = op.type if isinstance(op, Extern) else op
    if isinstance(of, (ExternType, Tag)) and of.name.rpartition("::")[2] in _OPERATORS:
        op = _OPERATORS[of.name.rpartition("::")[2]]
    if isinstance(op, str):
        return _known(binary(m, op, args[0], args[1], span))
    if not isinstance(op, (Closure, FuncSet, Object)):
        raise _OpenError
    m.lvalues = (args, [None] * len(args))
    return _known(calls.apply(m, op, args, {}, span))


def _like(m: Machine, old: Value, new: Value, span: Span) -> Value:
    """What a variable of the first value's type holds after ``= new``."""
    from cutecheck.source.eval.initialisation import convert
    from cutecheck.source.eval.types import type_of

    return convert(m, type_of(old), new, span) if isinstance(old, Scalar) else new


def _true(m: Machine, value: Value) -> bool:
    known = m.dialect.truth(value)
    if known is None:
        raise _OpenError
    return known


def _known(value: Value) -> Value:
    if isinstance(value, (Unknown, Extern)):
        raise _OpenError
    return value


_ALGORITHMS = frozenset({
    "accumulate", "reduce", "max_element", "min_element", "find", "find_if", "find_if_not", "count", "count_if",
    "any_of", "all_of", "none_of", "distance", "next", "prev", "copy", "fill", "iota", "transform", "reverse", "sort",
})  # fmt: skip
