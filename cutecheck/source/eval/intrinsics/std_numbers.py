"""Numbers of the standard library: ``numeric_limits``, ``<bit>``, and compilers' and CUDA's functions of bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.constants import STD, constant_of, truth_constant
from cutecheck.model.dtype import dtype
from cutecheck.model.integers import INTEGERS, canonical, common_type, wrapped
from cutecheck.model.units import BYTE
from cutecheck.source.eval import std_arrays
from cutecheck.source.eval.enums import EnumRef, underlying
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function, type_maker
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.threads import some, varies
from cutecheck.source.eval.tuples import Elements, Held
from cutecheck.source.eval.values import (
    ArrayType,
    ExternType,
    Intrinsic,
    PtrType,
    Scalar,
    ScalarType,
    TraitType,
    Value,
    ValueType,
    constant,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

LIMITS = "numeric_limits"
_FLOATS = {  # digits, digits10, max, min, epsilon
    "float": (24, 6, 3.4028234663852886e38, 1.1754943508222875e-38, 1.1920928955078125e-07),
    "double": (53, 15, 1.7976931348623157e308, 2.2250738585072014e-308, 2.220446049250313e-16),
}


@type_maker(LIMITS)
def _limits(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ExternType(LIMITS, targs)


def of_limits(t: ExternType, name: str) -> Value | None:
    """``std::numeric_limits<T>::name``."""
    of = t.args[0] if t.args else None
    if not isinstance(of, ScalarType):
        return None
    kind = of.dtype.name
    if name in ("max", "min", "lowest", "epsilon", "infinity", "quiet_NaN", "signaling_NaN", "denorm_min"):
        return Intrinsic(f"{LIMITS}::{name}", (of,))
    if kind not in INTEGERS and kind not in _FLOATS:
        return None
    whole = kind in INTEGERS
    bits, signed = INTEGERS.get(kind, (0, True))
    bits = 1 if kind == "bool" else bits
    digits = bits - signed if whole else _FLOATS[kind][0]
    flags = {
        "is_signed": signed, "is_integer": whole, "is_exact": whole, "is_specialized": True, "is_bounded": True,
        "is_iec559": not whole, "has_infinity": not whole, "has_quiet_NaN": not whole,
        "is_modulo": whole and not signed and kind != "bool",
    }  # fmt: skip
    if name in flags:
        return Scalar(int(flags[name]), "bool")
    tens = int(digits * math.log10(2)) if whole else _FLOATS[kind][1]
    numbers = {"digits": digits, "digits10": tens, "radix": 2}
    return Scalar(numbers[name], "int") if name in numbers else None


@function(*(f"{LIMITS}::{n}" for n in ("max", "min", "lowest", "epsilon", "infinity", "quiet_NaN", "signaling_NaN",
                                        "denorm_min")))  # fmt: skip
def _limit(c: Call) -> Value:
    (of,) = c.targs
    kind, name = of.dtype.name, c.name.rpartition("::")[2]
    if kind in INTEGERS:
        bits, signed = INTEGERS[kind]
        bits = 1 if kind == "bool" else bits
        least = -(1 << (bits - 1)) if signed else 0
        most = (1 << (bits - signed)) - 1
        return Scalar({"max": most, "min": least, "lowest": least}.get(name, 0), kind)
    if kind in _FLOATS:
        _, _, most_, least_, step = _FLOATS[kind]
        known = {"max": most_, "min": least_, "lowest": -most_, "epsilon": step}
        return Scalar(known.get(name), kind)
    return Scalar(None, kind)


_BUILTINS = {
    "__builtin_popcount": ("popcount", 32), "__builtin_popcountl": ("popcount", 64),
    "__builtin_popcountll": ("popcount", 64), "__builtin_clz": ("countl_zero", 32),
    "__builtin_clzl": ("countl_zero", 64), "__builtin_clzll": ("countl_zero", 64),
    "__builtin_ctz": ("countr_zero", 32), "__builtin_ctzl": ("countr_zero", 64),
    "__builtin_ctzll": ("countr_zero", 64), "__builtin_ffs": ("ffs", 32), "__builtin_ffsll": ("ffs", 64),
    "__popc": ("popcount", 32), "__popcll": ("popcount", 64), "__clz": ("countl_zero", 32),
    "__clzll": ("countl_zero", 64), "__ffs": ("ffs", 32), "__ffsll": ("ffs", 64),
}  # fmt: skip
_COUNTS = ("popcount", "countl_zero", "countr_zero", "countl_one", "countr_one")


def _counted(what: str, value: int, bits: int) -> int:
    n = value & ((1 << bits) - 1)
    if what in ("countl_one", "countr_one"):
        n, what = n ^ ((1 << bits) - 1), what.replace("one", "zero")
    if what == "popcount":
        return bin(n).count("1")
    if what == "countl_zero":
        return bits - n.bit_length()
    low = (n & -n).bit_length() - 1 if n else bits
    return low if what == "countr_zero" else (low + 1 if n else 0)


@function(*_BUILTINS, *_COUNTS, tolerant=True)
def _count(c: Call) -> Value:
    """Of a number that is known; of others the range is."""
    given = c.raw[0] if c.raw else None
    if c.name in _BUILTINS:
        what, bits = _BUILTINS[c.name]
    elif isinstance(given, Scalar) and given.ctype in INTEGERS and not INTEGERS[given.ctype][1]:
        what, bits = c.name, INTEGERS[given.ctype][0]
    elif isinstance(given, Unknown):
        return given
    else:
        raise Unsupported(f"{c.name} of what is no number without sign")
    number = constant(given) if isinstance(given, (Scalar, int)) else None
    if number is not None:
        return Scalar(_counted(what, number, bits), "int")
    apart = isinstance(given, Unknown) or varies(given)
    return Scalar(some(c.m, c.name.strip("_"), ex.Domain(0, bits), apart), "int")


@function("bit_ceil", "bit_floor", "rotl", "rotr", "byteswap")
def _of_bits(c: Call) -> Value:
    given, number = c.raw[0], constant(c.raw[0])
    if not isinstance(given, Scalar) or number is None or given.ctype not in INTEGERS or INTEGERS[given.ctype][1]:
        raise Unsupported(f"{c.name} of a number that is not known")
    bits = INTEGERS[given.ctype][0]
    if c.name == "bit_ceil":
        made = 1 if number <= 1 else 1 << (number - 1).bit_length()
    elif c.name == "bit_floor":
        made = 1 << (number.bit_length() - 1) if number else 0
    elif c.name == "byteswap":
        made = int.from_bytes(number.to_bytes(bits // BYTE, "little"), "big")
    else:
        by = constant(c.raw[1]) if len(c.raw) > 1 else None
        if by is None:
            raise Unsupported(f"{c.name} by a number that is not known")
        by = (by if c.name == "rotl" else -by) % bits
        made = number << by | number >> (bits - by)
    return Scalar(wrapped(made, given.ctype), given.ctype)


@function("clamp")
def _clamp(c: Call) -> Value:
    numbers = [constant(v) if isinstance(v, Scalar) else None for v in c.raw[:3]]
    value = c.raw[0]
    if len(c.raw) != 3 or not isinstance(value, Scalar) or any(v.ctype != value.ctype for v in c.raw[1:]):
        raise Unsupported("clamp of what are no numbers of one type")
    if None in numbers:
        raise Unsupported("clamp of a number that is not known")
    v, low, high = (n for n in numbers if n is not None)
    return Scalar(low if v < low else high if high < v else v, value.ctype)


@function("ssize", "std::size")
def _ssize(c: Call) -> Value:
    if isinstance(c.raw[0], Elements):
        return Scalar(len(c.raw[0]), "ptrdiff_t" if c.name == "ssize" else "size_t")
    raise Unsupported("the size of this container")


@function("to_array")
def _to_array(c: Call) -> Value:
    """``std::to_array<T>({a, b})``, or of an array."""
    given = c.raw[0] if len(c.raw) == 1 else None
    if type(given) is Held or not isinstance(given, tuple) or not given:
        raise Unsupported("an array made of something that is no list")
    made: Value = None
    if c.targs:
        made = std_arrays.made(c.m, ArrayType(c.targs[0], len(given), name=std_arrays.NAME), given, c.span)
    elif not any(isinstance(v, (tuple, Unknown)) for v in given):
        made = std_arrays.deduced(c.m, given, c.span)
    return Unknown("an array of elements that are not followed", c.span) if made is None else made


def _of_sign(signed: bool, *names: str) -> None:
    @type_maker(*names)
    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        t = targs[0]
        if isinstance(t, ScalarType) and t.dtype.name in INTEGERS and t.dtype.name != "bool":
            if canonical(t.dtype.name) in ("long long", "unsigned long long"):
                made = dtype("long long" if signed else "unsigned long long")
            else:
                made = dtype(f"{'' if signed else 'u'}int{INTEGERS[t.dtype.name][0]}_t")
            if made is not None:
                return ScalarType(made)
        raise Unsupported("the signed or unsigned type of this one")


_of_sign(True, "make_signed_t", "make_signed")
_of_sign(False, "make_unsigned_t", "make_unsigned")


@type_maker("underlying_type_t", "underlying_type")
def _underlying(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    if isinstance(targs[0], EnumRef):
        return underlying(m, targs[0])
    raise Unsupported("the type behind what is no enumeration of the tree")


@type_maker("common_type_t", "common_type")
def _common(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    kinds = [t.dtype.name for t in targs if isinstance(t, ScalarType)]
    if not kinds or len(kinds) != len(targs) or not all(k in INTEGERS or k in _FLOATS for k in kinds):
        raise Unsupported("the common type of these")
    both = kinds[0]
    for kind in kinds[1:]:  # of one type it is that, without promotion
        both = both if canonical(both) == canonical(kind) else common_type(both, kind)
    made = dtype(both)
    if made is None:
        raise Unsupported("the common type of these")
    return ScalarType(made)


def _told(name: str, test: Callable[[Value], bool | None]) -> None:
    """A trait whose answer the kind of type gives; ``test`` says None where it does not."""

    @type_maker(name, f"{name}_v")
    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        known = test(targs[0])
        if known is None:
            raise Unsupported(f"{name} of this type")
        return TraitType(ValueType(truth_constant(known, STD)), Scalar(int(known), "bool"))


def _signed(v: Value) -> bool | None:
    kind = v.dtype.name if isinstance(v, ScalarType) else ""
    if kind in INTEGERS or kind in _FLOATS:
        return kind in _FLOATS or (INTEGERS[kind][1] and kind != "bool")
    return None if isinstance(v, ScalarType) else False


def _unsigned(v: Value) -> bool | None:
    signed = _signed(v)
    return not signed if signed is not None and isinstance(v, ScalarType) else signed


_CLASSES = (ClassInst, EnumRef, PtrType, ArrayType, ScalarType)  # what is told apart
_told("is_signed", _signed)
_told("is_unsigned", _unsigned)
_told("is_array", lambda v: isinstance(v, ArrayType) and not v.name if isinstance(v, _CLASSES) else None)
_told("is_enum", lambda v: isinstance(v, EnumRef) if isinstance(v, _CLASSES) else None)
_told("is_union", lambda v: v.decl.kind == "union" if isinstance(v, ClassInst) else None)


@type_maker("extent", "extent_v")
def _extent(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    at, t = constant(targs[1]) if len(targs) > 1 else 0, targs[0]
    for _ in range(at or 0):
        t = t.inner if isinstance(t, ArrayType) and not t.name else t
    found = t.extent if isinstance(t, ArrayType) and not t.name else 0
    if at is None or not isinstance(found, int):
        raise Unsupported("an extent that is not known")
    return TraitType(ValueType(constant_of(found, "size_t", STD)), Scalar(found, "size_t"))


@type_maker("alignment_of", "alignment_of_v")
def _alignment(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    from cutecheck.source.eval.memory import align_bytes

    found = align_bytes(m, targs[0], span)
    if not isinstance(found, int):
        return found
    return TraitType(ValueType(constant_of(found, "size_t", STD)), Scalar(found, "size_t"))
