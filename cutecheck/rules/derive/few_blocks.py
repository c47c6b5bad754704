"""Grids that have fewer blocks along an index than the mode that it alone walks has tiles."""

from __future__ import annotations

from cutecheck.model.ints import Int, as_expr, known_value

_TILES = (24, 48, 240)  # at which a number of blocks is compared that hangs on an extent of run time


def covered(blocks: Int, tile: int, extent: Int) -> tuple[int, int, int] | None:
    """The blocks, what they cover, and an extent that is more; None where they cover all, or that is not known.

    Of an extent that is one number of run time, and blocks that follow from it alone: many tiles, of which the last is
    whole.
    """
    most, many = known_value(extent), known_value(blocks)
    if most is not None and many is not None:
        return (many, many * tile, most) if many * tile < most else None
    whole, counted = as_expr(extent), as_expr(blocks)
    one, other = ({v.name for v in e.variables()} for e in (whole, counted))
    if len(one) != 1 or len(other) != 1 or {_named(n) for n in one} != {_named(n) for n in other}:
        return None
    found = []
    for tiles in _TILES:
        try:
            at = dict.fromkeys(one | other, tiles * tile)
            found.append((counted.evaluate(at), whole.evaluate(at)))
        except (KeyError, ZeroDivisionError, ValueError):
            return None
    if any(most != tiles * tile or not 0 < many < tiles for (many, most), tiles in zip(found, _TILES, strict=True)):
        return None
    many, most = found[0]
    return many, many * tile, most


def _named(variable: str) -> str:
    """Without the number that tells walks of its function apart."""
    return variable.partition("#")[0]


__all__ = ["covered"]
