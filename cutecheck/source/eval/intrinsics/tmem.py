"""Tensor memory of sm_100: its copies, how their operations are chosen, and its warps."""

from __future__ import annotations

import re
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.model import atoms, tiled
from cutecheck.model.ints import CuteError
from cutecheck.source.eval.intrinsics.atoms import copy_atom
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.intrinsics.types import operation
from cutecheck.source.eval.values import CuteOp, TensorVal, Tiler, Value, constant

_ONCE = re.compile(r"(SM100_TMEM_(?:LOAD|STORE)_(16|32)dp(32|64|128|256)b)1x((?:_16b)?)")
_MOST_BITS = 8192  # of one row that one instruction of 16 rows moves, half of it where there are 32


def _tensor(c: Call, position: int) -> tuple[Any, Any]:
    """Layout and element type of an argument in tensor memory."""
    tensor = c.arg(position)
    if not isinstance(tensor, TensorVal) or isinstance(tensor.layout, Unknown):
        raise Unsupported(f"{c.name} of a tensor that is not followed")
    if tensor.dtype is None or tensor.dtype.bits is None:
        raise Unsupported("the element type of the tensor in tensor memory is not known")
    return tensor.layout, tensor.dtype


@function("make_tmem_copy", "make_utccp_copy", configuring=True)
def _tmem_copy(c: Call) -> Value:
    """A copy that covers a tensor in tensor memory; an operation takes the tensor's element type."""
    layout, element = _tensor(c, 1)
    atom = copy_atom(c.m, c.arg(0), element, c.span)
    return getattr(tiled, c.name)(atom, layout, element.bits)


@function("make_tmem_warp_partitioner")
def _warps(c: Call) -> Value:
    layout, element = _tensor(c, 0)
    return Tiler(*tiled.make_tmem_warp_partitioner(layout, element.bits))


def repeated(name: str, bits: int) -> str:
    """The widest variant of a tensor-memory operation whose columns divide ``bits``; CuteError where there is none."""
    once = _ONCE.fullmatch(name)
    if once is None:
        raise CuteError("Must pass 1x tmem copy operator", name)
    stem, rows, width, packed = once.groups()
    columns = 64 if (rows, width) == ("16", "32") else int(width)
    times = _MOST_BITS * 16 // int(rows) // columns
    while times and bits % (columns * times):
        times //= 2
    if not times:
        raise CuteError("op_repeater: no variant of the operation divides the columns", name, bits)
    return f"{stem}{times}x{packed}"


@function("TMEM::op_repeater")
def _op_repeater(c: Call) -> Value:
    op, bits = (operation(t) if i == 0 else constant(t) for i, t in enumerate(c.targs[:2]))
    if not isinstance(op, CuteOp) or not isinstance(bits, int):
        raise Unsupported("op_repeater of an operation or of columns that are not known")
    return CuteOp(repeated(op.name, bits))


@function("TMEM::tmem_load_to_store")
def _load_to_store(c: Call) -> Value:
    """The store of the shape of a load."""
    op = operation(c.arg(0))
    store = op.name.replace("_TMEM_LOAD_", "_TMEM_STORE_") if isinstance(op, CuteOp) else ""
    if op is None or store == op.name or not atoms.is_copy_op(store):
        raise Unsupported("tmem_load_to_store of something that is no load of tensor memory")
    return CuteOp(store, op.args)
