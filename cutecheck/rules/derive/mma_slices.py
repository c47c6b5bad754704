"""Slices of a TiledMMA that no thread of a block takes of the results that are stored."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model.algebra import size
from cutecheck.model.expr import Expr
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove.properties import THREAD
from cutecheck.model.tiled import TiledMMA
from cutecheck.rules.base import Context
from cutecheck.rules.derive.limits import LARGEST_BLOCK

_K = 3  # the mode of the threads along K: those that differ in it have the same results
RESULT = 3  # of ``axpby(alpha, x, beta, y)``


def results_left(of: Event | Call, tensor: TensorFact, context: Context) -> tuple[int, int, int] | None:
    """Of how many threads of a TiledMMA the block takes the slices, all stores of the kernel together, of how many,
    and the block; None where it takes all, or that is not known.

    Threads that conditions keep back are counted as well.
    """
    if not _stored(tensor):
        return None
    found = _indices(context).get((of.kernel, of.arch, str(tensor.source), tensor.buffer or ""))
    want = _threads(cast("TiledMMA", tensor.source))
    if found is None or want is None or None in found[0] or None in found[1] or len(found[1]) != 1:
        return None
    block = cast("int", next(iter(found[1])))
    taken: set[int] = set()
    for index in cast("set[Expr]", found[0]):
        if [v.name for v in index.variables()] != [THREAD] or block > LARGEST_BLOCK:
            return None  # a constant is said elsewhere
        try:
            taken |= {index.evaluate({THREAD: t}) for t in range(block)}
        except (KeyError, ZeroDivisionError, ValueError):
            return None
    return (len(taken), len(want), block) if taken < want and block >= len(want) else None


def _stored(tensor: TensorFact) -> bool:
    return (
        tensor.space in ("gmem", "smem")
        and isinstance(tensor.source, TiledMMA)
        and tensor.provenance == "partition"
        and tensor.thread is not None
    )


def _threads(mma: TiledMMA) -> set[int] | None:
    """The threads that have results of their own."""
    try:
        layout = mma.thr_layout_vmnk
        shape, many = layout.shape, known_value(size(layout))
        along_k = known_value(size(shape[_K])) if isinstance(shape, tuple) else None
    except (CuteError, NotModelledError, UndecidedError, IndexError):
        return None
    if not isinstance(layout, Layout) or many is None or along_k != 1 or not 1 < many <= LARGEST_BLOCK:
        return None
    found = [layout(i) for i in range(many)]
    return {x for x in found if isinstance(x, int)} if all(isinstance(x, int) for x in found) else None


_Found = tuple[set[Expr | None], set[int | None]]


def _indices(context: Context) -> dict[tuple[str, ...], _Found]:
    """By which indices results are partitioned that a kernel stores to a buffer, and the threads of its blocks."""
    if "slices of results" not in context.memo:
        found: dict[tuple[str, ...], _Found] = {}
        blocks: dict[tuple[str, str], set[int | None]] = {}
        for e in context.facts.events:
            if e.kernel:
                threads = None if e.threads is None else known_value(e.threads)
                blocks.setdefault((e.kernel, e.arch), set()).add(threads)
        for at, tensor in _stores(context):
            if tensor.thread is None or not isinstance(tensor.source, TiledMMA):
                continue
            key = (at.kernel, at.arch, str(tensor.source), tensor.buffer or "")
            indices, sizes = found.setdefault(key, (set(), set()))
            indices.add(as_expr(tensor.thread))
            sizes |= blocks.get((at.kernel, at.arch), {None})
        context.memo["slices of results"] = found
    return cast("dict[tuple[str, ...], _Found]", context.memo["slices of results"])


def _stores(context: Context) -> list[tuple[Event | Call, TensorFact]]:
    found: list[tuple[Event | Call, TensorFact]] = [
        (e, e.operands[-1]) for e in context.facts.events if e.kind == "copy" and e.kernel and len(e.operands) > 1
    ]
    sums = (c for c in context.facts.calls if c.kernel and c.function == "axpby")
    return found + [(c, t) for c in sums for t in c.arguments[RESULT : RESULT + 1] if isinstance(t, TensorFact)]
