"""Where the time of a run goes, for ``--time``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_SECONDS: dict[str, float] = {}
_NOTES: dict[str, str] = {}
_RULES: dict[str, float] = {}
_FILES: dict[str, float] = {}
_SHOWN_FILES = 10


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Wall-clock time of the block counts for a phase, by the order in which phases first end; they may nest."""
    started = time.perf_counter()
    try:
        yield
    finally:
        _SECONDS[name] = _SECONDS.get(name, 0.0) + time.perf_counter() - started


def spent(rule: str, seconds: float) -> None:
    """Wall-clock time that a rule took, with the proofs that it was the first to ask for."""
    _RULES[rule] = _RULES.get(rule, 0.0) + seconds


def rules() -> dict[str, float]:
    """The seconds of each rule so far."""
    return dict(_RULES)


def evaluated(file: str, seconds: float, more: str = "") -> None:
    """Processor time that the evaluation of a file took, in whatever process; ``more``: what else to say of it."""
    _FILES[file] = _FILES.get(file, 0.0) + seconds
    if more:
        _NOTES[file] = more


def note(name: str, text: str) -> None:
    """What else to say of a phase."""
    _NOTES[name] = text


def restart() -> None:
    """A new run in this process."""
    _SECONDS.clear()
    _NOTES.clear()
    _RULES.clear()
    _FILES.clear()


def lines() -> list[str]:
    """One line a phase, then the files that took longest, then the rules, from the slowest on, in milliseconds."""
    phases = [(name, seconds, _NOTES.get(name, "")) for name, seconds in _SECONDS.items()]
    files = [(name, seconds, _NOTES.get(name, "")) for name, seconds in _slowest(_FILES)[:_SHOWN_FILES]]
    rules = [(name, seconds, "") for name, seconds in _slowest(_RULES)]
    return [*_table("time", phases), *_table("file", files), *_table("rule", rules)]


def _slowest(spent: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(spent.items(), key=lambda item: (-item[1], item[0]))


def _table(title: str, rows: list[tuple[str, float, str]]) -> list[str]:
    width = max((len(name) for name, _, _ in rows), default=0)
    return [
        f"{title}: {name:<{width}} {seconds * 1e3:9.1f} ms{'  ' + more if more else ''}" for name, seconds, more in rows
    ]
