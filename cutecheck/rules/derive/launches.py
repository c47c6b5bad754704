"""What the launches of a run say of a kernel."""

from __future__ import annotations

from cutecheck.facts import Event, Facts, Launch, SmemBuffer
from cutecheck.model.algebra import cosize
from cutecheck.model.ints import Int, known_value
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.rules.base import Context


def kernel_name(launch: Launch) -> str:
    """The kernel without its template arguments."""
    return launch.kernel.split("<")[0]


def dynamic_bytes(buffer: SmemBuffer, facts: Facts) -> int | None:
    """Bytes of dynamic shared memory of every launch of the kernel that declares the buffer, the least; None: open."""
    sizes = [
        None if x.smem_bytes is None else known_value(x.smem_bytes)
        for x in facts.launches
        if x.origin == "launch" and x.kernel == buffer.enclosing and x.arch in ("", buffer.arch)
    ]
    known = [s for s in sizes if s is not None]
    return min(known) if known and len(known) == len(sizes) else None


def in_dynamic(buffer: SmemBuffer, facts: Facts) -> bool:
    """True for a member of a struct that lies in dynamic shared memory."""
    return any(
        b.size_bytes is None and b.arch == buffer.arch and buffer.buffer_id.startswith(f"{b.buffer_id}.")
        for b in facts.buffers
    )


def threads_of(tiled: object | None) -> Int | None:
    """One more than the highest thread index of a tiled object; None for what has no threads of its own."""
    if isinstance(tiled, TiledCopy):
        return tiled.num_thr
    if isinstance(tiled, TiledMMA):
        threads = cosize(tiled.thr_layout_vmnk)
        return threads if isinstance(threads, int) else None
    return None


def launches_of(event: Event, threads: int, context: Context) -> list[Launch]:
    """The launch or launch bounds of the kernel an event is in, where it is the kernel itself."""
    found = [x for x in context.index.launches_of.get(event.enclosing, []) if x.arch in ("", event.arch)]
    return [x for x in found if x.block_threads is not None and known_value(x.block_threads) == threads][:1]
