"""Disagreements and crashes met on real sources."""

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Verdict, make_obligation, prove
from cutecheck.model.prove.properties import Alignment, BankAccess


@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128])
@pytest.mark.parametrize("kind", ["ld", "st", "cp.async.ca"])
def test_elements_wider_than_a_word(bits: int, kind: str) -> None:
    thread = ex.var("threadIdx.x", Domain(0, 127))
    offset = ex.mul(thread, ex.const(128 // bits))
    access = BankAccess(kind, bits, 128, offset, 128, rest=Layout((4,), (8192 // bits,)))  # type: ignore[arg-type]
    assert prove(make_obligation(access)).verdict is Verdict.PROVED


def test_division_by_an_open_parameter_is_unknown() -> None:
    offset = ex.op("div", ex.var("blockIdx.x", Domain(0, 7)), ex.var("h"))
    assert prove(make_obligation(Alignment(16, 16, offset, 256))).verdict in (Verdict.UNKNOWN, Verdict.REFUTED)
