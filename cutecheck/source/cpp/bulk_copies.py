"""Operations of TMA that a kernel calls by themselves: ``SM90_TMA_LOAD_2D::copy(&map, &full[s], hint, smem, k, m)``.

No tensor says what they are of. A load is noted as one by assembly is: the barrier that it tells, and where in shared
memory it begins. A store reads shared memory from an address on: what it surely reads there is one element.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, div
from cutecheck.model.layout import Layout
from cutecheck.source.eval import ir, shared_addresses
from cutecheck.source.eval.intrinsics.tensors import pointee
from cutecheck.source.eval.values import Object, Pointer, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

# what is told of two blocks' parts may be a barrier of the other one, and bulk copies may be one of each lane
_LOADS = re.compile(r"SM90_TMA_LOAD(?:_MULTICAST)?(?:_IM2COL)?(?:_MULTICAST)?(?:_\dD)?")
_STORES = re.compile(r"SM90_TMA_(?:STORE|REDUCE_ADD)(?:_IM2COL)?(?:_\dD)?")
_BARRIER = 8  # bytes


def noted(m: Machine, args: list[Value], span: Span) -> bool:
    """Note what a call does, if it is one of an operation; False where it is not known with which memory."""
    node = m.recorder.call
    name = _operation(node.fn) if node is not None and node.span == span else ""
    if _STORES.fullmatch(name):
        return _stored(m, args, span)
    if not _LOADS.fullmatch(name):
        return False
    barrier = shared_addresses.located(m, args[1], span) if len(args) > 3 else None
    to = next((found for a in args[2:] if (found := _shared(m, a, span)) is not None), None)
    if barrier is None or to is None:
        return False
    index = m.dialect.to_model(div(Dyn(barrier[1]), Dyn.of(_BARRIER)))
    m.recorder.loaded(barrier[0], span, (index,), to)
    return True


def is_operation(called: ir.Expr | None) -> bool:
    """Whether a call is of an operation: it gets addresses, and writes none of the program's variables."""
    name = _operation(called)
    return _LOADS.fullmatch(name) is not None or _STORES.fullmatch(name) is not None


def _operation(called: ir.Expr | None) -> str:
    """The operation whose ``copy`` a call names."""
    base = called.base if isinstance(called, ir.Scoped) and called.ident == "copy" else None
    return base.ident if isinstance(base, (ir.Name, ir.Scoped)) else ""


def _shared(m: Machine, value: Value, span: Span) -> tuple[str, Expr] | None:
    pointer = value.pointer if isinstance(value, Object) else value
    return shared_addresses.located(m, value, span) if isinstance(pointer, Pointer) else None


def _stored(m: Machine, args: list[Value], span: Span) -> bool:
    source = next((a for a in args[1:2] if isinstance(a, Pointer) and a.space == "smem"), None)
    if source is None:
        return False
    one = Layout(1, 0)
    read = TensorVal(one, source, "smem", pointee(source, m), 0, "view", name=source.buffer.rpartition(".")[2])
    m.recorder.drained(read, span)
    return True


__all__ = ["is_operation", "noted"]
