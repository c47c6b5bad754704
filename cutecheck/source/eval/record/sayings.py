"""What templates that nothing instantiates say of their places: the measure of how far they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from cutecheck.facts import Event, Launch, Site, Unknown
from cutecheck.model.ints import Dyn, Sym
from cutecheck.source.eval.record.kinds import has_open
from cutecheck.source.eval.record.state import RecorderState


class Sayings:
    """Counts them: a place is new once, and so is each value of it that is made of constants.

    Under arguments that nothing binds a place is met under as many names as there are ways through the host code that
    leads to it, and no name says more of it than another.
    """

    def __init__(self, recorder: RecorderState) -> None:
        self._recorder = recorder
        self._said: set[tuple[Any, ...]] = set()
        self._looked: dict[str, int] = {}  # at so many of each kind of fact, in the order in which they were met

    def __call__(self) -> int:
        """How much was said so far."""
        of = self._recorder
        self._said.update(map(_of_site, self._new("sites", of.sites.values())))
        self._said.update(map(_of_event, self._new("events", of.events.values())))
        self._said.update(map(_of_launch, self._new("launches", of.launches.values())))
        self._said.update(("loose", at, not isinstance(v, Unknown)) for _, at, v, _ in of.loose.values())
        return len(self._said) + len(of.handed)

    def _new(self, kind: str, facts: Iterable[Any]) -> Iterator[Any]:
        known = self._looked.get(kind, 0)
        found = list(islice(facts, known, None))
        self._looked[kind] = known + len(found)
        return iter(found)


def _of_site(site: Site) -> tuple[Any, ...]:
    value = site.value if site.status == "resolved" and not has_open(site.value, (Dyn, Sym)) else None
    try:
        hash(value)
    except TypeError:
        value = None
    return "site", site.span, site.status, value


def _of_event(event: Event) -> tuple[Any, ...]:
    return "event", event.span, event.reason is None


def _of_launch(launch: Launch) -> tuple[Any, ...]:
    return "launch", launch.span, launch.block_threads if isinstance(launch.block_threads, int) else None


__all__ = ["Sayings"]
