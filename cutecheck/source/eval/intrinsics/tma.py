"""TMA copies (built on the host, partitioned as coordinate tensors in the kernel)."""

from __future__ import annotations

import functools
import operator
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import inttuple as it
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.basis import X
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, Dyn, UndecidedError, apply_op, known_value
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag
from cutecheck.model.swizzle import offset_value
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.tiled import tma as model
from cutecheck.model.tiled.tensor_map import TensorMap, UnsupportedTmaError
from cutecheck.source.eval.intrinsics.layouts import LAYOUTS
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function, method_of
from cutecheck.source.eval.intrinsics.types import element, operation
from cutecheck.source.eval.values import (
    TMA_DESCRIPTOR,
    Extern,
    ExternType,
    Pointer,
    Scalar,
    TensorVal,
    Value,
    VoidType,
)


def _operands(c: Call) -> tuple[str, Layout, DType, Any, DType | None]:
    """Operation, global layout and element, shared layout, and the element type of the tensor map when it is given."""
    op = operation(c.arg(0))
    if op is None:
        raise Unsupported("the TMA operation is not known")
    gmem, smem = c.arg(1), c.arg(2)
    if not isinstance(gmem, TensorVal) or not isinstance(gmem.layout, Layout):
        raise Unsupported(f"{c.name} of a global tensor that is not followed")
    if gmem.dtype is None:
        raise Unsupported("the element type of the global tensor is not known")
    if isinstance(smem, TensorVal):
        smem = smem.layout
    if not isinstance(smem, LAYOUTS):
        raise Unsupported("the shared-memory layout of the TMA copy is not known")
    internal = None
    if c.targs and not isinstance(c.targs[0], VoidType):
        internal = element(c.targs[0])
        if internal is None:
            raise Unsupported("the internal type of the TMA copy is not known")
    return op.name, gmem.layout, gmem.dtype, smem, internal


@function(
    "make_tma_copy", "make_tma_atom", "make_tma_copy_A_sm90", "make_tma_copy_B_sm90", "make_tma_copy_C_sm90",
    "make_tma_atom_A_sm100", "make_tma_atom_B_sm100", "make_tma_copy_tiled", "make_im2col_tma_copy",
    tolerant=True, configuring=True,
)  # fmt: skip
def _make_tma(c: Call) -> Value:
    for a in (*c.args, *c.targs):
        if isinstance(a, Unknown):
            return a
        if isinstance(a, Extern):
            return Unknown(f"`{c.name}` of `{a.what}`, whose type is not in the scanned files", c.span)
    op, gmem, dtype, smem, internal = _operands(c)
    rest = c.args[3:]
    try:
        if c.name == "make_tma_copy":
            tiler, cluster = (None, rest[0]) if len(rest) == 1 else (rest[0], rest[1]) if rest else (None, 1)
            return model.make_tma_copy(op, gmem, dtype, smem, tiler, cluster_size=cluster, internal=internal)
        if c.name == "make_tma_atom":
            size = known_value(alg.size(rest[1])) if len(rest) > 1 else 1
            return model.make_tma_atom(op, gmem, dtype, smem, rest[0], cluster_size=size, internal=internal)
        if c.name.endswith("_sm90"):
            cluster_mnk = rest[1] if len(rest) > 1 else (1, 1, 1)
            return model.make_tma_copy_sm90(
                c.name[-6], op, gmem, dtype, smem, cta_tiler_mnk=rest[0], cluster_mnk=cluster_mnk, internal=internal
            )
        if c.name.endswith("_sm100") and len(rest) == 3 and isinstance(rest[1], TiledMMA):
            return model.make_tma_atom_sm100(
                c.name[-7], op, gmem, dtype, smem, mma_tiler=rest[0], mma=rest[1], cluster_vmnk=rest[2],
                internal=internal,
            )  # fmt: skip
    except UnsupportedTmaError as error:
        raise Unsupported(str(error)) from error
    raise Unsupported(f"`{c.name}` is not modelled")


def _atom(v: Value) -> CopyAtom:
    atom = v.atom if isinstance(v, TiledCopy) else v
    if not isinstance(atom, CopyAtom):
        raise Unsupported("this is not a TMA copy that cutecheck follows")
    return atom


@method_of("tiled", "get_tma_tensor")
@method_of("copy_atom", "get_tma_tensor")
def _tma_tensor(c: Call) -> Value:
    found = _atom(c.arg(0)).tensor_map
    if not isinstance(found, TensorMap):
        raise Unsupported("get_tma_tensor of a copy that is not a TMA copy")
    extents = c.arg(1)
    if not alg.congruent(extents, found.tensor_stride):
        raise Unsupported("get_tma_tensor with a shape that is not congruent to the tensor of the TMA copy")
    origin = tuple(0 for _ in range(alg.rank(found.basis)))
    return TensorVal(found.coordinates(extents), None, "coord", None, origin)


@method_of("tiled", "get_tma_descriptor")
@method_of("copy_atom", "get_tma_descriptor")
def _descriptor(c: Call) -> Value:
    return Pointer("TMA descriptor", "unknown", ExternType(TMA_DESCRIPTOR))


@function("tma_partition")
def _tma_partition(c: Call) -> Value:
    atom = _atom(c.arg(0))
    simple = len(c.args) == 3
    cta_coord, cta_layout = (0, Layout(1, 0)) if simple else (c.arg(1), c.arg(2))
    tensors = c.args[1:] if simple else c.args[3:]
    if not tensors or not all(isinstance(t, TensorVal) for t in tensors):
        raise Unsupported("tma_partition of something that is not a tensor")
    for t in tensors:
        if isinstance(t.layout, Unknown):
            return t.layout
    stensor, *gtensors = tensors
    order = [*gtensors, stensor]
    plain = [_plain(t.layout) for t in (stensor, *gtensors)]
    parts = model.tma_partition(atom, cta_coord, cta_layout, *plain)
    out = []
    for t, (layout, offset) in zip(order, parts, strict=True):
        if _flagged(t.layout):
            layout = ComposedLayout(t.layout.a, t.layout.offset, layout)
        start: Any = offset_value(offset)
        moved = t.offset if isinstance(t.offset, Unknown) else it.plus(t.offset, start)
        out.append(t.derive(layout, moved, "partition", atom))
    return tuple(out)


def _flagged(layout: Any) -> bool:
    return isinstance(layout, ComposedLayout) and isinstance(layout.offset, SmemPtrFlag)


def _plain(layout: Any) -> Any:
    """The layout under a swizzle that belongs to the shared-memory pointer."""
    return layout.b if _flagged(layout) else layout


@function("create_tma_multicast_mask", tolerant=True)
def _mask(c: Call) -> Value:
    """A bit for each block that the projected modes lead to, by the ranks that the layout gives them."""
    if len(c.args) < 2 or not isinstance(c.args[0], Layout) or not isinstance(c.args[1], tuple):
        return Scalar(None, "uint16_t")
    coord = list(c.arg(1))
    for mode in c.ints() if c.targs else ():
        if mode >= len(coord):
            return Scalar(None, "uint16_t")
        coord[mode] = X
    try:
        blocks, first = alg.slice_and_offset(tuple(coord), c.arg(0))
        many = known_value(alg.size(blocks))
        ranks = [known_value(blocks(i)) for i in range(many or 0)]
    except (CuteError, UndecidedError):
        return Scalar(None, "uint16_t")
    if many is None or None in ranks or any(r is not None and not 0 <= r < 16 for r in ranks):
        return Scalar(None, "uint16_t")
    bits = functools.reduce(operator.or_, (1 << (r or 0) for r in ranks), 0) if many else 1
    shifted = apply_op("shl", bits, first) if isinstance(first, (int, Dyn)) else None
    return Scalar(None if shifted is None else apply_op("and", shifted, 0xFFFF), "uint16_t")
