"""Slices along K that no product of a run takes, of both operands, in any of their tiles: a loop ends early."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.facts.replayed import Place, Replay, Step
from cutecheck.model.algebra import size
from cutecheck.model.ints import known_value
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.rules.base import Context
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.role_workers import is_unseen

_K = 2  # the mode of a partition for A or B that goes along K
_MOST = 4096  # slices of a tensor with all of its stages


@dataclass(slots=True)
class _Sum:
    """What the products of one accumulator take of each operand; None where that is not known."""

    taken: list[set[int] | None] = field(default_factory=lambda: [set(), set()])
    many: list[set[int]] = field(default_factory=lambda: [set(), set()])
    last: Step | None = None


def slices_left(replay: Replay, call: Call, context: Context) -> list[Fault]:
    """The last product of each accumulator whose operands have slices along K that none takes."""
    sums: dict[tuple[str, int], _Sum] = defaultdict(_Sum)
    runs = [t.steps for t in replay.threads if t.complete] if replay.threads else [replay.steps]
    whole = replay.complete or (bool(replay.threads) and all(t.complete for t in replay.threads) and replay.sure)
    steps = [s for run in runs for s in run] if whole else []
    if any(is_unseen(s) for s in steps):
        return []
    tensors = _tensors(call, context)
    anywhere: dict[str, set[int]] = defaultdict(set)  # of an operand, into whatever sum: several may share its slices
    for step in (s for s in steps if s.kind == "gemm" and len(s.places) in (3, 4)):
        made = sums[step.places[-1].buffer, step.places[-1].offset]
        made.last = step
        for i, place in enumerate(step.places[-3:-1]):
            known = _slice(place, tensors.get((step.span, i), ()))
            taken = made.taken[i]
            if known is None or taken is None:
                made.taken[i] = None
            else:
                taken |= known[0]
                made.many[i].add(known[1])
                anywhere[place.buffer] |= known[0]
    return [f for made in sums.values() if (f := _left(made, anywhere)) is not None]


def _left(made: _Sum, anywhere: dict[str, set[int]]) -> Fault | None:
    a, b = made.taken
    if made.last is None or not a or a != b or len(made.many[0]) != 1 or made.many[0] != made.many[1]:
        return None
    many = next(iter(made.many[0]))
    left = sorted(set(range(many)) - a.union(*(anywhere[p.buffer] for p in made.last.places[-3:-1])))
    if not left:
        return None
    place = replace(made.last.places[-3], past=(left[0], many))
    return Fault("unmultiplied", made.last, place)


def _tensors(call: Call, context: Context) -> dict[tuple[object, int], tuple[TensorFact, ...]]:
    """Of each product of the kernel the operands A and B, as facts."""
    found: dict[tuple[object, int], tuple[TensorFact, ...]] = {}
    for event in context.facts.events:
        if (event.kind, event.kernel, event.arch) == ("gemm", call.kernel, call.arch) and len(event.operands) > 2:
            for i, tensor in enumerate(_operands(event)):
                found[event.span, i] = (*found.get((event.span, i), ()), tensor)
    return found


def _operands(event: Event) -> tuple[TensorFact, ...]:
    return event.operands[-3:-1]


def _slice(place: Place, tensors: tuple[TensorFact, ...]) -> tuple[set[int], int] | None:
    """Which slices along K a place is, and how many there are; None where that is not known."""
    roots = {_root(t) for t in tensors}
    root = roots.pop() if len(roots) == 1 else None
    bits = (
        (tensors[0].root_bits or (tensors[0].dtype.bits if tensors[0].dtype is not None else None)) if tensors else None
    )
    if root is None or not bits or place.root[0] % int(bits):
        return None
    layout, whole = root
    many = known_value(size(layout.shape[_K])) if isinstance(layout.shape, tuple) else None
    if many is None or many < _K:
        return None
    if whole:
        return set(range(many)), many
    at = _offsets(layout).get(place.offset - place.root[0] // int(bits))
    return None if at is None or len(at) != 1 else (at, many)


def _root(tensor: TensorFact) -> tuple[Layout, bool] | None:
    """The partition that a slice is of, and whether the slice has all of its modes."""
    root, mine = _plain(tensor.root_layout), _plain(tensor.layout)
    if root is None or mine is None or not isinstance(root.shape, tuple) or len(root.shape) <= _K:
        return None
    return root, isinstance(mine.shape, tuple) and len(mine.shape) > _K


def _plain(layout: object) -> Layout | None:
    found = layout.b if isinstance(layout, ComposedLayout) else layout
    return found if isinstance(found, Layout) else None


def _offsets(layout: Layout) -> dict[int, set[int]]:
    """Where each slice along K of a partition starts, in all of its other modes."""
    shape, stride = layout.shape, layout.stride
    if not isinstance(shape, tuple) or not isinstance(stride, tuple):
        return {}
    modes = [Layout(n, d) for n, d in zip(shape[1:], stride[1:], strict=True)]
    sizes = [known_value(size(m)) for m in modes]
    if any(n is None for n in sizes) or prod(n or 0 for n in sizes) > _MOST:
        return {}
    places = [[m(i) for i in range(n or 0)] for m, n in zip(modes, sizes, strict=True)]
    found: dict[int, set[int]] = defaultdict(set)
    for at in product(*(enumerate(p) for p in places)):
        known = [offset for _, offset in at if isinstance(offset, int)]
        if len(known) == len(at):
            found[sum(known)].add(at[_K - 1][0])
    return found


__all__ = ["slices_left"]
