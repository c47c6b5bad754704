"""Coalescing by residue enumeration: 32-byte sectors that a warp's global access touches, against the least.

Sectors depend on the base modulo 32 bytes alone, and on which lanes share an address; the enumeration of bases and
symbolic lane strides is that of ``banks``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cutecheck.model.prove.answer import Answer, unknown
from cutecheck.model.prove.engines.banks import Search
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import BankAccess, GmemSectors


def least_sectors(addresses: set[int], lane_bytes: int) -> int:
    """The fewest 32-byte sectors that hold as many distinct bytes; vectors are aligned, so they do not overlap."""
    return -(-len(addresses) * lane_bytes // 32)


@dataclass(slots=True)
class _Found:
    touched: int
    least: int
    values: tuple[tuple[str, int], ...]


def gmem_sectors(obligation: Obligation, payload: GmemSectors) -> Answer:
    """Fails with the warp instruction of the worst ratio above ``factor``."""
    search = _Sectors(obligation, payload)
    return search.run()


class _Sectors(Search):
    def __init__(self, obligation: Obligation, payload: GmemSectors) -> None:
        as_load = BankAccess(
            kind="ld",
            element_bits=payload.element_bits,
            vector_bits=payload.vector_bits,
            offset=payload.offset,
            threads=payload.threads,
            rest=payload.rest,
            thread=payload.thread,
            base_alignment=payload.base_alignment,
        )
        super().__init__(obligation, as_load)
        self.factor = payload.factor
        self.base_modulus = 32
        self.modulus = math.lcm(256, self.element_bits) // self.element_bits
        self.reductions = [f"R1: sectors depend on the base modulo {self.modulus} elements"]

    def _cost(self, lanes: list[int], offset: int, base: int, active: tuple[bool, ...]) -> tuple[int, int, int, int]:
        """(sectors, allowed sectors where that is exceeded else sectors, first and last lane)."""
        lane_bytes = self.lane_bytes
        addresses = {base + (offset + x) * self.element_bits // 8 for x in lanes}
        aligned = {a for a in addresses if a % lane_bytes == 0}
        if len(aligned) < len(addresses):
            self.misaligned = True
        if not aligned:
            return 0, 0, 0, 0
        touched = {s for a in aligned for s in range(a // 32, (a + lane_bytes + 31) // 32)}
        allowed = self.factor * least_sectors(aligned, lane_bytes)
        return len(touched), min(len(touched), allowed), 0, len(lanes) - 1

    def _answer(self) -> Answer:
        if self.upper < 0:
            return unknown(f"no vector is aligned to {self.lane_bytes} bytes")
        assumptions = self.assumed()
        measure = (("sectors", self.worst.waves), ("allowed", self.worst.ideal))
        reductions = tuple(dict.fromkeys(self.reductions))
        if self.upper == 0:
            return Answer("holds", reductions=reductions, assumptions=assumptions)
        if self.worst.excess <= 0:
            return unknown("too many sectors are possible for over-approximated values, not shown to be attained")
        return Answer("fails", "", self.worst.values, measure, reductions, assumptions)
