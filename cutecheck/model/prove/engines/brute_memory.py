"""Brute force for memory accesses, descriptors and tensor maps; see ``brute``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from cutecheck.model.access import sectors, wavefronts
from cutecheck.model.expr_compile import compiled
from cutecheck.model.identity import once
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.layout import Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.engines.concrete import (
    LIMIT,
    Checked,
    TooLargeError,
    Values,
    Violation,
    number,
    pairs,
    plain_offsets,
    swizzle,
)
from cutecheck.model.units import ByteAddress


def bank_access(a: p.BankAccess, values: Values) -> Checked:
    lane_bytes, element_bits = int(a.vector_bytes), int(a.element_bits)
    worst: tuple[int, int, int] = (0, 0, 0)
    violation: Violation | None = None
    by_byte = a.swizzle is not None and a.swizzle.unit is SwizzleUnit.BYTE
    if a.swizzle is not None and a.swizzle.bits:
        unit = 8 if by_byte else element_bits
        if unit << a.swizzle.base < 8 * lane_bytes:
            raise ValueError("the swizzle splits vectors: check contiguity first")
    reach = 128 if a.swizzle is None or not by_byte else 1 << (a.swizzle.bits + a.swizzle.base + abs(a.swizzle.shift))
    # A pointer swizzle needs a base that is a multiple of its period: an obligation of its own, assumed here.
    shifts = range(0, max(reach, 128), max(reach, 128) if by_byte else int(a.base_alignment))
    shape = [number(s, values) for s, _ in pairs(a.rest.shape, a.rest.stride)]
    steps = [number(d, values) for _, d in pairs(a.rest.shape, a.rest.stride)]
    cost = len(shifts) * math.prod(shape) * a.threads
    if cost > LIMIT:
        raise TooLargeError
    elements = [a.offset.evaluate({**values, a.thread: t}) for t in range(a.threads)]
    there = [all(_true(c, {a.thread: t}) for c in a.active) for t in range(a.threads)]
    seen_aligned = False
    for coordinate in itertools.product(*map(range, reversed(shape))):
        digits = coordinate[::-1]
        shift = sum(i * d for i, d in zip(digits, steps, strict=True))
        for start, base in itertools.product(range(0, a.threads, 32), shifts):
            addresses: list[ByteAddress | None] = []
            for element, active in zip(elements[start : start + 32], there[start : start + 32], strict=True):
                if not active:
                    addresses.append(None)
                    continue
                x = element + shift
                if a.swizzle is not None and not by_byte:
                    x = swizzle(a.swizzle, x)
                byte = base + x * element_bits // 8
                if a.swizzle is not None and by_byte:
                    byte = swizzle(a.swizzle, byte)
                addresses.append(None if byte % lane_bytes else ByteAddress(byte))
            w = wavefronts(a.kind, addresses, a.vector_bytes, a.matrices)
            seen_aligned = seen_aligned or w.ideal > 0
            if (violation is None and w.excess > 0) or w.excess > worst[0]:
                worst = (w.excess, w.wavefronts, w.ideal)
                violation = {f"rest[{i}]": x for i, x in enumerate(digits)}
                violation |= {"smem base": base, "thread_a": start, "thread_b": start}
            elif w.excess == 0 and violation is None:
                worst = max(worst, (0, w.wavefronts, w.ideal))
    if not seen_aligned:
        raise ValueError(f"no vector is aligned to {lane_bytes} bytes")
    return violation, (("wavefronts", worst[1]), ("ideal", worst[2]), ("excess", worst[0])), cost


def _true(c: Condition, values: Values) -> bool:
    left, right = c.lhs.evaluate(values), c.rhs.evaluate(values)
    if c.rel is Rel.DIVIDES:
        return left != 0 and right % left == 0
    return {Rel.EQ: left == right, Rel.NE: left != right, Rel.LT: left < right, Rel.LE: left <= right}[c.rel]


def gmem_sectors(g: p.GmemSectors, values: Values) -> Checked:
    lane_bytes, element_bits = int(g.vector_bytes), int(g.element_bits)
    rests = plain_offsets(g.rest.shape, g.rest.stride, values)
    bases = range(0, 32, int(g.base_alignment))
    if len(rests) * len(bases) * g.threads > LIMIT:
        raise TooLargeError
    starts = start_of(g)
    elements = [starts({**values, g.thread: t}) for t in range(g.threads)]
    aligned = False
    for (index, shift), start, base in itertools.product(enumerate(rests), range(0, g.threads, 32), bases):
        addresses = [base + (e + shift) * element_bits // 8 for e in elements[start : start + 32]]
        kept = [ByteAddress(a) if a % lane_bytes == 0 else None for a in addresses]
        touched, least = sectors(kept, g.vector_bytes)
        aligned = aligned or touched > 0
        if touched > g.factor * least:
            digits = {}
            for i, (s, _) in enumerate(pairs(g.rest.shape, g.rest.stride)):
                index, digits[f"rest[{i}]"] = divmod(index, number(s, values))
            pair = {"thread_a": start, "thread_b": min(start + 31, g.threads - 1)}
            return {**digits, **pair, "smem base": base}, (("sectors", touched), ("allowed", g.factor * least)), 1
    if not aligned:
        raise ValueError(f"no vector is aligned to {lane_bytes} bytes")
    return None, (), len(rests) * len(bases) * g.threads


@once
def start_of(a: p.Alignment | p.GmemSectors | p.CosizeFits) -> Callable[[Values], int]:
    """Where vectors or a layout start, at many points; the other engines that answer these have other code for it."""
    names = tuple(dict.fromkeys(v.name for v in a.offset.variables()))
    try:
        function = compiled(a.offset, names)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return a.offset.evaluate  # operations that only their names are known of, or more nested than Python reads
    return lambda values: function(*map(values.__getitem__, names))


def alignment(a: p.Alignment, values: Values) -> Checked:
    start = start_of(a)(values)
    element_bits, vector_bytes = int(a.element_bits), int(a.vector_bytes)
    image = [start + x for x in plain_offsets(a.rest.shape, a.rest.stride, values)]
    sw = a.swizzle
    by_byte = sw is not None and sw.unit is SwizzleUnit.BYTE
    reach = vector_bytes if not by_byte or sw is None else 1 << (sw.bits + sw.base + abs(sw.shift))
    bases = range(0, max(vector_bytes, reach), int(a.base_alignment))
    for base, (index, x) in itertools.product(bases, enumerate(image)):
        if sw is not None and not by_byte:
            x = swizzle(sw, x)
        bits = x * element_bits
        byte = base + bits // 8
        if sw is not None and by_byte:
            byte = swizzle(sw, byte)
        if bits % 8 or byte % vector_bytes:
            return {"index": index, "base": base, "byte": byte}, (("vector_bytes", vector_bytes),), len(image)
    return None, (("vector_bytes", vector_bytes),), len(image) * len(bases)


def tma_limits(m: p.TmaLimits, values: Values) -> Checked:
    """cuTensorMapEncodeTiled: in the order of the fields of the payload."""
    box = [number(b, values) for b in m.box]
    strides = [number(s, values) for s in m.global_strides_bytes]
    inner_bits = box[0] * int(m.element_bits) if box else 0
    span = int(m.swizzle_bytes)
    checks = [len(box) in range(1, 6), *(b in range(1, 257) for b in box), inner_bits % 128 == 0]
    checks.append(span in (0, 32, 64, 128) and (span == 0 or inner_bits <= 8 * span))
    checks.append(number(m.inner_stride, values) == 1)
    for s in strides:
        checks += [s % 16 == 0, s < 1 << 40]
    checks.append(m.global_alignment is None or int(m.global_alignment) % 16 == 0)
    copies, cluster = number(m.multicast, values), number(m.cluster, values)
    checks.append(copies > 0 and cluster % copies == 0 and copies <= 16)
    if all(checks):
        return None, (), 1
    return {"item": checks.index(False)}, (), 1


def gmma_canonical(g: p.GmmaCanonical, values: Values) -> Checked:
    sw, at = _gmma_parts(g)
    row, deep = 1 << (sw.bits if sw is not None else 0), 8  # 16-byte units and rows of a swizzled block
    if sw is not None and (sw.unit is not SwizzleUnit.BYTE or (sw.base, sw.shift) != (4, 3)):
        if sw.unit is not SwizzleUnit.BYTE or (g.engine, g.major, sw.bits, sw.base, sw.shift) != (
            "UMMA",
            "MN",
            2,
            5,
            2,
        ):
            return {"item": 0}, (), 1
        row, deep = 8, 4
    t = 128 // int(g.element_bits)
    shape, stride = at.shape, at.stride
    if row > 8 or not isinstance(shape, tuple) or not isinstance(stride, tuple) or len(shape) != 2:
        return {"item": 1}, (), 1
    rows = plain_offsets(shape[0], stride[0], values)
    columns = plain_offsets(shape[1], stride[1], values)
    if len(columns) not in p.operand_depths(g) or len(rows) % 8:
        return {"item": 1}, (), 1
    for x, k in itertools.product(range(len(rows)), range(len(columns))):
        if g.major == "K":
            across = rows[8] if len(rows) > 8 else 0
            # A block is as wide as its swizzle; one unit alone where there is none.
            block = min(row, len(columns) // t) * t
            step = columns[block] if len(columns) > block else 0
            want = x % 8 * row * t + x // 8 * across + k % block + k // block * step
        else:
            chunk = row * t
            across = rows[chunk] if len(rows) > chunk else 0
            step = columns[deep] if len(columns) > deep else 0
            want = x % chunk + x // chunk * across + k % deep * chunk + k // deep * step
        if rows[x] + columns[k] != want:
            return {"mn": x, "k": k}, (("offset", rows[x] + columns[k]), ("expected", want)), len(rows) * len(columns)
    return None, (), len(rows) * len(columns)


def _gmma_parts(g: p.GmmaCanonical) -> tuple[Swizzle | None, Layout]:
    if isinstance(g.layout, Layout):
        return None, g.layout
    if not isinstance(g.layout.a, Swizzle) or not isinstance(g.layout.b, Layout):
        raise TypeError("composition of more than a swizzle")
    return (g.layout.a if g.layout.a.bits else None), g.layout.b
