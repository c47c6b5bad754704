"""Which names an expression or statement spells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutecheck.facts import Span
from cutecheck.model.identity import once
from cutecheck.source.eval import ir


@once
def names_in(node: Any) -> tuple[str, ...]:
    """Identifiers used unqualified in an expression, in order."""
    out: list[str] = []
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Name):
            out.append(at.ident)
            stack.extend(at.targs or ())
        elif isinstance(at, (tuple, list)):
            stack.extend(at)
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack.extend(getattr(at, f) for f in at.__dataclass_fields__ if f != "span")
    return tuple(dict.fromkeys(out))


@once
def unexpanded(pattern: Any) -> tuple[str, ...]:
    """Names in what is expanded over packs, bodies of lambdas included, but not those in expansions inside of it."""
    out: list[str] = []
    stack = [pattern]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Name):
            out.append(at.ident)
            stack.extend(at.targs or ())
        elif isinstance(at, ir.Expand) or (isinstance(at, ir.SizeOf) and at.what == "sizeof..."):
            continue
        elif isinstance(at, ir.Fold):
            stack.append(at.init)
        elif isinstance(at, ir.Lazy):
            stack.append(at.get())
        elif isinstance(at, (tuple, list)):
            stack.extend(at)
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack.extend(getattr(at, f) for f in at.__dataclass_fields__ if f != "span")
    return tuple(dict.fromkeys(out))


def mentions(node: Any, names: Sequence[str]) -> bool:
    """True when an expression spells one of the names, qualified or not."""
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, (ir.Name, ir.Scoped)) and at.ident in names:
            return True
        if isinstance(at, (tuple, list)):
            stack.extend(at)
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack.extend(getattr(at, f) for f in at.__dataclass_fields__ if f != "span")
    return False


@once
def taken_over(decl: ir.Class) -> frozenset[str]:
    """The names of functions that a class takes over from its bases: ``using Base::name;``."""
    return frozenset(getattr(d.target, "ident", "") for d in decl.members if isinstance(d, ir.Using))
