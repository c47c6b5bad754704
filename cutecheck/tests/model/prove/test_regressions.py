"""Disagreements and crashes met on real sources."""

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Verdict, make_obligation, prove
from cutecheck.model.prove.properties import Alignment, BankAccess, Bijective, Coverage, Injective


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


@pytest.mark.parametrize(
    ("asked", "holds"),
    [
        (Coverage(Layout(((4, 8), (0, 2)), ((2, 8), (1, 1))), (8, 0)), True),
        (Coverage(Layout(((4, 0), 2), ((2, 8), 1)), (8, 2)), False),
        (Bijective(Layout((4, 0), (1, 4)), 0), True),
        (Bijective(Layout((4, 0), (1, 4)), 4), False),
        (Injective(Layout((4, 0), (0, 1))), True),
    ],
)
def test_layouts_without_elements(asked: Coverage | Bijective | Injective, holds: bool) -> None:
    """A value layout of no elements has threads that hit nothing: that is a tile of none, and no other."""
    assert prove(make_obligation(asked)).verdict is (Verdict.PROVED if holds else Verdict.REFUTED)
