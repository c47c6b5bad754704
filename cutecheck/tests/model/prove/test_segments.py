"""The cp.async.cg cost of copies."""

from __future__ import annotations

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.layout import Layout, Swizzle
from cutecheck.model.prove.properties import BankAccess, GmemSectors
from cutecheck.model.prove.segments import NoCostError, cg_cost

THREAD = ex.var("threadIdx.x", ex.Domain(0, 127))
LDA = ex.var("lda", ex.Domain(0))


def copy(lanes_a_row: int, page: int) -> tuple[BankAccess, GmemSectors]:
    """fp16 rows of ``8 * lanes_a_row`` elements into pages of ``page`` columns, 128 rows a page."""
    row = ex.op("div", THREAD, ex.const(lanes_a_row))
    column = ex.mul(ex.op("mod", THREAD, ex.const(lanes_a_row)), ex.const(8))
    inside, number = ex.op("mod", column, ex.const(page)), ex.op("div", column, ex.const(page))
    to = ex.add(ex.add(ex.mul(row, ex.const(page)), inside), ex.mul(number, ex.const(128 * page)))
    rows = 128 // lanes_a_row
    shared = BankAccess("cp.async.ca", 16, 128, to, 128, Swizzle(3, 3, 3), Layout((4,), (rows * page,)))
    source = GmemSectors(16, 128, ex.add(ex.mul(row, LDA), column), 128, Layout((4,), (rows * 4096,)))
    return shared, source


def test_eight_lanes_a_row_of_64_columns_are_ideal() -> None:
    cost = cg_cost(*copy(8, 64))
    assert (cost.segments, cost.least, cost.excess_cycles) == (1, 1, 0)
    assert cost.instructions == 16
    assert any("lda" in a for a in cost.assumptions)
    assert any("sm_90" in a for a in cost.assumptions)


def test_sixteen_lanes_a_row_into_64_column_pages_cost_twice() -> None:
    cost = cg_cost(*copy(16, 64))
    assert (cost.segments, cost.least) == (2, 1)
    assert cost.total_segments == 32


def test_vectors_of_other_widths_have_no_cost() -> None:
    shared, source = copy(8, 64)
    narrow = BankAccess("cp.async.ca", 16, 64, shared.offset, 128)
    with pytest.raises(NoCostError, match="16 bytes"):
        cg_cost(narrow, source)


def test_a_divisor_that_is_a_quotient_is_not_0() -> None:
    """``split * (k / (n / 64))``: of the smallest n the quotient is 0."""
    shared, source = copy(8, 64)
    n, k, split = (ex.var(name, ex.Domain(0)) for name in ("n", "k", "split"))
    start = ex.mul(split, ex.op("div", k, ex.op("div", n, ex.const(64))))
    moved = GmemSectors(16, 128, ex.add(source.offset, start), 128, source.rest)
    assert cg_cost(shared, moved).segments == 1
    never = ex.op("div", k, ex.op("div", ex.var("n", ex.Domain(0, 63)), ex.const(64)))
    with pytest.raises(NoCostError, match="not known"):
        cg_cost(shared, GmemSectors(16, 128, ex.add(source.offset, never), 128, source.rest))
