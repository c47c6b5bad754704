"""``cutlass::Semaphore``: blocks wait for one another at a number in global memory, and all threads of a block meet.

``wait`` and ``release`` hold the block's threads as ``__syncthreads()`` does; what the number is nobody follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.source.cpp.around import as_step
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.types import class_name
from cutecheck.source.eval.values import Extern, FuncSet, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_CLASS = "cutlass::Semaphore"
_MEETS, _ALONE = ("wait", "release"), ("fetch",)


def applied(m: Machine, fn: Value, full: str, span: Span) -> Value:
    """A method of the class, whether its header is read or not; ``DEFER`` for anything else."""
    if isinstance(fn, FuncSet):
        owner = class_name(fn.self_.cls) if fn.self_ is not None else ""
    elif isinstance(fn, Extern):
        owner = full.rpartition(".")[0]
    else:
        return DEFER
    name = full.rpartition("::")[2].rpartition(".")[2]
    if owner != _CLASS or name not in (*_MEETS, *_ALONE):
        return DEFER
    if name in _MEETS:
        with as_step(m, span) as (at, _):
            m.recorder.synchronises(m, "__syncthreads", [], at)
    return Scalar(None, "void")


__all__ = ["applied"]
