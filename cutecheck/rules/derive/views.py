"""Layouts through which copies see one shared-memory buffer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cutecheck.facts import ELEMENT_STORED, Event, SmemBuffer, TensorFact, Unknown
from cutecheck.model.algebra import select
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import Dyn, as_expr, known_value
from cutecheck.model.inttuple import flatten_to_tuple
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Swizzle
from cutecheck.model.prove import Outcome, make_obligation
from cutecheck.model.prove.properties import THREAD, LayoutEqual
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import static_layout
from cutecheck.rules.derive.vectors import mode_sizes

_MOST_MODES = 4  # 24 orders of the modes


@record(frozen=True, slots=True)
class View:
    """How one copy sees a buffer: the whole tensor before it was partitioned."""

    event: Event
    tensor: TensorFact
    layout: AnyLayout
    start: int  # elements from the start of the buffer
    written: bool


def views_of(buffer: SmemBuffer, context: Context) -> Iterator[View | Unknown]:
    """Every view of the buffer that an event has; Unknown for one that cannot be told."""
    for event in context.index.events_with(buffer.accesses):
        if event.arch != buffer.arch:
            continue
        for place, tensor in enumerate(event.operands):
            if tensor.buffer != buffer.buffer_id:
                continue
            start, root = _start(tensor), tensor.root_layout or tensor.layout
            if isinstance(root, Unknown) or start is None:
                yield root if isinstance(root, Unknown) else Unknown("start of the view is not known", tensor.span)
            else:
                yield View(event, tensor, root, start, event.kind == "copy" and place == 1)


def _start(tensor: TensorFact) -> int | None:
    """Offset in elements where thread 0 and every index is 0; None where that is not a number."""
    if isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)):
        return None
    whole = tensor.root_start_bits is not None and tensor.root_bits is not None
    offset = as_expr(tensor.root_start_bits if whole else tensor.offset)  # type: ignore[arg-type]
    try:
        start = offset.evaluate({v.name: 0 for v in offset.variables()} | {THREAD: 0})
        return start // int(tensor.root_bits) if whole else start  # type: ignore[arg-type]
    except (KeyError, TypeError, ZeroDivisionError):
        return None


def stored_since(written: Sequence[View], read: View, context: Context) -> bool:
    """Whether threads store single elements after the copies, before what is read: these may be all that is read."""
    last = max(v.event.order for v in written)
    return any(
        last < c.order < read.event.order and isinstance(c.result, Unknown) and c.result.reason == ELEMENT_STORED
        and isinstance(t, TensorFact) and (t.buffer, c.arch) == (read.tensor.buffer, read.event.arch)
        and isinstance(t.offset, Dyn)
        for c in context.facts.calls for t in c.arguments[:1]
    )  # fmt: skip


def comparable(a: View, b: View) -> bool:
    """One shape in some order of the modes, one element type, one start; both layouts static."""
    if a.start != b.start or a.tensor.dtype is None or a.tensor.dtype != b.tensor.dtype:
        return False
    if not static_layout(a.layout) or not static_layout(b.layout):
        return False
    left, right = mode_sizes(a.layout), mode_sizes(b.layout)
    return len(left) <= _MOST_MODES and sorted(map(str, left)) == sorted(map(str, right))


def compared(written: View, read: View, context: Context) -> Iterator[Outcome]:
    """Whether the views are one function, for every order of the modes that gives one shape."""
    sizes = mode_sizes(written.layout)
    for order in itertools.permutations(range(len(sizes))):
        turned = _turned(read.layout, order)
        if turned is None or mode_sizes(turned) != sizes:
            continue
        payload = LayoutEqual(written.layout, turned, what=read.tensor.name)
        yield context.prover(
            make_obligation(payload, (written.event.event_id, read.event.event_id), arch=read.event.arch,
                            span=read.event.span)
        )  # fmt: skip


def rearranged(a: AnyLayout, b: AnyLayout) -> bool:
    """Whether two static layouts have the same elements at the same places under one swizzle, in another order.

    Threads that pass values to each other write by one order and read by the other: that can be meant, as for the
    exchanges of a transform, whereas another swizzle or padding leaves elements at places that nobody wrote.
    """
    (swizzle, plain), (other, plain_too) = _parts(a), _parts(b)
    if plain is None or plain_too is None or swizzle != other:
        return False
    places = _places(plain)
    return places is not None and places == _places(plain_too)


def _parts(layout: AnyLayout) -> tuple[object, Layout | None]:
    """What moves places about, None for nothing, and the layout under it."""
    if isinstance(layout, Layout):
        return None, layout
    if not isinstance(layout.b, Layout):
        return None, None
    nothing = isinstance(layout.a, Swizzle) and layout.a.bits == 0 and layout.offset == 0
    return (None if nothing else (layout.a, layout.offset)), layout.b


def _places(layout: Layout) -> tuple[tuple[int, int], ...] | None:
    """The places of a layout of positive strides as extents and strides, the smallest first, what is alike joined."""
    sizes, strides = flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride)
    if len(sizes) != len(strides):
        return None
    found: list[tuple[int, int]] = []
    for size, stride in sorted(zip(map(known_value, sizes), map(known_value, strides), strict=True), key=_by_stride):
        if size is None or stride is None or stride < 0:
            return None
        if found and found[-1][0] * found[-1][1] == stride:
            found[-1] = (found[-1][0] * size, found[-1][1])
        elif size != 1:
            found.append((size, stride))
    return tuple(found)


def _by_stride(mode: tuple[int | None, int | None]) -> tuple[int, int]:
    size, stride = mode
    return (-1 if stride is None else stride, -1 if size is None else size)


def _turned(layout: AnyLayout, order: tuple[int, ...]) -> AnyLayout | None:
    """The layout with its modes in another order."""
    if len(order) == 1:
        return layout
    if isinstance(layout, Layout):
        turned = select(layout, *order)
        return turned if isinstance(turned, Layout) else None
    if not isinstance(layout, ComposedLayout) or not isinstance(layout.b, Layout):
        return None
    return replace(layout, b=select(layout.b, *order))
