"""Functions that the scanned files do not declare: what they are given by name they may write.

``helper(x)`` of a header that is not there may take an ``int&``. Told apart are functions that are known by their names
to write no such argument: those of C, of CUDA, and of CuTe and CUTLASS where their headers are missing, and methods of
their classes. A variable that is a constant where it is named cannot be written by any, and one that holds a function
is taken not to be: what is given a kernel (``set_smem_size(bytes, kernel)``) asks or sets something of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.basis import Underscore
from cutecheck.source.eval import classes, ir, leaks, losses, places, qualifiers
from cutecheck.source.eval.foreign_names import CUTE, CUTLASS, MATH, METHODS, OF_C, STANDARD
from cutecheck.source.eval.scope import Env, self_of
from cutecheck.source.eval.values import (
    Extern,
    ExternType,
    FuncSet,
    Object,
    ObjectPointer,
    Pointer,
    Reference,
    TemplateRef,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


# names of the compiler, and of interfaces for C, which has no references
_INTERFACE = re.compile(
    r"__|(cuda|cublas|cudnn|cusparse|nvtx|nccl|curand|nvrtc|nvml|cu)[A-Z]|cublasLt[A-Z]|curand_|ncclGet"
)
_ASSERTION = re.compile(r"[A-Z\d_]*(CHECK|ASSERT|EXPECT|ENFORCE)[A-Z\d_]*$")  # a macro of a header that is not there
_VECTOR = re.compile(
    r"(make_)?((u?(char|short|int|long|longlong)|float|double|half|bfloat16)[1-4]|u?int(8|16|32|64)_t|size_t)$"
)
_OF_LIBRARIES = CUTE | CUTLASS | STANDARD
OF_TENSORS = ("torch", "at", "c10")  # whose functions take what they change by names that end with an underscore
_FOUND_BY_ARGUMENTS = ("device_of",)  # functions of these that are called without naming them
_LIBRARIES = ("std", "cute", "cutlass", "thrust", "cuda", "torch")


def harmless(node: ir.Expr, fn: Value) -> bool:
    """Whether a function that is not declared is known to write none of its arguments that are plain variables."""
    name = getattr(node, "ident", "")
    if isinstance(node, ir.Attr):
        return name in METHODS
    root = fn.name.rpartition("::")[0].split("::", 1)[0] if isinstance(fn, ExternType) else _root(node)
    if root:
        if root in OF_TENSORS and makes_tensors(name):
            return True
        return root in _LIBRARIES and (name in MATH or name in OF_C or name in _OF_LIBRARIES)
    if _INTERFACE.match(name) or _VECTOR.match(name) or _ASSERTION.match(name):
        return True
    if name in MATH or name in OF_C or name in CUTE or name in _FOUND_BY_ARGUMENTS:
        return True
    return name in CUTLASS if "_" in name else name[-1:] in ("f", "l") and name[:-1] in MATH


def makes_tensors(name: str) -> bool:
    """Whether a function of PyTorch's leaves the tensors alone that it is given."""
    return not name.endswith(("_", "_out")) and name not in ("load", "swap")


def _root(node: ir.Expr) -> str:
    """The outermost name of a qualified one."""
    at = node.base if isinstance(node, ir.Scoped) else None
    while isinstance(at, ir.Scoped) and at.base is not None:
        at = at.base
    return getattr(at, "ident", "")


def may_write(
    m: Machine, called: ir.Expr, given_as: tuple[ir.Arg, ...], fn: Value, args: list[Value], env: Env, span: Span
) -> None:
    """What a function of a library or of a header that is not there may have written of what it was given by name."""
    if harmless(called, fn):
        return
    m.recorder.loses_sight(span)
    if not args:
        return
    if any(isinstance(a, Underscore) for a in args):
        return  # a part of a tensor that is not known
    cells = places.of_arguments(m, args)
    plain = len(args) == len(given_as)
    by_value = _by_value(m, fn, len(args)) if isinstance(called, _held(fn)) else frozenset()
    for i, value in enumerate(args):
        if i in by_value:
            continue
        given = given_as[i].value if plain else None
        where = cells[i] if i < len(cells) else None
        if isinstance(value, (FuncSet, TemplateRef)) or (given is not None and not writable(m, given, env)):
            continue
        if isinstance(value, Object):
            losses.lose(m, value, value.cls.name, span)
            leaks.leak_place(m, value, None)
            if value.pointer is not None:
                losses.lost_seen(m, None, span)
        elif isinstance(value, ObjectPointer):
            losses.lose(m, value.to, value.to.cls.name, span)
        elif where is not None:
            losses.lost_under(m, value, span)
            leaks.leak_place(m, value, where)
            if not _is_array(given, value, env):
                losses.forget_cells(m, where, span)
        elif isinstance(given, ir.Index) or getattr(getattr(given, "fn", None), "ident", "") == "get":
            assert given is not None
            losses.lost(m, given, env)


def _held(fn: Value) -> tuple[type[ir.Expr], ...]:
    """How a function is named that something holds; the method of a library's object is none."""
    return (ir.Index, ir.Call) if isinstance(fn, Extern) else (ir.Attr, ir.Index, ir.Call, ir.Name)


def _by_value(m: Machine, fn: Value, count: int) -> frozenset[int]:
    """The arguments that a function of a table gets by value: all do whose addresses were taken of as many."""
    if not isinstance(fn, (Unknown, Extern)) or not m.recorder.on_host():
        return frozenset()
    decls = [entry.decl for value, _, _ in m.history.named.values() for entry in value.entries]
    met = [d.params for d in decls if isinstance(d, ir.Function) and len(d.params) == count]
    if not met or any(p.pack or p.type is None for params in met for p in params):
        return frozenset()
    return frozenset(i for i in range(count) if not any(qualifiers.refers(params[i].type) for params in met))


def _is_array(given: ir.Expr | None, value: Value, env: Env) -> bool:
    """The name of an array none of whose elements is followed: it starts where it does, whatever is written there."""
    if not isinstance(given, ir.Name) or not isinstance(value, Pointer):
        return False
    at = env.find_var(given.ident)
    if at is None or at.types is None or at.vars.get(given.ident) is not value:
        return False
    declared = at.types.get(given.ident)
    return declared is not None and isinstance(declared[0], ir.TypeMod) and declared[0].kind == "array"


def read_into(m: Machine, given: ir.Expr, env: Env) -> None:
    """``stream >> x``."""
    cells = places.again(m, given, env)
    if cells is not None and writable(m, given, env):
        losses.forget_cells(m, cells, given.span)
    elif isinstance(given, ir.Index):
        losses.lost(m, given, env)


def undeclared(fn: Value) -> bool:
    """A function that the scanned files do not declare."""
    return isinstance(fn, (Unknown, Extern, ExternType))


def writable(m: Machine, node: ir.Expr, env: Env) -> bool:
    """Whether what an expression names may be written through a reference to it."""
    if isinstance(node, ir.Name):
        at = env.find_var(node.ident)
        if at is not None:
            if at.kind == "template":
                return _refers(at.vars[node.ident], node.ident, env)
            return at.fixed is None or node.ident not in at.fixed
        this = self_of(env)
        if this is None:
            return True
        function = env.frame.function if env.frame is not None else None
        if function is not None and "const" in function.flags:
            return False
        return not any(d.name == node.ident and qualifiers.never_written(d) for _, d in classes.fields(m, this.cls))
    if isinstance(node, ir.Attr):
        return not isinstance(node.base, (ir.Name, ir.Attr)) or _holds(m, node.base, env) or writable(m, node.base, env)
    if isinstance(node, ir.Index):
        return not isinstance(node.base, (ir.Name, ir.Attr)) or writable(m, node.base, env)
    return not isinstance(node, (ir.Lit, ir.Binary))


def _refers(value: Value, name: str, env: Env) -> bool:
    """Whether a template parameter is a reference (``template <int& R>``); any other is a constant."""
    this = self_of(env)
    templates: list[ir.Function | ir.Class] = [] if this is None else [this.cls.decl]
    if env.frame is not None and isinstance(env.frame.function, ir.Function):
        templates.append(env.frame.function)
    declared = (p.type for t in templates for p in t.tparams or () if p.name == name)
    return isinstance(value, Reference) or any(t is not None and qualifiers.refers(t) for t in declared)


def _holds(m: Machine, node: ir.Expr, env: Env) -> bool:
    """A pointer: it may be a constant that what it points to is not."""
    cells = places.again(m, node, env)
    return cells is None or not isinstance(places.read(m, cells), (Object, tuple))
