"""Elements of registers behind the last one that their tensor has, in some pass of the loops around."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.expr import Expr, bounds
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError, as_expr
from cutecheck.source.eval.values import TensorVal

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MOST = 4096  # passes of all loops together


def asked(m: Machine, t: TensorVal, coord: Any, span: Span) -> None:
    """An element is read or stored: note it where it is one that the registers do not have."""
    recorder = m.recorder
    if not m.dialect.by_value or t.space != "rmem" or t.pointer is None or not recorder.follows_stores():
        return
    size, dtype = recorder.register_sizes.get(t.pointer.buffer, (None, None))
    if (
        isinstance(t.layout, Unknown)
        or size is None
        or dtype != t.dtype
        or not isinstance(t.offset, (int, Dyn))
        or recorder.in_doubt()
    ):
        return
    try:
        at = alg.apply_layout(t.layout, coord)
    except (CuteError, UndecidedError, TypeError, ValueError):
        return
    offset = as_expr(t.offset + at) if isinstance(at, (int, Dyn)) else None
    if offset is None or (bounds(offset)[1] or size) < size:
        return
    last = _last(offset, recorder.counts())
    if last is not None and last >= size:
        recorder.past_registers(t, last, size, span)


def _last(offset: Expr, counts: dict[str, int]) -> int | None:
    """The greatest value; None where it hangs on more than the passes of loops that are all made."""
    ranges: dict[str, range] = {}
    for v in offset.variables():
        lo, hi = v.domain.bounds()
        if lo is None or hi is None or v.domain.values or v.domain.hull:
            return None
        ranges[v.name] = range(lo, hi + 1, v.domain.step)
        if len(ranges[v.name]) != counts.get(v.name):
            return None
    if prod(map(len, ranges.values())) > _MOST:
        return None
    try:
        return max(offset.evaluate(dict(zip(ranges, values, strict=True))) for values in product(*ranges.values()))
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def size_of(layout: Any) -> int | None:
    """So many elements a tensor of registers has."""
    if not alg.is_static(alg.shape(layout)):
        return None
    size = alg.cosize(layout)
    return size if isinstance(size, int) and not isinstance(size, Sym) else None


__all__ = ["asked", "size_of"]
