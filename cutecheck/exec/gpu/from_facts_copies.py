"""The copies around a GEMM as the facts have them: tensor maps, and the epilogue's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cutecheck.exec.gpu.tensor_maps import is_map, map_of
from cutecheck.facts import Event, TensorFact
from cutecheck.model.algebra import shape, size
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.dtype import DType
from cutecheck.model.ints import known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.tiled.tensor_map import TensorMap
from cutecheck.model.tiled.tma import make_tma_copy


class NoProbeError(ValueError):
    """No reference kernel stands for the event; the message says why."""


@dataclass(frozen=True)
class Epilogue:
    """How the checked code stores its accumulators; ``stage`` and ``smem`` are None where that goes straight out."""

    dtype: DType
    write: TiledCopy
    stage: TiledCopy | None = None
    smem: AnyLayout | None = None


def tensor_map_of(event: Event) -> TensorMap | None:
    """The tensor map of a copy event, None for an ordinary copy."""
    atom = event.tiled.atom if isinstance(event.tiled, TiledCopy) else event.tiled
    found = atom.tensor_map if isinstance(atom, CopyAtom) else None
    return found if isinstance(found, TensorMap) else None


def first_stage(layout: AnyLayout) -> AnyLayout:
    """The first two modes of a layout: one stage of a pipelined buffer."""
    if isinstance(layout, ComposedLayout):
        inner = layout.b
        return ComposedLayout(layout.a, layout.offset, first_stage(inner)) if isinstance(inner, Layout) else layout
    extents: Any = layout.shape
    strides: Any = layout.stride
    return Layout(extents[:2], strides[:2]) if isinstance(extents, tuple) and len(extents) > 2 else layout


def extent(layout: AnyLayout, mode: int) -> int:
    """Elements of a mode; NoProbeError where they are not known."""
    value = known_value(size(shape(layout, mode)))
    if value is None:
        raise NoProbeError("the tile's extents are not known")
    return value


def map_copy(event: Event, gmem: Layout | None = None) -> tuple[TiledCopy, Layout, AnyLayout, DType]:
    """A tensor-map copy of one tile, its global tensor (a tile alone, or ``gmem``), its shared layout and element.

    NoProbeError where the box of the checked map is not that of one stage.
    """
    checked = tensor_map_of(event)
    assert checked is not None
    shared, coordinates = _sides(event)
    if shared.root_layout is None or shared.dtype is None or coordinates.root_layout is None:
        raise NoProbeError("the shared-memory tile of the tensor map is not known")
    if checked.num_multicast is None or checked.num_multicast > 1:
        raise NoProbeError("a multicast needs a cluster of blocks")
    smem = first_stage(shared.root_layout)
    if gmem is None:
        rows, columns = extent(smem, 0), extent(smem, 1)
        gmem = Layout((rows, columns), (1, rows) if _contiguous_rows(coordinates) else (columns, 1))
    op = "SM90_TMA_LOAD" if shared is event.operands[1] else "SM90_TMA_STORE"
    made = make_tma_copy(op, gmem, shared.dtype, smem)
    if map_of(made).box != checked.box or map_of(made).swizzle != checked.swizzle:
        raise NoProbeError("the box of the tensor map does not follow from one stage of the shared-memory layout")
    return made, gmem, smem, shared.dtype


def _sides(event: Event) -> tuple[TensorFact, TensorFact]:
    """The operand in shared memory and the one of coordinates."""
    if len(event.operands) < 2:
        raise NoProbeError("its operands are not known")
    src, dst = event.operands[:2]
    if dst.space == "smem" and src.space == "coord":
        return dst, src
    if src.space == "smem" and dst.space == "coord":
        return src, dst
    raise NoProbeError("a tensor map between other memories")


def _contiguous_rows(coordinates: TensorFact) -> bool:
    layout = coordinates.root_layout
    strides: Any = layout.stride if isinstance(layout, Layout) else ()
    first = strides[0] if isinstance(strides, tuple) and strides else None
    if not isinstance(first, ScaledBasis):
        raise NoProbeError("the major mode of the global tensor is not known")
    return tuple(first.path) == (0,)


def epilogue_of(mma: TiledMMA, extents: tuple[int, int], copies: Sequence[Event]) -> Epilogue | None:
    """The copies that store a tile of the result as this MMA holds it; None where the facts have no such copies."""
    stores = [e for e in copies if len(e.operands) > 1 and e.operands[0].space == "rmem" and _of_mma(e, mma)]
    for event in stores:
        target = event.operands[1]
        assert isinstance(event.tiled, TiledCopy)
        if target.dtype is None or target.dtype.bits is None or target.root_layout is None:
            continue
        if target.space == "gmem":
            return Epilogue(target.dtype, event.tiled)
        smem = first_stage(target.root_layout)
        if target.space != "smem" or (extent(smem, 0), extent(smem, 1)) != extents:
            continue
        for later in copies:
            source = later.operands[0] if later.operands else None
            if source is None or source.space != "smem" or source.buffer != target.buffer:
                continue
            if tensor_map_of(later) is not None:
                write = map_copy(later, Layout(extents, (extents[1], 1)))[0]
                return Epilogue(target.dtype, write, event.tiled, smem)
            if isinstance(later.tiled, TiledCopy) and not is_map(later.tiled):
                return Epilogue(target.dtype, later.tiled, event.tiled, smem)
    return None


def _of_mma(event: Event, mma: TiledMMA) -> bool:
    """Whether the copy takes registers as the MMA holds its accumulators."""
    tiled = event.tiled
    return isinstance(tiled, TiledCopy) and event.operands[0].source == tiled and tiled.num_thr == mma.size and (
        tiled.layout_tv == mma.get_layoutC_TV() or event.operands[0].provenance == "retile"
    )  # fmt: skip
