"""What a compiler would predefine for one target, and the macros of CUTLASS that follow from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache

from cutecheck.model.atoms.table import guard_targets
from cutecheck.model.version import Version, cute_version
from cutecheck.records import record
from cutecheck.source.cpp.test_macros import TEST_MACROS
from cutecheck.source.cpp.torch_macros import TORCH_MACROS


@record(frozen=True, slots=True)
class Macro:
    """``#define name(params) body``; ``params`` None for object-like macros. ``variadic`` names the pack."""

    name: str
    params: tuple[str, ...] | None
    body: str
    variadic: str = ""


@record(frozen=True, slots=True)
class Defines:
    """One target: ``arch`` as ``sm_80``/``sm_90a`` (empty: the host pass), ``-D`` definitions of the user, and
    ``macros`` found elsewhere in the tree (included files)."""

    arch: str = ""
    user: tuple[tuple[str, str], ...] = ()
    macros: Mapping[str, Macro] = field(default_factory=dict, compare=False)

    @property
    def number(self) -> int:
        """80 for ``sm_80``, 90 for ``sm_90a``, 0 for the host pass."""
        match = re.search(r"\d+", self.arch)
        return int(match.group()) if match else 0

    def lookup(self, name: str) -> Macro | None:
        """The macro that ``name`` is before the file itself defines anything."""
        for key, value in self.user:
            if key == name:
                return Macro(name, None, value)
        found = self.macros.get(name)
        if found is not None:
            return found
        if name in SELECTORS and any(key == EXTENDED for key, _ in self.user):
            return SELECTORS[name]
        return predefined(name, self.arch)


# What CuTe's selectors choose from is wider under this switch: they go by other names there.
EXTENDED = "CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED"
SELECTORS = {
    name: Macro(name, None, f"{name}_extended")
    for name in ("ss_op_selector", "rs_op_selector", "ss_op_selector_sparse", "rs_op_selector_sparse")
}
ARCH_NAME = re.compile(r"__CUDA_ARCH\w*|(?:CUTE|CUTLASS)_ARCH_\w+|CUTE_UNROLL|CUTE_GRID_CONSTANT_ENABLED")
_DERIVED = re.compile(r"(?:CUTE|CUTLASS)_ARCH_(\w+?)_(?:ENABLED|SUPPORTED|ACTIVATED)\Z")
_TOOLKIT = re.compile(r"CUDA_1[1-9]_\d_SM\d+_FEATURES_SUPPORTED\Z")  # the unit tests' names for "new enough a toolkit"
_SM = re.compile(r"SM(\d+)([AF]?)(?:_|\Z)")


def predefined(name: str, arch: str) -> Macro | None:
    """nvcc's own macros, CUTLASS's architecture switches, and the well-known macros of CUTLASS and CuTe."""
    return _predefined(name, arch, cute_version())


@lru_cache(maxsize=4096)
def _predefined(name: str, arch: str, version: Version) -> Macro | None:
    match = re.match(r"sm_(\d+)([af]?)\Z", arch)
    number, letter = (int(match.group(1)), match.group(2)) if match else (0, "")
    if name.startswith("__CUDA_ARCH"):
        if not number:
            return None
        if name == "__CUDA_ARCH__":
            return Macro(name, None, str(number * 10))
        if name == "__CUDA_ARCH_LIST__":
            return Macro(name, None, str(number * 10))
        if letter and name in (f"__CUDA_ARCH_FEAT_SM{number}_ALL", "__CUDA_ARCH_SPECIFIC__"):
            return Macro(name, None, str(number * 10))
        if letter and name == "__CUDA_ARCH_FAMILY_SPECIFIC__":
            return Macro(name, None, str(number * 10))
        return None
    if name in _FIXED:
        return _FIXED[name]
    given = TORCH_MACROS.get(name) or TEST_MACROS.get(name)
    if given is not None:
        return Macro(name, *given, "__VA_ARGS__")
    if _TOOLKIT.match(name):
        return Macro(name, None, "1")
    targets = guard_targets(name)
    if targets is not None:
        return Macro(name, None, "1") if arch in targets else None
    found = _DERIVED.match(name)
    if found is not None and (name.endswith("_SUPPORTED") or _enabled(found.group(1), number, letter)):
        return Macro(name, None, "1")
    return None


def _enabled(what: str, number: int, letter: str) -> bool:
    """Whether a switch is on by the architecture in its name: for those that no header defines."""
    match = _SM.search(what)
    if match is None:
        return False
    least, variant = int(match.group(1)), match.group(2)
    return number == least and bool(letter) if variant else number >= least


def _parse(line: str) -> Macro:
    head, _, body = line.partition(" ")
    if "(" not in head:
        return Macro(head, None, body)
    name, _, rest = head.partition("(")
    params = [p for p in rest.rstrip(")").split(",") if p]
    variadic = "__VA_ARGS__" if params and params[-1] == "..." else ""
    return Macro(name, tuple(params[:-1] if variadic else params), body, variadic)


# Known without their headers: CUTLASS's own words, and what device compilation with nvcc 12.9 predefines.
_FIXED = {
    macro.name: macro
    for macro in map(
        _parse,
        """__CUDACC__ 1
__NVCC__ 1
__CUDACC_VER_MAJOR__ 12
__CUDACC_VER_MINOR__ 9
__CUDACC_VER_BUILD__ 41
__CUDACC_EXTENDED_LAMBDA__ 1
__CUDACC_RELAXED_CONSTEXPR__ 1
CUDA_VERSION 12090
CUDA_12_0_SM90_FEATURES_SUPPORTED 1
CUDART_VERSION 12090
__cplusplus 201703L
__GNUC__ 11
__GNUC_MINOR__ 4
__STDC__ 1
__linux__ 1
__unix__ 1
__x86_64__ 1
__LP64__ 1
__SIZEOF_INT128__ 16
__CHAR_BIT__ 8
CHAR_BIT 8
INT_MAX 2147483647
INT_MIN (-2147483647-1)
UINT_MAX 4294967295u
INT8_MAX 127
INT8_MIN (-128)
UINT8_MAX 255
INT16_MAX 32767
INT16_MIN (-32767-1)
UINT16_MAX 65535
INT32_MAX 2147483647
INT32_MIN (-2147483647-1)
UINT32_MAX 4294967295u
INT64_MAX 9223372036854775807l
UINT64_MAX 18446744073709551615ul
SIZE_MAX 18446744073709551615ul
CUTE_HOST_DEVICE __host__ __device__
CUTE_DEVICE __device__
CUTE_HOST __host__
CUTE_HOST_RTC __host__
CUTE_UNROLL
CUTE_NO_UNROLL
CUTE_INLINE_CONSTANT static constexpr
CUTE_GRID_CONSTANT __grid_constant__
CUTE_STL_NAMESPACE std
CUTE_ALIGNAS(n) alignas(n)
CUTE_STATIC_V(x) decltype(x)::value
CUTE_GCC_UNREACHABLE __builtin_unreachable()
CUTE_INVALID_CONTROL_PATH(x) assert(0&&x)
CUTLASS_HOST_DEVICE __host__ __device__
CUTLASS_DEVICE __device__
CUTLASS_HOST __host__
CUTLASS_GLOBAL __global__ static
CUTLASS_GRID_CONSTANT __grid_constant__
CUTLASS_PRAGMA_UNROLL
CUTLASS_PRAGMA_NO_UNROLL
CUTLASS_GEMM_LOOP
CUTLASS_GEMM_LOOP_HEADER
CUTLASS_CONSTEXPR_IF_CXX17 constexpr
CUTLASS_CONSTEXPR constexpr
CUTLASS_LAMBDA_FUNC_INLINE
CUTLASS_FORCEINLINE_HOST_DEVICE __host__ __device__
CUTLASS_NVRTC_HAS_FP16 1
CUTLASS_ALIGN(n) alignas(n)
CUTLASS_UNUSED(x) (void)(x)
CUTLASS_TRACE_HOST(...)
CUTLASS_TRACE_DEVICE(...)
CUTLASS_TRACE_HOST_DEVICE(...)
CUTLASS_NOT_IMPLEMENTED() assert(0)
C10_HOST_DEVICE __host__ __device__
C10_DEVICE __device__
C10_HOST __host__
__CUTE_REQUIRES(...) typename cute::enable_if<(__VA_ARGS__)>::type* = nullptr
__CUTE_REQUIRES_V(...) typename cute::enable_if<decltype((__VA_ARGS__))::value>::type* = nullptr
_Pragma(x)
__pragma(x)""".splitlines(),
    )
}
