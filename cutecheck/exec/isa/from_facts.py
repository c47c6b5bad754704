"""Calls from facts: the copy or gemm of an event with its operands' layouts, or one tile of a site's tiled object."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.exec import sample
from cutecheck.exec.isa.probe import CopyCall, FragmentCall, IsaCall, MmaCall, Side, Space
from cutecheck.facts import Call, Event, Site, TensorFact, Unknown
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import coalesce, get, make_fragment_like, make_layout, rank, size, tile_to_shape
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Major, Swizzle
from cutecheck.model.tiled import TiledCopy, TiledMMA, make_tiled_mma
from cutecheck.model.tiled.copy import make_tiled_copy_impl
from cutecheck.model.tiled.instructions import automatic_bits, instruction
from cutecheck.model.tiled.smem_atoms import smem_layout_atom
from cutecheck.model.units import Bits

_MODELLED = (CuteError, NotModelledError, UndecidedError, ValueError, TypeError)
_FRAGMENTS = ("make_fragment_A", "make_fragment_B")
_TENSOR_MAP = "a tensor or bulk copy: its box and its bytes are in a descriptor, not in instructions"


class NoCallError(ValueError):
    """Nothing to compile stands for the fact; the message says why."""


def is_descriptor(call: Call) -> bool:
    """Whether a call makes the descriptors of a WGMMA or UMMA operand."""
    mma = call.arguments[0] if len(call.arguments) > 1 else None
    if call.function not in _FRAGMENTS or not isinstance(mma, TiledMMA):
        return False
    return "smem_desc" in mma.atom.frg_types[_FRAGMENTS.index(call.function)]


def call_of(fact: Event | Site | Call, numbers: bool = True) -> IsaCall:
    """The call of a fact, with ``numbers`` put in for run-time names; NoCallError where there is none."""
    try:
        if isinstance(fact, Call):
            return _fragment(fact, numbers)
        if isinstance(fact, Site):
            return _site(fact)
        return _copy(fact, numbers) if fact.kind == "copy" else _gemm(fact, numbers)
    except NoCallError:
        raise
    except _MODELLED as error:
        raise NoCallError(str(error)) from error


def _fragment(call: Call, numbers: bool) -> FragmentCall:
    mma, tensor = call.arguments[:2]
    if not isinstance(mma, TiledMMA) or not isinstance(tensor, TensorFact) or tensor.dtype is None:
        raise NoCallError("the operand of the descriptors is not known")
    refused = ""
    if isinstance(call.result, Unknown):
        if not call.result.rejected:
            raise NoCallError(call.result.reason)
        refused = call.result.reason
    (tile,) = _layouts(numbers, tensor)
    return FragmentCall(mma, "A" if call.function == _FRAGMENTS[0] else "B", tile, tensor.dtype, refused)


def _copy(event: Event, numbers: bool) -> CopyCall:
    if event.reason is not None:
        raise NoCallError(event.reason.reason)
    atom = event.tiled.atom if isinstance(event.tiled, TiledCopy) else event.tiled
    if isinstance(atom, CopyAtom) and (atom.tensor_map is not None or atom.kind in ("tma", "bulk", "utccp")):
        raise NoCallError(_TENSOR_MAP)
    if event.tiled is not None and not isinstance(atom, CopyAtom):
        raise NoCallError("the copy's atom is not known")
    if event.callee not in ("copy", "copy_if", "copy_aligned", "cute.copy", "cute.autovec_copy"):
        raise NoCallError(f"{event.callee} divides the work by itself")
    if len(event.operands) < 2:
        raise NoCallError("its operands are not known")
    src, dst = event.operands[:2]
    layouts = _layouts(numbers, src, dst)
    sides = tuple(Side(_space(t), layout) for t, layout in zip((src, dst), layouts, strict=True))
    if {s.space for s in sides} == {"rmem"}:
        raise NoCallError("a copy between registers")
    if src.dtype is None or dst.dtype is None or not src.dtype.bits or src.dtype.bits != dst.dtype.bits:
        raise NoCallError("its element types are not known or differ in width")
    if int(src.dtype.bits) % 8:
        raise NoCallError("elements of less than a byte")
    dtype = src.dtype if sides[0].space != "rmem" else dst.dtype
    limit = _limit(atom) if isinstance(atom, CopyAtom) else _plain_limit(event, layouts)
    how = cast("TiledCopy | CopyAtom | None", event.tiled)
    aligned = event.callee == "copy_aligned" or event.span.is_python
    return CopyCall(how, dtype, sides[0], sides[1], limit, aligned)


def _layouts(numbers: bool, *tensors: TensorFact) -> tuple[AnyLayout, ...]:
    """The layouts, at a point of their run-time names where numbers are wanted; registers must be static."""
    for t in tensors:
        if isinstance(t.layout, Unknown):
            raise NoCallError(t.layout.reason)
        if t.space == "rmem" and not _static(t.layout):
            raise NoCallError(f"the layout of `{t.name}` is not static")
    layouts = tuple(t.layout for t in tensors)
    made = sample.at(layouts, sample.point(layouts)) if numbers else layouts
    return cast("tuple[AnyLayout, ...]", made)


def _static(layout: object) -> bool:
    return isinstance(layout, Layout) and it.is_static((layout.shape, layout.stride))


def _space(tensor: TensorFact) -> Space:
    if tensor.space not in ("gmem", "smem", "rmem", "tmem"):
        raise NoCallError(f"the memory of `{tensor.name}` is not known" if tensor.space == "unknown" else
                          f"`{tensor.name}` holds coordinates, not data")  # fmt: skip
    return tensor.space


def _limit(atom: CopyAtom) -> int:
    found = instruction(atom.op, atom.ptx, atom.src_bits, "src")
    if found is None or not found.automatic:
        return 0
    return next((int(a) for a in map(str, atom.args) if a.isdigit()), 128)


def _plain_limit(event: Event, layouts: tuple[AnyLayout, ...]) -> int:
    """Plain ``copy`` assumes 128 bits of alignment where both layouts are static (``cute/algorithm/copy.hpp``).

    ``autovec_copy`` of the Python DSL asks the layouts alone.
    """
    inner = [x.b if isinstance(x, ComposedLayout) else x for x in layouts]
    return 128 if event.callee != "copy" or event.span.is_python or all(map(_static, inner)) else 8


def _gemm(event: Event, numbers: bool) -> MmaCall:
    mma = event.tiled
    if event.reason is not None:
        raise NoCallError(event.reason.reason)
    if not isinstance(mma, TiledMMA):
        raise NoCallError("a gemm without a TiledMMA: scalar multiply-adds")
    if len(event.operands) < 3:
        raise NoCallError("its operands are not known")
    a, b, c = event.operands[-3:]
    layouts = _layouts(numbers, a, b, c)
    reads = mma.atom.kind in ("wgmma", "umma")
    if not reads and {a.space, b.space} != {"rmem"}:
        raise NoCallError("its operands are read from memory element by element")
    smem = [_tile(t, numbers) if reads and t.space == "smem" else None for t in (a, b)]
    return MmaCall(mma, layouts[0], layouts[1], layouts[2], smem[0], smem[1])


def _tile(tensor: TensorFact, numbers: bool) -> AnyLayout:
    """The partitioned tile of an operand that the MMA reads itself."""
    if tensor.root_layout is None:
        raise NoCallError(f"the shared-memory layout of `{tensor.name}` is not known")
    layout = tensor.root_layout
    return cast(AnyLayout, sample.at(layout, sample.point(layout)) if numbers else layout)


def _site(site: Site) -> IsaCall:
    value = site.value
    if isinstance(value, CopyAtom):
        if value.tensor_map is not None or value.kind in ("tma", "bulk", "utccp"):
            raise NoCallError(_TENSOR_MAP)
        return _tile_copy(make_tiled_copy_impl(value, value.val_layout_ref, (size(value.val_layout_ref),)))
    if isinstance(value, TiledCopy):
        return _tile_copy(value)
    if isinstance(value, MMAAtom):
        return _tile_mma(make_tiled_mma(value))
    if isinstance(value, TiledMMA):
        return _tile_mma(value)
    raise NoCallError("a layout has no instructions of its own")


def _tile_copy(tiled: TiledCopy) -> CopyCall:
    """One tile between the memories that the atom is for, contiguous along its vectors."""
    atom = tiled.atom
    if atom.tensor_map is not None or atom.kind in ("tma", "bulk", "utccp"):
        raise NoCallError(_TENSOR_MAP)
    if atom.kind in ("tmem_load", "tmem_store"):
        raise NoCallError("a tile of tensor memory has no layout of its own")
    if not atom.value_type.bits or int(atom.value_type.bits) % 8:
        raise NoCallError("elements of less than a byte")
    limit = _limit(atom)
    tiler = tiled.tiler_mn if isinstance(tiled.tiler_mn, tuple) else (tiled.tiler_mn,)
    extents = tuple(map(_reach, tiler))
    made = [_tile_call(tiled, make_layout(extents, order), limit) for order in (Major.RIGHT, Major.LEFT)]
    return max(made, key=_vector)


def _reach(mode: Any) -> int:
    """The extent that a mode of a tiler needs: one with gaps takes its columns from further away than it is wide."""
    if not isinstance(mode, Layout):
        return known_value(size(mode)) or 1
    pairs = zip(it.flatten_to_tuple(mode.shape), it.flatten_to_tuple(mode.stride), strict=True)
    return max((known_value(s) or 1) * (known_value(d) or 1) for s, d in pairs)


def _tile_call(tiled: TiledCopy, tile: AnyLayout, limit: int) -> CopyCall:
    src, _ = tiled.partition_S(tile, 0)
    dst, _ = tiled.partition_D(tile, 0)
    kind = tiled.atom.kind
    element = tiled.atom.value_type
    if kind == "stmatrix":
        return CopyCall(tiled, element, Side("rmem", make_fragment_like(src)), Side("smem", dst), limit)
    if kind == "ldmatrix":
        return CopyCall(tiled, element, Side("smem", src), Side("rmem", make_fragment_like(dst)), limit)
    if kind == "cp_async":
        return CopyCall(tiled, element, Side("gmem", src), Side("smem", dst), limit)
    return CopyCall(tiled, element, Side("gmem", src), Side("rmem", make_fragment_like(dst)), limit)


def _vector(call: CopyCall) -> int:
    """How many elements of the atom's first mode are adjacent in memory, or bits of a copy of automatic width."""
    if call.automatic:
        return int(automatic_bits(call.src.layout, call.dst.layout, call.element_bits, Bits(call.limit)))
    memory = call.dst.layout if call.src.space == "rmem" else call.src.layout
    first: Any = coalesce(get(memory, 0) if rank(memory) > 1 else memory)
    if isinstance(first.shape, tuple):
        first = Layout(first.shape[0], first.stride[0])
    adjacent = known_value(first.stride) == 1
    return (known_value(size(first)) or 1) if adjacent else 1


def _tile_mma(mma: TiledMMA) -> MmaCall:
    """One tile of the MMA: every atom once, operands in registers or, where the MMA reads them itself, in the
    smallest canonical layout."""
    extents = {"A": (mma.tile_size(0), mma.tile_size(2)), "B": (mma.tile_size(1), mma.tile_size(2))}
    if mma.atom.kind == "umma":
        raise NoCallError("tensor memory: only gemm calls have accumulators")
    c = mma.partition_fragment_C((mma.tile_size(0), mma.tile_size(1)))
    parts: list[AnyLayout] = []
    smem: list[AnyLayout | None] = []
    for i, letter in enumerate("AB"):
        text = mma.atom.frg_types[i]
        if mma.atom.kind == "wgmma" and "smem_desc" in text:
            major = "MN" if "Major::MN" in text else "K"
            tile = smem_layout_atom(major, "SW32", _element(mma, i))  # type: ignore[arg-type]
            whole = tile_to_shape(tile, extents[letter])
            assert isinstance(whole, ComposedLayout) and isinstance(whole.a, Swizzle) and isinstance(whole.b, Layout)
            # the swizzle is the pointer's: CuTe partitions the rest
            part, _ = mma.get_slice(0).partition(letter, whole.b)
            smem.append(ComposedLayout(whole.a, whole.offset, part))
            parts.append(mma.get_slice(0).make_fragment(letter, part, None, whole.a))
        else:
            smem.append(None)
            parts.append(make_layout(mma.partition_shape(letter, extents[letter])))
    return MmaCall(mma, parts[0], parts[1], c, smem[0], smem[1])


def _element(mma: TiledMMA, operand: int) -> DType:
    return mma.atom.val_types[operand]
