"""A line on a terminal while a run is long; nothing elsewhere, and nothing left of it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from cutecheck import progress as module
from cutecheck.cli import main
from cutecheck.progress import counted, progress

UNIT = "#include <cute/tensor.hpp>\nusing L{0} = decltype(cute::make_layout(cute::Int<{0}>{{}}));\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(text: str) -> str:
    """What stands in the line at the end."""
    return text.rpartition("\r")[2].replace("\x1b[K", "")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    monkeypatch.setattr(module, "_stream", lambda: stream)
    monkeypatch.setattr(module, "_NEXT", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    return stream


def test_steps_are_drawn_and_the_line_goes(terminal: Terminal) -> None:
    assert list(counted("reading", "abcdefgh", 8)) == list("abcdefgh")
    lines = terminal.getvalue().split("\r")
    assert lines[1].startswith("reading [........................] 0/8")
    assert lines[5].startswith("reading [############............] 4/8")
    assert all(len(line.replace("\x1b[K", "")) < 60 for line in lines)
    assert screen(terminal.getvalue()) == ""


def test_it_goes_when_the_run_is_interrupted_and_never_passes_its_end(terminal: Terminal) -> None:
    with pytest.raises(KeyboardInterrupt), progress("reading", 9) as step:
        for _ in range(20):
            step()
        assert "9/9" in screen(terminal.getvalue())
        raise KeyboardInterrupt
    assert screen(terminal.getvalue()) == ""


def test_a_few_quick_steps_show_nothing(terminal: Terminal) -> None:
    assert list(counted("reading", range(3), 3)) == [0, 1, 2]
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("where", ["a file", "a dumb terminal"])
def test_there_is_none_elsewhere(where: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    if where == "a file":
        monkeypatch.setattr(module, "_stream", lambda: file)
    else:
        monkeypatch.setenv("TERM", "dumb")
    assert list(counted("reading", range(9), 9)) == list(range(9))
    assert terminal.getvalue() == file.getvalue() == ""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_check_shows_how_far_it_is(
    jobs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], terminal: Terminal
) -> None:
    for n in range(9):
        (tmp_path / f"a{n}.cu").write_text(UNIT.format(n + 1))
    assert main(["check", "--isolated", "--no-cache", "-j", jobs, str(tmp_path)]) == 0
    seen = re.findall(r"([a-z, _\d]+) \[[#.]+\] (\d+)/(\d+)", terminal.getvalue())
    assert ("evaluating, sm_80", "9", "9") in seen
    assert {what for what, _, _ in seen} == {"evaluating, sm_80", "checking"}
    assert screen(terminal.getvalue()) == ""
    assert "\r" not in capsys.readouterr().out
