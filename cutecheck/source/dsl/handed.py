"""Functions that a program hands to a library which is not read: timers of benchmarks, pools and threads call them.

One that needs no arguments is walked where it is handed over, and ``Thread(target=f, args=(...))`` with those; what it
writes may be written or not. With which arguments a library calls another is not known, and nothing is said of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.source.dsl.values import Partial
from cutecheck.source.eval import ir
from cutecheck.source.eval.statements.branches import perhaps_run
from cutecheck.source.eval.values import Closure, FuncSet, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def call_handed(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> None:
    """Walk what a call of a library hands over."""
    from cutecheck.source.dsl.functions import apply, on_device

    given = [*args, *kwargs.values()]
    if not any(isinstance(v, (Closure, FuncSet, Partial)) for v in given) or on_device(m):
        return
    target, with_ = kwargs.get("target"), kwargs.get("args", ())
    for fn in given:
        more = list(with_) if fn is target and isinstance(with_, (tuple, list)) else []
        if _takes(fn, len(more)):
            perhaps_run(m, lambda fn=fn, more=more: apply(m, fn, more, {}, span), span)  # type: ignore[misc]


def _takes(fn: Value, count: int) -> bool:
    """Whether a function of the tree can be called with so many arguments by position."""
    names: tuple[str, ...] = ()
    if isinstance(fn, Partial):
        names, count, fn = tuple(k for k, _ in fn.kwargs), count + len(fn.args), fn.fn
    if isinstance(fn, Closure):
        params = fn.node.params
    elif isinstance(fn, FuncSet):
        decl: ir.Function = fn.entries[-1].decl
        if "kernel" in decl.flags:
            return False
        params, count = decl.params, count + (fn.self_ is not None)
    else:
        return False
    places = [p for p in params if p.kind in ("normal", "positional")]
    if len(places) < count and not any(p.kind == "varargs" for p in params):
        return False
    wanted = [*places[count:], *(p for p in params if p.kind == "keyword")]
    return all(p.default is not None or p.name in names for p in wanted)
