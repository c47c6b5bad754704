"""Answers kept between runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.cache import Store, open_store
from cutecheck.cli.app import run
from cutecheck.engine.verdicts import Verdicts
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Options, make_obligation, prove
from cutecheck.model.prove.obligation import EngineRun, Outcome, Verdict
from cutecheck.model.prove.properties import Bijective
from cutecheck.rules import RULES


def opened(folder: Path) -> Store:
    found = open_store(str(folder))
    assert found is not None
    return found


OBLIGATIONS = [make_obligation(Bijective(Layout((8, n), (1, 8)), 8 * n), arch="sm_80") for n in (2, 4, 8)]


def asked(store: Store, monkeypatch: pytest.MonkeyPatch, timeout_ms: int = 5000) -> tuple[list[Outcome], int]:
    """The outcomes of a run, and how many were worked out in it."""
    from cutecheck.model.prove import scheduler

    count, inner = 0, scheduler._prove

    def counted(*args: object) -> Outcome:
        nonlocal count
        count += 1
        return inner(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(scheduler, "_prove", counted)
        verdicts = Verdicts(store, timeout_ms)
        outcomes = [prove(o, Options(timeout_ms=timeout_ms, cache=verdicts)) for o in OBLIGATIONS]
        verdicts.save()
    return outcomes, count


def test_what_was_answered_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold, first = asked(opened(tmp_path), monkeypatch)
    warm, second = asked(opened(tmp_path), monkeypatch)
    assert first == len(OBLIGATIONS) and second == 0
    assert warm == cold and all(o.verdict is Verdict.PROVED for o in warm)
    assert asked(opened(tmp_path), monkeypatch, timeout_ms=1)[1] == first  # another budget may have other answers


def test_what_ran_out_of_time_is_asked_again(tmp_path: Path) -> None:
    verdicts = Verdicts(opened(tmp_path), 5000)
    outcome = Outcome(OBLIGATIONS[0], Verdict.PROVED, (EngineRun("normal-form", "holds", 0.1),))
    verdicts["sure"] = outcome
    verdicts["late"] = replace(outcome, runs=(*outcome.runs, EngineRun("z3-int", "unknown", 5000.0, "Z3: timeout")))
    verdicts["fault"] = replace(outcome, runs=(EngineRun("z3-bv", "unknown", 1.0, "bitvec: MemoryError: "),))
    verdicts["never asked"] = replace(outcome, runs=(EngineRun("z3-bv", "unknown", 0.1, "open parameters"),))
    verdicts.save()
    assert set(Verdicts(opened(tmp_path), 5000)) == {"sure", "never asked"}


def test_many_runs_become_one_entry(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for i in range(12):
        verdicts = Verdicts(store, 5000)
        verdicts[f"q{i}"] = Outcome(OBLIGATIONS[0], Verdict.PROVED)
        verdicts.save()
    assert len(store.keys("verdicts")) < 9
    assert set(Verdicts(store, 5000)) == {f"q{i}" for i in range(12)}


SOURCE = """
#include <cute/tensor.hpp>
using namespace cute;
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_32, _4>>{}, Layout<Shape<_1, _1>>{}));
__global__ void __launch_bounds__(128) rows(float const* in, float* out, int ld) {
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(_32{}, _32{}), make_stride(ld, _1{}));
  Load copier;
  Tensor from = copier.get_slice(threadIdx.x).partition_S(g);
  Tensor into = make_fragment_like(from);
  copy(copier, from, into);
  out[threadIdx.x] = into(0);
}
"""


def test_a_warm_check_says_what_a_cold_one_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.cu").write_text(SOURCE)
    command = ["check", str(tmp_path), "--isolated", "--output-format", "json", "--cache-dir", str(tmp_path / "c")]
    outputs = []
    for more in ([], [], ["-j", "2"]):
        assert run([*command, *more]) == 1
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] == outputs[2]  # to the milliseconds that the proofs took
    assert run([*command, "--no-cache", "--time"]) == 1
    said = capsys.readouterr().err
    assert "time: check" in said
    spent = [float(ms) for ms in re.findall(r"^rule: CUT\d+ [a-z0-9-]+ +([\d.]+) ms$", said, re.MULTILINE)]
    assert len(spent) == len(RULES) and spent == sorted(spent, reverse=True) and spent[0] > 0
    assert re.search(r"^file: a\.cu +[\d.]+ ms$", said, re.MULTILINE)
    assert run([*command, "--time"]) == 1
    assert "file: " not in capsys.readouterr().err, "nothing was evaluated"


def _no_room(path: str) -> bytes:
    raise MemoryError(f"no room for {path}")


def test_files_that_a_worker_did_not_finish_are_evaluated_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same result, and a word on why that took its time."""
    text = "import cutlass.cute as cute\n\natom = cute.make_layout((4, 8), stride=(8, 1))\n"
    for name in "abcd":
        (tmp_path / f"{name}.py").write_text(text)
    command = ["facts", str(tmp_path), "--isolated", "--no-cache", "--output-format", "json", "--time"]
    assert run([*command, "-j", "1"]) == 0
    alone = capsys.readouterr()
    monkeypatch.setattr("cutecheck.source.scripts._run", _no_room)
    assert run([*command, "-j", "2"]) == 0
    beside = capsys.readouterr()
    assert beside.out == alone.out and "alone:" not in alone.err
    assert beside.err.count("evaluated again, alone: MemoryError: no room for") == 4


@pytest.mark.parametrize("where", ["cutecheck.source.translate.Translator.run", "cutecheck.engine.shares._one"])
def test_an_interrupt_shows_what_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "a.cu").write_text(SOURCE)
    monkeypatch.setattr(where, interrupted)
    assert run(["check", str(tmp_path), "--isolated", "--no-cache", "--output-format", "concise"]) == 2
    assert "interrupted: not every" in capsys.readouterr().out
