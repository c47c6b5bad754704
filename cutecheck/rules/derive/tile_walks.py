"""Which blocks a tile of global memory belongs to: by the modes of its tensor, the block indices that walk them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model.algebra import flatten
from cutecheck.model.ints import Dyn, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.block_walks import alone, walks
from cutecheck.rules.derive.coordinates import INDICES
from cutecheck.rules.derive.guards import inner, of_limits, same_in_all_blocks, same_threads_in_all_blocks
from cutecheck.rules.derive.targets import atom_of_event, is_own
from cutecheck.rules.derive.uses import uses_of
from cutecheck.rules.derive.vectors import leaves

RESULTS = ("partition_C", "local_partition", "axpby")  # calls that may take a tile of C
_FRESH = re.compile(r"#\d+")


@record(frozen=True, slots=True)
class Product:
    """The one product of a kernel: what global memory its operands come from, in the first of all places."""

    gemm: Event
    a: TensorFact
    b: TensorFact
    places: tuple[tuple[TensorFact, ...], tuple[TensorFact, ...]]
    accumulators: str
    shapes: tuple[frozenset[str], frozenset[str]]  # rows of A and of B, as text: without the numbers of walks


def product_of(kernel: str, arch: str, context: Context) -> Product | None:
    """The product of a kernel whose MMAs all add to the same accumulators, where its operands are known."""
    key = (kernel, arch)
    memo = cast("dict[tuple[str, str], Product | None]", context.memo.setdefault("products of tiles", {}))
    if key not in memo:
        memo[key] = _product(kernel, arch, context)
    return memo[key]


def _product(kernel: str, arch: str, context: Context) -> Product | None:
    events = [e for e in context.facts.events if e.kernel == kernel and e.arch == arch]
    gemms = [e for e in events if e.kind == "gemm"]
    if any(e.reason is not None or len(e.operands) < 3 for e in gemms):
        return None
    results = {e.operands[0].buffer if len(e.operands) > 3 else e.operands[-1].buffer for e in gemms}
    if not gemms or len(results) != 1 or None in results or any(e.tiled != gemms[0].tiled for e in gemms):
        return None
    copies = [e for e in events if e.kind == "copy" and len(e.operands) > 1]
    accumulators = next(iter(results))
    a = _sources([(e, e.operands[-3]) for e in gemms], copies)
    b = _sources([(e, e.operands[-2]) for e in gemms], copies)
    if not a or not b or accumulators is None:
        return None
    rows = [frozenset(extent_of(t, 0) for t in found) for found in (a, b)]
    return Product(gemms[0], a[0], b[0], (tuple(a), tuple(b)), accumulators, (rows[0], rows[1]))


def extent_of(tensor: TensorFact, mode: int) -> str:
    """Of a mode of the whole tensor, as text, the same in all walks of its kernel; empty where it is not known."""
    root = tensor.root_layout
    if not isinstance(root, Layout) or not isinstance(root.shape, tuple) or len(root.shape) <= mode:
        return ""
    return _FRESH.sub("", str(root.shape[mode]))


def _sources(reads: list[tuple[Event, TensorFact]], copies: list[Event]) -> list[TensorFact]:
    """The global tiles that what is read comes from; none where blocks walk the rows of several otherwise.

    Where something else walks those of one operand (a loop from tile to tile), the other's are known still.
    """
    found = _brought(reads, copies)
    known = [w[0] if (w := walks(t)) is not None else None for t in found]
    return found if found and all(w == known[0] for w in known) else []


def _brought(reads: list[tuple[Event, TensorFact]], copies: list[Event]) -> list[TensorFact]:
    """The global tiles that copies bring what is read from; none where not all of it is brought by copies."""
    found: list[TensorFact] = []
    todo, seen = [*reads], set[tuple[str, int]]()
    while todo:
        event, tensor = todo.pop()
        if tensor.space in ("gmem", "coord"):
            found.append(tensor)
            continue
        filled = [c for c in copies if _fills(c, event, tensor)]
        if not filled:
            return []
        for copy in filled:
            if (copy.event_id, copy.order) not in seen:
                seen.add((copy.event_id, copy.order))
                todo.append((copy, copy.operands[0]))
    return found


def brought(event: Event, copies: list[Event]) -> list[TensorFact]:
    """The global tiles that what a copy stores comes from."""
    return _brought([(event, event.operands[0])], copies)


def moved(event: Event, context: Context) -> tuple[TensorFact, str] | None:
    """A tile that a copy stores where all blocks along an index store theirs: whence it comes, and the index."""
    if event.kind != "copy" or len(event.operands) < 2 or event.operands[1].space != "gmem" or event.predicated:
        return None
    if is_own(event):
        return None
    target = event.operands[1].offset
    if not isinstance(target, (int, Dyn)) or not all(map(same_in_all_blocks, inner(event.guards))):
        return None
    copies = [e for e in context.facts.events if (e.kernel, e.arch, e.kind) == (event.kernel, event.arch, "copy")]
    if any(c.operands[0].buffer == event.operands[1].buffer for c in copies):
        return None  # blocks may add to it, one after the other
    sources = _brought([(event, event.operands[0])], [c for c in copies if len(c.operands) > 1])
    names = {v.name for v in as_expr(target).variables()}
    root = event.operands[1].root_layout
    modes = leaves(root.shape, root.stride) if isinstance(root, Layout) else None
    known = {v.name for mode in modes or () for n in mode if isinstance(n, Dyn) for v in as_expr(n).variables()}
    loose = [v for v in as_expr(target).variables() if not v.name.startswith(INDICES) and v.domain.bounds()[1] is None]
    for source in sources:
        if isinstance(source.offset, (int, Dyn)) and all(v.name in known for v in loose):
            by = {v.name for v in as_expr(source.offset).variables() if v.name.startswith("blockIdx.")}
            if by - names:
                return source, min(by - names)
    return None


def stored_alike(event: Event, context: Context) -> tuple[TensorFact, str] | None:
    """A tile that TMA stores where all blocks along an index store theirs, which says what the kernel loads: what is
    loaded so, and the index."""
    offset = event.operands[1].offset if stored([event]) else None
    if not isinstance(offset, tuple) or event.loops or not all(map(same_threads_in_all_blocks, inner(event.guards))):
        return None
    numbers = [as_expr(n) for n in offset if isinstance(n, (int, Dyn))]
    names = {v.name for n in numbers for v in n.variables()}
    if len(numbers) != len(offset) or not all(name.startswith("blockIdx.") for name in names):
        return None
    for load in context.facts.events:
        if load.kind != "copy" or (load.kernel, load.arch) != (event.kernel, event.arch) or load.predicated:
            continue
        if load.operands[0].space != "coord" or not all(map(same_threads_in_all_blocks, inner(load.guards))):
            continue
        by = {at[0] for walk in walks(load.operands[0]) or () if (at := alone(walk)) is not None} - names
        if by:
            return load.operands[0], min(by)
    return None


def kept_by_all(event: Event, context: Context) -> tuple[TensorFact, str] | None:
    """A tile that threads store, in no loop, where all blocks along an index store theirs, which says what the kernel
    loads: what is loaded so, and the index. Conditions leave out what is behind ends of matrices, and no block."""
    if event.kind != "copy" or len(event.operands) < 2 or event.operands[1].space != "gmem" or event.predicated:
        return None
    target = event.operands[1]
    if is_own(event) or event.loops or not isinstance(target.offset, (int, Dyn)) or not _by_all(event):
        return None
    names = {v.name for v in as_expr(target.offset).variables()}
    root = target.root_layout
    modes = leaves(root.shape, root.stride) if isinstance(root, Layout) else None
    known = {v.name for mode in modes or () for n in mode if isinstance(n, Dyn) for v in as_expr(n).variables()}
    if any("#" in n or PER_THREAD in n for n in names - known) or not any(n.startswith("blockIdx.") for n in names):
        return None
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (event.kernel, event.arch)]
    copies = [e for e in mine if e.kind == "copy" and len(e.operands) > 1]
    if not any(e.kind == "gemm" for e in mine) or any(c.operands[0].buffer == target.buffer for c in copies):
        return None  # the others may add to it
    for load in copies:
        if load.operands[0].space != "gmem" or load.operands[1].space == "gmem" or not _by_all(load) or load.loops:
            continue
        by = _blocks_of(load.operands[0]) - names
        again = (c.operands[1] for c in copies if c.operands[1].buffer == target.buffer)
        if by and not any(_blocks_of(t) & by for t in again):
            return load.operands[0], min(by)
    return None


def _by_all(event: Event) -> bool:
    """Threads of all blocks come there, where ends of matrices are far away."""
    return all(of_limits(g) or same_threads_in_all_blocks(g) for g in inner(event.guards))


def _blocks_of(tensor: TensorFact) -> set[str]:
    offset = tensor.offset
    names = {v.name for v in as_expr(offset).variables()} if isinstance(offset, (int, Dyn)) else set[str]()
    return {n for n in names if n.startswith("blockIdx.")}


def _fills(copy: Event, event: Event, tensor: TensorFact) -> bool:
    to = copy.operands[1]
    if tensor.buffer is None or to.buffer != tensor.buffer or to.space != tensor.space:
        return False
    if copy.operands[0].space == "rmem" and copy.order > event.order and not set(copy.loops) & set(event.loops):
        return False  # after it: results that are stored where operands were
    mine = [u for u in uses_of(event) if u.tensor is tensor]
    theirs = [u for u in uses_of(copy) if u.tensor is to]
    return not mine or not theirs or (mine[0].first < theirs[0].last and theirs[0].first < mine[0].last)


def result_of(call: Call, context: Context) -> TensorFact | None:
    """The tile of C that a call partitions: by the MMA, or among threads where nothing is copied from its tensor."""
    made = product_of(call.kernel, call.arch, context)
    if made is None or not call.arguments:
        return None
    if call.function == "axpby" and len(call.arguments) > 3:
        sums, tensor = call.arguments[1], call.arguments[3]
        judged = any(c.function != "axpby" and result_of(c, context) is not None for c in _calls(call, context))
        if not isinstance(sums, TensorFact) or not isinstance(tensor, TensorFact) or judged:
            return None
        return tensor if sums.buffer == made.accumulators else None
    if call.function == "partition_C" and len(call.arguments) > 1:
        tensor = call.arguments[1]
        mine = isinstance(tensor, TensorFact) and tensor.space == "gmem" and call.arguments[0] == made.gemm.tiled
        if not isinstance(tensor, TensorFact) or not mine or _broadcast(tensor) or _has_more_tiles(tensor):
            return None
        return tensor
    tensor = call.arguments[0]
    if call.function != "local_partition" or not isinstance(tensor, TensorFact) or tensor.root_layout is None:
        return None
    events = (e for e in context.facts.events if (e.kernel, e.arch) == (call.kernel, call.arch))
    sources = {_strides(e.operands[0]) for e in events if e.kind == "copy"}
    by = {at[0] for w in (walks(tensor) or [])[:2] if (at := alone(w)) is not None}
    rows = [w[0] for t in (made.a, made.b) if (w := walks(t)) is not None]
    needed = {at[0] for w in rows if (at := alone(w)) is not None}
    return tensor if len(by) == 2 and needed <= by and _strides(tensor) not in sources else None


def _broadcast(tensor: TensorFact) -> bool:
    """Whether all rows, or all columns, are the same memory: a bias, or factors of them, and no result."""
    root = tensor.root_layout
    modes = leaves(root.shape, root.stride) if isinstance(root, Layout) else None
    return any(stride == 0 and size != 1 for size, stride in modes or ())


def _has_more_tiles(tensor: TensorFact) -> bool:
    """Which tile is chosen after the tensor was partitioned: it has modes of its own for how many there are."""
    shape = tensor.layout.shape if isinstance(tensor.layout, Layout) else None
    return isinstance(shape, tuple) and any(known_value(n) != 1 for n in flatten(shape[2:]))


def _calls(at: Call | Event, context: Context) -> list[Call]:
    """Where tiles of the same kernel are partitioned."""
    calls = (c for c in context.facts.calls if c.function in ("partition_C", "local_partition"))
    return [c for c in calls if (c.kernel, c.arch) == (at.kernel, at.arch)]


def _strides(tensor: TensorFact) -> str:
    """Those of the whole tensor, as text: not its extents, which another walk of the kernel may name otherwise."""
    root = tensor.root_layout
    return str(root.stride) if isinstance(root, Layout) else ""


def result_stored(event: Event, context: Context) -> TensorFact | None:
    """The tile of global memory that a copy stores the product to, also by way of registers and shared memory."""
    if event.kind != "copy" or len(event.operands) < 2 or event.operands[1].space != "gmem":
        return None
    made = product_of(event.kernel, event.arch, context)
    if made is None or any(result_of(c, context) is not None for c in _calls(event, context)):
        return None
    copies = [e for e in context.facts.events if e.kind == "copy" and len(e.operands) > 1]
    copies = [e for e in copies if (e.kernel, e.arch) == (event.kernel, event.arch)]
    todo, seen = [(event, event.operands[0])], set[tuple[str, int]]()
    while todo:
        at, tensor = todo.pop()
        if tensor.space == "rmem" and tensor.buffer == made.accumulators:
            return event.operands[1]
        filled = [c for c in copies if c.operands[0].space in ("rmem", "smem") and _fills(c, at, tensor)]
        if not filled and tensor.space == "rmem" and _of_product(event.operands[1], made):
            return event.operands[1]  # the sums, converted to another type element by element
        todo += [(c, c.operands[0]) for c in filled if (c.event_id, c.order) not in seen]
        seen |= {(c.event_id, c.order) for c in filled}
    return None


def _of_product(tensor: TensorFact, made: Product) -> bool:
    """Whether a tile is of a matrix that has, by the names of both, as many rows and columns as the product."""
    root = tensor.root_layout
    two = isinstance(root, Layout) and isinstance(root.shape, tuple) and len(root.shape) == 2
    extents = [extent_of(tensor, mode) for mode in (0, 1)] if two else []
    return len(set(extents)) == 2 and all(
        e and not e.isdigit() and e in s for e, s in zip(extents, made.shapes, strict=True)
    )


def stored(events: Iterable[Event]) -> list[tuple[Event, TensorFact]]:
    """What TMA stores to, as coordinates."""
    out: list[tuple[Event, TensorFact]] = []
    for event in events:
        atom = atom_of_event(event)
        if event.kind == "copy" and atom is not None and "TMA_STORE" in atom.op and len(event.operands) > 1:
            out.append((event, event.operands[1]))
    return out


__all__ = [
    "RESULTS",
    "Product",
    "brought",
    "extent_of",
    "kept_by_all",
    "moved",
    "product_of",
    "result_of",
    "result_stored",
    "stored",
    "stored_alike",
]
