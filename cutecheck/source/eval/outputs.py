"""What a kernel is given that it may write: pointers to what is no constant, and tensors over them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cutecheck.facts import Span
from cutecheck.model.identity import once
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import Layout
from cutecheck.source.eval import ir
from cutecheck.source.eval.values import Object, Pointer, Scalar, TensorVal, Value

_OVER = frozenset({"make_gmem_ptr", "make_tensor"})
_MOST = 4096  # parts of what a kernel is given
_SHOWS = frozenset({"printf", "print", "print_tensor", "print_latex", "clock", "clock64"})


@dataclass(frozen=True, slots=True)
class Outputs:
    """Parameters that lead to global memory, with their buffers: ``written`` may be, ``constant`` may not."""

    written: tuple[tuple[ir.Param, str], ...]
    constant: frozenset[str]


def outputs(fn: ir.Function, args: Sequence[Value]) -> Outputs | None:
    """None where not all that a kernel may write is known by its parameters, or it is one that shows something."""
    named = _names(fn)
    written: list[tuple[ir.Param, str]] = []
    constant: set[str] = set()
    for p, value in zip(fn.params, args, strict=False):
        if isinstance(value, Object) and (value.fields or value.pointer is not None):
            return None  # there may be pointers in it
        pointer = value.pointer if isinstance(value, TensorVal) else value
        if isinstance(pointer, Pointer):
            if isinstance(value, Pointer) and _to_constant(p.type):
                constant.add(pointer.buffer)
            elif isinstance(value, TensorVal) or p.name not in named.otherwise:
                written.append((p, pointer.buffer))
            else:
                return None
        elif not _is_plain(value):
            return None
    if len(fn.params) != len(args) or any(p.name not in named.every for p, _ in written):
        return None
    return Outputs(tuple(written), frozenset(constant))


def numbers(args: Sequence[Value]) -> frozenset[str]:
    """The run-time numbers that a kernel is given, alone, in objects or as extents and strides."""
    found: set[str] = set()
    todo: list[Any] = [*args]
    met = 0
    while todo and met < _MOST:
        value, met = todo.pop(), met + 1
        if isinstance(value, Object):
            todo += value.fields.values()
        elif isinstance(value, (TensorVal, Scalar)):
            todo.append(value.layout if isinstance(value, TensorVal) else value.value)
        elif isinstance(value, Layout):
            todo += [value.shape, value.stride]
        elif isinstance(value, tuple):
            todo += value
        elif isinstance(value, Dyn):
            found |= {v.name for v in value.expr.variables()}
    return frozenset(found)


def _is_plain(value: Value) -> bool:
    """A number, layout, or another value of the library."""
    return type(value).__module__.startswith("cutecheck.model") or type(value).__name__ in ("Scalar", "int", "tuple")


def _to_constant(t: ir.Expr | None) -> bool:
    while isinstance(t, ir.TypeMod) and t.kind in ("const", "volatile"):
        t = t.inner
    if not isinstance(t, ir.TypeMod) or t.kind not in ("ptr", "array"):
        return False
    inner = t.inner
    while isinstance(inner, ir.TypeMod) and inner.kind == "volatile":
        inner = inner.inner
    return isinstance(inner, ir.TypeMod) and inner.kind == "const"


@dataclass(frozen=True, slots=True)
class _Names:
    """``every`` name that a function's body spells; ``otherwise``: for more than to make tensors over it."""

    every: frozenset[str]
    otherwise: frozenset[str]
    shows: bool
    stores: bool  # to what is neither its own nor a parameter of its
    scoped: frozenset[str]  # names of namespaces and classes
    moves: bool  # the start of a tensor is assigned to: `acc.data() = ...`
    opaque: bool  # something is not read, as assembly


@once
def _names(fn: ir.Function) -> _Names:
    every, otherwise, over, scoped = set[str](), set[str](), set[str](), set[str]()
    own = {p.name for p in fn.params}
    assigned = set[str]()
    shows = moves = opaque = False
    stack: list[tuple[Any, bool]] = [(fn.body, False)]
    while stack:
        at, within = stack.pop()
        if isinstance(at, ir.Lazy):
            stack.append((at.get(), False))
        elif isinstance(at, ir.Opaque):
            every.update(at.names)
            otherwise.update(at.names)
            opaque = True
        elif isinstance(at, ir.Name):
            every.add(at.ident)
            shows = shows or at.ident in _SHOWS
            (over if within else otherwise).add(at.ident)
        elif isinstance(at, ir.Scoped):
            shows = shows or at.ident in _SHOWS
            scoped.add(at.ident)
        elif isinstance(at, ir.Call) and getattr(at.fn, "ident", "") in _OVER:
            stack += [(a.value, i == 0) for i, a in enumerate(at.args)]
        elif isinstance(at, (tuple, list)):
            stack += [(x, within) for x in at]
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            if isinstance(at, ir.Assign) and not isinstance(at.target, ir.Name):
                assigned.add(_root(at.target))
                moves = moves or _is_start(at.target)
            own.update(_declared(at))
            through = within and isinstance(at, (ir.Cast, ir.Binary))
            stack += [(getattr(at, f), through) for f in at.__dataclass_fields__ if f not in ("span", "full_span")]
    return _Names(frozenset(every), frozenset(otherwise), shows, not assigned <= own, frozenset(scoped), moves, opaque)


def _is_start(node: ir.Expr) -> bool:
    return isinstance(node, ir.Call) and isinstance(node.fn, ir.Attr) and node.fn.ident == "data"


def _root(node: Any) -> str:
    """The variable of which an element or a member is assigned to."""
    while not isinstance(node, ir.Name):
        inner = next((getattr(node, f) for f in ("base", "fn", "operand", "left") if hasattr(node, f)), None)
        if inner is None or isinstance(inner, str):
            return ""
        node = inner
    return node.ident


def _declared(node: Any) -> set[str]:
    """Names of variables and parameters that a statement or lambda declares."""
    if isinstance(node, ir.Local):
        return {getattr(node.decl, "name", "")}
    if isinstance(node, ir.Bind):
        return set(node.names)
    if isinstance(node, ir.Param):
        return {node.name}
    return set()


def quiet(functions: Iterable[ir.Function]) -> bool:
    """Whether these functions show nothing, and store to nothing that is theirs or that they are not given."""
    return not any(_names(f).shows or _names(f).stores for f in functions)


# what tells blocks apart but for their indices, in the whole grid
_NUMBERED = re.compile(
    r"cluster_id_in_grid|cluster_grid_dims|this_grid|grid_group|block_index|group_index|atomic|ctaid|clusterid|"
    r"in_cluster|block_rank|cluster_ctarank|[Ss]cheduler"
)


def elsewhere(functions: Iterable[ir.Function]) -> bool:
    """Whether these may know their block otherwise than by ``blockIdx``: by a counter, a scheduler, or its cluster."""
    return any(_NUMBERED.search(name) for f in functions for name in _names(f).every | _names(f).scoped)


_OF_LIBRARY = re.compile(r"(?:^|/)(?:cute|cutlass)/")
_ALLOCATES = re.compile(r"alloc|tmem_?(?:base|ptr|pointer|addr|start)", re.IGNORECASE)


def allocates(functions: Iterable[ir.Function]) -> bool:
    """Whether these may allocate tensor memory, or are given some: by names that they spell, as accumulators whose
    start is assigned to, or by assembly of the program's own."""
    for f in functions:
        names = _names(f)
        if names.moves or (names.opaque and not _OF_LIBRARY.search(f.span.path)):
            return True
        if any(_ALLOCATES.search(name) for name in names.every | names.scoped):
            return True
    return False
