"""Conditions on the row that a thread copies, a number of its own: held against those around other copies of a kernel.

``row = coordinates[0][0]; if row < rows:`` compares no coordinate by its text. That it is one says the address: the
row times the mode's stride is a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import cast

from cutecheck.facts import Event, TensorFact
from cutecheck.facts.core import Guard
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import Guarded, block_modes
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.predicates import Fault, open_end

_JOINED = re.compile(r"&&|\|\||\band\b|\bor\b|\?|\bif\b")
_BY = (Rel.LT, Rel.LE)
_FRESH = re.compile(r"#\d+")


def fault_of_row(event: Event, tensor: TensorFact, part: Guarded, context: Context) -> Fault | None:
    """A row that is compared by ``<=`` where other copies are by ``<``, or with the extent of another mode."""
    for condition in _comparisons(event.guards):
        mode = _mode(condition.lhs, part)
        if mode is None or not open_end(event, part.extents[mode], part.tile[mode], context):
            continue
        asked, own = _asked(event, context).get(condition.lhs, set()), as_expr(part.extents[mode])
        if condition.rel is Rel.LE and condition.rhs.constant is None and (Rel.LT, condition.rhs) in asked:
            end = _FRESH.sub("", str(condition.rhs))
            return Fault(
                f"the copy of `{tensor.name}` is made for the row `{end}`, too, and others of this kernel only for "
                f"rows less than that: it goes past the end where mode {mode} is no multiple of the tile's "
                f"{part.tile[mode]}",
                f"`<= {end}`",
                "compare by `<`",
            )
        others = [i for i, e in enumerate(part.extents) if i != mode and as_expr(e) == condition.rhs]
        limits = {n for rel, n in asked if rel is Rel.LT and n.constant is None and n != condition.rhs}
        if condition.rel is Rel.LT and len(others) == 1 and limits and condition.rhs not in (own, *limits):
            end = _FRESH.sub("", str(min(limits, key=str)))
            return Fault(
                f"the rows of `{tensor.name}`, mode {mode}, are compared with `{condition.rhs}`, the extent of mode "
                f"{others[0]}; around other copies of this kernel they are with `{end}`",
                f"the extent of mode {others[0]}",
                f"compare with `{end}`",
            )
    return None


def _comparisons(guards: Iterable[Guard]) -> Iterator[Condition]:
    """Of numbers of the thread, by conditions that say all of it."""
    for guard in inner(guards):
        if guard.bounds or guard.negated or len(guard.holds) != 1 + len(_JOINED.findall(guard.text)):
            continue
        yield from (c for c in guard.holds if c.rel in _BY and _is_row(c.lhs))


def _is_row(e: Expr) -> bool:
    names = {v.name.partition(".")[0] for v in e.variables()}
    return {"threadIdx", "blockIdx"} <= names


def _mode(row: Expr, part: Guarded) -> int | None:
    """The mode that a number goes along, which a block index walks: by its stride, all of it is in the address."""
    there = set(part.offset.terms)
    walked = block_modes(part)
    found = [
        m for m, stride in enumerate(part.strides)
        if m in walked and known_value(stride) != 0 and set(ex.mul(row, as_expr(stride)).terms) <= there
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _asked(event: Event, context: Context) -> dict[Expr, set[tuple[Rel, Expr]]]:
    """What the kernel compares each row with, around all of its copies."""
    key = f"rows asked of {event.kernel or event.enclosing} {event.arch}"
    if key not in context.memo:
        found: dict[Expr, set[tuple[Rel, Expr]]] = {}
        for other in context.facts.events:
            if (other.kernel or other.enclosing, other.arch) == (event.kernel or event.enclosing, event.arch):
                for c in _comparisons(other.guards):
                    found.setdefault(c.lhs, set()).add((c.rel, c.rhs))
        context.memo[key] = found
    return cast("dict[Expr, set[tuple[Rel, Expr]]]", context.memo[key])


__all__ = ["fault_of_row"]
