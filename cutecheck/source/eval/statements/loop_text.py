"""What the text of a loop says of it: whether it ends, runs once, goes on early, prints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutecheck.model.identity import once
from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import names_in

_PRINTS = frozenset({"printf", "fprintf", "puts", "putchar", "cout", "cerr"})


@once
def written_once(node: ir.Loop) -> ir.If | ir.Loop:
    """A loop that ends after its first iteration: ``if (cond) do { body; step; } while (0)``."""
    never = ir.Lit(False, "bool", node.span)
    body = node.body if node.step is None else ir.Block((node.body, node.step), node.span)
    single = ir.Loop("do", None, never, None, None, None, body, node.span)
    return (
        single
        if node.kind == "do" or node.cond is None
        else ir.If(node.cond, ir.Block((single,), node.span), None, False, node.span)
    )


@once
def by_iterators(node: ir.Loop) -> ir.Block | None:
    """``for (auto x : range)`` over an object: ``for (auto i = range.begin(), e = range.end(); i != e; ++i)``."""
    at, end, of = (ir.Name(f"{name} of range", None, node.span) for name in ("begin", "end", "object"))
    item = ir.Unary("*", at, node.span)
    target = node.target
    if isinstance(target, ir.Local) and isinstance(target.decl, ir.Variable):
        first: ir.Stmt = replace(target, decl=replace(target.decl, init=item))
    elif isinstance(target, ir.Bind):
        first = replace(target, value=item)
    else:
        return None
    auto = ir.Auto(node.span)

    def made(name: ir.Name, type_: ir.Expr, value: ir.Expr) -> ir.Stmt:
        variable = ir.Variable(name.ident, type_, value, None, frozenset(), None, node.span, node.span)
        return ir.Local(variable, node.span)

    def asked(method: str) -> ir.Expr:
        return ir.Call(ir.Attr(of, method, None, node.span), (), node.span)

    assert node.iterable is not None
    step = ir.ExprStmt(ir.Unary("++", at, node.span), node.span)
    body = replace(node.body, body=(first, *node.body.body))
    loop = ir.Loop("for", None, ir.Binary("!=", at, end, node.span), step, None, None, body, node.span)
    whole = made(of, ir.TypeMod("rref", auto, node.span), node.iterable)
    return ir.Block((whole, made(at, auto, asked("begin")), made(end, auto, asked("end")), loop), node.span)


def is_endless(node: ir.Loop) -> bool:
    """``for (;;)``, ``while (true)``: what its body says ends it."""
    return node.cond is None or (isinstance(node.cond, ir.Lit) and bool(node.cond.value))


def runs_once(node: ir.Loop) -> bool:
    """``do { ... } while (0)``, what macros are made of; a ``continue`` of its own is left to loops."""
    return node.kind == "do" and isinstance(node.cond, ir.Lit) and not node.cond.value and not continues(node.body)


@once
def continues(node: Any) -> bool:
    """Whether a ``continue`` of the loop itself stands in its body."""
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Jump):
            if at.kind == "continue":
                return True
        elif isinstance(at, (tuple, list)):
            stack.extend(at)
        elif isinstance(at, (ir.Block, ir.If, ir.Switch, ir.Case)):
            stack.extend(getattr(at, f) for f in ("body", "then", "other", "cases") if hasattr(at, f))
    return False


@once
def advances(node: ir.Loop) -> bool:
    """Whether the passes of a loop do nothing but move states of pipelines on."""
    body = node.body.body
    calls = [s.expr for s in body if isinstance(s, ir.ExprStmt) and isinstance(s.expr, ir.Call)]
    return 0 < len(calls) == len(body) and all(isinstance(c.fn, ir.Attr) and c.fn.ident == "advance" for c in calls)


def leaves(body: ir.Stmt) -> bool:
    """Whether a pass of a loop ends with a statement that leaves it: ``while (true) { ...; break; }``."""
    while isinstance(body, ir.Block) and body.body:
        body = body.body[-1]
    return isinstance(body, ir.Return) or (isinstance(body, ir.Jump) and body.kind == "break")


def prints(node: ir.Loop) -> bool:
    """No constant is made by what prints, also in a constexpr function: it need not be run exactly."""
    return not _PRINTS.isdisjoint(names_in(node.body))
