"""Limits of predicates that start at another block's tile than the one that is copied."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import TensorFact
from cutecheck.facts.core import Bound
from cutecheck.model.ints import Int, as_expr
from cutecheck.rules.derive.block_walks import alone, walks
from cutecheck.rules.derive.coordinates import bounded_mode

_BLOCK = "blockIdx."


def other_index(tensor: TensorFact, bounds: Iterable[Bound]) -> tuple[Bound, str, str] | None:
    """A comparison of a coordinate in the tile with what is left of a mode, ``n - 128 * blockIdx.y``, of which another
    index says which tile is copied: the comparison, this index, and the limit's."""
    walked = walks(tensor) or []
    for bound in bounds:
        mode = bounded_mode(bound.value, bound.coordinates)
        by = alone(walked[mode]) if mode is not None and mode < len(walked) else None
        of_limit = _blocks(bound.limit)
        if by is None or len(of_limit) != 1 or _blocks(bound.value):
            continue
        if by[0] not in of_limit and by[0].startswith(_BLOCK):
            return bound, by[0], of_limit.pop()
    return None


def _blocks(number: Int) -> set[str]:
    return {v.name for v in as_expr(number).variables() if v.name.startswith(_BLOCK)}


__all__ = ["other_index"]
