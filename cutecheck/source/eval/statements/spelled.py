"""What statements and declarations spell that others could change: leaves, of which the evaluator asks the meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeAlias

from cutecheck.facts import Span
from cutecheck.model.identity import once
from cutecheck.records import record
from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import names_in


@record(frozen=True, slots=True)
class Given:
    """What is called with variables of others by their names."""

    fn: ir.Expr


@record(frozen=True, slots=True)
class Called:
    """What is called at all."""

    fn: ir.Expr


@record(frozen=True, slots=True)
class Reached:
    """What is called, with these variables of others somewhere in its arguments."""

    fn: ir.Expr
    names: tuple[str, ...]


@record(frozen=True, slots=True)
class Filled:
    """Of what an element is written."""

    base: ir.Expr


Leaf: TypeAlias = (
    Filled | ir.Name | ir.Scoped | ir.Attr | ir.Call | Called | Given | Reached
)  # a call: what it calls gives an element of a tensor
_COMPARES = ("==", "!=", "<=", ">=")
_STEPS = ("++", "--", "p++", "p--")


class _NotInertError(Exception):
    pass


@record(frozen=True, slots=True)
class _Own:
    """Names that a statement declares; ``shared`` of them are other names of variables outside."""

    names: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()

    def more(self, names: Iterable[str], shared: Iterable[str] = ()) -> _Own:
        names = frozenset(names)
        return _Own(self.names | names, (self.shared - names) | frozenset(shared))

    def writable(self, node: ir.Expr) -> bool:
        return isinstance(node, ir.Name) and node.ident in self.names and node.ident not in self.shared


@once
def leaves_of(node: Any) -> tuple[Leaf, ...] | None:
    """The names of a statement or declaration that it does not declare, each once; None where it may change others."""
    found: dict[str, Leaf] = {}
    try:
        if isinstance(node, (ir.Loop, ir.ExprStmt)):
            _statement(node, _Own(), found)
        elif isinstance(node, ir.Lambda):
            _expression(node, _Own(), found)
        else:
            _declaration(node, _Own(), found)
    except _NotInertError:
        return None
    return tuple(found.values())


def _declaration(node: ir.Decl, own: _Own, found: dict[str, Leaf]) -> None:
    if isinstance(node, ir.Function):
        if "kernel" in node.flags:
            raise _NotInertError
        own = _parameters(own, (*(node.tparams or ()), *node.owner_tparams), node.params, found)
        _expression((node.ret, tuple(args for _, args in node.inits)), own, found)
        if node.body is not None:
            _statement(node.body.get(), own, found, ends=True)
    elif isinstance(node, ir.Class):
        own = _parameters(own, (*(node.tparams or ()), *node.owner_tparams), (), found)
        _expression((node.spec_args, node.bases), own, found)
        for member in node.members:
            _declaration(member, own, found)
    elif isinstance(node, ir.Alias):
        own = _parameters(own, node.tparams or (), (), found)
        _expression(node.target, own, found)
    elif isinstance(node, ir.Variable):
        own = _parameters(own, node.tparams or (), (), found)
        _expression((node.type, node.init, node.init_args), own, found)
    elif not isinstance(node, (ir.Enum, ir.TopLevel)) and not (isinstance(node, ir.Using) and node.kind == "namespace"):
        raise _NotInertError


def _element_of(base: ir.Expr, own: _Own, found: dict[str, Leaf]) -> None:
    """An element of this is written: of an array of the statement's own, or of memory that nothing else lies in."""
    path = _path(base)
    first = "" if path is None else re.split("[:.]", path, maxsplit=1)[0]
    if path is None or first in own.shared:
        raise _NotInertError
    if first not in own.names:
        found.setdefault(f"{path}[", Filled(base))
    elif not own.writable(base) and not isinstance(base, ir.Attr):
        raise _NotInertError


def _parameters(own: _Own, tparams: Iterable[Any], params: tuple[ir.Param, ...], found: dict[str, Leaf]) -> _Own:
    own = own.more(t.name for t in tparams)
    for p in (*tparams, *params):
        _expression((p.type, p.default), own, found)
    return own.more((p.name for p in params), (p.name for p in params if _is_reference(p.type)))


def _is_reference(t: ir.Expr | None) -> bool:
    """A reference through which may be written."""
    return isinstance(t, ir.TypeMod) and t.kind in ("ref", "rref") and not (
        isinstance(t.inner, ir.TypeMod) and t.inner.kind == "const"
    )  # fmt: skip


def _statement(node: ir.Stmt | None, own: _Own, found: dict[str, Leaf], ends: bool = False) -> _Own:
    """Goes through a statement; the names that are declared after it. ``ends``: it may leave the function."""
    if isinstance(node, ir.Block):
        inside = own
        for stmt in node.body:
            inside = _statement(stmt, inside, found, ends)
    elif isinstance(node, ir.ExprStmt):
        _expression(node.expr, own, found)
    elif isinstance(node, ir.Local):
        decl = node.decl
        if isinstance(decl, ir.Alias) and decl.tparams is None:
            _expression(decl.target, own, found)
        elif isinstance(decl, ir.Variable) and ("static" not in decl.flags or decl.flags & {"constexpr", "const"}):
            if isinstance(decl.init, ir.Lambda) and _is_reference(decl.init.ret):
                raise _NotInertError
            _expression((decl.type, decl.init, decl.init_args), own, found)
        else:
            raise _NotInertError
        other = isinstance(decl, ir.Variable) and _is_reference(decl.type)
        return own.more((decl.name,), (decl.name,) if other else ())
    elif isinstance(node, ir.Assign):
        target = node.target
        if isinstance(target, ir.Call):  # an element of a tensor; but `x.data() = p` moves the tensor
            if isinstance(target.fn, ir.Attr) and not own.writable(target.fn.base):
                raise _NotInertError
            if isinstance(target.fn, (ir.Name, ir.Scoped)) and (_path(target.fn) or "") not in own.names:
                found.setdefault(f"{_path(target.fn)}(", target)
        elif isinstance(target, ir.Index):
            _element_of(target.base, own, found)
        elif not own.writable(target):
            raise _NotInertError
        _expression((target, node.value), own, found)
    elif isinstance(node, ir.If):
        inside = _statement(node.init, own, found, ends)
        _expression(node.cond, inside, found)
        _statement(node.then, inside, found, ends)
        _statement(node.other, inside, found, ends)
    elif isinstance(node, ir.Loop) and node.kind != "foreach":
        inside = _statement(node.init, own, found, ends)
        _expression(node.cond, inside, found)
        _statement(node.step, inside, found, ends)
        _statement(node.body, inside, found, ends)
    elif isinstance(node, ir.Return) and ends:
        _expression(node.value, own, found)
    elif isinstance(node, ir.Assert):
        _expression(node.cond, own, found)
    elif node is not None and not (isinstance(node, ir.Jump) and node.kind in ("break", "continue")):
        raise _NotInertError
    return own


def _expression(node: Any, own: _Own, found: dict[str, Leaf]) -> None:
    """Goes through an expression, or several of them."""
    if isinstance(node, ir.Name):
        if node.ident not in own.names:
            found.setdefault(node.ident, node)
        _expression(node.targs, own, found)
    elif isinstance(node, (ir.Scoped, ir.Attr)):
        path = _path(node)
        if path is None:  # of what something else gives
            _expression(node.base, own, found)
        elif path.split(":", 1)[0].split(".", 1)[0] not in own.names:
            found.setdefault(path, _plain(node))
        _expression(node.targs, own, found)
    elif isinstance(node, ir.Lambda):
        inside = _parameters(own, node.tparams, node.params, found)
        _statement(node.body.get(), inside, found, ends=True)
    elif _writes(node, own):
        raise _NotInertError
    elif isinstance(node, ir.Binary) and node.op == ">>" and _lends(node.right, own):  # of a stream, perhaps
        if (path := _path(node.left)) is not None:
            found.setdefault(f"{path}>>", Given(node.left))
        elif isinstance(node.left, ir.Call) or (isinstance(node.left, ir.Binary) and node.left.op == ">>"):
            raise _NotInertError
        _expression((node.left, node.right), own, found)
    elif isinstance(node, ir.Call):
        called = _path(node.fn)
        if called is not None and re.split("[:.]", called, maxsplit=1)[0] not in own.names:
            found.setdefault(f"{called}()", Called(node.fn))
        if any(_lends(a.value, own) for a in node.args) and not any(_is_blank(a.value) for a in node.args):
            path = _path(node.fn)
            if path is None or re.split("[:.]", path, maxsplit=1)[0] in own.names:
                raise _NotInertError
            found.setdefault(f"{path}(&", Given(node.fn))
        others = tuple(dict.fromkeys(n for a in node.args for n in names_in(a.value) if n not in own.names))
        if others:
            found.setdefault(f"{_path(node.fn)}({','.join(others)}", Reached(node.fn, others))
        _expression((node.fn, node.args), own, found)
    elif isinstance(node, (tuple, list)):
        for item in node:
            _expression(item, own, found)
    elif hasattr(node, "__dataclass_fields__") and not isinstance(node, Span):
        for field in node.__dataclass_fields__:
            _expression(getattr(node, field), own, found)


def _lends(node: ir.Expr, own: _Own) -> bool:
    """A variable that is not the statement's own, or a part of it, is given by its name."""
    while isinstance(node, (ir.Attr, ir.Index)):
        node = node.base
    return isinstance(node, (ir.Name, ir.Scoped)) and not own.writable(node)


def _is_blank(node: ir.Expr) -> bool:
    return isinstance(node, ir.Name) and node.ident == "_"


def _writes(node: Any, own: _Own) -> bool:
    """Whether an expression writes a variable, or does what may."""
    if isinstance(node, ir.Unary):
        element = node.op == "&" and isinstance(node.operand, (ir.Call, ir.Index))
        return node.op in ("&", *_STEPS) and not element and not own.writable(node.operand)
    if isinstance(node, ir.Binary):
        return node.op[-1] == "=" and node.op not in _COMPARES
    if isinstance(node, ir.Call):
        return node.launch is not None
    if isinstance(node, ir.Opaque):
        return node.written is None or bool(node.written) or node.memory
    return isinstance(node, (ir.Expand, ir.Fold, ir.Comprehension))


def _path(node: ir.Expr | None) -> str | None:
    """How names and members without template arguments on the way spell; None for anything else."""
    if isinstance(node, ir.Name):
        return node.ident
    if not isinstance(node, (ir.Scoped, ir.Attr)):
        return None
    base = node.base
    if base is None:
        return f"::{node.ident}"
    if isinstance(base, (ir.Name, ir.Scoped, ir.Attr)) and base.targs is None:
        before = _path(base)
        return None if before is None else f"{before}{'::' if isinstance(node, ir.Scoped) else '.'}{node.ident}"
    return None


def _plain(node: ir.Scoped | ir.Attr) -> Leaf:
    if isinstance(node, ir.Attr):
        return ir.Attr(node.base, node.ident, None, node.span)
    return ir.Scoped(node.base, node.ident, None, node.span)
