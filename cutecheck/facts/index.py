"""Facts by what rules and fixes look them up with, so that nobody goes through all of them for each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from cutecheck.facts.core import Call, Event, Facts, Launch, Predicate, Site, SmemBuffer
from cutecheck.facts.span import Span, Unknown
from cutecheck.facts.tensor import TensorFact
from cutecheck.model.algebra import cosize
from cutecheck.model.ints import known_value
from cutecheck.model.layout import Layout


def place_of(of: Call | Event) -> tuple[str, str, str]:
    """The function, kernel and architecture that a fact is of.

    A function of Python is another one for each configuration of a kernel that calls it; one of C++ is told apart by
    its template arguments.
    """
    return (of.enclosing, of.kernel if of.span.is_python else "", of.arch)


def asked_of(buffer: str, of: Predicate | Event) -> tuple[object, ...]:
    """What predicates have in common with the copies that ask them: the tensor, kernel, architecture and block.

    Of Python a helper may compute them: its tensors are told apart by where it was called from.
    """
    within = of.enclosing if not of.kernel or not of.span.is_python else ""
    return (buffer, within, of.kernel, of.arch, of.block)


def _elements(tensor: TensorFact | None) -> int:
    """How many elements a predicate tensor has; more than any where that is not known."""
    layout = None if tensor is None else tensor.layout
    many = known_value(cosize(layout)) if isinstance(layout, Layout) else None
    return 1 << 30 if many is None else many


class FactIndex:
    """Indexes over the facts of one run, each made when it is first asked for; orders are those of the facts."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @cached_property
    def event_by_id(self) -> dict[str, Event]:
        """The first event of each id."""
        found: dict[str, Event] = {}
        for event in self._facts.events:
            found.setdefault(event.event_id, event)
        return found

    def events_with(self, ids: Iterable[str]) -> list[Event]:
        """All events of these ids."""
        found = [entry for ident in set(ids) for entry in self._by_id.get(ident, ())]
        return [event for _, event in sorted(found, key=lambda entry: entry[0])]

    @cached_property
    def _by_id(self) -> dict[str, list[tuple[int, Event]]]:
        found: dict[str, list[tuple[int, Event]]] = {}
        for position, event in enumerate(self._facts.events):
            found.setdefault(event.event_id, []).append((position, event))
        return found

    @cached_property
    def looped(self) -> frozenset[str]:
        """Functions that have a copy or gemm inside a loop."""
        return frozenset(e.enclosing for e in self._facts.events if e.loop_depth > 0)

    @cached_property
    def buffers(self) -> dict[tuple[str, str], list[SmemBuffer]]:
        """By id and architecture."""
        found: dict[tuple[str, str], list[SmemBuffer]] = {}
        for buffer in self._facts.buffers:
            found.setdefault((buffer.buffer_id, buffer.arch), []).append(buffer)
        return found

    @cached_property
    def predicates(self) -> dict[tuple[object, ...], list[Predicate]]:
        """What is assigned from comparisons, by what :func:`asked_of` says of it."""
        found: dict[tuple[object, ...], list[Predicate]] = {}
        for predicate in self._facts.predicates:
            if predicate.bounds:
                found.setdefault(asked_of(predicate.buffer, predicate), []).append(predicate)
        return found

    def predicates_for(self, event: Event) -> list[Predicate]:
        """What is assigned to the predicates of a copy, in its function or, of C++, in one function it may be left to.

        A tensor of C++ is known by its place in the source: of two functions that both assign to such a one, none.
        """
        buffer = event.predicate.buffer or "" if event.predicate is not None else ""
        own = self.predicates.get(asked_of(buffer, event), [])
        if own or not event.kernel or event.span.is_python:
            return own
        by_others = self._by_others.get((buffer, event.kernel, event.arch, event.block), [])
        return by_others if len({p.enclosing for p in by_others}) == 1 else []

    def always(self, event: Event) -> bool:
        """A copy under a predicate tensor whose elements are all ``true``, or ``false`` for all threads alike.

        Where another instantiation assigns something else to them, this one is a case that it tells apart.
        """
        buffer = event.predicate.buffer if event.predicate is not None else None
        if not buffer:
            return False
        own = self._assigned.get((buffer, event.arch), [])
        asked = [p for p in own if asked_of(buffer, event) == asked_of(buffer, p) and p.constant]
        if not asked or any(p.constant is None for p in own):
            return False
        elements = {known_value(p.element) for p in asked if p.element is not None}
        return None in elements or len(elements) >= _elements(event.predicate)

    def plain(self, event: Event) -> list[Predicate]:
        """What is assigned to the predicates of a copy, where all of it is comparisons of plain numbers."""
        buffer = event.predicate.buffer if event.predicate is not None else None
        own = self._assigned.get((buffer or "", event.arch), [])
        asked = [p for p in own if asked_of(buffer or "", event) == asked_of(buffer or "", p)]
        return asked if all(p.plain for p in own) else []

    @cached_property
    def _assigned(self) -> dict[tuple[str, str], list[Predicate]]:
        found: dict[tuple[str, str], list[Predicate]] = {}
        for p in self._facts.predicates:
            found.setdefault((p.buffer, p.arch), []).append(p)
        return found

    @cached_property
    def _by_others(self) -> dict[tuple[object, ...], list[Predicate]]:
        found: dict[tuple[object, ...], list[Predicate]] = {}
        for p in (p for asked in self.predicates.values() for p in asked):
            found.setdefault((p.buffer, p.kernel, p.arch, p.block), []).append(p)
        return found

    @cached_property
    def buffers_in(self) -> dict[tuple[str, str], list[SmemBuffer]]:
        """By function and architecture."""
        found: dict[tuple[str, str], list[SmemBuffer]] = {}
        for buffer in self._facts.buffers:
            found.setdefault((buffer.enclosing, buffer.arch), []).append(buffer)
        return found

    @cached_property
    def launches_of(self) -> dict[str, list[Launch]]:
        """By kernel."""
        found: dict[str, list[Launch]] = {}
        for launch in self._facts.launches:
            found.setdefault(launch.kernel, []).append(launch)
        return found

    @cached_property
    def unknown_calls(self) -> frozenset[Span]:
        """Where a call has no known result."""
        return frozenset(c.span for c in self._facts.calls if isinstance(c.result, Unknown))

    @cached_property
    def events_at(self) -> dict[tuple[Span, str], list[Event]]:
        """By span and architecture."""
        found: dict[tuple[Span, str], list[Event]] = {}
        for event in self._facts.events:
            found.setdefault((event.span, event.arch), []).append(event)
        return found

    @cached_property
    def calls_on(self) -> dict[tuple[str, str], list[Call]]:
        """Calls whose result is a tensor, by its buffer and the architecture."""
        found: dict[tuple[str, str], list[Call]] = {}
        for call in self._facts.calls:
            if isinstance(call.result, TensorFact) and call.result.buffer is not None:
                found.setdefault((call.result.buffer, call.arch), []).append(call)
        return found

    @cached_property
    def sites_named(self) -> dict[str, list[Site]]:
        """By the last part of the symbol."""
        found: dict[str, list[Site]] = {}
        for site in self._facts.sites:
            found.setdefault(site.symbol.rsplit("::", 1)[-1], []).append(site)
        return found

    @cached_property
    def site_at(self) -> dict[Span, Site]:
        """The first site that has this span, of its name or of its call."""
        found: dict[Span, Site] = {}
        for site in self._facts.sites:
            found.setdefault(site.span, site)
            found.setdefault(site.call_span, site)
        return found

    @cached_property
    def sites_of(self) -> dict[object, list[Site]]:
        """By value and architecture; sites without a value are left out."""
        found: dict[object, list[Site]] = {}
        for site in self._facts.sites:
            if site.value is not None:
                found.setdefault((site.value, site.arch), []).append(site)
        return found
