"""What the operations of torch share: shapes from arguments, strides of views, broadcasts, promotions of types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.dtype import dtype
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Sym, mul
from cutecheck.source.dsl.builtins import FUNCTIONS
from cutecheck.source.dsl.values import HostTensor, TorchType
from cutecheck.source.eval.values import Extern, Scalar, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


Operation = Callable[["Machine", HostTensor, list[Value], dict[str, Value], Span], Value]


def operation(*names: str, after: str = "") -> Callable[[Operation], Operation]:
    """A function of ``torch`` and method of its tensors; what comes ``after`` the tensor may be named."""

    def register(run: Operation) -> Operation:
        def call(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
            t, rest = (args[0], args[1:]) if args else (kwargs.get("input"), [])
            if not isinstance(t, HostTensor):
                return t if isinstance(t, Unknown) else Extern(f"torch.{names[0]}(...)", span)
            return run(m, t, rest, {k: v for k, v in kwargs.items() if k != "input"}, span)

        for name in names:
            FUNCTIONS[f"torch.{name}"] = FUNCTIONS[f"tensor.{name}"] = call
        return run

    return register


def type_named(name: str) -> TorchType:
    found = dtype(name)
    assert found is not None
    return TorchType(found)


_PERMUTED = 5  # modes whose orders are tried
_FLOATING = re.compile("half_t|bfloat16_t|tfloat32_t|float.*|double")


def floating(kind: Value) -> bool:
    """Whether an element type has an exponent."""
    return isinstance(kind, ScalarType) and _FLOATING.fullmatch(kind.dtype.name) is not None


def bound(args: list[Value], kwargs: dict[str, Value], **names: Any) -> tuple[Any, ...]:
    """The arguments by position or name, else their defaults."""
    return tuple(args[i] if i < len(args) else kwargs.get(n, d) for i, (n, d) in enumerate(names.items()))


def items(args: list[Value]) -> tuple[Any, ...]:
    """``f(1, 2)`` or ``f((1, 2))``."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else tuple(args)


def place(t: HostTensor, at: int) -> int:
    """A mode that may be counted from the end."""
    return at % len(t.shape)


def compact(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Row-major strides, in elements; a mode without elements counts as one."""
    out: list[Any] = []
    step: Any = 1
    for s in reversed(shape):
        out.append(step)
        s = 1 if isinstance(s, int) and s == 0 else s
        step = mul(step, s) if isinstance(s, (int, Dyn, Sym)) and not isinstance(step, Unknown) else Unknown("a stride")
    return tuple(reversed(out))


def computed(t: HostTensor, *others: HostTensor) -> HostTensor:
    """A new array of this shape: in the order of the modes of those that it is computed from (of one shape), dense.

    As ``TensorIteratorBase::reorder_dimensions`` of ATen orders them; a stride of 0 says nothing.
    """
    given = [x.strides for x in (t, *others)]
    if t.strides == compact(t.shape) or any(s == compact(t.shape) for s in given[:1]):
        return replace(t, strides=compact(t.shape))
    if not all(isinstance(d, int) for strides in given for d in strides) or not all(
        isinstance(s, int) for s in t.shape
    ):
        return t if _dense(t) else replace(t, strides=tuple(Unknown("a stride") for _ in t.shape))
    order = list(reversed(range(len(t.shape))))
    for i in range(1, len(order)):
        at = i
        for j in range(i - 1, -1, -1):
            swap = _swapped(t.shape, given, order[j], order[at])
            if swap > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif swap < 0:
                break
    out = [0] * len(order)
    step = 1
    for mode in order:
        out[mode] = step
        step *= t.shape[mode] or 1
    return replace(t, strides=tuple(out))


def _swapped(shape: tuple[int, ...], given: list[tuple[int, ...]], a: int, b: int) -> int:
    for strides in given:
        if strides[a] == 0 or strides[b] == 0:
            continue
        if strides[a] != strides[b]:
            return -1 if strides[a] < strides[b] else 1
        if shape[a] > shape[b]:
            return 1
    return 0


def _dense(t: HostTensor) -> bool:
    """Whether the modes in some order are compact."""
    if len(t.shape) > _PERMUTED:
        return False
    orders = permutations(range(len(t.shape)))
    return any(tuple(t.strides[i] for i in o) == compact(tuple(t.shape[i] for i in o)) for o in orders)


def fresh(shape: tuple[Any, ...], kind: Value) -> HostTensor:
    """An array of its own, row-major."""
    return HostTensor(shape, compact(shape), kind)


def shape_of(m: Machine, args: list[Value], span: Span) -> tuple[Any, ...] | Unknown:
    """A shape from the arguments of a function that makes an array."""
    extents: list[Any] = []
    for a in items(args):
        if isinstance(a, (Scalar, Extern)) or (isinstance(a, HostTensor) and not a.shape):
            # read out of an array, or drawn: the same in one run, and open here
            a = Sym.named(f"extent#{len(m.names)}#{m.fresh('').expr}", Domain(0))
        if not isinstance(a, (int, Dyn, Sym)):
            return a if isinstance(a, Unknown) else Unknown("a shape that is not known", span)
        extents.append(a)
    return tuple(extents)


def _left(of: tuple[Any, ...], others: list[Any]) -> tuple[list[Any], list[Any]]:
    """Both without the extents that are the same."""
    rest = list(of)
    over: list[Any] = []
    for s in others:
        same = next((i for i, r in enumerate(rest) if type(r) is type(s) and r == s), None)
        if same is None:
            over.append(s)
        else:
            del rest[same]
    return rest, over


def filled(m: Machine, t: HostTensor, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """A new shape with the extent in the place of -1: what is left of the elements, open where they are not counted."""
    at = [i for i, s in enumerate(shape) if isinstance(s, int) and s == -1]
    if len(at) != 1:
        return shape
    rest, over = _left(t.shape, [s for i, s in enumerate(shape) if i != at[0]])
    left: Any = Sym.named(f"extent#{m.fresh('').expr}", Domain(0))
    known = math.prod(r for r in rest if isinstance(r, int))
    by = math.prod(s for s in over if isinstance(s, int))
    if all(isinstance(s, int) for s in over) and by and known % by == 0:
        left = known // by
        for r in rest:
            left = left if isinstance(r, int) else mul(r, left)
    return (*shape[: at[0]], left, *shape[at[0] + 1 :])


def reshaped(t: HostTensor, shape: tuple[Any, ...], span: Span) -> HostTensor | Unknown:
    """The same elements under another shape: a view where the strides allow, else a copy."""
    if t.strides == compact(t.shape):
        return replace(t, shape=shape, strides=compact(shape))
    lead = 0
    while (
        lead < min(len(shape), len(t.shape))
        and type(shape[lead]) is type(t.shape[lead])
        and shape[lead] == t.shape[lead]
    ):
        lead += 1
    old, new = t.shape[lead:], shape[lead:]
    if not all(isinstance(s, int) for s in (*old, *new)) or not all(isinstance(d, int) for d in t.strides[lead:]):
        return Unknown("the strides of a view", span)
    inner = _view_strides(old, t.strides[lead:], new)
    return replace(t, shape=shape, strides=compact(shape) if inner is None else (*t.strides[:lead], *inner))


def _view_strides(old: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides of a view, None where there is none (``computeStride`` of ATen's ``TensorUtils``)."""
    if not old:
        return (1,) * len(new)
    if 0 in old:
        return compact(new)
    out = [0] * len(new)
    at = len(new) - 1
    base, count, seen = strides[-1], 1, 1
    for i in range(len(old) - 1, -1, -1):
        count *= old[i]
        if i == 0 or (old[i - 1] != 1 and strides[i - 1] != count * base):
            while at >= 0 and (seen < count or new[at] == 1):
                out[at] = seen * base
                seen *= new[at]
                at -= 1
            if seen != count:
                return None
            if i > 0:
                base, count, seen = strides[i - 1], 1, 1
    return tuple(out) if at == -1 else None


def viewed_as(t: HostTensor, kind: ScalarType, span: Span) -> HostTensor | Unknown:
    """The bytes as another type: the last mode shrinks or grows with its size."""
    old = t.dtype.dtype.bits if isinstance(t.dtype, ScalarType) else None
    new = kind.dtype.bits
    if old is None or new is None:
        return Unknown("the size of an element type", span)
    if old == new:
        return replace(t, dtype=kind)
    if not t.shape or not isinstance(t.shape[-1], int):
        return Unknown("how many elements of another size a mode has", span)
    a, b = int(old), int(new)
    scaled = tuple(d * a // b if isinstance(d, int) else Unknown("a stride", span) for d in t.strides[:-1])
    return replace(t, shape=(*t.shape[:-1], t.shape[-1] * a // b), strides=(*scaled, 1), dtype=kind)


def broadcast(a: HostTensor, b: HostTensor) -> HostTensor | None:
    """The array that an operation on both elementwise gives; None where extents are not seen to be the same."""
    n = max(len(a.shape), len(b.shape))
    shape: list[Any] = []
    for s, r in zip(*((1,) * (n - len(t.shape)) + t.shape for t in (a, b)), strict=True):
        if not one(s) and not one(r) and (type(s) is not type(r) or s != r):
            return None
        shape.append(r if one(s) else s)
    return computed(*(spread(t, tuple(shape)) for t in (a, b)))


def one(extent: Any) -> bool:
    return isinstance(extent, int) and extent == 1


def spread(t: HostTensor, shape: tuple[Any, ...]) -> HostTensor:
    """The array as one of more elements, which it repeats."""
    lead = len(shape) - len(t.shape)
    strides = [0 if one(s) and not one(n) else d for s, d, n in zip(t.shape, t.strides, shape[lead:], strict=True)]
    return replace(t, shape=shape, strides=(*[0] * lead, *strides))


def promoted(a: HostTensor, b: HostTensor) -> Value:
    """The element type of an operation on both (torch's type promotion; one without modes gives way in its kind)."""
    if not isinstance(a.dtype, ScalarType) or not isinstance(b.dtype, ScalarType) or a.dtype == b.dtype:
        return a.dtype
    x, y = a.dtype.dtype, b.dtype.dtype
    if floating(a.dtype) != floating(b.dtype):
        return a.dtype if floating(a.dtype) else b.dtype
    if bool(a.shape) != bool(b.shape):
        return a.dtype if a.shape else b.dtype
    if x.bits == y.bits and floating(a.dtype):
        return type_named("float")
    return a.dtype if int(x.bits or 0) >= int(y.bits or 0) else b.dtype
