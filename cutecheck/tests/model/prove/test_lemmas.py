"""The facts that the reductions rest on, proved by Z3 on every run of the suite (L1-L7), and vacuity of the proofs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from cutecheck.model.layout import Swizzle
from cutecheck.model.prove.engines.banks import swizzle_period, swizzled

z3 = pytest.importorskip("z3")
WIDTH = 32


def symbolic() -> tuple[Any, Any, Any, Any, list[Any]]:
    """Any B <= 5, M <= 7, B <= S <= 7 as 32-bit vectors, and an offset below 2^24."""
    b, m, s, x = (z3.BitVec(n, WIDTH) for n in "bmsx")
    given = [z3.ULE(b, 5), z3.ULE(m, 7), z3.ULE(s, 7), z3.UGE(s, b), z3.ULT(x, 1 << 24)]
    return b, m, s, x, given


def positive(b: Any, m: Any, s: Any, x: Any) -> Any:
    mask = ((z3.BitVecVal(1, WIDTH) << b) - 1) << m
    return x ^ (z3.LShR(x, s) & mask)


def negative(b: Any, m: Any, s: Any, x: Any) -> Any:
    """Shift -s."""
    mask = ((z3.BitVecVal(1, WIDTH) << b) - 1) << m
    return x ^ ((x & mask) << s)


FORMS = pytest.mark.parametrize("form", [positive, negative])


def proved(given: list[Any], goal: Any) -> bool:
    solver = z3.SolverFor("QF_BV")
    solver.add(*given)
    assert solver.check() == z3.sat, "the hypotheses contradict each other"
    solver.add(z3.Not(goal))
    return bool(solver.check() == z3.unsat)


@FORMS
def test_l1_involution(form: Any) -> None:
    b, m, s, x, given = symbolic()
    assert proved(given, form(b, m, s, form(b, m, s, x)) == x)


@FORMS
def test_l2_linear_over_xor(form: Any) -> None:
    b, m, s, x, given = symbolic()
    y = z3.BitVec("y", WIDTH)
    assert proved(given, form(b, m, s, x ^ y) == form(b, m, s, x) ^ form(b, m, s, y))


@FORMS
def test_l3_low_bits_are_kept(form: Any) -> None:
    b, m, s, x, given = symbolic()
    low = (z3.BitVecVal(1, WIDTH) << m) - 1
    assert proved(given, form(b, m, s, x) & low == x & low)


@FORMS
def test_l4_vectors_stay_whole(form: Any) -> None:
    b, m, s, x, given = symbolic()
    low = (z3.BitVecVal(1, WIDTH) << m) - 1
    i = z3.BitVec("i", WIDTH)
    given = [*given, x & low == 0, z3.ULE(i, low)]
    assert proved(given, form(b, m, s, x + i) == form(b, m, s, x) + i)


@FORMS
def test_l5_bijective_within_its_period(form: Any) -> None:
    b, m, s, x, given = symbolic()
    assert proved(given, z3.LShR(form(b, m, s, x), b + m + s) == z3.LShR(x, b + m + s))


@FORMS
def test_l6_words_move_with_128_byte_rows(form: Any) -> None:
    """Moving an offset by a period that is whole rows moves the word by a multiple of 32: banks are unchanged."""
    b, m, s, x, given = symbolic()
    k, bytes_each = z3.BitVec("k", WIDTH), z3.BitVec("e", WIDTH)
    period = z3.BitVecVal(1, WIDTH) << (b + m + s)
    given = [*given, z3.ULT(k, 1 << 10), z3.Or([bytes_each == e for e in (1, 2, 4, 8)]), z3.ULT(x, 1 << 16)]
    moved = form(b, m, s, x + k * 128 * period) * bytes_each
    assert proved(given, z3.LShR(moved, 2) & 31 == z3.LShR(form(b, m, s, x) * bytes_each, 2) & 31)


@FORMS
def test_l7_translation_by_the_period(form: Any) -> None:
    b, m, s, x, given = symbolic()
    k = z3.BitVec("k", WIDTH)
    period = z3.BitVecVal(1, WIDTH) << (b + m + s)
    assert proved(given, form(b, m, s, x + k * period) == form(b, m, s, x) + k * period)


def test_l7_is_tight() -> None:
    """Half the period is not enough for any swizzle that does something (a lemma that cannot fail proves nothing)."""
    for b, m, s in itertools.product(range(1, 4), range(3), range(1, 5)):
        if s < b:
            continue
        for sw in (Swizzle(b, m, s), Swizzle(b, m, -s)):
            half = swizzle_period(sw) // 2
            broken = any(swizzled(sw, x + half) != swizzled(sw, x) + half for x in range(2 * half))
            assert broken


def test_divisions_depend_on_residues() -> None:
    """(v + k*m*n) / n = v / n + k*m: what lets a period pass through a division."""
    v, k, m, n = z3.Ints("v k m n")
    q, r = z3.Ints("q r")
    solver = z3.Solver()
    solver.add(v >= 0, k >= 0, m > 0, n > 0, v == q * n + r, r >= 0, r < n)
    assert solver.check() == z3.sat
    q2, r2 = z3.Ints("q2 r2")
    # Stated with the product k*m as one unknown, which is all that the division sees.
    shift = z3.Int("shift")
    solver.add(v + shift * n == q2 * n + r2, r2 >= 0, r2 < n, q2 != q + shift)
    assert solver.check() == z3.unsat
