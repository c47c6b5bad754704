"""Bank conflicts: verdicts of known kernels' accesses, and witnesses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.layout import Layout, Swizzle
from cutecheck.model.prove import Options, Verdict, make_obligation, prove
from cutecheck.model.prove.engines import bitvec, gf2
from cutecheck.model.prove.properties import BankAccess
from cutecheck.model.prove.synthesis import xor_layout

THREAD = ex.var("threadIdx.x", ex.Domain(0, 127))


def div(a: Expr, n: int) -> Expr:
    return ex.op("div", a, ex.const(n))


def mod(a: Expr, n: int) -> Expr:
    return ex.op("mod", a, ex.const(n))


def times(a: Expr, n: int) -> Expr:
    return ex.mul(a, ex.const(n))


def ldmatrix_a(row: int) -> Expr:
    """Row addresses of LDSM.x4 for an fp16 A operand, 4 warps along M."""
    lane = mod(THREAD, 32)
    inside = ex.add(times(mod(lane, 16), row), times(div(lane, 16), 8))
    return ex.add(inside, times(div(THREAD, 32), 16 * row))


@pytest.mark.parametrize(
    ("swizzle", "row", "wavefronts"),
    [
        (None, 64, 32),
        (None, 72, 4),
        (Swizzle(3, 3, 3), 64, 4),
        (Swizzle(2, 3, 3), 64, 8),
    ],
)
def test_ldmatrix(swizzle: Swizzle | None, row: int, wavefronts: int) -> None:
    access = BankAccess("ldmatrix", 16, 128, ldmatrix_a(row), 128, swizzle, Layout((2, 4), (64 * row, 16)), 4)
    outcome = prove(make_obligation(access))
    assert outcome.verdict is (Verdict.PROVED if wavefronts == 4 else Verdict.REFUTED)
    assert outcome.number("wavefronts") == wavefronts
    assert outcome.number("ideal") == 4
    assert (outcome.witness is not None) == (wavefronts > 4)


def test_split_vector_is_unknown() -> None:
    access = BankAccess("ldmatrix", 16, 128, ldmatrix_a(64), 128, Swizzle(3, 2, 3), matrices=4)
    outcome = prove(make_obligation(access))
    assert outcome.verdict is Verdict.UNKNOWN
    assert "splits vectors" in outcome.reason


def test_obligations_are_one_object() -> None:
    access = BankAccess("ld", 16, 128, ldmatrix_a(64), 128)
    assert make_obligation(access) is make_obligation(access)
    assert make_obligation(access).id != make_obligation(access, ["other"]).id


def test_gf2_decides_offsets_that_are_swizzled_already() -> None:
    plain = ldmatrix_a(64)
    moved = ex.op("div", ex.op("and", plain, ex.const(448)), ex.const(8))
    access = BankAccess("ldmatrix", 16, 128, ex.op("xor", plain, moved), 128, None, Layout((2,), (4096,)), 4)
    assert gf2.run(make_obligation(access), Options()).answer == "holds"
    assert prove(make_obligation(access)).verdict is Verdict.PROVED


def test_gf2_counts_no_vectors_by_the_million() -> None:
    many = BankAccess("ld", 16, 128, times(THREAD, 8), 128, None, Layout((8, 1 << 62), (1024, 8192)))
    assert gf2.run(make_obligation(many), Options()).detail == "over 65536 vectors a thread"


def test_gf2_leaves_shifts_inside_a_word_to_others() -> None:
    halves = BankAccess("ld", 16, 16, THREAD, 128, None, Layout((2,), (1,)))
    assert gf2.run(make_obligation(halves), Options()).detail == "lane bits carry"
    assert gf2.run(make_obligation(replace(halves, rest=Layout((2,), (2,)))), Options()).answer == "holds"


def test_bit_vectors_mask_values_of_either_sign() -> None:
    """32*t - 64 is negative for some threads; under a mask only its low bits count."""
    shifted = ex.add(times(THREAD, 32), ex.const(-64))
    access = BankAccess("ld", 32, 32, ex.op("and", shifted, ex.const(1023)), 128)
    runs = {name: prove(make_obligation(access), Options(engine=name)) for name in ("z3-bv", "brute-force")}
    assert {o.runs[0].answer for o in runs.values()} == {"fails"}
    assert {o.verdict for o in runs.values()} == {Verdict.REFUTED}


# of a number of the host's that nobody bounds, under a division: it has no form in bits
OPEN = ex.var("k", ex.Domain(None, None))
ABOUT_K = Condition(Rel.LE, ex.const(1), ex.op("div", ex.sub(OPEN, ex.var("m", ex.Domain(None, None))), ex.const(64)))


@pytest.mark.parametrize(("row", "answer"), [(72, "holds"), (64, "unknown")])
def test_a_hypothesis_without_a_form_in_bits_is_left_out(row: int, answer: str) -> None:
    access = BankAccess("ldmatrix", 16, 128, ldmatrix_a(row), 128, None, Layout((2, 4), (64 * row, 16)), 4)
    plain, with_k = (make_obligation(access, hypotheses=h) for h in ((), (ABOUT_K,)))
    assert bitvec.run(plain, Options()).answer == ("holds" if answer == "holds" else "fails")
    told = bitvec.run(with_k, Options())
    assert told.answer == answer  # what fails without it may hold with it
    assert ("range of" in told.detail) == (answer == "unknown")


def test_more_threads_than_a_cluster_has_are_not_listed() -> None:
    """What is asked for a block of 2**31 by mistake ends at once, in the engine and in the search for a layout."""
    access = BankAccess("ld.shared", 4, 32, times(ex.var("threadIdx.x", ex.Domain(0, 2**38 - 1)), 32), 2**38)
    assert "over 65536" in gf2.run(make_obligation(access), Options()).detail
    with pytest.raises(xor_layout.NotConcreteError, match="too many addresses"):
        xor_layout.find_xor_layout([access])
