"""Where the time of a run goes, for ``--time``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_SECONDS: dict[str, float] = {}
_NOTES: dict[str, str] = {}


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Wall-clock time of the block counts for a phase, by the order in which phases first end; they may nest."""
    started = time.perf_counter()
    try:
        yield
    finally:
        _SECONDS[name] = _SECONDS.get(name, 0.0) + time.perf_counter() - started


def note(name: str, text: str) -> None:
    """What else to say of a phase."""
    _NOTES[name] = text


def restart() -> None:
    """A new run in this process."""
    _SECONDS.clear()
    _NOTES.clear()


def lines() -> list[str]:
    """One line a phase, in milliseconds."""
    width = max(map(len, _SECONDS), default=0)
    return [
        f"time: {name:<{width}} {seconds * 1e3:9.1f} ms{'  ' + _NOTES[name] if name in _NOTES else ''}"
        for name, seconds in _SECONDS.items()
    ]
