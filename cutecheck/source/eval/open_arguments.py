"""Arguments whose type is not known: another overload than the one that is found may take them better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cutecheck.facts import Unknown
from cutecheck.source.eval import constness, implicit, ir, qualifiers
from cutecheck.source.eval.types import is_type, same_type
from cutecheck.source.eval.values import Extern, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.overloads import Candidate


def unsettled(m: Machine, found: Sequence[Candidate], best: Candidate, args: Sequence[Value]) -> str:
    """Why it is not known that the best candidate is the one that is called; empty where it is."""
    if len(found) == 1 or not m.dialect.by_value:
        return ""
    leads = m.leads[1] if m.leads[0] is args else None
    for i, value in enumerate(args):
        if not _is_open(value) or (isinstance(value, Extern) and best.fits[i : i + 1] > (implicit.OPEN,)):
            continue
        if leads is not None and leads[i : i + 1] != (None,) and all(constness.is_pointer(c.fn, i) for c in found):
            continue  # what it leads to is all that tells them apart
        if any(c is not best and _may_win(m, c, best, i) for c in found):
            return "the type of an argument is not known"
    return ""


def _is_open(value: Value) -> bool:
    """Of what stands in no header that is read: ``std::stof(x)`` looks like an object of a class ``std::stof``."""
    return isinstance(value, (Unknown, Extern))


def _may_win(m: Machine, other: Candidate, best: Candidate, i: int) -> bool:
    """Whether a candidate may be the better one, or the only one, for some type of an argument."""
    own, others = _parameter(best, i), _parameter(other, i)
    if own is None or others is None:
        return own is not others
    if _same(m, own, best, others, other):
        return False
    pairs = [(a, b) for j, (a, b) in enumerate(zip(best.fits, other.fits, strict=False)) if j != i]
    better = any(_rank(a) > _rank(b) for a, b in pairs)
    return not (_takes_all(own, best) and better)


def _rank(gain: int) -> int:
    return implicit.EXACT if gain > implicit.OPEN else gain


def _parameter(c: Candidate, i: int) -> ir.Expr | None:
    params = c.fn.params
    p = params[min(i, len(params) - 1)] if params else None
    return None if p is None else p.type.pattern if isinstance(p.type, ir.Expand) else p.type


def _same(m: Machine, own: ir.Expr, best: Candidate, others: ir.Expr, other: Candidate) -> bool:
    """Both take the argument alike, whatever it is."""
    if _takes_all(own, best) and _takes_all(others, other):
        return True
    if _takes_all(own, best) or _takes_all(others, other):
        return False
    a, b = m.eval(own, best.env), m.eval(others, other.env)
    return is_type(a) and is_type(b) and same_type(a, b)


def _takes_all(t: ir.Expr, c: Candidate) -> bool:
    """``T``, ``T const&``, ``T&&`` or ``auto``."""
    while isinstance(t, ir.TypeMod) and (t.kind in ("const", "volatile", "rref") or qualifiers.constant(t)):
        if t.kind == "ptr":
            return False
        t = t.inner
    return isinstance(t, ir.Auto) or (isinstance(t, ir.Name) and any(p.name == t.ident for p in c.fn.tparams or ()))
