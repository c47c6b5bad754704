"""Calls by host code that are not walked, since they can come to nothing."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.model.identity import once
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_end, nodes_in
from cutecheck.source.eval.overloads import Candidate
from cutecheck.source.eval.qualifiers import is_auto
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.unwalked import writable
from cutecheck.source.eval.values import ExternType, ScalarType, Value, VoidType

_NO_EXTENT = ("bool", "float", "double")  # what no layout is made of


def leaves_out(m: Machine, best: Candidate, args: list[Value]) -> bool:
    """Whether a call of a function that is no method can come to nothing."""
    return m.recorder.on_host() and (_chore(m, best, args) or _no_change(m, best))


def _no_change(m: Machine, best: Candidate) -> bool:
    """Whether a call walked to find what it changes, leaving no facts, gets copies alone and gives nothing."""
    fn = best.fn
    if not m.recorder.rehearses() or fn.flags & {"kernel", "constexpr"} or best.entry.env.cls is not None:
        return False
    if any(writable(p) for p in fn.params) or fn.ret is None or is_auto(fn.ret):
        return False
    return fn.name == "main" or isinstance(m.eval(fn.ret, best.env), VoidType)


def _chore(m: Machine, best: Candidate, args: list[Value]) -> bool:
    """Whether a call gives nothing and says nothing of CuTe (source/chores.py)."""
    fn = best.fn
    if best.entry.env.cls is not None or fn.flags & {"kernel", "constexpr"} or any(writable(p) for p in fn.params):
        return False
    if fn.ret is None or is_auto(fn.ret) or (fn.body is not None and _states(fn.body.get())):
        return False
    typed = m.eval(fn.ret, best.env)
    if not isinstance(typed, VoidType) and not (isinstance(typed, ScalarType) and typed.dtype.name in _NO_EXTENT):
        return False
    targs = best.env.vars.values()
    if any(isinstance(a, (Unknown, ExternType)) for a in targs):  # may be an atom that is not known
        return False
    return m.history.chore(best.entry, fn, (*targs, *args))


@once
def _states(body: ir.Block) -> bool:
    """Whether a short body, without loops, can say of its caller's numbers what divides them (record/ways.py)."""
    found = False
    for node in nodes_in(body):
        if isinstance(node, ir.Loop):
            return False
        remainder = isinstance(node, ir.Binary) and node.op in ("%", "&")
        asks = isinstance(node, ir.Attr) and node.ident == "is_contiguous"
        found = found or remainder or asks or isinstance(node, ir.Assert) or names_end(node)
    return found


def result(m: Machine, fn: ir.Function, env: Env, span: Span) -> Value:
    """Some value of the type that a function returns."""
    typed = m.eval(fn.ret, env) if fn.ret is not None else None
    if isinstance(typed, ScalarType):
        return symbolic(m, typed, f"{fn.name}(){PER_THREAD}{m.number()}", span)
    return m.dialect.no_value(span)
