"""``cutecheck rule`` and the parser itself."""

import json
import subprocess
import sys

import pytest

from cutecheck import __version__
from cutecheck.cli import main
from cutecheck.rules import RULES, SECTIONS


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"cutecheck {__version__}\n"
    assert main(["--help"]) == 0
    assert "rule" in capsys.readouterr().out


def test_no_command_is_a_usage_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["cutecheck"])
    assert main([]) == 2
    assert "usage:" in capsys.readouterr().err


def test_rule_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "CUT901"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("CUT901 comma-drops-coordinate (lint; warning, proved)\n")
    assert all(f"\n{title}\n" in out for title in SECTIONS)


def test_rule_all_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "--all", "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [r["code"] for r in document["rules"]] == [r.code for r in RULES]
    assert [s["title"] for s in document["rules"][0]["sections"]] == list(SECTIONS)


@pytest.mark.parametrize("arguments", [["rule", "CUT777"], ["rule"], ["rule", "CUT9", "--all"]])
def test_rule_errors_are_one_line_and_json_stays_valid(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--output-format", "json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["errors"][0]["message"]
    assert captured.err.startswith("cutecheck: error: ") and captured.err.count("\n") == 1


def test_usage_error_in_json_mode() -> None:
    command = [sys.executable, "-m", "cutecheck", "rule", "--bogus", "--output-format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--bogus" in json.loads(done.stdout)["errors"][0]["message"]
    assert "Traceback" not in done.stderr


def test_start_up_loads_nothing_heavy() -> None:
    code = (
        "import sys; from cutecheck.cli import main; main(['--help']);"
        "heavy = {'z3','numpy','networkx','rich','tree_sitter','cutecheck.rules'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
