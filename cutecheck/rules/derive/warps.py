"""Accesses of shared memory with no barrier between them but those of a warp: which threads of other warps meet."""

from __future__ import annotations

from cutecheck.model.ints import known_value
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.guards import inner, of_limits, same_in_all_blocks
from cutecheck.rules.derive.passes import overtaken, unheld
from cutecheck.rules.derive.reuse import overtakes
from cutecheck.rules.derive.uses import Use, of_threads, one_space, order, places, swizzle_to_come

_WARP = 32


@record(frozen=True, slots=True)
class Across:
    """Two accesses of one byte: by ``thread`` in the later one, by ``other``, of another warp, in the earlier one."""

    earlier: Use
    thread: int
    other: int
    byte: int


def across_warps(use: Use, context: Context) -> Across | None:
    """An access that this one overtakes, where barriers of warps alone stand between and threads of two warps meet.

    Of copies that all threads of the block make, each of known elements; others may be of one warp.
    """
    reached = order(context, of_block=True)
    if reached.barriers == order(context).barriers:
        return None
    for find in (overtakes, overtaken if use.written else unheld):
        earlier = find(use, context, reached)
        found = None if earlier is None else _meeting(earlier, use)
        if found is not None:
            return found
    return None


def _meeting(earlier: Use, use: Use) -> Across | None:
    first, then = _known(earlier), _known(use)
    bits = use.tensor.dtype.bits if use.tensor.dtype is not None else None
    if first is None or then is None or not bits or not one_space(earlier, use):
        return None
    if swizzle_to_come(earlier) != swizzle_to_come(use):
        return None
    owner: dict[int, set[int]] = {}
    for thread, mine in enumerate(first):
        for place in mine:
            owner.setdefault(place, set()).add(thread)
    for thread, mine in enumerate(then):
        for place in sorted(mine):
            others = owner.get(place, set())
            if others and all(o // _WARP != thread // _WARP for o in others):
                swizzle = swizzle_to_come(use)
                there = place if swizzle is None else known_value(swizzle(place))
                return Across(earlier, thread, min(others), (there or 0) * int(bits) // 8)
    return None


def _known(use: Use) -> list[set[int]] | None:
    """The elements of each thread, of a copy that all threads of a block make."""
    threads = None if use.event.threads is None else known_value(use.event.threads)
    if threads is None or not of_threads(use):
        return None
    if not all(g.alike or same_in_all_blocks(g) or of_limits(g) for g in inner(use.event.guards)):
        return None
    found = places(use)
    return found if found is not None and len(found) == threads else None


__all__ = ["Across", "across_warps"]
