"""Thread and value layouts under which a tiled copy moves whole vectors: what could be, proved side by side."""

from __future__ import annotations

from cutecheck.facts import Event
from cutecheck.model import expr as ex
from cutecheck.model.algebra import composition, get, rank
from cutecheck.model.expr import Expr
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, as_expr, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove import Options, Outcome, Verdict, make_obligation, prove
from cutecheck.model.prove.properties import THREAD, Alignment, BankAccess, GmemSectors
from cutecheck.model.prove.synthesis import VectorCopy, suggest_vectors
from cutecheck.model.tiled import TiledCopy
from cutecheck.model.units import BYTE, Bits, bits_to_bytes
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import SMEM_BASE, Access, accesses
from cutecheck.rules.derive.buffers import bare
from cutecheck.rules.derive.contracts import open_variables, prove_or_contract
from cutecheck.rules.derive.vectors import Mode, as_layout, contiguous_elements, leaves, mode_sizes, size_of

_WIDTHS = tuple(map(Bits, (128, 64, 32, 16, 8)))
_THREAD = ex.var(THREAD)


@record(frozen=True, slots=True)
class Vectorized:
    """A tiled copy of wider vectors for one copy: ``copy`` in place of ``now`` bits a thread and instruction.

    ``outcomes`` prove coverage, division, alignment and sectors; ``conditions`` are contracts that the alignment of
    run-time strides still needs; ``conflicts`` says where shared memory then has bank conflicts.
    """

    event: Event
    copy: VectorCopy
    now: Bits
    outcomes: tuple[Outcome, ...]
    conditions: tuple[str, ...]
    conflicts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The arguments of ``make_tiled_copy`` in one line."""
        made = self.copy
        wide = int(made.vector_bits)
        bits = {128: "uint128_t", 64: "uint64_t", 32: "uint32_t", 16: "uint16_t", 8: "uint8_t"}[wide]
        what = f"vectors of {wide // 8} bytes ({bits}) instead of {int(self.now) // 8}"
        given = f"threads {made.threads}, values {made.values} over tiles of {made.tiler[0]}x{made.tiler[1]}"
        needs = f", if {' and '.join(self.conditions)}" if self.conditions else ""
        return f"{what}: {given}, proved{needs}"


def vector_copy(event: Event, contiguous: int, same_width: bool = False) -> VectorCopy | None:
    """Layouts for the copy's threads along one mode (0 or 1) of its tile; ``same_width`` keeps the atom's vectors."""
    found = _tile(event)
    if found is None:
        return None
    tile, sides = found
    bits = sides[0].bits
    least = bits if same_width else sides[0].element_bits
    return suggest_vectors(
        sides[0].threads, tile, contiguous, sides[0].element_bits, bits if same_width else Bits(128), min_bits=least
    )


def wider(event: Event, context: Context) -> Vectorized | None:
    """The widest vectors, wider than now, that every tensor of the copy in memory is proved to allow."""
    found = _tile(event)
    if found is None or any(s.instruction.automatic for s in found[1]):
        return None
    tile, sides = found
    for contiguous in (1, 0):
        for bits in _WIDTHS:
            if bits <= max(s.bits for s in sides):
                break
            made = suggest_vectors(sides[0].threads, tile, contiguous, sides[0].element_bits, bits, min_bits=bits)
            answer = None if made is None else _proved(event, sides, made, contiguous, context)
            if answer is not None:
                return answer
    return None


def _tile(event: Event) -> tuple[tuple[int, int], list[Access]] | None:
    """The static tile that a tiled copy of one-thread atoms moves, and its sides in memory."""
    if event.kind != "copy" or not isinstance(event.tiled, TiledCopy) or known_value(event.tiled.atom_num_thr) != 1:
        return None
    sides = [a for a in accesses(event) if a.tensor.root_layout is not None]
    tiles = {_extents(a.tensor.root_layout) for a in sides if a.tensor.root_layout is not None}
    tile = tiles.pop() if len(tiles) == 1 else None
    same = len({(a.threads, a.element_bits) for a in sides}) == 1
    return (tile, sides) if tile is not None and sides and same else None


def _extents(layout: AnyLayout) -> tuple[int, int] | None:
    sizes = [known_value(n) for n in mode_sizes(layout)]
    return (sizes[0], sizes[1]) if len(sizes) >= 2 and sizes[0] and sizes[1] else None


def _proved(
    event: Event, sides: list[Access], made: VectorCopy, contiguous: int, context: Context
) -> Vectorized | None:
    outcomes, conditions, conflicts = list(made.outcomes), [], []
    for side in sides:
        moved = _moved(side, made, contiguous)
        if moved is None:
            return None
        offset, rest, swizzle = moved
        base = max(side.base, SMEM_BASE) if side.tensor.space == "smem" else side.base
        given = [h.condition for h in event.hypotheses]
        aligned = Alignment(
            side.element_bits, bits_to_bytes(made.vector_bits), offset, base, as_layout(rest), swizzle, side.tensor.name
        )
        variables = open_variables(offset, as_layout(rest).stride)
        vector = made.vector_bits // side.element_bits
        goal = make_obligation(aligned, (event.event_id,), hypotheses=given, arch=event.arch)
        outcome = prove_or_contract(goal, variables, vector, context)
        if outcome.verdict is Verdict.UNKNOWN and outcome.reason.startswith("holds if "):
            conditions.append(outcome.reason.removeprefix("holds if ").partition(",")[0])
        elif outcome.verdict not in (Verdict.PROVED, Verdict.ASSUMED):
            return None
        outcomes.append(outcome)
        if side.tensor.space == "smem" and side.instruction.kind != "cp.async.cg":
            bank = BankAccess(
                side.instruction.kind, side.element_bits, made.vector_bits, offset, side.threads, swizzle,
                as_layout(rest), base_alignment=base, what=side.tensor.name,
            )  # fmt: skip
            outcome = prove(make_obligation(bank, hypotheses=given, arch=event.arch), Options())
            if outcome.verdict is not Verdict.PROVED:
                waves, ideal = outcome.number("wavefronts"), outcome.number("ideal")
                how = f"{waves} wavefronts where {ideal} would do" if waves and ideal else outcome.verdict.value
                conflicts.append(f"`{side.tensor.name}`: {how}")
            outcomes.append(outcome)
        elif side.tensor.space == "gmem":
            sectors = GmemSectors(
                side.element_bits, made.vector_bits, offset, side.threads, as_layout(rest), base_alignment=base,
                what=side.tensor.name,
            )  # fmt: skip
            outcome = prove(make_obligation(sectors, hypotheses=given, arch=event.arch), Options())
            if outcome.verdict is Verdict.REFUTED and not open_variables(offset):
                return None
            outcomes.append(outcome)
    now = max(s.bits for s in sides)
    return Vectorized(event, made, now, tuple(outcomes), tuple(dict.fromkeys(conditions)), tuple(conflicts))


def _moved(side: Access, made: VectorCopy, contiguous: int) -> tuple[Expr, tuple[Mode, ...], Swizzle | None] | None:
    """Offset of a thread's first vector and the other vectors, under the new layouts; None where no vector is whole."""
    root = side.tensor.root_layout
    swizzle = side.root_swizzle
    inner = root.b if isinstance(root, ComposedLayout) else root
    if not isinstance(inner, Layout) or rank(inner) < 2:
        return None
    vector = made.vector_bits // side.element_bits
    if swizzle is not None:
        unit = side.element_bits if swizzle.unit is SwizzleUnit.ELEMENT else BYTE
        if (unit << swizzle.base) < made.vector_bits:
            return None
    start = _uniform_start(side)
    if start is None:
        return None
    rows, lanes = _counts(made, contiguous, vector)
    along, across = get(inner, contiguous), get(inner, 1 - contiguous)
    n, m = known_value(size_of(along)), known_value(size_of(across))
    assert n is not None and m is not None
    try:
        inside = composition(along, Layout((vector, lanes, n // (vector * lanes)), (1, vector, vector * lanes)))
        over = composition(across, Layout((rows, m // rows), (1, rows)))
    except (CuteError, NotModelledError, UndecidedError):
        return None
    parts = [leaves(x.shape, x.stride) for x in (get(inside, 0), get(inside, 1), get(over, 0))]
    others = [leaves(x.shape, x.stride) for x in (get(inside, 2), get(over, 1))]
    if any(p is None for p in (*parts, *others)):
        return None
    if contiguous_elements(tuple(parts[0] or ())) < vector:
        return None
    offset, below = start, 1
    for extent, stride in (*(parts[1] or ()), *(parts[2] or ())):
        size = known_value(extent)
        if size is None:
            return None
        digit = ex.op("mod", ex.op("div", _THREAD, ex.const(below)), ex.const(size))
        offset = ex.add(offset, ex.mul(digit, as_expr(stride)))
        below *= size
    rest: tuple[Mode, ...] = tuple((e, s) for part in others for e, s in (part or ()) if e != 1)
    return offset, rest, swizzle


def _counts(made: VectorCopy, contiguous: int, vector: int) -> tuple[int, int]:
    """Threads across and along the contiguous mode."""
    along, across = made.tiler[contiguous], made.tiler[1 - contiguous]
    return across, along // vector


def _uniform_start(side: Access) -> Expr | None:
    """What the present offset has besides the thread's own part: stage and block, before any swizzle."""
    offset = side.offset
    if side.tensor.space == "smem" and side.root_swizzle is not None:
        plain = bare(side)
        if plain is None:
            if side.swizzle is None:
                return None
        else:
            offset = plain.offset
    names = (THREAD, "value[")
    kept = [t for t in offset.terms if not any(v.name.startswith(names) for v in Expr((t,)).variables())]
    return Expr(tuple(kept))
