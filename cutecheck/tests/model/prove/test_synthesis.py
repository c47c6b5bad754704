"""Layouts found for whole buffers, and the proof that none exists."""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace

import pytest

from cutecheck.model import algebra
from cutecheck.model import expr as ex
from cutecheck.model.access import wavefronts
from cutecheck.model.expr import Expr
from cutecheck.model.layout import Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove import Options, Verdict, make_obligation, prove
from cutecheck.model.prove.engines.banks import bank_access
from cutecheck.model.prove.properties import BankAccess
from cutecheck.model.prove.synthesis import (
    Family,
    find_padding,
    find_swizzle,
    find_xor_layout,
    suggest,
    suggest_vectors,
)
from cutecheck.model.prove.synthesis.padding import NotRowsError, repitch
from cutecheck.model.units import Bytes
from cutecheck.tests.model.prove.random_accesses import digits

THREAD = ex.var("threadIdx.x", ex.Domain(0, 127))


def lanes(extents: list[int], strides: list[int]) -> Expr:
    total = ex.const(0)
    for digit, stride in zip(digits(THREAD, extents), strides, strict=True):
        total = ex.add(total, ex.mul(digit, ex.const(stride)))
    return total


def fp16(row: int) -> list[BankAccess]:
    """128x64 fp16: 16-byte copy in, ldmatrix.x4, 4-byte stores of an accumulator."""
    copy_in = BankAccess("st", 16, 128, lanes([8, 16], [8, row]), 128, rest=Layout((8,), (16 * row,)))
    rows = lanes([16, 2, 4], [row, 8, 16 * row])
    load = BankAccess("ldmatrix", 16, 128, rows, 128, rest=Layout((2, 4), (64 * row, 16)), matrices=4)
    out = lanes([4, 8, 4], [2, row, 16 * row])
    return [copy_in, load, BankAccess("st", 16, 32, out, 128, rest=Layout((2, 8, 2), (8 * row, 8, 64 * row)))]


def fp32(store: bool) -> list[BankAccess]:
    """128x32 fp32: 16-byte copy in, ldmatrix, and 8-byte stores of an accumulator."""
    found = [
        BankAccess("st", 32, 128, lanes([8, 16], [4, 32]), 128, rest=Layout((8,), (512,))),
        BankAccess("ldmatrix", 32, 128, lanes([16, 2, 4], [32, 4, 512]), 128, None, Layout((2, 4), (2048, 8)), 4),
    ]
    accumulator = BankAccess("st", 32, 64, lanes([4, 8, 4], [2, 32, 512]), 128, rest=Layout((2, 4, 2), (256, 8, 2048)))
    return [*found, accumulator] if store else found


def test_fp16_tile() -> None:
    started = time.perf_counter()
    found = suggest(fp16(64), tile=64 * 128)
    assert found.swizzle == Swizzle(3, 3, 3)
    assert all(o.verdict is Verdict.PROVED for o in found.search.outcomes)
    assert time.perf_counter() - started < 10


def test_only_one_member_frees_the_fp16_tile() -> None:
    accesses = fp16(64)
    other = [sw for sw in (Swizzle(2, 3, 3), Swizzle(3, 3, 4), Swizzle(3, 4, 3)) if _free(accesses, sw)]
    assert other == []


@pytest.mark.parametrize("row", [64, 72, 80, 128])
@pytest.mark.parametrize("base_alignment", [16, 1024])
def test_the_first_conflict_fails_those_that_the_costliest_does(row: int, base_alignment: int) -> None:
    family = Family(max_bits=3, max_base=4, max_shift=4)
    for whole in (fp16(row), fp32(store=False), fp32(store=True)):
        accesses = [replace(a, base_alignment=Bytes(base_alignment)) for a in whole]
        free = []
        for sw in family.members(accesses, SwizzleUnit.ELEMENT):
            asked = [make_obligation(replace(a, swizzle=sw)) for a in accesses]
            answers = [bank_access(o).answer for o in asked]
            assert answers == [bank_access(o, any_will_do=True).answer for o in asked]
            free += [sw] if set(answers) == {"holds"} else []
        found = find_swizzle(accesses, family)
        assert found.swizzle == (free[0] if free else None)
        assert found.none_exists == (not free)


def _free(accesses: list[BankAccess], sw: Swizzle) -> bool:
    return all(prove(make_obligation(replace(a, swizzle=sw))).verdict is Verdict.PROVED for a in accesses)


def test_fp32_tile_without_the_store() -> None:
    assert suggest(fp32(store=False)).swizzle == Swizzle(3, 2, 3)


def test_fp32_tile_has_no_swizzle_but_an_xor_layout() -> None:
    found = suggest(fp32(store=True), pitch=32)
    assert found.swizzle is None
    assert found.search.none_exists
    assert found.search.members == len(found.search.conflicts) > 100
    assert "B <= 5" in found.text
    assert found.padding is None
    assert found.xor is not None
    assert found.text.endswith(f"an XOR layout does ({found.xor}), proved")
    for outcome in found.xor.outcomes:  # one an access, by two engines, on offsets with the exclusive or written out
        assert outcome.verdict is Verdict.PROVED
        assert sum(r.answer == "holds" for r in outcome.runs) >= 2
    assert len(found.xor.outcomes) == 3
    assert found.search.best is not None


def test_padding_of_the_fp16_tile() -> None:
    padding = find_padding(fp16(64), 64)
    assert padding is not None
    assert (padding.pitch, padding.extra) == (72, 8)


def test_repitch_equals_the_access_built_on_that_pitch() -> None:
    for built, moved in zip(fp16(72), (repitch(a, 64, 72) for a in fp16(64)), strict=True):
        assert moved.rest == built.rest
        for t in range(128):
            assert moved.offset.evaluate({"threadIdx.x": t}) == built.offset.evaluate({"threadIdx.x": t})


def test_repitch_refuses_what_is_not_rows() -> None:
    access = BankAccess("st", 16, 128, lanes([8, 16], [8, 100]), 128)
    try:
        repitch(access, 64, 72)
    except NotRowsError:
        return
    raise AssertionError("a step of 100 elements is not rows of 64")


def test_row_and_column_access_of_a_float_tile_needs_five_bits() -> None:
    row = BankAccess("st", 32, 32, lanes([32, 4], [1, 32]), 128, rest=Layout((8,), (128,)))
    column = BankAccess("ld", 32, 32, lanes([32, 4], [32, 1]), 128, rest=Layout((8,), (4,)))
    found = find_swizzle([row, column])
    assert found.swizzle == Swizzle(5, 0, 5)


def test_no_xor_layout_for_columns_of_wide_vectors() -> None:
    """A column of 4-byte words in a buffer that keeps 16-byte vectors whole can reach 8 banks only."""
    copy_in = BankAccess("st", 32, 128, lanes([8, 16], [4, 32]), 128)
    column = BankAccess("ld", 32, 32, lanes([32, 4], [32, 1]), 128)
    assert find_xor_layout([copy_in, column]) is None


def test_that_there_is_no_xor_layout_takes_two_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backtracking search and Z3 agree, both ways; where the search misses one, nothing is claimed."""
    from cutecheck.model.prove.synthesis import xor_layout

    rng = random.Random(5)
    seen = set()
    for _ in range(60):
        differences = {rng.randrange(1, 1 << 10) & ~15 for _ in range(rng.randrange(4, 60))} - {0}
        found = xor_layout._solve(differences, 4, 3)
        assert xor_layout.exists(differences, 4, 3, Options()) is (found is not None)
        seen.add(found is None)
    assert seen == {True, False}
    monkeypatch.setattr(xor_layout, "_solve", lambda *_: None)
    with pytest.raises(xor_layout.NotConcreteError, match="one search alone"):
        find_xor_layout(fp32(store=True))


def test_an_xor_layout_that_is_not_proved_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutecheck.model.prove.synthesis import xor_layout

    right = xor_layout.rewritten
    monkeypatch.setattr(xor_layout, "rewritten", lambda a, layout: right(a, xor_layout.XorLayout(4, (1, 1))))
    with pytest.raises(xor_layout.NotConcreteError, match="not proved"):
        find_xor_layout(fp32(store=True))


def test_xor_layout_is_a_bijection_that_keeps_vectors() -> None:
    layout = find_xor_layout(fp32(store=True))
    assert layout is not None
    image = [layout(x) for x in range(1 << 13)]
    assert sorted(image) == list(range(1 << 13))
    for x in range(0, 1 << 13, 16):
        assert [layout(x + i) for i in range(16)] == [layout(x) + i for i in range(16)]
    assert wavefronts("st", [layout(lane * 16) for lane in range(32)], 16).excess == 0


def test_descriptor_buffers_take_one_of_three_byte_swizzles() -> None:
    found = suggest(fp16(64), tile=64 * 128, unit=SwizzleUnit.BYTE, descriptor=True)
    assert found.swizzle == Swizzle(3, 4, 3, SwizzleUnit.BYTE)
    none = suggest(fp32(store=True), pitch=32, unit=SwizzleUnit.BYTE, descriptor=True)
    assert none.swizzle is None and none.padding is None and none.xor is None
    assert none.text.endswith("a descriptor can state nothing else")


@pytest.mark.parametrize("contiguous", [0, 1])
@pytest.mark.parametrize(("tile", "bits"), [((128, 64), 16), ((64, 96), 16), ((128, 32), 32), ((128, 128), 8)])
def test_value_layouts_move_whole_vectors(tile: tuple[int, int], bits: int, contiguous: int) -> None:
    found = suggest_vectors(128, tile, contiguous, bits)
    assert found is not None
    assert found.vector_bits == 128
    assert algebra.size(found.threads) == 128
    # CuTe's own construction of a tiled copy gives the same thread-value layout.
    product = algebra.raked_product(found.threads, found.values)
    counts = (algebra.size(found.threads), algebra.size(found.values))
    built = algebra.with_shape(algebra.right_inverse(product), counts)
    assert algebra.offsets(built) == algebra.offsets(found.layout)


def test_rows_that_no_vector_divides() -> None:
    assert suggest_vectors(128, (128, 63), 1, 16) is None
    narrow = suggest_vectors(128, (128, 36), 1, 16)
    assert narrow is not None and narrow.vector_bits == 64


def test_what_was_searched_once_is_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of many instantiations access a buffer alike; what is asked in another way is searched."""
    module = sys.modules["cutecheck.model.prove.synthesis.suggest"]  # the package has the function by this name
    monkeypatch.setattr(module, "_SUGGESTED", {})
    first = suggest(fp16(64), tile=64 * 128)
    monkeypatch.setattr(module, "find_swizzle", lambda *_: pytest.fail("searched again"))
    assert suggest(fp16(64), tile=64 * 128) is first
    for again in ({"tile": 64 * 64}, {"tile": 64 * 128, "options": Options(timeout_ms=7)}):
        with pytest.raises(pytest.fail.Exception):
            suggest(fp16(64), **again)  # type: ignore[arg-type]
