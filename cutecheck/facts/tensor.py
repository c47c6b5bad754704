"""Tensors as copies and gemms see them."""

from __future__ import annotations

from typing import Literal

from cutecheck.facts.span import Span, Unknown
from cutecheck.model.dtype import DType
from cutecheck.model.ints import Int
from cutecheck.model.layout import AnyLayout, IntTuple
from cutecheck.model.units import Bits, ByteCount
from cutecheck.records import record

Space = Literal["gmem", "smem", "rmem", "tmem", "coord", "unknown"]
Provenance = Literal["partition", "fragment", "retile", "slice", "tile", "view", "unknown"]


@record(frozen=True, slots=True)
class TensorFact:
    """One operand: the layout CuTe would print, and the offset of its first element.

    ``offset`` counts elements from the start of ``buffer`` **before** any swizzle of ``layout``; it is an
    expression over run-time variables (``threadIdx.x``, loop indices, block indices), so that evaluating it at
    each thread gives that thread's addresses. ``alignment_bytes`` is what is known of the buffer's base.
    """

    name: str
    span: Span
    space: Space
    layout: AnyLayout | Unknown
    dtype: DType | None
    buffer: str | None = None
    offset: IntTuple | Unknown = 0
    alignment_bytes: ByteCount | None = None
    provenance: Provenance = "unknown"
    source: object | None = None  # the TiledCopy or TiledMMA that partitioned or retiled it
    root_layout: AnyLayout | None = None  # layout of the whole tensor before partitioning
    tile_layout: AnyLayout | None = None  # layout of what the tiled object partitioned: a tile of the whole tensor
    thread: Int | None = None  # the index of the thread slice that partitioned it
    root_start_bits: Int | None = None  # from the start of ``buffer`` to the first element of ``root_layout``
    root_bits: Bits | None = None  # an element of ``root_layout``: of another width than ``dtype`` after a recast
