"""Coordinates and tiles in words."""

from __future__ import annotations

from cutecheck.facts import Site
from cutecheck.model.layout import IntTuple


def extent(shape: IntTuple) -> str:
    """A shape as people write it: ``64x32`` for two plain numbers, CuTe's notation otherwise."""
    if isinstance(shape, tuple) and all(isinstance(s, int) for s in shape):
        return "x".join(map(str, shape))
    return str(shape) if isinstance(shape, int) else str(shape).replace(" ", "")


def usable(site: Site) -> bool:
    """A site whose value is known, open parameters allowed."""
    return site.status in ("resolved", "symbolic") and site.value is not None
