"""Calls across the border of a chunk of frames map and unmap nothing in a frame that leaves room."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from cutecheck import cli
from cutecheck.cli import app
from cutecheck.frames import roomy

resource = pytest.importorskip("resource")


def _chain(depth: int) -> int:
    return _chain(depth - 1) if depth else 0


def _faults(depth: int) -> int:
    """Pages met anew while chains of a few calls come and go, this deep in others."""
    if depth:
        return _faults(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        _chain(20)
    met: int = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return met


def _all_depths() -> int:
    return sum(_faults(depth) for depth in range(0, 300, 5))


@pytest.mark.skipif(sys.version_info < (3, 11) or sys.platform != "linux", reason="frames are kept in another way")
def test_chunks_are_not_mapped_again_and_again() -> None:
    with ThreadPoolExecutor(1) as apart:  # tests themselves run where there is room
        assert apart.submit(_all_depths).result() > 200  # as it is without
        assert apart.submit(lambda: roomy(_all_depths)).result() < 100


def test_what_is_called_is_what_runs() -> None:
    assert roomy(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        roomy(lambda: 1 // 0)


def test_commands_run_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[object] = []

    def run(arguments: list[str]) -> int:
        frame = sys._getframe()
        while frame is not None:
            codes.append(frame.f_code)
            frame = frame.f_back  # type: ignore[assignment]
        return len(arguments)

    monkeypatch.setattr(app, "run", run)
    assert cli.main(["check", "."]) == 2
    assert roomy.__code__ in codes
