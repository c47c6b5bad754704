"""The memory accesses of one copy: which instruction moves which addresses, as payloads of obligations."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.expr.bits import joined as joined_bits
from cutecheck.model.expr.bits import possible_bits
from cutecheck.model.identity import once
from cutecheck.model.ints import Dyn, Int, as_expr, is_static, known_value
from cutecheck.model.layout import AnyLayout, Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove.properties import THREAD, Alignment, BankAccess
from cutecheck.model.swizzle import apply_swizzle
from cutecheck.model.tiled import TiledCopy
from cutecheck.model.tiled.instructions import COMMON_VECTOR, Instruction, Side, automatic_bits, instruction
from cutecheck.model.units import Bits, Bytes, Elements, bits_to_bytes, bits_to_elements
from cutecheck.records import record
from cutecheck.rules.derive.blocks import several
from cutecheck.rules.derive.lanes import active, coming_warps
from cutecheck.rules.derive.slices import counted, first_thread, parts_from, shifted
from cutecheck.rules.derive.vectors import Mode, Plain, as_layout, contiguous_elements, peel, plain, split_run

# What CuTe may assume of a pointer it knows nothing about: the allocators' own guarantee.
GMEM_BASE = Bytes(256)
SMEM_BASE = Bytes(16)


@record(frozen=True, slots=True)
class Access:
    """One side of a copy in shared or global memory.

    ``bits`` a lane moves at its address; ``count`` elements of that; ``rest`` what it is repeated over, ``repeated``
    all extents of that, those with strides of the thread's own included.
    ``swizzle`` is still to be applied to offsets; ``root_swizzle`` is that of the whole tensor, which may already be
    part of ``offset``: CuTe decays a swizzled layout that is sliced at a run-time thread.
    ``base`` is the alignment of the tensor's first byte, ``base_known`` False where it is only assumed.
    """

    event: Event
    side: Side
    tensor: TensorFact
    dtype: DType
    instruction: Instruction
    bits: Bits
    count: Elements
    offset: Expr
    rest: tuple[Mode, ...]
    repeated: tuple[Int, ...]
    vector: tuple[Mode, ...]
    swizzle: Swizzle | None
    root_swizzle: Swizzle | None
    threads: int
    base: Bytes
    base_known: bool
    first: int = 0  # the thread of slice 0; offset and strides count threads from it

    @property
    def element_bits(self) -> Bits:
        return cast(Bits, self.dtype.bits)

    @property
    def width_bytes(self) -> Bytes:
        """What a lane moves at its address; IndivisibleError where that is no whole number of bytes."""
        return bits_to_bytes(self.bits)

    @property
    def instructions(self) -> int | None:
        """How often a warp issues it in one execution of the copy, where that is static."""
        extents = [known_value(e) for e in self.repeated]
        return None if None in extents else math.prod(cast("list[int]", extents))

    def bank(self) -> BankAccess | None:
        """The payload for bank conflicts; None for global memory and for cp.async.cg."""
        if self.tensor.space != "smem" or self.instruction.kind == "cp.async.cg":
            return None
        return BankAccess(
            kind=self.instruction.kind,
            element_bits=self.element_bits,
            vector_bits=self.bits,
            offset=self.offset,
            threads=self.threads,
            swizzle=self.swizzle,
            rest=as_layout(self.rest),
            matrices=self.instruction.matrices,
            transposed=self.instruction.transposed,
            base_alignment=max(self.base, SMEM_BASE),
            predicated=self.event.predicated,
            what=self.tensor.name,
            active=tuple(counted(c, self.first) for c in active(self.event)),
        )

    def alignment(self) -> Alignment:
        """The payload for the alignment of every vector."""
        return Alignment(
            element_bits=self.element_bits,
            vector_bytes=self.width_bytes,
            offset=self.offset,
            base_alignment=self.base,
            rest=as_layout(self.rest),
            swizzle=self.swizzle,
            what=self.tensor.name,
        )


def atom_of(tiled: object | None) -> CopyAtom | None:
    """The copy atom of what was given to ``copy``."""
    if isinstance(tiled, TiledCopy):
        return tiled.atom
    return tiled if isinstance(tiled, CopyAtom) else None


def side_instruction(event: Event, side: Side) -> Instruction | None:
    """The instruction of one side; plain ``copy(a, b)`` vectorizes by itself."""
    if event.tiled is None:
        limit = Bits(128 if _assumes_alignment(event) else 8)
        return Instruction("ld" if side == "src" else "st", limit, automatic=True, name="copy")
    atom = atom_of(event.tiled)
    if atom is None:
        return None
    found = instruction(atom.op, atom.ptx, atom.src_bits if side == "src" else atom.dst_bits, side)
    if found is not None and found.automatic:
        limit = Bits(next((int(a) for a in map(str, atom.args) if a.isdigit()), 128))
        return replace(found, bits=limit)
    return found


def _by_common_vector(event: Event) -> bool:
    """``autovec_copy`` of the DSL moves elements that are adjacent on both sides, wherever their modes stand."""
    atom = atom_of(event.tiled)
    return atom is not None and any(k == COMMON_VECTOR for k, _ in atom.extra)


def _assumes_alignment(event: Event) -> bool:
    """Plain ``copy`` assumes 128-bit alignment when both layouts are static, or when it is ``copy_aligned``."""
    layouts = [t.layout for t in event.operands[:2]]
    return event.callee == "copy_aligned" or all(not isinstance(x, Unknown) and static_layout(x) for x in layouts)


def static_layout(layout: AnyLayout) -> bool:
    """True where CuTe's ``is_static<Layout>`` holds."""
    if isinstance(layout, Layout):
        return _static(layout.shape) and _static(layout.stride)
    return _static(layout.offset) and isinstance(layout.b, Layout) and static_layout(layout.b)


def _static(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_static, value))
    return not hasattr(value, "expr") or is_static(value)  # type: ignore[arg-type]


@record(frozen=True, slots=True)
class Opaque:
    """One side of a copy in shared or global memory whose accesses are not known, and why."""

    event: Event
    side: Side
    tensor: TensorFact
    reason: str


@once
def accesses(event: Event) -> Sequence[Access]:
    """The shared- and global-memory sides of a copy whose parts are all known."""
    return tuple(a for a in sides(event) if isinstance(a, Access))


@once
def sides(event: Event) -> Sequence[Access | Opaque]:
    """The shared- and global-memory sides of a copy; bulk and tensor copies have no accesses of their own."""
    if event.kind != "copy" or len(event.operands) < 2:
        return ()
    found: list[Access | Opaque] = []
    for side, tensor in zip(("src", "dst"), event.operands, strict=False):
        if tensor.space in ("smem", "gmem") and (made := _side(event, cast(Side, side), tensor)) is not None:
            found.append(made)
    return tuple(found)


def _side(event: Event, side: Side, tensor: TensorFact) -> Access | Opaque | None:
    def opaque(reason: str) -> Opaque:
        return Opaque(event, side, tensor, reason)

    if event.reason is not None:
        return opaque(event.reason.reason)
    if isinstance(tensor.layout, Unknown):
        return opaque(tensor.layout.reason)
    if isinstance(tensor.offset, Unknown):
        return opaque(tensor.offset.reason)
    if tensor.dtype is None or tensor.dtype.bits is None:
        return opaque(f"the element type of `{tensor.name}` is not known")
    used = side_instruction(event, side)
    if used is None:
        return None
    threads = thread_count(event)
    if threads is None:
        return opaque("the number of threads that run the copy is not known")
    width = _width(event, tensor.dtype.bits, used)
    if isinstance(width, str):
        return opaque(width)
    made = _access(event, side, tensor, used, width, threads)
    if not isinstance(made, str) and tensor.space == "smem":
        made = joined(made, made.base)
    return opaque(made) if isinstance(made, str) else made


def joined(access: Access, base: Bytes) -> Access | str:
    """The access as the compiler of the Python DSL emits it for memory that starts at multiples of ``base`` bytes.

    It joins adjacent elements of one thread to the widest vector that the alignment it sees allows: in shared memory
    whatever width the copy names (seen in the PTX of DSL 4.8 for whole, padded and swizzled rows), in global memory
    where it names none. A text where the elements are adjacent and the width cannot be told.
    """
    event, atom = access.event, atom_of(access.event.tiled)
    if not event.span.is_python or event.predicated or access.instruction.name not in ("UniversalCopy", "copy"):
        return access
    named = atom is not None and any(k == "dsl type" and " b>" in text for k, text in atom.extra)
    if access.tensor.space == "gmem" and named:
        return access
    used = replace(access.instruction, automatic=True)
    for bits in map(Bits, (128, 64, 32, 16)):
        if bits <= access.bits:
            break
        wide = _access(event, access.side, access.tensor, used, bits, access.threads)
        if isinstance(wide, str):
            if "period" in wide:
                return wide
        elif _seen_aligned(wide, base):
            return wide
    return access


def _seen_aligned(access: Access, base: Bytes) -> bool:
    """Every vector is aligned by the factors of offset and strides alone, which is what a compiler sees."""
    width, unit = int(access.bits), int(access.element_bits)
    swizzle = access.root_swizzle
    piece = unit if swizzle is None or swizzle.unit is SwizzleUnit.ELEMENT else 8
    if int(base) * 8 % width or (swizzle is not None and piece << swizzle.base < width):
        return False
    steps = (access.offset, *(as_expr(s) for _, s in access.rest))
    return all(ex.divisor(step) * unit % width == 0 for step in steps)


def _access(event: Event, side: Side, tensor: TensorFact, used: Instruction, width: Bits, threads: int) -> Access | str:
    """One side of a copy by accesses of ``width`` bits; a text where that cannot be told."""
    assert not isinstance(tensor.layout, Unknown) and tensor.dtype is not None and tensor.dtype.bits is not None
    parts = plain(tensor.layout)
    offset = tensor.offset
    if parts is None or isinstance(offset, (tuple, ScaledBasis, Unknown)):
        return "not a layout with one swizzle at most"
    outer = as_expr(offset)
    first = first_thread(tensor)
    if isinstance(first, str):
        return first
    if not first and not isinstance(event.tiled, TiledCopy):
        first, threads = coming_warps(event, thread_count(event) or threads)
    if first:
        outer, parts = shifted(outer, first), parts_from(parts, first)
    inside = parts.swizzle is not None and parts.swizzle.unit is SwizzleUnit.ELEMENT
    count = bits_to_elements(width, tensor.dtype.bits)
    anywhere = used.automatic or _by_common_vector(event)
    split = split_run(parts.modes, count) if anywhere else peel(parts.modes, count)
    if split is None:
        return f"the first {count} elements of `{tensor.name}` cannot be told from the rest"
    broken = not anywhere and contiguous_elements(split[0]) < count  # no vector, wherever it starts
    base, base_known = _base(tensor)
    if inside and ex.divisor(outer) % _period(parts.swizzle) and not broken and not _apart(outer, parts):
        where = _written_out(outer, parts, split[1], count)
        if where is None:
            return f"`{tensor.name}` starts inside a period of its swizzle"
        return Access(
            event, side, tensor, tensor.dtype, used, width, count, where, (), tuple(e for e, _ in split[1]), split[0],
            None, parts.swizzle, threads, base, base_known, first,
        )  # fmt: skip
    rest, start = _uniform(split[1], ex.add(outer, parts.offset))
    return Access(
        event, side, tensor, tensor.dtype, used, width, count, start, rest,
        tuple(e for e, _ in split[1]), split[0],
        parts.swizzle, parts.swizzle or _root_swizzle(tensor), threads, base, base_known, first,
    )  # fmt: skip


def widened(access: Access, bits: Bits) -> Access | None:
    """The same side moved ``bits`` at a time, elements consecutive in memory; None where there are no such vectors."""
    if int(bits % access.element_bits) or not access.instruction.automatic:
        return None
    wide = _access(access.event, access.side, access.tensor, access.instruction, bits, access.threads)
    return None if isinstance(wide, str) else wide


def _uniform(modes: tuple[Mode, ...], offset: Expr) -> tuple[tuple[Mode, ...], Expr]:
    """Modes whose strides are the same for every thread, and the offset with the others written into it.

    A swizzled layout that is sliced at a run-time thread has strides that depend on the thread. Their index becomes a
    variable of the offset: uniform over a warp, as each of its values is another instruction.
    """
    kept: list[Mode] = []
    for i, (extent, stride) in enumerate(modes):
        step = as_expr(stride)
        size = known_value(extent)
        if any(v.name == THREAD for v in step.variables()):
            index = ex.var(f"value[{i}]", Domain(0, None if size is None else size - 1))
            offset = ex.add(offset, ex.mul(index, step))
        else:
            kept.append((extent, stride))
    return tuple(kept), offset


def _base(tensor: TensorFact) -> tuple[Bytes, bool]:
    """Alignment in bytes of the tensor's memory, and whether the source says it.

    The type of a shared array says less than what the hardware does: allocations start at multiples of 16. The DSL
    refuses what goes beyond its own promise.
    """
    stated = tensor.alignment_bytes
    number = None if stated is None else known_value(stated)
    known = None if number is None else Bytes(number)
    element = 1 if tensor.dtype is None or tensor.dtype.bits is None else int(tensor.dtype.bits) // 8
    promised = tensor.span.is_python and known is not None and known > element
    if tensor.space == "smem" and not promised:
        return (known, True) if known is not None and known >= SMEM_BASE else (SMEM_BASE, False)
    return (known, True) if known is not None else (GMEM_BASE, False)


def _width(event: Event, element_bits: Bits, used: Instruction) -> Bits | str:
    """Bits of one access; a text when it cannot be told."""
    if not used.automatic:
        width = used.bits
    else:
        src, dst = event.operands[0].layout, event.operands[1].layout
        if isinstance(src, Unknown) or isinstance(dst, Unknown):
            return "the other operand's layout is not known"
        width = automatic_bits(src, dst, element_bits, used.bits)
    return f"{width} bits are no whole number of {element_bits}-bit elements" if int(width % element_bits) else width


def _period(swizzle: Swizzle | None) -> int:
    """Elements after which an element-wise swizzle repeats."""
    return 1 if swizzle is None else 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))


def _apart(outer: Expr, parts: Plain) -> bool:
    """Whether ``outer + swizzle(inner)`` is ``swizzle(outer + inner)``: outer shares no bit with inner or the swizzle.

    CuTe leaves the bits that a swizzle does not touch in the pointer where it slices at a run-time coordinate.
    """
    inner = possible_bits(parts.offset)
    for i, (extent, stride) in enumerate(parts.modes):
        size, step = known_value(extent), as_expr(stride)
        if size != 1:
            index = ex.var(f"value[{i}]", Domain(0, None if size is None else size - 1))
            inner = joined_bits(inner, possible_bits(ex.mul(index, step)))
    assert parts.swizzle is not None
    active = parts.swizzle.yyy_mask | parts.swizzle.zzz_mask
    return not possible_bits(outer) & (inner | active)


def _written_out(outer: Expr, parts: Plain, rest: tuple[Mode, ...], count: Elements) -> Expr | None:
    """``outer + swizzle(inner)`` as one expression, with what it is repeated over as variables; None where a vector
    may reach over what the swizzle keeps together.
    """
    assert parts.swizzle is not None
    steps = [parts.offset]
    for i, (extent, stride) in enumerate(rest):
        size = known_value(extent)
        if size != 1:
            index = ex.var(f"value[{i}]", Domain(0, None if size is None else size - 1))
            steps.append(ex.mul(index, as_expr(stride)))
    if int(count) > 1 << parts.swizzle.base or any(ex.divisor(step) % int(count) for step in steps):
        return None
    inner = functools.reduce(ex.add, steps)
    return ex.add(outer, as_expr(apply_swizzle(parts.swizzle, Dyn(inner))))


def _root_swizzle(tensor: TensorFact) -> Swizzle | None:
    root = None if tensor.root_layout is None else plain(tensor.root_layout)
    return None if root is None else root.swizzle


def thread_count(event: Event) -> int | None:
    """Threads that run the copy: of the tiled object, else of the block.

    In a block of several dimensions a slice may be that of ``threadIdx.x``: then all of the block run the copy.
    """
    block = None if event.threads is None else known_value(event.threads)
    if not isinstance(event.tiled, TiledCopy):
        return block
    own = known_value(event.tiled.num_thr)
    slices = [as_expr(t.thread) for t in event.operands if t.thread is not None] if several(event.block) else []
    if own is None or all(str(s) == THREAD for s in slices):
        return own
    tops = [ex.bounds(s)[1] for s in slices]
    return block if all(top is not None and top < own for top in tops) else None
