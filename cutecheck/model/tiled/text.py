"""Printing of tilers and permutations."""

from __future__ import annotations


def show_tile(tile: object) -> str:
    """A tiler as CuTe prints it: ``(_8,(_2,_4,_2):(_1,_4,_2),_)``."""
    if isinstance(tile, tuple):
        return "(" + ",".join(map(show_tile, tile)) + ")"
    from cutecheck.model.notation import show

    return show(tile)  # type: ignore[arg-type]
