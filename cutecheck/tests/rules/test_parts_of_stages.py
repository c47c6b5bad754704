"""Loads that bring a stage in parts: each part is a walk through tiles of its own."""

from dataclasses import replace

import pytest

from cutecheck.facts import Span, TensorFact
from cutecheck.facts.replayed import Along, Place, Step, Thread
from cutecheck.model.dtype import dtype
from cutecheck.model.layout import Layout
from cutecheck.rules.derive.stages import one_stage
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


@pytest.mark.parametrize(
    ("of_a", "of_b", "past"),
    [
        (range(TILES), range(TILES), None),
        (range(TILES), range(1, TILES + 1), TILES),
        (range(-1, TILES - 1), range(TILES), -1),
        (range(1, TILES + 1), range(1, TILES + 1), None),  # both, of a matrix that begins before them
        (range(TILES), [*range(1, TILES), 0], None),  # says something else
    ],
)
def test_tiles_ahead_of_the_other_operands(of_a: list[int], of_b: list[int], past: int | None) -> None:
    steps = []
    for i, (a, b) in enumerate(zip(of_a, of_b, strict=True)):
        steps += [load("a", i % STAGES, 0, 1, a), load("b", i % STAGES, 0, 1, b)]
    fault = not_walked((Thread(0, tuple(steps), True),))
    found = fault.place.past if fault is not None and fault.kind == "ahead" else None
    assert (found and found[0]) == past


def test_a_part_without_elements_is_none_of_a_stage() -> None:
    """A mutant of the DSL's tutorials ended CUT218."""
    whole = Layout((0, 4, 3), (4, 1, 4))
    part = TensorFact("s", Span("k.py", 1, 1, 1, 2), "smem", Layout((0, 4), (4, 1)), dtype("half_t"), "s", 0)
    assert not one_stage(replace(part, root_layout=whole), 3)
