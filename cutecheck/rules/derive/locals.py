"""Partitions by ``local_partition``: of which layout of threads, and by which index."""

from __future__ import annotations

from itertools import chain
from typing import cast

from cutecheck.facts import Call, Event, Launch, TensorFact
from cutecheck.facts.index import place_of
from cutecheck.model import expr as ex
from cutecheck.model.algebra import cosize
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import CuteError, Dyn, Int, UndecidedError, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.base import Context
from cutecheck.rules.derive.vectors import mode_sizes


def _calls(context: Context) -> dict[str, list[tuple[Call, TensorFact, Layout]]]:
    """The calls of ``local_partition`` in C++ by kernel, with the tensor and the layout of threads."""
    if "calls of local_partition" not in context.memo:
        found: dict[str, list[tuple[Call, TensorFact, Layout]]] = {}
        for call in context.facts.calls:
            if call.function != "local_partition" or call.span.is_python or len(call.arguments) < 3:
                continue
            tensor, threads = call.arguments[:2]
            if isinstance(tensor, TensorFact) and isinstance(threads, Layout):
                found.setdefault(call.kernel, []).append((call, tensor, threads))
        context.memo["calls of local_partition"] = found
    return cast("dict[str, list[tuple[Call, TensorFact, Layout]]]", context.memo["calls of local_partition"])


def threads_taken(call: Call, context: Context) -> int | None:
    """How many threads a call of ``local_partition`` has parts for, where each thread takes that of its own index."""
    threads = call.arguments[1] if call.function == "local_partition" and len(call.arguments) > 2 else None
    if not isinstance(threads, Layout) or call.span.is_python:
        return None
    same = [c for c, _, layout in _calls(context).get(call.kernel, []) if layout == threads]
    if not all(_own_index(c.arguments[2]) for c in same):
        return None
    try:
        return known_value(cosize(threads))
    except (CuteError, UndecidedError):
        return None


def _own_index(index: object) -> bool:
    if not isinstance(index, Dyn):
        return False
    expression = as_expr(index)
    variables = [v for v in expression.variables() if v.name == THREAD]
    return len(variables) == 1 and ex.sub(expression, ex.var(THREAD, variables[0].domain)).constant == 0


def smallest_launch(call: Call, context: Context) -> tuple[int, Launch] | None:
    """The fewest threads that the kernel of a call is launched with; by its bounds where nothing launches it."""
    found = [x for x in context.index.launches_of.get(call.kernel, []) if x.arch in ("", call.arch)]
    real = [x for x in found if x.origin == "launch"] or [x for x in found if x.origin == "launch_bounds"]
    sizes = [(known_value(x.block_threads), x) for x in real if x.block_threads is not None]
    known = [(n, x) for n, x in sizes if n is not None]
    return min(known, key=lambda pair: pair[0]) if known and len(known) == len(real) else None


def tile_of(tensor: TensorFact, event: Event, context: Context) -> list[tuple[Int, Int]]:
    """(extent of the tensor, threads along it) of each mode of what ``local_partition`` partitioned."""
    if "local partitions" not in context.memo:
        made: dict[object, list[tuple[Int, Int]]] = {}
        for call, whole, threads in chain.from_iterable(_calls(context).values()):
            if len(call.arguments) > 3 or not isinstance(call.result, TensorFact):
                continue
            if isinstance(whole.layout, ScaledBasis) or not hasattr(whole.layout, "shape"):
                continue
            pairs = list(zip(mode_sizes(whole.layout), mode_sizes(threads), strict=False))  # type: ignore[arg-type]
            made.setdefault((*place_of(call), *_key(call.result)), pairs)
        context.memo["local partitions"] = made
    known = cast("dict[object, list[tuple[Int, Int]]]", context.memo["local partitions"])
    return known.get((*place_of(event), *_key(tensor)), [])


def _key(tensor: TensorFact) -> tuple[object, ...]:
    return tensor.buffer, tensor.layout, tensor.offset
