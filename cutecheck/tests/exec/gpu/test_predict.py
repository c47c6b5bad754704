"""Predictions of bare runs: brute force over the model, held against measured single instructions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutecheck.exec.gpu import copies
from cutecheck.exec.gpu.predict import FaultError, traffic
from cutecheck.exec.gpu.probe import CopyProbe, Tile
from cutecheck.exec.gpu.tier import coverage
from cutecheck.model.access import bypass_sectors, ca_wavefronts, sectors, wavefronts
from cutecheck.model.algebra import composition
from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledCopy, make_tiled_copy, make_tiled_copy_A, make_tiled_mma

DATA = Path(__file__).parents[2] / "data" / "h200_cp_async_counters.json"
PATTERNS = json.loads(DATA.read_text(encoding="utf-8"))["patterns"]
FRESH = json.loads(DATA.with_name("h200_cp_async_ca.json").read_text(encoding="utf-8"))["patterns"]


def the(name: str) -> DType:
    found = dtype(name)
    assert found is not None
    return found


HALF, WIDE = the("half_t"), the("uint128_t")


def reads() -> TiledCopy:
    mma = make_tiled_mma(mma_op("SM80_16x8x16_F32F16F16F32_TN"), Layout((2, 2, 1), (1, 2, 0)), (32, 32, 16))
    return make_tiled_copy_A(copy_op("SM75_U32x4_LDSM_N", (), HALF), mma)


def rows(width: int = 8, pitch: int = 64) -> tuple[TiledCopy, Layout]:
    atom = copy_op("UniversalCopy", (WIDE,), HALF)
    return make_tiled_copy(atom, Layout((16, 8), (8, 1)), Layout((1, width), (0, 1))), Layout((64, 64), (pitch, 1))


@pytest.mark.parametrize("width", (4, 8, 16))
def test_cp_async_ca_to_the_unit_with_conflicts_on_both_sides(width: int) -> None:
    both = 0
    rows = [p for p in PATTERNS if p["op"] == f"cp.async.ca.{width}"]
    for p in rows:
        waves = ca_wavefronts(p["shared"], p["source"], width)
        assert waves == p["wavefronts"] == lanes_met(p["shared"], p["source"], width)
        assert p["sectors"] == sectors(p["source"], width)[0]
        alone = [wavefronts("cp.async.ca", side, width).wavefronts for side in (p["shared"], p["source"])]
        both += waves > max(alone)
    assert len(rows) >= 60 and both >= 15


@pytest.mark.parametrize("width", (4, 8, 16))
def test_cp_async_ca_of_some_lanes_and_of_sources_that_lanes_share(width: int) -> None:
    rows = [p for p in FRESH if p["op"] == f"cp.async.ca.{width}"]
    for p in rows:
        waves = ca_wavefronts(p["shared"], p["source"], width)
        assert waves == p["wavefronts"] == lanes_met(p["shared"], p["source"], width)
    assert sum(None in p["shared"] for p in rows) >= 12
    assert sum(len(set(p["source"])) < 32 for p in rows) >= 12


def lanes_met(shared: list[int | None], source: list[int], width: int) -> int:
    """The model again, by comparing every two lanes of a phase word by word."""
    size, total = {4: 32, 8: 16, 16: 8}[width], 0
    for first in range(0, 32, size):
        lanes = [(d, s) for d, s in zip(shared, source, strict=True)][first : first + size]
        active = [(d, s) for d, s in lanes if d is not None]

        def meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
            steps = range(0, width, 4)
            return any((one[i] + k) // 4 % 32 == (other[i] + j) // 4 % 32 for i in (0, 1) for k in steps for j in steps)

        total += max((sum(meet(one, other) for other in active) for one in active), default=0)
    return total


def test_cp_async_cg_requests_a_sector_for_each_destination_sector() -> None:
    for p in (p for p in PATTERNS if p["op"] == "cp.async.cg.16" and len(set(p["shared"])) == 32):
        assert bypass_sectors(p["shared"], p["source"]) == p["sectors"]


def test_ldmatrix_on_plain_and_swizzled_rows() -> None:
    plain = Layout((64, 64), (64, 1))
    swizzled = composition(Swizzle(3, 3, 3), plain)
    assert isinstance(swizzled, ComposedLayout)
    fragment = Layout(((8, 1), 2, 4), ((1, 0), 8, 16))
    expected = {"inst_ldmatrix": 32, "ideal_ldmatrix": 128}
    before = traffic(CopyProbe(reads(), HALF, Tile("smem", plain), None, fragment)).counts
    after = traffic(CopyProbe(reads(), HALF, Tile("smem", swizzled), None, fragment)).counts
    assert before == {**expected, "wavefronts_ldmatrix": 1024}
    assert after == {**expected, "wavefronts_ldmatrix": 128}


def test_a_misaligned_vector_faults() -> None:
    copier, tile = rows(pitch=66)
    with pytest.raises(FaultError, match="no multiple of 16"):
        traffic(CopyProbe(copier, HALF, Tile("smem", tile), None, Layout(((8, 1), 4, 1), ((1, 0), 8, 0))))


def test_codes_of_several_launches_and_what_differs() -> None:
    from cutecheck.exec.gpu.run import Launched

    copier, tile = rows()
    probe = CopyProbe(copier, HALF, Tile("gmem", tile), Tile("smem", tile))
    s = copies.sides(probe)
    assert (s.src_room, s.dst_room, copies.parts(probe, s)) == (4096, 4096, 1)
    right = copies.codes(4096, 2, 0)
    assert right[:6] == b"\0\0\1\0\2\0"
    ones = b"\1\0\0\0" * 4096 + b"\0\0\0\0"
    assert copies.compare(probe, s, [Launched("", (right, ones, ones, b""))]) == []
    missed = right[:200] + bytes([copies.POISON]) * 2 + right[202:]
    doubled = b"\2" + ones[1:]
    found = copies.compare(probe, s, [Launched("", (missed, ones, doubled, b""))])
    assert [(w.kind, w.where) for w in found] == [("missed", 100), ("count", 0)]


def test_coverage_in_words() -> None:
    copier, whole = rows()
    assert coverage(CopyProbe(copier, HALF, Tile("gmem", whole), None, Layout(8, 1))) == ""
    short = Tile("gmem", Layout((24, 64), (64, 1)))
    assert coverage(CopyProbe(copier, HALF, short, None, Layout(8, 1))) == "source: 512 outside the tile"
