"""What several units instantiate of one kernel: of many units a few in all are run pass by pass."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.facts.replayed import REPLAY
from cutecheck.rules.examples import PREAMBLE
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.rules.test_roles import KERNEL

BODY, RUN = KERNEL.replace("template <class Tma>", "template <int N, class Tma>").split("void run(")


@pytest.mark.parametrize("many", [False, True])
def test_a_kernel_that_each_unit_instantiates(many: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutecheck.source.eval.limits._FEW_UNITS", 1 if many else 8)
    monkeypatch.setattr("cutecheck.source.eval.launches.MOST_REPLAYED", 2)
    (tmp_path / "sum.h").write_text("#pragma once\n" + PREAMBLE + BODY)
    for n in range(4):
        (tmp_path / f"u{n}.cu").write_text('#include "sum.h"\nvoid run(' + RUN.replace("sum<<<", f"sum<{n}><<<"))
    facts = extract(ExtractRequest((tmp_path,), archs=("sm_90a",)))
    assert len({c.kernel for c in facts.calls if isinstance(c.result, Unknown) and c.result.reason == REPLAY}) == (
        2 if many else 4
    )
