"""What the elements of a predicate tensor are computed from: coordinates and the limits they are compared with."""

from __future__ import annotations

from typing import Any

from cutecheck.facts import Bound, Unknown
from cutecheck.model import expr as ex
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import cosize, get, size
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Condition, CuteError, Dyn, Int, Rel, Sym, UndecidedError, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.source.eval import asked_flags, ir, places
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.record import conditions
from cutecheck.source.eval.repeatable import NUMBERS, changes_nothing, is_assignment
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Scalar, TensorVal, Value

_BOOL = ("bool", "Boolean")
_AND, _OR = ("&&", "and", "&"), ("||", "or", "|")
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_FLIPPED = {">": "<", ">=": "<="}
_RELATIONS = {**_OPPOSITE, "==": "!=", "!=": "=="}
_RELS = {"<": Rel.LT, "<=": Rel.LE, "==": Rel.EQ, "!=": Rel.NE}
_ASKS = ("size", "rank", "ceil_div", "min", "max", "get")
_TUPLES = ("make_tuple", "make_coord", "make_pair")
_LESS = ("elem_less", "elem_leq")
_MOST_KEPT = 64  # comparisons that variables hold: they are asked soon, or never
_ALONE = " alone"  # of a buffer's flags, kept apart from comparisons of coordinates
_CASTS = ("int", "bool", "Boolean", "Int32", "static_cast")


def note(m: Machine, node: ir.Assign, env: Env) -> None:
    """``pred(i, j) = elem_less(coordinates(0, i, j), limits)`` and the like, for a register tensor of bools."""
    target = node.target
    base = target.fn if isinstance(target, ir.Call) else target.base if isinstance(target, ir.Index) else None
    if node.op != "=" or not isinstance(base, (ir.Name, ir.Attr)) or not isinstance(target, (ir.Call, ir.Index)):
        return
    tensor = places.whole(m, base, env)  # the name of an array alone would be a pointer to it
    if not isinstance(tensor, TensorVal) or tensor.space != "rmem" or tensor.pointer is None:
        return
    if tensor.dtype is None or tensor.dtype.name not in _BOOL:
        return
    said = node.value
    while isinstance(said, ir.Binary) and said.op == "=":  # `p(i) = q(i) = ...`
        said = said.right
    bounds, complete = conjunction(m, said, env)
    element = _element(m, target, tensor, env)
    alone = () if bounds else _plain(m, said, env)
    constant = _constant(said)
    if constant and not _each(tensor, element):
        constant = None
    m.recorder.predicate(m, tensor.pointer.buffer, node.span, tuple(bounds), complete, element, constant, alone)
    given = _coordinate(m, target, env)
    at = _counting(tensor, given)
    left = {v.name for a, b in zip(given or (), at or (), strict=True) if a is not b for v in as_expr(a).variables()}
    if any(v.name in left for b in bounds for n in (b.value, b.limit) for v in as_expr(n).variables()):
        at = None  # one element for several that are computed
    asked_flags.assigned(m, tensor.pointer.buffer, node.span, at, bounds, complete)
    asked_flags.assigned(m, tensor.pointer.buffer + _ALONE, node.span, at, alone, bool(alone))


def _each(tensor: TensorVal, element: Int | None) -> bool:
    """A loop assigns to all elements of a tensor, or this is one of them, by a number."""
    if element is None or isinstance(tensor.layout, Unknown):
        return False
    if any(v.domain.bounds()[1] is None for v in as_expr(element).variables()):
        return False  # by a loop that may have fewer passes
    _, most = ex.bounds(as_expr(element))
    return known_value(element) is not None or (most is not None and most + 1 == known_value(cosize(tensor.layout)))


def _plain(m: Machine, node: ir.Expr, env: Env) -> tuple[Bound, ...]:
    """``offset < n`` of a number that threads differ in, and a limit that they do not."""
    while isinstance(node, (ir.Call, ir.Construct)) and len(node.args) == 1:
        node = node.args[0].value
    if not isinstance(node, ir.Binary) or node.op not in ("<", ">") or not asks(m, node, env):
        return ()
    sides = node.left, node.right
    low, high = (_leaves(m, m.eval(side, env)) for side in (sides if node.op == "<" else sides[::-1]))
    if low is None or high is None or len(low) != 1 or len(high) != 1:
        return ()
    mine, limit = ({v.name for v in as_expr(n).variables()} for n in (low[0], high[0]))
    own = any(n.startswith("threadIdx.") for n in mine) and not any("Idx." in n for n in limit)
    return (Bound(low[0], high[0], ()),) if own else ()


def plain(m: Machine, node: ir.Expr, env: Env) -> tuple[Bound, ...]:
    """What an element of a register tensor of bools compares that is no coordinate."""
    if not isinstance(node, (ir.Call, ir.Index)) or (flags := _flag(m, node, env)) is None:
        return ()
    found, complete = asked_flags.asked(m, flags[1] + _ALONE, _counting(flags[0], _coordinate(m, node, env)))
    return tuple(found) if complete else ()


def _constant(node: ir.Expr) -> bool | None:
    """``True``, ``cutlass.Boolean(1)`` and the like, as they are written: a number with a name may be a choice."""
    while isinstance(node, (ir.Call, ir.Construct)) and len(node.args) == 1:
        if _ident(node.fn if isinstance(node, ir.Call) else node.type) not in _CASTS:
            return None
        node = node.args[0].value
    return bool(node.value) if isinstance(node, ir.Lit) and isinstance(node.value, int) else None


def named(m: Machine, init: ir.Expr | None, value: Value, env: Env) -> None:
    """``bool const inside = get<0>(c(0, i, j)) < rows;``: kept by the value, which is what whoever asks it asks."""
    number = value.value if isinstance(value, Scalar) else value
    if init is None or not isinstance(number, Dyn):
        return
    if not conditions.is_comparison(number, joined=True):
        _part_of_coordinate(m, init, (number,), env)
        return
    if not asks(m, init, env):
        return
    bounds, complete = conjunction(m, init, env)
    if bounds:
        m.recorder.named[number.expr] = tuple(bounds), complete


def bound(m: Machine, init: ir.Expr, values: tuple[Value, ...], env: Env) -> None:
    """``auto [row, column] = coordinates(i);``."""
    numbers = (v.value if isinstance(v, Scalar) else v for v in values)
    _part_of_coordinate(m, init, tuple(n for n in numbers if isinstance(n, Dyn)), env)


def _part_of_coordinate(m: Machine, init: ir.Expr, numbers: tuple[Dyn, ...], env: Env) -> None:
    """``int row = get<0>(coordinates(i));``: who compares the variable compares the coordinate."""
    if not m.recorder.in_kernel() or not any(n.expr.variables() for n in numbers):
        return
    parts = [a.value for a in init.args] if isinstance(init, ir.Call) and _ident(init.fn) in _TUPLES else [init]
    if not all(asks(m, part, env) for part in parts):
        return
    found, held = _coordinates(m, init, env), m.recorder.coordinates
    if found is None:
        return
    for n in numbers:
        if len(held) >= _MOST_KEPT:
            del held[next(iter(held))]
        held[n.expr] = found


def kept(m: Machine, init: ir.Expr | None, value: Value, env: Env) -> None:
    """``inside = elem_less(c[i], limits)``, or in Python ``(c[i][0] < rows) & (c[i][1] < columns)``: who asks the
    variable asks for this object."""
    if isinstance(init, ir.Binary):
        by_text = not m.dialect.by_value and init.op in (*_AND, *_OPPOSITE) and asks(m, init, env)
        if not by_text or not isinstance(value, (Scalar, Unknown, Dyn)):
            return
    elif not isinstance(init, ir.Call) or _ident(init.fn) not in _LESS or not isinstance(value, (Scalar, Unknown)):
        return
    bounds, complete = conjunction(m, init, env)
    if not bounds:
        return
    latest = m.recorder.compared_as
    if len(latest) >= _MOST_KEPT:
        del latest[next(iter(latest))]
    latest[id(value)] = value, (tuple(bounds), complete)


def _of_value(m: Machine, value: Value) -> tuple[list[Bound], bool]:
    """What is compared where a variable has this value."""
    held = m.recorder.compared_as.get(id(value))
    if held is not None and held[0] is value:
        return list(held[1][0]), held[1][1]
    number = value.value if isinstance(value, Scalar) else value
    bounds, complete = m.recorder.named.get(number.expr, ((), False)) if isinstance(number, Dyn) else ((), False)
    return list(bounds), complete


def _coordinate(m: Machine, element: ir.Call | ir.Index, env: Env) -> list[Int] | None:
    given = [a.value for a in element.args] if isinstance(element, ir.Call) else list(element.args)
    found = [_leaves(m, m.eval(node, env)) for node in given]
    return None if None in found else [x for part in found for x in part or ()]


def _counting(tensor: TensorVal, coordinate: list[Int] | None, single: int = 1) -> list[Int] | None:
    """A coordinate with 0 along modes that all have the same elements: of stride 0, as ``(_4,_2):(_1,_0)``.

    ``single``: of modes of this extent what is given stays.
    """
    layout = tensor.layout
    if coordinate is None or not isinstance(layout, Layout) or it.tuple_rank(layout.shape) != len(coordinate):
        return coordinate
    modes = [get(layout, i) for i in range(len(coordinate))]
    same = [size(x) != single and all(known_value(d) == 0 for d in it.flatten_to_tuple(x.stride)) for x in modes]
    return [0 if one else x for x, one in zip(coordinate, same, strict=True)]


def _element(m: Machine, target: Any, tensor: TensorVal, env: Env) -> Int | None:
    """Offset of the element that is assigned to."""
    leaves = _coordinate(m, target, env)
    if leaves is None or isinstance(tensor.layout, Unknown):
        return None
    try:
        offset = tensor.layout(*leaves)
    except (CuteError, UndecidedError, TypeError, ValueError, IndexError):
        return None
    return offset if isinstance(offset, (int, Dyn, Sym)) else None


def conjunction(m: Machine, node: ir.Expr, env: Env, holds: bool = True) -> tuple[list[Bound], bool]:
    """The comparisons that all must be true, or with ``holds`` False all false; False where a part is not followed."""
    if isinstance(node, ir.Unary) and node.op in ("!", "not"):
        return conjunction(m, node.operand, env, not holds)
    if isinstance(node, ir.Binary) and node.op in (*_AND, *_OR):
        other = _undecided(m, node, env)
        if other is not None:
            return conjunction(m, other, env, holds)
        if node.op in (_OR if holds else _AND):
            return [], False
        left, all_left = conjunction(m, node.left, env, holds)
        right, all_right = conjunction(m, node.right, env, holds)
        return left + right, all_left and all_right
    if isinstance(node, ir.Binary) and node.op in _OPPOSITE:
        op = node.op if holds else _OPPOSITE[node.op]
        low, high = (node.left, node.right) if op in ("<", "<=") else (node.right, node.left)
        return _compared(m, low, high, _FLIPPED.get(op, op) == "<=", env)
    if not holds and not isinstance(node, ir.Cast):
        return [], False
    if isinstance(node, ir.Call) and len(node.args) >= 2 and _ident(node.fn) in _LESS:
        first, second = node.args[0].value, node.args[1].value
        closed = _ident(node.fn) == "elem_leq"
        said = _compared(m, first, second, closed, env)
        # of tuples `elem_leq(a, b)` is `!elem_less(b, a)`: one element that is not greater is enough
        return ([], False) if closed and len(said[0]) > 1 else said
    if (flags := _flag(m, node, env)) is not None and isinstance(node, (ir.Call, ir.Index)):
        given = _coordinate(m, node, env)
        known = asked_flags.asked(m, flags[1], _counting(flags[0], given))
        return known if known[0] else asked_flags.asked(m, flags[1], _counting(flags[0], given, 0))
    if isinstance(node, (ir.Call, ir.Construct)) and len(node.args) == 1:
        callee = node.fn if isinstance(node, ir.Call) else node.type
        if _ident(callee) in _CASTS:
            return conjunction(m, node.args[0].value, env)
    if isinstance(node, ir.Cast):
        return conjunction(m, node.operand, env, holds)
    if isinstance(node, (ir.Name, ir.Attr)) and holds and (m.recorder.named or m.recorder.compared_as):
        return _of_value(m, m.eval(node, env))
    if isinstance(node, ir.Call) and node.launch is None and m.dialect.by_value and all(
        asks(m, a.value, env) for a in node.args
    ):  # fmt: skip
        found = _coordinates(m, node, env)  # which a function or closure of the program's is given
        if found is not None:
            mark = m.journal.mark()
            with m.recorder.rehearsing(), m.budget.aside():
                value = m.eval(node, env)
            m.journal.undo(mark)  # once more than it is called
            return by_value(m, value, found) if holds else ([], False)
    return [], False


def by_value(m: Machine, value: Value, coordinates: tuple[Int, ...]) -> tuple[list[Bound], bool]:
    """What comparisons of these coordinates a value consists of, and whether of no more than one."""
    found: list[Bound] = []
    for condition in conditions.stated(m, value, True):
        step = {Rel.LT: 0, Rel.LE: 1}.get(condition.rel)
        own = {v.name for c in coordinates for v in as_expr(c).variables()}
        if step is not None and own & {v.name for v in condition.lhs.variables()}:
            found.append(Bound(_number(condition.lhs), _number(ex.add(condition.rhs, ex.const(step))), coordinates))
    number = value.value if isinstance(value, Scalar) else value
    return found, len(found) == 1 and isinstance(number, Dyn) and conditions.is_comparison(number)


def _number(e: Expr) -> Int:
    return Dyn(e) if e.constant is None else e.constant


def _flag(m: Machine, node: ir.Expr, env: Env) -> tuple[TensorVal, str] | None:
    """The register tensor of bools of which ``pred(i, j)`` is an element, and its buffer."""
    base = node.fn if isinstance(node, ir.Call) else node.base if isinstance(node, ir.Index) else None
    args = [a.value for a in node.args] if isinstance(node, ir.Call) else list(getattr(node, "args", ()))
    if not isinstance(base, ir.Name) or base.targs is not None or not args or not all(map(changes_nothing, args)):
        return None
    at = env.find_var(base.ident)
    tensor = None if at is None else places.whole(m, base, env)
    if not isinstance(tensor, TensorVal) or tensor.space != "rmem" or tensor.pointer is None:
        return None
    return (tensor, tensor.pointer.buffer) if tensor.dtype is not None and tensor.dtype.name in _BOOL else None


def _undecided(m: Machine, node: ir.Binary, env: Env) -> ir.Expr | None:
    """What ``kEven || row < rows`` asks where ``kEven`` is known to be false, ``kCheck && ...`` where it is true."""
    for side, other in ((node.left, node.right), (node.right, node.left)):
        named = isinstance(side, (ir.Name, ir.Scoped, ir.Unary, ir.Lit)) and changes_nothing(side)
        if named and m.dialect.truth(m.eval(side, env)) is (node.op in _AND):
            return other
    return None


def _compared(m: Machine, low: ir.Expr, high: ir.Expr, closed: bool, env: Env) -> tuple[list[Bound], bool]:
    found = _coordinates(m, low, env)
    values = None if found is None and not _is_kept(m, low) else _leaves(m, m.eval(low, env))
    if found is None and values is not None and len(values) == 1 and isinstance(values[0], Dyn):
        found = m.recorder.coordinates.get(values[0].expr)
    if found is None:
        return [], False
    limits = _leaves(m, m.eval(high, env))
    if values is None or limits is None or len(values) > len(limits):
        return [], False
    step = 1 if closed else 0
    return [Bound(v, x + step, found) for v, x in zip(values, limits, strict=False)], True


def _is_kept(m: Machine, node: ir.Expr) -> bool:
    """Whether it may be a variable that holds a part of a coordinate."""
    while isinstance(node, ir.Cast):
        node = node.operand
    return bool(m.recorder.coordinates) and isinstance(node, ir.Name)


def stated(m: Machine, node: ir.Expr, env: Env, holds: bool = True) -> tuple[Condition, ...]:
    """What a condition that holds, or does not, says of numbers: ``i < size<2>(t) - 1`` in a loop over ``i``."""
    if isinstance(node, ir.Unary) and node.op in ("!", "not"):
        return stated(m, node.operand, env, not holds)
    if isinstance(node, ir.Call) and _ident(node.fn) == "elem_less" and len(node.args) == 2:
        return _all_below(m, node.args[0].value, node.args[1].value, env, holds)
    if not isinstance(node, ir.Binary):
        return ()
    if node.op in (_AND if holds else _OR):
        return (*stated(m, node.left, env, holds), *stated(m, node.right, env, holds))
    if node.op not in _RELATIONS or not (asks(m, node.left, env) and asks(m, node.right, env)):
        return ()
    op = node.op if holds else _RELATIONS[node.op]
    sides = (node.left, node.right) if op in ("<", "<=") else (node.right, node.left)
    low, high = (m.dialect.to_model(m.eval(side, env)) for side in sides)
    if not all(isinstance(n, (int, Dyn, Sym)) for n in (low, high)) or (isinstance(low, int) and isinstance(high, int)):
        return ()
    op = _FLIPPED.get(op, op)
    return (Condition(_RELS[op], as_expr(low), as_expr(high)),)


def _all_below(m: Machine, low: ir.Expr, high: ir.Expr, env: Env, holds: bool) -> tuple[Condition, ...]:
    """``elem_less(a, b)``: of tuples all that it says where it holds, nothing where it does not."""
    if not (asks(m, low, env) and asks(m, high, env)):
        return ()
    values, limits = _leaves(m, m.eval(low, env)), _leaves(m, m.eval(high, env))
    if values is None or limits is None or len(values) != len(limits) or not (holds or len(values) == 1):
        return ()
    pairs = [(as_expr(a), as_expr(b)) for a, b in zip(values, limits, strict=True)]
    pairs = [(a, b) for a, b in pairs if a.constant is None or b.constant is None]
    return tuple(Condition(Rel.LT, a, b) if holds else Condition(Rel.LE, b, a) for a, b in pairs)


def told(m: Machine, node: ir.Expr, env: Env, value: Value, holds: bool = True) -> tuple[Condition, ...]:
    """What a condition says by its text or, of Python's, by its value: of a variable, of what it was compared as."""
    found = stated(m, node, env, holds)
    return found if found or m.dialect.by_value else tuple(conditions.stated(m, value, holds))


def asks(m: Machine, node: ir.Expr, env: Env) -> bool:
    """An expression that may be evaluated again: of names, numbers, operators, elements of tensors and their sizes."""
    if isinstance(node, ir.Binary):
        return not is_assignment(node) and asks(m, node.left, env) and asks(m, node.right, env)
    if isinstance(node, ir.Call) and node.launch is None and isinstance(node.fn, ir.Name):
        known = node.fn.ident in (*_ASKS, *NUMBERS) or isinstance(m.eval(node.fn, env), TensorVal)
        return known and all(asks(m, a.value, env) for a in node.args)
    if isinstance(node, ir.Call) and isinstance(node.fn, ir.Attr) and len(node.args) == 1:  # `cutlass.Int32(-1)`
        return _ident(node.fn) in _CASTS and asks(m, node.args[0].value, env)
    if isinstance(node, ir.Index):
        return asks(m, node.base, env) and all(asks(m, a, env) for a in node.args)
    if isinstance(node, ir.Sequence_):
        return all(asks(m, a.value, env) for a in node.items)
    return changes_nothing(node)


def _coordinates(m: Machine, node: Any, env: Env) -> tuple[Int, ...] | None:
    """The coordinate, flat, that an expression takes from a coordinate tensor."""
    base = node.fn if isinstance(node, ir.Call) else node.base if isinstance(node, ir.Index) else None
    if isinstance(base, (ir.Name, ir.Attr)):
        tensor = m.eval(base, env)
        if isinstance(tensor, TensorVal) and tensor.pointer is None and tensor.space == "coord":
            leaves = _leaves(m, m.eval(node, env))
            return None if leaves is None else tuple(leaves)
    for field in ("fn", "base", "operand", "left", "right"):
        inner = getattr(node, field, None)
        if inner is not None and (found := _coordinates(m, inner, env)) is not None:
            return found
    for arg in (*getattr(node, "args", ()), *getattr(node, "items", ())):
        inner = arg.value if isinstance(arg, ir.Arg) else arg
        if (found := _coordinates(m, inner, env)) is not None:
            return found
    if isinstance(node, ir.Name):
        held = m.eval(node, env)
        if isinstance(held, tuple):  # `auto c = coordinates(0, i, j)`
            leaves = _leaves(m, held)
            return None if leaves is None else tuple(leaves)
    return None


def _leaves(m: Machine, value: Value) -> list[Int] | None:
    model = m.dialect.to_model(value)
    flat = it.flatten_to_tuple(model) if isinstance(model, tuple) else (model,)
    return list(flat) if all(isinstance(x, (int, Dyn, Sym)) for x in flat) else None


def _ident(node: ir.Expr) -> str:
    return getattr(node, "ident", "")
