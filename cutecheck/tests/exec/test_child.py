"""Children are bounded, get no shell, and leave nothing behind."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from cutecheck.exec.child import Limits, run

PYTHON = sys.executable


def test_output_and_code(tmp_path: Path) -> None:
    ended = run(
        [PYTHON, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"], tmp_path, Limits()
    )
    assert (ended.code, ended.out, ended.err) == (3, "out\n", "err\n")
    assert ended.failure == "exit code 3"


def test_an_argument_is_never_a_command(tmp_path: Path) -> None:
    ended = run([PYTHON, "-c", "import sys; print(sys.argv[1])", "$(touch pwned); touch pwned"], tmp_path, Limits())
    assert ended.out == "$(touch pwned); touch pwned\n"
    assert not (tmp_path / "pwned").exists()


def test_wall_clock(tmp_path: Path) -> None:
    begin = time.monotonic()
    ended = run([PYTHON, "-c", "import time; time.sleep(60)"], tmp_path, Limits(seconds=0.5))
    assert ended.code is None and "stopped after" in ended.failure
    assert time.monotonic() - begin < 30


def test_memory(tmp_path: Path) -> None:
    ended = run([PYTHON, "-c", "b'x' * (1 << 30)"], tmp_path, Limits(memory=256 << 20))
    assert ended.failure and "MemoryError" in ended.err


def test_file_size(tmp_path: Path) -> None:
    ended = run([PYTHON, "-c", "open('big', 'wb').write(b'x' * (1 << 20))"], tmp_path, Limits(file=1 << 16))
    assert ended.failure
    assert (tmp_path / "big").stat().st_size <= 1 << 16
