"""Where the tiles of descriptors start, and who fills them."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Call, SmemBuffer, TensorFact
from cutecheck.findings import Severity
from cutecheck.model.ints import known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout
from cutecheck.rules.base import Context
from cutecheck.rules.derive.targets import loads_by_tma
from cutecheck.rules.derive.vectors import leaves

LEAST = 128


def weight(start: int | None, tensor: TensorFact, call: Call, context: Context) -> Severity | None:
    """A note where all that is known to fill the tile finds the same places as the descriptor; else the rule's own."""
    return "note" if start is not None and start % LEAST == 0 and _tma_alone(tensor, call, context) else None


def _tma_alone(tensor: TensorFact, call: Call, context: Context) -> bool:
    """There are copies into the tile's memory, and each is a TMA load or of an operation that is not known.

    Where no copy into it was come to: into the memory of the same declaration in other kernels.
    """
    if "filled_by_tma" not in context.memo:
        context.memo["filled_by_tma"] = _filled_by_tma(context)
    filled = cast("dict[object, bool]", context.memo["filled_by_tma"])
    if tensor.buffer is None:
        return False
    known = filled.get((tensor.buffer, call.arch))
    if known is not None:
        return known
    places = {b.span for b in context.index.buffers.get((tensor.buffer, call.arch), ())}
    return bool(places) and all(filled.get(place, False) for place in places)


def _filled_by_tma(context: Context) -> dict[object, bool]:
    """For buffers that copies fill, and for their declarations: whether TMA loads may be all that does."""
    found: dict[object, bool] = {}
    for event in context.facts.events:
        if event.kind == "copy" and len(event.operands) > 1 and event.operands[1].space == "smem":
            key = (event.operands[1].buffer or "", event.arch)
            unknown = event.tiled is None and event.tiled_span is not None
            may = unknown or loads_by_tma(event)
            for one in (key, *{b.span for b in context.index.buffers.get(key, ())}):
                found[one] = found.get(one, True) and may
    return found


def stages(root: AnyLayout | None) -> list[int]:
    """Distances, in elements, of the stages of a tile of three modes."""
    plain = root.b if isinstance(root, ComposedLayout) and isinstance(root.b, Layout) else root
    if not isinstance(plain, Layout) or not isinstance(plain.shape, tuple) or not isinstance(plain.stride, tuple):
        return []
    if len(plain.shape) != 3:
        return []
    modes = leaves(plain.shape[2], plain.stride[2]) or []
    return [s for e, s in modes if isinstance(s, int) and known_value(e) != 1]


def is_array(buffer: SmemBuffer) -> bool:
    """A static array: dynamic shared memory has no size of its own."""
    return buffer.size_bytes is not None and buffer.alignment_bytes is not None
