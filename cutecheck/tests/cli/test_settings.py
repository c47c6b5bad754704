"""Settings from the command line, and what they do: KEY=VALUE, pedantic, required reasons, watching."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cutecheck.cli import main

COMMA = """#include <cute/tensor.hpp>
using namespace cute;
inline auto tiles(half_t* A) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_64{}, _256{}), make_stride(_256{}, _1{}));
  return local_tile(mA, Shape<_16, _64>{}, (0, _));%s
}
"""
IDENTITY = """#include <cute/tensor.hpp>
using namespace cute;
using M = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>,
                   Tile<_32, Layout<Shape<_4, _4>, Stride<_1, _4>>, _16>>;
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["check", "--isolated", "--output-format", "json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_config_takes_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.cu").write_text(COMMA % "")
    path = str(tmp_path)
    assert run(capsys, path)[0] == 1
    assert run(capsys, path, "--config", "ignore=CUT9")[0] == 0
    assert run(capsys, path, "--config", 'ignore=["CUT901", "CUT1"]')[0] == 0
    assert run(capsys, path, "--config", "fail-on=error")[0] == 0
    code, document = run(capsys, path, "--config", "fail_onn=error")
    assert code == 2
    assert "did you mean 'fail-on'" in document["errors"][0]["message"]
    assert "must be true or false" in run(capsys, path, "--config", "pedantic=1")[1]["errors"][0]["message"]


def test_pedantic_turns_notes_into_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.cu").write_text(IDENTITY)
    code, document = run(capsys, str(tmp_path))
    assert (code, [f["severity"] for f in document["findings"]]) == (0, ["note"])
    code, document = run(capsys, str(tmp_path), "--pedantic")
    assert (code, [f["severity"] for f in document["findings"]]) == (1, ["warning"])


def test_a_reason_can_be_required(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.cu").write_text(COMMA % "  // cutecheck: ignore[CUT901]")
    (tmp_path / "b.cu").write_text(COMMA % "  // cutecheck: ignore[CUT901] the last mode is meant")
    assert run(capsys, str(tmp_path))[0] == 0
    (tmp_path / "cutecheck.toml").write_text("require-suppression-reason = true\n")
    code = main(["check", str(tmp_path), "--output-format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert (code, [(f["code"], f["path"], f["line"]) for f in found]) == (1, [("CUT004", "a.cu", 5)])


def test_the_json_summary_names_budget_and_assumptions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixtures = Path(__file__).parents[2] / "fixtures" / "cpp"
    _, document = run(capsys, str(fixtures), "--timeout", "7")
    assert document["summary"]["budget"].startswith("7 s and 10,000,000 solver units")
    assert document["summary"]["assumptions"]["access-model: sm_90"] > 0
    main(["check", "--isolated", str(fixtures), "--output-format", "concise"])
    assert "assuming: access-model: sm_90 (" in capsys.readouterr().out


def test_watch_checks_again_after_a_change(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles", reason="the extra `watch` is not installed")
    source = tmp_path / "a.cu"
    source.write_text(IDENTITY)
    out = tmp_path / "out.txt"
    command = [sys.executable, "-m", "cutecheck", "check", "--isolated", "--watch", "--output-format", "concise", "."]
    with out.open("w") as stream:
        child = subprocess.Popen(command, cwd=tmp_path, stdout=stream, stderr=subprocess.STDOUT, env=_environment())
        try:
            _until(lambda: "1 note" in out.read_text())
            time.sleep(0.5)  # until the watcher is set up
            source.write_text(COMMA % "")
            _until(lambda: "a.cu changed" in out.read_text() and "CUT901" in out.read_text())
        finally:
            child.terminate()
            child.wait(30)


def _environment() -> dict[str, str]:
    """Of a child that imports the package these tests test, wherever it runs."""
    here = str(Path(__file__).parents[3])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}


def _until(done: Any, limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.1)
