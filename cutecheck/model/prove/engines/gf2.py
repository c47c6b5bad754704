"""GF(2) linear algebra: the wavefronts of a phase as a difference of ranks.

Where lane addresses are a first one exclusive-or one vector a lane bit, the words of a phase form an affine space:
``2**(rank(words) - rank(banks))`` of them meet in each bank that is hit. A swizzle, in the offsets or still to come,
keeps that form. Other accesses (odd strides, carries) are unknown here.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator

from cutecheck.model import expr as ex
from cutecheck.model.expr_compile import compiled
from cutecheck.model.layout import IntTuple, SwizzleUnit
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.domains import first_values, meets, size_of, variable_domains
from cutecheck.model.prove.engines.periods import MOST_THREADS
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import BankAccess

_LIMIT = 1 << 8  # parameter values
_MOST_VECTORS = 1 << 16  # of one thread: registers hold a few hundred


class NotLinearError(Exception):
    """The access is not an affine map over GF(2)."""


def rank(vectors: list[int]) -> int:
    """Dimension of the space that bit vectors span."""
    pivots: dict[int, int] = {}
    for v in vectors:
        while v:
            top = v.bit_length()
            if top not in pivots:
                pivots[top] = v
                break
            v ^= pivots[top]
    return len(pivots)


def run(obligation: Obligation, options: Options) -> Answer:
    access = obligation.objects
    if not isinstance(access, BankAccess):
        return unknown("no linear form")
    try:
        return _bank_access(obligation, access)
    except NotLinearError as error:
        return unknown(str(error))


def _digits(shape: IntTuple, stride: IntTuple) -> Iterator[tuple[int, int]]:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        for s, d in zip(shape, stride, strict=True):
            yield from _digits(s, d)
    elif isinstance(shape, int) and isinstance(stride, int):
        yield shape, stride
    else:
        raise NotLinearError("extents or strides that are not static")


def _bank_access(obligation: Obligation, a: BankAccess) -> Answer:
    lane_bytes, element_bits, vector_bits = int(a.vector_bytes), int(a.element_bits), int(a.vector_bits)
    matrix = a.kind in ("ldmatrix", "stmatrix")
    lane_bits = 3 if matrix or lane_bytes >= 16 else 4 if lane_bytes == 8 else 5
    if a.swizzle is not None and a.swizzle.unit is SwizzleUnit.BYTE:
        raise NotLinearError("a pointer swizzle mixes in the allocation's address")
    if a.swizzle is not None and a.swizzle.bits and int(a.element_bits) << a.swizzle.base < int(a.vector_bits):
        raise NotLinearError("the swizzle splits vectors")
    if int(a.element_bits) & (int(a.element_bits) - 1) or int(a.base_alignment) % max(4, lane_bytes) or a.threads % 32:
        raise NotLinearError("widths, base or thread count that are not powers of two")
    if a.threads > MOST_THREADS:
        raise NotLinearError(f"an access of {a.threads} threads, over {MOST_THREADS}")
    if a.active:
        raise NotLinearError("some lanes take no part")
    domains = variable_domains(obligation)
    domains.pop(a.thread, None)
    if any((size_of(d) or _LIMIT + 1) > _LIMIT for d in domains.values()):
        raise NotLinearError("open parameters")
    rest = [0]
    for extent, stride in _digits(a.rest.shape, a.rest.stride):
        if len(rest) * extent > _MOST_VECTORS:
            raise NotLinearError(f"over {_MOST_VECTORS} vectors a thread")
        rest = [x + i * stride for i in range(extent) for x in rest]
    fails: tuple[tuple[str, int], ...] | None = None
    worst = waves = ideal = 0
    per_warp = min(32, 8 * a.matrices if matrix else 32) >> lane_bits
    degrees: dict[tuple[int, ...], int] = {}
    try:
        # Divisions are compiled for the signs that the domains allow, so parameters must bring theirs.
        stated = {n: ex.var(n, d) for n, d in domains.items()} if obligation.params else {}
        offset = compiled(a.offset.substitute(stated), (*domains, a.thread))
    except ValueError as error:
        raise NotLinearError(str(error)) from error
    for combination in itertools.product(*(first_values(d, _LIMIT) for d in domains.values())):
        values = dict(zip(domains, combination, strict=True))
        if not meets(obligation.hypotheses, values):
            continue
        elements = [offset(*combination, t) for t in range(a.threads)]
        total = 0
        for first in range(0, a.threads, 1 << lane_bits):
            if matrix and first % 32 >= 8 * a.matrices:
                continue
            total = 0 if first % 32 == 0 else total
            lanes = elements[first : first + (1 << lane_bits)]
            vectors = _linear(lanes)
            if any((lanes[0] + shift) * element_bits % vector_bits for shift in rest):
                raise NotLinearError("vectors are not aligned")
            swizzled = a.swizzle is not None and a.swizzle.bits > 0
            moving = [shift for shift in rest if swizzled or shift * element_bits % 32]
            if any(_carries(lanes, vectors, shift) for shift in moving):
                raise NotLinearError("lane bits carry")
            if vectors not in degrees:
                degrees[vectors] = _phase_degree(a, vectors)
            total += degrees[vectors]
            if total - per_warp > worst:
                worst, fails = total - per_warp, tuple(values.items())
                waves, ideal = total, per_warp
    measure = (("wavefronts", waves), ("ideal", ideal), ("excess", worst))
    if worst > 0:
        return Answer("fails", values=fails or (), measure=measure)
    return Answer("holds", reductions=("R5: ranks over GF(2)",))


def _linear(lanes: list[int]) -> tuple[int, ...]:
    """One vector a lane bit such that every lane is the first one exclusive-or the vectors of its bits."""
    vectors = tuple(lanes[1 << k] ^ lanes[0] for k in range(len(lanes).bit_length() - 1))
    spanned = [lanes[0]]
    for v in vectors:
        spanned += [x ^ v for x in spanned]
    if spanned != lanes:
        raise NotLinearError("lanes are not linear")
    return vectors


def _carries(lanes: list[int], vectors: tuple[int, ...], shift: int) -> bool:
    """Adding ``shift`` may change by what the lanes differ.

    It does not where the part of it below the highest bit in which they differ meets no bit of theirs: that part is
    an exclusive or, and what is above moves all of them alike. Without a swizzle nothing depends on it where whole
    words are added, as banks of all lanes move together.
    """
    differing = functools.reduce(operator.or_, vectors, 0)
    below = (1 << differing.bit_length()) - 1
    return bool(functools.reduce(operator.or_, lanes) & shift & below)


def _phase_degree(a: BankAccess, vectors: tuple[int, ...]) -> int:
    """Wavefronts of one phase from the ranks of its word and bank vectors."""
    vector_elements = int(a.vector_bits) // int(a.element_bits)
    within = [1 << k for k in range(vector_elements.bit_length() - 1)]
    if any(v & (vector_elements - 1) for v in vectors):
        raise NotLinearError("vectors are not aligned")
    moved = [_swizzled(a, v) for v in (*vectors, *within)]
    inside = [1 << k for k in range((int(a.element_bits) // 32).bit_length() - 1)]  # words of one wide element
    words = [v * int(a.element_bits) // 32 for v in moved] + inside
    banks = [w & 31 for w in words]
    if a.kind == "cp.async.ca":
        words_in_lane = max(0, (int(a.vector_bits) // 32).bit_length() - 1)
        return 1 << (len(vectors) + words_in_lane - rank(banks))
    return 1 << (rank(words) - rank(banks))


def _swizzled(a: BankAccess, v: int) -> int:
    if a.swizzle is None:
        return v
    sw = a.swizzle
    low = (1 << sw.bits) - 1
    if sw.shift >= 0:
        return v ^ ((v >> (sw.base + sw.shift) & low) << sw.base)
    return v ^ ((v >> sw.base & low) << (sw.base - sw.shift))
