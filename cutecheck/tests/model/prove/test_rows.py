"""Rows of lanes: the closed form and the enumeration against a count of sectors at many values of what is open."""

import itertools
import random

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.prove import Verdict, make_obligation, prove
from cutecheck.model.prove.answer import Options
from cutecheck.model.prove.engines import bitvec, bv_sectors, rows
from cutecheck.model.prove.engines.solver import solver
from cutecheck.model.prove.properties import GmemSectors
from cutecheck.model.units import Bits

THREADS = 128
T = ex.var("threadIdx.x", Domain(0, THREADS - 1))


def offset(lanes: int, elements: int, step: int, divided: bool = True) -> Expr:
    """``(t % lanes) * elements + ((t / lanes + 8 b) / h) * s * step + b * n``, h and s open."""
    n = ex.const
    row = ex.add(ex.op("div", T, n(lanes)), ex.mul(n(8), ex.var("b", Domain(0))))
    line = ex.op("div", row, ex.var("h", Domain(1))) if divided else row
    inside = ex.mul(ex.op("mod", T, n(lanes)), n(elements))
    return ex.add(
        inside, ex.add(ex.mul(line, ex.mul(ex.var("s", Domain(0)), n(step))), ex.mul(ex.var("b"), n(elements)))
    )


def payload(lanes: int, bits: int, element: int, step: int) -> GmemSectors:
    return GmemSectors(Bits(element), Bits(bits), offset(lanes, bits // element, step), THREADS, thread="threadIdx.x")


def worst(g: GmemSectors) -> bool:
    """Some warp touches more than twice its least sectors, at values drawn at random."""
    draw = random.Random(5)
    width = int(g.vector_bits) // 8
    for _ in range(60):
        values = {"b": draw.randrange(64), "h": draw.randrange(1, 9), "s": draw.randrange(4), "value": 0}
        for first in range(0, THREADS, 32):
            places = {
                g.offset.evaluate({**values, "threadIdx.x": t}) * int(g.element_bits) // 8
                for t in range(first, first + 32)
            }
            sectors = {x for p in places for x in range(p // 32, (p + width + 31) // 32)}
            if len(sectors) > 2 * -(-len({b for p in places for b in range(p, p + width)}) // 32):
                return True
    return False


@pytest.mark.parametrize(
    ("lanes", "bits", "element"),
    list(itertools.product((4, 8, 16, 32), (16, 32, 64), (16, 32))),
)
def test_what_is_claimed_holds_at_all_values_tried(lanes: int, bits: int, element: int) -> None:
    if bits < element:
        return
    line = 128 * 8 // element
    g = payload(lanes, bits, element, line)
    strides: list[Expr] = []
    closed = rows.coalesced(g, g.offset, strides)
    counted = rows.enumerated(g, {})
    assert closed == (lanes * bits // 8 >= 32 and (lanes == 32 or lanes * bits // 8 <= 128))
    assert counted or not closed
    if closed or counted:
        assert not worst(g)


@pytest.mark.parametrize("step", [1, 4, 24])
def test_rows_that_are_no_whole_lines_apart_are_not_claimed(step: int) -> None:
    g = payload(4, 64, 16, step)
    assert not rows.coalesced(g, g.offset, []) and not rows.enumerated(g, {})


def test_lanes_that_are_apart_are_not_claimed() -> None:
    g = GmemSectors(Bits(32), Bits(32), ex.mul(T, ex.const(8)), THREADS, thread="threadIdx.x")
    assert not rows.coalesced(g, g.offset, []) and not rows.enumerated(g, {})


@pytest.mark.parametrize(("bits", "claimed"), [(32, True), (8, True), (4, False)])
def test_a_warp_whose_lanes_follow_one_another(bits: int, claimed: bool) -> None:
    """``k * m + t``, from wherever: 32 lanes are whole sectors and at most one more."""
    places = ex.add(ex.mul(ex.var("s", Domain(0)), ex.var("h", Domain(1))), T)
    g = GmemSectors(Bits(bits), Bits(bits), places, THREADS, thread="threadIdx.x")
    assert rows.coalesced(g, places, []) is claimed
    assert not claimed or not worst(g)
    apart = ex.add(places, ex.mul(ex.op("mod", T, ex.const(16)), ex.const(64)))
    assert not rows.coalesced(GmemSectors(Bits(bits), Bits(bits), apart, THREADS, thread="threadIdx.x"), apart, [])


def test_the_engines_prove_it_together() -> None:
    outcome = prove(make_obligation(payload(8, 64, 16, 64)))
    assert outcome.verdict is Verdict.PROVED
    assert {r.engine for r in outcome.runs if r.answer == "holds"} >= {"normal-form", "residues"}


def test_the_count_of_sectors_has_a_budget_of_steps_not_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the clock a busy machine left unknown what an idle one proves."""
    budgets: list[Options] = []

    def noted(logic: str | None, options: Options) -> object:
        budgets.append(options)
        return solver(logic, options)

    monkeypatch.setattr(bv_sectors, "solver", noted)
    given = Options(rlimit=4_000, timeout_ms=50_000)
    answer = bitvec.run(make_obligation(GmemSectors(Bits(32), Bits(32), offset(8, 1, 4, False), THREADS)), given)
    assert answer.answer == "unknown"
    assert {(o.timeout_ms, o.rlimit) for o in budgets} == {(50_000, 1_000)}


SHARED = [ex.var(n, Domain(0)) for n in ("seqlen", "row", "head", "batch")]


@pytest.mark.parametrize("grain", [1, 4, 16, 32])
@pytest.mark.parametrize("pitch", [64, 16, 8])
def test_what_all_lanes_share_may_be_a_product_of_many_numbers(grain: int, pitch: int) -> None:
    """Where a warp starts is decided by the divisor of what its lanes share."""
    a, b, c, d = SHARED
    shared = ex.add(ex.mul(ex.mul(a, b), ex.mul(c, d)), ex.add(ex.mul(a, c), ex.mul(ex.mul(b, d), d)))
    lanes = ex.add(
        ex.mul(ex.op("div", T, ex.const(4)), ex.const(pitch)), ex.mul(ex.op("mod", T, ex.const(4)), ex.const(4))
    )
    g = GmemSectors(
        Bits(16), Bits(64), ex.add(lanes, ex.mul(shared, ex.const(grain))), THREADS, thread="threadIdx.x", factor=1
    )
    draw, most = random.Random(3), 0
    for _ in range(200):
        values = {n: draw.randrange(40) for n in ("seqlen", "row", "head", "batch")}
        base = draw.choice((0, 16))
        places = {base + g.offset.evaluate({**values, "threadIdx.x": t}) * 2 for t in range(32)}
        if all(p % 8 == 0 for p in places):
            most = max(most, len({p // 32 for p in places}) - -(-len(places) * 8 // 32))
    answer = bitvec.run(make_obligation(g), Options(rlimit=4_000_000, timeout_ms=600_000))
    assert (answer.answer == "holds") == (most <= 0) == bool(answer.reductions)
