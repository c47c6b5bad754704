"""What several units instantiate of one kernel: of many units a few in all are run pass by pass."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.facts.replayed import REPLAY
from cutecheck.rules.examples import PREAMBLE
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.rules.test_roles import KERNEL

BODY, RUN = KERNEL.replace("template <class Tma>", "template <int N, class Tma>").split("void run(")


@pytest.mark.parametrize(
    ("limits", "runs"), [(Limits(), 4), (Limits(shared=True), 2), (Limits(shared=True, by_kind=True), 1)]
)
def test_a_kernel_that_each_unit_instantiates(
    limits: Limits, runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutecheck.source.eval.launches.MOST_REPLAYED", 2)
    (tmp_path / "sum.h").write_text("#pragma once\n" + PREAMBLE + BODY)
    for n in range(4):
        (tmp_path / f"u{n}.cu").write_text('#include "sum.h"\nvoid run(' + RUN.replace("sum<<<", f"sum<{n}><<<"))
    facts = extract(ExtractRequest((tmp_path,), archs=("sm_90a",), limits=limits))
    assert len({c.kernel for c in facts.calls if isinstance(c.result, Unknown) and c.result.reason == REPLAY}) == runs


def test_the_runs_of_many_units_are_fewer() -> None:
    few, some, many = (Limits().over(n) for n in (8, 9, 25))
    standing = Limits().over(264, 240)  # a few files stand for many: their kernels are of all kinds
    assert [(one.shared, one.lone, one.by_kind) for one in (few, some, many, standing)] == [
        (False, False, False),
        (True, False, False),
        (True, True, False),
        (True, False, True),
    ]
