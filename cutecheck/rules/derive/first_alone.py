"""Modes of which all blocks of a launch take the first element alone, where they go along such a mode elsewhere."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Call, Event, TensorFact, Unknown
from cutecheck.facts.core import MEMORY_STORED
from cutecheck.model.ints import as_expr, known_value
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.beyond_mode import modes_of
from cutecheck.rules.derive.launched import Blocks, blocks_of, by_block, number_of

_THREADS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
_GLOBAL = ("gmem", "coord")


@record(frozen=True, slots=True)
class FirstAlone:
    """The mode and its elements, and a tensor of whose mode blocks take as many, each."""

    mode: int
    many: int
    other: TensorFact


def first_alone(load: Event, tensor: TensorFact, context: Context) -> FirstAlone | None:
    """A load at element 0 of a mode (a head, a matrix of a batch) in all blocks, as is all else of the tensor."""
    blocks = blocks_of(load, context)
    modes = modes_of(tensor) if blocks is not None else None
    if blocks is None or modes is None:
        return None
    for mode, (extent, at, span) in enumerate(modes):
        many = number_of(as_expr(extent), blocks.numbers)
        if span > 1 or at.constant != 0 or many is None or many == 1 or known_value(extent) is not None:
            continue
        taken = _taken(load, blocks, context)
        mine = [t for t in taken if t.extent == str(extent)]
        others = [t for t in taken if t.extent != str(extent) and t.extents.isdisjoint(mine[0].extents if mine else ())]
        if any(t.many != 1 for t in mine):
            continue
        other = next((t for t in others if t.of == t.many == many), None)
        if other is not None:
            return FirstAlone(mode, many, other.tensor)
    return None


@record(frozen=True, slots=True)
class _Taken:
    """Of a tensor's mode of single elements its extent, as text and number, and how many of them blocks take (0: it
    is not known); ``extents``: those of all modes of the tensor."""

    tensor: TensorFact
    extent: str
    of: int | None
    many: int
    extents: frozenset[str]


def _taken(made: Event, blocks: Blocks, context: Context) -> list[_Taken]:
    """What the kernel takes of single elements of modes of global memory, by blocks."""
    memo = cast("dict[tuple[str, str], list[_Taken]]", context.memo.setdefault("elements taken by blocks", {}))
    key = made.kernel, made.arch
    if key not in memo:
        memo[key] = [t for e, tensor in _all(made, context) for t in _of(e, tensor, blocks)]
    return memo[key]


def _all(made: Event, context: Context) -> list[tuple[Event | Call, TensorFact]]:
    found: list[tuple[Event | Call, TensorFact]] = []
    for e in context.facts.events:
        if (e.kernel, e.arch, e.kind) == (made.kernel, made.arch, "copy"):
            found += [(e, t) for t in e.operands if t.space in _GLOBAL]
    for c in context.facts.calls:
        stores = isinstance(c.result, Unknown) and c.result.reason == MEMORY_STORED
        if stores and (c.kernel, c.arch) == (made.kernel, made.arch):
            found += [(c, t) for t in c.arguments if isinstance(t, TensorFact)]
    return found


def _of(made: Event | Call, tensor: TensorFact, blocks: Blocks) -> list[_Taken]:
    modes = modes_of(tensor) or []
    extents = frozenset(str(extent) for extent, _, _ in modes)
    found: list[_Taken] = []
    for extent, at, span in modes:
        place = by_block(at, blocks, first=_THREADS) if span == 1 else None  # a loop may go along all of them
        try:
            many = 0 if place is None else len({place(*b) for b in blocks.at})
        except ZeroDivisionError:
            many = 0
        found.append(_Taken(tensor, str(extent), number_of(as_expr(extent), blocks.numbers), many, extents))
    return found


__all__ = ["FirstAlone", "first_alone"]
