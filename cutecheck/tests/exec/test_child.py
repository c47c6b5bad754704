"""Children are bounded, get no shell, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

from cutecheck.exec.child import Limits, run, stoppable

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


def test_an_interrupt_ends_the_children_and_starts_no_others(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).mkdir()
    asleep = [PYTHON, "-c", "open('began', 'w').close(); import time; time.sleep(60)"]
    begin, before = time.monotonic(), signal.getsignal(signal.SIGINT)

    def once_begun() -> None:
        while not (tmp_path / "a" / "began").exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    with stoppable() as stopped, ThreadPoolExecutor(1) as pool:
        timer = Timer(0, once_begun)
        timer.start()
        ended = list(pool.map(lambda name: run(asleep, tmp_path / name, Limits()), "abc"))
        assert stopped.is_set()
    timer.join()
    assert time.monotonic() - begin < 40
    assert [e.failure for e in ended] == ["interrupted"] * 3 and not (tmp_path / "b" / "began").exists()
    assert signal.getsignal(signal.SIGINT) is before
    assert run([PYTHON, "-c", "print(1)"], tmp_path / "d", Limits()).out == "1\n", "what comes after is as ever"
