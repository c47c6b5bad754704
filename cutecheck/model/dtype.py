"""Element types and their widths."""

from __future__ import annotations

from cutecheck.model.units import Bits
from cutecheck.records import record


@record(frozen=True, slots=True)
class DType:
    """An element type under its CUTLASS name (``half_t``, ``float``, ``uint128_t``); ``bits`` its width.

    ``bits`` is None for an element type whose width is not known.
    """

    name: str
    bits: Bits | None


_WIDTHS = {
    "bool": 8, "char": 8, "signed char": 8, "unsigned char": 8, "int8_t": 8, "uint8_t": 8,
    "short": 16, "unsigned short": 16, "int16_t": 16, "uint16_t": 16, "int": 32, "unsigned": 32, "unsigned int": 32,
    "int32_t": 32, "uint32_t": 32, "long": 64, "unsigned long": 64, "long long": 64,
    "unsigned long long": 64, "int64_t": 64, "uint64_t": 64, "size_t": 64, "ptrdiff_t": 64,
    "intptr_t": 64, "uintptr_t": 64, "ssize_t": 64,
    "uint128_t": 128, "uint256_t": 256, "uint1_t": 1, "uint1b_t": 1, "int2_t": 2, "uint2_t": 2,
    "int4_t": 4, "uint4_t": 4, "int4b_t": 4, "uint4b_t": 4, "int2b_t": 2, "uint2b_t": 2,
    "uint6b_t": 6, "int6b_t": 6,
    "half_t": 16, "half": 16, "__half": 16, "bfloat16_t": 16, "nv_bfloat16": 16, "__nv_bfloat16": 16,
    "tfloat32_t": 32, "float": 32, "double": 64, "half2": 32, "__half2": 32, "nv_bfloat162": 32, "__nv_bfloat162": 32,
    "float2": 64, "float4": 128, "int2": 64, "int4": 128,
    "char2": 16, "char4": 32, "uchar2": 16, "uchar4": 32, "short2": 32, "short4": 64, "ushort2": 32, "ushort4": 64,
    "double4": 256, "long2": 128, "ulong2": 128, "longlong2": 128, "ulonglong2": 128, "long4": 256, "ulong4": 256,
    "longlong4": 256, "ulonglong4": 256,
    "int3": 96, "uint3": 96, "float3": 96, "uint2": 64, "uint4": 128, "double2": 128,
    "float_e4m3_t": 8, "float_e5m2_t": 8, "float_ue4m3_t": 8, "float_ue8m0_t": 8,
    "float_e2m1_t": 4, "float_e2m3_t": 6, "float_e3m2_t": 6,
    "complex<float>": 64, "complex<double>": 128, "complex<half_t>": 32,
    "fp8_e4m3": 8, "fp8_e5m2": 8,
    "__nv_fp8_e4m3": 8, "__nv_fp8_e5m2": 8, "__nv_fp8_e8m0": 8, "__nv_fp8x2_e4m3": 16, "__nv_fp8x2_e5m2": 16,
    "__nv_fp8x4_e4m3": 32, "__nv_fp8x4_e5m2": 32, "__nv_fp4_e2m1": 8, "__nv_fp4x2_e2m1": 8, "__nv_fp4x4_e2m1": 16,
    "c10::Half": 16, "c10::BFloat16": 16, "c10::Float8_e4m3fn": 8, "c10::Float8_e5m2": 8, "c10::Float8_e4m3fnuz": 8,
    "c10::Float8_e5m2fnuz": 8,
}  # fmt: skip
# other names of the same type, told by cuda_fp16.h, cuda_bf16.h and cute/numeric/int.hpp
_ALIASES = {
    "half": "__half", "nv_half": "__half", "__nv_half": "__half",
    "half2": "__half2", "nv_half2": "__half2", "__nv_half2": "__half2",
    "nv_bfloat16": "__nv_bfloat16", "nv_bfloat162": "__nv_bfloat162",
    "int6_t": "int6b_t", "uint6_t": "uint6b_t", "int2_t": "int2b_t",
    "int4_t": "int4b_t", "uint1_t": "uint1b_t", "uint2_t": "uint2b_t", "uint4_t": "uint4b_t",
}  # fmt: skip


def dtype(name: str) -> DType | None:
    """The element type of a name, namespaces stripped; None when the name is not an element type."""
    short = name.replace("cutlass::", "").replace("cute::", "").replace("std::", "")
    short = _ALIASES.get(short, short)
    width = _WIDTHS.get(short)
    return None if width is None else DType(short, Bits(width))
