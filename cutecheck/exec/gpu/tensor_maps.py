"""Tensor maps of the reference kernels: what ``cuTensorMapEncodeTiled`` is given, from the model's own tensor map."""

from __future__ import annotations

from typing import TypeGuard

from cutecheck.exec.gpu.plain import PlainCopy
from cutecheck.exec.gpu.run import EncodedMap
from cutecheck.model.dtype import DType
from cutecheck.model.ints import known_value
from cutecheck.model.layout import Swizzle
from cutecheck.model.tiled import TiledCopy
from cutecheck.model.tiled.tensor_map import TensorMap

# CUtensorMapDataType, as TMA::to_CUtensorMapDataType has it
_TYPES = {
    "int8_t": 0, "uint8_t": 0, "float_e4m3_t": 0, "float_e5m2_t": 0, "uint16_t": 1, "uint32_t": 2, "int32_t": 3,
    "int": 3, "uint64_t": 4, "int64_t": 5, "half_t": 6, "float": 7, "double": 8, "bfloat16_t": 9, "tfloat32_t": 11,
}  # fmt: skip


def is_map(tiled: TiledCopy | PlainCopy | None) -> TypeGuard[TiledCopy]:
    """Whether the copy is made with a tensor map."""
    return tiled is not None and isinstance(tiled.atom.tensor_map, TensorMap)


def map_of(tiled: TiledCopy) -> TensorMap:
    """The tensor map of a TMA copy; ValueError for another copy."""
    found = tiled.atom.tensor_map
    if not isinstance(found, TensorMap):
        raise ValueError("not a copy of a tensor map")
    return found


def encoded(tiled: TiledCopy, dtype: DType, of: int) -> EncodedMap:
    """The argument that encodes the map of a copy over the buffer that is argument ``of``.

    ValueError where the map has an open number, a type or a swizzle that sm_90 has not.
    """
    found = map_of(tiled)
    if dtype.name not in _TYPES or dtype.bits != found.internal_bits:
        raise ValueError(f"no tensor map of elements of type {dtype.name} is run")
    dims = [known_value(n) if n is not None else None for n in found.gmem_shape]
    strides = [None if s is None else known_value(s) for s in found.gmem_stride_bytes]
    if None in dims or None in strides[1:]:
        raise ValueError("the tensor map's extents are not known")
    return EncodedMap(
        of,
        _TYPES[dtype.name],
        tuple(int(d) for d in dims if d is not None),
        tuple(int(s) for s in strides[1:] if s is not None),
        tuple(int(b) for b in found.box),
        _swizzle(found.swizzle),
    )


def _swizzle(swizzle: Swizzle) -> int:
    if swizzle.bits == 0:
        return 0
    if swizzle.base != 4 or swizzle.shift != 3:
        raise ValueError(f"sm_90 has no tensor map with {swizzle}")
    return swizzle.bits
