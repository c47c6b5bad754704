"""One good and one bad case of every property; every bad case is a seeded fault of the good one."""

from __future__ import annotations

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.ints import Condition, Dyn, Rel, Sym
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.prove import (
    FiniteSet,
    Multiple,
    Options,
    Outcome,
    ParamDomain,
    Range,
    Verdict,
    make_obligation,
    prove,
)
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.properties import Payload


def ask(
    payload: Payload, params: dict[str, ParamDomain] | None = None, hypotheses: tuple[Condition, ...] = ()
) -> Outcome:
    return prove(make_obligation(payload, params=params, hypotheses=hypotheses))


M, N = Sym.named("M", ex.Domain(1)), Sym.named("N", ex.Domain(1))
LDA = Dyn.named("lda", ex.Domain(0))

# 16x8 threads of 1x8 values on a 16x64 tile: thread (r, c) starts at row r, column 8c.
TV = Layout(((8, 16), 8), ((16 * 8, 1), 16))
SW = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))

# bits of a number less some of them: at least 0, which no ranges of the two say
BITS = ex.op(
    "xor", ex.var("threadIdx.x", ex.Domain(0, 31)), ex.op("div", ex.var("threadIdx.x", ex.Domain(0, 31)), ex.const(4))
)
NEVER_BELOW = ex.sub(BITS, ex.op("and", BITS, ex.const(4)))

BYTES128 = Swizzle(3, 4, 3, SwizzleUnit.BYTE)
FLAG = SmemPtrFlag(16)


def gmma(layout: Layout, major: p.Major, swizzle: Swizzle | None = BYTES128) -> p.GmmaCanonical:
    whole = layout if swizzle is None else ComposedLayout(swizzle, FLAG, layout)
    return p.GmmaCanonical(whole, 16, major)


STATIC = [
    (gmma(Layout((64, 16), (64, 1)), "K"), gmma(Layout((64, 16), (72, 1)), "K")),
    (gmma(Layout((64, 16), (64, 1)), "K"), gmma(Layout((64, 16), (64, 1)), "MN")),
    (gmma(Layout(((8, 8), 16), ((64, 512), 1)), "K"), gmma(Layout((64, 16), (64, 1)), "K", Swizzle(3, 3, 3))),
    (gmma(Layout((64, 16), (1, 64)), "MN"), gmma(Layout((64, 16), (1, 128)), "MN")),
    (gmma(Layout(((64, 2), 16), ((1, 1024), 64)), "MN"), gmma(Layout(((64, 2, 2), 16), ((1, 1024, 4096), 64)), "MN")),
    (
        gmma(Layout(((8, 8), (8, 2)), ((8, 128), (1, 64))), "K", None),
        gmma(Layout(((8, 8), (8, 2)), ((16, 128), (1, 64))), "K", None),
    ),
    (
        gmma(Layout((64, 16), (32, 1)), "K", Swizzle(2, 4, 3, SwizzleUnit.BYTE)),
        gmma(Layout((64, 16), (32, 1)), "K", Swizzle(1, 4, 3, SwizzleUnit.BYTE)),
    ),
    # a sparse MMA's B has K of 64 bytes, its MN-major A of 16
    (gmma(Layout((128, 32), (64, 1)), "K"), gmma(Layout((128, 64), (64, 1)), "K")),
    (
        gmma(Layout((128, 32), (32, 1)), "K", Swizzle(2, 4, 3, SwizzleUnit.BYTE)),
        gmma(Layout((128, 32), (40, 1)), "K", Swizzle(2, 4, 3, SwizzleUnit.BYTE)),
    ),
    (
        gmma(Layout((64, (16, 2)), (16, (1, 1024))), "K", Swizzle(1, 4, 3, SwizzleUnit.BYTE)),
        gmma(Layout((64, (8, 4)), (16, (1, 1024))), "K", Swizzle(1, 4, 3, SwizzleUnit.BYTE)),
    ),
    (
        gmma(Layout(((8, 8), (8, 4)), ((8, 256), (1, 64))), "K", None),
        gmma(Layout(((8, 8), (8, (2, 2))), ((8, 256), (1, (64, 2048)))), "K", None),
    ),
    (gmma(Layout((64, 8), (1, 64)), "MN"), gmma(Layout((64, 4), (1, 64)), "MN")),
    (gmma(Layout((64, (8, 4)), (1, (64, 512))), "MN"), gmma(Layout((64, (8, 8)), (1, (64, 512))), "MN")),
    (p.TmaLimits((64, 128), 16, (8192,), swizzle_bytes=128), p.TmaLimits((128, 128), 16, (8192,), swizzle_bytes=128)),
    (p.TmaLimits((64, 256), 16), p.TmaLimits((64, 257), 16)),
    (p.TmaLimits((64, 64), 16, (4096,)), p.TmaLimits((64, 64), 16, (4104,))),
    (p.TmaLimits((64, 64), 16, (4096,)), p.TmaLimits((64, 64), 16, (1 << 40,))),
    (p.TmaLimits((64, 64), 16), p.TmaLimits((4, 64), 16)),
    (p.TmaLimits((64, 64), 16, multicast=2, cluster=4), p.TmaLimits((64, 64), 16, multicast=4, cluster=2)),
    (p.Coverage(TV, (16, 64)), p.Coverage(TV, (16, 128))),
    (p.Coverage(TV, (16, 64)), p.Coverage(Layout(((8, 16), 8), ((16 * 4, 1), 16)), (16, 64))),
    (p.Coverage(TV, (16, 64)), p.Coverage(TV, (8, 64))),
    (p.Coverage(Layout(((4, 2), 4), ((0, 1), 2)), 8, replicated=True), p.Coverage(Layout(((4, 2), 4), ((0, 1), 2)), 8)),
    (p.Bijective(Layout((2, 8, 2), (1, 4, 2)), 32), p.Bijective(Layout((2, 8, 2), (1, 4, 2)), 64)),
    (p.Bijective(Layout((2, 8, 2), (1, 4, 2)), 32), p.Bijective(Layout((2, 8, 2), (1, 2, 2)), 32)),
    (p.Bijective(Layout((2, 8), (8, 1)), 16), p.Bijective(Layout((2, 8), (16, 1)), 16)),
    (p.Injective(Layout((8, 8), (1, 9))), p.Injective(Layout((8, 8), (1, 7)))),
    (p.Injective(SW), p.Injective(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (32, 1))))),
    (p.CosizeFits(SW, 512), p.CosizeFits(SW, 511)),
    (p.CosizeFits(Layout((8, 64), (72, 1)), 8 * 72 - 8), p.CosizeFits(Layout((8, 64), (72, 1)), 8 * 64)),
    # a block of 64 elements away from the period the swizzle stays inside, 8 more and row 1 goes below the start
    (p.CosizeFits(SW, 512, base=ex.const(64)), p.CosizeFits(SW, 512, base=ex.const(72))),
    (p.CosizeFits(SW, 512, base=ex.var("start", ex.Domain(0, 448, 64))), p.CosizeFits(SW, 504, base=ex.const(64))),
    (p.CosizeFits(Layout(8, 1), 35, NEVER_BELOW), p.CosizeFits(Layout(8, 1), 34, NEVER_BELOW)),
    (
        p.CosizeFits(Layout(8, 1), 64, ex.const(56)),
        p.CosizeFits(Layout(8, 1), 64, ex.const(57)),
    ),
    (p.LayoutEqual(Layout((4, 2), (1, 4)), Layout(8, 1)), p.LayoutEqual(Layout((4, 2), (1, 8)), Layout(8, 1))),
    (p.LayoutEqual(SW, SW), p.LayoutEqual(SW, SW.b)),
    (p.LayoutEqual(SW, SW), p.LayoutEqual(SW, ComposedLayout(Swizzle(2, 3, 3), 0, SW.b))),
    (p.Contiguous(Layout((8, 4), (1, 64)), 8), p.Contiguous(Layout((8, 4), (1, 64)), 16)),
    (p.Contiguous(Layout((2, 4), (1, 2)), 8), p.Contiguous(Layout((2, 4), (1, Dyn.of(2))), 8)),
    (p.AtomCounts((p.Count("threads", 32, 32),)), p.AtomCounts((p.Count("threads", 64, 32),))),
    (p.Divides((p.Division("M", 128, 64),)), p.Divides((p.Division("M", 96, 64),))),
    (
        p.Alignment(16, 16, ex.const(64), 16, Layout((4,), (72,))),
        p.Alignment(16, 16, ex.const(64), 16, Layout((4,), (68,))),
    ),
    (
        p.GmemSectors(16, 128, ex.mul(ex.var("threadIdx.x"), ex.const(8)), 128),
        p.GmemSectors(16, 16, ex.mul(ex.var("threadIdx.x"), ex.const(64)), 128),
    ),
    (p.Alignment(16, 16, ex.const(0), 16), p.Alignment(16, 16, ex.const(0), 8)),
    (
        p.Alignment(16, 16, ex.const(0), 16, Layout((8, 8), (8, 64)), Swizzle(3, 3, 3)),
        p.Alignment(16, 16, ex.const(0), 16, Layout((8, 8), (8, 64)), Swizzle(3, 2, 3)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("good", "bad"), STATIC)
def test_static(good: Payload, bad: Payload) -> None:
    assert ask(good).verdict is Verdict.PROVED
    outcome = ask(bad)
    assert outcome.verdict is Verdict.REFUTED, (outcome.reason, outcome.runs)
    assert outcome.witness is not None


def test_words_of_the_witness() -> None:
    missed = ask(p.Coverage(TV, (16, 128)))
    assert missed.witness is not None
    assert missed.witness.summary == "element (0,64) of the tile belongs to no thread"
    assert missed.number("missed") == 1024
    divides = ask(p.Divides((p.Division("kBlockM", 96, 64),)))
    assert divides.witness is not None
    assert divides.witness.summary == "kBlockM: 96 by 64 leaves 32"


def test_pointer_swizzle_offsets_are_unknown() -> None:
    layout = ComposedLayout(Swizzle(3, 4, 3), SmemPtrFlag(16), Layout((8, 64), (64, 1)))
    assert ask(p.CosizeFits(layout, 512)).verdict is Verdict.UNKNOWN


class TestParametric:
    def test_coverage_of_any_tile_of_whole_tilers(self) -> None:
        m, n = Sym.named("mM", ex.Domain(1)), Sym.named("mN", ex.Domain(1))
        rows, columns = 16 * m, 64 * n
        layout = Layout(((8, 16), (8, m, n)), ((8 * rows, 1), (rows, 16, 64 * rows)))
        outcome = ask(p.Coverage(layout, (rows, columns)))
        assert outcome.verdict is Verdict.PROVED, outcome
        assert "mM >= 1" in outcome.scope

    def test_permuted_symbolic_layout_is_bijective(self) -> None:
        assert ask(p.Bijective(Layout((M, N), (N, 1)), M * N)).verdict is Verdict.PROVED
        assert ask(p.Bijective(Layout((M, N), (M, 1)), M * N)).verdict is Verdict.REFUTED

    def test_equal_functions(self) -> None:
        d = Sym.named("d", ex.Domain(1))
        left = Layout((M, N), (d, M * d))
        assert ask(p.LayoutEqual(left, Layout(M * N, d))).verdict is Verdict.PROVED
        assert ask(p.LayoutEqual(left, Layout(M * N, 1))).verdict is Verdict.REFUTED

    def test_divisibility_by_substitution(self) -> None:
        goal = p.Divides((p.Division("kBlockM", Sym.named("bM"), 32),))
        proved = ask(goal, {"bM": Multiple(64, 0)})
        assert proved.verdict is Verdict.PROVED
        assert proved.scope == "all bM multiple of 64 >= 0"
        refuted = ask(goal, {"bM": Multiple(16, 0)})
        assert refuted.verdict is Verdict.REFUTED
        assert refuted.witness is not None and dict(refuted.witness.values)["bM"] == 16

    def test_exact_failing_set(self) -> None:
        goal = p.Divides((p.Division("kHeadDim", Sym.named("hd"), 64),))
        outcome = ask(goal, {"hd": FiniteSet((64, 96, 128, 192, 256))})
        assert outcome.verdict is Verdict.REFUTED
        assert outcome.reason == "refuted for hd = 96, proved for hd = 64; hd = 128; hd = 192; hd = 256"

    def test_finite_domain_of_a_variable_is_split_too(self) -> None:
        hd = Sym.named("hd", ex.Domain(values=(32, 96)))
        outcome = ask(p.Divides((p.Division("kHeadDim", hd, 64),)))
        assert outcome.reason == "refuted for hd = 32; hd = 96"

    def test_stride_contract(self) -> None:
        row = ex.var("row", ex.Domain(0))
        goal = p.Alignment(16, 16, ex.mul(row, LDA.expr), 16)
        given = (Condition(Rel.DIVIDES, ex.const(8), LDA.expr),)
        assert ask(goal, hypotheses=given).verdict is Verdict.PROVED
        outcome = ask(goal)
        assert outcome.verdict is Verdict.REFUTED
        assert outcome.witness is not None and dict(outcome.witness.values)["lda"] == 1

    def test_equal_numbers_have_one_domain(self) -> None:
        n, m, rows = (ex.var(name, ex.Domain(0)) for name in ("n", "m", "rows"))
        equal = (Condition(Rel.EQ, n, m), Condition(Rel.EQ, LDA.expr, m))
        goal = make_obligation(p.Alignment(16, 16, ex.mul(rows, LDA.expr), 16), hypotheses=equal)
        assert variable_domains(goal)["lda"].step == 1
        given = (*equal, Condition(Rel.DIVIDES, ex.const(8), n), Condition(Rel.LE, m, ex.const(64)))
        goal = make_obligation(p.Alignment(16, 16, ex.mul(rows, LDA.expr), 16), hypotheses=given)
        assert variable_domains(goal)["lda"] == ex.Domain(0, 64, 8)

    def test_a_number_that_is_said_is_a_multiple_of_itself(self) -> None:
        n, heads, row = (ex.var(name, ex.Domain(0)) for name in ("n", "heads", "row"))
        goal = p.Alignment(16, 16, ex.mul(ex.mul(row, heads), n), 16)
        assert ask(goal, hypotheses=(Condition(Rel.EQ, n, ex.const(512)),)).verdict is Verdict.PROVED
        assert ask(goal, hypotheses=(Condition(Rel.EQ, ex.const(513), n),)).verdict is Verdict.REFUTED

    @pytest.mark.parametrize("lanes_a_row", [2, 4, 8])
    def test_coalescing_with_a_run_time_row_stride(self, lanes_a_row: int) -> None:
        t = ex.var("threadIdx.x", ex.Domain(0, 127))
        row, column = ex.op("div", t, ex.const(lanes_a_row)), ex.op("mod", t, ex.const(lanes_a_row))
        given = (Condition(Rel.DIVIDES, ex.const(8), LDA.expr),)
        offset = ex.add(ex.mul(row, LDA.expr), ex.mul(column, ex.const(8)))
        assert ask(p.GmemSectors(16, 128, offset, 128), hypotheses=given).verdict is Verdict.PROVED
        narrow = p.GmemSectors(16, 16, ex.add(ex.mul(row, LDA.expr), column), 128, factor=1)
        outcome = ask(narrow, hypotheses=given)
        assert outcome.verdict is Verdict.REFUTED
        assert outcome.witness is not None and "sectors" in outcome.witness.summary

    def test_tma_stride_from_a_run_time_stride(self) -> None:
        given = (Condition(Rel.DIVIDES, ex.const(8), LDA.expr), Condition(Rel.LT, LDA.expr, ex.const(1 << 30)))
        goal = p.TmaLimits((64, 64), 16, (2 * LDA,))
        assert ask(goal, hypotheses=given).verdict is Verdict.PROVED
        assert ask(goal, hypotheses=given[1:]).verdict is Verdict.REFUTED

    def test_division_of_either_sign_truncates(self) -> None:
        m = ex.var("M", ex.Domain(-1000, 1000))
        tiles = ex.op("div", ex.add(m, ex.const(7)), ex.const(8))
        covers = p.Holds((Condition(Rel.LE, m, ex.mul(tiles, ex.const(8))),))
        assert prove(make_obligation(covers), Options(without=("brute-force",))).runs[-1].answer == "holds"
        exact = p.Holds((Condition(Rel.EQ, m, ex.mul(tiles, ex.const(8))),))
        assert ask(exact).verdict is Verdict.REFUTED

    def test_rounded_up_products(self) -> None:
        m, n = ex.var("M", ex.Domain(1)), ex.var("N", ex.Domain(1))
        rows = ex.op("div", ex.add(m, ex.const(7)), ex.const(8))
        tiles = ex.mul(rows, ex.op("div", ex.add(n, ex.const(255)), ex.const(256)))
        keeps = Condition(Rel.LE, ex.mul(m, n), ex.mul(tiles, ex.const(2048)))
        assert ask(p.Holds((keeps,))).verdict is Verdict.PROVED
        loses = Condition(Rel.LE, ex.mul(m, n), ex.mul(tiles, ex.const(1024)))
        assert ask(p.Holds((loses,))).verdict is Verdict.REFUTED
        down = ex.mul(ex.op("div", m, ex.const(8)), ex.const(8))
        assert ask(p.Holds((Condition(Rel.LE, m, down),))).verdict is Verdict.REFUTED

    def test_alignment_through_bit_operations(self) -> None:
        t = ex.var("threadIdx.x", ex.Domain(0, 127))
        row = ex.op("and", ex.mul(ex.op("mod", t, ex.const(8)), ex.const(64)), ex.const(448))
        bits = ex.op("xor", row, ex.op("and", ex.op("div", row, ex.const(8)), ex.const(56)))
        outcome = ask(p.Alignment(16, 16, bits, 16))
        assert outcome.verdict is Verdict.PROVED
        assert {r.engine for r in outcome.runs} == {"normal-form", "residues"}
        assert ask(p.Alignment(16, 32, bits, 32)).verdict is Verdict.REFUTED

    def test_bounds_of_residue_tiles(self) -> None:
        x, m = ex.var("x", ex.Domain(0)), ex.var("m", ex.Domain(1))
        goal = p.InBounds((x,), (Dyn(m),))
        guard = (Condition(Rel.LT, x, m),)
        assert ask(goal, hypotheses=guard).verdict in (Verdict.PROVED, Verdict.ASSUMED)
        assert ask(goal).verdict is Verdict.REFUTED

    def test_goal_from_one_hypothesis_is_assumed(self) -> None:
        v = ex.var("bM", ex.Domain(1, 4096))
        goal = p.Holds((Condition(Rel.DIVIDES, ex.const(64), v),))
        assert ask(goal, hypotheses=(Condition(Rel.DIVIDES, ex.const(128), v),)).verdict is Verdict.ASSUMED

    def test_contradictory_hypotheses_are_vacuous(self) -> None:
        v = ex.var("bM", ex.Domain(0))
        given = (Condition(Rel.LT, v, ex.const(64)), Condition(Rel.LT, ex.const(64), v))
        assert ask(p.Divides((p.Division("bM", Dyn(v), 64),)), hypotheses=given).verdict is Verdict.VACUOUS
        w = ex.var("bN", ex.Domain(0))
        both = (Condition(Rel.EQ, v, ex.add(w, ex.const(1))), Condition(Rel.EQ, v, w))
        assert ask(p.Divides((p.Division("bM", Dyn(ex.mul(v, ex.const(64))), 64),)), hypotheses=both).verdict is (
            Verdict.VACUOUS
        )

    def test_range_parameters(self) -> None:
        s = Sym.named("stages")
        goal = p.Holds((Condition(Rel.LE, ex.mul(s.expr, ex.const(32768)), ex.const(227 * 1024)),))
        assert ask(goal, {"stages": Range(1, 7)}).verdict is Verdict.PROVED
        outcome = ask(goal, {"stages": Range(1, 8)})
        assert outcome.verdict is Verdict.REFUTED


def test_conditions_of_other_numbers_do_not_stop_brute_force() -> None:
    """`if (len % 64) return;` before a launch says nothing of where a thread stores; nor does what follows from it."""
    length, rows = ex.var("len", ex.Domain(0)), ex.var("rows", ex.Domain(0))
    hypotheses = (Condition(Rel.DIVIDES, ex.const(64), length), Condition(Rel.LE, rows, length))
    asked = make_obligation(p.CosizeFits(Layout(8, 1), 35, NEVER_BELOW), hypotheses=hypotheses)
    assert prove(asked, Options(engine="brute-force")).runs[0].answer == "holds"
    bounded = Condition(Rel.LE, ex.var("n", ex.Domain(0)), ex.const(3))
    about = p.CosizeFits(Layout(8, 1), 11, ex.var("n", ex.Domain(0)))
    asked = make_obligation(about, hypotheses=(*hypotheses, bounded))
    assert prove(asked, Options(engine="brute-force")).runs[0].answer == "holds"


def test_a_row_of_packed_elements_is_known_to_two_engines() -> None:
    """Rows of ``k / 8`` words, where 64 divides ``k``, an ``int``: the quotient is exact, also below 0."""
    k, t = ex.var("k"), ex.var("threadIdx.x", ex.Domain(0, 127))
    row = ex.mul(ex.op("div", k, ex.const(8)), ex.op("div", t, ex.const(2)))
    payload = p.GmemSectors(32, 128, ex.add(row, ex.mul(ex.op("mod", t, ex.const(2)), ex.const(4))), 128)
    assert ask(payload, hypotheses=(Condition(Rel.DIVIDES, ex.const(64), k),)).verdict is Verdict.PROVED
    assert ask(payload, hypotheses=(Condition(Rel.DIVIDES, ex.const(4), k),)).verdict is not Verdict.PROVED


@pytest.mark.parametrize("more", [0, 7, -7])
def test_a_sum_with_a_constant_bounds_its_variable(more: int) -> None:
    v, moved = ex.var("v"), ex.add(ex.var("v"), ex.const(more))
    goal = p.Holds((Condition(Rel.LE, ex.const(0), v),))

    def found(*given: Condition) -> ex.Domain:
        return variable_domains(make_obligation(goal, hypotheses=given))["v"]

    for rel, one, other in ((Rel.LE, 3, 20), (Rel.LT, 2, 21)):
        both = (Condition(rel, ex.const(one), moved), Condition(rel, moved, ex.const(other)))
        assert found(*both) == ex.Domain(3 - more, 20 - more)
    assert found(Condition(Rel.EQ, moved, ex.const(9))).bounds() == (9 - more, 9 - more)
