"""Answers to obligations, kept between runs by the hash of what is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from dataclasses import replace

from cutecheck.cache import Store, digest
from cutecheck.cache.codec import DecodeError, decode, encode
from cutecheck.model.prove.obligation import Outcome
from cutecheck.model.version import cute_version

MOST = 50_000  # answers kept
_MOST_ENTRIES = 8  # each run adds one; then they become one
_KIND = "verdicts"
_TRIED = re.compile(r"Z3: |\w+: \w*(?:Error|Exception): ")  # Z3 gave up on a query, or an engine failed


class Verdicts(MutableMapping[str, Outcome]):
    """The cache of a prover, over a store. An outcome has no obligation of its own there.

    What Z3 gave up on is asked again next time: a faster machine may know. A question that is not put to it, because
    it cannot be written down, is not.
    """

    def __init__(self, store: Store | None, timeout_ms: int) -> None:
        self._store = store
        self._about = digest(repr((timeout_ms, cute_version())))
        self._read_known: dict[str, Outcome] | None = None
        self._own: dict[str, Outcome] = {}  # answered in this run
        self._entries = [] if store is None else store.keys(_KIND)

    @property
    def _known(self) -> dict[str, Outcome]:
        """What was kept, read when it is first asked for."""
        if self._read_known is None:
            self._read_known = {}
            for key in self._entries:
                self._read_known.update(self._read(key))
        return self._read_known

    def _read(self, key: str) -> dict[str, Outcome]:
        text = None if self._store is None else self._store.get(_KIND, key)
        try:
            about, found = ("", {}) if text is None else decode(text)
        except (DecodeError, TypeError, ValueError):
            return {}
        good = about == self._about and isinstance(found, dict)
        return {k: v for k, v in found.items() if isinstance(v, Outcome)} if good else {}

    def __getitem__(self, key: str) -> Outcome:
        return self._own[key] if key in self._own else self._known[key]

    def __setitem__(self, key: str, outcome: Outcome) -> None:
        self._own[key] = outcome

    def __delitem__(self, key: str) -> None:
        raise TypeError("answers are not taken back")

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, **self._own})

    def __len__(self) -> int:
        return len({**self._known, **self._own})

    def __contains__(self, key: object) -> bool:
        return key in self._own or key in self._known

    def save(self) -> None:
        """Keep the answers of this run; now and then all answers in one entry."""
        new = {k: replace(v, obligation=None) for k, v in self._own.items() if _kept(v)}  # type: ignore[arg-type]
        if self._store is None or not new:
            return
        old = self._entries if len(self._entries) >= _MOST_ENTRIES else []
        kept = {**self._known, **new} if old else new
        text = encode((self._about, dict(list(kept.items())[-MOST:])))
        name = digest(text)
        self._store.put(_KIND, name, text)
        for key in old:
            if key != name:
                self._store.forget(_KIND, key)


def _kept(outcome: Outcome) -> bool:
    return not any(r.answer == "unknown" and _TRIED.match(r.detail) for r in outcome.runs)
