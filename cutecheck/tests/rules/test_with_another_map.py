"""``tma.with(descriptor, barrier)``: the barrier comes after a tensor map that the kernel has in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

PAIR = Path(__file__).parents[1] / "data/pairs/tma-transaction-bytes/good.cu"


@pytest.mark.parametrize(("size", "codes"), [("kBytes", []), ("kBytes / 2", ["CUT805"])])
def test_bytes_of_a_copy_with_another_map(tmp_path: Path, size: str, codes: list[str]) -> None:
    text = PAIR.read_text().replace("with(storage.bar)", "with(maps + blockIdx.x, storage.bar)")
    text = text.replace("TmaB const tma_b)", "TmaB const tma_b, TmaDescriptor const* maps)").replace(
        "Elem const* B)", "Elem const* B, TmaDescriptor const* maps)"
    )
    text = text.replace("(a, b);", "(a, b, maps);").replace("(storage.bar, kBytes)", f"(storage.bar, {size})")
    (tmp_path / "k.cu").write_text(text)
    settings = Settings(select=("CUT805",), arch=("sm_90a",), jobs=1, cache=False)
    report = check(inputs([str(tmp_path)]), settings)
    assert [f.code for f in report.findings] == codes
    told = {e.signals.rpartition("|")[2] for e in report.facts.events if e.kind == "copy"}
    assert len(told) == 1 and all(name.endswith("bar") for name in told)
