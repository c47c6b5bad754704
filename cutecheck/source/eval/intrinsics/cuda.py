"""CUDA's built-in variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.source.eval.threads import some
from cutecheck.source.eval.values import Scalar, Tag, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

BUILTINS = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def thread_index(m: Machine, name: str) -> Dyn:
    """``threadIdx.x`` and the like as a run-time integer with its hardware range."""
    if name.startswith("threadIdx"):
        threads = m.recorder.block_extent("xyz".index(name[-1]))
        return Dyn.named(name, Domain(0, (threads or 1024) - 1))
    return Dyn.named(name, Domain(0 if "Idx" in name else 1, 2**31 - 1))


def thread_number(m: Machine) -> Dyn:
    """The number of a thread in its block, x first, by which the hardware cuts warps."""
    index = thread_index(m, "threadIdx.x")
    shape = m.recorder.block_shape()
    if all(extent == 1 for extent in shape[1:]):
        return index
    before: int | None = shape[0]
    for axis in range(1, len(shape)):
        if before is None:
            return some(m, "thread of a block of unknown shape", Domain(0, 1023), True)
        index += thread_index(m, f"threadIdx.{'xyz'[axis]}") * before  # type: ignore[assignment]
        extent = shape[axis]
        before = None if extent is None else before * extent
    return index


def builtin(name: str) -> Value:
    return Tag(name)


def component(m: Machine, name: str, part: str) -> Value:
    """``threadIdx.x``."""
    return Scalar(thread_index(m, f"{name}.{part}"), "unsigned int")
