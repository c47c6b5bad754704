"""Matrices in tensors of more modes: along which modes of all that it is part of a tile's rows and columns go."""

from __future__ import annotations

from cutecheck.facts import TensorFact
from cutecheck.model.algebra import flatten
from cutecheck.model.layout import Layout

FIRST = (0, 1)


def matrix_modes(tensor: TensorFact) -> tuple[int, ...]:
    """The modes of the whole tensor that rows and columns of the tile go along: the first two, as far as is known.

    Of `w[expert, rows, k]` a block takes one expert's matrix: the first mode says which. None are where it has them
    nowhere.
    """
    root, tile = tensor.root_layout, tensor.tile_layout
    if not isinstance(root, Layout) or not isinstance(tile, Layout):
        return FIRST
    if not isinstance(root.stride, tuple) or not isinstance(tile.stride, tuple) or len(root.stride) <= len(FIRST):
        return FIRST
    strides = [_first(r) for r in root.stride]
    found = [_first(t) for t in tile.stride[: len(FIRST)]]
    return tuple(strides.index(f) for f in found) if all(strides.count(f) == 1 for f in found) else ()


def _first(stride: object) -> object:
    return flatten(stride)[0] if isinstance(stride, tuple) and stride else stride
