"""Elements and matrices that do not exist in a mode of global memory, at the numbers of the kernel's launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, Int, as_expr, known_value
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.launched import Blocks, blocks_of, by_block, come_there, number_of
from cutecheck.rules.derive.vectors import leaves

_THREAD = "threadIdx.x"
_MOST = 1 << 17  # threads of all blocks that are looked at


@record(frozen=True, slots=True)
class Beyond:
    """A block (and thread, of single elements) that goes to ``at`` along a mode with ``many``."""

    block: tuple[int, int, int]
    thread: int | None
    mode: int
    at: int
    many: int


def beyond_mode(made: Event | Call, tensor: TensorFact, context: Context) -> Beyond | None:
    """The first element past the end of its mode that a thread stores; of copies, along modes of which a tile has one
    element alone (a head, a matrix of a batch), by blocks that come there."""
    blocks = blocks_of(made, context)
    if blocks is None:
        return None
    single = isinstance(made, Call)
    threads = _threads(blocks) if single else 1
    free = (_THREAD,) if single else ()
    comes = come_there(made.guards, blocks, free)
    if comes is None or threads is None:
        return None
    if isinstance(made, Call) and (known := _extents(tensor)) is not None:
        return _behind(made, tensor, known, blocks, threads, comes)
    modes = modes_of(tensor)
    if modes is None:
        return None
    first = [loop.item for loop in made.loops] if not single else []
    for mode, (extent, at, span) in enumerate(modes):
        if single and _by_own_passes(made, at):
            continue
        many = number_of(as_expr(extent), blocks.numbers)
        place = by_block(at, blocks, free, first) if many is not None and span == 1 else None
        if many is None or place is None or known_value(extent) is not None:
            continue
        for block in blocks.at[: max(1, _MOST // threads)]:
            for thread in range(threads):
                given = (*block, thread) if single else block
                value = _value(place, given)
                if value is not None and value >= many and comes(*given):
                    return Beyond(block, thread if single else None, mode, value, many)
    return None


def _extents(tensor: TensorFact) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Extents and strides of a whole tensor of which all are numbers, each stride behind all of the mode before."""
    root = tensor.root_layout
    if tensor.space != "gmem" or tensor.root_start_bits != 0 or not isinstance(root, Layout):
        return None
    modes = leaves(root.shape, root.stride)
    found = [(known_value(n), known_value(d)) for n, d in modes or ()]
    known = [(n, d) for n, d in found if n is not None and d is not None]
    if not known or len(known) < len(found) or tensor.root_bits not in (None, tensor.dtype and tensor.dtype.bits):
        return None
    reach = 0
    for n, d in sorted(known, key=lambda mode: mode[1]):
        if d <= reach:
            return None
        reach += (n - 1) * d
    return tuple(n for n, _ in known), tuple(d for _, d in known)


def _behind(
    made: Call, tensor: TensorFact, known: tuple[tuple[int, ...], tuple[int, ...]], blocks: Blocks, threads: int,
    comes: Callable[..., bool],
) -> Beyond | None:  # fmt: skip
    """The first element that lies behind the whole tensor: its coordinate along the mode that goes on furthest."""
    extents, strides = known
    if not isinstance(tensor.offset, (int, Dyn)):
        return None
    offset = as_expr(tensor.offset)
    for loop in made.loops:  # in the last pass, where it is known which that is
        item = next((v for v in offset.variables() if v.name == loop.item), None)
        lo, hi = (None, None) if item is None else item.domain.bounds()
        if item is not None and lo is not None and hi is not None and (hi - lo) // item.domain.step + 1 == loop.trips:
            last = lo + (loop.trips - 1) * item.domain.step  # `hi` need be none of its values
            offset = offset.substitute({item.name: ex.const(last)})
    place = None if _by_own_passes(made, offset) else by_block(offset, blocks, (_THREAD,))
    end = 1 + sum((n - 1) * d for n, d in zip(extents, strides, strict=True))
    mode = max(range(len(strides)), key=lambda i: (extents[i] > 1, strides[i]))
    for block in blocks.at[: max(1, _MOST // threads)] if place is not None else ():
        for thread in range(threads):
            value = None if place is None else _value(place, (*block, thread))
            if value is not None and value >= end and comes(*block, thread):
                return Beyond(block, thread, mode, value // strides[mode], extents[mode])
    return None


def _by_own_passes(made: Event | Call, at: Expr) -> bool:
    """Whether passes of a loop that each thread may begin elsewhere count (`for i in range(thread, n, threads)`): the
    condition by which it has a first pass is none of what is known. A loop from tile to tile goes on by the grid."""
    open_ = {x.item for x in made.loops if x.trips is None}
    own = [{v.name for v in Expr((term,)).variables()} for part in (at, *_inside(at)) for term in part.terms]
    passes = [names for names in own if any(n in open_ or n.startswith("iteration#") for n in names)]
    return any(_THREAD in names for names in own) and any("gridDim.x" not in names for names in passes)


def _inside(e: Expr) -> Iterator[Expr]:
    for monomial, _ in e.terms:
        for atom in monomial:
            for part in () if isinstance(atom, ex.Var) else atom.args:
                yield part
                yield from _inside(part)


def _value(place: Callable[..., int], given: tuple[int, ...]) -> int | None:
    try:
        return place(*given)
    except ZeroDivisionError:
        return None


def _threads(blocks: Blocks) -> int | None:
    return None if blocks.launch.block_threads is None else known_value(blocks.launch.block_threads)


def modes_of(tensor: TensorFact) -> list[tuple[Int, Expr, int]] | None:
    """Of each mode of the whole tensor its extent, where the tile starts along it, and how far that goes at least (2
    stands for more than one)."""
    root, offset = tensor.root_layout, tensor.offset
    if not isinstance(root, Layout):
        return None
    if tensor.space == "coord":
        return _coordinates(tensor, root)
    if tensor.space != "gmem" or tensor.root_start_bits != 0:
        return None  # a part of memory that holds more
    modes = leaves(root.shape, root.stride)
    if modes is None or not isinstance(offset, (int, Dyn)):
        return None
    strides = [as_expr(stride) for _, stride in modes]
    if len(set(strides)) < len(strides) or any(s.constant not in (None, 1) for s in strides):
        return None
    parts = _split(as_expr(offset), strides)
    if parts is None:
        return None
    of_tile = set(_strides(tensor))
    return [
        (extent, part, 2 if s in of_tile else 1) for (extent, _), s, part in zip(modes, strides, parts, strict=True)
    ]


def _coordinates(tensor: TensorFact, root: Layout) -> list[tuple[Int, Expr, int]] | None:
    """Of TMA's tensors."""
    offset = tensor.offset
    if not isinstance(offset, tuple) or not isinstance(root.shape, tuple) or not isinstance(root.stride, tuple):
        return None
    taken = {d.path for d in _steps(tensor) if isinstance(d, ScaledBasis)}
    found: list[tuple[Int, Expr, int]] = []
    for extent, stride in zip(root.shape, root.stride, strict=True):
        if not isinstance(extent, (int, Dyn)) or not isinstance(stride, ScaledBasis) or len(stride.path) != 1:
            return None
        at = offset[stride.path[0]] if stride.path[0] < len(offset) else 0
        if not isinstance(at, (int, Dyn)) or stride.value != 1:
            return None
        found.append((extent, as_expr(at), 2 if stride.path in taken else 1))
    return found


def _steps(tensor: TensorFact) -> Iterator[object]:
    """The strides of a tile's modes of more than one element."""
    for layout in (tensor.layout, tensor.tile_layout):
        plain = layout.b if isinstance(layout, ComposedLayout) else layout
        if isinstance(plain, Layout):
            shape, stride = it.flatten_to_tuple(plain.shape), it.flatten_to_tuple(plain.stride)
            yield from (d for n, d in zip(shape, stride, strict=True) if n != 1)


def _strides(tensor: TensorFact) -> Iterator[Expr]:
    for d in _steps(tensor):
        if isinstance(d, (int, Dyn)):
            yield from (as_expr(d), *(as_expr(1) for _ in range(as_expr(d).constant is not None)))
            for v in as_expr(d).variables():
                yield Expr((((v,), 1),))


def _split(offset: Expr, strides: list[Expr]) -> list[Expr] | None:
    """How often each stride is in the offset; what has none of their variables is of the contiguous mode."""
    named = {s.terms[0][0][0]: i for i, s in enumerate(strides) if s.constant is None and _is_variable(s)}
    unit = next((i for i, s in enumerate(strides) if s.constant == 1), None)
    if len(named) + (unit is not None) < len(strides):
        return None
    terms: list[list[tuple[tuple[object, ...], int]]] = [[] for _ in strides]
    for monomial, factor in offset.terms:
        at = [a for a in monomial if a in named]
        if len(at) > 1 or (not at and unit is None):
            return None
        rest = list(monomial)
        for a in at:
            rest.remove(a)
        terms[named[at[0]] if at else unit or 0].append((tuple(rest), factor))
    return [Expr(tuple(t)) for t in terms]  # type: ignore[arg-type]


def _is_variable(stride: Expr) -> bool:
    return len(stride.terms) == 1 and stride.terms[0][1] == 1 and len(stride.terms[0][0]) == 1


__all__ = ["Beyond", "beyond_mode", "modes_of"]
