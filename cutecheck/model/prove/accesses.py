"""From a thread's partition of a tensor to the access an instruction makes.

A partition keeps the values of one instruction in its leading modes and the instructions in the others:
``((_8,_1),_4,_2):((_1,_0),_1024,_32)`` is 8 consecutive elements, 8 times. These helpers split the two and join
swizzle, offset and layout into the payloads of ``properties``.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.model.access import AccessKind
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr, add
from cutecheck.model.ints import Dyn, Int, as_expr
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, MixedBits, SmemPtrFlag, Swizzle
from cutecheck.model.prove.properties import THREAD, ZERO, BankAccess, GmemSectors
from cutecheck.model.units import Bits, Bytes, Elements, IndivisibleError, bits_to_elements


class NoAccessError(Exception):
    """The tensor cannot be accessed by this instruction as one vector a lane; the message says why."""


def swizzle_and_layout(layout: AnyLayout) -> tuple[Swizzle | None, Expr, Layout]:
    """Split ``Sw o offset o L`` into swizzle, offset in elements and L; NoAccessError for other compositions."""
    if isinstance(layout, Layout):
        return None, ZERO, layout
    inner, offset = layout.b, layout.offset
    if not isinstance(layout.a, Swizzle) or not isinstance(inner, Layout):
        raise NoAccessError("composition of more than one swizzle")
    swizzle = layout.a if layout.a.bits else None
    if isinstance(offset, SmemPtrFlag):
        return swizzle, ZERO, inner
    if isinstance(offset, MixedBits):
        return swizzle, offset.value.expr, inner
    if isinstance(offset, (tuple, ScaledBasis)):
        raise NoAccessError("coordinate offset inside a composed layout")
    return swizzle, as_expr(offset), inner


def _leaves(shape: IntTuple, stride: IntTuple) -> Iterator[tuple[Int, Int]]:
    if isinstance(shape, tuple):
        strides = stride if isinstance(stride, tuple) else (stride,) * len(shape)
        for s, d in zip(shape, strides, strict=True):
            yield from _leaves(s, d)
    elif isinstance(shape, ScaledBasis) or isinstance(stride, (tuple, ScaledBasis)):
        raise NoAccessError("a coordinate tensor has no addresses")
    else:
        yield shape, stride


def split_vector(layout: Layout, count: Elements) -> Layout:
    """Take ``count`` consecutive elements out of a layout; the layout of the vectors that remain.

    Consecutive by compile-time strides, as vectorization needs. NoAccessError says where the run of unit strides ends.
    """
    modes = [(s, d) for s, d in _leaves(layout.shape, layout.stride) if s != 1]
    run, wanted = 1, int(count)
    while run < wanted:
        place = next((i for i, (_, d) in enumerate(modes) if isinstance(d, int) and d == run), None)
        if place is None:
            loose = any(isinstance(d, Dyn) for _, d in modes)
            why = "; a run-time stride does not vectorize" if loose else ""
            raise NoAccessError(f"only {run} of {wanted} elements are consecutive{why}")
        extent, stride = modes[place]
        if not isinstance(extent, int):
            raise NoAccessError(f"extent {extent} of the contiguous mode is not static")
        if run * extent <= wanted:
            if wanted % (run * extent):
                raise NoAccessError(f"{run * extent} consecutive elements do not divide a vector of {wanted}")
            modes.pop(place)
            run *= extent
        else:
            if extent % (wanted // run) or wanted % run:
                raise NoAccessError(f"a contiguous run of {run * extent} is not whole vectors of {wanted}")
            modes[place] = (extent * run // wanted, stride * wanted // run)
            run = wanted
    return Layout(tuple(s for s, _ in modes), tuple(d for _, d in modes))


def _vector(vector_bits: Bits, element_bits: Bits) -> Elements:
    try:
        return bits_to_elements(vector_bits, element_bits)
    except IndivisibleError as e:
        raise NoAccessError(str(e)) from e


def bank_access(
    kind: AccessKind,
    layout: AnyLayout,
    offset: Int | Expr,
    *,
    element_bits: Bits,
    vector_bits: Bits,
    threads: int,
    matrices: int = 0,
    transposed: bool = False,
    thread: str = THREAD,
    base_alignment: Bytes = Bytes(16),
    predicated: bool = False,
    what: str = "",
) -> BankAccess:
    """The shared-memory access of a partitioned tensor.

    ``layout`` is the thread's partition, ``offset`` the element offset of its first value before the swizzle (an
    offset inside a composed layout is added). For ldmatrix and stmatrix pass the memory side's partition and
    ``vector_bits`` 128: each lane's values there are one matrix row. Raises NoAccessError.
    """
    swizzle, inner_offset, plain = swizzle_and_layout(layout)
    rest = split_vector(plain, _vector(vector_bits, element_bits))
    start = offset if isinstance(offset, Expr) else as_expr(offset)
    return BankAccess(
        kind=kind,
        element_bits=element_bits,
        vector_bits=vector_bits,
        offset=add(start, inner_offset),
        threads=threads,
        swizzle=swizzle,
        rest=rest,
        matrices=matrices,
        transposed=transposed,
        thread=thread,
        base_alignment=base_alignment,
        predicated=predicated,
        what=what,
    )


def gmem_access(
    layout: AnyLayout,
    offset: Int | Expr,
    *,
    element_bits: Bits,
    vector_bits: Bits,
    threads: int,
    thread: str = THREAD,
    base_alignment: Bytes = Bytes(16),
    factor: int = 2,
    what: str = "",
) -> GmemSectors:
    """The global-memory access of a partitioned tensor; see :func:`bank_access`."""
    swizzle, inner_offset, plain = swizzle_and_layout(layout)
    if swizzle is not None:
        raise NoAccessError("global memory is not swizzled")
    rest = split_vector(plain, _vector(vector_bits, element_bits))
    start = offset if isinstance(offset, Expr) else as_expr(offset)
    return GmemSectors(
        element_bits, vector_bits, add(start, inner_offset), threads, rest, thread, base_alignment, factor, what
    )
