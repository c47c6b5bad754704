"""Whether tensors and slices are of one type, wherever they lie and whichever thread's they are."""

from __future__ import annotations

from cutecheck.source.eval.types import same_type, type_key
from cutecheck.source.eval.values import ExternType, Slice, TensorVal, Value, ValueType


def alike(a: Value, b: Value) -> bool:
    """Two types as a compiler compares them, but for what is not kept of a tensor's (see :func:`in_doubt`)."""
    if isinstance(a, ValueType) and isinstance(b, ValueType):
        return alike(a.value, b.value)
    if isinstance(a, tuple) and isinstance(b, tuple) and type(a) is type(b):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, TensorVal) and isinstance(b, TensorVal):
        return _over(a) == _over(b) and type_key(a.layout) == type_key(b.layout)
    if isinstance(a, Slice) and isinstance(b, Slice):
        return alike(a.tiled, b.tiled)
    if isinstance(a, ExternType) and isinstance(b, ExternType) and a.name == b.name == "Engine":
        return bool(_engine(a.args[0]) == _engine(b.args[0]))
    return same_type(a, b)


def in_doubt(a: Value, b: Value) -> bool:
    """Types that are alike, and may differ in whether a tensor's elements are constant or its own."""
    return alike(a, b) and not same_type(a, b) and not (isinstance(a, ValueType) and isinstance(a.value, Slice))


def _over(tensor: TensorVal) -> tuple[Value, ...]:
    """What a tensor's engine is over, but for whether that is constant or its own."""
    pointer = tensor.pointer
    return tensor.space, tensor.dtype, pointer is None, None if pointer is None else pointer.swizzle


def _engine(tensor: TensorVal) -> tuple[Value, ...]:
    """Of registers there are as many as the layout has."""
    registers = (tensor.provenance, type_key(tensor.layout)) if tensor.space == "rmem" else None
    return *_over(tensor), registers
