"""Assignments to elements of tuples and arrays: ``get<1>(shape) = n``, ``a[1] = n``."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model.expr import ANY
from cutecheck.model.identity import once
from cutecheck.model.integers import INTEGERS
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import foreign, ir, losses, places, repeatable, slots, std_arrays, tensor_arrays, writes
from cutecheck.source.eval.classes import construct
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.threads import some
from cutecheck.source.eval.tuples import FIRST_AND_SECOND, Elements, Held, Pair, like
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import (
    LAUNCH_ATTRIBUTE,
    ArrayType,
    Closure,
    FuncSet,
    Intrinsic,
    PtrType,
    Scalar,
    ScalarType,
    Value,
    constant,
)

_MOST = 64  # numbers of an array that is followed without an initialiser


def write(m: Machine, target: ir.Expr, value: Value, env: Env, span: Span) -> bool:
    """Write a number to a run-time element of a tuple that one variable holds; False where it is anything else."""
    path: list[int] = []
    while isinstance(target, ir.Call) or (isinstance(target, ir.Attr) and target.ident in FIRST_AND_SECOND):
        if isinstance(target, ir.Attr):
            if not repeatable.quiet(target.base) or not isinstance(places.whole(m, target.base, env), Pair):
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
    if not path or not repeatable.quiet(target):
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
    writes.store(m, *cells[0], changed, span)
    return True


def gotten(m: Machine, node: ir.Call, env: Env) -> places.Cells | None:
    """The cell of a tuple's element that ``get<1>(tensors)`` names."""
    if len(node.args) != 1 or not repeatable.quiet(node.args[0].value):
        return None
    fn = m.eval(node.fn, env) if isinstance(node.fn, (ir.Name, ir.Scoped)) else None
    if not isinstance(fn, Intrinsic) or fn.name != "get" or fn.self_ is not None or len(fn.targs or ()) != 1:
        return None
    return slots.part(m, places.again(m, node.args[0].value, env), (fn.targs or ())[0])


@once
def only_indexed(fn: ir.Function) -> dict[str, tuple[ir.Expr, ...]]:
    """Names of arrays that a function declares and uses by their elements alone, or gives to functions, with these."""
    declared: set[str] = set()
    given: dict[str, list[ir.Expr]] = {}
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
            stack += [at.target, at.body, *([] if isinstance(at.iterable, ir.Name) else [at.iterable])]
        elif isinstance(at, ir.Unary) and at.op == "&":
            stack += names_in(at.operand) and [ir.Name(n, None, at.span) for n in names_in(at.operand)]
        elif isinstance(at, ir.Call):
            stack += [at.fn, at.launch]
            for a in at.args:
                name = _root(a.value)
                if name:
                    given.setdefault(name, []).append(at.fn)
                stack += _indices(a.value) if name else [a.value]
        elif isinstance(at, ir.Lazy):
            stack.append(at.get())
        elif isinstance(at, ir.Opaque):
            used.update(at.names)
        elif isinstance(at, (tuple, list)):
            stack += at
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack += [getattr(at, f) for f in at.__dataclass_fields__ if f not in ("span", "full_span")]
    return {name: tuple(given.get(name, ())) for name in declared - used}


def _root(node: ir.Expr) -> str:
    """The array of ``a``, ``a[i]`` or ``&a[i]``."""
    if isinstance(node, ir.Unary) and node.op == "&" and isinstance(node.operand, ir.Index):
        node = node.operand
    while isinstance(node, ir.Index):
        node = node.base
    return node.ident if isinstance(node, ir.Name) else ""


def _indices(node: ir.Expr) -> list[ir.Expr]:
    """The ``i`` of these."""
    found: list[ir.Expr] = []
    while isinstance(node, (ir.Unary, ir.Index)):
        found += node.args if isinstance(node, ir.Index) else ()
        node = node.base if isinstance(node, ir.Index) else node.operand
    return found


def _goes_through(m: Machine, fn: ir.Expr, env: Env, pointers: bool) -> bool:
    """What is called is a function of the tree, or a lambda; one of CuTe's writes no pointer that it is given.

    Nor does a function of a library that is known to write no variable.
    """
    if not isinstance(fn, (ir.Name, ir.Scoped)):
        return False
    with m.recorder.rehearsing(), m.budget.aside():
        value = m.eval(fn, env)
    if isinstance(value, Closure) or (pointers and isinstance(value, Intrinsic)):
        return True
    if foreign.undeclared(value) and pointers:
        return m.dialect.writes_nothing(value) or foreign.harmless(fn, value)
    return isinstance(value, FuncSet) and all(e.decl.body is not None for e in value.entries)


def unset(m: Machine, type_: Value, decl: ir.Variable, env: Env) -> Value | None:
    """What an array of numbers holds that is declared without an initialiser, if only its elements are used."""
    fn = env.frame.function if env.frame is not None else None
    if not isinstance(fn, ir.Function) or not m.dialect.by_value or not _small(type_):
        return None
    if isinstance(type_, ArrayType) and _is_attribute(type_.inner):
        return _unset(m, type_, decl)
    given = only_indexed(fn).get(decl.name)
    if decl.flags & {"shared", "static", "extern", "thread"} or given is None:
        return None
    inner = tensor_arrays.innermost(type_)
    pointers = isinstance(type_, ArrayType) and (isinstance(type_.inner, PtrType) or tensor_arrays.is_view(inner))
    if not all(_goes_through(m, called, env, pointers) for called in given):
        return None
    return _unset(m, type_, decl)


def _small(type_: Value) -> bool:
    total = 1
    while isinstance(type_, ArrayType) and type_.name in ("", std_arrays.NAME):
        if not isinstance(type_.extent, int):
            return False
        total *= type_.extent
        type_ = type_.inner
    number = _is_attribute(type_) or (isinstance(type_, ScalarType) and type_.dtype.name in INTEGERS)
    pointer = isinstance(type_, PtrType) or tensor_arrays.is_view(type_)  # the stages of buffers
    return 0 < total <= _MOST and (number or pointer)


def _is_attribute(type_: Value) -> bool:
    """Attributes of launches, which the host fills one by one, and then gives to the runtime by a pointer."""
    return isinstance(type_, ClassInst) and type_.decl.name == LAUNCH_ATTRIBUTE


def _unset(m: Machine, type_: Value, decl: ir.Variable) -> Value:
    if isinstance(type_, ArrayType) and isinstance(type_.extent, int):
        kind = Held if type_.name else Elements
        return kind(_unset(m, type_.inner, decl) for _ in range(type_.extent))
    if _is_attribute(type_):
        return construct(m, type_, [], [], decl.span)
    if tensor_arrays.is_view(type_):
        return tensor_arrays.unset(m, type_, decl.name)
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
