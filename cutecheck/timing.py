"""Where the time of a run goes, for ``--time``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_SECONDS: dict[str, float] = {}
_NOTES: dict[str, str] = {}
_RULES: dict[str, float] = {}


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


def note(name: str, text: str) -> None:
    """What else to say of a phase."""
    _NOTES[name] = text


def restart() -> None:
    """A new run in this process."""
    _SECONDS.clear()
    _NOTES.clear()
    _RULES.clear()


def lines() -> list[str]:
    """One line a phase, then one a rule from the slowest on, in milliseconds."""
    phases = [(name, seconds, _NOTES.get(name, "")) for name, seconds in _SECONDS.items()]
    rules = [(name, seconds, "") for name, seconds in sorted(_RULES.items(), key=lambda item: (-item[1], item[0]))]
    return [*_table("time", phases), *_table("rule", rules)]


def _table(title: str, rows: list[tuple[str, float, str]]) -> list[str]:
    width = max((len(name) for name, _, _ in rows), default=0)
    return [
        f"{title}: {name:<{width}} {seconds * 1e3:9.1f} ms{'  ' + more if more else ''}" for name, seconds, more in rows
    ]
