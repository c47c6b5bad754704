"""Library functions that write nothing of the program's but what they are given the address of.

A call of a function that is not known loses all that addresses lead to which went out of sight (``leaks.py``). These
have no such address, keep none and run no code of the program: what they are given is a value, or a place that is
forgotten by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutecheck.facts import Unknown
from cutecheck.model.identity import once
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Extern, Value

_STANDARD = "std::"
_CONTAINERS = tuple(
    _STANDARD + name
    for name in ("vector", "string", "basic_string", "string_view", "array", "map", "unordered_map", "set", "deque")
)
_METHODS = frozenset({
    "size", "empty", "length", "capacity", "data", "begin", "end", "cbegin", "cend", "front", "back", "c_str", "substr",
    "compare",
})  # fmt: skip
# whose names are C's or the CUDA run time's, and so nobody else's; they get values or write device memory alone
_OF_VALUES = frozenset({
    "cudaGetErrorString", "cudaGetErrorName", "cudaGetLastError", "cudaPeekAtLastError", "cudaEventRecord",
    "cudaEventDestroy", "cudaStreamDestroy", "cudaSetDevice", "cudaFuncSetAttribute", "cudaFree", "cudaMemset",
    "cudaMemsetAsync", "getenv", "atoi", "atof", "strlen", "strcmp", "strncmp", "sqrt", "sqrtf", "exp", "expf", "log",
    "logf", "log2", "log2f", "pow", "powf", "fabs", "fabsf", "ceil", "ceilf", "floor", "floorf",
})  # fmt: skip
# what these write, they write through a pointer that they are given
_OF_ADDRESSES = frozenset({
    "cudaEventCreate", "cudaEventCreateWithFlags", "cudaEventElapsedTime", "cudaStreamCreate", "cudaGetDevice",
    "cudaGetDeviceCount", "cudaGetDeviceProperties", "cudaDeviceGetAttribute", "cudaFuncGetAttributes", "cudaMalloc",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxPotentialBlockSize",
})  # fmt: skip


def observes(called: ir.Expr, fn: Value, args: Sequence[Value], env: Env) -> bool:
    """Whether a call is of such a function."""
    if isinstance(called, ir.Attr):
        name = fn.what.rpartition(".")[0].partition("@")[0] if isinstance(fn, Extern) else ""  # of one made somewhere
        return not args and called.ident in _METHODS and name in _CONTAINERS
    if not isinstance(called, ir.Name) or not isinstance(fn, Unknown):
        return False
    if called.ident in _OF_ADDRESSES:
        return not any(isinstance(a, (Unknown, Extern)) for a in args)
    return called.ident in _OF_VALUES or (called.ident == "string" and _uses_standard(env))


def _uses_standard(env: Env) -> bool:
    """Whether the function around says ``using namespace std``."""
    function = env.frame.function if env.frame is not None else None
    return function is not None and function.body is not None and _says_so(function.body.get())


@once
def _says_so(body: ir.Stmt) -> bool:
    decls = (s.decl for s in getattr(body, "body", ()) if isinstance(s, ir.Local))
    return any(
        isinstance(d, ir.Using) and d.kind == "namespace" and isinstance(d.target, ir.Name) and d.target.ident == "std"
        for d in decls
    )
