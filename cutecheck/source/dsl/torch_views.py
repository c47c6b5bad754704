"""Arrays of torch that are views of others: modes in another order, of other extents, in parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import mul
from cutecheck.source.dsl.torch_shapes import (
    bound,
    filled,
    items,
    one,
    operation,
    place,
    reshaped,
    shape_of,
    spread,
    viewed_as,
)  # fmt: skip
from cutecheck.source.dsl.values import HostTensor
from cutecheck.source.eval.values import Extern, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


_ROWS = 64  # of an array that a loop goes through


def permuted(t: HostTensor, order: Any) -> HostTensor:
    return replace(t, shape=tuple(t.shape[i] for i in order), strides=tuple(t.strides[i] for i in order))


def transposed(t: HostTensor, a: int, b: int) -> HostTensor:
    order = list(range(len(t.shape)))
    order[a], order[b] = order[b], order[a]
    return permuted(t, order)


@operation("transpose", "swapaxes", "swapdims")
def _transpose(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    a, b = bound(args, kwargs, dim0=None, dim1=None)
    return transposed(t, a, b)


@operation("permute")
def _permute(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return permuted(t, items([*args, *kwargs.values()]))


@operation("t")
def _t(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return transposed(t, 0, 1) if len(t.shape) > 1 else t


@operation("movedim", "moveaxis")
def _movedim(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    n = len(t.shape)
    from_, to = ([i % n for i in items([a])] for a in bound(args, kwargs, source=None, destination=None))
    rest = iter([i for i in range(n) if i not in from_])
    where = dict(zip(to, from_, strict=True))
    return permuted(t, [where[i] if i in where else next(rest) for i in range(n)])


@operation("view", "reshape")
def _view(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    given = [*args, *kwargs.values()]
    if len(given) == 1 and isinstance(given[0], ScalarType):
        return viewed_as(t, given[0], span)
    shape = shape_of(m, given, span)
    return shape if isinstance(shape, Unknown) else reshaped(t, filled(m, t, shape), span)


@operation("view_as", "reshape_as")
def _view_as(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    other = args[0]
    return reshaped(t, other.shape, span) if isinstance(other, HostTensor) else Extern("tensor.view_as(...)", span)


@operation("flatten")
def flatten(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    first, last = bound(args, kwargs, start_dim=0, end_dim=-1)
    n = len(t.shape) or 1
    first, last = first % n, last % n
    whole: Any = 1
    for s in t.shape[first : last + 1]:
        whole = mul(whole, s)
    return reshaped(t, (*t.shape[:first], whole, *t.shape[last + 1 :]), span)


@operation("ravel")
def _ravel(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return flatten(m, t, [], {}, span)


@operation("unflatten")
def _unflatten(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    at, sizes = bound(args, kwargs, dim=None, sizes=None)
    at %= len(t.shape)
    inner = replace(t, shape=(t.shape[at],), strides=(t.strides[at],))
    split = reshaped(inner, filled(m, inner, tuple(sizes)), span)
    if isinstance(split, Unknown):
        return split
    return replace(
        t, shape=(*t.shape[:at], *split.shape, *t.shape[at + 1 :]),
        strides=(*t.strides[:at], *split.strides, *t.strides[at + 1 :]),
    )  # fmt: skip


@operation("unsqueeze")
def _unsqueeze(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    (at,) = bound(args, kwargs, dim=None)
    at = at if at >= 0 else at + len(t.shape) + 1
    step = mul(t.shape[at], t.strides[at]) if at < len(t.shape) else 1
    return replace(t, shape=(*t.shape[:at], 1, *t.shape[at:]), strides=(*t.strides[:at], step, *t.strides[at:]))


@operation("squeeze")
def _squeeze(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    (at,) = bound(args, kwargs, dim=None)
    asked = range(len(t.shape)) if at is None else [i % len(t.shape) for i in items([at])]
    return permuted(t, [i for i, s in enumerate(t.shape) if i not in asked or not one(s)])


@operation("expand", "broadcast_to")
def _expand(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    shape = shape_of(m, [*args, *kwargs.values()], span)
    if isinstance(shape, Unknown):
        return shape
    lead = len(shape) - len(t.shape)
    full = tuple(t.shape[i - lead] if isinstance(n, int) and n == -1 else n for i, n in enumerate(shape))
    return spread(t, full)


@operation("expand_as")
def _expand_as(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _expand(m, t, list(args[0].shape), {}, span)


def part(t: HostTensor, at: int, extent: Any) -> HostTensor:
    return replace(t, shape=(*t.shape[:at], extent, *t.shape[at + 1 :]))


def _without(t: HostTensor, at: int) -> HostTensor:
    return permuted(t, [i for i in range(len(t.shape)) if i != at])


@operation("narrow")
def _narrow(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    at, _, length = bound(args, kwargs, dim=None, start=None, length=None)
    return part(t, at % len(t.shape), length)


@operation("select")
def _select(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _without(t, place(t, bound(args, kwargs, dim=None, index=None)[0]))


@operation("chunk", "tensor_split")
def _chunk(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    count, at = bound(args, kwargs, chunks=kwargs.get("indices_or_sections"), dim=0)
    at = place(t, at)
    whole = t.shape[at]
    if not isinstance(whole, int) or not isinstance(count, int):
        return Extern("torch.chunk(...)", span)
    return _split(m, t, [-(-whole // count), at], {}, span)


@operation("split")
def _split(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    size, at = bound(args, kwargs, split_size_or_sections=kwargs.get("split_size"), dim=0)
    at = place(t, at)
    whole = t.shape[at]
    if isinstance(size, (list, tuple)):
        return tuple(part(t, at, s) for s in size)
    if not isinstance(whole, int) or not isinstance(size, int):
        return Extern("torch.split(...)", span)
    return tuple(part(t, at, min(size, whole - i)) for i in range(0, whole, size))


@operation("unbind")
def _unbind(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    at = place(t, bound(args, kwargs, dim=0)[0])
    whole = t.shape[at]
    return (_without(t, at),) * whole if isinstance(whole, int) else Extern("torch.unbind(...)", span)


@operation("as_strided")
def _as_strided(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    size, stride, _ = bound(args, kwargs, size=None, stride=None, storage_offset=0)
    return replace(t, shape=tuple(size), strides=tuple(stride))


def rows(t: HostTensor, span: Span) -> list[Value] | Unknown:
    """What a loop over an array goes through."""
    if not t.shape or not isinstance(t.shape[0], int) or t.shape[0] > _ROWS:
        return Unknown("the items of a tensor", span)
    return [replace(t, shape=t.shape[1:], strides=t.strides[1:])] * t.shape[0]


__all__ = ["flatten", "part", "permuted", "rows"]
