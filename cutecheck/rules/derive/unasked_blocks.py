"""Axes of a grid along which all blocks do the same: their kernel never asks for the index."""

from __future__ import annotations

from collections.abc import Container, Iterator

from cutecheck.facts import Call, Event, Launch, TensorFact
from cutecheck.facts.leftovers import leftovers_of
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.rules.base import Context


def unasked_blocks(call: Call, context: Context) -> Iterator[tuple[Launch, str]]:
    """Launches of several blocks along an axis whose index a kernel does not ask for, which asks for another one."""
    found = leftovers_of(call)
    if found is None or not found.blocks:
        return
    launches = [x for x in context.index.launches_of.get(call.kernel, []) if x.origin == "launch"]
    launches = [x for x in launches if x.arch in ("", call.arch)]
    asked = set(found.blocks)
    for at, axis in enumerate("xyz"):
        name = f"blockIdx.{axis}"
        if name in asked or not launches or not all(_several(x, at, found.numbers) for x in launches):
            continue
        if not any(name in _names(e) for e in context.facts.events if (e.kernel, e.arch) == (call.kernel, call.arch)):
            yield launches[0], axis


def _several(launch: Launch, at: int, given: Container[str]) -> bool:
    """As many blocks along an axis as a run-time number says that the kernel is given, too: more than one, and than a
    cluster has. A grid that the host was handed as a whole may have one block along it.
    """
    if len(launch.grid) <= at or known_value(launch.grid[at]) is not None:
        return False
    names = {v.name for v in as_expr(launch.grid[at]).variables()}
    return bool(names) and all(name in given for name in names)


def _names(event: Event) -> set[str]:
    """Variables of what a copy or product is given, and of the conditions around it."""
    found: set[str] = set()
    for tensor in event.operands:
        found |= _of(tensor)
    for guard in event.guards:
        found |= {v.name for c in guard.holds for side in (c.lhs, c.rhs) for v in side.variables()}
        found |= {"blockIdx.x", "blockIdx.y", "blockIdx.z"} if "blockIdx" in guard.text else set()
    return found


def _of(tensor: TensorFact) -> set[str]:
    offsets = tensor.offset if isinstance(tensor.offset, tuple) else (tensor.offset,)
    known: list[Expr] = [as_expr(o) for o in offsets if isinstance(o, (int, Dyn, Sym))]
    return {v.name for e in known for v in e.variables()}


__all__ = ["unasked_blocks"]
