"""Layouts that have no elements, or that are none: an engine that counts and one that computes differ about these.

C++ CuTe makes them without a word where a number of the program comes out as 0 or below; the DSL refuses them.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.model.inttuple import leaves
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, text
from cutecheck.model.prove import properties as p


def ill_formed(payload: p.Payload) -> str | None:
    """Why a layout of the payload is none: an extent below 0, or strides that are nested otherwise."""
    tile = (payload.tile,) if isinstance(payload, p.Coverage) else ()
    for shape in (*(x.shape for x in layouts(payload)), *tile):
        below = next((n for n in leaves(shape) if isinstance(n, int) and n < 0), None)
        if below is not None:
            return f"{text(shape)} has an extent of {below}"
    for layout in layouts(payload):
        if not _follows(layout.shape, layout.stride):
            return f"the strides of {text(layout.shape)} are {text(layout.stride)}"
    return None


def empty(payload: p.Payload) -> str | None:
    """The layout that has no elements, where that leaves nothing to ask: nothing is accessed."""
    if isinstance(payload, (p.Coverage, p.Bijective, p.Injective)):  # what has no elements covers what has none
        return None
    found = next((x for x in layouts(payload) if any(isinstance(n, int) and n == 0 for n in leaves(x.shape))), None)
    return None if found is None else f"{found} has no elements"


def layouts(payload: p.Payload) -> Iterator[Layout]:
    """The plain layouts of a payload, under swizzles."""
    for name in ("layout", "left", "right", "rest"):
        found: object = getattr(payload, name, None)
        if isinstance(found, (Layout, ComposedLayout)):
            yield from _plain(found)


def _plain(layout: AnyLayout) -> Iterator[Layout]:
    if isinstance(layout, Layout):
        yield layout
        return
    for part in (layout.a, layout.b):
        if isinstance(part, (Layout, ComposedLayout)):
            yield from _plain(part)


def _follows(shape: IntTuple, stride: IntTuple) -> bool:
    if isinstance(shape, tuple):
        return isinstance(stride, tuple) and len(stride) == len(shape) and all(map(_follows, shape, stride))
    return not isinstance(stride, tuple)


__all__ = ["empty", "ill_formed", "layouts"]
