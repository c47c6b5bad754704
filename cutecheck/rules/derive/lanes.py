"""Which threads pass a guard: comparisons of ``threadIdx.x`` with numbers, as the source writes them."""

from __future__ import annotations

import re

from cutecheck.facts import Event, Guard
from cutecheck.model.expr import Domain, Expr, const, op, var
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.derive.blocks import numbered

_LANE = re.compile(r"thread|tid|lane|elect|warp", re.IGNORECASE)
_SIDE = r"threadIdx\.x(?:\s*[%/]\s*\d+)?|\d+"
_COMPARE = re.compile(rf"\s*({_SIDE})\s*(<=|>=|==|!=|<|>)\s*({_SIDE})\s*")
_NOT = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_RELATION = {"<": Rel.LT, "<=": Rel.LE, "==": Rel.EQ, "!=": Rel.NE}


def of_thread(guard: Guard) -> bool:
    """The guard speaks of threads, lanes or warps."""
    return _LANE.search(guard.text) is not None


def active(event: Event) -> tuple[Condition, ...]:
    """Conditions on the thread index under which the event happens, of the guards that are understood."""
    found = (c for g in event.guards if of_thread(g) for c in conditions(g) or ())
    return tuple(numbered(c, event.block) for c in found)


def conditions(guard: Guard) -> tuple[Condition, ...] | None:
    """The guard as conditions that all hold; None where it is more than comparisons of the thread with numbers."""
    joined, other = ("||", "&&") if guard.negated else ("&&", "||")
    if other in guard.text or "?" in guard.text:
        return None
    found = [_compared(part, guard.negated) for part in guard.text.split(joined)]
    return None if None in found else tuple(c for c in found if c is not None)


def _compared(text: str, negated: bool) -> Condition | None:
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    match = _COMPARE.fullmatch(text)
    if match is None:
        return None
    left, sign, right = _side(match[1]), match[2], _side(match[3])
    sign = _NOT[sign] if negated else sign
    if sign in (">", ">="):
        left, right, sign = right, left, {">": "<", ">=": "<="}[sign]
    return Condition(_RELATION[sign], left, right)


def _side(text: str) -> Expr:
    """``threadIdx.x``, a quotient or remainder of it, or a number."""
    if text.isdigit():
        return const(int(text))
    thread = var(THREAD, Domain(0))
    scaled = re.search(r"([%/])\s*(\d+)$", text)
    if scaled is None or int(scaled[2]) == 0:
        return thread
    return op("mod" if scaled[1] == "%" else "div", thread, const(int(scaled[2])))


def undecided(event: Event) -> bool:
    """Some guard speaks of threads and is not understood."""
    return any(of_thread(g) and conditions(g) is None for g in event.guards)
