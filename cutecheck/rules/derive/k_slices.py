"""Slices along K of two operands that are multiplied with one another: of one tile of A and one of B."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from cutecheck.facts.replayed import Place, Step
from cutecheck.rules.derive.fills import FEW, Part, Tile


@dataclass(slots=True)
class Met:
    """Which parts of two tiles meet, and which registers they are in: offsets, and of which buffers."""

    parts: dict[tuple[Part, Part], Step] = field(default_factory=dict)
    registers: set[tuple[int, int]] = field(default_factory=set)
    buffers: set[tuple[str, str]] = field(default_factory=set)

    @property
    def in_order(self) -> bool:
        """Slices of two fragments meet, the first the first, and so on."""
        return len(self.buffers) == 1 and len(self.registers) == len(self.parts) and _shift(self.registers) == 0


class Slices:
    """What the products of each accumulator multiplied, over all its sums."""

    def __init__(self) -> None:
        self.sums: dict[tuple[str, int], dict[tuple[Tile, Tile], Met]] = defaultdict(lambda: defaultdict(Met))

    def meet(self, sums: Place, first: tuple[Tile, Part], second: tuple[Tile, Part], step: Step) -> None:
        met = self.sums[sums.buffer, sums.offset][first[0], second[0]]
        met.parts.setdefault((first[1], second[1]), step)
        a, b = step.places[-3:-1]
        if {a.space, b.space} == {"rmem"}:
            met.registers.add((a.offset, b.offset))
            met.buffers.add((a.buffer, b.buffer))

    def shifted(self) -> Step | None:
        """A product of slices that are as far from one another in all tiles.

        Slices are told by where they start in their tile. Where their registers are not the slices of two fragments,
        in order, two of them, or those that are half a tile apart, may be the real and the imaginary parts of numbers.
        """
        for tiles in self.sums.values():
            judged = [(met, shift) for met in tiles.values() if (shift := _of_tile(met)) is not None]
            if len(judged) >= FEW and len({shift for _, shift in judged}) == 1 and judged[0][1]:
                return next(iter(judged[0][0].parts.values()))
        return None


def _of_tile(met: Met) -> int | None:
    many = len(met.parts)
    if any(len({pair[i][1] for pair in met.parts}) != 1 for i in (0, 1)):
        return None  # by several layouts, of which the offsets do not compare
    if any(min(pair[i][0] for pair in met.parts) != 0 for i in (0, 1)):
        return None  # elsewhere than in a tile's first row a swizzle may exchange its slices
    shift = _shift([(a[0], b[0]) for a, b in met.parts])
    if met.in_order:
        return shift
    return None if shift is None or many < FEW or 2 * shift == many else shift


def _shift(pairs: Collection[tuple[int, int]]) -> int | None:
    """By how many all of the second come after the first, round the tile; None where each does not meet one other."""
    first, second = (sorted({pair[i] for pair in pairs}) for i in (0, 1))
    many = len(pairs)
    if many < 2 or not len(first) == len(second) == many:
        return None
    shifts = {(second.index(b) - first.index(a)) % many for a, b in pairs}
    return shifts.pop() if len(shifts) == 1 else None
