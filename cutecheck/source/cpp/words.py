"""Word lists of C++ and CUDA."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W\d]\w*")


def words(text: str) -> frozenset[str]:
    """The set of the words of ``text``."""
    return frozenset(text.split())


BUILTIN_TYPES = words(
    "void bool char short int long float double signed unsigned wchar_t char8_t char16_t char32_t __int128"
)
ASSIGNS = words("= += -= *= /= %= &= |= ^= <<= >>=")
# Keywords that can never be the name of something.
KEYWORDS = BUILTIN_TYPES | words(
    """alignas alignof asm auto break case catch class const const_cast constexpr consteval constinit continue
    decltype default delete do dynamic_cast else enum explicit export extern false for friend goto if inline mutable
    namespace new noexcept nullptr operator private protected public register reinterpret_cast requires return
    sizeof static static_assert static_cast struct switch template this throw true try typedef typeid typename union
    using virtual volatile while co_await co_return co_yield __asm__ __asm concept"""
)
# Declaration words that carry a fact, and the flag they become (None: no fact).
SPECIFIERS: dict[str, str | None] = {
    "static": "static",
    "constexpr": "constexpr",
    "consteval": "constexpr",
    "extern": "extern",
    "thread_local": "thread",
    "virtual": "virtual",
    "explicit": "explicit",
    "friend": "friend",
    "__global__": "kernel",
    "__device__": "device",
    "__host__": "host",
    "__shared__": "shared",
    "__constant__": "device",
    "__managed__": "device",
} | dict.fromkeys(
    words(
        """constinit inline __inline__ __inline register mutable export __forceinline__ __forceinline __noinline__
        __grid_constant__ __extension__ __nv_pure__ __cdecl __stdcall __tile_static__ WINAPI"""
    )
)
CASTS = words("static_cast reinterpret_cast const_cast dynamic_cast")
SPELLED = {"or": "||", "and": "&&", "bitor": "|", "bitand": "&", "xor": "^", "not_eq": "!="}
# Macros that state a condition; they are understood by name and never expanded.
STATIC_ASSERTS = words("CUTE_STATIC_ASSERT_V CUTE_STATIC_ASSERT CUTLASS_STATIC_ASSERT")
ASSERTS = words("assert CUTE_ASSERT CUTLASS_ASSERT CUTE_RUNTIME_ASSERT_V gpu_assert")
CONTRACTS = words("TORCH_CHECK TORCH_INTERNAL_ASSERT AT_ASSERT AT_ASSERTM ASSUME __builtin_assume")
# Macros of headers that are not there which state a condition by all that is known of them: glog's, TVM's and the like.
CHECK_MACRO = re.compile(r"(?:[A-Z][A-Z0-9]*_)*(?:I?CHECK|D?CHECK|ASSERT|ENFORCE)(?:_MSG|_(EQ|NE|LT|LE|GT|GE))?")
ASSERTION_MACROS = STATIC_ASSERTS | ASSERTS | CONTRACTS
