"""Whether code is worth its cost: the main loop, or a kernel that has none."""

from __future__ import annotations

from cutecheck.facts import Event
from cutecheck.rules.base import Context


def cold(event: Event, context: Context) -> bool:
    """Outside every loop of a function that has copies or gemms inside one: a prologue or an epilogue."""
    return event.loop_depth == 0 and event.enclosing in context.index.looped


def where(event: Event) -> str:
    """In words."""
    return "inside a loop" if event.loop_depth else "outside any loop"
