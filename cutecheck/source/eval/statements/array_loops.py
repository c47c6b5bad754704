"""Loops over an array in shared memory, as loops over its indices: ``for (auto& b : barriers) b.init(1);``"""

from __future__ import annotations

from dataclasses import replace

from cutecheck.model.identity import once
from cutecheck.source.eval import ir, places
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.repeatable import changes_nothing
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import ArrayType, Pointer, Scalar

_EXTENT = "extent of range"  # no name that a program has


def by_index(m: Machine, node: ir.Loop, env: Env) -> tuple[ir.Loop, Env] | None:
    """The loop, and the variables around it; None where it is over anything else, or the extent is not known."""
    at = node.iterable
    if not m.dialect.by_value or not isinstance(at, (ir.Name, ir.Attr)) or not changes_nothing(at):
        return None
    mark = m.journal.mark()
    with m.recorder.rehearsing(), m.budget.aside():
        of = places.whole(m, at, env)
    m.journal.undo(mark)
    if not isinstance(of, Pointer) or of.space != "smem" or not isinstance(of.type, ArrayType):
        return None
    spelled = _spelled(node)
    if spelled is None or not isinstance(of.type.extent, int) or isinstance(of.type.inner, ArrayType):
        return None
    inner = Env(env, "block")
    inner.vars[_EXTENT] = Scalar(of.type.extent, "int")
    return spelled, inner


@once
def _spelled(node: ir.Loop) -> ir.Loop | None:
    """``for (int i = 0; i < extent; ++i) { auto& x = array[i]; ... }``"""
    assert node.iterable is not None
    at = ir.Name("index of range", None, node.span)
    item = ir.Index(node.iterable, (at,), node.span)
    target = node.target
    if not isinstance(target, ir.Local) or not isinstance(target.decl, ir.Variable):
        return None
    first = replace(target, decl=replace(target.decl, init=item))
    start = ir.Lit(0, "int", node.span)
    number = ir.Name("int", None, node.span)
    counter = ir.Variable(at.ident, number, start, None, frozenset(), None, node.span, node.span)
    below = ir.Binary("<", at, ir.Name(_EXTENT, None, node.span), node.span)
    step = ir.ExprStmt(ir.Unary("++", at, node.span), node.span)
    body = replace(node.body, body=(first, *node.body.body))
    return ir.Loop("for", ir.Local(counter, node.span), below, step, None, None, body, node.span)
