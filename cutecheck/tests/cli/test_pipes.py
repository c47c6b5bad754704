"""A reader that has seen enough (``| head``) is no error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures" / "cpp"


@pytest.mark.parametrize("command", [("check",), ("check", "--output-format", "json"), ("facts",)])
def test_a_closed_pipe_is_silent(command: tuple[str, ...]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "cutecheck", *command, "--isolated", "--no-cache", str(FIXTURES)],
            stdout=writes, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (2, "")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cutecheck", "facts", "--isolated", "--no-cache", str(FIXTURES),
         "--output-file", str(tmp_path / "none" / "out.txt")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "out.txt: cannot be written: No such file or directory" in done.stderr
