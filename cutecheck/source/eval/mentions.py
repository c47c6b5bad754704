"""Which names an expression or statement spells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from cutecheck.facts import Span
from cutecheck.model.identity import once
from cutecheck.source.eval import ir


def _inner(node: Any) -> Iterable[Any]:
    """The parts of a node, or of a list of nodes."""
    if isinstance(node, (tuple, list)):
        return node
    if hasattr(node, "__dataclass_fields__") and not isinstance(node, Span):
        return [getattr(node, f) for f in node.__dataclass_fields__ if f != "span"]
    return ()


_ENDS = frozenset(
    {"exit", "abort", "_Exit", "_exit", "quick_exit", "terminate", "AT_ERROR", "__trap"}
)  # the program, or the kernel, where they are C's or CUDA's


def names_end(node: Any) -> bool:
    """``exit(1);`` and the like, by name."""
    if not isinstance(node, ir.ExprStmt) or not isinstance(node.expr, ir.Call):
        return False
    return isinstance(node.expr.fn, (ir.Name, ir.Scoped)) and node.expr.fn.ident in _ENDS


def nodes_in(node: Any) -> Iterator[Any]:
    """All parts of an expression or statement, but bodies that are parsed when they are asked for."""
    stack = [node]
    while stack:
        at = stack.pop()
        yield at
        stack.extend(_inner(at))


def parts_in(node: Any) -> Iterator[Any]:
    """The nodes of an expression or statement, itself first, but bodies that are parsed when they are asked for."""
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, (tuple, list)):
            stack.extend(at)
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            yield at
            stack.extend(getattr(at, f) for f in at.__dataclass_fields__ if f not in ("span", "full_span"))


def _names(node: Any, inner: Callable[[Any], Iterable[Any]]) -> tuple[str, ...]:
    out: list[str] = []
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Name):
            out.append(at.ident)
            stack.extend(at.targs or ())
        else:
            stack.extend(inner(at))
    return tuple(dict.fromkeys(out))


@once
def names_in(node: Any) -> tuple[str, ...]:
    """Identifiers used unqualified in an expression, in order."""
    return _names(node, _inner)


ASKS = frozenset({"size", "rank", "shape", "cosize", "depth", "layout", "sizeof"})  # of a tensor, not of what is in it


@once
def names_of_contents(node: Any) -> tuple[str, ...]:
    """Those of which more is asked than how large they are."""
    return _names(node, parts_of_contents)


def parts_of_contents(node: Any) -> Iterable[Any]:
    """The parts of a node, of one that asks how large a tensor is none."""
    asks = isinstance(node, ir.Call) and isinstance(node.fn, (ir.Name, ir.Scoped)) and node.fn.ident in ASKS
    return () if asks else _inner(node)


@once
def unexpanded(pattern: Any) -> tuple[str, ...]:
    """Names in what is expanded over packs, bodies of lambdas included, but not those in expansions inside of it."""
    return _names(pattern, _inner_of_pattern)


def _inner_of_pattern(node: Any) -> Iterable[Any]:
    if isinstance(node, ir.Expand) or (isinstance(node, ir.SizeOf) and node.what == "sizeof..."):
        return ()
    if isinstance(node, ir.Fold):
        return (node.init,)
    return (node.get(),) if isinstance(node, ir.Lazy) else _inner(node)


@once
def used_otherwise(function: ir.Function) -> frozenset[str]:
    """Variables and members of which a function does more than make tensors over them, ``make_smem_ptr(s.a)``, or see
    the memory that they are as an object, ``*reinterpret_cast<Storage*>(raw)``; bodies of lambdas included."""
    out = set[str]()
    stack: list[Any] = [function]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Lazy):
            stack.append(at.get())
        elif (isinstance(at, ir.Call) and getattr(at.fn, "ident", "") == "make_smem_ptr") or _is_view(at):
            continue
        elif isinstance(at, ir.Opaque):
            out.update(at.names)
        elif isinstance(at, ir.Attr):
            out.add(at.ident)
            if not isinstance(at.base, ir.Name):
                stack.append(at.base)
        elif isinstance(at, ir.Name):
            out.add(at.ident)
        else:
            stack.extend(_inner(at))
    return frozenset(out)


def _is_view(node: Any) -> bool:
    """``*reinterpret_cast<Storage*>(raw)``, ``reinterpret_cast<Storage&>(raw)``."""
    refers = isinstance(node, ir.Cast) and isinstance(node.type, ir.TypeMod) and node.type.kind == "ref"
    cast = node.operand if isinstance(node, ir.Unary) and node.op == "*" else node if refers else None
    return isinstance(cast, ir.Cast) and isinstance(cast.operand, ir.Name)


def mentions(node: Any, names: Sequence[str]) -> bool:
    """True when an expression spells one of the names, qualified or not."""
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, (ir.Name, ir.Scoped)) and at.ident in names:
            return True
        stack.extend(_inner(at))
    return False


@once
def taken_over(decl: ir.Class) -> frozenset[str]:
    """The names of functions that a class takes over from its bases: ``using Base::name;``."""
    return frozenset(getattr(d.target, "ident", "") for d in decl.members if isinstance(d, ir.Using))
