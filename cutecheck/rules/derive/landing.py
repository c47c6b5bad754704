"""Copies by ``cp.async`` that are under way to bytes that threads store results over."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cutecheck.facts.replayed import Place, Step
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.fills import Fill, key_of, overlap

Over = Callable[[int | None, int], bool]  # of a group and when its copy was made


def landing(step: Step, target: Place, fills: Iterable[Fill], arrived: Over, visible: Over) -> Fault | None:
    """A tile of another tensor that lies over the target, and that ``cp.async`` may still bring.

    Of the thread's own groups ("landing"), or of those that other threads have not said to be over ("unlanded").
    Copies that threads may leave out need not be under way.
    """
    if step.asynchronous:
        return None
    key, of = key_of(target), (target.buffer, target.root)
    for fill in fills:
        same = fill.of == of and fill.step.places[-1].view == target.view
        if same or fill.maybe or not overlap(fill.key, key):
            continue
        groups = [(group, when) for group, when, _ in fill.parts.values() if group is not None]
        if any(not arrived(*group) for group in groups):
            return Fault("landing", step, target, fill.step, fill.number)
        if any(not visible(*group) for group in groups):
            return Fault("unlanded", step, target, fill.step, fill.number)
    return None


__all__ = ["landing"]
