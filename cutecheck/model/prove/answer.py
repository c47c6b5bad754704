"""What engines take and give: options and answers."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Literal

from cutecheck.model.prove.obligation import Outcome
from cutecheck.records import record


@record(frozen=True, slots=True)
class Options:
    """How to prove. ``rlimit`` is Z3's reproducible budget, ``timeout_ms`` the wall-clock backstop behind it.

    ``engine`` forces one engine by name (the verdict is then at most unknown, or refuted); ``without`` leaves engines
    out. ``dump`` receives
    (name, SMT-LIB 2 text) of every Z3 query. ``cache`` maps a question to its outcome within one run.
    """

    timeout_ms: int = 5000
    rlimit: int = 10_000_000
    engine: str | None = None
    without: tuple[str, ...] = ()
    dump: Callable[[str, str], None] | None = None
    cache: MutableMapping[str, Outcome] | None = None


@record(frozen=True, slots=True)
class Answer:
    """One engine's answer. ``values`` assigns numbers to names: the counterexample that replay must confirm.

    ``narrowed`` is not empty when the answer speaks of less than was asked (it says of what).
    """

    answer: Literal["holds", "fails", "unknown"]
    detail: str = ""
    values: tuple[tuple[str, int], ...] = ()
    measure: tuple[tuple[str, int], ...] = ()
    reductions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    narrowed: str = ""


def unknown(reason: str) -> Answer:
    return Answer("unknown", detail=reason)
