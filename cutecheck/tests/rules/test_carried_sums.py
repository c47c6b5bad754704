"""Sums that a persistent kernel's thread goes on with in its next tile, in runs written down step by step."""

from __future__ import annotations

from itertools import product

import pytest

from cutecheck.facts import Span
from cutecheck.facts.replayed import Place, Step, Thread
from cutecheck.rules.derive.carried import carried

FILL, SCALE, GEMM, USE, OTHER = 1, 2, 3, 4, 5  # lines


def _step(kind: str, line: int, buffer: str = "acc", adds: bool | None = None) -> Step:
    span = Span("kernel.py", line, 1, line, 40)
    one = Place("acc", span, "rmem", buffer, 0)
    operand = Place("tA", span, "smem", "sA", 0)
    places = (one, operand, operand, one) if kind == "gemm" else (one,)
    return Step(kind, span, "kernel", "wgmma" if kind == "gemm" else kind, None, places, adds=adds)


def _scaled() -> list[Step]:
    return [_step("use", SCALE), _step("fill", SCALE)]


def _tile(passes: int, scales: bool, first_adds: bool) -> list[Step]:
    steps: list[Step] = []
    for i in range(passes):
        steps += _scaled() if scales else []
        steps.append(_step("gemm", GEMM, adds=first_adds or i > 0))
    return steps


def _run(tiles: int, clears: str, scales: bool, uses: str) -> Thread:
    """A block's tiles. ``clears``: each of them, once before, by its first product, or once a pass; ``uses``: the sum
    is used behind each tile, in each pass of a tile, or behind all."""
    steps = [_step("made", 0)]
    steps += [_step("fill", FILL)] if clears == "once" else []
    for _ in range(tiles):
        steps += [_step("fill", FILL)] if clears == "tile" else []
        if uses == "pass":
            for i in range(3):
                steps += [*_tile(1, scales, clears != "product" or i > 0), _step("use", USE)]
        else:
            steps += _tile(3, scales, clears != "product")
        steps += [_step("use", USE)] if uses == "tile" else []
        steps.append(_step("use", OTHER, "other"))
    steps += [_step("use", USE)] if uses == "end" else []
    return Thread(0, tuple(steps), True)


@pytest.mark.parametrize(
    ("tiles", "clears", "scales", "uses"),
    list(product((1, 2, 3), ("tile", "once", "product", "never"), (False, True), ("tile", "pass", "end"))),
)
def test_sums_of_several_tiles(tiles: int, clears: str, scales: bool, uses: str) -> None:
    """A sum is carried on where a block has a next tile, the sum is used before its end, and nothing sets it there."""
    wrong = tiles > 1 and clears in ("once", "never") and uses != "end"
    fault = carried((_run(tiles, clears, scales, uses),), tiles)
    assert (fault is not None) is wrong
    if fault is not None:
        assert fault.kind == "carried" and fault.step.span.line == GEMM
        assert fault.other is not None and fault.other.span.line == USE


def test_what_is_not_known_says_nothing() -> None:
    run = _run(3, "once", True, "tile")
    assert carried((run,), 3) is not None
    assert carried((run,), 1) is None  # not a persistent kernel, as far as is known: a sum over parts
    assert carried((Thread(0, run.steps, False),), 3) is None
    loop = _step("unknown", OTHER)
    assert carried((Thread(0, (*run.steps[:9], loop, *run.steps[9:]), True),), 3) is None
