"""How far a long run is: a line on the terminal of standard error, and nothing anywhere else."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

_T = TypeVar("_T")
_CELLS = 24
_MANY = 8  # steps for which the line stands from the start
_FIRST, _NEXT = 0.5, 0.1  # seconds until it stands otherwise, and until it changes


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Within it, each call of the function that is given is one step of ``total``; the line goes when it ends."""
    stream = _stream()
    if total < 2 or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda: None
        return
    bar = _Bar(stream, what, total)
    try:
        yield bar.step
    finally:
        bar.clear()


def counted(what: str, items: Iterable[_T], total: int) -> Iterator[_T]:
    """The items, each a step."""
    with progress(what, total) as step:
        for item in items:
            yield item
            step()


def _stream() -> TextIO:
    return sys.stderr


class _Bar:
    def __init__(self, stream: TextIO, what: str, total: int) -> None:
        self._stream, self._what, self._total = stream, what, total
        self._owner = os.getpid()
        self._done = 0
        self._stands = False
        self._due = time.monotonic() + (0.0 if total >= _MANY else _FIRST)
        self._draw()

    def step(self) -> None:
        self._done = min(self._done + 1, self._total)
        self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if now < self._due or os.getpid() != self._owner:  # a child's steps are counted by its parent
            return
        self._due, self._stands = now + _NEXT, True
        filled = _CELLS * self._done // self._total
        line = f"{self._what} [{'#' * filled}{'.' * (_CELLS - filled)}] {self._done}/{self._total}"
        self._write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")

    def clear(self) -> None:
        if self._stands and os.getpid() == self._owner:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the terminal is gone; the run is not
            self._stands = False


__all__ = ["counted", "progress"]
