"""Loads that bring a stage in parts: each part is a walk through tiles of its own."""

import pytest

from cutecheck.facts import Span
from cutecheck.facts.replayed import Along, Place, Step, Thread
from cutecheck.rules.derive.tma_walks import not_walked

SPAN = Span("k.cu", 1, 1, 1, 2)
STAGES, TILES = 2, 8


def load(buffer: str, stage: int, part: int, parts: int, tile: int) -> Step:
    size = 64 * parts
    target = Place(
        buffer, SPAN, "smem", buffer, size * stage + 64 * part, (0, 16 * size * STAGES),
        (16 * size * stage, 16 * size * (stage + 1)),
    )  # fmt: skip
    source = Place("g", SPAN, "coord", "", 0, walk=(Along(0, 64, 64, "m"), Along(64 * tile, 64, 64 * TILES, "k")))
    return Step("load", SPAN, "kernel", "full", None, (source, target), True)


@pytest.mark.parametrize(("goes_on", "wrong"), [(("A", "gate", "up"), False), ((), True), (("A",), True)])
def test_two_parts_of_a_stage_that_stay_at_their_first_tiles(goes_on: tuple[str, ...], wrong: bool) -> None:
    steps = []
    for i in range(TILES):
        at = {name: i if name in goes_on else 0 for name in ("A", "gate", "up")}
        steps.append(load("a", i % STAGES, 0, 1, at["A"]))
        steps += [load("b", i % STAGES, part, 2, at[name]) for part, name in enumerate(("gate", "up"))]
    assert (not_walked((Thread(0, tuple(steps), True),)) is not None) == wrong
