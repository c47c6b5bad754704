"""Compilers that loop or eat memory, and names that are shell commands: children end, nothing else happens."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.exec import child
from cutecheck.exec.gpu.compile import Compiler
from cutecheck.exec.headers import Headers
from cutecheck.exec.host import HostOptions, confirm
from cutecheck.exec.isa.compile import Bench, Kernel, emitted
from cutecheck.facts import Facts, Site, Span
from cutecheck.model.layout import Layout

LOOP = "import time\ntime.sleep(600)"
HOG = "b'x' * (1 << 40)"
BAD = "cfg::Traits<128>::x; $(touch pwned) `touch pwned` | touch pwned"


def compiler(folder: Path, body: str) -> str:
    """A program that stands for a compiler."""
    program = folder / "c++"
    program.write_text(f"#!{sys.executable}\nimport sys, os\n{body}\n")
    program.chmod(0o755)
    return str(program)


def site(symbol: str = "made", path: str = "made.hpp") -> Site:
    here = Span(path, 1, 1, 1, 2)
    return Site("made", "layout", symbol, here, here, (), "sm_80", "resolved", Layout(8, 1))


def asked(program: str, limits: child.Limits, one: Site | None = None) -> tuple[str, str]:
    headers = Headers(program, Path(), (), "4.7.0")
    (found,) = confirm(Facts(sites=(one or site(),)), headers, lambda _: None, HostOptions(limits=limits))
    return found.status, found.reason


@pytest.mark.parametrize(
    ("body", "limits", "reason"),
    [(LOOP, child.Limits(seconds=1.0), "stopped after 1 s"), (HOG, child.Limits(memory=1 << 30), "MemoryError")],
)
def test_a_compiler_that_does_not_end_is_ended(tmp_path: Path, body: str, limits: child.Limits, reason: str) -> None:
    status, said = asked(compiler(tmp_path, body), limits)
    assert status == "unavailable" and reason in said


@pytest.mark.parametrize(
    ("body", "limits", "reason"),
    [(LOOP, child.Limits(seconds=1.0), "stopped after 1 s"), (HOG, child.Limits(memory=1 << 30), "exit code 1")],
)
def test_a_device_compiler_that_does_not_end_is_ended(
    tmp_path: Path, body: str, limits: child.Limits, reason: str
) -> None:
    nvcc = Compiler("nvcc", compiler(tmp_path, body), (str(tmp_path),), "4.7.0")
    made = emitted([Kernel("", 32)], "sm_80", Bench(nvcc, None, tmp_path / "cache", 1, limits))
    assert reason in made[0].failure and not made[0].ptx


def test_a_symbol_that_is_a_shell_command_is_neither_run_nor_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reaches no translation unit and no command line; only the value itself is compiled."""
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    body = f"""
with open({str(log)!r}, "a") as f:
    print(sys.argv, file=f)
    for a in sys.argv[1:]:
        if a.endswith(".cpp"):
            print(open(a).read(), file=f)
sys.exit(1)
"""
    status, _ = asked(compiler(tmp_path, body), child.Limits(), replace(site(BAD), kind="tiled_mma"))
    assert status == "unavailable"
    assert "pwned" not in log.read_text() and not list(tmp_path.rglob("pwned"))


def test_the_folder_of_a_run_is_private_and_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    log = tmp_path / "log"
    body = f"""
with open({str(log)!r}, "a") as f:
    print(os.getcwd(), oct(os.stat(os.getcwd()).st_mode & 0o777), sorted(os.environ), file=f)
sys.exit(1)
"""
    secret = "CUTECHECK_TEST_SECRET"
    monkeypatch.setenv(secret, "1")
    asked(compiler(tmp_path, body), child.Limits())
    folder, mode, variables = log.read_text().splitlines()[0].split(" ", 2)
    assert mode == oct(stat.S_IRWXU) and not Path(folder).exists()
    assert secret not in variables and "HOME" not in variables
    assert os.path.commonpath([folder, str(tmp_path)]) == str(tmp_path)
