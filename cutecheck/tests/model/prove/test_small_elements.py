"""Elements of which several are a byte: all engines say of an access what brute force does."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Options, Verdict, make_obligation, prove
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.engines import bitvec, brute, gf2, normal, residues
from cutecheck.model.units import Bits, Bytes

THREAD = ex.var(p.THREAD, Domain(0, 63))
START = ex.var("start", Domain(0, 3))
ENGINES = {
    p.GmemSectors: {"normal": normal, "residues": residues, "brute": brute, "bitvec": bitvec},
    p.BankAccess: {"residues": residues, "gf2": gf2, "brute": brute, "bitvec": bitvec},
}
EXAMPLES = {8: 3, 32: 6, 128: 8}  # by the bits of a vector: Z3 takes the longest for the shortest
STEPS = st.sampled_from([0, 1, 2, 3, 4, 8, 16, 32, 64])


def _offset(lane: int, row: int, warp: int, start: int, unit: int) -> Expr:
    """Four lanes a row of a warp, in vectors of ``unit`` elements."""
    rows = ex.op("mod", ex.op("div", THREAD, ex.const(4)), ex.const(8))
    parts = ((ex.op("mod", THREAD, ex.const(4)), lane), (rows, row), (ex.op("div", THREAD, ex.const(32)), warp),
             (START, start))  # fmt: skip
    total = ex.const(0)
    for value, step in parts:
        total = ex.add(total, ex.mul(value, ex.const(step * unit)))
    return total


@pytest.mark.parametrize("element", [1, 2, 4])
@pytest.mark.parametrize("vector", [8, 32, 128])
def test_engines_agree_on_sectors_and_banks(element: int, vector: int) -> None:
    said: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES[vector], deadline=None, derandomize=True, phases=(Phase.generate,))
    @given(STEPS, STEPS, STEPS, STEPS, st.sampled_from([(1, 0), (2, 4), (2, 5)]))
    def agree(lane: int, row: int, warp: int, start: int, rest: tuple[int, int]) -> None:
        unit = vector // element
        offset = _offset(lane, row, warp, start, unit)
        more = Layout((rest[0],), (rest[1] * unit,))
        sectors = p.GmemSectors(Bits(element), Bits(vector), offset, 64, more, base_alignment=Bytes(32))
        banks = p.BankAccess("st", Bits(element), Bits(vector), offset, 64, rest=more)
        for payload in (sectors, banks):
            obligation = make_obligation(payload)
            answers = {name: e.run(obligation, Options()).answer for name, e in ENGINES[type(payload)].items()}
            assert answers["brute"] in ("holds", "fails"), answers
            assert set(answers.values()) <= {answers["brute"], "unknown"}, (answers, payload)
            said[type(payload).__name__, answers["bitvec"]] += 1
            assert prove(obligation).verdict in (Verdict.PROVED, Verdict.REFUTED, Verdict.ASSUMED)

    agree()
    decided = {name for name, answer in said if answer == "holds"}
    assert "GmemSectors" in decided
