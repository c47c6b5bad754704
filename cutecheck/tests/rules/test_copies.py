"""Sizes of operands and threads of blocks."""

from dataclasses import replace

from cutecheck.facts import Facts, Guard, Launch
from cutecheck.model.dtype import dtype
from cutecheck.model.tiled import make_tiled_copy_A, make_tiled_copy_C
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
    event = replace(copy_event(TILED, FLOAT, ("gmem", TILE), ("smem", TILE)), threads=64)
    launch = Launch("kernel", SPAN, "sm_90", 64)
    found = findings(Facts(events=(event,), launches=(launch, replace(launch, kernel="other"))))
    assert [f.code for f in found] == ["CUT701"]
    assert "TiledCopy of 128 threads in a block of 64" in found[0].message and len(found[0].related) == 1
    assert codes(Facts(events=(replace(event, threads=128),))) == []
    assert codes(Facts(events=(replace(event, threads=256),))) == []  # its threads' offsets are those of 128
    assert codes(Facts(events=(replace(event, threads=None),))) == []


def test_fragments_of_an_mma_need_a_retile() -> None:
    mma = hmma()
    gmem = ("gmem", "(_128,_64):(_64,_1)")
    own = universal(32, FLOAT, "(_16,_8):(_1,_16)", "(_1,_1):(_1,_1)")
    event = copy_event(own, FLOAT, None, gmem)
    accumulators = tensor(
        "acc", "rmem", mma.partition_fragment_C((128, 64)), FLOAT, 0, provenance="fragment", source=mma
    )
    bad = replace(event, operands=(accumulators, event.operands[1]))
    assert "CUT602" in codes(Facts(events=(bad,)))
    matching = make_tiled_copy_C(atom("UniversalCopy", FLOAT, FLOAT), mma)
    event = copy_event(matching, FLOAT, None, gmem)
    good = replace(event, operands=(accumulators, event.operands[1]))
    assert "CUT602" not in codes(Facts(events=(good,)))
    retiled = replace(accumulators, provenance="retile", layout=matching.retile(accumulators.layout), source=matching)
    assert codes(Facts(events=(replace(event, operands=(retiled, event.operands[1])),))) == []


def test_partitions_that_round_up() -> None:
    small = ("smem", "(_8,_32):(_32,_1)")
    event = copy_event(TILED, FLOAT, ("gmem", TILE), small)
    found = [f for f in findings(Facts(events=(event,))) if f.code == "CUT207"]
    assert len(found) == 1 and "32 elements along mode 1, the copy's tile has 64" in found[0].message
    assert "CUT207" not in codes(Facts(events=(replace(event, predicated=True),)))
    assert "CUT207" not in codes(Facts(events=(replace(event, guards=(Guard("tid < 8", SPAN),)),)))
    fits = copy_event(TILED, FLOAT, ("gmem", "(_16,_128):(_128,_1)"), ("smem", "(_16,_128):(_128,_1)"))
    assert "CUT207" not in codes(Facts(events=(fits,)))
