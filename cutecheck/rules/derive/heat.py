"""Whether code is worth its cost: the main loop, or a kernel that has none."""

from __future__ import annotations

from cutecheck.facts import Event
from cutecheck.rules.base import Context


def cold(event: Event, context: Context) -> bool:
    """Outside every loop of a function that has copies or gemms inside one: a prologue or an epilogue."""
    if event.loop_depth > 0:
        return False
    return any(e.loop_depth > 0 and e.enclosing == event.enclosing for e in context.facts.events)


def where(event: Event) -> str:
    """In words."""
    return "inside a loop" if event.loop_depth else "outside any loop"
