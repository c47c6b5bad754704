"""What a picture of a layout, tiled copy or tiled MMA shows: which cell holds which offset, thread and value.

Grids are arranged as ``cute::print_latex`` arranges them (``cute/util/print_latex.hpp``): of an MMA, C in the middle
with A at its left and B above it; of a copy, the source tile and the destination tile beside it. Pure data; the
renderers are in ``cutecheck.report``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import (
    as_position_independent_swizzle_layout,
    composition,
    idx2crd,
    logical_divide,
    make_layout,
    offsets,
    product_each,
    rank,
    shape,
    size,
    slice,
)
from cutecheck.model.algebra import layout as get_mode
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.basis import X
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, SmemPtrFlag, Swizzle
from cutecheck.model.notation import show
from cutecheck.model.tiled import TiledCopy, TiledMMA, make_tiled_mma
from cutecheck.model.tiled.ownership import explained
from cutecheck.records import record

MAX_CELLS = 1 << 20
_ROW = 1 << 32  # the stride that keeps a tile's two coordinates apart in one integer
_SWIZZLE_BITS = 16


class NoPictureError(ValueError):
    """Why a value cannot be drawn."""


@record(frozen=True, slots=True)
class Grid:
    """A table of ``rows`` x ``columns`` cells, row major.

    A cell of a ``values`` grid holds an offset. One of an ``owners`` grid holds ``thread * num_val + value`` of the
    first thread and value (in this order) that own the element, -1 where none does; ``owners`` is how many of them
    own one element at most, and ``outside`` how many fall outside the tile. ``row`` and ``column`` are where cell
    (0, 0) is drawn. ``row_labels`` and ``column_labels`` are the hierarchical coordinates of modes that have any, else
    empty.
    """

    name: str
    kind: Literal["values", "owners"]
    rows: int
    columns: int
    cells: tuple[int, ...]
    num_val: int = 1
    row: int = 0
    column: int = 0
    row_mode: str = ""
    column_mode: str = ""
    row_labels: tuple[str, ...] = ()
    column_labels: tuple[str, ...] = ()
    owners: int = 1
    outside: int = 0
    label_left: bool = True
    label_above: bool = True

    def owner(self, row: int, column: int) -> tuple[int, int] | None:
        """(thread, value) of a cell; None where nobody owns it."""
        cell = self.cells[row * self.columns + column]
        return None if cell < 0 else divmod(cell, self.num_val)


@record(frozen=True, slots=True)
class Picture:
    """Grids on one sheet. ``title`` says what is drawn, ``notes`` name the layouts behind the grids."""

    title: str
    arrangement: Literal["row", "mma"]
    notes: tuple[str, ...]
    grids: tuple[Grid, ...]

    @property
    def cells(self) -> int:
        return sum(g.rows * g.columns for g in self.grids)


def picture(value: object, tile: tuple[int, int] | None = None) -> Picture:
    """The picture of a layout, swizzle, atom, tiled copy or tiled MMA.

    With ``tile`` (M, N), a layout of rank 2 is drawn as (thread, value) to the linear coordinate in that tile.
    NoPictureError for other values, for what is not a known number, and for more than ``MAX_CELLS`` cells.
    """
    try:
        return _checked(value, tile)
    except (CuteError, NotModelledError, UndecidedError) as error:
        raise NoPictureError(" ".join(str(error).split())) from None
    except TypeError as error:
        raise NoPictureError(f"it depends on run-time values ({error})") from None


def _checked(value: object, tile: tuple[int, int] | None) -> Picture:
    if tile is not None:
        if not isinstance(value, (Layout, ComposedLayout)) or rank(value) != 2:
            raise NoPictureError("only a layout (thread, value) of rank 2 is drawn over a tile")
        grid = _owners("", value, None, tile, column_stride=tile[0])
        return Picture("thread-value layout", "row", (f"Layout TV: {value}",), (grid,))
    if isinstance(value, MMAAtom):
        value = make_tiled_mma(value)
    if isinstance(value, TiledMMA):
        return _tiled_mma(value)
    if isinstance(value, TiledCopy):
        return _tiled_copy(value)
    if isinstance(value, CopyAtom):
        return _copy_atom(value)
    if isinstance(value, Swizzle):
        return _swizzle(value)
    if isinstance(value, (Layout, ComposedLayout)):
        return _layout(value)
    raise NoPictureError(f"a {type(value).__name__} has no picture")


def _layout(given: AnyLayout) -> Picture:
    layout, notes = given, [f"Layout: {given}"]
    if isinstance(given, ComposedLayout) and isinstance(given.offset, SmemPtrFlag):
        layout = as_position_independent_swizzle_layout(given)
        notes.append(f"offsets in elements: {layout}")
    return Picture("layout", "row", tuple(notes), tuple(_value_grids(layout)))


def _value_grids(layout: AnyLayout, name: str = "", modes: tuple[str, str] = ("", "")) -> Iterator[Grid]:
    """One grid for each coordinate of the modes after the second; rank 1 is one column."""
    extents = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    if not extents:
        raise NoPictureError("a layout of rank 0 has no cells")
    sizes = [_number(it.product(e)) for e in extents]
    rows, columns = sizes[0], sizes[1] if len(sizes) > 1 else 1
    _limit(_number(size(layout)))
    all_offsets = offsets(layout)
    each = rows * columns
    row_labels = _labels(extents[0])
    column_labels = _labels(extents[1]) if len(sizes) > 1 else ()
    at = 0
    for k in range(len(all_offsets) // each if each else 0):
        plane = all_offsets[k * each : (k + 1) * each]
        cells = tuple(x for m in range(rows) for x in plane[m::rows])
        rest = f"(_,_,{','.join(_coordinate(c) for c in idx2crd(k, extents[2:]))})" if len(sizes) > 2 else ""
        yield Grid(name or rest, "values", rows, columns, cells, column=at, row_mode=modes[0], column_mode=modes[1],
                   row_labels=row_labels, column_labels=column_labels)  # fmt: skip
        at += columns + 3


def _swizzle(swizzle: Swizzle) -> Picture:
    """All bits the swizzle reads or changes: a row for each value of the bits read, for a positive shift."""
    low, bits = swizzle.base + abs(swizzle.shift), swizzle.bits
    if low + bits > _SWIZZLE_BITS:
        raise NoPictureError(f"{swizzle} reaches over {low + bits} bits: that many offsets are not drawn")
    domain = make_layout((1 << bits, 1 << low), (1 << low, 1))
    layout = composition(swizzle, domain)
    return Picture("swizzle", "row", (f"{swizzle} over {domain}",), tuple(_value_grids(layout)))


def _copy_atom(atom: CopyAtom) -> Picture:
    grids: list[Grid] = []
    notes = []
    at = 0
    for name, layout in (("Src", atom.val_layout_src), ("Dst", atom.val_layout_dst), ("Ref", atom.val_layout_ref)):
        (grid,) = _value_grids(layout, f"ValLayout{name}", ("thread", "value"))
        grids.append(_moved(grid, 0, at))
        notes.append(f"ValLayout{name}: {layout}")
        at += grid.columns + 3
    return Picture(f"Copy_Atom {atom.op}", "row", (*notes, f"elements of {atom.value_type.name}"), tuple(grids))


def _tiled_copy(copy: TiledCopy) -> Picture:
    modes = copy.tiler_mn if isinstance(copy.tiler_mn, tuple) else (copy.tiler_mn,)
    divided = logical_divide(make_layout((1,) * len(modes)), modes)
    tile = [_number(e) for e in product_each(shape(divided))]
    folded = (tile[0], _product(tile[1:]))  # modes after the second go along the columns
    reference = make_layout(tuple(tile), tuple(1 if i == 0 else _ROW * _product(tile[1:i]) for i in range(len(tile))))
    rest = (0,) * (rank(copy.tidfrg_S(reference)) - 2)
    sides: list[tuple[str, AnyLayout]] = []
    for name, partition in (("S", copy.tidfrg_S), ("D", copy.tidfrg_D)):
        sides.append((name, slice((X, X, *rest), partition(reference))))
    grids: list[Grid] = []
    for name, layout in sides:
        grid = _owners(name, layout, None, folded, ("m", "n"))
        grids.append(_moved(grid, 0, folded[1] + 3 if grids else 0))
    notes = (
        f"Tiler_MN: {show(copy.tiler_mn)}",
        f"Layout S TV: {copy.get_layoutS_TV()}",
        f"Layout D TV: {copy.get_layoutD_TV()}",
    )
    return Picture(f"TiledCopy {copy.atom.op}", "row", notes, tuple(grids))


def _tiled_mma(mma: TiledMMA) -> Picture:
    m, n, k = (_number(e) for e in mma.tile_shape)
    a_tv, b_tv, c_tv = mma.get_layoutA_TV(), mma.get_layoutB_TV(), mma.get_layoutC_TV()
    c = _owners("C", c_tv, make_layout((m, n), (1, _ROW)), (m, n), ("m", "n"))
    a = _owners("A", a_tv, make_layout((m, k), (1, _ROW)), (m, k), ("m", "k"))
    b = _transposed(_owners("B", b_tv, make_layout((n, k), (1, _ROW)), (n, k), ("n", "k")))
    grids = (_labelled(c, False, False), _moved(a, 0, -k - 1), _moved(b, -k - 1, 0))
    told = (explained(mma, m) for m in (0, 1) if isinstance(mma.permutation_mnk[m], Layout))
    notes = (f"LayoutC_TV: {c_tv}", f"LayoutA_TV: {a_tv}", f"LayoutB_TV: {b_tv}", *(t for t in told if t))
    return Picture(f"TiledMMA {mma.atom.op} {m}x{n}x{k}", "mma", notes, grids)


def _owners(
    name: str,
    layout_tv: AnyLayout,
    reference: AnyLayout | None,
    tile: tuple[int, int],
    modes: tuple[str, str] = ("", ""),
    column_stride: int = _ROW,
) -> Grid:
    """The first (thread, value) of each element of the tile.

    ``layout_tv``, put into ``reference`` if there is one, gives row + column_stride * column.
    """
    over_tile = layout_tv if reference is None else composition(reference, layout_tv)
    if rank(over_tile) != 2:
        raise NoPictureError(f"not a layout of thread and value: {layout_tv}")
    rows, columns = tile
    _limit(rows * columns)
    values = _number(size(over_tile, 1))
    cells = [-1] * (rows * columns)
    count = [0] * (rows * columns)
    outside = 0
    for thread, value, many, x in _first_owners(over_tile):
        column, row = divmod(x, column_stride)
        if row < rows and 0 <= column < columns:
            at = row * columns + column
            cells[at] = thread * values + value
            count[at] += many
        else:
            outside += many
    return Grid(
        name,
        "owners",
        rows,
        columns,
        tuple(cells),
        values,
        row_mode=modes[0],
        column_mode=modes[1],
        owners=max(count, default=0),
        outside=outside,
    )


def _first_owners(layout_tv: AnyLayout) -> Iterator[tuple[int, int, int, int]]:
    """(thread, value, how many share them, offset) from the last to the first.

    A plain layout adds the offsets of its modes: threads of one offset are the same, only the first is given, and so
    are values. Operands of WGMMA in shared memory, for instance, have one offset for all 128 threads.
    """
    if isinstance(layout_tv, Layout):
        threads = _distinct(offsets(get_mode(layout_tv, 0)))
        values = _distinct(offsets(get_mode(layout_tv, 1)))
        _limit(len(threads) * len(values))
        for start, (thread, many) in reversed(threads.items()):
            for step, (value, copies) in reversed(values.items()):
                yield thread, value, many * copies, start + step
        return
    number = _number(size(layout_tv, 0))
    _limit(_number(size(layout_tv)))
    found = offsets(layout_tv)
    for i in range(len(found) - 1, -1, -1):
        # column major, the thread runs fastest: put the order right by thread, then value
        thread, value = divmod(i, len(found) // number)
        yield thread, value, 1, found[thread + number * value]


def _distinct(numbers: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Each number with its first index and how often it occurs, in order of first index."""
    out: dict[int, tuple[int, int]] = {}
    for i, x in enumerate(numbers):
        first, many = out.get(x, (i, 0))
        out[x] = first, many + 1
    return out


def _transposed(g: Grid) -> Grid:
    cells = tuple(x for j in range(g.columns) for x in g.cells[j :: g.columns])
    return Grid(g.name, g.kind, g.columns, g.rows, cells, g.num_val, g.column, g.row, g.column_mode, g.row_mode,
                g.column_labels, g.row_labels, g.owners, g.outside)  # fmt: skip


def _moved(g: Grid, row: int, column: int) -> Grid:
    return replace(g, row=row, column=column)


def _labelled(g: Grid, left: bool, above: bool) -> Grid:
    return replace(g, label_left=left, label_above=above)


def _labels(extent: Any) -> tuple[str, ...]:
    """Hierarchical coordinates of a mode that has any."""
    if not isinstance(extent, tuple) or len(extent) < 2:
        return ()
    return tuple(_coordinate(idx2crd(i, extent)) for i in range(_number(it.product(extent))))


def _coordinate(c: Any) -> str:
    return f"({','.join(map(_coordinate, c))})" if isinstance(c, tuple) else str(_number(c))


def _number(a: Any) -> int:
    number = known_value(a)
    if number is None:
        raise NoPictureError(f"an extent is not a known number: {show(a)}")
    return number


def _product(extents: Sequence[int]) -> int:
    result = 1
    for e in extents:
        result *= e
    return result


def _limit(cells: int) -> None:
    if cells > MAX_CELLS:
        raise NoPictureError(f"{cells} cells are more than the limit of {MAX_CELLS}")
