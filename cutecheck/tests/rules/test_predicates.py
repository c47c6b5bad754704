"""Predicates against the copies they guard."""

from dataclasses import replace

import pytest

from cutecheck.facts import Facts
from cutecheck.model.dtype import dtype
from cutecheck.tests.rules.build import HALF, codes, copy_event, findings, layout, tensor, universal

TILED = universal(128, HALF, "(_16,_8):(_8,_1)", "(_1,_8):(_8,_1)")
ROWS = "(_64,_128):(_128,_1)"  # ((_8,_1),_4,_2) for each thread


def guarded(predicates: str) -> Facts:
    event = copy_event(TILED, HALF, ("gmem", ROWS), ("smem", ROWS))
    guard = tensor("pred", "rmem", layout(predicates), dtype("bool"))
    return Facts(events=(replace(event, predicate=guard, predicated=True),))


@pytest.mark.parametrize(
    ("predicates", "expected"),
    [
        ("(_4,_2):(_1,_4)", []),
        ("(_4,_2):(_0,_1)", []),  # one for each column
        ("(_2,_4):(_1,_2)", ["CUT603"]),
        ("(_4,_1):(_1,_0)", ["CUT603"]),
        ("(n,_2):(_1,n)", []),  # an extent of run time says nothing
        ("(_1,_4,_2):(_0,_1,_4)", []),  # is the first mode values or instructions?
        ("_8:_1", []),
    ],
)
def test_predicates(predicates: str, expected: list[str]) -> None:
    assert [c for c in codes(guarded(predicates)) if c == "CUT603"] == expected


def test_the_message_names_the_mode_and_both_numbers() -> None:
    found = next(f for f in findings(guarded("(_4,_1):(_1,_0)")) if f.code == "CUT603")
    assert "mode 2: 1 against 2 of the destination" in found.message
