"""Calls as the Python DSL takes them: expressions for the names that ``dsl_kernels.py`` gives them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from cutecheck.exec.dsl.spell import Spelling, UnspellableError
from cutecheck.exec.isa.codegen import block
from cutecheck.exec.isa.probe import CopyCall, FragmentCall, IsaCall, MmaCall, Side, Space
from cutecheck.model.algebra import rank, size
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.dtype import DType
from cutecheck.model.ints import known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, SmemPtrFlag, Swizzle

_DESCRIPTOR_BYTES = 1024  # tiles that an MMA reads itself start at a whole swizzle pattern
_ROW_BYTES = 16


@dataclass(frozen=True, slots=True)
class DslKernel:
    """One call for the DSL: JSON of expressions, threads and the alignment of pointers in bytes."""

    text: str


def kernel(call: IsaCall) -> DslKernel:
    """The kernel of a call whose run-time integers are names; UnspellableError where the DSL has no word for it."""
    if isinstance(call, FragmentCall):
        raise UnspellableError("descriptors are compiled as C++ alone")
    return DslKernel(json.dumps(_copy(call) if isinstance(call, CopyCall) else _gemm(call), sort_keys=True))


def _copy(call: CopyCall) -> dict[str, Any]:
    spelling = Spelling()
    # a copy that names no operation of the DSL is autovec_copy with the width that alignment leaves it
    plain = call.how is None or (isinstance(call.how, CopyAtom) and "dsl op" not in dict(call.how.extra))
    return {
        "kind": "copy",
        "how": "" if plain else spelling.value(call.how),
        "src": _side(spelling, call.src, call.dtype),
        "dst": _side(spelling, call.dst, call.dtype),
        "threads": block(call),
        "align": _alignment(call),
    }


def _alignment(call: CopyCall) -> int:
    """Bytes that an access of the atom needs, no more: the compiler is not to join accesses by it."""
    if call.atom is None or call.automatic:
        return max(1, call.limit // 8) if call.automatic else _ROW_BYTES
    if call.atom.kind in ("ldmatrix", "stmatrix"):
        return _ROW_BYTES
    each = (known_value(size(n)) for n in (call.atom.num_val_src, call.atom.num_val_dst))
    bits = max(n or 1 for n in each) * int(call.atom.value_type.bits or 8)
    return max(1, min(2 * _ROW_BYTES, bits // 8))


def _gemm(call: MmaCall) -> dict[str, Any]:
    spelling = Spelling()
    kind = call.mma.atom.kind
    types = call.mma.atom.val_types
    sides = {}
    for letter, i, layout, smem in (("a", 0, call.a, call.smem_a), ("b", 1, call.b, call.smem_b)):
        place = Side("rmem", layout) if smem is None else Side("smem", smem)
        sides[letter] = {**_side(spelling, place, types[i]), "rank": rank(layout)}
    space: Space = "tmem" if kind == "umma" else "rmem"
    return {
        "kind": kind,
        "how": spelling.value(call.mma),
        **sides,
        "c": _side(spelling, Side(space, call.c), types[2]),
        "threads": block(call),
        "align": _DESCRIPTOR_BYTES,
    }


def _side(spelling: Spelling, side: Side, element: DType) -> dict[str, str]:
    """A tensor: what a swizzle does to addresses is the pointer's in the DSL, in bytes."""
    layout: AnyLayout = side.layout
    swizzle = ""
    if isinstance(layout, ComposedLayout) and isinstance(layout.a, Swizzle) and side.space == "smem":
        shift = 0 if isinstance(layout.offset, SmemPtrFlag) else _log2_bytes(element)
        swizzle = spelling.value(Swizzle(layout.a.bits, layout.a.base + shift, layout.a.shift))
        layout = layout.b if isinstance(layout.b, Layout) else layout
    return {
        "space": side.space,
        "layout": spelling.value(layout),
        "element": spelling.value(element),
        "swizzle": swizzle,
    }


def _log2_bytes(element: DType) -> int:
    bits = int(element.bits or 0)
    if bits < 8 or bits & (bits - 1):
        raise UnspellableError("a swizzle of elements that are no power of two of bytes")
    return bits.bit_length() - 4


__all__ = ["DslKernel", "UnspellableError", "kernel"]
