"""Bank conflicts by residue enumeration, in plain integers.

Reductions (``docs`` name them in verdicts): R1, moving a warp instruction's base by the swizzle period (a whole
number of 128-byte rows) moves all its words by a multiple of 32, so wavefronts depend on the base's residue alone;
R2, a base known only up to a divisor is over-approximated by its multiples; R3, a symbolic lane stride matters by its
residue, with lanes at different offsets taken as different words.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Condition, Int, Rel, as_expr
from cutecheck.model.layout import IntTuple, Swizzle, SwizzleUnit
from cutecheck.model.prove.answer import Answer, unknown
from cutecheck.model.prove.domains import first_values, meets, opaque_names, variable_domains
from cutecheck.model.prove.engines.compiled import table
from cutecheck.model.prove.engines.periods import (
    LIMIT,
    MOST_THREADS,
    Assignment,
    TooManyError,
    redomain,
    residues,
    values_to_try,
    without,
)
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import BankAccess
from cutecheck.model.units import BYTE

BASE = "smem base"


def swizzled(sw: Swizzle | None, x: int) -> int:
    """CuTe's Swizzle on an integer (negative integers in two's complement)."""
    if sw is None:
        return x
    shift = abs(sw.shift)
    mask = ((1 << sw.bits) - 1) << sw.base
    if sw.shift >= 0:
        return x ^ ((x >> shift) & mask)
    return x ^ ((x & mask) << shift)


def swizzle_period(sw: Swizzle | None) -> int:
    """P such that swizzle(x + kP) = swizzle(x) + kP."""
    return 1 if sw is None or sw.bits == 0 else 1 << (sw.bits + sw.base + abs(sw.shift))


def leaf_modes(shape: IntTuple, stride: IntTuple) -> Iterator[tuple[Int, Int]]:
    """(extent, stride) of every leaf; TypeError for basis strides."""
    if isinstance(shape, tuple):
        strides = stride if isinstance(stride, tuple) else (stride,) * len(shape)
        for s, d in zip(shape, strides, strict=True):
            yield from leaf_modes(s, d)
    elif isinstance(stride, (tuple, ScaledBasis)) or isinstance(shape, ScaledBasis):
        raise TypeError("a coordinate layout has no addresses")
    else:
        yield shape, stride


def splits_vector(access: BankAccess) -> bool:
    """The swizzle permutes inside a vector (or reads its bits): the lane's elements are not consecutive."""
    sw = access.swizzle
    if sw is None or sw.bits == 0:
        return False
    unit = access.element_bits if sw.unit is SwizzleUnit.ELEMENT else BYTE
    return unit << sw.base < access.vector_bits


@dataclass(slots=True)
class _Worst:
    """The costliest instruction that some parameters attain."""

    waves: int = 0
    ideal: int = 0
    excess: int = -1
    values: tuple[tuple[str, int], ...] = ()


class _FoundError(Exception):
    """An instruction with a conflict, where any will do."""


def bank_access(obligation: Obligation, any_will_do: bool = False) -> Answer:
    """Every warp instruction takes one wavefront a phase; fails with the costliest one.

    ``any_will_do``: fails, without a witness, as soon as some instruction that is attained has a conflict.
    """
    access = obligation.objects
    assert isinstance(access, BankAccess)
    if splits_vector(access):
        return unknown("the swizzle splits vectors: check contiguity first")
    if opaque := sorted(set(opaque_names(access.offset))):
        return unknown(f"address depends on {opaque[0]}")
    try:
        return Search(obligation, access, any_will_do).run()
    except _FoundError:
        return Answer("fails")
    except TooManyError as error:
        return unknown(str(error))
    except TypeError as error:
        return unknown(str(error))


class Search:
    """One enumeration: lane tables for each warp and symbolic lane stride, crossed with base residues."""

    def __init__(self, obligation: Obligation, access: BankAccess, any_will_do: bool = False) -> None:
        self.any_will_do = any_will_do
        if access.threads > MOST_THREADS:
            raise TooManyError(f"an access of {access.threads} threads, over {MOST_THREADS}")
        self.obligation, self.access = obligation, access
        self.domains = variable_domains(obligation)
        self.domains[access.thread] = Domain(0, access.threads - 1)
        offset = access.offset
        limits: list[Condition] = []
        for i, (extent, stride) in enumerate(leaf_modes(access.rest.shape, access.rest.stride)):
            name = f"rest[{i}]"
            _, top = ex.bounds(redomain(as_expr(extent), self.domains))
            self.domains[name] = Domain(0, None if top is None else top - 1)
            if as_expr(extent).constant is None:
                limits.append(Condition(Rel.LT, ex.var(name, self.domains[name]), as_expr(extent)))
            offset = ex.add(offset, ex.mul(ex.var(name, self.domains[name]), as_expr(stride)))
        self.lanes_part, self.base_part = without(redomain(offset, self.domains), access.thread)
        byte_unit = access.swizzle is not None and access.swizzle.unit is SwizzleUnit.BYTE
        period = swizzle_period(access.swizzle)
        self.byte_unit = byte_unit
        self.base_modulus = math.lcm(128, period) if byte_unit else 4
        # Addresses are computed by the million: plain integers from here on, named after their units.
        self.element_bits, self.lane_bytes = int(access.element_bits), int(access.vector_bytes)
        bits = period * (8 if byte_unit else self.element_bits)
        self.modulus = math.lcm(bits, 1024, self.element_bits) // self.element_bits
        self.cache: dict[tuple[object, ...], tuple[int, int, int, int]] = {}
        self.worst = _Worst()
        self.active = [meets(access.active, {access.thread: t}) for t in range(access.threads)]
        self.upper = -1  # excess of the costliest instruction, attained or not
        self.misaligned = False
        self.hypotheses = [*obligation.hypotheses, *limits]
        self.reductions = [f"R1: wavefronts depend on the base modulo {self.modulus} elements"]

    def run(self) -> Answer:
        # A pointer swizzle needs a base that is a multiple of its period: an obligation of its own, assumed here.
        known = int(self.access.base_alignment) if not self.byte_unit else self.base_modulus
        bases = range(0, self.base_modulus, math.gcd(known, self.base_modulus))
        for lane_values in self._lane_parameters():
            substitution = {n: ex.const(v) for n, v in lane_values.items()}
            base_part = self.base_part.substitute(substitution)
            found, exact = residues(base_part, self.domains, self.modulus, self.hypotheses)
            if not exact:
                self.reductions.append("R2: base over-approximated by multiples of its divisor")
            table = self._lane_table(lane_values)
            for start in range(0, self.access.threads, 32):
                for (residue, values), base in itertools.product(found.items(), bases):
                    assignment = None if values is None else {**lane_values, **values}
                    self._instruction(start, table[start : start + 32], residue, base, assignment)
        return self._answer()

    def _lane_parameters(self) -> Iterator[Assignment]:
        """Assignments of the uniform variables inside lane terms: every residue class, or all values."""
        names = sorted({v.name for v in self.lanes_part.variables()} - {self.access.thread})
        choices = []
        for name in names:
            values, complete = values_to_try(self.lanes_part, name, self.domains[name], self.modulus)
            if not complete:
                # A far member of the class, in the domain or not, at which different lane offsets are different words.
                values = [w for v in values for w in (v, v + self.modulus, v + self.modulus * (1 << 40))]
                self.reductions.append(f"R3: {name} by its residue modulo {self.modulus}")
            choices.append(values)
        if math.prod(map(len, choices)) * max(1, self.access.threads // 32) > LIMIT:
            raise TooManyError("too many combinations of symbolic lane strides")
        for combination in itertools.product(*choices):
            values_by_name = dict(zip(names, combination, strict=True))
            if meets(self.obligation.hypotheses, values_by_name):
                yield values_by_name

    def _lane_table(self, values: Assignment) -> list[int]:
        return table(self.lanes_part, self.access.thread, values, self.access.threads)

    def _instruction(self, start: int, lanes: list[int], residue: int, base: int, values: Assignment | None) -> None:
        first = lanes[0]
        there = tuple(self.active[start : start + 32])
        key = (tuple(x - first for x in lanes), (residue + first) % self.modulus, base, there)
        if key not in self.cache:
            self.cache[key] = self._cost([x - first for x in lanes], (residue + first) % self.modulus, base, there)
        waves, ideal, lane_a, lane_b = self.cache[key]
        if ideal == 0:
            return
        self.upper = max(self.upper, waves - ideal)
        if waves - ideal > self.worst.excess and (values is not None or waves == ideal):
            filled = self._filled(values or {})
            if waves == ideal or self._allowed(filled):
                if self.any_will_do and waves > ideal:
                    raise _FoundError
                pair = (("thread_a", start + lane_a), ("thread_b", start + lane_b))
                named = (*sorted(filled.items()), (BASE, base), *pair)
                self.worst = _Worst(waves, ideal, waves - ideal, named)

    def _filled(self, values: Assignment) -> Assignment:
        """The assignment with every other variable at its first value."""
        others = {n: next(iter(first_values(d, 1)), 0) for n, d in self.domains.items() if n != self.access.thread}
        return {**others, **values}

    def _allowed(self, values: Assignment) -> bool:
        return all(v in self.domains[n] for n, v in values.items()) and meets(self.hypotheses, values)

    def _cost(self, lanes: list[int], offset: int, base: int, active: tuple[bool, ...]) -> tuple[int, int, int, int]:
        """(wavefronts, phases, two lanes that collide or equal lanes) for one warp instruction."""
        a = self.access
        lane_bytes = self.lane_bytes
        matrix = a.kind in ("ldmatrix", "stmatrix")
        group = 8 if matrix or lane_bytes >= 16 else 16 if lane_bytes == 8 else 32
        count = min(len(lanes), 8 * a.matrices) if matrix else len(lanes)
        waves = ideal = 0
        pair = (0, 0)
        worst = 1
        for low in range(0, count, group):
            banks: dict[int, dict[int, int]] = {}
            degree = 0
            for lane in range(low, min(low + group, count)):
                if not active[lane]:
                    continue
                byte = self._byte(offset + lanes[lane], base)
                if byte % lane_bytes:
                    self.misaligned = True
                    continue
                for word in range(byte // 4, (byte + lane_bytes + 3) // 4):
                    seen = banks.setdefault(word % 32, {})
                    tag = word if a.kind != "cp.async.ca" else lane
                    if tag not in seen:
                        seen[tag] = lane
                    degree = max(degree, len(seen))
                    if len(seen) > worst:
                        worst, pair = len(seen), (next(iter(seen.values())), lane)
            waves += degree
            ideal += degree > 0
        return waves, ideal, *pair

    def _byte(self, offset: int, base: int) -> int:
        a = self.access
        if self.byte_unit and a.swizzle is not None:
            return swizzled(a.swizzle, base + offset * self.element_bits // 8)
        return base + (swizzled(a.swizzle, offset) if a.swizzle else offset) * self.element_bits // 8

    def _answer(self) -> Answer:
        w = self.worst
        if self.upper < 0:
            return unknown(f"no vector is aligned to {self.lane_bytes} bytes")
        assumptions = self.assumed()
        measure = (("wavefronts", w.waves), ("ideal", w.ideal), ("excess", w.excess))
        reductions = tuple(dict.fromkeys(self.reductions))
        if self.upper == 0:
            return Answer("holds", measure=measure, reductions=reductions, assumptions=assumptions)
        if w.excess <= 0:
            return unknown("a conflict is possible for an over-approximated base, not shown to be attained")
        # Where open values leave costlier instructions possible, the numbers are those of one that is attained.
        least = "a costlier instruction is possible" if self.upper > w.excess else ""
        return Answer("fails", least, w.values, measure, reductions, assumptions)

    def assumed(self) -> tuple[str, ...]:
        """What the answer takes for granted, in words."""
        access = self.access
        uniform = sorted(n for n in self.domains if n != access.thread and not n.startswith("rest["))
        texts = [f"{', '.join(uniform)} uniform in a warp"] if uniform else []
        if self.obligation.arch and not self.obligation.arch.startswith("sm_90"):
            texts.append("access-model: sm_90")
        if self.byte_unit:
            texts.append(f"shared-memory base is a multiple of {swizzle_period(access.swizzle)} bytes")
        if access.predicated:
            texts.append("a refutation assumes every lane's predicate true")
        if self.misaligned:
            texts.append(f"vectors are aligned to {self.lane_bytes} bytes")
        return tuple(texts)
