"""A copy on the hardware: coordinate codes through the copy, and what must come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cutecheck.exec.gpu.predict import expected_counts
from cutecheck.exec.gpu.probe import CopyProbe, Tile, room
from cutecheck.exec.gpu.run import Argument, Buffer, Launch, Launched, Number
from cutecheck.exec.gpu.tensor_maps import encoded, is_map

FILL, DUMP, COUNT = 1, 2, 4
POISON = 0xAB
MAX_SHARED = 227 << 10
_IN, _OUT = 6, 7  # places of the source's and the destination's buffer among the arguments


@dataclass(frozen=True, slots=True)
class Sides:
    """Where both sides of a copy lie: offsets by value * threads + thread, elements of room."""

    src: list[int]
    dst: list[int]
    src_room: int
    dst_room: int
    dst_bytes: int  # start of the destination in shared memory
    shared: int


def sides(probe: CopyProbe) -> Sides:
    """The tables of a probe; ValueError where its shared memory does not fit a block."""
    size = probe.element_bits // 8
    src = [] if probe.src is None else probe.table("src", probe.src)
    dst = [] if probe.dst is None else probe.table("dst", probe.dst)
    if min([0, *src, *dst]) < 0:
        raise ValueError("a partition starts before its tile")
    src_room = 0 if probe.src is None else room(probe.src.layout, src)
    dst_room = 0 if probe.dst is None else room(probe.dst.layout, dst)
    first = src_room * size if probe.src is not None and probe.src.memory == "smem" else 0
    second = dst_room * size if probe.dst is not None and probe.dst.memory == "smem" else 0
    start = -(-first // 1024) * 1024 if second else 0
    shared = -(-(start + second if second else first) // 16) * 16 + (16 if is_map(probe.tiled) else 0)
    if shared > MAX_SHARED:
        raise ValueError(f"{shared} bytes of shared memory do not fit a block")
    return Sides(src, dst, src_room, dst_room, start, shared)


def launch(probe: CopyProbe, s: Sides, kernel: str, cubin: Path, part: int, flags: int, reps: int = 1) -> Launch:
    """One launch that moves byte-wise ``part`` of the codes; bare (no fill, no dump) with ``flags`` 0."""
    size = probe.element_bits // 8
    values = _values(probe, s)
    given = s.src_room if probe.src is not None else values * probe.threads
    taken = s.dst_room if probe.dst is not None else values * probe.threads
    data = codes(given, size, part)
    counted = flags & COUNT and not is_map(probe.tiled)  # no thread addresses the elements of a tensor map's copy
    return Launch(
        kernel, cubin, probe.block, s.shared,
        (
            Number(flags), Number(reps), Number(s.src_room), Number(s.dst_room), Number(s.dst_bytes), Number(0),
            Buffer(_padded(data)), Buffer(_padded(bytes([POISON]) * (taken * size)), back=True),
            Buffer(bytes(4 * (s.src_room + 1)), back=True) if counted else None,
            Buffer(bytes(4 * (s.dst_room + 1)), back=True) if counted else None,
            Buffer(bytes(8 * probe.block), back=True) if flags or reps > 1 else None,
            *_map_arguments(probe, s),
        ),
    )  # fmt: skip


def _map_arguments(probe: CopyProbe, s: Sides) -> tuple[Argument, ...]:
    """Where the barrier lies, and the map of the side in global memory."""
    tiled = probe.tiled
    if not is_map(tiled):
        return ()
    assert probe.src is not None
    side = _IN if probe.src.memory == "gmem" else _OUT
    return Number(s.shared - 16), encoded(tiled, probe.dtype, side)


def parts(probe: CopyProbe, s: Sides) -> int:
    """How many launches carry whole codes: elements of 8 bits hold a byte of them at a time."""
    largest = max(s.src_room, s.dst_room, _values(probe, s) * probe.threads)
    needed = max(1, (largest.bit_length() + 7) // 8)
    return -(-needed // (probe.element_bits // 8))


def _values(probe: CopyProbe, s: Sides) -> int:
    return len(s.src or s.dst) // probe.threads


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def codes(count: int, size: int, part: int) -> bytes:
    """Elements whose bits are their own number, shifted by whole elements: ``part`` 0 holds the low bits."""
    shift = 8 * size * part
    mask = (1 << (8 * min(size, 8))) - 1
    return b"".join(((i >> shift) & mask).to_bytes(size, "little") for i in range(count))


Kind = Literal["value", "missed", "written", "count"]


@dataclass(frozen=True, slots=True)
class Wrong:
    """One difference between the hardware and the prediction; ``where`` is an element or value * threads + thread."""

    kind: Kind
    where: int
    expected: int
    got: int

    def __str__(self) -> str:
        said = {"value": "holds", "missed": "was not written, holds", "written": "was written with", "count": "touched"}
        return f"{self.where} {said[self.kind]} {self.got}, expected {self.expected}"


def compare(probe: CopyProbe, s: Sides, launched: Sequence[Launched]) -> list[Wrong]:
    """Differences of the codes of all parts and, from the first, of the counts."""
    size = probe.element_bits // 8
    parts_got = [_elements(one.buffers[0], size) for one in launched]
    wrong: list[Wrong] = []
    if probe.dst is None:
        table = probe.table("dst", probe.src) if probe.src is not None else []
        for i, source in enumerate(table):
            wrong += _code(i, [source], parts_got, size)
    else:
        wanted = _written(probe, s)
        poison = int.from_bytes(bytes([POISON]) * size, "little")
        for at in range(s.dst_room):
            if at in wanted:
                wrong += _code(at, wanted[at], parts_got, size)
            elif any(got[at] != poison for got in parts_got):
                wrong.append(Wrong("written", at, poison, parts_got[0][at]))
    counted = launched[0].buffers[1:-1]
    for got_bytes, table, extent in zip(counted, (s.src, s.dst), (s.src_room, s.dst_room), strict=False):
        if table:
            got = _elements(got_bytes, 4)
            expected = expected_counts(table, extent)
            wrong += [Wrong("count", i, e, g) for i, (e, g) in enumerate(zip(expected, got, strict=False)) if e != g]
    return wrong


def _written(probe: CopyProbe, s: Sides) -> dict[int, list[int]]:
    """Element of the destination to the codes that may stand there (several where threads race)."""
    assert probe.dst is not None
    wanted: dict[int, list[int]] = {}
    if probe.src is None:
        # registers hold values as the source side numbers them: where that side says the element belongs
        for code, at in enumerate(probe.table("src", Tile(probe.dst.memory, probe.dst.layout))):
            wanted.setdefault(at, []).append(code)
    else:
        for source, at in zip(s.src, s.dst, strict=True):
            wanted.setdefault(at, []).append(source)
    return wanted


def _code(where: int, codes_: Sequence[int], got: Sequence[Sequence[int]], size: int) -> list[Wrong]:
    mask = (1 << (8 * min(size, 8))) - 1
    shown = sum((g[where] & mask) << (8 * size * part) for part, g in enumerate(got))
    whole = (1 << (8 * size * len(got))) - 1
    if any(shown == c & whole for c in codes_):
        return []
    poison = int.from_bytes(bytes([POISON]) * size, "little")
    return [Wrong("missed" if all(g[where] == poison for g in got) else "value", where, codes_[0], shown)]


def _elements(data: bytes, size: int) -> list[int]:
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data) - size + 1, size)]
