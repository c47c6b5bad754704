"""Coordinates that are a block index divided by the extent of the very mode that they pick from.

Of ``heads`` and ``groups`` of them (grouped-query attention) head ``h`` has its keys at ``h / (heads / groups)``; what
``h / groups`` gives is a number below ``heads / groups``, and so is ``h % (heads / groups)``.
"""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr, Op
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import INDICES
from cutecheck.rules.derive.tile_starts import only
from cutecheck.rules.derive.vectors import leaves


@record(frozen=True, slots=True)
class Divided:
    """The coordinate of a mode that no other mode is as long as, and what its values are below of instead."""

    mode: int
    coordinate: Op
    extent: Expr


def divided(tensor: TensorFact) -> Divided | None:
    """Of a tensor in global memory whose modes have run-time extents and strides."""
    root = tensor.root_layout
    if tensor.space != "gmem" or not isinstance(root, Layout) or not isinstance(root.shape, tuple):
        return None
    modes = leaves(root.shape, root.stride)
    if modes is None or len(modes) != len(root.shape) or isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)):
        return None
    extents = [as_expr(e) for e, _ in modes]
    for mode, (extent, stride) in enumerate(modes):
        step, own = only(as_expr(stride)), extents[mode]
        if step is None or not isinstance(extent, Dyn) or only(own) is None or extents.count(own) > 1:
            continue
        for factors, many in as_expr(tensor.offset).terms:
            others = [f for f in factors if f != step]
            by = others[0] if many == 1 and len(others) == 1 == len(factors) - 1 else None
            if isinstance(by, Op) and _by_extent(by, own):
                return Divided(mode, by, own)
    return None


def of_pairs(by: Divided, event: Event, context: Context) -> bool:
    """Whether the kernel takes the rest of the division for a coordinate, too: its blocks are all pairs of two."""
    rest = Op("mod", by.coordinate.args)
    tensors = (
        t for e in context.facts.events
        if (e.kernel, e.arch) == (event.kernel, event.arch) for t in e.operands if isinstance(t.offset, Dyn)
    )  # fmt: skip
    return by.coordinate.kind == "div" and any(
        rest in factors for t in tensors for factors, _ in as_expr(cast("Dyn", t.offset)).terms
    )


def _by_extent(coordinate: Op, extent: Expr) -> bool:
    """``block / extent``, or ``block % (others / extent)``."""
    if coordinate.kind not in ("div", "mod") or not _of_blocks(coordinate.args[0]):
        return False
    by = coordinate.args[1]
    if coordinate.kind == "div":
        return by == extent
    factors = by.terms[0][0] if len(by.terms) == 1 and by.terms[0][1] == 1 else ()
    group = factors[0] if len(factors) == 1 else None
    return isinstance(group, Op) and group.kind == "div" and group.args[1] == extent and group.args[0] != extent


def _of_blocks(e: Expr) -> bool:
    return bool(e.terms) and all(v.name.startswith(INDICES[1:]) for v in e.variables())


__all__ = ["Divided", "divided", "of_pairs"]
