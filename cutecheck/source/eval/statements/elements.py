"""Assignments to elements of tuples and arrays: ``get<1>(shape) = n``, ``a[1] = n``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model.expr import ANY
from cutecheck.model.identity import once
from cutecheck.model.integers import INTEGERS, whole_domain_of
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import classes, copies, ir, leaks, losses, places, std_arrays
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.qualifiers import refers
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.threads import some
from cutecheck.source.eval.tuples import FIRST_AND_SECOND, Constants, Elements, Held, Pair, like
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import (
    Apart,
    ArrayType,
    Cell,
    Intrinsic,
    Object,
    Scalar,
    ScalarType,
    Seen,
    Value,
    constant,
)

_MOST = 64  # numbers of an array that is followed without an initialiser


def write(m: Machine, target: ir.Expr, value: Value, env: Env, span: Span) -> bool:
    """Write a number to a run-time element of a tuple that one variable holds; False where it is anything else."""
    path: list[int] = []
    while isinstance(target, ir.Call) or (isinstance(target, ir.Attr) and target.ident in FIRST_AND_SECOND):
        if isinstance(target, ir.Attr):
            if not places.quiet(target.base) or not isinstance(places.whole(m, target.base, env), Pair):
                break
            path = [FIRST_AND_SECOND.index(target.ident), *path]
            target = target.base
            continue
        fn = m.eval(target.fn, env) if isinstance(target.fn, (ir.Name, ir.Scoped)) else None
        if not isinstance(fn, Intrinsic) or fn.name != "get" or fn.self_ is not None or len(target.args) != 1:
            return False
        indices = [constant(getattr(t, "value", t) if not isinstance(t, Scalar) else t) for t in fn.targs or ()]
        if not indices or None in indices:
            return False
        path = [*cast("list[int]", indices), *path]
        target = target.args[0].value
    if not path or not places.quiet(target):
        return False
    cells = places.again(m, target, env)
    unknown = isinstance(value, Unknown) or (isinstance(value, Scalar) and value.value is None)
    number = some(m, "element", ANY, True) if unknown else m.dialect.to_model(value)
    if cells is None or len(cells) != 1 or not isinstance(number, Dyn):
        return False
    losses.lost_leaked(m, span)  # the element may be a reference
    changed = _with(m, places.held(m, *cells[0]), path, number, span)
    if changed is None:
        return False
    places.store(m, *cells[0], changed, span)
    return True


Change = Callable[[Value], Value]  # what is written to an element that holds a value


def change(m: Machine, target: ir.Index, to: Change, env: Env, span: Span) -> tuple[Value, Value] | None:
    """Write to an element of an array that a variable holds; what it held and holds then.

    None, with nothing evaluated, where the array is not followed. All its elements are lost where the index is not
    known.
    """
    nodes: list[ir.Expr] = []
    root: ir.Expr = target
    while isinstance(root, ir.Index) and len(root.args) == 1:
        nodes.append(root.args[0])
        root = root.base
    cells = places.again(m, root, env) if places.quiet(root) else None
    if cells is None or len(cells) != 1 or type(cells[0][0]) in (Apart, Seen):
        return None
    if not isinstance(places.held(m, *cells[0]), Elements) or isinstance(places.held(m, *cells[0]), Constants):
        return None
    path = [constant(m.eval(node, env)) for node in reversed(nodes)]
    whole = old = places.held(m, *cells[0])
    for at in path:
        if at is None or not isinstance(old, Elements) or not 0 <= at < len(old):
            new = to(Unknown("an element at an index that is not known", span))
            leaks.leak(m, new)
            if _of_numbers(whole):  # which of them it is may differ from thread to thread
                m.journal.set(*cells[0], _any(m, whole))
            else:
                losses.forget_cells(m, cells, span)
            return new, new
        old = old[at]
    new = classes.convert(m, type_of(old), to(old), span) if isinstance(old, Scalar) else to(old)
    if isinstance(old, (Object, Elements)) or leaks.points(new):
        return None
    m.journal.set(*cells[0], _replaced(whole, cast("list[int]", path), copies.copied(m, new)))
    return old, new


def _of_numbers(value: Value) -> bool:
    return all(map(_of_numbers, value)) if isinstance(value, Elements) else isinstance(value, Scalar)


def _any(m: Machine, value: Value) -> Value:
    """Any numbers, in each thread others."""
    if isinstance(value, Elements):
        return like(value, (_any(m, v) for v in value))
    number = isinstance(value, Scalar) and value.ctype in INTEGERS and value.ctype != "bool"
    return Scalar(some(m, "element", whole_domain_of(value.ctype), True) if number else None, value.ctype)


def _replaced(whole: Value, path: list[int], new: Value) -> Value:
    if not path:
        return new
    first, *rest = path
    return like(whole, (*whole[:first], _replaced(whole[first], rest, new), *whole[first + 1 :]))


@once
def only_indexed(fn: ir.Function) -> frozenset[str]:
    """Names of arrays that a function declares and uses by their elements alone: no pointer leads to those."""
    declared: set[str] = set()
    used: set[str] = set()
    stack: list[Any] = [fn.body.get()] if fn.body is not None else []
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Local) and isinstance(at.decl, ir.Variable):
            stack += [at.decl.init, at.decl.init_args, at.decl.type]
            t = at.decl.type
            array = isinstance(t, ir.TypeMod) and t.kind == "array"
            array = array or (isinstance(t, (ir.Name, ir.Scoped)) and t.ident == std_arrays.NAME)
            (declared if array else used).add(at.decl.name)
        elif isinstance(at, ir.Name):
            used.add(at.ident)
        elif isinstance(at, ir.Index) and isinstance(at.base, (ir.Name, ir.Index)):
            stack += at.args
            base: ir.Expr = at.base
            while isinstance(base, ir.Index):
                stack += base.args
                base = base.base
            if not isinstance(base, ir.Name):
                stack.append(base)
        elif isinstance(at, ir.SizeOf):
            stack += [] if isinstance(at.operand, (ir.Name, ir.Index)) else [at.operand]
        elif isinstance(at, ir.Loop) and at.kind == "foreach":
            stack += [at.target, at.body, *([] if isinstance(at.iterable, ir.Name) and _alone(at) else [at.iterable])]
        elif isinstance(at, ir.Unary) and at.op == "&":
            stack += names_in(at.operand) and [ir.Name(n, None, at.span) for n in names_in(at.operand)]
        elif isinstance(at, ir.Call):
            stack += [at.fn, at.launch]
            for a in at.args:  # an element may be taken by reference
                stack += [a.value, *([ir.Name(_root(a.value), None, at.span)] if isinstance(a.value, ir.Index) else [])]
        elif isinstance(at, ir.Lazy):
            stack.append(at.get())
        elif isinstance(at, ir.Opaque):
            used.update(at.names)
        elif isinstance(at, (tuple, list)):
            stack += at
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack += [getattr(at, f) for f in at.__dataclass_fields__ if f not in ("span", "full_span")]
    return frozenset(declared - used)


def _root(node: ir.Expr) -> str:
    while isinstance(node, ir.Index):
        node = node.base
    return node.ident if isinstance(node, ir.Name) else ""


def gone_through(m: Machine, node: ir.Loop, env: Env) -> Cell | None:
    """The cell of an array of numbers that ``for (int& e : a)`` goes through: nothing else in it names the array."""
    if node.iterable is None or not places.quiet(node.iterable) or not _alone(node):
        return None
    cells = places.again(m, node.iterable, env)
    if cells is None or len(cells) != 1 or type(cells[0][0]) in (Apart, Seen):
        return None
    whole = places.held(m, *cells[0])
    if not isinstance(whole, Elements) or isinstance(whole, Constants) or not all(isinstance(v, Scalar) for v in whole):
        return None
    return cells[0]


@once
def _alone(node: ir.Loop) -> bool:
    """No jump leaves an iteration, no address or function could keep what it goes through."""
    root: Any = node.iterable
    while isinstance(root, ir.Attr):
        root = root.base
    stack: list[Any] = [node.body]
    while stack:
        at = stack.pop()
        if isinstance(at, (ir.Jump, ir.Return, ir.Lambda, ir.Opaque)) or (isinstance(at, ir.Unary) and at.op == "&"):
            return False
        if isinstance(at, ir.Call) or (isinstance(at, ir.Name) and at.ident == getattr(root, "ident", "")):
            return False
        if isinstance(at, ir.Local) and isinstance(at.decl, ir.Variable) and refers(at.decl.type):
            return False
        if isinstance(at, (tuple, list)):
            stack += at
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack += [getattr(at, f) for f in at.__dataclass_fields__ if f not in ("span", "full_span")]
    return isinstance(node.target, ir.Local)


def put_back(m: Machine, cell: Cell, at: int, value: Value) -> None:
    """An element is what the variable that stood for it holds."""
    whole = places.held(m, *cell)
    if isinstance(whole, Elements) and whole[at] is not value:
        typed = classes.convert(m, type_of(whole[at]), value, Span("", 1, 1, 1, 1))
        m.journal.set(*cell, _replaced(whole, [at], typed))


def unset(m: Machine, type_: Value, decl: ir.Variable, env: Env) -> Value | None:
    """What an array of numbers holds that is declared without an initialiser, if only its elements are used."""
    fn = env.frame.function if env.frame is not None else None
    if not isinstance(fn, ir.Function) or not m.dialect.by_value or not _small(type_):
        return None
    if decl.flags & {"shared", "static", "extern", "thread"} or decl.name not in only_indexed(fn):
        return None
    return _unset(m, type_, decl)


def _small(type_: Value) -> bool:
    total = 1
    while isinstance(type_, ArrayType) and type_.name in ("", std_arrays.NAME):
        if not isinstance(type_.extent, int):
            return False
        total *= type_.extent
        type_ = type_.inner
    return 0 < total <= _MOST and isinstance(type_, ScalarType) and type_.dtype.name in INTEGERS


def _unset(m: Machine, type_: Value, decl: ir.Variable) -> Value:
    if isinstance(type_, ArrayType) and isinstance(type_.extent, int):
        kind = Held if type_.name else Elements
        return kind(_unset(m, type_.inner, decl) for _ in range(type_.extent))
    return symbolic(m, type_, f"{decl.name}#{m.number()}", decl.span)


def _with(m: Machine, whole: Value, path: list[int], number: Dyn, span: Span) -> Value | None:
    if not path:  # what is static of a tuple nothing changes
        if not isinstance(whole, (Dyn, Scalar)):
            return None
        typed = type_of(whole)
        if not isinstance(typed, ScalarType) or typed.dtype.name not in INTEGERS:
            return number if isinstance(whole, Dyn) else None
        made = m.dialect.cast(typed, m.dialect.from_model(number), span)
        return made if isinstance(whole, Scalar) else m.dialect.to_model(made)
    first, *rest = path
    if not isinstance(whole, tuple) or type(whole) is Elements or not 0 <= first < len(whole):
        return None
    part = _with(m, whole[first], rest, number, span)
    return None if part is None else like(whole, (*whole[:first], part, *whole[first + 1 :]))
