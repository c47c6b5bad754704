"""Bank conflicts for all values of run-time strides, stages, tile sizes and template parameters."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Condition, Dyn, Rel, Sym
from cutecheck.model.layout import Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove import FiniteSet, Multiple, Outcome, ParamDomain, Verdict, make_obligation, prove
from cutecheck.model.prove.answer import Options
from cutecheck.model.prove.engines.loose import loosened
from cutecheck.model.prove.properties import BankAccess

THREAD = ex.var("threadIdx.x", ex.Domain(0, 127))


def ldmatrix_a(row: Expr) -> Expr:
    """LDSM.x4 of an fp16 A operand with a row stride, 4 warps along M."""
    lane = ex.op("mod", THREAD, ex.const(32))
    inside = ex.op("mod", lane, ex.const(16))
    half = ex.op("div", lane, ex.const(16))
    warp = ex.op("div", THREAD, ex.const(32))
    rows = ex.add(inside, ex.mul(warp, ex.const(16)))
    return ex.add(ex.mul(rows, row), ex.mul(half, ex.const(8)))


def ask(
    offset: Expr,
    swizzle: Swizzle | None = None,
    rest: Layout = Layout((), ()),  # noqa: B008 - frozen
    params: dict[str, ParamDomain] | None = None,
    hypotheses: tuple[Condition, ...] = (),
) -> Outcome:
    access = BankAccess("ldmatrix", 16, 128, offset, 128, swizzle, rest, 4)
    # the solver's own budget decides, not how busy the machine is
    return prove(make_obligation(access, params=params, hypotheses=hypotheses), Options(timeout_ms=60_000))


def test_odd_multiples_of_a_vector_are_free_rows() -> None:
    q = ex.var("q", ex.Domain(0))
    odd = ex.add(ex.mul(q, ex.const(16)), ex.const(8))
    outcome = ask(ldmatrix_a(odd))
    assert outcome.verdict is Verdict.PROVED, outcome
    assert any(r.startswith("R3") for r in outcome.reductions)


def test_even_multiples_are_not() -> None:
    q = ex.var("q", ex.Domain(1))
    outcome = ask(ldmatrix_a(ex.mul(q, ex.const(8))))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.witness is not None
    assert outcome.number("wavefronts") == 32


@pytest.mark.parametrize("q", range(1, 9))
def test_degree_is_a_gcd(q: int) -> None:
    """Closed form of the wavefronts of rows of 8q elements: 4 * gcd(q, 8)."""
    outcome = ask(ldmatrix_a(ex.const(8 * q)))
    assert outcome.number("wavefronts") == 4 * math.gcd(q, 8)


def test_any_stage_of_any_number_of_iterations() -> None:
    """fp16 Sw<3,3,3>: free for every stage, k block and row tile, however many."""
    stage, block = ex.var("stage", ex.Domain(0)), ex.var("k_block", ex.Domain(0, 3))
    offset = ex.add(ldmatrix_a(ex.const(64)), ex.add(ex.mul(stage, ex.const(128 * 64)), ex.mul(block, ex.const(16))))
    rows = Sym.named("MMA_M", ex.Domain(1))
    outcome = ask(offset, Swizzle(3, 3, 3), Layout((rows,), (64 * 64,)))
    assert outcome.verdict is Verdict.PROVED, outcome
    bad = ask(offset, Swizzle(2, 3, 3), Layout((rows,), (64 * 64,)))
    assert bad.verdict is Verdict.REFUTED


def test_what_all_lanes_share_may_have_no_form_in_bits() -> None:
    """Stages by `(a * b + 1) % 3` of open numbers, as loops settle `read = (read + 1) % 3`."""
    a, b = ex.var("a", ex.Domain(0)), ex.var("b", ex.Domain(0))
    stage = ex.op("mod", ex.add(ex.mul(a, b), ex.const(1)), ex.const(3))
    offset = ex.add(ldmatrix_a(ex.const(64)), ex.mul(stage, ex.const(128 * 64)))
    outcome = ask(offset, Swizzle(3, 3, 3))
    assert outcome.verdict is Verdict.PROVED, outcome
    assert any(r.startswith("R2: what all lanes share") for r in outcome.reductions)
    assert ask(offset, Swizzle(2, 3, 3)).verdict is Verdict.REFUTED


def test_a_part_that_is_any_multiple_is_loose_in_the_bits_of_its_divisor_alone() -> None:
    a, b = ex.var("a", ex.Domain(0)), ex.var("b", ex.Domain(0))
    stage = ex.op("mod", ex.mul(a, b), ex.const(3))
    lane = ex.op("div", ex.op("mod", THREAD, ex.const(32)), ex.const(16))
    offset = ex.add(ldmatrix_a(ex.const(64)), ex.add(ex.mul(ex.mul(stage, lane), ex.const(24)), ex.mul(stage, a)))
    access = BankAccess("ldmatrix", 16, 128, offset, 128, matrices=4)
    loose = loosened(access, {"a": a.variables()[0].domain, "b": ex.Domain(0), "threadIdx.x": ex.Domain(0, 127)})
    steps = sorted(v.domain.step for v in loose.variables() if v.name.startswith("any multiple"))
    assert steps == [1, 8]  # 24 as far as bits tell
    assert "b" not in {v.name for v in loose.variables()}
    assert loosened(replace(access, offset=ldmatrix_a(ex.const(64))), {}) == ldmatrix_a(ex.const(64))


def test_stage_by_remainder() -> None:
    tile = ex.var("k_tile", ex.Domain(0))
    stage = ex.op("mod", tile, ex.const(3))
    offset = ex.add(ldmatrix_a(ex.const(64)), ex.mul(stage, ex.const(128 * 64)))
    outcome = ask(offset, Swizzle(3, 3, 3))
    assert outcome.verdict is Verdict.PROVED, outcome


def test_exact_set_of_row_strides() -> None:
    """Sw<3,3,3> on rows of kRow elements: free exactly for 64, 192, 320, 448 modulo 512 (by enumeration)."""
    row = Sym.named("kRow")
    values = (64, 72, 128, 192, 256)
    outcome = ask(ldmatrix_a(row.expr), Swizzle(3, 3, 3), params={"kRow": FiniteSet(values)})
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.reason == "refuted for kRow = 72; kRow = 128; kRow = 256, proved for kRow = 64; kRow = 192"


def test_open_row_stride_with_a_swizzle() -> None:
    row = ex.var("row", ex.Domain(64))
    assert ask(ldmatrix_a(row), Swizzle(3, 3, 3), params={"row": Multiple(8, 64)}).verdict is Verdict.REFUTED
    given = (Condition(Rel.DIVIDES, ex.const(512), ex.sub(row, ex.const(64))),)
    outcome = ask(ldmatrix_a(row), Swizzle(3, 3, 3), hypotheses=given)
    assert outcome.verdict in (Verdict.PROVED, Verdict.UNKNOWN), outcome
    shifted = ex.add(ex.mul(ex.var("n", ex.Domain(0)), ex.const(128)), ex.const(64))
    assert ask(ldmatrix_a(shifted), Swizzle(3, 3, 3)).verdict is Verdict.PROVED


def test_unknown_base_is_over_approximated() -> None:
    """A quotient of two open values: only its divisor is known. Free for all multiples, or never called proved."""
    start = ex.mul(ex.op("div", ex.var("a", ex.Domain(0)), ex.var("b", ex.Domain(1))), ex.const(8))
    free = ask(ex.add(ldmatrix_a(ex.const(64)), start), Swizzle(3, 3, 3))
    assert free.verdict is Verdict.PROVED
    assert any(r.startswith("R2") for r in free.reductions)
    outcome = ask(ex.add(ldmatrix_a(ex.const(72)), start), Swizzle(3, 3, 3))
    assert outcome.verdict in (Verdict.REFUTED, Verdict.UNKNOWN)
    assert "not shown to be attained" in outcome.runs[0].detail


def test_opaque_offset_is_unknown() -> None:
    start = ex.op("opaque", ex.var("x"), label="lookup")
    outcome = ask(ex.add(ldmatrix_a(ex.const(64)), start))
    assert outcome.verdict is Verdict.UNKNOWN
    assert "lookup" in outcome.reason


def test_pointer_swizzle_states_its_base() -> None:
    """A byte swizzle acts on the address: its base must be a multiple of the period, an obligation of its own."""
    sw = Swizzle(3, 4, 3, SwizzleUnit.BYTE)
    for alignment in (16, 128, 1024):
        access = BankAccess(
            "ldmatrix", 16, 128, ldmatrix_a(ex.const(64)), 128, sw, base_alignment=alignment, matrices=4
        )
        outcome = prove(make_obligation(access))
        assert outcome.verdict is Verdict.PROVED
        assert "shared-memory base is a multiple of 1024 bytes" in outcome.assumptions


def test_other_architectures_carry_the_model_as_assumption() -> None:
    access = BankAccess("ldmatrix", 16, 128, ldmatrix_a(ex.const(72)), 128, matrices=4)
    assert "access-model: sm_90" in prove(make_obligation(access, arch="sm_80")).assumptions
    assert "access-model: sm_90" not in prove(make_obligation(access, arch="sm_90a")).assumptions


def test_symbolic_stride_of_the_rest() -> None:
    ld = Dyn.named("ld", ex.Domain(0))
    given = (Condition(Rel.DIVIDES, ex.const(64), ld.expr),)
    outcome = ask(ldmatrix_a(ex.const(64)), Swizzle(3, 3, 3), Layout((4,), (ld,)), hypotheses=given)
    assert outcome.verdict is Verdict.PROVED, outcome
