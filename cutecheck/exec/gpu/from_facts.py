"""Probes from facts: which copy or GEMM of the reference kernels stands for an event of the checked code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cutecheck.exec import sample
from cutecheck.exec.gpu.from_facts_copies import (
    NoProbeError,
    epilogue_of,
    extent,
    first_stage,
    map_copy,
    tensor_map_of,
)
from cutecheck.exec.gpu.from_facts_plain import plain_copy
from cutecheck.exec.gpu.gemm import GemmProbe, Operand, element_copy
from cutecheck.exec.gpu.probe import CopyProbe, Tile
from cutecheck.facts import Event, Site, TensorFact, Unknown
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import position_independent, rank, shape, size
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, UndecidedError, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, SmemPtrFlag
from cutecheck.model.tiled import TiledCopy, TiledMMA

# what a run-time stride or extent is taken to be, at least: large enough for rows of a tile not to overlap
LEAST_STRIDE = 256


def probe_of(event: Event, events: Iterable[Event] = ()) -> CopyProbe | GemmProbe:
    """The probe of a copy or gemm event; ``events`` are those of the same function, for a GEMM's copies."""
    try:
        return _copy(event) if event.kind == "copy" else _gemm(event, events)
    except (CuteError, UndecidedError) as error:
        raise NoProbeError(str(error)) from error


def probe_of_site(site: Site) -> CopyProbe | None:
    """A copy of exactly one tile of a TiledCopy, from global to shared memory; None where the site holds no such."""
    tiled = site.value
    if not isinstance(tiled, TiledCopy) or tiled.atom.kind not in ("universal", "cp_async"):
        return None
    shape = tiled.tiler_shape
    extents = [known_value(size(m)) for m in shape] if isinstance(shape, tuple) else []
    if len(extents) != 2 or None in extents:
        return None
    rows, columns = (e or 0 for e in extents)
    try:
        tile = Layout((rows, columns), (columns, 1) if _fills_k_major(tiled) else (1, rows))
        return CopyProbe(tiled, tiled.atom.value_type, Tile("gmem", tile), Tile("smem", tile))
    except (CuteError, UndecidedError, TypeError):
        return None


def _copy(event: Event) -> CopyProbe:
    if event.reason is not None:
        raise NoProbeError(event.reason.reason)
    if tensor_map_of(event) is not None:
        made, gmem, smem, dtype = map_copy(event)
        outer, inner = Tile("gmem", gmem), Tile("smem", smem)
        load = event.operands[1].space == "smem"
        return CopyProbe(made, dtype, *((outer, inner) if load else (inner, outer)))
    if not isinstance(event.tiled, TiledCopy):
        return _plain(event)
    if event.tiled.atom.kind in ("tma", "bulk"):
        raise NoProbeError("a bulk copy, or a tensor copy whose map is not known, is not probed")
    if len(event.operands) < 2:
        raise NoProbeError("its operands are not known")
    src, dst = event.operands[:2]
    numbers = _point((src.root_layout, dst.root_layout))
    tiles = [_tile(event, t, numbers) for t in (src, dst)]
    tiles = _matched(event.tiled, tiles)
    memory = src if tiles[0] is not None else dst
    if tiles == [None, None]:
        raise NoProbeError("a copy between registers")
    if memory.dtype is None:
        raise NoProbeError(f"the element type of `{memory.name}` is not known")
    fragment: Layout | None = None
    if None in tiles:
        registers = dst if tiles[1] is None else src
        held = registers.layout
        if not isinstance(held, Layout) or not it.is_static((held.shape, held.stride)):
            raise NoProbeError(f"the layout of `{registers.name}` is not static")
        fragment = held
        sliced = _size_of(registers.layout) != _size_of(memory.layout)
        if sliced:
            raise NoProbeError("its operands have different sizes")
    probe = CopyProbe(event.tiled, memory.dtype, tiles[0], tiles[1], fragment)
    if fragment is not None:
        tile = tiles[0] or tiles[1]
        assert tile is not None
        whole, _ = (event.tiled.partition_S if tiles[0] else event.tiled.partition_D)(tile.layout, 0)
        if known_value(size(whole)) != _size_of(fragment) or rank(whole) != rank(fragment):
            if tile.memory == "gmem" and not it.is_static(tile.layout.shape):
                return _plain(event)  # a slice of a global tensor whose extents are run-time values
            # the checked copy moves a slice, or one without its modes of one element: the kernel moves the whole tile
            other, _ = (event.tiled.partition_D if tiles[0] else event.tiled.partition_S)(tile.layout, 0)
            probe = CopyProbe(event.tiled, memory.dtype, tiles[0], tiles[1], _compact(other))
    return probe


def _plain(event: Event) -> CopyProbe:
    if len(event.operands) < 2:
        raise NoProbeError("its operands are not known")
    src, dst = event.operands[:2]
    made, (first, second) = plain_copy(event, _point((src.layout, src.offset, dst.layout, dst.offset)))
    if it.is_static((first.shape, second.shape)) and size(first) != size(second):
        raise NoProbeError("its operands have different sizes")
    spaces = [t.space for t in (src, dst)]
    if not set(spaces) <= {"rmem", "smem", "gmem"} or spaces == ["rmem", "rmem"]:
        raise NoProbeError(f"a copy from {spaces[0]} to {spaces[1]} is not probed")
    if "rmem" in spaces:
        fragment = first if spaces[0] == "rmem" else second
        if not it.is_static((fragment.shape, fragment.stride)):
            raise NoProbeError("the layout of its registers is not static")
    else:
        fragment = None
    tiles = [
        None if t.space == "rmem" else Tile("smem" if t.space == "smem" else "gmem", layout)
        for t, layout in ((src, first), (dst, second))
    ]
    return CopyProbe(made, made.dtype, tiles[0], tiles[1], fragment)


def _compact(part: AnyLayout) -> Layout:
    from cutecheck.model.algebra import make_fragment_like

    made = make_fragment_like(part)
    assert isinstance(made, Layout)
    return made


def _size_of(layout: AnyLayout | Unknown) -> int | None:
    return None if isinstance(layout, Unknown) else known_value(size(layout))


def _tile(event: Event, tensor: TensorFact, numbers: dict[str, int]) -> Tile | None:
    if tensor.space == "rmem":
        return None
    if tensor.space not in ("smem", "gmem"):
        raise NoProbeError(f"`{tensor.name}` is in {tensor.space} memory")
    if tensor.root_layout is None or tensor.source != event.tiled or tensor.provenance not in ("partition", "slice"):
        raise NoProbeError(f"`{tensor.name}` is not a partition of a known tile by this TiledCopy")
    layout = sample.at(tensor.root_layout, numbers)
    if isinstance(layout, ComposedLayout) and not isinstance(layout.b, Layout):
        raise NoProbeError("a nested composed layout")
    if len(it.flatten_to_tuple(_tiler_shape(event.tiled))) > 2 and tensor.space == "gmem":
        raise NoProbeError("a tiler of more than two modes")
    return Tile("smem" if tensor.space == "smem" else "gmem", first_stage(layout))


def _matched(tiled: TiledCopy, tiles: list[Tile | None]) -> list[Tile | None]:
    """A global tensor of another size than the shared tile becomes a tile of its rows: only the tile is copied."""
    if None in tiles or tiles[0] is None or tiles[1] is None or {t.memory for t in tiles if t} != {"smem", "gmem"}:
        return tiles
    place = 0 if tiles[0].memory == "gmem" else 1
    shared, outer = tiles[1 - place], tiles[place]
    assert shared is not None and outer is not None
    if _extents(shared.layout) == _extents(outer.layout):
        return tiles
    rows, columns = extent(shared.layout, 0), extent(shared.layout, 1)
    k_major = _fills_k_major(tiled)
    stride = (max(LEAST_STRIDE, columns), 1) if k_major else (1, max(LEAST_STRIDE, rows))
    made = list(tiles)
    made[place] = Tile("gmem", Layout((rows, columns), stride))
    return made


def _extents(layout: AnyLayout) -> tuple[int | None, ...]:
    inner = layout.shape
    modes = inner if isinstance(inner, tuple) else (inner,)
    return tuple(known_value(size(m)) for m in modes)


def _tiler_shape(tiled: object) -> Any:
    assert isinstance(tiled, TiledCopy)
    return tiled.tiler_shape


def _point(value: object) -> dict[str, int]:
    """Numbers for run-time names: strides wide enough, and multiples of whole vectors where the source allows it."""
    return {name: max(number, LEAST_STRIDE) for name, number in sample.point(value).items()}


def _gemm(event: Event, events: Iterable[Event]) -> GemmProbe:
    mma = event.tiled
    if not isinstance(mma, TiledMMA):
        raise NoProbeError("a gemm without a TiledMMA")
    operands = event.operands[-3:-1] if len(event.operands) >= 3 else ()
    if len(operands) != 2:
        raise NoProbeError("its operands are not known")
    same = [e for e in events if e.kind == "copy" and (e.enclosing, e.arch) == (event.enclosing, event.arch)]
    made = [_operand(mma, "AB"[i], tensor, same) for i, tensor in enumerate(operands)]
    depths = {known_value(size(shape(o.smem, 1))) for o in made}
    if len(depths) != 1:
        raise NoProbeError("the operands' tiles differ in K")
    rows = [extent(o.smem, 0) for o in made]
    accumulator = mma.atom.val_types[3] if mma.atom.val_types[3].bits else mma.atom.val_types[2]
    gmem = Layout((rows[0], rows[1]), (rows[1], 1))
    found = epilogue_of(mma, (rows[0], rows[1]), same)
    if found is None:
        return GemmProbe(mma, made[0], made[1], accumulator, gmem)
    return GemmProbe(mma, made[0], made[1], found.dtype, gmem, found.write, found.stage, found.smem)


def _operand(mma: TiledMMA, letter: str, tensor: TensorFact, copies: Iterable[Event]) -> Operand:
    copies = list(copies)
    read: TiledCopy | None = None
    if mma.atom.kind == "wgmma" and tensor.space == "smem":
        smem_buffer = tensor.buffer
        layout = tensor.tile_layout
    else:
        reads = [
            e
            for e in copies
            if isinstance(e.tiled, TiledCopy)
            and len(e.operands) > 1
            and e.operands[0].space == "smem"
            and e.operands[1].buffer == tensor.buffer
        ]
        if not reads or tensor.buffer is None:
            raise NoProbeError(f"the copy that fills operand {letter} from shared memory is not known")
        assert isinstance(reads[0].tiled, TiledCopy)
        read, layout = reads[0].tiled, reads[0].operands[0].root_layout
        smem_buffer = reads[0].operands[0].buffer
    if layout is None:
        raise NoProbeError(f"the shared-memory layout of operand {letter} is not known")
    smem = first_stage(layout)
    dtype = mma.atom.val_types[0 if letter == "A" else 1]
    fills = [
        e.tiled
        for e in copies
        if isinstance(e.tiled, TiledCopy)
        and e.operands[0].space == "gmem"
        and e.operands[1].buffer == smem_buffer
        and e.operands[1].root_layout is not None
        and _places(e.operands[1].root_layout) == _places(smem)
    ]
    made = operand(mma, dtype, smem, read, fills[0] if fills else None)
    mapped = next((e for e in copies if tensor_map_of(e) is not None and e.operands[1].buffer == smem_buffer), None)
    if mapped is None:
        return made
    checked = map_copy(mapped)
    if checked[2] != smem or checked[3] != dtype:
        return made
    depth = extent(smem, 1)
    wide = Layout((extent(smem, 0), 2 * depth), (2 * depth, 1))
    if checked[1].stride[0] == 1:  # type: ignore[index]
        wide = Layout(wide.shape, (1, extent(smem, 0)))
    strides: Any = wide.stride
    gmem = Layout((extent(smem, 0), depth, 2), (*strides, depth * strides[1]))
    return replace(made, gmem=gmem, copy=map_copy(mapped, wide)[0])


def _places(layout: AnyLayout) -> AnyLayout:
    """One stage of a layout, its swizzle as one of offsets where it is one of addresses."""
    stage = first_stage(layout)
    if isinstance(stage, ComposedLayout) and isinstance(stage.offset, SmemPtrFlag):
        return position_independent(stage)
    return stage


def operand(mma: TiledMMA, dtype: DType, smem: AnyLayout, read: TiledCopy | None, fill: TiledCopy | None) -> Operand:
    """An operand with its checked shared-memory layout; element-wise fills where the checked copy is not known."""
    rows, depth = extent(smem, 0), extent(smem, 1)
    threads = known_value(size(mma.thr_layout_vmnk)) or 32
    k_major = not _rows_contiguous(smem) if fill is None else _fills_k_major(fill)
    tiles = 2
    gmem = Layout((rows, depth, tiles), (depth * tiles, 1, depth) if k_major else (1, rows, rows * depth))
    return Operand(dtype, gmem, smem, fill or element_copy(dtype, rows, depth, threads, k_major), read)


def _rows_contiguous(layout: AnyLayout) -> bool:
    inner = layout.b if isinstance(layout, ComposedLayout) else layout
    assert isinstance(inner, Layout)
    stride: Any = inner.stride
    return 1 in it.flatten_to_tuple(stride[0])


def _fills_k_major(fill: TiledCopy) -> bool:
    """Whether a thread's vector runs along K: the second mode of the tiler."""
    atom = known_value(fill.atom_num_val) or 1
    if atom == 1:
        return True
    first = known_value(size(fill.tiler_shape[0])) if isinstance(fill.tiler_shape, tuple) else None
    layout: Any = fill.get_layoutS_TV()
    step = layout(0, 1)
    return bool(first and step >= first)
