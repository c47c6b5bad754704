"""Z3 bit-vectors: the 32-byte sectors that a warp's global access touches, lanes one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.layout import Layout
from cutecheck.model.prove.answer import Answer, Options
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.engines.bv_queries import ask, given, low_bits, stride_divisor
from cutecheck.model.prove.engines.bv_translation import Translation, UnsupportedError
from cutecheck.model.prove.engines.solver import check, solver
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import GmemSectors

_WARP, _SHARED = "warp", "what all lanes share"
_ANYWHERE = "R2: what all lanes share is any multiple of its divisor"


def gmem_sectors(obligation: Obligation, g: GmemSectors, options: Options) -> Answer:
    """Lanes one by one, the warp a variable: more sectors than ``factor`` times what the distinct vectors need.

    First what all lanes share is taken as any multiple of its divisor: products of many numbers are hard for bits.
    """
    if int(g.element_bits) & (int(g.element_bits) - 1) or g.threads % 32 or int(g.vector_bytes) > 32:
        raise UnsupportedError("partial warps or widths that are not powers of two")
    domains = variable_domains(obligation)
    known = {n: ex.const(d.lo) for n, d in domains.items() if d.lo is not None and d.lo == d.hi}
    domains |= {_WARP: Domain(0, g.threads // 32 - 1), g.thread: Domain(0, g.threads - 1)}
    first = ex.mul(ex.var(_WARP, domains[_WARP]), ex.const(32))
    offset = g.offset.substitute(known)
    lanes = [offset.substitute({g.thread: ex.add(first, ex.const(i))}) for i in range(32)]
    common = [term for term in lanes[0].terms if all(term in lane.terms for lane in lanes)]
    own, shared = [Expr(tuple(t for t in lane.terms if t not in common)) for lane in lanes], Expr(tuple(common))
    if shared.variables():
        with_domains = shared.substitute({n: ex.var(n, d) for n, d in domains.items()})
        number = math.gcd(ex.divisor(with_domains), stride_divisor(g.rest.stride), 1 << 23)
        domains[_SHARED] = Domain(step=number & -number)
        t, s, _ = _query(g, own, ex.var(_SHARED, domains[_SHARED]), Layout((), ()), domains, options)
        s.add(*t.constraints)
        if check(s, f"{obligation.id}-sectors-anywhere", options) == "unsat":
            return Answer("holds", reductions=(_ANYWHERE,))
        del domains[_SHARED]
    t, s, extra = _query(g, own, shared, g.rest, domains, options)
    s.add(*given(t, obligation), *t.constraints)
    return ask(t, s, f"{obligation.id}-sectors", options, extra)


def _query(
    g: GmemSectors, own: list[Expr], shared: Expr, rest: Layout, domains: dict[str, Domain], options: Options
) -> tuple[Translation, Any, dict[str, Any]]:
    """The translation, the solver without the constraints of the former, and the values of a witness by name."""
    lane_bytes, unit = int(g.vector_bytes), int(g.element_bits)
    finer = (8 // unit).bit_length() - 1 if unit < 8 else 0  # 2 ** finer elements are a byte
    t = Translation(dict(domains), width=24 + finer)
    z3 = t.z3
    base, warp = z3.BitVec("smem base", t.width), t.variable(_WARP)
    t.constraints += [base & t.value(low_bits(int(g.base_alignment))) == 0, z3.ULT(base, t.value(1 << 10))]
    start = t.expression(shared) + t.layout_offset(rest.shape, rest.stride, "rest")
    if finer:
        elements = [start + t.expression(e) for e in own]
        t.constraints += [e & t.value((1 << finer) - 1) == 0 for e in elements]
        vectors = [base + z3.LShR(e, finer) for e in elements]
    else:
        first, size = base + start * t.value(unit // 8), t.value(unit // 8)
        vectors = [first + t.expression(e) * size for e in own]
    t.constraints += [v & t.value(lane_bytes - 1) == 0 for v in vectors]
    sectors = [z3.LShR(v, 5) for v in vectors]
    apart = [[_apart(own[j], e) for j in range(i)] for i, e in enumerate(own)]
    one, zero = z3.BitVecVal(1, 12), z3.BitVecVal(0, 12)

    def count(places: list[Any], sure: bool) -> Any:
        """How many places differ; ``sure``: lanes that are known to be apart have different ones."""
        total = one
        for i in range(1, 32):
            if False in apart[i]:
                continue
            others = [places[j] != places[i] for j, known in enumerate(apart[i]) if not (sure and known)]
            total = total + z3.If(z3.And(others), one, zero)
        return total

    least = z3.UDiv(count(vectors, True) * lane_bytes + 31, z3.BitVecVal(32, 12))
    # Counting is hard for bit-vectors where a stride is open: a short budget, the answer is then unknown. It is one of
    # steps, about a second of them: by the clock a busy machine leaves unknown what another proves.
    s = solver("QF_BV", replace(options, rlimit=options.rlimit // 4))
    s.add(z3.UGT(count(sectors, False), least * g.factor))
    return t, s, {"smem base": base, "thread_a": warp * t.value(32), "thread_b": warp * t.value(32) + t.value(31)}


def _apart(a: Expr, b: Expr) -> bool | None:
    """Whether two lanes have different addresses; None where that hangs on values."""
    difference = ex.sub(a, b)
    return None if difference.variables() else difference != ex.const(0)
