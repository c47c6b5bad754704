"""Layouts without elements, and what is no layout: engines would differ, so none is asked."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.prove import Verdict, make_obligation, prove
from cutecheck.model.prove import properties as p
from cutecheck.model.units import Bits, Bytes

LANE = ex.mul(ex.var("threadIdx.x", ex.Domain(0, 31)), ex.const(8))
EMPTY, NEGATIVE, LOOSE = Layout((8, 0), (1, 8)), Layout((8, -1), (1, 128)), Layout((16, ()), (8, 1))
PAYLOADS = {
    "CosizeFits": lambda x: p.CosizeFits(x, 8192, offset=LANE),
    "LayoutEqual": lambda x: p.LayoutEqual(x, Layout(8, 1)),
    "Contiguous": lambda x: p.Contiguous(x, 4),  # type: ignore[arg-type]
    "Injective": lambda x: p.Injective(ComposedLayout(Swizzle(2, 1, 2), 0, x)),
    "Alignment": lambda x: p.Alignment(Bits(16), Bytes(16), LANE, Bytes(16), x),
    "BankAccess": lambda x: p.BankAccess("load", Bits(16), Bits(128), LANE, 32, rest=x),
    "GmemSectors": lambda x: p.GmemSectors(Bits(16), Bits(128), LANE, 32, x),
    "GmmaCanonical": lambda x: p.GmmaCanonical(x, Bits(16), "K"),
    "Coverage": lambda x: p.Coverage(x, 16),
    "replicated": lambda x: p.Coverage(x, 1, replicated=True),
    "Bijective": lambda x: p.Bijective(x, 16),
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_no_engine_is_asked(name: str) -> None:
    for layout, reason in ((NEGATIVE, "has an extent of -1"), (LOOSE, "the strides of (_16,()) are (_8,_1)")):
        outcome = prove(make_obligation(PAYLOADS[name](layout)))
        assert outcome.verdict is Verdict.UNKNOWN and outcome.reason.endswith(reason) and not outcome.runs
    if name in ("Coverage", "replicated", "Bijective", "Injective"):  # of these there is something to say
        return
    outcome = prove(make_obligation(PAYLOADS[name](EMPTY)))
    assert outcome.verdict is Verdict.VACUOUS
    assert outcome.reason == "(_8,_0):(_1,_8) has no elements" and not outcome.runs


def test_copies_in_no_threads_cover_no_tile() -> None:
    """A mode of stride 0 and extent 0 leaves no thread that holds anything."""
    for tile, verdict in ((1, Verdict.REFUTED), (0, Verdict.PROVED)):
        outcome = prove(make_obligation(p.Coverage(Layout((0, 8), (0, 3)), tile, replicated=True)))
        assert outcome.verdict is verdict


def test_a_tile_of_negative_extent_is_none() -> None:
    outcome = prove(make_obligation(p.Coverage(Layout((4, 2), (1, 4)), (8, -1))))
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "(_8,_-1) has an extent of -1")


def test_engines_agree_about_random_layouts() -> None:
    """Extents of 0 and below, and strides of other nesting, among others."""
    rng = random.Random(31)

    def shape(depth: int) -> Any:
        if depth and rng.random() < 0.5:
            return tuple(shape(depth - 1) for _ in range(rng.randint(0, 3)))
        return rng.choice((0, 1, 2, 3, 4, 8, 8, -1))

    def stride(of: Any) -> Any:
        if isinstance(of, tuple) and rng.random() < 0.95:
            return tuple(map(stride, of))
        return rng.choice((0, 1, 1, 2, 4, 8, 16, -1, ()))

    for _ in range(250):
        extents = (shape(1), shape(1))
        payload = PAYLOADS[rng.choice(list(PAYLOADS))](Layout(extents, stride(extents)))
        assert prove(make_obligation(payload)).verdict is not Verdict.DISAGREE, payload
