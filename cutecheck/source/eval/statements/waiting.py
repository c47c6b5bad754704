"""Loops that do nothing but ask again whether a barrier's phase is over: one wait, not one in each pass."""

from __future__ import annotations

import re

from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import parts_in

_WAITS = re.compile(r"wait|test|poll", re.IGNORECASE)
_QUIET = frozenset({"__nanosleep", "nanosleep", "__trap", "trap", "printf", "assert", "clock64", "globaltimer"})


def asks_again(node: ir.Loop) -> bool:
    if node.kind not in ("while", "do"):
        return False
    parts = [p for p in parts_in((node.cond, node.body)) if isinstance(p, (ir.Call, ir.Opaque, ir.Construct, ir.Loop))]
    calls = [p for p in parts if isinstance(p, ir.Call) and _name(p) not in _QUIET]
    outer = [c for c in calls if not any(c is not o and _holds(o, c) for o in calls)]
    others = [p for p in parts if not isinstance(p, ir.Call)]
    return len(outer) == 1 and not others and _WAITS.search(_name(outer[0])) is not None


def _holds(outer: ir.Call, inner: ir.Call) -> bool:
    return any(p is inner for p in parts_in(outer.args))


def _name(call: ir.Call) -> str:
    return str(getattr(call.fn, "ident", ""))
