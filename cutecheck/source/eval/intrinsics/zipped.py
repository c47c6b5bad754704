"""Tensors that are indexed together: an operand and its scale factors or metadata (cute/tensor_zip.hpp)."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.values import TensorVal, Value, Zipped


@function("make_zip_tensor", tolerant=True)
def _make_zip_tensor(c: Call) -> Value:
    """Of a part that is not known nothing can be said of the others' accesses either."""
    parts = tuple(a for a in c.args if isinstance(a, TensorVal))
    if len(parts) == len(c.args) and parts:
        return Zipped(parts)
    c.m.recorder.escape(c.m, list(parts), c.span)
    return next((a for a in c.args if isinstance(a, Unknown)), Unknown("zipped tensors that are not known", c.span))


@function("unzip_tensor")
def _unzip_tensor(c: Call) -> Value:
    whole = c.arg(0)
    if not isinstance(whole, Zipped):
        raise Unsupported("unzip_tensor of a tensor that is not known to be one of several")
    return whole.parts
