"""Tests that look at findings: nothing is written for runs to come, and what was proved in one run is known in others.

A right kernel and one with a mistake ask nearly the same questions of the prover, which answers take a fifth of the
time of both. What keeps answers and facts between runs has tests of its own, which start from nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutecheck.cache import Store
from cutecheck.engine import run, verdicts
from cutecheck.model.prove.obligation import Outcome

_ANSWERS: dict[str, dict[str, Outcome]] = {}  # of this process, by what they are about


class Shared(verdicts.Verdicts):
    """Answers that all runs of this process have; none that a solver gave up on."""

    def __init__(self, store: Store | None, timeout_ms: int) -> None:
        super().__init__(None, timeout_ms)
        self._read_known = _ANSWERS.setdefault(self._about, {})

    def __setitem__(self, key: str, outcome: Outcome) -> None:
        super().__setitem__(key, outcome)
        if verdicts._kept(outcome):
            self._read_known[key] = replace(outcome, obligation=None)


@pytest.fixture
def proved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs of a test are such."""
    monkeypatch.setattr(verdicts, "Verdicts", Shared)
    monkeypatch.setattr(run, "open_store", lambda folder: None)
