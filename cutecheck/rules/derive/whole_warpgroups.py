"""Warpgroups of which some warps come to an instruction that all four have to execute."""

from __future__ import annotations

from collections.abc import Sequence

from cutecheck.facts import Call
from cutecheck.model.access import WARP
from cutecheck.records import record
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import at_most

_WARPS = 4  # of a warpgroup


@record(frozen=True, slots=True)
class LeftOut:
    """``call``: the first place where warps of the group come; ``missing``: its warps, by number in the block, that
    come to none of the places."""

    call: Call
    missing: tuple[int, ...]


def left_out(calls: Sequence[Call], threads: int) -> LeftOut | None:
    """The first warpgroup of a block of which some warps may come to one of these calls, and others certainly do not.

    ``threads`` of the block: a multiple of 128.
    """
    come = [(c, at_most(inner(c.guards), threads)) for c in sorted(calls, key=lambda c: c.order)]
    for first in range(0, threads // WARP, _WARPS):
        group = range(first, first + _WARPS)
        missing = tuple(w for w in group if not any(w in warps for _, warps in come))
        if missing and len(missing) < _WARPS:
            return LeftOut(next(c for c, warps in come if warps & set(group)), missing)
    return None
