"""Whether code is worth its cost: the main loop, a kernel that has none, or what is paid once."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Event, Loop
from cutecheck.findings import Severity
from cutecheck.rules.base import Context

DEAR_WAVEFRONTS = 4  # times the ideal from which on an epilogue's conflicts are a warning
DEAR_SECTORS = 8  # the same for its sectors: accumulators that are stored as they lie take 2 to 4 times


def severity(event: Event, found: int, ideal: int, dear: int, context: Context) -> Severity:
    """A note for what a kernel with a main loop does once before it, and after it unless that is dear."""
    if prologue(event, context) or (cold(event, context) and found < dear * ideal):
        return "note"
    return "warning"


def cold(event: Event, context: Context) -> bool:
    """Outside every loop of a function that has copies or gemms inside one: a prologue or an epilogue."""
    return event.loop_depth == 0 and event.enclosing in context.index.looped


def prologue(event: Event, context: Context) -> bool:
    """Before the main loop of the same function, and not in a loop around both."""
    loops = _main_loops(context).get((event.enclosing, event.arch), {})
    return any(event.order < first and not _within(event, loop, loops) for loop, (first, _) in loops.items())


def where(event: Event) -> str:
    """In words."""
    return "inside a loop" if event.loop_depth else "outside any loop"


def _within(event: Event, loop: Loop, loops: dict[Loop, tuple[int, tuple[Loop, ...]]]) -> bool:
    """The event is in the loop, or in one around it."""
    around = loops[loop][1]
    return any(x in (loop, *around) for x in event.loops)


def _main_loops(context: Context) -> dict[tuple[str, str], dict[Loop, tuple[int, tuple[Loop, ...]]]]:
    """Loops that bring tiles from global to shared memory and use shared memory, too: by function and architecture.

    With the first event of each, and the loops around it.
    """
    if "main loops" not in context.memo:
        filled: dict[tuple[str, str], set[Loop]] = {}
        used: dict[tuple[str, str], set[Loop]] = {}
        first: dict[tuple[str, str], dict[Loop, tuple[int, tuple[Loop, ...]]]] = {}
        for event in context.facts.events:
            key = (event.enclosing, event.arch)
            for depth, loop in enumerate(event.loops):
                known = first.setdefault(key, {}).get(loop)
                if known is None or event.order < known[0]:
                    first[key][loop] = (event.order, event.loops[:depth])
                kinds = filled if _fills(event) else used if _uses(event) else None
                if kinds is not None:
                    kinds.setdefault(key, set()).add(loop)
        context.memo["main loops"] = {
            key: {loop: at for loop, at in loops.items() if loop in filled.get(key, ()) and loop in used.get(key, ())}
            for key, loops in first.items()
        }
    return cast("dict[tuple[str, str], dict[Loop, tuple[int, tuple[Loop, ...]]]]", context.memo["main loops"])


def _fills(event: Event) -> bool:
    """A copy to shared memory from elsewhere: global memory, coordinates of a TMA, registers that were loaded."""
    spaces = [t.space for t in event.operands]
    return event.kind == "copy" and len(spaces) > 1 and spaces[1] == "smem" and spaces[0] != "smem"


def _uses(event: Event) -> bool:
    """A gemm, or a copy from shared memory."""
    return event.kind == "gemm" or (len(event.operands) > 0 and event.operands[0].space == "smem")
