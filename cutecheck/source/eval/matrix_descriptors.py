"""CuTe's descriptors of matrices in shared memory, built by hand: ``desc.bitfield.start_address_ = address >> 4``.

Only where the matrix starts is followed, in the lowest bits of the 64 that a descriptor is: it is the number that they
are. What else is set, its strides and swizzle, is a part of no known value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import ir
from cutecheck.source.eval.held_fields import Apart
from cutecheck.source.eval.values import Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.places import Cells

NAMES = frozenset({"GmmaDescriptor", "SmemDescriptor"})
TYPE = "uint64_t"
_STARTS = frozenset({"bitfield", "desc_", "start_address_", "lo", "reg32_", "reg16_"})
_WORDS = frozenset({"reg32_", "reg16_"})
_OTHERS = frozenset({
    "hi", "layout_type_", "leading_byte_offset_", "stride_byte_offset_", "base_offset_", "version_", "lbo_mode_",
    "reg64_",
})  # fmt: skip


def declares(decl: ir.Class) -> bool:
    """Whether a union of the program's own is a descriptor: it has the members of CuTe's, and does nothing more."""
    plain = decl.kind == "union" and not decl.bases and decl.tparams is None
    return plain and "start_address_" in (_members(decl) or ())


def _members(decl: ir.Class) -> set[str] | None:
    """The data members of a class and of those in it; None where it has others than a descriptor, or methods."""
    found: set[str] = set()
    for member in decl.members:
        if isinstance(member, ir.Class):
            inner = _members(member)
            if inner is None:
                return None
            found |= inner
        elif isinstance(member, ir.Variable):
            found.add(member.name)
        elif not isinstance(member, ir.Function) or (
            member.name != decl.name and not member.name.lstrip("~").startswith(("operator", decl.name))
        ):
            return None
    return found if found - {""} <= _STARTS | _OTHERS else None


def has(base: Value, name: str) -> bool:
    """Whether a value may be a descriptor and the name one of a descriptor's members."""
    return isinstance(base, Scalar) and base.ctype == TYPE and name in _STARTS | _OTHERS


def starts(name: str) -> bool:
    """Whether a member is where the matrix starts, or begins with it."""
    return name in _STARTS


def is_words(base: Value, name: str) -> bool:
    return isinstance(base, Scalar) and base.ctype == TYPE and name in _WORDS


def apart(span: Span) -> tuple[Value, Cells]:
    """What else a descriptor says, and a place of its own for it."""
    value = Unknown("a part of a descriptor", span)
    return value, ((Apart({"bits": value}), "bits"),)
