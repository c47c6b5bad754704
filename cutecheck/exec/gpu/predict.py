"""What a bare run of a probe does, instruction by instruction: the numbers that the hardware's counters must show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, cast

from cutecheck.exec.gpu.plain import PlainCopy
from cutecheck.exec.gpu.probe import CopyProbe, Tile
from cutecheck.model.access import (
    SECTOR_BYTES,
    AccessKind,
    bypass_sectors,
    ca_wavefronts,
    cg_segments,
    predicted_wavefronts,
    sectors,
    wavefronts,
)
from cutecheck.model.algebra import offsets
from cutecheck.model.layout import Layout
from cutecheck.model.tiled.instructions import Instruction, automatic_bits, instruction
from cutecheck.model.tiled.tensor_map import TensorMap
from cutecheck.model.units import Bits, ByteAddress, Bytes

Side = Literal["src", "dst"]
WARP = 32


class FaultError(ValueError):
    """The copy cannot run as written: the message says which access faults, and why."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One warp instruction: byte offsets by lane, None for lanes that do not take part."""

    kind: str
    lane_bytes: Bytes
    addresses: tuple[ByteAddress | None, ...]
    source: tuple[ByteAddress | None, ...] = ()  # of cp.async: the global side
    matrices: int = 0


@dataclass(slots=True)
class Traffic:
    """Counts of one bare run, summed over warps. ``cg`` are segments of cp.async.cg, a model and no counter.

    ``read``: (buffer, sector) of plain loads from global memory, which L1 fetches once.
    """

    counts: Counter[str] = field(default_factory=Counter)
    read: set[tuple[int, int]] = field(default_factory=set)

    def copy(
        self, probe: CopyProbe, times: int = 1, merged: int = 1, buffer: int = 0, steps: Sequence[int] = (0,)
    ) -> None:
        """Count one run of a copy, ``times`` over; ``merged`` as :func:`traffic` has it.

        ``buffer`` tells global sources apart; ``steps`` are the bytes at which the source starts each time.
        """
        found = probe.tiled.atom.tensor_map
        if isinstance(found, TensorMap):  # the copy engine's accesses are none of the load-store unit
            load = probe.dst is not None and probe.dst.memory == "smem"
            self.counts["tma_load_bytes" if load else "tma_store_bytes"] += times * _box_bytes(probe, found)
            return
        for memory, issue in issues(probe, merged):
            self.add(issue, memory, times)
            if memory == "gmem" and issue.kind == "ld":
                self.read |= {(buffer, s) for step in steps for s in touched(issue.addresses, issue.lane_bytes, step)}

    def done(self) -> dict[str, int]:
        """The counts, and the sectors that come from L2 where no cp.async.ca takes part: its hits are not modelled."""
        out = dict(self.counts)
        if "wavefronts_ca" not in out and (self.read or "sectors_ldgsts" in out):
            out["sectors_read"] = out.get("sectors_ldgsts", 0) + len(self.read)
        return out

    def add(self, issue: Issue, memory: str, times: int = 1) -> None:
        """Count one warp instruction, ``times`` over."""
        c = self.counts
        kind, lanes, width = issue.kind, issue.addresses, issue.lane_bytes
        if memory == "gmem":
            if kind == "cp.async":
                c["sectors_ldgsts_least"] += times * sectors(lanes, width)[1]
                return
            operation = kind
            c[f"sectors_{operation}"] += times * sectors(lanes, width)[0]
            c[f"sectors_{operation}_least"] += times * sectors(lanes, width)[1]
            return
        if kind == "cp.async.cg":
            c["inst_ldgsts"] += times
            c["cg_segments"] += times * cg_segments(lanes, issue.source)
            c["sectors_ldgsts"] += times * bypass_sectors(lanes, issue.source)
            return
        if kind == "cp.async.ca":
            c["inst_ldgsts"] += times
            c["wavefronts_ca"] += times * ca_wavefronts(lanes, issue.source, width)
            c["ideal_ca"] += times * wavefronts("cp.async.ca", lanes, width).ideal
            c["sectors_ldgsts"] += times * sectors(issue.source, width)[0]
            return
        model = cast(AccessKind, kind)
        full = wavefronts(model, lanes, width, issue.matrices)
        name = kind
        c[f"inst_{kind}"] += times
        c[f"wavefronts_{name}"] += times * predicted_wavefronts(model, lanes, width, issue.matrices)
        c[f"ideal_{name}"] += times * full.ideal


def traffic(probe: CopyProbe, times: int = 1, merged: int = 1) -> Traffic:
    """Everything one run of the copy does, ``times`` over; FaultError for an access that the hardware refuses.

    ``merged``: how many consecutive plain accesses of a thread to shared memory the compiler made one; -2 where it made
    two of each.
    """
    out = Traffic()
    out.copy(probe, times, merged)
    return out


def touched(lanes: Sequence[ByteAddress | None], width: Bytes, step: int = 0) -> set[int]:
    """The sectors of 32 bytes that lanes touch, their addresses moved on by ``step``."""
    size = int(SECTOR_BYTES)
    return {
        s for a in lanes if a is not None for s in range((a + step) // size, (a + step + int(width) - 1) // size + 1)
    }


def _box_bytes(probe: CopyProbe, found: TensorMap) -> int:
    """Bytes that a tensor map's copy moves over the crossbar: whole sectors of 32 for every row of a box."""
    tile = probe.src if probe.src is not None and probe.src.memory == "gmem" else probe.dst
    assert tile is not None
    width, row = probe.element_bits // 8, int(found.box[0])
    places = sorted(offsets(tile.layout))
    cuts = [0, *(i for i in range(1, len(places)) if places[i] != places[i - 1] + 1), len(places)]
    total = 0
    for begin, end in pairwise(cuts):  # runs of neighbours, cut into rows of the box
        for first in range(places[begin], places[begin] + end - begin, row):
            last = min(first + row, places[begin] + end - begin)
            total += 32 * (-(-last * width // 32) - first * width // 32)
    return total


def issues(probe: CopyProbe, merged: int = 1) -> Iterator[tuple[str, Issue]]:
    """(memory, warp instruction) of both sides; ``merged`` as :func:`traffic` has it."""
    tables = {side: probe.table(side, tile) for side, tile in _tiles(probe)}
    for side, tile in _tiles(probe):
        used = side_instruction(probe, side)
        if used is None:
            continue
        kind: str = used.kind
        other: Sequence[int] = ()
        if merged != 1 and kind in ("ld", "st") and tile.memory == "smem":
            bits = int(used.bits) * merged if merged > 0 else int(used.bits) // -merged
            if bits > 128 or bits < probe.element_bits:
                raise FaultError(f"no access has {bits} bits")
            used = replace(used, bits=Bits(bits), automatic=True)
        if kind in ("cp.async.cg", "cp.async.ca"):
            other = tables.get("src", ())
        elif used.name.startswith("SM80_CP_ASYNC"):
            kind = "cp.async"
        yield from ((tile.memory, i) for i in _side(probe, used, kind, tables[side], other))


def _tiles(probe: CopyProbe) -> list[tuple[Side, Tile]]:
    found: list[tuple[Side, Tile]] = []
    if probe.src is not None:
        found.append(("src", probe.src))
    if probe.dst is not None:
        found.append(("dst", probe.dst))
    return found


def side_instruction(probe: CopyProbe, side: Side) -> Instruction | None:
    """The instruction of one side, automatic widths resolved; None where the side has none of its own."""
    atom = probe.tiled.atom
    used = instruction(atom.op, atom.ptx, atom.src_bits if side == "src" else atom.dst_bits, side)
    if used is None or not used.automatic:
        return used
    limit = next((int(a) for a in map(str, atom.args) if a.isdigit()), 8)
    layouts = _thread_layout(probe, "src"), _thread_layout(probe, "dst")
    bits = automatic_bits(*layouts, Bits(probe.element_bits), Bits(limit))
    return Instruction(used.kind, bits, automatic=True, name=used.name)


def _thread_layout(probe: CopyProbe, side: Side) -> Layout:
    tile = probe.src if side == "src" else probe.dst
    if tile is None:
        assert probe.fragment is not None
        return probe.fragment
    if isinstance(probe.tiled, PlainCopy):
        return cast(Layout, tile.layout)
    part, _ = (probe.tiled.partition_S if side == "src" else probe.tiled.partition_D)(tile.layout, 0)
    return cast(Layout, part)


def _side(
    probe: CopyProbe, used: Instruction, kind: str, table: Sequence[int], other: Sequence[int]
) -> Iterator[Issue]:
    threads, width = probe.threads, probe.element_bits // 8
    bits = int(used.bits)
    count = bits // probe.element_bits
    if count < 1 or bits % probe.element_bits:
        raise FaultError(f"{bits}-bit accesses of {probe.element_bits}-bit elements")
    values = len(table) // threads
    by_thread = [[table[v * threads + t] for v in range(values)] for t in range(threads)]
    order = list(range(values))
    if used.automatic:  # vectors are taken where the elements are consecutive, wherever their modes stand
        order.sort(key=by_thread[0].__getitem__)
    for first in range(0, values, count):
        for warp in range(0, threads, WARP):
            addresses: list[ByteAddress | None] = [None] * WARP
            source: list[ByteAddress | None] = [None] * WARP
            for lane in range(min(WARP, threads - warp)):
                t = warp + lane
                picked = order[first : first + count]
                if used.automatic:
                    picked = sorted(picked, key=by_thread[t].__getitem__)
                got = [by_thread[t][v] for v in picked]
                if got != list(range(got[0], got[0] + len(got))):
                    raise FaultError(f"thread {t}: the {count} elements of a vector are not consecutive: {got}")
                if got[0] * width % (bits // 8):
                    raise FaultError(f"thread {t}: byte {got[0] * width} is no multiple of {bits // 8}")
                addresses[lane] = ByteAddress(got[0] * width)
                if other:
                    source[lane] = ByteAddress(other[picked[0] * threads + t] * width)
            yield Issue(kind, Bytes(bits // 8), tuple(addresses), tuple(source), used.matrices)


def expected_counts(table: Sequence[int], size: int) -> list[int]:
    """How often each element of a tile is touched; the last entry counts what lies outside."""
    counts = [0] * (size + 1)
    for o in table:
        counts[o if 0 <= o < size else size] += 1
    return counts
