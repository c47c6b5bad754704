"""The access model against hardware counters and cycles of an H200, to the unit."""

from __future__ import annotations

import itertools
import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from cutecheck.model.access import (
    AccessKind,
    cg_segments,
    predicted_wavefronts,
    sectors,
    wavefronts,
)

DATA = Path(__file__).parents[1] / "data"


def read(name: str) -> Any:
    return json.loads((DATA / name).read_text())["rows"]


def instruction(op: str) -> tuple[AccessKind, int, int]:
    """(kind, bytes a lane, matrices) of a measured instruction's name."""
    kind, _, rest = op.partition(".")
    if kind in ("ldmatrix", "stmatrix"):
        return kind, 16, int(rest[1])  # type: ignore[return-value]
    if kind == "cp":
        return "cp.async.ca", int(op.rsplit(".", 1)[1]), 0
    parts = rest.split(".")
    vector = int(parts[1][1]) if len(parts) == 3 else 1
    return kind, vector * int(parts[-1][1:]) // 8, 0  # type: ignore[return-value]


def test_every_measured_pattern_to_the_unit() -> None:
    rows = read("h200_shared_wavefronts.json")
    assert len(rows) == 900
    for op, measured, unit, addresses in rows:
        kind, lane_bytes, matrices = instruction(op)
        lanes = [a * unit for a in addresses]
        assert predicted_wavefronts(kind, lanes, lane_bytes, matrices) == measured, (op, lanes)


def test_pair_exception_only_predicts() -> None:
    lanes = [lane // 2 * 16 for lane in range(32)]
    assert wavefronts("ld", lanes, 16).wavefronts == 4
    assert predicted_wavefronts("ld", lanes, 16) == 2
    assert predicted_wavefronts("st", lanes, 16) == 4


def test_ideal_access_has_no_excess() -> None:
    for lane_bytes in (4, 8, 16):
        cost = wavefronts("ld", [lane * lane_bytes for lane in range(32)], lane_bytes)
        assert cost.excess == 0
        assert cost.wavefronts == lane_bytes // 4


def test_inactive_lanes_and_misalignment() -> None:
    assert wavefronts("ld", [None] * 31 + [64], 4).wavefronts == 1
    assert wavefronts("ld", [None] * 32, 4).ideal == 0
    with pytest.raises(ValueError, match="multiple of 16"):
        wavefronts("ld", [8] * 32, 16)


def test_segments_sort_measured_cycles_into_disjoint_bands() -> None:
    bands: dict[int, list[int]] = {}
    for cycles, units in read("h200_cp_async_cg.json"):
        segments = cg_segments([u * 16 for u in units], [16 * lane for lane in range(32)])
        bands.setdefault(segments, []).append(cycles)
    assert sorted(bands) == [1, 2, 4, 5, 8, 16, 32]
    order = sorted(bands)
    for low, high in itertools.pairwise(order):
        assert max(bands[low]) < min(bands[high]), (low, high)


def test_segments_order_sources_that_share_or_split_lines() -> None:
    """4 to 32 source lines an instruction: the medians of all classes rise, and patterns stay with their class."""
    classes: dict[int, list[int]] = {}
    ungrouped: dict[int, list[int]] = {}
    for cycles, to, of in read("h200_cp_async_cg_sources.json"):
        shared, source = [u * 16 for u in to], [u * 16 for u in of]
        classes.setdefault(cg_segments(shared, source), []).append(cycles)
        pairs = {(g // 128, s // 128) for s, g in zip(shared, source, strict=True)}
        slices = [sum(line % 4 == i for _, line in pairs) for i in range(4)]
        ungrouped.setdefault(max(slices), []).append(cycles)
    medians = [statistics.median(classes[k]) for k in sorted(classes)]
    assert sorted(classes) == list(range(1, 17))
    assert medians == sorted(medians)
    assert _near_their_class(classes) > 0.97
    # What the four-line groups explain: without them the same patterns scatter.
    assert _near_their_class(ungrouped) < 0.9


def _near_their_class(classes: dict[int, list[int]]) -> float:
    near = [abs(c - statistics.median(v)) <= 0.15 * statistics.median(v) for v in classes.values() for c in v]
    return sum(near) / len(near)


def test_sixteen_lanes_a_row_of_64_columns_cost_two_segments() -> None:
    """FlashAttention-2's 64-column pages: 8 lanes a row write one line each, 16 lanes a row write two."""
    eight = [(lane // 8) * 128 + (lane % 8) * 16 for lane in range(32)]
    sixteen = [(lane // 16) * 128 + (lane % 16 // 8) * 128 * 64 + (lane % 8) * 16 for lane in range(32)]
    source = [16 * lane for lane in range(32)]
    assert cg_segments(eight, source) == 1
    assert cg_segments(sixteen, source) == 2


def test_sectors() -> None:
    assert sectors([16 * lane for lane in range(32)], 16) == (16, 16)
    assert sectors([256 * lane for lane in range(32)], 16) == (32, 16)
    assert sectors([0] * 32, 4) == (1, 1)
    assert sectors([None] * 32, 4) == (0, 0)
