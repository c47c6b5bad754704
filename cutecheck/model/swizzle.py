"""Swizzles as functions, and MixedBits arithmetic (``cute/swizzle.hpp``)."""

from __future__ import annotations

from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import (
    CuteError,
    Dyn,
    Int,
    Sym,
    as_expr,
    bit_and,
    bit_xor,
    divides,
    shift_right,
)
from cutecheck.model.layout import MixedBits, Offset, SmemPtrFlag, Swizzle, SwizzleUnit

_WORD = (1 << 32) - 1

BitPattern = Int | MixedBits


def apply_swizzle(swizzle: Swizzle, offset: Int) -> Int:
    """``offset ^ ((offset & yyy) >> shift)``; a negative shift moves the bits up."""
    if type(offset) is int:
        shift = swizzle.shift
        mask = ((1 << swizzle.bits) - 1) << swizzle.base
        return offset ^ ((offset >> shift) & mask) if shift >= 0 else offset ^ ((offset & mask) << -shift)
    return bit_xor(offset, shift_right(bit_and(offset, swizzle.yyy_mask), swizzle.shift))


def make_swizzle(y: int, z: int) -> Swizzle:
    """``make_swizzle<Y, Z>``: the swizzle that reads the bits of ``y`` into those of ``z``.

    CuteError when the two masks differ in size or are not each contiguous.
    """
    y, z = y & _WORD, z & _WORD
    bits = y.bit_count()
    if bits != z.bit_count():
        raise CuteError("make_swizzle: Number of bits in Y and Z don't match", bin(y), bin(z))
    trailing_y, trailing_z = _trailing_zeros(y), _trailing_zeros(z)
    shift = trailing_y - trailing_z
    swizzle = Swizzle(bits, min(trailing_y, trailing_z) % 32, shift)
    if (y | z) != (swizzle.yyy_mask | swizzle.zzz_mask) & _WORD:
        raise CuteError("make_swizzle: Something went wrong (the masks are not a swizzle)", bin(y), bin(z))
    return swizzle


def _trailing_zeros(word: int) -> int:
    return (word & -word).bit_length() - 1 if word else 32


def compose_swizzles(a: Swizzle, b: Swizzle) -> Swizzle:
    """``composition(Swizzle, Swizzle)``; CuteError when the shifts differ."""
    if a.shift != b.shift:
        raise CuteError("Can only merge swizzles of the same shift", a, b)
    return make_swizzle(a.yyy_mask ^ b.yyy_mask, a.zzz_mask ^ b.zzz_mask)


def upcast_swizzle(swizzle: Swizzle, n: int) -> Swizzle:
    """``upcast<N>(Swizzle)``: in units of N times the size; CuteError when N is no power of two."""
    base = swizzle.base - _log2(n)
    if base >= 0:
        return Swizzle(swizzle.bits, base, swizzle.shift, swizzle.unit)
    return Swizzle(max(swizzle.bits + base, 0), 0, swizzle.shift, swizzle.unit)


def downcast_swizzle(swizzle: Swizzle, n: int) -> Swizzle:
    """``downcast<N>(Swizzle)``: in units of a N-th of the size; CuteError when N is no power of two."""
    return Swizzle(swizzle.bits, swizzle.base + _log2(n), swizzle.shift, swizzle.unit)


def _log2(n: int) -> int:
    if n <= 0 or n & (n - 1):
        raise CuteError("N must be a power of two", n)
    return n.bit_length() - 1


def in_bytes(swizzle: Swizzle) -> Swizzle:
    """The same parameters, acting on byte addresses."""
    return Swizzle(swizzle.bits, swizzle.base, swizzle.shift, SwizzleUnit.BYTE)


def in_elements(swizzle: Swizzle) -> Swizzle:
    """The same parameters, acting on element offsets."""
    return Swizzle(swizzle.bits, swizzle.base, swizzle.shift)


def make_mixed_bits(static: int, dynamic: Int, flags: int) -> BitPattern:
    """``C<static> | (dynamic & C<flags>)``: static bits take precedence; static when no run-time bit is left."""
    flags &= ~static & _WORD
    if flags == 0 or isinstance(dynamic, int):
        return static | (dynamic & flags if isinstance(dynamic, int) else 0)
    return MixedBits(static & _WORD, flags, as_expr(bit_and(Dyn(as_expr(dynamic)), flags)))


def mixed_and(a: BitPattern, mask: int) -> BitPattern:
    """``a & C<mask>``."""
    if isinstance(a, MixedBits):
        return make_mixed_bits(a.static & mask, Dyn(a.dynamic), a.flags & mask)
    return bit_and(a, mask)


def mixed_xor(a: BitPattern, b: BitPattern) -> BitPattern:
    """``a ^ b``, keeping track of the static bits."""
    if isinstance(b, MixedBits) and not isinstance(a, MixedBits):
        a, b = b, a
    if not isinstance(a, MixedBits):
        return bit_xor(a, b)  # type: ignore[arg-type]  # neither is mixed
    if isinstance(b, MixedBits):
        static = (~a.static & b.static & ~a.flags) | (a.static & ~b.static & ~b.flags)
        return make_mixed_bits(static & _WORD, bit_xor(a.value, b.value), a.flags | b.flags)
    if isinstance(b, int):
        word = b & _WORD
        static = (~a.static & word & ~a.flags) | (a.static & ~word)
        return make_mixed_bits(static & _WORD, bit_xor(a.value, word), a.flags)
    return bit_xor(a.value, b)


def mixed_shift_right(a: BitPattern, count: int) -> BitPattern:
    """``shiftr(a, C<count>)``; a negative count shifts left."""
    if isinstance(a, MixedBits):
        if count >= 0:
            return make_mixed_bits(a.static >> count, shift_right(Dyn(a.dynamic), count), a.flags >> count)
        left = -count
        return make_mixed_bits(
            (a.static << left) & _WORD, shift_right(Dyn(a.dynamic), count), (a.flags << left) & _WORD
        )
    return shift_right(a, count)


def swizzle_bits(swizzle: Swizzle, offset: BitPattern) -> BitPattern:
    """The swizzle of an offset whose bits may be mixed."""
    return mixed_xor(offset, mixed_shift_right(mixed_and(offset, swizzle.yyy_mask), swizzle.shift))


def offset_value(offset: Offset | MixedBits) -> Int | ScaledBasis | tuple[object, ...]:
    """The middle of a composed layout as a number or coordinate: a flag counts 0."""
    if isinstance(offset, SmemPtrFlag):
        return 0
    return offset.value if isinstance(offset, MixedBits) else offset


def as_integer(offset: BitPattern) -> Int:
    """A number from bits that may be mixed (then a run-time one)."""
    return offset.value if isinstance(offset, MixedBits) else offset


def upcast_bits(offset: BitPattern, n: int) -> BitPattern:
    """``upcast<N>`` of an offset: exact division; static remainders and other than powers of two refuse."""
    if isinstance(offset, MixedBits):
        _log2(n)
        if offset.static % n or offset.flags % n:
            raise CuteError("Static safe_div requires t % u == 0", offset, n)
        return make_mixed_bits(offset.static // n, Dyn(offset.dynamic) // n, offset.flags // n)
    if isinstance(offset, (int, Sym)) and not divides(n, offset):
        raise CuteError("Static safe_div requires t % u == 0", offset, n)
    return offset // n


def downcast_bits(offset: BitPattern, n: int) -> BitPattern:
    """``downcast<N>`` of an offset."""
    if isinstance(offset, MixedBits):
        _log2(n)
        return make_mixed_bits(offset.static * n, Dyn(offset.dynamic) * n, (offset.flags * n) & _WORD)
    return offset * n
