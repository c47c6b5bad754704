"""CUDA's built-in variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.model import expr as ex
from cutecheck.model.dtype import dtype
from cutecheck.model.expr import NATURAL, Domain
from cutecheck.model.integers import domain_of
from cutecheck.model.ints import Dyn
from cutecheck.source.eval.record.ways import lone
from cutecheck.source.eval.threads import some
from cutecheck.source.eval.tuples import Components, Vector, like
from cutecheck.source.eval.values import Scalar, ScalarType, Tag, Value
from cutecheck.source.eval.vectors import AXES, ELEMENTS, KIND

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

BUILTINS = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def thread_index(m: Machine, name: str) -> Dyn:
    """``threadIdx.x`` and the like as a run-time integer with its hardware range; a number where the launch says it."""
    axis = "xyz".index(name[-1])
    if name.startswith("threadIdx"):
        return Dyn.named(name, Domain(0, (m.recorder.block_extent(axis) or 1024) - 1))
    shape = m.recorder.block_shape() if name.startswith("blockDim") else ()
    extent = (*shape, 1, 1)[axis] if shape else None
    if extent is not None:
        return Dyn(ex.const(extent))
    if name.startswith("blockIdx"):
        m.recorder.asks_block(name)
    blocks = m.recorder.grid_extent(axis) if name.startswith("blockIdx") else None
    return Dyn.named(name, Domain(0 if "Idx" in name else 1, (blocks or 2**31) - 1))


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


def part_of(m: Machine, vector: Scalar, part: str) -> Value | None:
    """A component of a value of a vector type: the same of the same value."""
    known = KIND.fullmatch(vector.ctype)
    if known is None or part not in AXES[: int(known[2])]:
        return None
    ctype = ELEMENTS[known[1]]
    if ctype in ("float", "double"):
        return Scalar(None, ctype)
    variable = lone(vector.value.expr) if isinstance(vector.value, Dyn) else None
    if variable is None:
        return Scalar(some(m, f"{vector.ctype}.{part}", domain_of(ctype), True), ctype)
    stem = re.split("[#~]", variable.name, maxsplit=1)[0]  # what follows says which value it is
    return Scalar(Dyn.named(f"{stem}.{part}{variable.name[len(stem) :]}", domain_of(ctype)), ctype)


def with_part(m: Machine, vector: Value, part: str, value: Value, span: Span) -> Value | None:
    """A value of a vector type, or a ``dim3``, after one component is written; None for any other value."""
    if part not in AXES:
        return None
    at = AXES.index(part)
    if isinstance(vector, Scalar):
        known = KIND.fullmatch(vector.ctype)
        if known is None or at >= int(known[2]):
            return None
        of = ScalarType(dtype(ELEMENTS[known[1]]))  # type: ignore[arg-type]
        parts: tuple[Value, ...] = tuple(part_of(m, vector, axis) for axis in AXES[: int(known[2])])
        return Vector((*parts[:at], m.dialect.cast(of, value, span), *parts[at + 1 :]), vector.ctype)
    if type(vector) not in (tuple, Components, Vector) or at >= len(vector):
        return None
    old = vector[at]
    if not isinstance(old, (int, Dyn, Scalar)):
        return None
    new = m.dialect.cast(ScalarType(dtype(old.ctype)), value, span) if isinstance(old, Scalar) else None  # type: ignore[arg-type]
    if new is None:  # of a `dim3`
        new = m.dialect.to_model(value)
        new = new if isinstance(new, (int, Dyn)) else some(m, part, NATURAL, True)
    return like(vector, (*vector[:at], new, *vector[at + 1 :]))


def component(m: Machine, name: str, part: str) -> Value:
    """``threadIdx.x``."""
    return Scalar(thread_index(m, f"{name}.{part}"), "unsigned int")
