"""Where the operands of a step lie, of a kernel that is run pass by pass, and by what hardware it is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecheck.facts import TensorFact
from cutecheck.facts.replayed import Place
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import cosize, get, rank, size
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.dtype import dtype
from cutecheck.model.identity import once
from cutecheck.model.ints import CuteError, UndecidedError, known_value
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy
from cutecheck.source.eval.threads import varies

_TILE = 2  # modes of a tile without stages
_OPEN = (0, -1)  # bits of which the end is not known
DESCRIPTOR = dtype("uint128_t")  # of shared memory, as WGMMA and UMMA read it


def regions(fact: TensorFact, root: object, offset: int, begin: int) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """The bits of the whole tensor in its buffer, and those of the stage that an operand is of.

    Stages are the last mode of three or more. No stage where it is not known which; an end before the start where it
    is not known.
    """
    inner = root.b if isinstance(root, ComposedLayout) else root
    bits = fact.root_bits or (fact.dtype.bits if fact.dtype is not None else None)
    if not isinstance(inner, Layout) or not bits:
        return _OPEN, None if isinstance(inner, Layout) and rank(inner) > _TILE else _OPEN
    known = _sizes(inner)
    if known is None:
        return _OPEN, None if rank(inner) > _TILE else _OPEN
    length, extent, several = known
    whole = _OPEN if length is None else (begin, begin + length * int(bits))
    if rank(inner) - 1 < _TILE or extent == 1:
        return whole, whole
    steps = [d for _, d in several]
    if length is not None and len(several) > 1 and all(isinstance(x, int) and x > 0 for pair in several for x in pair):
        rest = length - sum((n - 1) * d for n, d in several)
        if rest > min(steps):
            return whole, whole  # parts of one tile: `(_4,_2):(_16,_8192)` of the 128 columns that an MMA multiplies
    step = steps[0] if len(steps) == 1 else None
    if length is None or extent is None or not isinstance(step, int) or step < 1 or fact.dtype is None:
        return _OPEN, None
    if length - (extent - 1) * step > step:
        return whole, whole  # parts of one tile
    stage = step * int(bits) // int(fact.dtype.bits) if fact.dtype.bits else 0
    of_thread = fact.provenance == "slice" and varies(fact.offset)
    if stage and (fact.dtype == DESCRIPTOR or of_thread) and (stage, extent) in _modes(fact):
        return whole, whole  # all of them: the blocks along K of an MMA's operand without stages, a thread's values
    if not stage or _goes_on(fact, stage):
        return _OPEN, None  # a copy of several stages
    first = begin + (offset - begin // int(bits)) // step * step * int(bits)
    return whole, (first, first + (length - (extent - 1) * step) * int(bits))


@once
def _sizes(layout: Layout) -> tuple[int | None, int | None, list[tuple[Any, Any]]] | None:
    """The cosize, the size of the last mode and what that is made of, as far as known; None where it cannot be said."""
    try:
        last = get(layout, rank(layout) - 1)
        length, extent = known_value(cosize(layout)), known_value(size(last))
    except (CuteError, UndecidedError):
        return None
    modes = zip(*(it.flatten_to_tuple(x) for x in (last.shape, last.stride)), strict=True)
    return length, extent, [(n, d) for n, d in modes if n != 1]


def whole_of(fact: TensorFact, begin: int) -> tuple[int, int]:
    """The bits of the whole tensor that an operand is of; an end before the start where it is not known."""
    root = fact.root_layout
    inner = root.b if isinstance(root, ComposedLayout) else root
    bits = fact.root_bits or (fact.dtype.bits if fact.dtype is not None else None)
    if not isinstance(inner, Layout) or not bits:
        return _OPEN
    known = _sizes(inner)
    length = None if known is None else known[0]
    return _OPEN if length is None else (begin, begin + length * int(bits))


def tensor_of(fact: TensorFact, begin: int | None, within: tuple[str, int] | None) -> Place:
    """The whole tensor in shared memory that an operand is of, whose ``begin`` (bits) in its buffer may be known."""
    whole = _OPEN if begin is None else whole_of(fact, begin)
    return Place(fact.name, fact.span, "smem", fact.buffer or "", 0, whole, whole=within)


def may_overlap(one: Place, other: Place, is_dynamic: Callable[[str], bool]) -> bool:
    """Whether two tensors in shared memory may lie over one another; all ``extern __shared__`` arrays start at one
    place."""
    first, second = variable_of(one.buffer), variable_of(other.buffer)
    if first != second:
        return is_dynamic(first) and is_dynamic(second)
    spans = [_interval(p, same=one.buffer == other.buffer) for p in (one, other)]
    if any(s is None for s in spans):
        return True
    (low, high), (lo, hi) = (s or (0, 0) for s in spans)
    return low < hi and lo < high


def _interval(place: Place, same: bool) -> tuple[int, int] | None:
    """The bits of the whole tensor in its variable, or in its buffer, which both tensors are in."""
    low, high = place.root
    if high <= low or (place.whole is None and not same):
        return None
    before = 0 if same or place.whole is None else place.whole[1]
    return before + low, before + high


def _goes_on(fact: TensorFact, stage: int) -> bool:
    """Whether an operand has elements that are a whole stage apart."""
    inner = fact.layout.b if isinstance(fact.layout, ComposedLayout) else fact.layout
    if not isinstance(inner, Layout):
        return True
    return any(n != 1 and isinstance(d, int) and d > 0 and d % stage == 0 for d, n in _modes(fact))


def _modes(fact: TensorFact) -> list[tuple[object, object]]:
    """Strides and extents of an operand's modes."""
    inner = fact.layout.b if isinstance(fact.layout, ComposedLayout) else fact.layout
    if not isinstance(inner, Layout):
        return []
    return [*zip(*(it.flatten_to_tuple(x) for x in (inner.stride, inner.shape)), strict=True)]


def is_asynchronous(tiled: object) -> bool:
    """A copy by ``cp.async``, which goes on after its call."""
    atom = tiled.atom if isinstance(tiled, TiledCopy) else tiled
    return isinstance(atom, CopyAtom) and atom.op.startswith("SM80_CP_ASYNC")


def followed(tiled: object, space: str) -> bool:
    """Whether a copy is one that this run follows: plain, by ``cp.async`` or ``ldmatrix``."""
    atom = tiled.atom if isinstance(tiled, TiledCopy) else tiled
    return space != "coord" and not (isinstance(atom, CopyAtom) and ("TMA" in atom.op or "BULK" in atom.op))


def by_hardware(kind: str, tiled: object, facts: list[TensorFact]) -> tuple[str, str, bool]:
    """What a copy or gemm is to barriers: a load or store by TMA, or an MMA that goes on after its call."""
    atom = getattr(tiled, "atom", tiled)
    op = str(getattr(atom, "op", ""))
    if kind == "copy" and ("TMA" in op or "BULK" in op):
        loads = facts[-1].space == "smem" if op.endswith("BULK_COPY_AUTO") else "LOAD" in op or "G2S" in op
        return ("load" if loads else "drain"), "tma", True
    described = kind == "gemm" and any(f.space == "smem" and f.dtype == DESCRIPTOR for f in facts)
    by = "" if not described else "umma" if any(f.space == "tmem" for f in facts) else "wgmma"
    return kind, by, described


def reduces(tiled: object) -> bool:
    """Whether a store adds to what is there, or joins it in another way."""
    return "REDUCE" in str(getattr(getattr(tiled, "atom", tiled), "op", "")).upper()


def variable_of(buffer: str) -> str:
    """The variable in shared memory that a member is of."""
    head, colons, own = buffer.rpartition("::")
    return head + colons + own.partition(".")[0]
