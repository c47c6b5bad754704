"""Which suppositions to change where the program refuses them: read off the condition that it asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cutecheck.source.dsl.supposed.guesses import Given, Key
from cutecheck.source.eval import ir
from cutecheck.source.eval.containers import unsure
from cutecheck.source.eval.values import ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Env

Move = tuple[tuple[Key, Value], ...]
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!=", "is": "is", "is not": "is not"}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==", "in": "not in", "not in": "in",
             "is": "is not", "is not": "is"}  # fmt: skip
_RANKS = ("dim", "ndim", "ndimension", "rank")
_MOST = 12


class RefusedError(Exception):
    """The program refuses what is supposed, on its way to who supposes it: what it asks, and what would meet that."""

    def __init__(self, why: str, moves: list[Move]) -> None:
        super().__init__(why)
        self.why, self.moves = why, moves


def moves(m: Machine, given: Given, cond: ir.Expr, want: bool, env: Env) -> list[Move]:
    """What may be supposed instead so that a condition is ``want``."""
    return list(dict.fromkeys(_moves(_Asked(m, given, env), cond, want)))[:_MOST]


def of_rank(given: Given, holder: Value, rank: int) -> list[Move]:
    """What makes a supposed tensor, whose shape this is, one of so many modes."""
    name = _held(given, holder)
    return [] if name is None or rank < 1 else [(((name, "rank"), rank),)]


class _Asked:
    def __init__(self, m: Machine, given: Given, env: Env) -> None:
        self.m, self.given, self.env = m, given, env

    def value(self, node: ir.Expr) -> Value:
        return self.m.eval(node, self.env)


def _held(given: Given, value: Value) -> str | None:
    name, known = given.tensors.get(id(value), ("", None))
    return name if known is value and name else None


def _moves(a: _Asked, cond: ir.Expr, want: bool) -> Iterator[Move]:
    if isinstance(cond, ir.Unary) and cond.op in ("not", "!"):
        yield from _moves(a, cond.operand, not want)
    elif isinstance(cond, ir.Binary) and cond.op in ("and", "or", "&&", "||"):
        parts = (cond.left, cond.right)
        for part in parts:
            if a.m.dialect.truth(a.value(part)) is not want:
                yield from _moves(a, part, want)
    elif isinstance(cond, ir.Binary) and cond.op in _OPPOSITE:
        yield from _compared(a, cond.op if want else _OPPOSITE[cond.op], cond.left, cond.right)
    elif isinstance(cond, ir.Call) and isinstance(cond.fn, ir.Name) and cond.fn.ident in ("all", "any"):
        yield from _each(a, cond, want)
    else:
        for key in _keys(a, cond, a.value(cond)):
            yield ((key, want),)


def _each(a: _Asked, call: ir.Call, want: bool) -> Iterator[Move]:
    """``all(x.dtype == y for x in ...)``: each item on its own."""
    node = call.args[0].value if call.args else None
    if not isinstance(node, ir.Comprehension) or len(node.clauses) != 1:
        return
    clause = node.clauses[0]
    items = a.value(clause.iterable)
    if not isinstance(clause.target, ir.Name) or not isinstance(items, (list, tuple)) or unsure(items) is not None:
        return
    from cutecheck.source.eval.scope import Env

    for item in items:
        inner = Env(a.env, "block")
        inner.vars[clause.target.ident] = item
        own = _Asked(a.m, a.given, inner)
        if a.m.dialect.truth(own.value(node.element)) is not want:
            yield from _moves(own, node.element, want)


def _compared(a: _Asked, op: str, left: ir.Expr, right: ir.Expr) -> Iterator[Move]:
    x, y = a.value(left), a.value(right)
    if op in ("in", "not in"):
        if op == "in" and isinstance(y, (list, tuple, dict)) and unsure(y) is None:
            for item in y:
                yield from _set(a, left, x, item)
        return
    for node, own, other in ((left, x, y), (right, y, x)):
        way = op if own is x and node is left else _SWAPPED[op]
        yield from _meets(a, node, own, way, other)


def _meets(a: _Asked, node: ir.Expr, own: Value, op: str, other: Value) -> Iterator[Move]:
    """One side of a comparison as the other wants it."""
    if op in ("==", "is"):
        yield from _set(a, node, own, other)
    elif op in ("!=", "is not"):
        if other is None:
            for key in _keys(a, node, own):
                yield (((key[0], "is"), True),)
        elif type(own) is int:
            for n in (own * 2, own // 2 or 1, own + 1):
                yield from _set(a, node, own, n)
    elif type(own) is int and type(other) is int:
        wanted = other - (op == "<") + (op == ">")
        rounded = 1 << max(wanted, 1).bit_length() - 1 if op in ("<", "<=") else 1 << max(wanted - 1, 0).bit_length()
        for n in dict.fromkeys((rounded, wanted)):
            yield from _set(a, node, own, n)


def _set(a: _Asked, node: ir.Expr, own: Value, wanted: Value) -> Iterator[Move]:
    """What makes a side of a comparison this value."""
    rank = _of_rank(a, node)
    if rank is not None:
        if type(wanted) is int and wanted > 0:
            yield (((rank, "rank"), wanted),)
        return
    name = _held(a.given, own)
    if name is not None and isinstance(wanted, tuple):
        yield _shaped(a.given, name, wanted)
        return
    if isinstance(own, tuple) and isinstance(wanted, tuple) and len(own) == len(wanted):
        told = [(key, w) for o, w in zip(own, wanted, strict=True) if o != w for key in _numbers(a.given, o)[:1]]
        if told:
            yield tuple(told)
        return
    if isinstance(node, ir.Binary) and type(own) is int and type(wanted) is int:
        yield from _arithmetic(a, node, wanted)
        return
    order = _of_stride(a, node)
    if order is not None and wanted == 1:
        yield (((order[0], "order"), order[1]),)
        return
    keys = _keys(a, node, own)
    computed = _assigned(a, node) if not keys and type(own) is int and type(wanted) is int else None
    if computed is not None:
        yield from _arithmetic(a, computed, wanted)
    for key in keys:
        if key[1] == "dtype" and isinstance(wanted, ScalarType):
            yield ((key, wanted.dtype.name),)
        elif wanted is None:
            yield (((key[0], "is"), False),)
        elif type(wanted) in (int, str, bool, tuple) and key[1] != "dtype":
            if type(wanted) is int and isinstance(key[1], int) and key[0]:
                yield ((("", f"{a.given.ranks.get(key[0], 0)}.{key[1]}"), wanted),)
            yield ((key, wanted),)


def _arithmetic(a: _Asked, node: ir.Binary, wanted: int) -> Iterator[Move]:
    """``x % 8 == 0``, ``x // 2 == n``, ``2 * x == n``."""
    x, y = a.value(node.left), a.value(node.right)
    if type(x) is not int or type(y) is not int:
        return
    solved: list[tuple[ir.Expr, int, int]] = []
    if node.op == "%" and y > 0:
        low = 1 << (y - 1).bit_length()
        first = y if low != y else low
        solved = [(node.left, x, n) for n in (max(x // first, 1) * first + wanted, first + wanted) if n > 0]
    elif node.op == "//" and y > 0:
        solved = [(node.left, x, wanted * y)]
    elif node.op == "*":
        solved = [(of, own, wanted // other) for of, own, other in ((node.left, x, y), (node.right, y, x))
                  if other > 0 and wanted % other == 0]  # fmt: skip
    elif node.op == "+":
        solved = [(node.left, x, wanted - y), (node.right, y, wanted - x)]
    elif node.op == "-":
        solved = [(node.left, x, wanted + y), (node.right, y, x - wanted)]
    elif node.op == "&" and wanted == 0 and y >= 0:
        solved = [(node.left, x, x & ~y or y + 1)]
    for of, own, n in solved:
        if n > 0 and n != own:
            yield from _set(a, of, own, n)


def _assigned(a: _Asked, node: ir.Expr) -> ir.Binary | None:
    """What a variable is computed from in its function: ``half * 2`` of ``dim = half * 2``."""
    fn = a.env.frame.function if a.env.frame is not None and isinstance(node, ir.Name) else None
    if fn is None or fn.body is None or not isinstance(node, ir.Name):
        return None
    found = None
    for stmt in fn.body.get().body:
        if stmt.span > node.span:
            break
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Name) and stmt.target.ident == node.ident:
            found = stmt.value if stmt.op == "=" and isinstance(stmt.value, ir.Binary) else None
    return found


def _shaped(given: Given, name: str, wanted: tuple[Any, ...]) -> Move:
    told: list[tuple[Key, Value]] = [((name, "rank"), len(wanted))]
    told += [((name, i), n) for i, n in enumerate(wanted) if type(n) is int]
    return tuple(told)


def _of_rank(a: _Asked, node: ir.Expr) -> str | None:
    """The supposed tensor whose number of modes an expression is."""
    call = node.fn if isinstance(node, ir.Call) else node
    if isinstance(call, ir.Attr) and call.ident in _RANKS:
        return _held(a.given, a.value(call.base))
    if isinstance(node, ir.Call) and isinstance(call, ir.Name) and call.ident == "len" and node.args:
        return _held(a.given, a.value(node.args[0].value))
    return None


def _of_stride(a: _Asked, node: ir.Expr) -> tuple[str, int] | None:
    """The supposed tensor and its mode whose stride an expression is."""
    at: ir.Expr | None = None
    of: ir.Expr | None = None
    if isinstance(node, ir.Call) and isinstance(node.fn, ir.Attr) and node.fn.ident == "stride" and node.args:
        of, at = node.fn.base, node.args[0].value
    elif isinstance(node, ir.Index) and isinstance(node.base, ir.Call) and isinstance(node.base.fn, ir.Attr):
        of, at = (node.base.fn.base, node.args[0]) if node.base.fn.ident == "stride" and node.args else (None, None)
    if of is None or at is None:
        return None
    name, mode = _held(a.given, a.value(of)), a.value(at)
    if name is None or type(mode) is not int:
        return None
    rank = a.given.ranks[name]
    return (name, mode % rank) if rank else None


def _keys(a: _Asked, node: ir.Expr, own: Value) -> list[Key]:
    """What was supposed that a value is: the object itself, or else the one number of its value that was."""
    name = _held(a.given, own)
    if name is not None:
        return [(name, "is")]
    found = a.given.elements.get(id(own))
    if found is not None and found[1] is own:
        return [found[0]]
    if type(own) is int:
        return _numbers(a.given, own)
    if isinstance(node, ir.Name) and node.ident in a.given.shown and (type(own) in (str, bool, tuple) or own is None):
        return [(node.ident, "is" if own is None else "value")]
    return []


def _numbers(given: Given, own: Value) -> list[Key]:
    known = given.numbers.get(id(own))
    if known is not None and known[1] is own and type(own) is int and own > _SHARED:
        return [known[0]]
    alike = [key for key, value in given.numbers.values() if value == own]
    return alike if len(alike) == 1 else []


_SHARED = 256  # up to which Python has one object for all equal numbers

__all__ = ["Move", "RefusedError", "moves", "of_rank"]
