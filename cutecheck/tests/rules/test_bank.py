"""Bank conflicts of copies: reads, writes, epilogues, swizzle parameters, and what stays silent."""

from dataclasses import replace

import pytest

from cutecheck.facts import Bound, Facts, Guard, Loop, Predicate, Unknown
from cutecheck.model.dtype import dtype
from cutecheck.model.prove import Verdict
from cutecheck.model.tiled import make_tiled_copy_A, make_tiled_copy_C
from cutecheck.rules.derive.bank import lone_thread
from cutecheck.tests.rules.build import (
    FLOAT,
    HALF,
    SPAN,
    atom,
    codes,
    copy_event,
    findings,
    hmma,
    outcomes,
    tensor,
    universal,
)

SWIZZLED = "Sw<3,3,3> o _0 o ((_8,_8),(_64,_1)):((_64,_512),(_1,_0))"
PLAIN = "(_64,_64):(_64,_1)"
STAGES, MAIN = Loop(SPAN, 2, 1), Loop(SPAN, None, 2)


def test_ldmatrix_on_plain_rows_is_refuted_with_numbers_and_a_witness() -> None:
    tiled = make_tiled_copy_A(atom("SM75_U32x4_LDSM_N", HALF), hmma())
    found = findings(Facts(events=(copy_event(tiled, HALF, ("smem", PLAIN), None),)))
    assert [f.code for f in found] == ["CUT101"]
    assert "ldmatrix of `sA` takes 32 wavefronts a warp instruction where 4 would do (28 in excess)" in found[0].message
    assert found[0].witness is not None and "bank" in found[0].witness.summary
    assert found[0].severity == "warning"


def test_ldmatrix_on_the_right_swizzle_is_proved_and_silent() -> None:
    tiled = make_tiled_copy_A(atom("SM75_U32x4_LDSM_N", HALF), hmma())
    facts = Facts(events=(copy_event(tiled, HALF, ("smem", SWIZZLED), None),))
    assert codes(facts) == []
    banks = [o for o in outcomes(facts) if o.obligation.property == "bank-conflict-free"]
    assert [o.verdict for o in banks] == [Verdict.PROVED]


def test_transposing_ldmatrix() -> None:
    tiled = make_tiled_copy_A(atom("SM75_U16x8_LDSM_T", HALF), hmma())
    plain = copy_event(tiled, HALF, ("smem", "(_128,_32):(_1,_128)"), None)
    assert codes(Facts(events=(plain,))) == ["CUT101"]
    good = "Sw<3,3,4> o _0 o ((_128,_1),(_8,_4)):((_1,_0),(_128,_1024))"
    assert codes(Facts(events=(copy_event(tiled, HALF, ("smem", good), None),))) == []


@pytest.mark.parametrize(("stride", "expected"), [(128, ["CUT102"]), (132, []), (129, ["CUT102"]), (130, ["CUT102"])])
def test_scalar_stores_along_the_slow_mode(stride: int, expected: list[str]) -> None:
    tiled = universal(32, FLOAT, "(_32,_8):(_8,_1)", "(_1,_1):(_1,_1)")
    event = copy_event(tiled, FLOAT, ("gmem", "(_128,_8):(_8,_1)"), ("smem", f"(_128,_8):(_1,_{stride})"))
    assert codes(Facts(events=(event,))) == expected


def test_the_model_names_wavefronts_not_ways() -> None:
    tiled = universal(32, FLOAT, "(_32,_8):(_8,_1)", "(_1,_1):(_1,_1)")
    event = copy_event(tiled, FLOAT, ("gmem", "(_128,_8):(_8,_1)"), ("smem", "(_128,_8):(_1,_128)"))
    text = findings(Facts(events=(event,)))[0].message
    assert "8 wavefronts" in text and "1 would do" in text and "way" not in text.replace("wavefronts", "")


def test_rows_of_halves_one_at_a_time_do_not_conflict() -> None:
    tiled = universal(16, HALF, "(_8,_32):(_32,_1)", "(_1,_1):(_1,_1)")
    assert codes(Facts(events=(copy_event(tiled, HALF, ("gmem", PLAIN), ("smem", PLAIN)),))) == []
    tiled = universal(16, HALF, "(_32,_8):(_1,_32)", "(_1,_1):(_1,_1)")
    assert codes(Facts(events=(copy_event(tiled, HALF, ("gmem", PLAIN), ("smem", PLAIN)),))) == ["CUT102", "CUT104"]


def test_accumulator_stores_are_the_epilogue_rule() -> None:
    tiled = make_tiled_copy_C(atom("UniversalCopy", HALF, dtype("uint32_t")), hmma())

    def retiled(tile: str, provenance: str = "retile") -> Facts:
        event = copy_event(tiled, HALF, None, ("smem", tile))
        registers = replace(event.operands[0], provenance=provenance)  # type: ignore[arg-type]
        return Facts(events=(replace(event, operands=(registers, event.operands[1])),))

    assert codes(retiled(PLAIN)) == ["CUT103"]
    assert codes(retiled(SWIZZLED)) == []
    assert codes(retiled(PLAIN, "fragment")) == ["CUT102"]  # staged in registers, no accumulators


def test_a_half_swizzle_on_floats_is_a_parameter_fault() -> None:
    tiled = universal(128, FLOAT, "(_32,_8):(_1,_32)", "(_1,_4):(_1,_1)")
    event = copy_event(tiled, FLOAT, ("smem", "Sw<3,3,3> o _0 o (_32,_32):(_32,_1)"), None)
    found = findings(Facts(events=(event,)))
    assert [f.code for f in found] == ["CUT501"]
    assert "8 wavefronts" in found[0].message and "keeps 32 bytes" in found[0].message
    assert "second parameter is 2" in found[0].help
    event = copy_event(tiled, FLOAT, ("smem", "Sw<3,2,3> o _0 o (_32,_32):(_32,_1)"), None)
    assert codes(Facts(events=(event,))) == []


def test_a_swizzle_that_splits_vectors_is_an_error() -> None:
    byte = dtype("int8_t")
    tiled = universal(128, byte, "(_16,_8):(_8,_1)", "(_1,_16):(_1,_1)")
    tile = "Sw<3,3,3> o _0 o (_16,_128):(_128,_1)"
    event = copy_event(tiled, byte, ("smem", tile), None)
    for path, said in (("kernel.cu", "CuTe stops with"), ("kernel.py", "no one access reaches all elements")):
        found = findings(Facts(events=(replace(event, span=replace(event.span, path=path)),)))
        assert [(f.code, f.severity) for f in found] == [("CUT501", "error")]
        assert "keeps only 8 bytes" in found[0].message and said in found[0].message


def test_a_cold_conflict_in_a_kernel_with_a_main_loop_is_a_note() -> None:
    tiled = universal(32, FLOAT, "(_32,_8):(_8,_1)", "(_1,_1):(_1,_1)")
    cold = copy_event(tiled, FLOAT, ("gmem", "(_128,_8):(_8,_1)"), ("smem", "(_128,_8):(_1,_130)"))
    hot = replace(cold, event_id="e2", loop_depth=1)
    assert [f.severity for f in findings(Facts(events=(cold,)))] == ["warning"]
    assert {f.severity for f in findings(Facts(events=(cold, hot)))} == {"note", "warning"}


@pytest.mark.parametrize(
    ("order", "loops", "expected"),
    [
        (0, (), "note"),  # once, before the loop
        (0, (STAGES,), "note"),  # its first stages
        (2, (MAIN,), "warning"),
        (5, (), "warning"),  # an epilogue of 32 wavefronts for 1
    ],
)
def test_what_is_paid_once_before_the_main_loop_is_a_note(order: int, loops: tuple[Loop, ...], expected: str) -> None:
    tiled = universal(32, FLOAT, "(_32,_4):(_1,_32)", "(_1,_1):(_1,_1)")
    right = universal(32, FLOAT, "(_4,_32):(_32,_1)", "(_1,_1):(_1,_1)")
    rows = "(_32,_32):(_32,_1)"
    fill = copy_event(right, FLOAT, ("gmem", rows), ("smem", rows), event_id="f", order=3, loops=(MAIN,), loop_depth=1)
    use = copy_event(right, FLOAT, ("smem", rows), None, event_id="u", order=4, loops=(MAIN,), loop_depth=1)
    dear = copy_event(tiled, FLOAT, ("smem", rows), None, order=order, loops=loops, loop_depth=len(loops))
    found = [f for f in findings(Facts(events=(fill, use, dear))) if f.code == "CUT101"]
    assert [f.severity for f in found] == [expected]
    assert "takes 32 wavefronts a warp instruction where 1 would do" in found[0].message
    plain = [f for f in findings(Facts(events=(fill, dear))) if f.code == "CUT101"]  # no loop that uses what it fills
    assert [f.severity for f in plain] == ["warning"]


def test_cp_async_cg_has_no_bank_obligation() -> None:
    from cutecheck.model.tiled import make_tiled_copy
    from cutecheck.tests.rules.build import layout

    async_atom = atom("SM80_CP_ASYNC_CACHEGLOBAL", HALF, dtype("uint128_t"))
    tiled = make_tiled_copy(async_atom, layout("(_16,_8):(_8,_1)"), layout("(_1,_8):(_1,_1)"))
    facts = Facts(events=(copy_event(tiled, HALF, ("gmem", PLAIN), ("smem", PLAIN)),))
    assert codes(facts) == []
    assert "bank-conflict-free" not in {o.obligation.property for o in outcomes(facts)}


@pytest.mark.parametrize(("stride", "advice"), [(0, "let one of them copy"), (32, "rows of 33 elements")])
def test_no_layout_is_advised_where_threads_copy_to_the_same_bytes(stride: int, advice: str) -> None:
    from cutecheck.model.tiled import make_tiled_copy
    from cutecheck.tests.rules.build import layout

    async_atom = atom("SM80_CP_ASYNC_CACHEALWAYS", FLOAT, FLOAT)
    tiled = make_tiled_copy(async_atom, layout("(_32,_1):(_1,_1)"), layout("(_1,_1):(_1,_1)"))
    event = copy_event(tiled, FLOAT, ("gmem", "(_32,_8):(_8,_1)"), ("smem", f"(_32,_8):(_{stride},_1)"))
    (found,) = (f for f in findings(Facts(events=(event,))) if f.code == "CUT102")
    assert "32 wavefronts" in found.message and advice in (found.help or "")


@pytest.mark.parametrize(("stride", "complete", "expected"), [(0, True, 1), (0, False, 0), (32, False, 1)])
def test_a_predicate_may_select_one_of_those_that_copy_to_the_same_bytes(
    stride: int, complete: bool, expected: int
) -> None:
    """``load && elem_less(...)`` with ``bool load = threadIdx.x < 1``: of ``load`` nothing is known."""
    from cutecheck.model.tiled import make_tiled_copy
    from cutecheck.tests.rules.build import layout

    async_atom = atom("SM80_CP_ASYNC_CACHEALWAYS", FLOAT, FLOAT)
    tiled = make_tiled_copy(async_atom, layout("(_32,_1):(_1,_1)"), layout("(_1,_1):(_1,_1)"))
    event = copy_event(tiled, FLOAT, ("gmem", "(_32,_8):(_8,_1)"), ("smem", f"(_32,_8):(_{stride},_1)"))
    flags = replace(tensor("flags", "rmem", layout("_1:_0"), FLOAT), buffer="flags")
    event = replace(event, predicated=True, predicate=flags)
    assigned = Predicate("flags", event.span, (Bound(0, 1, ()),), complete, event.enclosing, event.arch)
    found = [f for f in findings(Facts(events=(event,), predicates=(assigned,))) if f.code == "CUT102"]
    assert len(found) == expected


def test_unknown_operands_say_nothing() -> None:
    tiled = universal(32, FLOAT, "(_32,_8):(_8,_1)", "(_1,_1):(_1,_1)")
    event = copy_event(tiled, FLOAT, ("gmem", "(_128,_8):(_8,_1)"), ("smem", "(_128,_8):(_1,_128)"))
    blind = tensor("x", "smem", Unknown("opaque"), FLOAT)
    assert codes(Facts(events=(replace(event, operands=(blind, blind)),))) == []
    assert codes(Facts(events=(replace(event, operands=()),))) == []


def test_strides_that_depend_on_the_thread_are_those_of_the_thread() -> None:
    """A column read through Swizzle<5,0,5>: every element of a thread's part has strides of that thread's own."""
    tiled = universal(32, FLOAT, "(_32,_8):(_1,_32)", "(_1,_1):(_1,_1)")
    facts = Facts(events=(copy_event(tiled, FLOAT, ("smem", "Sw<5,0,5> o _0 o (_32,_32):(_32,_1)"), None),))
    assert codes(facts) == []
    banks = [o for o in outcomes(facts) if o.obligation.property == "bank-conflict-free"]
    assert [o.verdict for o in banks] == [Verdict.PROVED]
    big = universal(32, FLOAT, "(_32,_8):(_1,_32)", "(_1,_1):(_1,_1)")
    event = copy_event(big, FLOAT, ("smem", "Sw<5,0,5> o _0 o (_64,_32):(_32,_1)"), None)
    assert codes(Facts(events=(event,))) == []


@pytest.mark.parametrize(
    ("text", "negated", "alone"),
    [
        ("thread0()", False, True),
        ("threadIdx.x == 0", False, True),
        ("!threadIdx.x", False, True),
        ("!cute::elect_one_sync()", False, True),
        ("threadIdx.x < 1", False, True),
        ("tid <= 3", False, True),
        ("threadIdx.x != 0", True, True),  # if (threadIdx.x != 0) return;
        ("threadIdx.x != 0", False, False),
        ("threadIdx.x < 64", False, False),
        ("warp_idx != 0", False, False),
        ("get<0>(thread_coordinate) < m", False, False),
        ("thread_coordinate<0>(i) < m", False, False),
        ("get<1>(thread_coordinates(0)) + tile * size<1>(s) < n", False, False),
        ("n == 0", False, False),
    ],
)
def test_conditions_that_single_threads_pass(text: str, negated: bool, alone: bool) -> None:
    event = copy_event(universal(32, FLOAT, "(_32,_8):(_8,_1)", "(_1,_1):(_1,_1)"), FLOAT, ("gmem", PLAIN), None)
    assert lone_thread(replace(event, guards=(Guard(text, SPAN, negated),))) is alone
