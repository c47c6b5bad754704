"""Sums of products that are meant to be as they are, though no product of two matrices is made so."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Pair = tuple[object, object, int, int]  # tiles of A and of B, and which copies to their buffers these were

_FEW = 3  # tiles, from which on their order says something


def starts_again(pairs: Sequence[Pair]) -> bool:
    """All products are made once more in the same order, of tiles that are loaded once more, as where time is taken."""
    order = [p for i, p in enumerate(pairs) if i == 0 or p != pairs[i - 1]]
    seen: dict[tuple[object, object], int] = {}
    for i, (a, b, *_) in enumerate(order):
        if seen.setdefault((a, b), i) != i:
            break
    many = len(seen)  # of those up to the first that comes again
    return _FEW <= many < len(order) and all(
        now[:2] == before[:2] and now[2] != before[2] and now[3] != before[3]
        for now, before in zip(order[many:], order, strict=False)
    )


def of_all(pairs: Sequence[Pair]) -> bool:
    """Each of two tiles of A is multiplied with each of two of B: sums of sums, or of numbers in several parts."""
    met: dict[object, set[object]] = {}
    for a, b, *_ in pairs:
        met.setdefault(a, set()).add(b)
    return any(len(one & other) > 1 for one, other in combinations(met.values(), 2))
