"""``std::swap`` and ``std::exchange``: functions of the library that write what they are given, and nothing else."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.source.eval import copies, ir, places, repeatable
from cutecheck.source.eval.lookup import member, missing
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.assignments import put
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.values import Extern, ExternType, Object, Value

_SWAP = frozenset({"std::swap", "cuda::std::swap"})
_EXCHANGE = frozenset({"std::exchange", "cuda::std::exchange"})


def exchanged(
    m: Machine, node: ir.Call, fn: Value, args: list[Value], cells: list[places.Cells | None], env: Env
) -> Value | None:
    """The value of such a call, once it has written; None of all others, and of what cannot be followed."""
    name = fn.name if isinstance(fn, ExternType) and m.dialect.by_value else ""
    if (name not in _SWAP and name not in _EXCHANGE) or len(args) != 2 or len(node.args) != 2 or len(cells) < 1:
        return None
    targets = [a.value for a in node.args[: 2 if name in _SWAP else 1]]
    where = [*cells, None][:2]
    if any(c is None and not repeatable.quiet(t) for t, c in zip(targets, where, strict=False)):
        return None
    if not all(_plain(m, v) for v in args):
        return None
    held = [copies.copied(m, v) for v in args]
    for i, target in enumerate(targets):
        put(m, target, args[i], where[i], held[1 - i], env, node.span)
    return Extern(f"{name}(...)", node.span) if name in _SWAP else held[0]


def _plain(m: Machine, value: Value) -> bool:
    """A value that copies move as it is: no object that says itself what assignments to it do."""
    if isinstance(value, (Unknown, Elements)):
        return False
    if not isinstance(value, Object):
        return True
    own = value.pointer is not None or copies.copies_itself(value.cls)
    return not own and missing(member(m, value.cls, "operator=", value, value.cls.decl.span))
