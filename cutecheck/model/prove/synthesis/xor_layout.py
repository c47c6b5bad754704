"""General XOR layouts: each bit of the place inside a 128-byte line takes the exclusive or of some bits above it.

What is offered is proved by the engines on offsets with the exclusive or written out (:func:`rewritten`); that there
is none is found by backtracking and by Z3.

Under such a linear map two words meet in a bank exactly when the exclusive or of their addresses maps into other
lines at the same place, so the differences between lanes of a phase are all that matters; they are few.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from cutecheck.model import expr as ex
from cutecheck.model.access import active_lanes, phase_lanes, wavefronts
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.ints import as_expr, known_value
from cutecheck.model.layout import IntTuple, Layout
from cutecheck.model.prove.answer import Options
from cutecheck.model.prove.domains import size_of, variable_domains
from cutecheck.model.prove.engines.concrete import plain_offsets
from cutecheck.model.prove.make import make_obligation
from cutecheck.model.prove.obligation import Outcome, Verdict
from cutecheck.model.prove.properties import BankAccess
from cutecheck.model.prove.scheduler import prove
from cutecheck.model.units import ByteAddress
from cutecheck.records import record

_ADDRESSES = 1 << 17
_NODES = 1 << 18


@record(frozen=True, slots=True)
class XorLayout:
    """``columns[i]`` is XORed into byte-address bits ``low`` .. 6 when bit ``7 + i`` is set.

    ``low`` is the first bit above the widest vector. The identity when all columns are 0.
    """

    low: int
    columns: tuple[int, ...]
    outcomes: tuple[Outcome, ...] = field(default=(), compare=False)  # the proofs, one an access

    def __call__(self, byte: ByteAddress) -> ByteAddress:
        mixed = 0
        for i, column in enumerate(self.columns):
            if byte >> (7 + i) & 1:
                mixed ^= column
        return ByteAddress(byte ^ mixed << self.low)

    def __str__(self) -> str:
        parts = []
        for target in range(self.low, 7):
            sources = [7 + i for i, c in enumerate(self.columns) if c >> (target - self.low) & 1]
            if sources:
                parts.append(f"bit {target} ^= {' ^ '.join(f'bit {s}' for s in sources)}")
        return "byte address: " + ("; ".join(parts) or "unchanged")


class NotConcreteError(Exception):
    """The accesses have open parameters or are too many to list."""


def find_xor_layout(
    accesses: Sequence[BankAccess],
    options: Options = Options(),  # noqa: B008 - frozen
    arch: str = "",
) -> XorLayout | None:
    """An XOR layout under which two engines prove every access free; None when there is none, which Z3 confirms.

    NotConcreteError for accesses with open parameters, which cannot be listed, and where the proofs are wanting.
    """
    low = max(max(int(a.vector_bytes), 4) for a in accesses).bit_length() - 1
    instructions = [(a, lanes) for a in accesses for lanes in _instructions(a)]
    differences = {d for a, lanes in instructions for d in _differences(a, lanes)}
    high = max((d.bit_length() for d in differences), default=0)
    count = max(0, high - 7)
    columns = _solve({d for d in differences if d % (1 << low) < 4}, low, count)
    narrow = {d for d in differences if d % (1 << low) < 4}
    if columns is None:
        if exists(narrow, low, count, options) is not False:
            raise NotConcreteError("that there is none is the word of one search alone")
        return None
    layout = XorLayout(low, columns)
    for a, lanes in instructions:
        moved = [None if x is None else layout(x) for x in lanes]
        if wavefronts(a.kind, moved, a.vector_bytes, a.matrices).excess:
            raise AssertionError("an XOR layout that frees all differences has a conflict")
    outcomes = tuple(prove(make_obligation(rewritten(a, layout), arch=arch), options) for a in accesses)
    unproved = next((o for o in outcomes if o.verdict is not Verdict.PROVED), None)
    if unproved is not None:
        raise NotConcreteError(f"one was found, but not proved: {unproved.reason or unproved.verdict.value}")
    return replace(layout, outcomes=outcomes)


def rewritten(a: BankAccess, layout: XorLayout) -> BankAccess:
    """The access on the XOR layout: its offset with the exclusive or of every column written out."""
    element = int(a.element_bits) // 8
    shift = element.bit_length() - 1
    if element != 1 << shift or layout.low < shift:
        raise NotConcreteError(f"elements of {a.element_bits} bits")
    total: Expr = a.offset
    for i, (extent, stride) in enumerate(_modes(a.rest.shape, a.rest.stride)):
        total = ex.add(total, ex.mul(ex.var(f"value[x{i}]", Domain(0, extent - 1)), as_expr(stride)))
    moved = ex.const(0)
    for i, column in enumerate(layout.columns):
        if column:
            bit = ex.op("mod", ex.op("div", total, ex.const(1 << (7 + i - shift))), ex.const(2))
            moved = ex.op("xor", moved, ex.mul(bit, ex.const(column << (layout.low - shift))))
    return replace(a, offset=ex.op("xor", total, moved), rest=Layout((), ()), swizzle=None)


def _modes(shape: IntTuple, stride: IntTuple) -> Iterator[tuple[int, int]]:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        for s, d in zip(shape, stride, strict=True):
            yield from _modes(s, d)
        return
    extent = None if isinstance(shape, (tuple, ScaledBasis)) else known_value(shape)
    step = None if isinstance(stride, (tuple, ScaledBasis)) else known_value(stride)
    if extent is None or step is None:
        raise NotConcreteError("extents or strides that are not static")
    yield extent, step


def exists(differences: set[int], low: int, count: int, options: Options) -> bool | None:
    """Z3's answer to whether there are columns under which no difference vanishes; None when it has none."""
    import z3

    from cutecheck.model.prove.engines.solver import check, solver

    width = 7 - low
    if width <= 0:
        return not any((d & 127) >> low == 0 for d in differences)
    columns = [z3.BitVec(f"column {i}", width) for i in range(count)]
    s = solver("QF_BV", options)
    for d in sorted(differences):
        mixed = z3.BitVecVal((d & 127) >> low, width)
        for i, column in enumerate(columns):
            if d >> (7 + i) & 1:
                mixed = mixed ^ column
        s.add(mixed != 0)
    answer = check(s, "xor-layout", options)
    return None if answer == "unknown" else answer == "sat"


def _instructions(a: BankAccess) -> list[list[ByteAddress | None]]:
    """Byte addresses of every warp instruction before any swizzle."""
    domains = variable_domains(make_obligation(a))
    domains.pop(a.thread, None)
    if any((size_of(d) or _ADDRESSES) > 64 for d in domains.values()):
        raise NotConcreteError("open parameters")
    rest = plain_offsets(a.rest.shape, a.rest.stride, {})
    element_bits, vector_bytes = int(a.element_bits), int(a.vector_bytes)
    result: list[list[ByteAddress | None]] = []
    choices = [[v for v in range(d.bounds()[0] or 0, (d.bounds()[1] or 0) + 1) if v in d] for d in domains.values()]
    for combination in itertools.product(*choices):
        values = dict(zip(domains, combination, strict=True))
        if len(result) * 32 + len(rest) * a.threads > _ADDRESSES:
            raise NotConcreteError("too many addresses")
        elements = [a.offset.evaluate({**values, a.thread: t}) for t in range(a.threads)]
        for shift, start in itertools.product(rest, range(0, a.threads, 32)):
            lanes = [ByteAddress((e + shift) * element_bits // 8) for e in elements[start : start + 32]]
            if any(x % vector_bytes for x in lanes):
                raise NotConcreteError("misaligned vectors")
            result.append([*lanes, *[None] * (32 - len(lanes))])
    return result


def _differences(a: BankAccess, lanes: list[ByteAddress | None]) -> set[int]:
    """XOR of the byte addresses of different words of one phase."""
    size = phase_lanes(a.kind, a.vector_bytes)
    used = lanes[: active_lanes(a.kind, a.matrices)]
    found = set()
    for first in range(0, len(used), size):
        phase = [x for x in used[first : first + size] if x is not None]
        for x, y in itertools.combinations(phase, 2):
            if x // 4 != y // 4 or a.kind == "cp.async.ca":
                found.add(x ^ y)
    return found


def _solve(differences: set[int], low: int, count: int) -> tuple[int, ...] | None:
    """Columns for the bits above a line so that every difference changes the place inside it; backtracking."""
    by_top: dict[int, list[tuple[int, int]]] = {}
    for d in differences:
        place, line = (d & 127) >> low, d >> 7
        if line == 0:
            if place == 0:
                return None
            continue
        by_top.setdefault(line.bit_length() - 1, []).append((place, line))
    width = 1 << (7 - low)
    columns = [0] * count
    nodes = 0

    def fits(top: int) -> bool:
        for place, line in by_top.get(top, ()):
            mixed = place
            for i in range(top + 1):
                if line >> i & 1:
                    mixed ^= columns[i]
            if mixed == 0:
                return False
        return True

    def extend(top: int) -> bool:
        nonlocal nodes
        if top == count:
            return True
        for value in range(width):
            nodes += 1
            if nodes > _NODES:
                raise NotConcreteError("search limit")
            columns[top] = value
            if fits(top) and extend(top + 1):
                return True
        columns[top] = 0
        return False

    return tuple(columns) if extend(0) else None
