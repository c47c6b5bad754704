"""Registers that are multiplied before anything has been copied there, as it is in later passes."""

from __future__ import annotations

from collections.abc import Container, Sequence

from cutecheck.facts.replayed import Place, Step

Slice = tuple[str, int]  # of registers: the buffer, and where it starts there


class Unloaded:
    def __init__(self) -> None:
        self.first: dict[Slice, tuple[Step, Place]] = {}
        self.renewed: set[str] = set()  # registers that were given values by other means than copies

    def multiplied(
        self, step: Step, operands: Sequence[Place], held: Sequence[object | None], copied: Container[Slice]
    ) -> None:
        """``held``: what the operands' registers hold a part of; where one holds nothing, the other does."""
        for place, found, other in zip(operands, held, reversed(held), strict=True):
            at = place.buffer, place.offset
            empty = place.space == "rmem" and found is None and at not in copied
            if empty and other is not None and place.buffer not in self.renewed:
                self.first.setdefault(at, (step, place))

    def filled(self, step: Step, source: Place, target: Place) -> tuple[Step, Place] | None:
        """Where a copy fills registers that a product had before."""
        if step.maybe or source.space != "smem":
            return None
        return self.first.pop((target.buffer, target.offset), None)
