"""What can go wrong in a kernel that was run pass by pass."""

from __future__ import annotations

from typing import Literal

from cutecheck.facts.replayed import Place, Step
from cutecheck.records import record

Kind = Literal[
    "early",
    "unseen",
    "overwritten",
    "blank",
    "left open",
    "lost",
    "unused",
    "twice",
    "mixed",
    "stale",
    "unset",
    "unready",
    "unreleased",
    "past stage",
    "past tile",
    "before",
    "astray",
    "outside",
    "torn",
    "missed",
    "unwalked",
    "ahead",
    "miscounted",
    "unpaired",
    "shifted",
    "doubled",
    "overlaid",
    "undue",
    "undrained",
    "unstored",
    "crowded",
    "shut",
    "starved",
    "repeated",
    "heaped",
    "stuck",
    "outrun",
    "scant",
    "overfull",
    "replaced",
    "replaced early",
    "given back",
    "kept",
    "unfinished",
    "unordered",
    "uninitialised",
    "unmade",
    "made twice",
    "premature",
    "unwritten",
    "unfenced",
    "unflushed",
    "unsettled",
    "unfilled",
    "passed on",
    "under way",
    "refilled",
    "loaded over",
    "unmultiplied",
    "wrapped",
    "landing",
    "unlanded",
    "displaced",
    "carried",
    "mislaid",
    "apart",
    "of both",
    "of neighbour",
    "odd",
    "untold",
]


@record(frozen=True, slots=True)
class Fault:
    """A step that goes wrong at these numbers, and another one that it has to do with."""

    kind: Kind
    step: Step
    place: Place
    other: Step | None = None
    tile: int = 0  # which of the buffer's tiles, in the order they are copied in
