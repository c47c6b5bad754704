"""Counterexamples evaluated again in plain integers, straight from the payload, and put into words.

No engine's code is used here. What does not replay is never shown as a refutation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cutecheck.model.access import BANKS, WORD_BYTES, active_lanes, phase_lanes, wavefronts
from cutecheck.model.ints import as_expr
from cutecheck.model.layout import IntTuple, SwizzleUnit
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.answer import Answer
from cutecheck.model.prove.domains import meets, variable_domains
from cutecheck.model.prove.obligation import Obligation, Witness
from cutecheck.model.prove.replay_hardware import HARDWARE_REPLAYS
from cutecheck.model.prove.replay_layouts import LAYOUT_REPLAYS
from cutecheck.model.units import ByteAddress

Values = dict[str, int]


def replayed(obligation: Obligation, answer: Answer) -> Witness | None:
    """The witness of a failing answer when plain evaluation confirms it, else None."""
    function = _REPLAYS.get(type(obligation.objects))
    if function is None:
        return None
    values = dict(answer.values)
    domains = variable_domains(obligation)
    if any(name in domains and value not in domains[name] for name, value in values.items()):
        return None
    if not meets(obligation.hypotheses, values):
        return None
    try:
        return function(obligation.objects, values)
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def flat(t: IntTuple) -> Iterator[Any]:
    if isinstance(t, tuple):
        for item in t:
            yield from flat(item)
    else:
        yield t


def number(value: Any, values: Values) -> int:
    return as_expr(value).evaluate(values)


def apply_swizzle(bits: int, base: int, shift: int, x: int) -> int:
    """Bit by bit: bit ``base + i`` takes the exclusive or with bit ``base + shift + i`` (or the reverse)."""
    result = x
    for i in range(bits):
        source, target = base + max(shift, 0) + i, base + max(-shift, 0) + i
        result ^= ((x >> source) & 1) << target
    return result


def rest_offset(layout_shape: IntTuple, layout_stride: IntTuple, values: Values) -> int:
    """Offset of the rest coordinate named by ``rest[i]``; ValueError when it is out of range."""
    total = 0
    modes = zip(flat(layout_shape), flat(layout_stride), strict=True)
    for i, (extent, stride) in enumerate(modes):
        index = values.get(f"rest[{i}]", 0)
        if not 0 <= index < number(extent, values):
            raise ValueError("rest coordinate out of range")
        total += index * number(stride, values)
    return total


def _bank_access(a: p.BankAccess, values: Values) -> Witness | None:
    base = values.get("smem base", 0)
    if base % min(int(a.base_alignment), 128) and base % int(a.base_alignment):
        return None
    lane_bytes = int(a.vector_bytes)
    start = values["thread_a"] // 32 * 32
    rest = rest_offset(a.rest.shape, a.rest.stride, values)
    addresses: list[ByteAddress | None] = []
    for t in range(start, start + 32):
        if t >= a.threads or not meets(a.active, {a.thread: t}):
            addresses.append(None)
            continue
        element = a.offset.evaluate({**values, a.thread: t}) + rest
        sw = a.swizzle
        if sw is not None and sw.unit is SwizzleUnit.BYTE:
            byte = apply_swizzle(sw.bits, sw.base, sw.shift, base + element * int(a.element_bits) // 8)
        else:
            moved = element if sw is None else apply_swizzle(sw.bits, sw.base, sw.shift, element)
            byte = base + moved * int(a.element_bits) // 8
        if sw is not None and (element * int(a.element_bits) // 8) % lane_bytes == 0 and byte % lane_bytes:
            return None  # the swizzle splits this vector
        addresses.append(ByteAddress(byte) if byte % lane_bytes == 0 else None)
    cost = wavefronts(a.kind, addresses, a.vector_bytes, a.matrices)
    pair = _colliding_pair(a, addresses, lane_bytes)
    if cost.excess <= 0 or pair is None:
        return None
    lane_a, lane_b, bank, word_a, word_b = pair
    one, two = start + lane_a, start + lane_b
    degree = max(w for _, w in cost.phases)
    parameters = {n: v for n, v in values.items() if not n.startswith(("thread_", "rest[")) and n != "smem base"}
    coordinates = tuple(v for n, v in sorted(values.items()) if n.startswith("rest["))
    under = f" with {', '.join(f'{n} = {v}' for n, v in parameters.items())}" if parameters else ""
    summary = (
        f"threads {one} and {two} touch bank {bank} at bytes {addresses[lane_a]} and {addresses[lane_b]}{under}: "
        f"{cost.wavefronts} wavefronts instead of {cost.ideal}"
    )
    return Witness(
        summary,
        values=(
            *parameters.items(),
            ("warp", start // 32),
            ("thread_a", one),
            ("thread_b", two),
            ("coordinate", str(coordinates)),
            ("byte_a", addresses[lane_a] or 0),
            ("byte_b", addresses[lane_b] or 0),
            ("word_a", word_a),
            ("word_b", word_b),
            ("bank", bank),
            ("wavefronts", cost.wavefronts),
            ("ideal", cost.ideal),
            ("excess", cost.excess),
        ),
        lines=(
            f"warp {start // 32}, {a.kind} of {lane_bytes} bytes a lane, rest coordinate {coordinates}",
            f"phase of lanes {_phase_text(cost.phases, degree, a, lane_bytes)}: {degree} wavefronts",
            f"thread {one}: byte {addresses[lane_a]}, word {word_a}, bank {bank}",
            f"thread {two}: byte {addresses[lane_b]}, word {word_b}, bank {bank}",
        ),
    )


def _gmem_sectors(g: p.GmemSectors, values: Values) -> Witness | None:
    base = values.get("smem base", 0)
    lane_bytes = int(g.vector_bytes)
    start = values["thread_a"] // 32 * 32
    rest = rest_offset(g.rest.shape, g.rest.stride, values)
    places: set[int] = set()
    for t in range(start, min(start + 32, g.threads)):
        byte = base + (g.offset.evaluate({**values, g.thread: t}) + rest) * int(g.element_bits) // 8
        if byte % lane_bytes == 0:
            places.add(byte)
    touched = {(byte + i) // 32 for byte in places for i in range(lane_bytes)}
    least = -(-len(places) * lane_bytes // 32)
    if base % min(int(g.base_alignment), 32) or len(touched) <= g.factor * least:
        return None
    parameters = {n: v for n, v in values.items() if not n.startswith(("thread_", "rest[")) and n != "smem base"}
    under = f" with {', '.join(f'{n} = {v}' for n, v in parameters.items())}" if parameters else ""
    summary = f"warp {start // 32} touches {len(touched)} sectors of 32 bytes, {least} would do{under}"
    named = (*parameters.items(), ("warp", start // 32), ("sectors", len(touched)), ("least", least))
    return Witness(summary, named)


def _phase_text(phases: tuple[tuple[int, int], ...], degree: int, a: p.BankAccess, lane_bytes: int) -> str:
    first = next(lane for lane, w in phases if w == degree)
    return f"{first}-{first + phase_lanes(a.kind, a.vector_bytes) - 1}"


def _colliding_pair(
    a: p.BankAccess, addresses: Sequence[ByteAddress | None], lane_bytes: int
) -> tuple[int, int, int, int, int] | None:
    """The first two lanes of one phase with different words (for cp.async.ca: any words) in one bank."""
    size = phase_lanes(a.kind, a.vector_bytes)
    for i, j in itertools.combinations(range(active_lanes(a.kind, a.matrices)), 2):
        if i // size != j // size or addresses[i] is None or addresses[j] is None:
            continue
        for wi, wj in itertools.product(_words(addresses[i], lane_bytes), _words(addresses[j], lane_bytes)):
            if wi % BANKS == wj % BANKS and (wi != wj or a.kind == "cp.async.ca"):
                return i, j, wi % BANKS, wi, wj
    return None


def _words(address: int | None, lane_bytes: int) -> range:
    start = address or 0
    word = int(WORD_BYTES)
    return range(start // word, (start + lane_bytes + word - 1) // word)


_REPLAYS: dict[type[object], Callable[[Any, Values], Witness | None]] = {
    **LAYOUT_REPLAYS,
    **HARDWARE_REPLAYS,
    p.BankAccess: _bank_access,
    p.GmemSectors: _gmem_sectors,
}
