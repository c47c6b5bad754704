"""Where the elements of a part of a shared-memory buffer lie, as a layout with a swizzle on offsets and a start."""

from __future__ import annotations

import math

from cutecheck.facts import Event, SmemBuffer, TensorFact, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.ints import Dyn, as_expr, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, MixedBits, SmemPtrFlag, Swizzle
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.derive.accesses import thread_count
from cutecheck.rules.derive.slices import first_thread


def placed(event: Event, tensor: TensorFact, buffer: SmemBuffer) -> tuple[AnyLayout, Expr] | None:
    """The layout and the offset of its first element, over the threads of the copy.

    None where a variable other than the thread has no bounds. A swizzle of CuTe's mixed bits is that of the number they
    stand for. A swizzle on addresses is one on offsets in a buffer that starts at a multiple of its period.
    """
    if isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)) or isinstance(tensor.layout, Unknown):
        return None
    offset, layout = as_expr(tensor.offset), tensor.layout
    if isinstance(layout, ComposedLayout) and isinstance(layout.offset, MixedBits):
        layout = ComposedLayout(layout.a, layout.offset.value, layout.b)
    elif isinstance(layout, ComposedLayout) and isinstance(layout.offset, SmemPtrFlag):
        layout = _on_offsets(layout, tensor, buffer) or layout
    inner = layout.offset if isinstance(layout, ComposedLayout) else 0
    start = as_expr(inner) if isinstance(inner, (int, Dyn)) else ex.const(0)
    variables = (*offset.variables(), *start.variables())
    for v in variables:
        lo, hi = v.domain.bounds()
        if v.name != THREAD and (lo is None or hi is None):
            return None
    threads = thread_count(event)
    block = None if event.threads is None else known_value(event.threads)
    first = first_thread(tensor)
    if isinstance(first, str):
        return None
    threads = threads if block is None else block - first if threads is None else min(block - first, threads)
    if threads is None:
        return None if any(v.name == THREAD for v in variables) else (layout, offset)
    tops = [hi for v in variables if v.name == THREAD and (hi := v.domain.bounds()[1]) is not None]
    known = {THREAD: ex.var(THREAD, Domain(first, min([first + threads - 1, *tops])))}
    if isinstance(layout, ComposedLayout) and start.variables():
        layout = ComposedLayout(layout.a, Dyn(start.substitute(known)), layout.b)
    return layout, offset.substitute(known)


def _on_offsets(layout: ComposedLayout, tensor: TensorFact, buffer: SmemBuffer) -> ComposedLayout | None:
    """``layout`` with its swizzle on addresses as one on offsets of elements."""
    swizzle, flag = layout.a, layout.offset
    bits = None if tensor.dtype is None else known_value(tensor.dtype.bits or 0)
    if not isinstance(swizzle, Swizzle) or not isinstance(flag, SmemPtrFlag) or flag.sparsity is not None:
        return None
    if not isinstance(layout.b, Layout) or not bits or bits % 8 or bits & (bits - 1):
        return None
    base = swizzle.base - int(math.log2(bits // 8))
    start = None if buffer.alignment_bytes is None else known_value(buffer.alignment_bytes)
    if base < 0 or start is None or start % (1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))):
        return None
    return ComposedLayout(Swizzle(swizzle.bits, base, swizzle.shift), 0, layout.b)
