"""The memory accesses of one copy: which instruction moves which addresses, as payloads of obligations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, cast

from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.model.algebra import max_alignment, max_common_vector
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Expr
from cutecheck.model.ints import CuteError, UndecidedError, as_expr, is_static, known_value
from cutecheck.model.layout import AnyLayout, Layout, Swizzle
from cutecheck.model.prove.properties import Alignment, BankAccess
from cutecheck.model.tiled import TiledCopy
from cutecheck.rules.derive.instructions import Instruction, Side, instruction
from cutecheck.rules.derive.vectors import Mode, as_layout, peel, plain

# What CuTe may assume of a pointer it knows nothing about: the allocators' own guarantee.
GMEM_BASE = 256
SMEM_BASE = 16


@dataclass(frozen=True, slots=True)
class Access:
    """One side of a copy in shared or global memory.

    ``bits`` a lane moves at its address; ``count`` elements of that; ``rest`` what the instruction is repeated over.
    ``swizzle`` is still to be applied to offsets; ``root_swizzle`` is that of the whole tensor, which may already be
    part of ``offset``: CuTe decays a swizzled layout that is sliced at a run-time thread.
    ``base`` is the alignment of the tensor's first byte, ``base_known`` False where it is only assumed.
    """

    event: Event
    side: Side
    tensor: TensorFact
    dtype: DType
    instruction: Instruction
    bits: int
    count: int
    offset: Expr
    rest: tuple[Mode, ...]
    vector: tuple[Mode, ...]
    swizzle: Swizzle | None
    root_swizzle: Swizzle | None
    threads: int
    base: int
    base_known: bool

    @property
    def element_bits(self) -> int:
        return cast(int, self.dtype.bits)

    @property
    def instructions(self) -> int | None:
        """How often a warp issues it in one execution of the copy, where that is static."""
        extents = [known_value(e) for e, _ in self.rest]
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
        )

    def alignment(self) -> Alignment:
        """The payload for the alignment of every vector."""
        return Alignment(
            element_bits=self.element_bits,
            vector_bytes=self.bits // 8,
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
        limit = 128 if _assumes_alignment(event) else 8
        return Instruction("ld" if side == "src" else "st", limit, automatic=True, name="copy")
    atom = atom_of(event.tiled)
    if atom is None:
        return None
    found = instruction(atom.op, atom.ptx, atom.src_bits if side == "src" else atom.dst_bits, side)
    if found is not None and found.automatic:
        limit = next((int(a) for a in map(str, atom.args) if a.isdigit()), 8)
        return replace(found, bits=limit)
    return found


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


def automatic_bits(src: AnyLayout, dst: AnyLayout, element_bits: int, limit: int) -> int:
    """Bits of one access of ``copy(AutoVectorizingCopyWithAssumedAlignment<limit>, src, dst)``."""
    try:
        common = max_common_vector(src, dst)
        if not isinstance(common, int) or common <= 1:
            return element_bits
        align = math.gcd(_layout_alignment(src) * element_bits, _layout_alignment(dst) * element_bits, limit)
    except (CuteError, UndecidedError):
        return element_bits
    bits = math.gcd(common * element_bits, align)
    return bits if bits % 8 == 0 and bits > element_bits else element_bits


def _layout_alignment(layout: AnyLayout) -> int:
    value = max_alignment(layout)
    return value if isinstance(value, int) else 1


def accesses(event: Event) -> list[Access]:
    """The shared- and global-memory sides of a copy whose parts are all known; others are left out."""
    if event.kind != "copy" or len(event.operands) < 2:
        return []
    found = [_access(event, side, event.operands[i]) for i, side in enumerate(("src", "dst"))]
    return [a for a in found if a is not None]


def _access(event: Event, side: Literal["src", "dst"] | str, tensor: TensorFact) -> Access | None:
    side = cast(Side, side)
    if tensor.space not in ("smem", "gmem") or isinstance(tensor.layout, Unknown):
        return None
    if tensor.dtype is None or tensor.dtype.bits is None or isinstance(tensor.offset, (Unknown, tuple)):
        return None
    used = side_instruction(event, side)
    parts = plain(tensor.layout)
    threads = thread_count(event)
    if used is None or parts is None or threads is None or not _integer(tensor):
        return None
    bits = used.bits
    if used.automatic:
        other = event.operands[1 if side == "src" else 0]
        if isinstance(other.layout, Unknown):
            return None
        bits = automatic_bits(event.operands[0].layout, event.operands[1].layout, tensor.dtype.bits, used.bits)  # type: ignore[arg-type]
    if bits % tensor.dtype.bits:
        return None
    count = bits // tensor.dtype.bits
    split = peel(parts.modes, count)
    if split is None:
        return None
    known = known_value(tensor.alignment_bytes) if tensor.alignment_bytes is not None else None
    default = SMEM_BASE if tensor.space == "smem" else GMEM_BASE
    return Access(
        event, side, tensor, tensor.dtype, used, bits, count, as_expr(tensor.offset), split[1], split[0],  # type: ignore[arg-type]
        parts.swizzle, parts.swizzle or _root_swizzle(tensor), threads, known or default, known is not None,
    )  # fmt: skip


def _root_swizzle(tensor: TensorFact) -> Swizzle | None:
    root = None if tensor.root_layout is None else plain(tensor.root_layout)
    return None if root is None else root.swizzle


def _integer(tensor: TensorFact) -> bool:
    return isinstance(tensor.offset, int) or hasattr(tensor.offset, "expr")


def thread_count(event: Event) -> int | None:
    """Threads that run the copy: of the tiled object, else of the block."""
    if isinstance(event.tiled, TiledCopy):
        return known_value(event.tiled.num_thr)
    return None if event.threads is None else known_value(event.threads)
