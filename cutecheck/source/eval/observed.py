"""What host code asks objects of libraries whose headers are not there: the same question has the same answer.

``q.stride(0)`` of a PyTorch tensor is one number wherever it is asked, until something may have changed the tensor. An
object has a *state*: it is the same in copies of it, and gone where the variable is written, given by name to a
function that is not known, or asked for what is not known to change nothing. What is asked of a state by a method that
is known to change nothing is a state, too: ``q.sizes()``, ``inputs[0]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Condition, Dyn, Rel, Sym, as_expr
from cutecheck.source.eval import ir, places
from cutecheck.source.eval.foreign import harmless
from cutecheck.source.eval.foreign_names import NUMBERS, SAME_SIZES, STATELESS
from cutecheck.source.eval.held_fields import Apart, Seen
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.observations import State
from cutecheck.source.eval.repeatable import changes_nothing, is_assignment
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Address, Extern, ExternType, Pointer, Scalar, Value, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.values import Cell

_LISTS = {
    "sizes": "size", "sym_sizes": "size", "shape": "size", "dims": "size", "dimensions": "size",
    "strides": "stride", "sym_strides": "stride",
}  # fmt: skip
_CONTIGUOUS, _IS_CONTIGUOUS = "contiguous", "is_contiguous"
_MAKERS = ("empty", "zeros", "ones", "full", "rand", "randn", "randint")
_LIKE = tuple(f"{name}_like" for name in _MAKERS)
_SAME_STRIDES = (*_LIKE, "detach", "clone")  # made of a contiguous tensor they are contiguous
_SHAPES = ("IntArrayRef", "ArrayRef", "vector", "IntList", "SizesAndStrides")
_ORDERS = ("transpose", "permute", "t")  # the same memory with its modes in another order
_VIEWS = ("view", "reshape")
_NOWHERE = Span("", 1, 1, 1, 1)
_TYPE = "int64_t"
_OF_NUMBERS = ("shape", "strides", "dims")  # arrays that are members
_CONTAINERS = ("vector", "string", "map", "set", "deque", "list")


def asked(m: Machine, node: ir.Call | ir.Index, env: Env) -> Value | None:
    """The number that a call or an element is, where it is one that an object in a known state tells."""
    if not m.recorder.on_host():
        return None
    state = state_of(m, node, env)
    if state is None or len(state) < 2 or not isinstance(state[-1], tuple):
        return None
    return _number(m, state[:-1], *state[-1], text=_spelled(node))


def _spelled(node: ir.Expr) -> str:
    """An expression as it is written, macros expanded."""
    if isinstance(node, (ir.Name, ir.Scoped)):
        return node.ident
    if isinstance(node, ir.Attr):
        return f"{_spelled(node.base)}.{node.ident}"
    if isinstance(node, ir.Call):
        return f"{_spelled(node.fn)}({', '.join(_spelled(a.value) for a in node.args)})"
    if isinstance(node, ir.Index):
        return f"{_spelled(node.base)}[{', '.join(map(_spelled, node.args))}]"
    if isinstance(node, ir.Unary):
        return f"{node.op}{_spelled(node.operand)}"
    return str(node.value) if isinstance(node, ir.Lit) else "..."


def _number(m: Machine, of: State, name: str, *given: int, text: str) -> Value | None:
    """A number that the object in a state tells by a method of this name."""
    if name == "operator[]" and of[-1] in _OF_NUMBERS:
        return Scalar(m.observed.number((*of, (name, *given)), text), _TYPE)
    if name not in NUMBERS or len(given) != NUMBERS[name]:
        return None
    if name in _OF_SIZES:
        while isinstance(of[-1], tuple) and of[-1][0] in SAME_SIZES:
            of = of[:-1]
    if isinstance(of[-1], tuple) and of[-1][0] in _ORDERS and name in ("size", "stride") and given:
        at = _before(of[-1], given[0], _rank(m, of[:-1]))
        return None if at is None else _number(m, of[:-1], name, at, text=f"{text.rpartition('(')[0]}({at})")
    rank = _rank(m, of)
    if given and rank is not None and -rank <= given[0] < 0:
        given = (given[0] + rank,)
    shape = m.observed.shapes.get(of)
    if shape is not None and name == "size" and given[0] < len(shape):
        return shape[given[0]]
    if rank is not None and name in ("dim", "ndimension"):
        return Scalar(rank, _TYPE)
    if name == "stride" and (given[0] < 0 or rank is not None) and _contiguous(m, of):
        return _row_major(m, of, range(given[0] + 1, 0 if given[0] < 0 else rank or 0), text)
    return Scalar(m.observed.number((*of, (name, *given)), text), _TYPE)


def _before(order: tuple[Any, ...], at: int, rank: int | None) -> int | None:
    """The mode of a tensor that is mode ``at`` of the one which ``transpose``, ``permute`` or ``t`` makes of it."""
    name: str = order[0]
    modes: list[int] = [*order[1:]]
    if name == "permute":
        rank = len(modes)
    elif name == "t":
        modes, rank = [0, 1], rank if at == 0 else 2  # of a vector it is that
        if rank != 2:
            return None
    elif len(modes) != 2:
        return None
    if min(at, *modes) < 0:
        if rank is None:
            return None
        at, modes = at % rank, [mode % rank for mode in modes]
    if name == "permute":
        return modes[at] if at < len(modes) else None
    return {modes[0]: modes[1], modes[1]: modes[0]}.get(at, at)


def _row_major(m: Machine, of: State, inner: range, text: str) -> Value | None:
    """The stride of a mode of a contiguous tensor: the product of the extents of those that are further in."""
    product: Value = Scalar(1, _TYPE)
    for at in inner:
        size = _number(m, of, "size", at, text=f"{text.partition('.stride')[0]}.size({at})")
        product = m.dialect.binary("*", product, size, _NOWHERE)
    return product if isinstance(product, Scalar) else None


def _rank(m: Machine, of: State) -> int | None:
    """How many modes a tensor has, where that is known or was asserted."""
    while isinstance(of[-1], tuple) and of[-1][0] in (*SAME_SIZES, *_ORDERS):
        of = of[:-1]
    if of in m.observed.shapes:
        return len(m.observed.shapes[of])
    return _stated(m, (*of, ("dim",)))


def _stated(m: Machine, state: State) -> int | None:
    """The constant that a number is asserted to be."""
    number = m.observed.numbers.get(state)
    if number is None:
        return None
    for h in m.recorder.hypotheses:
        if h.condition.rel is Rel.EQ:
            for one, other in ((h.condition.lhs, h.condition.rhs), (h.condition.rhs, h.condition.lhs)):
                if one == number.expr and other.constant is not None:
                    return other.constant
    return None


def _contiguous(m: Machine, of: State) -> bool:
    while isinstance(of[-1], tuple) and of[-1][0] in _SAME_STRIDES:
        of = of[:-1]
    return of in m.observed.shapes or of[-1] == (_CONTIGUOUS,) or _stated(m, (*of, (_IS_CONTIGUOUS,))) == 1


def asserted(m: Machine, node: ir.Expr, env: Env) -> list[Condition]:
    """What an assertion says of a tensor as a whole: ``x.is_contiguous()``, ``x.sizes() == IntArrayRef({m, n})``."""
    if isinstance(node, ir.Call) and getattr(node.fn, "ident", "") == _IS_CONTIGUOUS and not node.args:
        state = state_of(m, node, env) if m.recorder.on_host() else None
        if state is None:
            return []
        number = m.observed.number(state, _spelled(node))
        return [Condition(Rel.EQ, number.expr, as_expr(1))]
    if isinstance(node, ir.Binary) and node.op == "==" and m.recorder.on_host():
        for one, other in ((node.left, node.right), (node.right, node.left)):
            sizes = state_of(m, one, env) if isinstance(one, ir.Call) else None
            shape = _shape(m, other, env) if sizes is not None and sizes[-1] in (("sizes",), ("shape",)) else None
            if sizes is not None and shape is not None:
                return _all_are(m, sizes[:-1], shape, _spelled(one).partition(".sizes")[0])
    return []


def _all_are(m: Machine, of: State, shape: list[Value], text: str) -> list[Condition]:
    found = []
    for name, given, value in (("dim", (), Scalar(len(shape))), *(("size", (i,), v) for i, v in enumerate(shape))):
        number = _number(m, of, name, *given, text=f"{text}.{name}({', '.join(map(str, given))})")
        sides = [m.dialect.to_model(v) for v in (number, value)]
        if all(isinstance(s, (int, Dyn, Sym)) for s in sides) and not all(isinstance(s, int) for s in sides):
            found.append(Condition(Rel.EQ, as_expr(sides[0]), as_expr(sides[1])))
    return [c for c in found if c.lhs != c.rhs]


def _shape(m: Machine, node: ir.Expr, env: Env) -> list[Value] | None:
    """The numbers in the braces of ``{m, n}``, ``IntArrayRef({m, n})``, ``std::vector<int64_t>{m, n}``."""
    if isinstance(node, ir.Call) and len(node.args) == 1 and getattr(node.fn, "ident", "") in _SHAPES:
        return _shape(m, node.args[0].value, env)
    if isinstance(node, ir.Construct):
        given = [a.value for a in node.args]
        if len(given) == 1 and isinstance(given[0], (ir.Construct, ir.Sequence_)):
            return _shape(m, given[0], env)
    elif isinstance(node, ir.Sequence_):
        given = [a.value for a in node.items]
    else:
        return None
    return [m.eval(g, env) for g in given] if all(map(_asks_only, given)) else None


def _asks_only(node: ir.Expr) -> bool:
    """An expression that may be evaluated again: names, numbers, operators and questions."""
    if isinstance(node, ir.Call) and isinstance(node.fn, ir.Attr):
        return node.fn.ident in STATELESS and all(_asks_only(a.value) for a in node.args)
    if isinstance(node, ir.Binary):
        return not is_assignment(node) and _asks_only(node.left) and _asks_only(node.right)
    return isinstance(node, ir.Index) or changes_nothing(node)


def _made(m: Machine, node: ir.Call, env: Env) -> State | None:
    """The state of a new tensor: ``torch::empty({m, n}, options)``, ``torch::empty(x.sizes())``, ``empty_like(x)``."""
    if not isinstance(node.fn, ir.Scoped) or not harmless(node.fn, None) or not node.args:
        return None
    if node.fn.ident in _LIKE:
        like = state_of(m, node.args[0].value, env)
        return None if like is None else (*like, ("detach",), (node.fn.ident,))
    if node.fn.ident not in _MAKERS:
        return None
    shape = _shape(m, node.args[0].value, env)
    if shape is not None:
        state = m.observed.new()
        m.observed.shapes[state] = [Scalar(v) if isinstance(v, int) else v for v in shape]
        return state if all(isinstance(v, Scalar) for v in m.observed.shapes[state]) else None
    sizes = state_of(m, node.args[0].value, env)
    return (*sizes[:-1], (_CONTIGUOUS,)) if sizes is not None and sizes[-1] == ("sizes",) else None


def state_of(m: Machine, node: ir.Expr, env: Env) -> State | None:
    """The state of the object that an expression names; None where it is none, or may be another each time."""
    if isinstance(node, (ir.Name, ir.Attr)) and node.targs is None:
        at = env.find_var(node.ident) if isinstance(node, ir.Name) else None
        if at is not None and (id(at.vars), node.ident) in m.journal.watched:
            return m.journal.watched[id(at.vars), node.ident][1]  # type: ignore[no-any-return]
        cells = places.again(m, node, env)
        if cells is not None:
            return _of_cell(m, cells[0]) if len(cells) == 1 else None
        if isinstance(node, ir.Name):
            return None
        base = state_of(m, node.base, env)
        return None if base is None else (*base, node.ident)
    if isinstance(node, ir.Call) and isinstance(node.fn, ir.Attr) and node.launch is None:
        name = node.fn.ident
        if name in _VIEWS and node.args and _shape_of(m, node, env) is not None:
            return _viewed(m, node, env)
        if name == "permute" and len(node.args) == 1 and (order := _shape_of(m, node, env)) is not None:
            modes = tuple(constant(v) for v in order)
            base = None if None in modes else state_of(m, node.fn.base, env)
            return None if base is None else (*base, (name, *modes))
        given = _constants(m, [a.value for a in node.args], env) if name in STATELESS else None
        if given is None and name in SAME_SIZES:
            given = m.observed.new()  # with these arguments another each time
        base = None if given is None else state_of(m, node.fn.base, env)
        if base is None or given is None:
            return None
        if name in ("at", "operator[]") and len(given) == 1:
            return _element(base, given[0])
        return (*base, (name, *given))
    if isinstance(node, ir.Index) and len(node.args) == 1:
        index = _constants(m, list(node.args), env)
        base = None if index is None else state_of(m, node.base, env)
        return None if base is None or index is None else _element(base, index[0])
    if isinstance(node, ir.Unary) and node.op == "*":
        base = state_of(m, node.operand, env)
        return None if base is None else (*base, "*")
    return _made(m, node, env) if isinstance(node, ir.Call) and node.launch is None else None


def _shape_of(m: Machine, node: ir.Call, env: Env) -> list[Value] | None:
    """The extents or modes that a method is given: ``x.view({m, n})``, ``x.view(m, n)`` has none of it."""
    return _shape(m, node.args[0].value, env) if len(node.args) == 1 else None


def _viewed(m: Machine, node: ir.Call, env: Env) -> State | None:
    """``x.view({-1, n})`` of a tensor that is contiguous is one that is."""
    assert isinstance(node.fn, ir.Attr)
    base = state_of(m, node.fn.base, env)
    shape = _shape_of(m, node, env)
    if base is None or shape is None or not _contiguous(m, base):
        return None
    state = m.observed.new()
    text = _spelled(node)
    extents = [Scalar(v) if isinstance(v, int) else v for v in shape]
    for i, v in enumerate(extents):
        if constant(v) == -1:
            extents[i] = Scalar(m.observed.number((*state, ("size", i)), f"{text}.size({i})"), _TYPE)
    if not all(isinstance(v, Scalar) for v in extents):
        return None
    m.observed.shapes[state] = extents
    return state


_OF_SIZES = frozenset({"size", "sizes", "dim", "numel", "ndimension"})


def _element(base: State, at: int) -> State:
    """``q.sizes()[1]`` is ``q.size(1)``."""
    last = base[-1]
    if isinstance(last, tuple) and len(last) == 1 and last[0] in _LISTS:
        return (*base[:-1], (_LISTS[last[0]], at))
    return (*base, ("operator[]", at))


def _constants(m: Machine, given: list[ir.Expr], env: Env) -> tuple[int, ...] | None:
    found = [constant(m.eval(g, env)) if _plain(g) else None for g in given]
    return None if None in found else tuple(n for n in found if n is not None)


def _plain(node: ir.Expr) -> bool:
    if isinstance(node, ir.Unary):
        return node.op in ("-", "+") and _plain(node.operand)
    return isinstance(node, (ir.Lit, ir.Name, ir.Scoped))


def _of_cell(m: Machine, cell: Cell) -> State | None:
    where, name = cell
    if type(where) in (Apart, Seen) or not _opaque(where.get(name)):
        return None
    watched: dict[Any, tuple[Any, State]] = m.journal.watched
    if (id(where), name) not in watched:
        watched[id(where), name] = where, m.observed.new()
    return watched[id(where), name][1]


def _opaque(value: Value) -> bool:
    """An object of a class that is not there; of containers of the standard library more is followed."""
    if isinstance(value, Extern):
        kind = value.type
        return not isinstance(kind, ExternType) or not kind.name.endswith(_CONTAINERS)
    return isinstance(value, Unknown)


def keep(m: Machine, where: dict[Any, Any], name: Any, state: State | None) -> None:
    """A variable that was just written holds an object in this state."""
    if state is not None and type(where) not in (Apart, Seen):
        m.journal.watched[id(where), name] = where, state


def told_of(m: Machine, cells: tuple[Cell, ...] | None) -> dict[State, Dyn]:
    """What the object that a variable holds was asked, and the numbers that it told."""
    if cells is None or len(cells) != 1 or not _opaque(cells[0][0].get(cells[0][1])):
        return {}
    state = _of_cell(m, cells[0])
    if state is None:
        return {}
    return {asked[len(state) :]: n for asked, n in m.observed.numbers.items() if asked[: len(state)] == state}


def telling(m: Machine, value: Value, numbers: Mapping[State, Dyn]) -> tuple[Cell, ...] | None:
    """Where an object is held that tells these numbers where it is asked for them."""
    if not _opaque(value):
        return None
    holder: dict[Any, Any] = {"": value}
    state = m.observed.new()
    keep(m, holder, "", state)
    m.observed.numbers.update({(*state, *asked): n for asked, n in numbers.items()})
    return ((holder, ""),)


def copied(m: Machine, cells: tuple[Cell, ...] | None, value: Value, where: dict[Any, Any], name: Any) -> None:
    """A parameter is a copy of a variable."""
    if cells is not None and len(cells) == 1 and _opaque(value) and m.recorder.on_host():
        keep(m, where, name, _of_cell(m, cells[0]))


def state_kept(m: Machine, node: ir.Expr | None, value: Value, env: Env) -> State | None:
    """The state of what a variable is about to be set to."""
    if node is None or not m.dialect.by_value or not _opaque(value) or not m.recorder.on_host():
        return None
    return state_of(m, node, env)


def may_change(m: Machine, node: ir.Call, fn: Value, args: list[Value], env: Env) -> None:
    """A function that is not there is called: of which objects, or on which, it may change them and their copies."""
    if not m.journal.watched or not m.recorder.on_host():  # a kernel has no object of the host's
        return
    name = getattr(node.fn, "ident", "")
    if name in STATELESS if isinstance(node.fn, ir.Attr) else harmless(node.fn, fn):
        return
    given = [a.value for a in node.args]
    if len(given) == len(args):  # a number is none of an object's parts
        given = [g for g, v in zip(given, args, strict=True) if not isinstance(v, (Scalar, int))]
    if any(_names_watched(m, e, env) for e in (*given, *([node.fn.base] if isinstance(node.fn, ir.Attr) else ()))):
        m.journal.watched.clear()


def may_replace(m: Machine, target: ir.Expr, value: Value, env: Env) -> None:
    """Something is written to what is not followed: an object that is watched may be that, or have it as a part."""
    if not m.journal.watched or not m.recorder.on_host():
        return
    if not isinstance(value, (Scalar, int, Pointer, Address)) or _names_watched(m, target, env):
        m.journal.watched.clear()


def _names_watched(m: Machine, node: ir.Expr, env: Env) -> bool:
    for name in names_in(node):
        for where, key in places.named(m, name, env) or ():
            if (id(where), key) in m.journal.watched:
                return True
    return False
