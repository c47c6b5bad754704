"""What measures wavefronts: the choice, each way forced, and what timing may say."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from cutecheck.exec.gpu import counters, counting, cupti, cycles
from cutecheck.exec.gpu.compile import Compiler
from cutecheck.exec.gpu.counters import CYCLES, NoCounters, Source, find_sources
from cutecheck.exec.gpu.probe import CopyProbe, Tile
from cutecheck.exec.gpu.results import Bench, Compared, Measured
from cutecheck.exec.gpu.run import Launch, Launched
from cutecheck.model.atoms import copy_op
from cutecheck.model.dtype import dtype
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import make_tiled_copy

HALF, WIDE = dtype("half_t"), dtype("uint128_t")
assert HALF is not None and WIDE is not None
COPY = make_tiled_copy(copy_op("UniversalCopy", (WIDE,), HALF), Layout((16, 8), (8, 1)), Layout((1, 8), (0, 1)))
PROBE = CopyProbe(COPY, HALF, None, Tile("smem", Layout((64, 64), (64, 1))), Layout(((8, 1), 4, 1), ((1, 0), 8, 0)))
NCU, CUPTI = Source("ncu", "/ncu"), Source("cupti", "/libcupti.so")
LIBRARY = next((p for p in counters._cupti_libraries({}) if p.is_file()), None)


def test_the_best_comes_first_and_each_can_be_forced(tmp_path: Path) -> None:
    program, library = tmp_path / "ncu", tmp_path / "libcupti.so"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    library.touch()
    environ = {"CUTECHECK_NCU": str(program), "CUTECHECK_CUPTI": str(library)}
    assert find_sources(environ) == (Source("ncu", str(program)), Source("cupti", str(library)), CYCLES)
    for wanted in ("ncu", "cupti", "cycles"):
        assert [s.tool for s in find_sources(environ, wanted)] == [wanted]
    with pytest.raises(ValueError, match="no way to measure"):
        find_sources(environ, "gprof")


def bench(*sources: Source) -> Bench:
    return Bench(Compiler("nvcc", "/nvcc", (), "4.7.0"), "sm_90a", sources=sources)


def counted(monkeypatch: pytest.MonkeyPatch, allowed: str, *sources: Source, cycles_: float = 0.0) -> Measured:
    """A copy that ran right, counted where only ``allowed`` may read counters."""
    expected, _ = counting.predicted(PROBE)

    def count(launches: list[Launch], source: Source, metrics: object, device: int = 0) -> object:
        if source.tool != allowed:
            return NoCounters(f"{source.tool} may not")
        return [{name: expected.get(name, 0) for name in counting.COMPARED}] * len(launches)

    def launch_each(rows: list[list[Launch]], *_: object) -> list[list[Launched]]:
        def run(one: Launch) -> Launched:
            reps = one.arguments[1].value  # type: ignore[union-attr]
            return Launched("", (b"", round(1000 + cycles_ * reps).to_bytes(8, "little")))

        return [[run(one) for one in row] for row in rows]

    monkeypatch.setattr(counters, "count", count)
    monkeypatch.setattr(counting, "launch_each", launch_each)
    done = {PROBE: Measured("equal", "", "k", expected)}
    counting.count({PROBE: Path("k.cubin")}, done, bench(*sources))  # type: ignore[arg-type]
    return done[PROBE]


def test_cupti_counts_where_ncu_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert counted(monkeypatch, "ncu", NCU, CUPTI, CYCLES).tool == "ncu"
    got = counted(monkeypatch, "cupti", NCU, CUPTI, CYCLES)
    assert (got.tool, got.outcome, {c.name for c in got.counted}) == ("cupti", "equal", {"inst_st", "wavefronts_st"})


def test_timing_speaks_where_nothing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    waves = counting.predicted(PROBE)[0]["wavefronts_st"]
    got = counted(monkeypatch, "", NCU, CUPTI, CYCLES, cycles_=1.02 * waves)
    assert (got.tool, got.outcome) == ("cycles", "equal") and got.no_counters == "ncu may not; cupti may not"
    fast = counted(monkeypatch, "", CYCLES, cycles_=waves / 2)
    assert fast.outcome == "wrong" and "fewer than" in fast.reason
    slow = counted(monkeypatch, "", CYCLES, cycles_=3 * waves)
    assert slow.outcome == "equal" and not slow.counted and "other costs hide them" in slow.no_counters
    nothing = counted(monkeypatch, "", NCU)
    assert nothing.tool == "" and nothing.no_counters == "ncu may not"


def test_timing_tells_only_where_no_conflict_would_have_been_faster() -> None:
    assert cycles.Timed(515.0, 512, 32).tells and cycles.Timed(515.0, 512, 32).agrees
    assert not cycles.Timed(66.0, 64, 64).tells
    assert cycles.Timed(300.0, 512, 32).refuted


def test_cupti_rows_by_our_names() -> None:
    line = '{"kernel": "cc_1", "counters": {"a.sum": 7.0}}\n'
    assert counters._lines("noise\n" + line, {"x": "a.sum", "y": "b.sum"}) == [("cc_1", {"x": 7})]


@pytest.mark.skipif(LIBRARY is None, reason="no CUPTI library")
def test_every_metric_is_one_of_cupti() -> None:
    assert LIBRARY is not None
    call = cupti.Cupti(LIBRARY)
    names = list(counters.METRICS.values())
    assert len(call.config(call.host(b"GH100"), cupti.texts(names), len(names))) > 0
    with pytest.raises(cupti.CuptiError, match="INVALID"):
        call.config(call.host(b"GH100"), cupti.texts(["no_such_metric.sum"]), 1)
    assert isinstance(call.library, ctypes.CDLL)


def test_spilled_registers_leave_the_loads_that_miss() -> None:
    """As counted on an H200: 1144 sectors from L2, 904 of them local memory's (in another pass), for 256 loaded."""
    got = {"sectors_read": 1144, "inst_local_ld": 1040, "sectors_missed": 256}
    assert counting._compared({"sectors_read": 256}, got) == (Compared("sectors_read", 256, 256),)
    assert counting._compared({"sectors_read": 256}, {**got, "inst_local_ld": 0})[0].measured == 1144
    beside = {**got, "inst_ldgsts": 16}
    assert counting._compared({"sectors_read": 256, "inst_ldgsts": 16}, beside) == (Compared("inst_ldgsts", 16, 16),)
