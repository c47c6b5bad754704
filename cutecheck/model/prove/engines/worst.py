"""Z3 bit-vectors: no warp instruction of an access takes more wavefronts in excess than a given number.

The residue engine names the costliest instruction and replay counts its wavefronts; that none is costlier is shown
here by other code. Every phase picks a bank; a lane counts when its word lies in that bank and no earlier lane of the
phase has the same word. The sum over the phases of a warp, less its active phases, must not pass the number.

Two queries: first modulo the swizzle's period, for any base that shares the divisor of the real one and with lanes
apart by open strides taken as different words (an upper bound); then, where that is too coarse, on whole addresses.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Op
from cutecheck.model.layout import SwizzleUnit
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.engines.bitvec import swizzled_byte
from cutecheck.model.prove.engines.bv_queries import stride_divisor
from cutecheck.model.prove.engines.bv_translation import NARROW, Translation, UnsupportedError
from cutecheck.model.prove.engines.solver import check, solver
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import BankAccess

_WARP = "warp"
_BASE = "smem base"
_BUDGET = 3_000_000  # of Z3's resource limit: about a second
_MORE = 14  # bits above the period that keep the words of lanes at known distances apart


def at_most(obligation: Obligation, excess: int, options: Options) -> Answer:
    """Holds when no instruction takes more wavefronts in ``excess`` of its phases; fails with one that does."""
    a = obligation.objects
    assert isinstance(a, BankAccess)
    if int(a.element_bits) & (int(a.element_bits) - 1):
        return unknown("elements whose width is no power of two")
    budget = replace(options, rlimit=min(options.rlimit, _BUDGET))
    try:
        query = _Query(obligation, a, excess)
        if query.reducible:
            s = query.reduced(budget)
            if check(s, f"{obligation.id}-worst-ring", budget) == "unsat":
                return Answer("holds")
        return query.whole(budget)
    except UnsupportedError as error:
        return unknown(str(error))


class _Query:
    def __init__(self, obligation: Obligation, a: BankAccess, limit: int) -> None:
        self.obligation, self.a, self.limit = obligation, a, limit
        self.domains = variable_domains(obligation)
        self.domains[a.thread] = Domain(0, 32 * -(-a.threads // 32) - 1)
        self.domains[_WARP] = Domain(0, -(-a.threads // 32) - 1)
        matrix = a.kind in ("ldmatrix", "stmatrix")
        width = int(a.vector_bytes)
        self.phase = 8 if matrix or width >= 16 else 16 if width == 8 else 32
        warp = ex.mul(ex.var(_WARP, self.domains[_WARP]), ex.const(32))
        stated = {n: ex.var(n, d) for n, d in self.domains.items() if n != a.thread}
        self.lanes = [
            a.offset.substitute({**stated, a.thread: ex.add(warp, ex.const(i))})
            for i in range(8 * a.matrices if matrix else 32)
        ]
        shared = set(self.lanes[0].terms).intersection(*(x.terms for x in self.lanes))
        self.common = Expr(tuple(t for t in self.lanes[0].terms if t in shared))
        self.own = [Expr(tuple(t for t in x.terms if t not in shared)) for x in self.lanes]

    @property
    def reducible(self) -> bool:
        """Offsets apart from a common base are polynomials, which commute with reduction."""
        return not any(isinstance(x, Op) for e in self.own for monomial, _ in e.terms for x in monomial)

    def reduced(self, options: Options) -> Any:
        a, sw = self.a, self.a.swizzle
        period = 0 if sw is None else sw.bits + sw.base + abs(sw.shift)
        t = Translation(
            {
                n: d if n in (_WARP, a.thread) else Domain(step=d.divisor() & -d.divisor() or 1)
                for n, d in self.domains.items()
            },
            width=max(12, period + (int(a.element_bits) // 8).bit_length()) + (_MORE if int(a.vector_bytes) < 4 else 0),
        )
        grain = math.gcd(ex.divisor(self.common), stride_divisor(a.rest.stride), 1 << (t.width - 1))
        base = t.z3.BitVec("any base", t.width)
        t.constraints.append(base & t.value((grain & -grain) - 1) == 0)
        return self._solver(t, [base + t.expression(e) for e in self.own], options, modulo=True)

    def whole(self, options: Options) -> Answer:
        a = self.a
        t = Translation(dict(self.domains), width=max(NARROW, 28))
        shared = t.expression(self.common) + t.layout_offset(a.rest.shape, a.rest.stride, "rest")
        given = [t.condition(h) for h in self.obligation.hypotheses]
        s = self._solver(t, [shared + t.expression(e) for e in self.own], options, modulo=False)
        s.add(*given, *t.constraints)
        result = check(s, f"{self.obligation.id}-worst", options)
        if result == "unsat":
            return Answer("holds")
        if result == "unknown":
            return unknown(f"Z3: {s.reason_unknown()}")
        model = s.model()
        values = {n: int(model.eval(v, model_completion=True).as_long()) for n, v in t.environment.items()}
        values |= {_BASE: int(model.eval(self.base, model_completion=True).as_long())}
        first = values.pop(_WARP, 0) * 32
        values |= {"thread_a": first, "thread_b": first}
        return Answer("fails", values=tuple(sorted(values.items())))

    def _solver(self, t: Translation, elements: list[Any], options: Options, modulo: bool) -> Any:
        a, z3 = self.a, t.z3
        width = int(a.vector_bytes)
        by_byte = a.swizzle is not None and a.swizzle.unit is SwizzleUnit.BYTE
        known = 16 if by_byte else min((int(a.base_alignment) & -int(a.base_alignment)).bit_length() - 1, 15)
        self.base = t.field(_BASE, max(0, 16 - known), known) if t.width > 16 else t.value(0)
        bytes_ = [swizzled_byte(t, a, e, self.base) for e in elements]
        words = [z3.LShR(b, 2) for b in bytes_]
        s = solver("QF_BV", options)
        counts, phases = [], range(0, len(words), self.phase)
        partial = self.a.threads % 32 != 0 or bool(self.a.active)
        for lane, byte in enumerate(bytes_):  # that vectors are aligned is an obligation of its own
            aligned = byte & t.value(width - 1) == 0
            s.add(z3.Or(aligned, z3.Not(self._there(t, lane))) if partial else aligned)
        for first in phases:
            bank = z3.BitVec(f"bank of phase {first // self.phase}", 5)
            inside = [z3.Extract(4, 0, w) == bank for w in words[first : first + self.phase]]
            if partial:
                there = [self._there(t, first + i) for i in range(len(inside))]
                inside = [z3.And(x, y) for x, y in zip(inside, there, strict=True)]
                counts.append(z3.Not(z3.Or(there)))
            for i, here in enumerate(inside):
                earlier = [
                    z3.And(inside[j], same)
                    for j in range(i)
                    if (same := self._same(t, words, first + i, first + j, modulo)) is not None
                ]
                counts.append(z3.And(here, z3.Not(z3.Or(earlier))) if earlier else here)
        s.add(*t.constraints, z3.PbGe([(c, 1) for c in counts], self.limit + len(phases) + 1))
        return s

    def _there(self, t: Translation, lane: int) -> Any:
        """The lane has a thread, and that takes part."""
        thread = t.variable(_WARP) * t.value(32) + t.value(lane)
        met = [t.condition(c, {self.a.thread: thread}) for c in self.a.active]
        return t.z3.And(t.z3.ULT(thread, t.value(self.a.threads)), *met)

    def _same(self, t: Translation, words: list[Any], i: int, j: int, modulo: bool) -> Any | None:
        """The words of two lanes are one word; None where they never are, or count twice all the same."""
        if self.a.kind == "cp.async.ca":
            return None
        apart = ex.sub(self.own[i], self.own[j])
        distance = apart.constant
        if distance == 0:
            return t.z3.BoolVal(True)
        if distance is not None and int(self.a.vector_bytes) >= 4:
            return None  # aligned vectors at different places have no word in common
        if distance is None and modulo:
            return None
        return words[i] == words[j]
