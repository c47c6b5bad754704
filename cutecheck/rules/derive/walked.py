"""Which block index walks a mode of a tensor, and by what variables its extent is named."""

from __future__ import annotations

from cutecheck.facts import TensorFact
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.rules.derive.block_walks import alone, walks


def walked(tensor: TensorFact, mode: int) -> tuple[str, set[str]] | None:
    """The block index that alone walks a mode, and the variables of how many elements this has."""
    mine, root = walks(tensor), tensor.root_layout
    by = alone(mine[mode]) if mine is not None and len(mine) > mode else None
    plain = isinstance(root, Layout) and isinstance(root.shape, tuple) and len(root.shape) > mode
    names = named(root.shape[mode]) if plain and isinstance(root, Layout) and isinstance(root.shape, tuple) else set()
    return None if by is None or not names else (by[0], names)


def named(extent: object) -> set[str]:
    """The variables of an extent."""
    return {v.name for v in as_expr(extent).variables()} if isinstance(extent, (int, Dyn)) else set()


__all__ = ["named", "walked"]
