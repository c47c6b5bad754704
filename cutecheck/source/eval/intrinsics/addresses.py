"""Addresses in shared memory, as instructions of PTX take them."""

from __future__ import annotations

from cutecheck.model.expr import Domain
from cutecheck.source.eval.intrinsics.registry import Call, function
from cutecheck.source.eval.values import Scalar, Value

_ADDRESS = Domain(0, 2**32 - 1)


@function("cast_smem_ptr_to_uint", "__cvta_generic_to_shared", tolerant=True)
def _address(c: Call) -> Value:
    from cutecheck.source.eval.shared_addresses import as_number

    kind = "uint32_t" if c.name.startswith("cast") else "size_t"
    if kind == "size_t":
        c.m.recorder.escape(c.m, c.raw, c.span)
    number = as_number(c.m, c.raw[0], c.span) if c.raw else None
    return Scalar(c.m.fresh("smem_address", _ADDRESS) if number is None else number, kind)
