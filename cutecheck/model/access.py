"""The shared- and global-memory access model of a warp instruction, as measured.

Shared memory (ld, st, ldmatrix, stmatrix, cp.async.ca), exact on an H200 (compute capability 9.0) instruction by
instruction: a warp instruction runs in phases of 32 lanes (up to 4 bytes a lane), 16 (8 bytes) or 8 (16 bytes; one
8x8 matrix of ldmatrix and stmatrix). A phase takes as many wavefronts as the most distinct 4-byte words that meet in
one of 32 banks; cp.async.ca does not merge equal words, and meets the banks of its source in L1, too
(:func:`ca_wavefronts`). Addresses are bytes in shared memory.

cp.async.cg follows :func:`cg_segments`, a model of measured cycles, not of a counter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from cutecheck.model.units import ByteAddress, Bytes
from cutecheck.records import record

AccessKind = Literal["ld", "st", "ldmatrix", "stmatrix", "cp.async.ca"]
Lanes: TypeAlias = Sequence[ByteAddress | None]  # the address of each lane, None for an inactive one

WARP = 32
BANKS = 32
WORD_BYTES = Bytes(4)
LINE_BYTES = Bytes(128)
SECTOR_BYTES = Bytes(32)
_WORD, _LINE, _SECTOR = int(WORD_BYTES), int(LINE_BYTES), int(SECTOR_BYTES)
MEASURED_ARCH = "sm_90"


@record(frozen=True, slots=True)
class Wavefronts:
    """Cost of one warp instruction: ``phases`` holds (first lane, wavefronts) of every phase with an active lane."""

    wavefronts: int
    ideal: int
    phases: tuple[tuple[int, int], ...]

    @property
    def excess(self) -> int:
        return self.wavefronts - self.ideal


def phase_lanes(kind: AccessKind, lane_bytes: Bytes) -> int:
    """Lanes that are served together; ``lane_bytes`` is what one lane moves (a row of 16 for matrices)."""
    width = int(lane_bytes)
    if kind in ("ldmatrix", "stmatrix") or width >= 16:
        return 8
    return 16 if width == 8 else 32


def active_lanes(kind: AccessKind, matrices: int) -> int:
    """Lanes whose address is used: 8 a matrix, otherwise all of a warp."""
    return 8 * matrices if kind in ("ldmatrix", "stmatrix") else WARP


def wavefronts(kind: AccessKind, addresses: Lanes, lane_bytes: Bytes, matrices: int = 0) -> Wavefronts:
    """Wavefronts of one warp instruction; ``addresses[lane]`` is a byte address, None for an inactive lane.

    ValueError for an address that is not a multiple of ``lane_bytes``: hardware faults on it.
    """
    size, width = phase_lanes(kind, lane_bytes), int(lane_bytes)
    used = addresses[: active_lanes(kind, matrices)]
    phases = []
    for first in range(0, len(used), size):
        active = [a for a in used[first : first + size] if a is not None]
        if not active:
            continue
        if any(a % width for a in active):
            raise ValueError(f"address not a multiple of {lane_bytes} bytes")
        phases.append((first, _phase_degree(active, width, merge=kind != "cp.async.ca")))
    return Wavefronts(sum(w for _, w in phases), len(phases), tuple(phases))


def _phase_degree(addresses: Sequence[int], width: int, merge: bool) -> int:
    words = [w for a in addresses for w in range(a // _WORD, (a + width - 1) // _WORD + 1)]
    per_bank = Counter(w % BANKS for w in (set(words) if merge else words))
    return max(per_bank.values())


def predicted_wavefronts(kind: AccessKind, addresses: Lanes, lane_bytes: Bytes, matrices: int = 0) -> int:
    """What the hardware counter shows. Differs from :func:`wavefronts` only for wide loads whose lane pairs agree.

    A 64- or 128-bit load in which lanes 2i and 2i+1 share an address, for every i, was measured to take half. Few
    patterns show it: use it to predict counters, never to discharge an obligation.
    """
    full = wavefronts(kind, addresses, lane_bytes, matrices)
    paired = all(addresses[i] == addresses[i + 1] for i in range(0, len(addresses) - 1, 2))
    if kind == "ld" and lane_bytes in (8, 16) and paired:
        return (full.wavefronts + 1) // 2
    return full.wavefronts


def sectors(addresses: Lanes, lane_bytes: Bytes) -> tuple[int, int]:
    """32-byte sectors of global memory one warp instruction touches, and the least for as many distinct bytes."""
    active, width = [a for a in addresses if a is not None], int(lane_bytes)
    touched = {s for a in active for s in range(a // _SECTOR, (a + width - 1) // _SECTOR + 1)}
    distinct = _union_length((a, a + width) for a in active)
    return len(touched), -(-distinct // _SECTOR)


def _union_length(intervals: Iterable[tuple[int, int]]) -> int:
    total = 0
    reach: int | None = None
    for start, end in sorted(intervals):
        if reach is None or start > reach:
            total, reach = total + end - start, end
        elif end > reach:
            total, reach = total + end - reach, end
    return total


def ca_wavefronts(shared: Lanes, source: Lanes, lane_bytes: Bytes) -> int:
    """Wavefronts of one cp.async.ca warp instruction that reads ``source`` in global memory.

    The lines are read from L1, whose data has banks, too: bank of a source is its byte offset modulo 128. Two lanes of
    a phase meet where they share a bank of shared memory or a bank of the source, and a phase takes as many wavefronts
    as the most lanes that one lane meets, itself among them. Exact on an H200: see docs/confirmation/gpu.md. A
    contiguous source (each lane its own bank) leaves what :func:`wavefronts` says of the destination alone.
    """
    size, width = phase_lanes("cp.async.ca", lane_bytes), int(lane_bytes)
    total = 0
    for first in range(0, WARP, size):
        banks = [
            (to % _LINE // width, at % _LINE // width)
            for to, at in zip(shared[first : first + size], source[first : first + size], strict=True)
            if to is not None and at is not None
        ]
        if banks:
            written, read, both = Counter(b for b, _ in banks), Counter(b for _, b in banks), Counter(banks)
            total += max(written[to] + read[at] - number for (to, at), number in both.items())
    return total


def bypass_sectors(shared: Lanes, source: Lanes) -> int:
    """Sectors one cp.async.cg warp instruction requests: one for each source sector and destination sector it goes to.

    Holds where no two lanes write the same bytes, a race anyway.
    """
    return len({
        (at // int(SECTOR_BYTES), to // int(SECTOR_BYTES))
        for to, at in zip(shared, source, strict=True)
        if to is not None and at is not None
    })  # fmt: skip


def cg_segments(shared: Lanes, source: Lanes) -> int:
    """Segments one cp.async.cg warp instruction writes, one after the other: the measured model of its cost.

    Data arrives as 128-byte source lines, four lines at a time in the order of the lanes that ask first. A line is
    written as one segment for each destination line it goes to; of the lines that arrive together, segments whose
    destination lines differ modulo 4 are written together. Position inside a line costs nothing.
    """
    arrival: dict[int, set[int]] = {}
    for s, g in zip(shared, source, strict=True):
        if s is not None and g is not None:
            arrival.setdefault(g // _LINE, set()).add(s // _LINE)
    lines = list(arrival.values())
    total = 0
    for first in range(0, len(lines), 4):
        slices = Counter(to % 4 for line in lines[first : first + 4] for to in line)
        total += max(slices.values())
    return total
