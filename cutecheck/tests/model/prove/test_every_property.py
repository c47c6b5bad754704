"""Every property: two engines of disjoint code, a seeded bug that flips it, an engine's fault that shows, vacuity."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.ints import Condition, CuteError, Rel, as_expr
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.prove import Options, Verdict, make_obligation, prove, scheduler
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.engines import banks, brute, normal
from cutecheck.model.prove.replay import _REPLAYS
from cutecheck.model.units import Bits, Bytes
from cutecheck.tests.model.prove.test_mutations import ROW64, edited, lanes, tables
from cutecheck.tests.model.prove.test_properties import SW, TV, gmma

DOCS = Path(__file__).parents[4] / "docs" / "proofs.md"
TIDY = ex.mul(ex.var("threadIdx.x", ex.Domain(0, 127)), ex.const(8))
STRAY = ex.mul(ex.var("threadIdx.x", ex.Domain(0, 127)), ex.const(64))
X = ex.var("x", ex.Domain(0, 63))


def at_most(limit: int) -> p.Holds:
    return p.Holds((Condition(Rel.LE, as_expr(limit), as_expr(232448)),))


def bank(swizzle: Swizzle | None) -> p.BankAccess:
    return p.BankAccess("ldmatrix", Bits(16), Bits(128), ROW64, 128, swizzle, matrices=4)


# A good payload; the same with a seeded bug; a fault in one engine (module, function, old, new) under which one of
# the two becomes a disagreement.
CASES: dict[type[object], tuple[p.Payload, p.Payload, tuple[ModuleType, str, str, str]]] = {
    p.BankAccess: (bank(Swizzle(3, 3, 3)), bank(None), (banks, "swizzled", "x >> shift", "x >> (shift + 1)")),
    p.Coverage: (p.Coverage(TV, (16, 64)), p.Coverage(TV, (16, 128)),
                 (brute, "_coverage", "0 <= index < size", "0 <= index < size - 1")),
    p.Bijective: (p.Bijective(Layout((2, 8, 2), (1, 4, 2)), 32), p.Bijective(Layout((2, 8, 2), (1, 2, 2)), 32),
                  (brute, "_bijective", "counts[x] > 1", "counts[x] > 2")),
    p.Injective: (p.Injective(Layout((8, 8), (1, 9))), p.Injective(Layout((8, 8), (1, 7))),
                  (brute, "_injective", "if x in seen", "if x in seen and x < 0")),
    p.CosizeFits: (p.CosizeFits(SW, 512), p.CosizeFits(SW, 511),
                   (brute, "_cosize_fits", "top < allocation", "top <= allocation")),
    p.LayoutEqual: (p.LayoutEqual(Layout((4, 2), (1, 4)), Layout(8, 1)),
                    p.LayoutEqual(Layout((4, 2), (1, 8)), Layout(8, 1)),
                    (brute, "_layout_equal", "if x != y", "if x == y")),
    p.AtomCounts: (p.AtomCounts((p.Count("threads", 32, 32),)), p.AtomCounts((p.Count("threads", 64, 32),)),
                   (brute, "_counts", "actual != required", "actual == required")),
    p.Divides: (p.Divides((p.Division("M", 128, 64),)), p.Divides((p.Division("M", 96, 64),)),
                (normal, "_divides", "context.expression(m.divisor), context.expression(m.dividend)",
                 "context.expression(m.dividend), context.expression(m.divisor)")),
    p.Holds: (at_most(49152), at_most(262144),
              (normal, "_holds", "context.expression(c.lhs), context.expression(c.rhs)",
               "context.expression(c.rhs), context.expression(c.lhs)")),
    p.Alignment: (p.Alignment(Bits(16), Bytes(16), ex.const(64), Bytes(16), Layout((4,), (72,))),
                  p.Alignment(Bits(16), Bytes(16), ex.const(64), Bytes(16), Layout((4,), (68,))),
                  (normal, "_alignment", "% int(a.vector_bytes)", "% (2 * int(a.vector_bytes))")),
    p.Contiguous: (p.Contiguous(Layout((8, 4), (1, 64)), 8), p.Contiguous(Layout((8, 4), (1, 64)), 16),
                   (brute, "_contiguous", "if run < c.count", "if run <= c.count")),
    p.InBounds: (p.InBounds((X,), (64,)), p.InBounds((X,), (63,)),
                 (normal, "_in_bounds", "Rel.LT, context.expression(c), context.expression(e)",
                  "Rel.LT, context.expression(e), context.expression(c)")),
    p.GmemSectors: (p.GmemSectors(Bits(16), Bits(128), TIDY, 128), p.GmemSectors(Bits(16), Bits(16), STRAY, 128),
                    (normal, "_gmem_sectors", ">= 32", ">= 2")),
    p.GmmaCanonical: (gmma(Layout((64, 16), (64, 1)), "K"), gmma(Layout((64, 16), (72, 1)), "K"),
                      (normal, "_gmma_canonical", "unit << bits", "unit")),
    p.TmaLimits: (p.TmaLimits((64, 128), Bits(16), (8192,), swizzle_bytes=Bytes(128)),
                  p.TmaLimits((64, 257), Bits(16), (8192,), swizzle_bytes=Bytes(128)),
                  (normal, "_tma_limits", "Rel.LE, b, 256", "Rel.LE, b, 32")),
}  # fmt: skip
KINDS = sorted(CASES, key=lambda kind: kind.__name__)


def test_no_property_is_left_out() -> None:
    assert set(CASES) == set(p.PROPERTY_NAMES) == set(scheduler._ENGINES) == set(_REPLAYS)


@pytest.mark.parametrize("kind", KINDS)
def test_proved_by_two_engines_and_flipped_by_a_bug(kind: type[object]) -> None:
    good, bad, _ = CASES[kind]
    outcome = prove(make_obligation(good))
    assert outcome.verdict is Verdict.PROVED
    assert len({r.engine for r in outcome.runs if r.answer == "holds"}) >= 2
    modules = [module for _, module, _ in scheduler._ENGINES[kind]]
    assert len(set(modules)) == len(modules) >= 2
    flipped = prove(make_obligation(bad))
    assert flipped.verdict is Verdict.REFUTED and flipped.witness is not None and flipped.witness.summary


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_in_one_engine_shows(kind: type[object], monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad, (module, name, old, new) = CASES[kind]
    mutant = edited(module, name, old, new)
    for target in tables(module):
        for key, function in target.items():
            if getattr(function, "__name__", "") == name:
                monkeypatch.setitem(target, key, mutant)
    monkeypatch.setattr(module, name, mutant)
    verdicts = [prove(make_obligation(payload), Options(without=("gf2",))).verdict for payload in (good, bad)]
    assert Verdict.DISAGREE in verdicts
    assert verdicts[0] is not Verdict.REFUTED and verdicts[1] is not Verdict.PROVED


@pytest.mark.parametrize("kind", KINDS)
def test_contradicting_hypotheses_are_vacuous(kind: type[object]) -> None:
    n = ex.var("n", ex.Domain(0))
    never = (Condition(Rel.LT, n, ex.const(4)), Condition(Rel.LT, ex.const(7), n))
    assert prove(make_obligation(CASES[kind][0], hypotheses=never)).verdict is Verdict.VACUOUS
    assert prove(make_obligation(CASES[kind][0], hypotheses=never[:1])).verdict is Verdict.PROVED


def rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    """(property, engines) of the table in the documentation."""
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0].startswith("`") and cells[0].strip("`") in p.PROPERTY_NAMES.values():
            yield cells[0].strip("`"), tuple(re.findall(r"[\w-]+", cells[2]))


def test_the_documented_table_is_this_one() -> None:
    documented = dict(rows())
    actual = {p.PROPERTY_NAMES[k]: tuple(n for n, _, _ in v) for k, v in scheduler._ENGINES.items()}  # type: ignore[index]
    assert documented == actual


def standalone(text: str, folder: Path) -> str:
    """Z3's answer to a file of its own, outside this process where its program is installed."""
    beside = Path(sys.executable).parent / "z3"
    program = str(beside) if beside.exists() else shutil.which("z3")
    if program is None:
        import z3

        context = z3.Context()
        s = z3.Solver(ctx=context)
        s.from_string(text)
        return str(s.check())
    file = folder / "query.smt2"
    file.write_text(text, encoding="utf-8")
    return subprocess.run([program, str(file)], capture_output=True, text=True, check=True).stdout.strip()


def test_dumped_queries_have_the_same_answer_outside(tmp_path: Path) -> None:
    found: dict[str, str] = {}
    asked = (p.BankAccess, p.Coverage, p.Injective, p.CosizeFits, p.LayoutEqual, p.Alignment, p.InBounds, p.Divides)
    for kind in asked:
        for payload in CASES[kind][:2]:
            without = ("gf2", "normal-form", "brute-force", "residues")
            prove(make_obligation(payload), Options(without=without, dump=found.__setitem__))
    prove(make_obligation(p.BankAccess("ld", Bits(32), Bits(32), lanes([16, 2, 4], [1, 32, 64]), 128)),
          Options(without=("gf2",), dump=found.__setitem__))  # fmt: skip
    answers = {name: re.search(r"\(set-info :status (\w+)\)", text) for name, text in found.items()}
    assert len(found) > 15 and {m[1] for m in answers.values() if m} == {"sat", "unsat"}
    for name, text in found.items():
        match = answers[name]
        assert match is not None and standalone(text, tmp_path) == match[1], name


def test_umma_has_a_swizzle_of_its_own() -> None:
    """MN-major in pieces of 32 bytes: what ``make_umma_desc`` takes, two engines prove; a WGMMA cannot state it."""
    from cutecheck.model.tiled.descriptors import smem_descriptor

    pieces = Swizzle(2, 5, 2, SwizzleUnit.BYTE)
    good, bad = Layout(((32, 2), (4, 2)), ((1, 512), (32, 128))), Layout(((32, 2), (4, 2)), ((1, 512), (64, 256)))
    for layout, verdict in ((good, Verdict.PROVED), (bad, Verdict.REFUTED)):
        whole = ComposedLayout(pieces, SmemPtrFlag(32), layout)
        assert prove(make_obligation(p.GmmaCanonical(whole, Bits(32), "MN", engine="UMMA"))).verdict is verdict
        assert prove(make_obligation(p.GmmaCanonical(whole, Bits(32), "MN"))).verdict is Verdict.REFUTED
        assert prove(make_obligation(p.GmmaCanonical(whole, Bits(32), "K", engine="UMMA"))).verdict is Verdict.REFUTED
        try:
            smem_descriptor(whole, "MN", Bits(32), "UMMA")
            stated = True
        except CuteError:
            stated = False
        assert stated is (verdict is Verdict.PROVED)
    plain = gmma(Layout((64, 16), (64, 1)), "K")
    assert prove(make_obligation(replace(plain, engine="UMMA"))).verdict is Verdict.PROVED
