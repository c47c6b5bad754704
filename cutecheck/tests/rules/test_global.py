"""Width and coalescing of copies that touch global memory."""

from dataclasses import replace

import pytest

from cutecheck.facts import Event, Facts
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.tests.rules.build import FLOAT, HALF, codes, copy_event, findings, layout, tensor, thread, universal


def plain(memory: str, registers: str, offset: object = 0, **more: object) -> Facts:
    """A plain ``copy`` from global memory, as every thread does it."""
    known = {"alignment_bytes": 16, **more}
    operands = (
        tensor("g", "gmem", layout(memory), HALF, offset, **known),
        tensor("r", "rmem", layout(registers), HALF),
    )
    event = copy_event(universal(16, HALF, "_32:_1", "_1:_0"), HALF, ("gmem", "(_32,_1):(_1,_0)"), None)
    return Facts(events=(replace(event, tiled=None, operands=operands),))


def lane(stride: int) -> Dyn:
    return thread(32) * stride


@pytest.mark.parametrize(
    ("memory", "registers", "expected"),
    [
        ("_8:_1", "_8:_1", []),  # static and in one order: 128 bits
        ("(_4,_8):(_8,_1)", "(_4,_8):(_1,_4)", ["CUT403"]),  # the other order: one half at a time
        ("(_4,_8):(_8,_1)", "(_4,_8):(_8,_1)", []),
        ("(_8,4):(_1,_8)", "(_8,_4):(_1,_8)", ["CUT403"]),  # an extent of run time
        ("(_8,_4):(_1,ld)", "(_8,_4):(_1,_8)", []),  # nothing says that ld keeps the vectors aligned
        ("(_8,_4):(_1,_9)", "(_8,_4):(_1,_8)", []),  # rows of 9 halves are not aligned to anything
        ("(_8,_4):(1,_8)", "(_8,_4):(_1,_8)", []),  # no static stride of 1
    ],
)
def test_width_of_a_plain_copy(memory: str, registers: str, expected: list[str]) -> None:
    facts = plain(memory, registers, lane(32))
    assert [c for c in codes(facts) if c != "CUT104"] == expected


def test_the_width_is_only_what_the_base_allows() -> None:
    found = {f.code: f for f in findings(plain("(_8,4):(_1,_8)", "(_8,_4):(_1,_8)", lane(32), alignment_bytes=4))}
    assert "moves 16 bits at a time where 32 are adjacent and aligned" in found["CUT403"].message


def test_a_predicated_copy_is_left_alone() -> None:
    facts = plain("(_4,_8):(_8,_1)", "(_4,_8):(_1,_4)", lane(32))
    assert "CUT403" not in codes(Facts(events=(replace(facts.events[0], predicated=True),)))


def rows(thr: str, tile: str, bits: int = 32, **more: object) -> Event:
    return copy_event(universal(bits, FLOAT, thr, "(_1,_1):(_0,_0)"), FLOAT, ("gmem", tile), None, **more)


@pytest.mark.parametrize(
    ("thr", "tile", "expected"),
    [
        ("(_4,_32):(_32,_1)", "(_32,_32):(ld,_1)", []),
        ("(_16,_8):(_8,_1)", "(_32,_32):(ld,_1)", []),  # eight floats are a sector
        ("(_32,_4):(_4,_1)", "(_32,_32):(ld,_1)", []),  # half a sector: twice the least is allowed
        ("(_32,_4):(_1,_32)", "(_32,_32):(ld,_1)", ["CUT104"]),
        ("(_32,_4):(_1,_32)", "(_32,_8):(ld,_1)", ["CUT104"]),  # rows of a sector, one after the other
        ("(_32,_2):(_1,_32)", "(_32,_2):(ld,_1)", []),  # rows of 8 bytes: four of them are a sector
        ("(_32,_4):(_1,_32)", "(_32,_32):(ld,1)", []),  # which mode is contiguous is not in the source
        ("(_32,_4):(_1,_32)", "(_32,_32):(_1,ld)", []),
        ("(_32,_4):(_1,_32)", "(_32,_32):(_32,_1)", ["CUT104"]),
        ("(_32,_4):(_1,_32)", "(_32,_32):(_1,_32)", []),
    ],
)
def test_sectors(thr: str, tile: str, expected: list[str]) -> None:
    assert codes(Facts(events=(rows(thr, tile),))) == expected


def test_the_number_of_sectors_and_their_cost() -> None:
    found = findings(Facts(events=(rows("(_32,_4):(_1,_32)", "(_32,_32):(ld,_1)", loop_depth=1),)))[0]
    assert "touches 32 sectors a warp instruction where its bytes fill 4" in found.message
    assert "inside a loop; up to 28672 bytes" in found.help  # 28 sectors of 32 bytes, 8 instructions, 4 warps
    assert found.severity == "warning"


def test_outside_the_main_loop_it_is_a_note_unless_dear() -> None:
    cold, hot = rows("(_32,_4):(_1,_32)", "(_32,_32):(ld,_1)"), rows("(_4,_32):(_32,_1)", "(_32,_32):(ld,_1)")
    facts = Facts(events=(cold, replace(hot, event_id="e2", loop_depth=1)))
    assert [f.severity for f in findings(facts)] == ["warning"]  # eight times
    half = replace(facts, events=(rows("(_16,_2):(_2,_1)", "(_32,_32):(ld,_1)"), *facts.events[1:]))
    assert [f.severity for f in findings(half)] == ["note"]


def test_an_open_offset_is_no_stride() -> None:
    event = rows("(_4,_32):(_32,_1)", "(_32,_32):(_32,_1)")
    moved = replace(event.operands[0], offset=event.operands[0].offset + Dyn.named("start", Domain(0, None)))  # type: ignore[operator]
    assert codes(Facts(events=(replace(event, operands=(moved, event.operands[1])),))) == []
