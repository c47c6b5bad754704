"""Scale factors of block-scaled MMAs in tensor memory, from their layout in shared memory (one stage)."""

from __future__ import annotations

from typing import Any, Literal

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import coalesce
from cutecheck.model.ints import NotModelledError
from cutecheck.model.layout import Layout
from cutecheck.model.tiled.tmem import dp_stride
from cutecheck.model.units import Bits

_CHUNK = 512  # bytes of shared memory: 128 rows of four scale factors


def tmem_layout_sf(smem: Layout, cta_m: int, operand: Literal["A", "B"]) -> Layout:
    """``make_tmem_layout_sfa`` and ``_sfb`` of the DSL: ((rows, (vector, factors)), MMA_M/N, MMA_K), in bytes.

    ``smem`` is ``((((32,4),R),(vector,factors)),MMA_M/N,MMA_K)`` with strides of bytes: R chunks of 128 rows. Each
    chunk fills four columns of 32 lanes, which all four warps repeat (two of them where a pair of CTAs has 64 rows
    each); the chunks of K follow the chunks of rows. The rows may be cut otherwise (``(8,4,4):(16,128,4)``).
    NotModelledError for any other shape or order.
    """
    try:
        (given, (vector, factors)), count, blocks = smem.shape  # type: ignore[misc]
        (given_stride, (_, factor_stride)), _, block_stride = smem.stride  # type: ignore[misc]
    except (TypeError, ValueError):
        raise NotModelledError(f"make_tmem_layout_sf of a shape other than ((rows,(V,SF)),MMA,MMA_K): {smem}") from None
    whole = coalesce(Layout(given, given_stride))
    lengths, steps = it.wrap(whole.shape), it.wrap(whole.stride)
    rest = lengths[2] if len(lengths) == 3 else 1
    if lengths[:2] != (32, 4) or len(lengths) > 3 or not isinstance(rest, int) or not isinstance(count, int):
        raise NotModelledError(f"make_tmem_layout_sf of rows that are not chunks of (32,4): {smem}")
    if steps[:2] != (16, 4):
        raise NotModelledError(f"make_tmem_layout_sf of rows in another order: {smem}")
    lane = dp_stride(Bits(8))
    half = operand == "B" and cta_m == 64
    step = (8 if half else 16) * rest
    strides = tuple(_moved(d, step) for d in it.wrap(block_stride))
    chunks: Any = 1
    for n, d in zip(it.wrap(blocks), it.wrap(block_stride), strict=True):
        chunks *= n if d >= _CHUNK else 1  # type: ignore[operator]
    k_stride = strides if isinstance(block_stride, tuple) else strides[0]
    rows: Any
    if half:
        rows = Layout(((32, 2 * rest), 2, 2), ((lane, 4), 64 * lane, 32 * lane))
        factor_stride = 1
    else:
        rows = Layout(((32, 4 * rest), 4), ((lane, 4), 32 * lane))
    return Layout(
        ((rows.shape, (vector, factors)), count, blocks),
        ((rows.stride, (0, factor_stride)), step * chunks if count > 1 else 0, k_stride),
    )


def _moved(stride: Any, step: int) -> int:
    if not isinstance(stride, int):
        raise NotModelledError("make_tmem_layout_sf: a run-time stride")
    return stride // _CHUNK * step + stride % _CHUNK


__all__ = ["tmem_layout_sf"]
