"""What each kernel takes of a multiprocessor: threads, shared memory, registers of fragments, tensor memory."""

from __future__ import annotations

import math
from typing import Any

from cutecheck.facts.core import NOT_WALKED, Call, Facts, SmemBuffer
from cutecheck.facts.span import Span, Unknown
from cutecheck.facts.tensor import TensorFact
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import size
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError, known_value
from cutecheck.model.layout import Layout
from cutecheck.records import record

ACCUMULATORS = ("partition_fragment_C", "make_fragment_C")
_OPERANDS = ("partition_fragment_A", "make_fragment_A", "partition_fragment_B", "make_fragment_B")
TMEM_FREED = "tensor memory is given back"  # the reason of a Call's result
_LANE = 1 << 16  # stride of a lane in tensor memory addresses (PTX ISA, tensor memory addressing)


@record(frozen=True, slots=True)
class KernelResources:
    """Of one instantiation of a kernel on one architecture in launches of one size; None where it is open.

    ``span`` of the first such launch, or of the kernel's bounds or first call where none is known. ``threads`` of the
    launch, else of the launch bounds. ``static_smem_bytes`` of its ``__shared__`` arrays, ``dynamic_smem_bytes`` of the
    launch, for the Python DSL of its allocations. ``accumulator_registers`` and
    ``operand_registers``: 32-bit registers a thread of the fragments of C, and of A and B, those of loops only the
    largest; 0 for an MMA that reads its operands from shared memory. ``tmem_columns`` of the largest accumulator in
    tensor memory, ``tmem_allocated`` of the largest allocation.
    """

    kernel: str
    arch: str
    span: Span
    threads: int | None = None
    static_smem_bytes: int | None = None
    dynamic_smem_bytes: int | None = None
    accumulator_registers: int | None = None
    operand_registers: int | None = None
    tmem_columns: int | None = None
    tmem_allocated: int | None = None


def registers(call: Call, makers: tuple[str, ...] = ACCUMULATORS) -> int | None:
    """32-bit registers a thread of the fragment that a call makes; None for another call, or where it is open."""
    tensor = call.result
    if call.function not in makers or not isinstance(tensor, TensorFact) or tensor.space != "rmem":
        return None
    if isinstance(tensor.layout, Unknown) or tensor.dtype is None or tensor.dtype.bits is None:
        return None
    elements = known_value(size(tensor.layout))
    return None if elements is None else -(-int(elements) * int(tensor.dtype.bits) // 32)


def allocated(call: Call) -> int | None:
    """Columns of tensor memory that a call asks for; None for another call, or where the number is open."""
    if not isinstance(call.result, Unknown) or call.result.reason != "tensor memory" or not call.arguments:
        return None
    numbers = [a for a in call.arguments if isinstance(a, (int, Dyn, Sym)) and not isinstance(a, bool)]
    return known_value(numbers[0]) if numbers else None


def frees(call: Call) -> bool:
    """Whether a call gives tensor memory back."""
    return isinstance(call.result, Unknown) and call.result.reason == TMEM_FREED


def columns(call: Call) -> int | None:
    """Columns of a 32-bit accumulator in tensor memory; None for anything else."""
    tensor = call.result
    if call.function not in ACCUMULATORS or not isinstance(tensor, TensorFact) or tensor.space != "tmem":
        return None
    if not isinstance(tensor.layout, Layout) or tensor.dtype is None or tensor.dtype.bits != 32:
        return None
    extents, strides = (it.flatten_to_tuple(x) for x in (tensor.layout.shape, tensor.layout.stride))
    last = 0
    for extent, stride in zip(extents, strides, strict=True):
        many, step = _number(extent), _number(stride)
        if many is None or step is None:
            return None
        last += (many - 1) * (step if step < _LANE else 0)
    return last + 1


def resources(facts: Facts) -> tuple[KernelResources, ...]:
    """Every kernel of the run that was walked or launched, by name and architecture, once for each size of launch."""
    kernels: dict[tuple[str, str], Span] = {}
    for launch in facts.launches:
        if launch.kernel and launch.origin in ("launch", "launch_bounds"):
            kernels.setdefault((launch.kernel, launch.arch), launch.span)
    for call in facts.calls:
        if call.kernel:
            kernels.setdefault((call.kernel, call.arch), call.span)
    return tuple(row for (name, arch), span in sorted(kernels.items()) for row in _of(name, arch, span, facts))


def _of(name: str, arch: str, span: Span, facts: Facts) -> list[KernelResources]:
    launches = [x for x in facts.launches if x.kernel == name and x.arch in ("", arch)]
    bound = _most([x.block_threads for x in launches if x.origin == "launch_bounds"])
    calls = [c for c in facts.calls if c.kernel == name and c.arch == arch]
    buffers = [b for b in facts.buffers if b.arch == arch and b.enclosing == name]
    static, allocations = _shared(buffers)
    sizes: dict[tuple[int | None, int | None], Span] = {}
    for launch in launches:
        if launch.origin == "launch":
            sizes.setdefault((_number(launch.block_threads) or bound, _number(launch.smem_bytes)), launch.span)
    rows = sorted(sizes.items(), key=lambda row: [-1 if n is None else n for n in row[0]])
    if any(isinstance(c.result, Unknown) and c.result.reason == NOT_WALKED for c in calls):
        return [
            KernelResources(name, arch, where, threads, None, dynamic)
            for (threads, dynamic), where in rows or [((bound, None), span)]
        ]
    return [
        KernelResources(
            name, arch, where, threads, static, allocations if allocations is not None else dynamic,
            _fragments(calls, ACCUMULATORS), _fragments(calls, _OPERANDS),
            max((n for c in calls if (n := columns(c)) is not None), default=None),
            max((n for c in calls if (n := allocated(c)) is not None), default=None),
        )
        for (threads, dynamic), where in rows or [((bound, None), span)]
    ]  # fmt: skip


def _shared(buffers: list[SmemBuffer]) -> tuple[int | None, int | None]:
    """Static bytes, and those of the DSL's allocations; members of a struct in dynamic memory are part of that."""
    open_ended = [b.buffer_id for b in buffers if b.size_bytes is None or b.span.is_python]
    arrays = [b for b in buffers if not any(b.buffer_id.startswith(f"{o}.") for o in open_ended)]
    if buffers and all(b.span.is_python for b in buffers):
        declared = [b for b in arrays if "::array@" in b.buffer_id]
        return _sum(declared), _sum([b for b in arrays if b not in declared])
    return _sum(arrays), None


def _sum(buffers: list[SmemBuffer]) -> int | None:
    sizes = [_number(b.size_bytes) for b in buffers if b.size_bytes is not None]
    return None if None in sizes else sum(s for s in sizes if s is not None)


def _fragments(calls: list[Call], makers: tuple[str, ...]) -> int | None:
    """Registers of the fragments outside loops, and of the largest inside one."""
    made = [c for c in calls if c.function in makers and isinstance(c.result, TensorFact)]
    if not made:
        return None
    outside, inside = [0], [0]
    for call in made:
        assert isinstance(call.result, TensorFact)
        taken = registers(call, makers) if call.result.space == "rmem" else 0
        if taken is None:
            return None
        (inside if call.loops else outside).append(taken)
    return sum(outside) + max(inside)


def _most(values: list[Any]) -> int | None:
    known = [_number(v) for v in values]
    return None if not known or None in known else max(k for k in known if k is not None)


def _number(value: Any) -> int | None:
    if isinstance(value, tuple):
        parts = [_number(v) for v in value]
        return None if None in parts else math.prod(p for p in parts if p is not None)
    try:
        found = known_value(value) if isinstance(value, (int, Dyn, Sym)) else None
    except (CuteError, UndecidedError):
        return None
    return None if found is None else int(found)
