"""Atoms, tiled copies and tiled MMAs of the DSL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import tiled
from cutecheck.model.algebra import dsl
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.basis import Underscore, X
from cutecheck.model.dtype import DType
from cutecheck.model.layout import Layout, Swizzle, text
from cutecheck.model.tiled import TiledCopy, TiledMMA, smem_atoms
from cutecheck.model.tiled.copy import unchecked
from cutecheck.model.units import Bytes, bytes_to_bits
from cutecheck.source.eval.intrinsics import dsl_ops
from cutecheck.source.eval.intrinsics.dsl_layouts import layout_of, number, still_composed
from cutecheck.source.eval.intrinsics.dsl_ops import OpValue
from cutecheck.source.eval.intrinsics.dsl_show import copy_type, mma_type, op_json
from cutecheck.source.eval.intrinsics.dsl_tensors import dtype_of, plain_layout
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.undetermined import part
from cutecheck.source.eval.values import ScalarType, Slice, TensorVal, Value, constant

OP, TYPE = "dsl op", "dsl type"  # of an atom's `extra`
OPERATIONS: dict[str, OpValue] = {}  # by the text in `extra`


def _argument(c: Call, position: int, name: str, default: Any = None) -> Any:
    v = c.args[position] if len(c.args) > position else c.kwargs.get(name, default)
    return default if isinstance(v, Underscore) else v


def _marked(atom: Any, op: OpValue, type_: str) -> Any:
    kept = tuple(x for x in atom.extra if x[0] not in (OP, TYPE))
    text = json.dumps(op_json(op))
    OPERATIONS[text + type_] = op
    return replace(atom, extra=(*kept, (OP, text), (TYPE, type_)))


def operation_of(atom: CopyAtom | MMAAtom) -> OpValue | None:
    """The operation an atom was made of."""
    found = dict(atom.extra)
    return OPERATIONS.get(found.get(OP, "") + found.get(TYPE, ""))


@function("dsl.make_copy_atom", configuring=True)
def _make_copy_atom(c: Call) -> Value:
    op, dtype = c.arg(0), dtype_of(_argument(c, 1, "copy_internal_type"))
    bits = constant(_argument(c, 2, "num_bits_per_copy", 0))
    if isinstance(op, OpValue) and op.name in ("CopyUniversalOp", "CopyG2SOp") and bits is not None:
        if op.name == "CopyG2SOp" and bits <= 0:
            raise alg.CuteError("expects a positive `num_bits_per_copy` for CopyG2SOp")
        if bits and (bits < 8 or bits & (bits - 1)):
            raise alg.CuteError("expects `num_bits_per_copy` to be 0 or a power of 2 of at least 8", bits)
        if op.name == "CopyG2SOp" and bits < 32:
            c.refused = Unknown(
                f"CuTe rejects make_copy_atom: cp.async of {bits} bits; it moves 32, 64 or 128", c.span, True
            )
            plain = dsl_ops.copy_atom(OpValue("CopyUniversalOp"), dtype, bits)
            return _marked(replace(plain, op="SM80_CP_ASYNC_CACHEALWAYS"), op, copy_type(op, dtype, bits))
    return copy_atom_value(op, dtype, bits)


def copy_atom_value(op: Value, dtype: DType, bits: int | None) -> CopyAtom:
    """The copy atom of an operation, with the operation and the compiler's type beside it."""
    if not isinstance(op, OpValue):
        raise Unsupported("this is not a copy operation cutecheck knows")
    made: CopyAtom = _marked(dsl_ops.copy_atom(op, dtype, bits), op, copy_type(op, dtype, bits or 0))
    return made


@function("dsl.make_mma_atom", configuring=True)
def _make_mma_atom(c: Call) -> Value:
    return _mma_atom(c.arg(0))


def _mma_atom(op: Value) -> MMAAtom:
    if isinstance(op, MMAAtom):
        return op
    atom = dsl_ops.mma_atom(op)
    return _marked(atom, op, mma_type(op))  # type: ignore[no-any-return]


@function("dsl.make_tiled_mma", configuring=True)
def make_tiled_mma_value(c: Call) -> Value:
    atom = _mma_atom(_argument(c, 0, "op_or_atom"))
    layout = plain_layout(c, _argument(c, 1, "atom_layout_mnk", (1, 1, 1)))
    if alg.rank(layout) != 3:
        raise alg.CuteError("expects rank-3 MNK atom layout", layout)
    permutation = _argument(c, 2, "permutation_mnk")
    if permutation is None:
        permutation = (X, X, X)
    permutation = number(c, permutation)
    if not isinstance(permutation, tuple):
        permutation = (permutation,)
    for entry in permutation:
        if isinstance(entry, (ScalarType, DType, str, float)):
            raise alg.CuteError("expects a tile of integers, layouts or None, and one of its entries is none of these")
    return tiled.make_tiled_mma(atom, layout, permutation)


def _copy_atom(v: Value) -> CopyAtom:
    if isinstance(v, TiledCopy):
        return v.atom
    if isinstance(v, CopyAtom):
        return v
    raise Unsupported("this is not a copy atom cutecheck knows")


def _accepted(c: Call, make: Callable[[], TiledCopy]) -> TiledCopy:
    """A TiledCopy; what C++ CuTe asserts of its atom the DSL does not, and the call keeps the reason."""
    try:
        return make()
    except alg.CuteError as error:
        if "selected CopyAtom" not in str(error):
            raise
        c.refused = Unknown(f"CuTe rejects {c.name[4:]}: {error}", c.span, True)
        with unchecked():
            return make()


def _constants(**given: Any) -> None:
    """A TiledCopy is a type: its layouts are constants, which what a kernel gets in a plain tuple no longer is."""
    for name, value in given.items():
        fixed = alg.is_static((value.shape, value.stride) if isinstance(value, Layout) else value)
        if not fixed and part(value) is None:
            raise alg.CuteError(f"expects a static {name}, and it is {_as_written(text(value))}")


def _as_written(shown: str) -> str:
    """A value's text with variables as the source names them: `tiler[0]` for the variable `tiler.0#5`."""
    return re.sub(r"(?<=\w)\.(\d+)", r"[\1]", re.sub(r"#\d+|[{}]", "", shown))


@function("dsl.make_tiled_copy_tv", configuring=True)
def _tv(c: Call) -> Value:
    atom = _copy_atom(_argument(c, 0, "atom"))
    thr, val = plain_layout(c, _argument(c, 1, "thr_layout")), plain_layout(c, _argument(c, 2, "val_layout"))
    _constants(thr_layout=thr, val_layout=val)
    tiler, layout_tv = dsl.make_layout_tv(thr, val)
    return _accepted(c, lambda: TiledCopy(atom, layout_tv, tiler))


@function("dsl.make_tiled_copy", configuring=True)
def _tiled_copy(c: Call) -> Value:
    atom = _copy_atom(_argument(c, 0, "atom"))
    tiler = number(c, _argument(c, 2, "tiler_mn"))
    layout_tv = plain_layout(c, _argument(c, 1, "layout_tv"))
    _constants(layout_tv=layout_tv, tiler_mn=tiler)
    return _accepted(c, lambda: TiledCopy(atom, layout_tv, tiler))


@function("dsl.make_cotiled_copy", configuring=True)
def _cotiled(c: Call) -> Value:
    layout_tv, data = layout_of(c.arg(1)), layout_of(c.arg(2))
    _constants(atom_layout_tv=layout_tv, data_layout=data)
    return tiled.make_cotiled_copy(_copy_atom(c.arg(0)), layout_tv, data)


@function(
    "dsl.make_tiled_copy_A", "dsl.make_tiled_copy_B", "dsl.make_tiled_copy_C", "dsl.make_tiled_copy_C_atom",
    "dsl.make_tiled_copy_S", "dsl.make_tiled_copy_D", configuring=True,
)  # fmt: skip
def _of(c: Call) -> Value:
    other = c.arg(1)
    other = other.tiled if isinstance(other, Slice) else other
    wanted = TiledCopy if c.name[-1] in "SD" else TiledMMA
    if not isinstance(other, wanted):
        raise Unsupported(f"{c.name[4:]} of something cutecheck does not know")
    return _accepted(c, lambda: getattr(tiled, c.name[4:])(_copy_atom(c.arg(0)), other))


@function("dsl.make_tmem_copy", "dsl.make_s2t_copy", configuring=True)
def _tmem_copy(c: Call) -> Value:
    """Tensor memory to registers (or back), and shared memory to tensor memory: a copy that covers the tensor."""
    atom, tensor = _copy_atom(_argument(c, 0, "atom")), _argument(c, 1, "tmem_tensor")
    if not isinstance(tensor, TensorVal) or isinstance(tensor.layout, Unknown):
        raise Unsupported(f"{c.name[4:]} of a tensor that is not followed")
    if tensor.dtype is None or tensor.dtype.bits is None:
        raise Unsupported("the element type of the tensor in tensor memory is not known")
    if c.name.endswith("s2t_copy"):
        return tiled.make_utccp_copy(atom, alg.filter_zeros(tensor.layout), tensor.dtype.bits)
    return tiled.make_tmem_copy(atom, tensor.layout, tensor.dtype.bits)


@function("dsl.tile_to_mma_shape")
def _tile_to_mma_shape(c: Call) -> Value:
    """A swizzled atom tiled to ((MMA_M, MMA_N), M_MMAs, N_MMAs, ...); the DSL coalesces each mode of that shape."""
    order = _argument(c, 2, "order")
    given = (number(c, order),) if order is not None else ()
    shape, atom = number(c, c.arg(1)), layout_of(c.arg(0))
    return still_composed([atom], alg.coalesce(smem_atoms.tile_to_mma_shape(atom, shape, *given), shape))


@function("dsl.make_smem_layout_atom", configuring=True)
def _smem_layout_atom(c: Call) -> Value:
    """The swizzled atom of a ``SmemLayoutAtomKind`` for an element type (bytes 128, 64, 32 or 16 a row)."""
    return smem_layout_atom(c.arg(0), c.arg(1))


def smem_layout_atom(kind_: Value, element: Value) -> Value:
    """The layout of a ``SmemLayoutAtomKind``."""
    kind, dtype = getattr(kind_, "name", ""), dtype_of(element)
    if dtype.bits is None or "_" not in kind:
        raise Unsupported("the kind of this shared-memory atom is not known")
    major, width = kind.split("_", 1)
    table = {
        "INTER": (Swizzle(0, 4, 3), 16), "SW32": (Swizzle(1, 4, 3), 32), "SW64": (Swizzle(2, 4, 3), 64),
        "SW128": (Swizzle(3, 4, 3), 128), "SW128_32B": (Swizzle(2, 5, 2), 128),
    }  # fmt: skip
    if width not in table:
        raise Unsupported(f"{kind} is not modelled")
    swizzle, row = table[width]
    elements = int(bytes_to_bits(Bytes(row))) // int(dtype.bits)
    if major == "MN":
        return alg.make_composed_layout(swizzle, 0, Layout((elements, 8), (1, elements)))
    return alg.make_composed_layout(swizzle, 0, Layout((8, elements), (elements, 1)))
