"""Sizes of operands and threads of blocks."""

from dataclasses import replace

from cutecheck.facts import Facts, Launch
from cutecheck.model.dtype import dtype
from cutecheck.model.tiled import make_tiled_copy_A
from cutecheck.tests.rules.build import (
    FLOAT,
    HALF,
    SPAN,
    atom,
    codes,
    copy_event,
    findings,
    hmma,
    layout,
    tensor,
    universal,
)

TILED = universal(128, FLOAT, "(_8,_16):(_16,_1)", "(_1,_4):(_1,_1)")
TILE = "(_8,_64):(_64,_1)"


def plain_copy(src: str, dst: str, tiled: object | None, callee: str = "copy") -> Facts:
    event = copy_event(TILED, FLOAT, ("gmem", TILE), ("smem", TILE))
    operands = (
        tensor("g", "gmem", layout(src), FLOAT, 0, alignment_bytes=16),
        tensor("s", "smem", layout(dst), FLOAT, 0, alignment_bytes=16),
    )
    return Facts(events=(replace(event, tiled=tiled, operands=operands, callee=callee, threads=1),))


def test_sizes_mode_by_mode() -> None:
    vector = atom("UniversalCopy", FLOAT, dtype("uint128_t"))
    facts = plain_copy("(_4,_3):(_1,_4)", "(_2,_3):(_1,_2)", vector, "copy_if")
    found = findings(facts)
    assert "CUT601" in {f.code for f in found}
    assert any("mode 0: 16 against 8" in f.message for f in found)
    assert codes(plain_copy("(_4,_3):(_1,_4)", "(_4,_3):(_1,_4)", vector)) == []
    ranks = [f for f in findings(plain_copy("(_4,_3):(_1,_4)", "(_4):(_1)", vector)) if f.code == "CUT601"]
    assert ranks and "2 modes against 1" in ranks[0].message


def test_plain_copies_compare_all_elements() -> None:
    assert codes(plain_copy("(_4,_6):(_1,_4)", "((_2,_2),_6):((_1,_2),_4)", None)) == []
    assert "CUT601" in codes(plain_copy("(_4,_6):(_1,_4)", "(_4,_4):(_1,_4)", None))


def test_matrix_instructions_count_values_of_each_side() -> None:
    tiled = make_tiled_copy_A(atom("SM75_U32x4_LDSM_N", HALF), hmma())
    event = copy_event(tiled, HALF, ("smem", "Sw<3,3,3> o _0 o (_64,_64):(_64,_1)"), None)
    assert "CUT601" not in codes(Facts(events=(event,)))


def test_blocks() -> None:
    event = copy_event(TILED, FLOAT, ("gmem", TILE), ("smem", TILE))

    def launch(threads: int, origin: str = "launch", kernel: str = "kernel") -> Launch:
        return Launch(kernel, SPAN, "sm_90", threads, origin=origin)  # type: ignore[arg-type]

    found = findings(Facts(events=(event,), launches=(launch(64),)))
    assert [f.code for f in found] == ["CUT701"]
    assert "TiledCopy of 128 threads in a block launched with 64" in found[0].message
    assert codes(Facts(events=(event,), launches=(launch(128),))) == []
    assert codes(Facts(events=(event,), launches=(launch(64, kernel="other"),))) == []
    assert codes(Facts(events=(event,), launches=(launch(64, "launch_bounds"), launch(128)))) == []
    assert codes(Facts(events=(event,), launches=(launch(64, "launch_bounds"),))) == ["CUT701"]
