"""Cells of pictures against one evaluation of the layout a cell."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecheck.model.algebra import composition, idx2crd, make_layout, rank, size
from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import Dyn, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.notation import parse
from cutecheck.model.picture import MAX_CELLS, Grid, NoPictureError, picture
from cutecheck.model.tiled import make_tiled_copy_A, make_tiled_mma

ATOM = mma_op("SM80_16x8x16_F32F16F16F32_TN")

extents = st.integers(1, 4)
modes = st.one_of(extents, st.tuples(extents, extents))


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    shape = tuple(draw(st.lists(modes, min_size=1, max_size=3)))
    stride = tuple(
        tuple(draw(st.integers(-9, 40)) for _ in m) if isinstance(m, tuple) else draw(st.integers(-9, 40))
        for m in shape
    )
    return Layout(shape, stride)


@given(layouts())
@settings(max_examples=60, deadline=None)
def test_values_are_the_offsets_of_their_coordinates(layout: Layout) -> None:
    drawn = picture(layout)
    extent = [known_value(size(layout, i)) or 0 for i in range(rank(layout))]
    extent += [1] * (2 - len(extent))
    assert len(drawn.grids) == (extent[2] if len(extent) > 2 else 1)
    for k, grid in enumerate(drawn.grids):
        assert (grid.rows, grid.columns) == (extent[0], extent[1])
        for m in range(grid.rows):
            for n in range(grid.columns):
                assert grid.cells[m * grid.columns + n] == layout(*(m, n, k)[: rank(layout)])
        for labels, mode in ((grid.row_labels, 0), (grid.column_labels, 1)):
            of_mode = layout.shape[mode] if mode < rank(layout) else 1  # type: ignore[index]
            nested = isinstance(of_mode, tuple)
            coordinates = [idx2crd(i, of_mode) for i in range(extent[mode])] if nested else []
            assert list(labels) == [str(c).replace(" ", "") for c in coordinates]


def check_owners(grid: Grid, layout_tv: AnyLayout, rows: int) -> None:
    """The first owner of each element, the number of owners and what falls outside, one evaluation at a time."""
    owners: dict[int, list[tuple[int, int]]] = {}
    for t in range(known_value(size(layout_tv, 0)) or 0):
        for v in range(known_value(size(layout_tv, 1)) or 0):
            owners.setdefault(layout_tv(t, v), []).append((t, v))  # type: ignore[arg-type]
    for m in range(grid.rows):
        for n in range(grid.columns):
            element = n + m * rows if grid.name == "B" else m + n * rows
            assert grid.owner(m, n) == min(owners.get(element, [None]))  # type: ignore[type-var]
    assert grid.owners == max(map(len, owners.values()))


@pytest.mark.parametrize(
    ("layout", "permutation"),
    [("(_1,_1,_1)", "(_,_,_)"), ("(_2,_2,_1)", "(_32,_32,_16)"), ("(_2,_1,_2)", "(_,_16,_)")],
)
def test_an_mma_is_arranged_as_print_latex_does(layout: str, permutation: str) -> None:
    mma = make_tiled_mma(ATOM, make_layout(parse(layout)), parse(permutation))
    m, n, k = (known_value(e) or 0 for e in mma.tile_shape)
    c, a, b = picture(mma).grids
    assert [(g.name, g.rows, g.columns, g.row, g.column) for g in (c, a, b)] == [
        ("C", m, n, 0, 0), ("A", m, k, 0, -k - 1), ("B", k, n, -k - 1, 0),
    ]  # fmt: skip
    check_owners(c, mma.get_layoutC_TV(), m)
    check_owners(a, mma.get_layoutA_TV(), m)
    check_owners(b, mma.get_layoutB_TV(), n)
    assert picture(ATOM) == picture(make_tiled_mma(ATOM))


def test_both_sides_of_a_copy() -> None:
    mma = make_tiled_mma(ATOM, make_layout((2, 2, 1)), (32, 32, 16))
    copy = make_tiled_copy_A(copy_op("SM75_U32x4_LDSM_N", (), dtype("half_t")), mma)
    source, destination = picture(copy).grids
    assert (source.column, destination.column) == (0, 16 + 3)
    assert source.owners == 2
    check_owners(source, copy.get_layoutS_TV(), 32)
    check_owners(destination, copy.get_layoutD_TV(), 32)


def test_elements_without_owner_and_owners_outside() -> None:
    grid = picture(Layout((2, 2), (1, 4)), (2, 2)).grids[0]
    assert grid.cells == (0, -1, 2, -1)
    assert (grid.owners, grid.outside) == (1, 2)
    assert grid.owner(0, 1) is None and grid.owner(1, 0) == (1, 0)


def test_pointer_flags_are_drawn_in_elements() -> None:
    flagged = ComposedLayout(Swizzle(3, 4, 3, SwizzleUnit.BYTE), SmemPtrFlag(16), Layout((8, 64), (64, 1)))
    drawn = picture(flagged)
    plain = composition(Swizzle(3, 3, 3), Layout((8, 64), (64, 1)))
    assert drawn.grids == picture(plain).grids
    assert any("Sw<3,3,3> o _0 o" in note for note in drawn.notes)


@pytest.mark.parametrize("swizzle", [Swizzle(3, 3, 3), Swizzle(2, 1, -3), Swizzle(0, 4, 3)])
def test_a_swizzle_covers_all_bits_it_touches(swizzle: Swizzle) -> None:
    (grid,) = picture(swizzle).grids
    assert list(grid.cells) == [swizzle(i) for i in range(grid.rows * grid.columns)]
    assert (swizzle.yyy_mask | swizzle.zzz_mask) < grid.rows * grid.columns


@pytest.mark.parametrize(
    "value",
    [Layout((Dyn.named("n"), 4), (1, 4)), Layout((4, 4), (1, Dyn.named("lda"))), Layout((), ()), "text",
     Layout((MAX_CELLS, 2), (1, 1)), Swizzle(3, 14, 3)],
)  # fmt: skip
def test_what_has_no_picture(value: object) -> None:
    with pytest.raises(NoPictureError):
        picture(value)
