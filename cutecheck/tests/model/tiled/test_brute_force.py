"""Partitions against enumeration: which thread owns which element, worked out from the atom's maps alone."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecheck.model.algebra import get_flat_coord, make_layout, offsets, size
from cutecheck.model.atoms import copy_op, element_type, mma_op
from cutecheck.model.basis import X
from cutecheck.model.expr import var
from cutecheck.model.ints import CuteError, Dyn, as_expr
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import make_tiled_copy, make_tiled_mma

ATOMS = (
    "SM70_8x8x4_F32F16F16F32_NT",
    "SM75_16x8x8_F32F16F16F32_TN",
    "SM80_16x8x16_F32F16F16F32_TN",
    "SM80_8x8x4_F64F64F64F64_TN",
    "SM61_DP4A",
)
MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}
COPIES = (
    ("UniversalCopy<uint128_t>", "half_t"),
    ("SM75_U32x4_LDSM_N", "half_t"),
    ("SM75_U16x4_LDSM_T", "half_t"),
    ("SM90_U32x2_STSM_N", "half_t"),
    ("SM50_Shuffle_U32_2x2Trans_XOR4", "half_t"),
    ("SM75_U32x1_LDSM_N", "int8_t"),
)


def owned(mma, operand, thread, rests):
    """Elements (i, j) of a thread in the order of its partition, from the atom's map and the thread's coordinate."""
    m, n = MODES[operand]
    atom = {"A": mma.atom.a_tv, "B": mma.atom.b_tv, "C": mma.atom.c_tv}[operand]
    coord = get_flat_coord(mma.thr_layout_vmnk, thread)
    extent = [mma.atom.shape_mnk[k] for k in (m, n)]
    threads = [size(mma.thr_layout_vmnk, k + 1) for k in (m, n)]
    for r1, r0, v in product(range(rests[1]), range(rests[0]), range(size(atom, 1))):
        element = atom(coord[0], v)
        out = []
        for axis, (k, inside) in enumerate(zip((m, n), (element % extent[0], element // extent[0]), strict=True)):
            index = inside + extent[axis] * (coord[k + 1] + threads[axis] * (r0, r1)[axis])
            tile = mma.permutation(k)
            if isinstance(tile, Layout):
                index = tile(index % size(tile)) + size(tile) * (index // size(tile))
            out.append(index)
        yield tuple(out)


def bijections(base):
    """Permutations of a mode: keep, plain sizes, and layouts onto [0, size)."""
    return st.sampled_from(
        [X, base, 2 * base, Layout((base, 2), (2, 1))]
        + ([Layout((base // 2, 2, 2), (1, base, base // 2))] if base % 2 == 0 else [])
    )


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_mma_partitions_are_the_elements_the_atom_assigns(data):
    atom = mma_op(data.draw(st.sampled_from(ATOMS)))
    extents = tuple(data.draw(st.sampled_from((1, 2, 4))) for _ in range(3))
    tile = tuple(data.draw(bijections(a * e)) for a, e in zip(atom.shape_mnk, extents, strict=True))
    mma = make_tiled_mma(atom, make_layout(extents), tile)
    operand = data.draw(st.sampled_from("ABC"))
    m, n = MODES[operand]
    tiles = [data.draw(st.sampled_from((1, 2))) for _ in range(2)]
    whole = [mma.tile_size(k) * t for k, t in zip((m, n), tiles, strict=True)]
    layout = Layout(tuple(whole), (whole[1] + 8, 1))
    if data.draw(st.booleans()) and whole[1] % 64 == 0:
        layout = ComposedLayout(Swizzle(3, 3, 3), 0, Layout(tuple(whole), (whole[1], 1)))
    thread = data.draw(st.integers(0, mma.size - 1))
    part, start = mma.get_slice(thread).partition(operand, layout)
    rests = [whole[0] // (mma.atom.shape_mnk[m] * extents[m]), whole[1] // (mma.atom.shape_mnk[n] * extents[n])]
    expected = [layout(i, j) for i, j in owned(mma, operand, thread, rests)]
    assert [start + x for x in offsets(part)] == expected


@pytest.mark.parametrize("operand", "ABC")
def test_the_tv_layout_covers_the_tile(operand):
    mma = make_tiled_mma(mma_op("SM80_16x8x16_F32F16F16F32_TN"), make_layout((2, 2, 1)), (32, 32, 16))
    m, n = MODES[operand]
    tile = mma.tile_size(m) * mma.tile_size(n)
    assert set(offsets(mma._layout_tv(operand))) == set(range(tile))


@pytest.mark.parametrize(("name", "value"), COPIES)
@pytest.mark.parametrize("side", "SD")
def test_copy_tv_layouts_follow_the_reference_layout(name, value, side):
    atom = copy_op(name, (), element_type(value))
    copy = make_tiled_copy(atom, make_layout((32, 4)), make_layout((1, 16)))
    target = atom.val_layout_src if side == "S" else atom.val_layout_dst
    layout = copy.get_layoutS_TV() if side == "S" else copy.get_layoutD_TV()
    threads, values = size(atom.val_layout_ref, 0), size(atom.val_layout_ref, 1)
    where = {atom.val_layout_ref(t, v): (t, v) for t in range(threads) for v in range(values)}
    target_values = size(target, 1)
    for t, v in product(range(copy.num_thr), range(size(layout, 1))):
        ref_t, ref_v = where[target(t % threads, v % target_values)]
        expected = copy.layout_tv(ref_t + threads * (t // threads), ref_v + values * (v // target_values))
        assert layout(t, v) == expected


def test_a_run_time_thread_index_gives_every_threads_offset():
    atom = copy_op("UniversalCopy<uint128_t>", (), element_type("half_t"))
    with pytest.raises(CuteError, match="too few vals"):
        make_tiled_copy(atom, make_layout((16, 8)))
    copy = make_tiled_copy(atom, Layout((16, 8), (8, 1)), make_layout((1, 8)))
    tile = Layout((128, 64), (64, 1))
    layout, start = copy.partition_S(tile, Dyn(var("threadIdx.x")))
    for thread in (0, 1, 7, 8, 127):
        fixed, number = copy.partition_S(tile, thread)
        assert as_expr(start).evaluate({"threadIdx.x": thread}) == number
        assert str(fixed) == str(layout)


def test_rank_and_atom_mismatches_name_their_operands():
    mma = make_tiled_mma(mma_op(ATOMS[2]), make_layout((2, 2, 1)))
    with pytest.raises(CuteError, match="thrfrg_A"):
        mma.thrfrg_A(make_layout(128))
    with pytest.raises(CuteError, match="rank-3 PermutationMNK"):
        make_tiled_mma(mma.atom, make_layout((2, 2, 1)), (32, 32, 16, X))
    ldmatrix = copy_op("SM75_U32x4_LDSM_N", (), element_type("half_t"))
    copy = make_tiled_copy(ldmatrix, make_layout((32, 1)), make_layout((1, 8)))
    with pytest.raises(CuteError, match="Rank of tensor"):
        copy.tidfrg_S(make_layout(1024))
    with pytest.raises(CuteError, match="too few thrs"):
        make_tiled_copy(copy.atom, make_layout((16, 1)), make_layout((1, 8)))
    with pytest.raises(CuteError, match="Dynamic owning tensors"):
        mma.get_slice(0).partition_fragment("A", Layout((Dyn.of(64), 32), (32, 1)))
