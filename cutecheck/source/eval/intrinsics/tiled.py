"""Tiled copies and MMAs: their constructors, thread slices, partitions, fragments and retiles."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import tiled
from cutecheck.model.atoms import fragment_type
from cutecheck.model.basis import X
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, Dyn, Sym
from cutecheck.model.layout import IntTuple, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.tiled.fragments import make_fragment
from cutecheck.model.units import Bits
from cutecheck.model.version import REFERENCE, cute_version
from cutecheck.source.eval.intrinsics.atoms import copy_atom, mma_atom
from cutecheck.source.eval.intrinsics.layouts import under_pointer
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function, method_of, type_maker
from cutecheck.source.eval.intrinsics.types import static_value
from cutecheck.source.eval.values import (
    TMA_DESCRIPTOR,
    Address,
    EnumVal,
    Extern,
    ExternType,
    Pointer,
    Scalar,
    ScalarType,
    Slice,
    TensorVal,
    Value,
    ValueType,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


@type_maker("TiledMMA")
def _tiled_mma_type(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    atom = mma_atom(m, targs[0], span)
    layout = static_value(m, targs[1]) if len(targs) > 1 else Layout((1, 1, 1), (0, 0, 0))
    permutation = static_value(m, targs[2]) if len(targs) > 2 else (X, X, X)
    if len(targs) > 3:
        _takes_no_order(static_value(m, targs[3]))
    return ValueType(_tiled_mma(m, atom, layout, permutation))


def _tiled_mma(m: Machine, atom: Any, layout: Any, permutation: Any) -> Any:
    # up to 3.3 this is right, and today it does not compile
    if isinstance(permutation, Layout) and alg.rank(permutation) == 3:
        return _of_value_layout(m, atom, layout, permutation)
    return _decided(tiled.TiledMMA(atom, layout, permutation if isinstance(permutation, tuple) else (permutation,)))


def _takes_no_order(permutation: Any) -> None:
    """The fourth argument of before 3.4, beside a layout of values: as good as none, or nothing is known."""
    if any(part is not X for part in (permutation if isinstance(permutation, tuple) else (permutation,))):
        raise Unsupported("a layout of values and a permutation: TiledMMA takes no layout of values since CUTLASS 3.4")


def _of_value_layout(m: Machine, atom: Any, layout: Any, values: Layout) -> TiledMMA:
    """``TiledMMA<Atom, AtomLayoutMNK, ValLayoutMNK>`` of CUTLASS before 3.4.

    Only the sizes of ``ValLayoutMNK`` count there: its ``TiledShape_MNK`` is the extent of the atoms times them
    (``cute/atom/mma_atom.hpp`` of 3.0 to 3.3), as it is of a permutation of just these sizes since.
    """
    if cute_version() != REFERENCE and not m.program.value_layouts:  # one that was named, or read from headers
        raise Unsupported("a layout of values for M, N and K: TiledMMA takes none since CUTLASS 3.4")
    plain = _decided(tiled.TiledMMA(atom, layout, (X, X, X)))
    sizes = tuple(plain.atoms_extent(i) * alg.size(values, i) for i in range(3))
    return tiled.TiledMMA(atom, layout, sizes)


def _decided(mma: TiledMMA) -> TiledMMA:
    """The MMA, unless the layout of its threads depends on what is open: the type has it as a member."""
    with suppress(CuteError):
        _ = mma.thr_layout_vmnk
    return mma


@type_maker("TiledCopy")
def _tiled_copy_type(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    atom, tv, tiler = targs
    return ValueType(TiledCopy(copy_atom(m, atom, None, span), static_value(m, tv), static_value(m, tiler)))


@function("make_tiled_mma", configuring=True)
def _make_tiled_mma(c: Call) -> Value:
    atom = mma_atom(c.m, c.arg(0), c.span)
    args = c.args[1:]
    if c.m.program.value_layouts and len(args) > 1:  # up to 3.3: the layout of values, then a permutation
        values = args[1]
        if len(args) > 2:
            _takes_no_order(args[2])
        if not isinstance(values, Layout):
            raise Unsupported("a layout of values that is none")
        layout = alg.append(args[0], alg.make_layout(1, 0), rank=3)
        return _of_value_layout(c.m, atom, layout, alg.append(values, alg.make_layout(1, 0), rank=3))
    return _decided(tiled.make_tiled_mma(atom, *args))


@function("make_tiled_copy", configuring=True)
def _make_tiled_copy(c: Call) -> Value:
    atom = copy_atom(c.m, c.arg(0), None, c.span)
    thr, val = c.arg(1), c.args[2] if len(c.args) > 2 else Layout(1, 0)
    return tiled.make_tiled_copy(atom, thr, val)


@function(
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_C_atom",
    "make_tiled_copy_S",
    "make_tiled_copy_D",
    configuring=True,
)
def _make_tiled_copy_x(c: Call) -> Value:
    other = c.arg(1)
    if isinstance(other, Slice):
        other = other.tiled
    return getattr(tiled, c.name)(copy_atom(c.m, c.arg(0), None, c.span), other)


@function("make_tiled_copy_impl", configuring=True)
def _impl(c: Call) -> Value:
    return tiled.make_tiled_copy_impl(copy_atom(c.m, c.arg(0), None, c.span), c.arg(1), c.arg(2))


@function("make_cotiled_copy", configuring=True)
def _cotiled(c: Call) -> Value:
    return tiled.make_cotiled_copy(copy_atom(c.m, c.arg(0), None, c.span), c.arg(1), c.arg(2))


@function("tile_size", "tile_shape")
def _tile(c: Call) -> Value:
    obj = c.arg(0).tiled if isinstance(c.arg(0), Slice) else c.arg(0)
    if c.name == "tile_shape":
        return obj.tile_shape if isinstance(obj, TiledMMA) else obj.tiler_shape
    return obj.tile_size(*c.ints()) if c.targs else alg.product(obj.tile_shape)


# ------------------------------------------------------------------ slices of tiled objects


@method_of("tiled", "get_slice", "get_thread_slice")
def _get_slice(c: Call) -> Value:
    return Slice(c.arg(0), c.arg(1))


@function("make_thr_copy", "make_thr_mma")
def _make_thr(c: Call) -> Value:
    return Slice(c.arg(0), c.arg(1))


def _index(c: Call) -> tuple[Any, Any]:
    slice_ = c.arg(0)
    if not isinstance(slice_, Slice):
        raise Unsupported(f"{c.name} of something that is not a thread slice")
    if isinstance(slice_.index, Unknown):
        raise Unsupported(f"the thread index is not known: {slice_.index.reason}")
    return slice_.tiled, slice_.index


@method_of("slice", "partition_S", "partition_D", "partition_A", "partition_B", "partition_C")
def _partition(c: Call) -> Value:
    obj, index = _index(c)
    t = c.arg(1)
    if not isinstance(t, TensorVal):
        raise Unsupported(f"{c.name} of something that is not a tensor")
    if isinstance(t.layout, Unknown):
        return t.layout
    layout, offset = under_pointer(t.layout, getattr(obj.get_slice(index), c.name))
    model = c.m.dialect.to_model(index)
    at = model if isinstance(model, (int, Dyn, Sym)) else None
    return replace(t.derive(layout, _plus(t.offset, offset), "partition", obj), tile=t.layout, thread=at)


def _plus(a: Any, b: Any) -> Any:
    from cutecheck.model import inttuple as it
    from cutecheck.model.swizzle import offset_value

    if isinstance(a, Unknown):
        return a
    return it.plus(a, cast("IntTuple", offset_value(b)))


@method_of("slice", "partition_fragment_A", "partition_fragment_B", "partition_fragment_C")
def _partition_fragment(c: Call) -> Value:
    part = _partition_as(c, "partition_" + c.name[-1])
    return fragment(c, c.arg(0).tiled, c.name[-1], part)


def _partition_as(c: Call, name: str) -> Any:
    return _partition(Call(c.m, name, c.targs, c.args, c.span))


@method_of("slice", "make_fragment_A", "make_fragment_B", "make_fragment_C")
@method_of("tiled", "make_fragment_A", "make_fragment_B", "make_fragment_C")
def _make_fragment(c: Call) -> Value:
    owner = c.arg(0)
    return fragment(c, owner.tiled if isinstance(owner, Slice) else owner, c.name[-1], c.arg(1))


def fragment(c: Call, mma: Any, which: str, part: Any) -> Value:
    """The register (or descriptor) fragment of a partition."""
    if isinstance(part, Unknown):
        return part
    atom = mma.atom if isinstance(mma, TiledMMA) else mma
    position = "ABC".index(which)
    is_tensor = isinstance(part, TensorVal)
    source = part.layout if is_tensor else part
    if isinstance(source, Unknown):
        return source
    bits = part.dtype.bits if is_tensor and part.dtype is not None else None
    layout = make_fragment(atom, which, source, bits)
    if is_tensor and "smem_desc" in atom.frg_types[position]:
        return descriptors(part, layout, mma, bits)
    return _owned(c, layout, atom, position, mma)


def descriptors(part: TensorVal, layout: Any, mma: Any, bits: Bits | None) -> TensorVal:
    """A view of shared memory in descriptors: layout and offsets count 16 bytes."""
    from cutecheck.source.eval.intrinsics.tensors import cast_pointer_to

    wide = DType("uint128_t", Bits(128))
    offset: Any = part.offset
    if not isinstance(offset, Unknown) and offset != 0:
        offset = (
            offset * int(bits) // 128 if bits is not None else Unknown("the offset of a descriptor of unknown elements")
        )
    pointer = cast_pointer_to(part.pointer, ScalarType(wide)) if part.pointer is not None else None
    view = part.derive(layout, offset, "fragment", mma)
    whole = None if isinstance(part.layout, Unknown) else part.layout
    return replace(view, root=whole, start=replace(part, root=None).begins(), pointer=pointer, dtype=wide)


def _owned(c: Call, layout: Any, atom: Any, position: int, mma: Any) -> TensorVal:
    """A fragment that owns its elements: registers, or tensor memory where the atom's operand lives there."""
    space: Any = "tmem" if "tmem" in atom.frg_types[min(position, 2)] else "rmem"
    if space == "rmem" and not alg.is_static(alg.shape(layout)):
        raise CuteError("Dynamic owning tensors not supported", layout)
    return c.m.recorder.registers(c.m, layout, fragment_type(atom, position), c.span, "fragment", mma, space)


@function("partition_fragment_A", "partition_fragment_B", "partition_fragment_C")
def _partition_fragment_fn(c: Call) -> Value:
    which = c.name[-1]
    mma, shape = c.arg(0), c.arg(1)
    mma = mma.tiled if isinstance(mma, Slice) else mma
    extents = alg.shape(shape.layout) if isinstance(shape, TensorVal) else shape
    layout: Any = alg.make_layout(mma.partition_shape(which, extents))
    if "tmem" in mma.atom.frg_types["ABC".index(which)]:
        layout = make_fragment(mma.atom, which, layout)
    return _owned(c, layout, mma.atom, "ABC".index(which), mma)


@function("partition_shape_A", "partition_shape_B", "partition_shape_C")
@method_of("tiled", "partition_shape_A", "partition_shape_B", "partition_shape_C")
def _partition_shape(c: Call) -> Value:
    return c.arg(0).partition_shape(c.name[-1], c.arg(1))


@method_of("slice", "retile_S", "retile_D", "retile")
@method_of("tiled", "retile", "retile_S", "retile_D")
def _retile(c: Call) -> Value:
    owner = c.arg(0)
    obj = owner.tiled if isinstance(owner, Slice) else owner
    t = c.arg(1)
    if not isinstance(t, TensorVal):
        raise Unsupported("retile of something that is not a tensor")
    if isinstance(t.layout, Unknown):
        return t.layout
    return t.derive(obj.retile(t.layout), t.offset, "retile", obj)


for _name in ("get_layoutA_TV", "get_layoutB_TV", "get_layoutC_TV", "get_layoutA_MK", "get_layoutB_NK",
              "get_layoutC_MN", "get_layoutS_TV", "get_layoutD_TV",
              "get_layoutS_MN", "get_layoutD_MN", "thrfrg_A", "thrfrg_B",
              "thrfrg_C", "tidfrg_S", "tidfrg_D", "get_thr_layout_vmnk"):  # fmt: skip

    def _make(name: str) -> Any:
        def run(c: Call) -> Value:
            owner = c.arg(0)
            obj = owner.tiled if isinstance(owner, Slice) else owner
            if name == "get_thr_layout_vmnk":
                return obj.thr_layout_vmnk
            rest = [a.layout if isinstance(a, TensorVal) else a for a in c.args[1:]]
            return getattr(obj, name)(*rest)

        return run

    method_of("tiled", _name)(_make(_name))
    method_of("slice", _name)(_make(_name))


@method_of("tiled", "tile_size_mnk", "permutation_mnk")
def _mode_of(c: Call) -> Value:
    obj = c.arg(0)
    return obj.tile_size(*c.ints()) if c.name == "tile_size_mnk" else obj.permutation(*c.ints())


@method_of("tiled", "size")
def _size(c: Call) -> Value:
    return c.arg(0).size


@method_of("CuteOp", "with")
@method_of("copy_atom", "with")
@method_of("tiled", "with")
def _with(c: Call) -> Value:
    at = 2 if _of_another_map(c) else 1  # `with(descriptor, barrier, mask)`
    of = (c.m.dialect.barriers(c.args[at]) or _member_of(c, at)) if len(c.args) > at else ""
    given = c.args[at + 1] if len(c.args) > at + 1 else None
    mask = given if isinstance(given, (int, Dyn)) else None
    return c.m.recorder.telling(c.arg(0), of, mask, _element(c, c.args[at], of)) if of else c.arg(0)


def _element(c: Call, barrier: Value, of: str) -> Pointer | None:
    """Which barrier of an array in shared memory it is that a run's copy is given; of a pipeline its state says it."""
    replay = c.m.recorder.acts()
    names = [v.name for v in barrier.expr.variables()] if isinstance(barrier, Dyn) else []
    found = barrier if not names or replay is None else replay.read_from.get(names[0])
    known = replay is not None and len(names) < 2 and isinstance(found, Pointer) and found.buffer == of
    return found if known and isinstance(found, Pointer) else None


def _of_another_map(c: Call) -> bool:
    """Whether a copy is given a tensor map of its own before its barrier: what follows a barrier is a number."""
    first, second = (c.args[i] if len(c.args) > i else None for i in (1, 2))
    if isinstance(first, Pointer) and isinstance(first.type, ExternType) and first.type.name == TMA_DESCRIPTOR:
        return True
    return second is not None and not isinstance(second, (int, Dyn, Scalar, Unknown, Extern, EnumVal))


def _member_of(c: Call, at: int) -> str:
    """The buffer of a barrier that is a member of an object in shared memory."""
    from cutecheck.source.eval.shared_addresses import located

    given, cells = c.m.lvalues
    own = cells[at - 1] if len(cells) >= at else None
    if own is None or len(given) < at or len(c.raw) <= at or given[at - 1] is not c.raw[at]:
        return ""
    found = located(c.m, Address(own), c.span)
    return "" if found is None else found[0]


@method_of("slice", "get_slice", "get_thread_slice")
def _reslice(c: Call) -> Value:
    return Slice(c.arg(0).tiled, c.arg(1))
