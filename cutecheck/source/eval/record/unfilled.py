"""Slices along K of fragments that products take whole, and that no copy fills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cutecheck.facts import TensorFact
from cutecheck.model.algebra import size
from cutecheck.model.ints import Dyn, known_value
from cutecheck.model.layout import Layout
from cutecheck.source.eval.record.portions import elements

_K = 2  # the mode of a partition for A or B that goes along K
Filled = tuple[TensorFact, int | None]  # with the threads of the block


def unfilled(tensor: TensorFact, threads: int | None, filled: Iterable[Filled]) -> tuple[list[int], int] | None:
    """The slices along K of an operand none of whose elements any copy fills, and how many slices there are."""
    filled = list(filled)
    start = known_value(tensor.offset) if isinstance(tensor.offset, (int, Dyn)) else None
    have = elements(filled) if start is not None else None
    slices = list(_slices(tensor, start)) if start is not None else []
    if not have or not slices or any(t.dtype != tensor.dtype for t, _ in filled):
        return None
    want = [elements([(s, threads)]) for s in slices]
    left = [k for k, part in enumerate(want) if part and part.isdisjoint(have)]
    return (left, len(slices)) if all(want) and 0 < len(left) < len(slices) else None


def _slices(tensor: TensorFact, start: int) -> Iterator[TensorFact]:
    layout = tensor.layout
    if not isinstance(layout, Layout) or not isinstance(layout.shape, tuple) or len(layout.shape) != _K + 1:
        return
    if not isinstance(layout.stride, tuple):
        return
    many = known_value(size(Layout(layout.shape[_K], layout.stride[_K])))
    along = Layout(layout.shape[_K], layout.stride[_K])
    inner = Layout(layout.shape[:_K], layout.stride[:_K])
    for k in range(many or 0):
        at = along(k)
        if not isinstance(at, int):
            return
        yield replace(tensor, layout=inner, offset=start + at)


__all__ = ["Filled", "unfilled"]
