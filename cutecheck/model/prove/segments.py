"""Cost of cp.async.cg copies by the segment model (see ``access.cg_segments``): model-based, never a proof.

Measured on an H200 (sm_90) for 16 bytes a lane, for sources of 4 to 32 lines an instruction, whole, shared or split:
up to 16 segments the cycles follow the segments (about 2.75 each); beyond, they rise faster and scatter.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

from cutecheck.model.access import LINE_BYTES, MEASURED_ARCH, cg_segments
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.expr.terms import Op
from cutecheck.model.layout import SwizzleUnit
from cutecheck.model.prove.canonical import renamed, unnumbered
from cutecheck.model.prove.domains import expressions, first_values, opaque_names
from cutecheck.model.prove.engines.banks import swizzled
from cutecheck.model.prove.engines.concrete import TooLargeError, plain_offsets
from cutecheck.model.prove.properties import BankAccess, GmemSectors
from cutecheck.model.units import ByteAddress
from cutecheck.records import record

CYCLES_PER_SEGMENT = 2.75
_LARGER = (1 << 8, 1 << 16)  # values of what a quotient in a divisor is made of: n / 256 is 0 for a small n
_FAR_ROWS = 1 << 12  # lines between source rows of an open stride: rows never share a line


class NoCostError(Exception):
    """The copy's addresses are not known well enough; the message says why."""


@record(frozen=True, slots=True)
class SegmentCost:
    """Segments of the costliest warp instruction and the least for its source lines; totals over the copy.

    ``warp`` and ``instruction`` (linear index of the rest coordinate) name the costliest. ``assumptions`` say which
    open values were fixed, and on which architecture the model was measured.
    """

    segments: int
    least: int
    warp: int
    instruction: int
    total_segments: int
    total_least: int
    instructions: int
    assumptions: tuple[str, ...]

    @property
    def excess_cycles(self) -> float:
        """Estimated cycles of the whole copy above its least cost."""
        return (self.total_segments - self.total_least) * CYCLES_PER_SEGMENT


def cg_cost(shared: BankAccess, source: GmemSectors) -> SegmentCost:
    """Segments of a cp.async.cg copy from its destination and source accesses; NoCostError when not known.

    Both run over the same threads and instructions. Uniform values are taken at their smallest (divisors: but 0); a
    run-time stride between source rows is taken as whole 128-byte lines.
    """
    (shared, source), names = unnumbered((shared, source))
    try:
        return renamed(_cost(shared, source), names)
    except NoCostError as error:
        raise NoCostError(renamed(str(error), names)) from error.__cause__


@lru_cache(maxsize=1024)
def _cost(shared: BankAccess, source: GmemSectors) -> SegmentCost:
    if int(shared.vector_bits) != 128 or int(source.vector_bits) != 128:
        raise NoCostError("cp.async.cg moves 16 bytes a lane")
    if shared.threads != source.threads:
        raise NoCostError("source and destination have different thread counts")
    for e in expressions((shared, source)):
        if opaque := next(opaque_names(e), None):
            raise NoCostError(f"address depends on {opaque}")
    assumptions: list[str] = [f"cp.async.cg segment model, measured on {MEASURED_ARCH}"]
    try:
        to, into = _dividing(shared, assumptions)
        of, away = _dividing(source, assumptions)
    except (KeyError, TypeError, ZeroDivisionError, TooLargeError) as error:
        raise NoCostError(f"address is not known: {error}") from error
    if len(into) != len(away):
        raise NoCostError("source and destination run different numbers of instructions")
    worst: tuple[int, int, int, int] | None = None
    total = total_least = count = 0
    source_bits, line = int(source.element_bits), int(LINE_BYTES)
    for i, start in itertools.product(range(len(into)), range(0, shared.threads, 32)):
        lanes = range(start, min(start + 32, shared.threads))
        places = [ByteAddress(_shared_byte(shared, to[t] + into[i])) for t in lanes]
        origins = [ByteAddress((of[t] + away[i]) * source_bits // 8) for t in lanes]
        segments = cg_segments(places, origins)
        lines = len({g // line for g in origins})
        least = -(-max(lines, -(-len(places) * 16 // line)) // 4)
        total, total_least, count = total + segments, total_least + least, count + 1
        if worst is None or segments - least > worst[0] - worst[1]:
            worst = (segments, least, start // 32, i)
    if worst is None:
        raise NoCostError("the copy has no instruction")
    return SegmentCost(*worst, total, total_least, count, tuple(dict.fromkeys(assumptions)))


def _dividing(access: BankAccess | GmemSectors, assumptions: list[str]) -> tuple[list[int], list[int]]:
    """Addresses with divisors at their smallest values, or at larger ones where a quotient of them divides by 0."""
    for least in (1, *_LARGER):
        said: list[str] = []
        try:
            found = _addresses(access.offset, access, said, least)
        except ZeroDivisionError:
            if least == _LARGER[-1]:
                raise
            continue
        assumptions += said
        return found
    raise AssertionError  # the last one raises


def _addresses(
    offset: Expr, access: BankAccess | GmemSectors, assumptions: list[str], least: int
) -> tuple[list[int], list[int]]:
    """Element offsets of every thread and of every instruction, open values fixed, divisors at ``least`` or more."""
    values: dict[str, int] = {}
    for e in expressions((offset, access.rest)):
        for v in e.variables():
            if v.name != access.thread:
                values[v.name] = _fixed(offset, v.name, v.domain, access, assumptions, least)
    threads = _thread_offsets(offset, access.thread, access.threads, tuple(values.items()))
    return list(threads), plain_offsets(access.rest.shape, access.rest.stride, values)


@lru_cache(maxsize=1024)
def _thread_offsets(offset: Expr, thread: str, threads: int, given: tuple[tuple[str, int], ...]) -> tuple[int, ...]:
    """Copies of a kernel's instantiations have the same offsets."""
    values = dict(given)
    found = []
    for t in range(threads):
        values[thread] = t
        found.append(offset.evaluate(values))
    return tuple(found)


def _fixed(
    offset: Expr, name: str, domain: Domain, access: BankAccess | GmemSectors, assumptions: list[str], least: int
) -> int:
    """A uniform value at its smallest; one that scales a thread term or a rest stride at whole lines."""
    scales = any(
        name in {v.name for v in Expr((t,)).variables()} and access.thread in {v.name for v in Expr((t,)).variables()}
        for t in offset.terms
    ) or any(name in {v.name for v in e.variables()} for e in expressions(access.rest.stride))
    if scales and isinstance(access, GmemSectors):
        value = _FAR_ROWS * int(LINE_BYTES) * 8 // int(access.element_bits)
        assumptions.append(f"rows of {name} elements start on {LINE_BYTES}-byte lines")
        return value if value in domain else first_values(domain, 1)[-1]
    divides = name in _divisors(offset)
    if divides and least > 1 and least in domain:
        return least
    found = [v for v in first_values(domain, 2) if v or not divides]  # nothing is divided by 0
    return found[0] if found else int(divides)


def _divisors(e: Expr) -> set[str]:
    """Names of the variables by which something is divided."""
    found: set[str] = set()
    for monomial, _ in e.terms:
        for atom in monomial:
            if isinstance(atom, Op):
                found |= {name for a in atom.args for name in _divisors(a)}
                if atom.kind in ("div", "mod"):
                    found |= {v.name for v in atom.args[1].variables()}
    return found


def _shared_byte(access: BankAccess, element: int) -> int:
    sw = access.swizzle
    if sw is not None and sw.unit is SwizzleUnit.BYTE:
        return swizzled(sw, element * int(access.element_bits) // 8)
    return swizzled(sw, element) * int(access.element_bits) // 8
