"""Whether threads of two warps access one byte of a buffer, whatever views of it they have."""

from __future__ import annotations

from cutecheck.model.ints import known_value
from cutecheck.rules.derive.guards import inner, of_limits, same_in_all_blocks
from cutecheck.rules.derive.uses import Use, of_threads, places, swizzle_to_come

_WARP = 32
_BYTE = 8


def all_come(use: Use) -> bool:
    """A copy that all threads of a block make, of whom it is known how many there are."""
    if use.event.threads is None or known_value(use.event.threads) is None or not of_threads(use):
        return False
    return all(g.alike or same_in_all_blocks(g) or of_limits(g) for g in inner(use.event.guards))


def meet_across_warps(earlier: Use, use: Use) -> bool:
    """At the first values of all indices but the thread's; not where these places are no numbers."""
    first, then = _warps_of_bytes(earlier), _warps_of_bytes(use)
    if first is None or then is None:
        return False
    return any(warps - first[at] or first[at] - warps for at, warps in then.items() if at in first)


def _warps_of_bytes(use: Use) -> dict[int, set[int]] | None:
    """The warps that access each byte from the start of the buffer."""
    found, swizzle = places(use), swizzle_to_come(use)
    bits = use.tensor.dtype.bits if use.tensor.dtype is not None else None
    if found is None or not bits or int(bits) % _BYTE:
        return None
    size = int(bits) // _BYTE
    made: dict[int, set[int]] = {}
    for thread, mine in enumerate(found):
        for place in mine:
            at = place if swizzle is None else known_value(swizzle(place))
            if at is None:
                return None
            for byte in range(at * size, (at + 1) * size):
                made.setdefault(byte, set()).add(thread // _WARP)
    return made


__all__ = ["all_come", "meet_across_warps"]
