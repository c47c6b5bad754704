"""Divisibility and alignment by residues: every value modulo m, each with parameters that attain it."""

from __future__ import annotations

import itertools
import math

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.ints import Condition, Rel, as_expr
from cutecheck.model.layout import SwizzleUnit
from cutecheck.model.prove.answer import Answer, unknown
from cutecheck.model.prove.domains import first_values, meets, variable_domains
from cutecheck.model.prove.engines.banks import leaf_modes, swizzle_period, swizzled
from cutecheck.model.prove.engines.periods import Assignment, TooManyError, redomain, residues
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import Alignment, Divides


def divides(obligation: Obligation, payload: Divides) -> Answer:
    domains = variable_domains(obligation)
    open_ended = False
    for i, mode in enumerate(payload.modes):
        divisor = redomain(as_expr(mode.divisor), domains).constant
        if divisor is None:
            return unknown(f"divisor {mode.divisor} is not a number")
        dividend = redomain(as_expr(mode.dividend), domains)
        if divisor == 0:
            return Answer("fails", values=(("item", i), *sorted(_filled({}, domains).items())))
        found, exact = residues(dividend, domains, abs(divisor), obligation.hypotheses)
        for r, values in sorted(found.items()):
            if r == 0:
                continue
            filled = None if values is None else _filled(values, domains)
            if filled is not None and meets(obligation.hypotheses, filled):
                return Answer("fails", values=tuple(sorted({**filled, "item": i}.items())))
            open_ended = True
        open_ended = open_ended or (not exact and any(found))
    if open_ended:
        return unknown("a remainder is possible for over-approximated values, not shown to be attained")
    return Answer("holds", reductions=("R1: remainders by the parameters' residues",))


def _filled(values: Assignment, domains: dict[str, Domain]) -> Assignment:
    return {**{n: next(iter(first_values(d, 1)), 0) for n, d in domains.items()}, **values}


def alignment(obligation: Obligation, payload: Alignment) -> Answer:
    domains = variable_domains(obligation)
    parameters = dict(domains)
    hypotheses = list(obligation.hypotheses)
    total: Expr = payload.offset
    extents: list[Expr] = []
    for i, (extent, stride) in enumerate(leaf_modes(payload.rest.shape, payload.rest.stride)):
        name, size = f"rest[{i}]", redomain(as_expr(extent), parameters)
        top = ex.bounds(size)[1]
        domains[name] = Domain(0, None if top is None else top - 1)
        if size.constant is None:
            hypotheses.append(Condition(Rel.LT, ex.var(name, domains[name]), size))
        extents.append(size)
        total = ex.add(total, ex.mul(ex.var(name, domains[name]), as_expr(stride)))
    sw = payload.swizzle
    by_byte = sw is not None and sw.unit is SwizzleUnit.BYTE
    period = swizzle_period(sw)
    element_bits, vector_bytes = int(payload.element_bits), int(payload.vector_bytes)
    bits = math.lcm(period * (8 if by_byte else element_bits), 8 * vector_bytes, element_bits)
    modulus = bits // element_bits
    found, _ = residues(redomain(total, domains), domains, modulus, hypotheses)
    reach = math.lcm(vector_bytes, period) if by_byte else vector_bytes
    possible = False
    for (r, values), base in itertools.product(found.items(), range(0, reach, int(payload.base_alignment))):
        element = swizzled(sw, r) if sw is not None and not by_byte else r
        byte = base + element * element_bits // 8
        if sw is not None and by_byte:
            byte = swizzled(sw, byte)
        if byte % vector_bytes == 0 and element * element_bits % 8 == 0:
            continue
        possible = True
        if values is None:
            continue
        filled = _filled(values, domains)
        if meets(hypotheses, filled):
            index = _linear(filled, [e.evaluate(filled) for e in extents])
            named = {n: v for n, v in filled.items() if n in parameters}
            return Answer("fails", values=tuple(sorted({**named, "index": index, "base": base, "byte": byte}.items())))
    if possible:
        return unknown("a misaligned address is possible for over-approximated values, not shown to be attained")
    return Answer("holds", reductions=(f"R1: addresses modulo {modulus} elements",))


def _linear(values: Assignment, extents: list[int]) -> int:
    index, scale = 0, 1
    for i, e in enumerate(extents):
        index += values[f"rest[{i}]"] * scale
        scale *= e
    return index


def decide(obligation: Obligation) -> Answer:
    """Dispatch on the payload; what does not fit the enumeration is unknown."""
    payload = obligation.objects
    try:
        if isinstance(payload, Divides):
            return divides(obligation, payload)
        if isinstance(payload, Alignment):
            return alignment(obligation, payload)
    except (TooManyError, TypeError) as error:
        return unknown(str(error))
    return unknown("no residue form")
