"""What the launches of a run say of a kernel."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Event, Facts, Launch, SmemBuffer
from cutecheck.facts.index import place_of
from cutecheck.model import expr as ex
from cutecheck.model.algebra import cosize
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Int, as_expr, known_value
from cutecheck.model.prove.properties import THREAD
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.rules.base import Context
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.takers import divides

_OF_THREAD = "threadIdx."


def kernel_name(launch: Launch) -> str:
    """The kernel without its template arguments."""
    return launch.kernel.split("<")[0]


def only_tried(buffer: SmemBuffer, context: Context) -> bool:
    """Whether each launch of the kernel that has the buffer is one that the program expects to fail here or there."""
    found = [x for x in context.index.launches_of.get(buffer.enclosing, []) if x.arch in ("", buffer.arch)]
    return bool(found) and all(x.tried for x in found)


def dynamic_bytes(buffer: SmemBuffer, context: Context) -> int | None:
    """Bytes of dynamic shared memory of every launch of the kernel that has the buffer, the least; None: open.

    Several kernels may call the function that declares it: then those of the kernel that is given most. The DSL's
    kernels allocate theirs: a buffer of no known size is then not all that the launch asks for.
    """
    if buffer.span.is_python or in_static(buffer, context.facts):
        return None
    found: list[int] = []
    for kernel in _kernels_with(context).get((buffer.buffer_id, buffer.arch), {buffer.enclosing}):
        sizes = [
            None if x.smem_bytes is None else known_value(x.smem_bytes)
            for x in context.facts.launches
            if x.origin == "launch" and x.kernel == kernel and x.arch in ("", buffer.arch)
        ]
        known = [s for s in sizes if s is not None]
        if not known or len(known) < len(sizes):
            return None
        found.append(min(known))
    return max(found)


def _kernels_with(context: Context) -> dict[tuple[str, str], set[str]]:
    """The kernels that copy to or from a buffer, or a member of it, or multiply what is there."""
    if "kernels with" not in context.memo:
        found: dict[tuple[str, str], set[str]] = {}
        for event in context.facts.events:
            for tensor in event.operands if event.kernel else ():
                name = tensor.buffer if tensor.space == "smem" else None
                while name:
                    found.setdefault((name, event.arch), set()).add(event.kernel)
                    before, _, member = name.rpartition(".")
                    name = "" if "::" in member else before
        context.memo["kernels with"] = found
    return cast("dict[tuple[str, str], set[str]]", context.memo["kernels with"])


def allocated(launch: Launch, context: Context) -> list[SmemBuffer]:
    """The buffers of known size that a kernel of the DSL allocates, in helpers too, from what its launch asks for.

    Empty where launches of the kernel ask for different sizes: which of them has the buffers is not known.
    """
    if not launch.span.is_python or launch.smem_bytes is None:
        return []
    others = [x for x in context.index.launches_of.get(launch.kernel, []) if x.arch == launch.arch]
    if any(x.smem_bytes != launch.smem_bytes for x in others):
        return []
    starts = (f"{launch.kernel}::", f"{launch.kernel}/")
    mine = [
        b
        for b in context.facts.buffers
        if b.arch == launch.arch and b.buffer_id.startswith(starts) and "::smem@" in b.buffer_id
    ]
    return [b for b in mine if b.size_bytes is not None and known_value(b.size_bytes) is not None]


def in_dynamic(buffer: SmemBuffer, facts: Facts) -> bool:
    """True for a member of a struct that lies in dynamic shared memory."""
    return any(
        b.size_bytes is None and b.arch == buffer.arch and buffer.buffer_id.startswith(f"{b.buffer_id}.")
        for b in facts.buffers
    )


def in_static(buffer: SmemBuffer, facts: Facts) -> bool:
    """True for a member of a struct of known size: a ``__shared__`` variable, whatever the launch asks for."""
    return any(
        b.size_bytes is not None and b.arch == buffer.arch and buffer.buffer_id.startswith(f"{b.buffer_id}.")
        for b in facts.buffers
    )


def left_of(buffer: SmemBuffer, context: Context) -> int | None:
    """Bytes of dynamic shared memory from the start of a member of a struct that lies in it, by the least launch."""
    start = None if buffer.start_bytes is None else known_value(buffer.start_bytes)
    whole = next(
        (b for b in context.facts.buffers if b.size_bytes is None and b.arch == buffer.arch and _holds(b, buffer)), None
    )
    launched = None if whole is None or start is None else dynamic_bytes(whole, context)
    return None if launched is None or start is None else launched - start


def _holds(whole: SmemBuffer, part: SmemBuffer) -> bool:
    return part.buffer_id.startswith(f"{whole.buffer_id}.")


def threads_of(tiled: object | None) -> Int | None:
    """One more than the highest thread index of a tiled object; None for what has no threads of its own."""
    if isinstance(tiled, TiledCopy):
        return tiled.num_thr
    if isinstance(tiled, TiledMMA):
        threads = cosize(tiled.thr_layout_vmnk)
        return threads if isinstance(threads, int) else None
    return None


def partitioned_by(event: Event) -> TiledCopy | None:
    """The tiled copy whose slice at the thread's index, or that less those before it, a copy by an atom alone moves."""
    for tensor in event.operands if event.kind == "copy" else ():
        if _counts_threads(tensor.thread) and tensor.provenance == "partition" and isinstance(tensor.source, TiledCopy):
            return tensor.source
    return None


def _counts_threads(index: Int | None) -> bool:
    """``threadIdx.x``, ``threadIdx.x - 128``."""
    if index is None:
        return False
    thread = next((v for v in as_expr(index).variables() if v.name == THREAD), None)
    ahead = None if thread is None else ex.sub(ex.var(THREAD, thread.domain), as_expr(index)).constant
    return ahead is not None and ahead >= 0


def launches_of(event: Event, threads: int, context: Context) -> list[Launch]:
    """The launch or launch bounds of the kernel an event is in, where it is the kernel itself."""
    found = [x for x in context.index.launches_of.get(event.enclosing, []) if x.arch in ("", event.arch)]
    return [x for x in found if x.block_threads is not None and known_value(x.block_threads) == threads][:1]


def slices_taken(event: Event, threads: int, context: Context) -> int | None:
    """How many slices of its TiledCopy a block takes, all copies of the function together, or all to the same shared
    memory, of a tile with parts for all; None for all slices, or unknown."""
    atom = event.tiled.atom if isinstance(event.tiled, TiledCopy) else None
    if not isinstance(event.tiled, TiledCopy) or atom is None or "TMA" in atom.op or "BULK" in atom.op:
        return None
    want = known_value(event.tiled.num_thr)
    key = (*place_of(event), str(event.tiled), "")
    target = event.operands[1] if len(event.operands) > 1 else None
    taken = _slices(_slice_indices(context).get(key), threads, want)
    if taken is None and target is not None and target.space == "smem" and target.buffer and divides(event, target):
        taken = _slices(_slice_indices(context).get((*key[:-1], target.buffer)), threads, want)  # others may take all
    return taken


def slices_behind(event: Event, threads: int, context: Context) -> bool:
    """Whether threads of a block of so many take slices of others, too: those of ``t``, of a copy made for 128 threads,
    in ``for (t = threadIdx.x; t < 128; t += 64)``."""
    key = (*place_of(event), str(event.tiled), "")
    own = {as_expr(t.thread) for t in event.operands if t.thread is not None}
    for index in own | _slice_indices(context).get(key, set()):
        if any(not v.name.startswith(_OF_THREAD) for v in index.variables()):
            return True
        highest = ex.bounds(index)[1] if threads <= LARGEST_BLOCK else None
        if {v.name for v in index.variables()} == {THREAD} and highest is not None and highest >= threads:
            try:
                if max(index.evaluate({THREAD: t}) for t in range(threads)) >= threads:
                    return True
            except (KeyError, ZeroDivisionError, ValueError):
                continue
    return False


def _slices(indices: set[Expr] | None, threads: int, want: int | None) -> int | None:
    if not indices or want is None or threads > LARGEST_BLOCK:
        return None
    taken: set[int] = set()
    for index in indices:
        if [v.name for v in index.variables()] != [THREAD]:
            return None  # a constant: of instructions that one thread issues, and whose threads are CTAs
        try:
            taken |= {index.evaluate({THREAD: t}) for t in range(threads)}
        except (KeyError, ZeroDivisionError, ValueError):
            return None
    return len(taken) if taken < set(range(want)) else None


def _slice_indices(context: Context) -> dict[tuple[str, ...], set[Expr]]:
    """Indices that each TiledCopy of a function is sliced by, where its copies partition their operands; also of those
    to one buffer."""
    if "slice indices" not in context.memo:
        found: dict[tuple[str, ...], set[Expr]] = {}
        for event in context.facts.events:
            for tensor in event.operands if event.kind == "copy" and isinstance(event.tiled, TiledCopy) else ():
                if tensor.thread is not None and tensor.provenance == "partition" and tensor.source == event.tiled:
                    key = (*place_of(event), str(event.tiled))
                    for to in {"", event.operands[-1].buffer or ""}:
                        found.setdefault((*key, to), set()).add(as_expr(tensor.thread))
        context.memo["slice indices"] = found
    return cast("dict[tuple[str, ...], set[Expr]]", context.memo["slice indices"])
