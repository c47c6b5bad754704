"""C++'s integer types: widths, the usual arithmetic conversions, and what a type makes of a number.

A run-time number stands for the value that its type gives it. What is computed in an unsigned type is taken modulo
2^bits (a mask of all bits) wherever it may be negative or stems from a number that was; a sum or product of naturals is
taken to fit its type of 32 bits or more, and so is every signed number. A parameter of signed type, and a sum or
product of such, is taken to be natural where it is converted to an unsigned type. What is converted to a type of 8 or
16 bits is cut off unless its range says that it fits.
"""

from __future__ import annotations

import re
from functools import lru_cache

from cutecheck.model import expr as ex
from cutecheck.model.expr import ANY, NATURAL, Domain, Expr, Op
from cutecheck.model.expr.arithmetic import build
from cutecheck.model.ints import Dyn, Int

# (bits, signed)
INTEGERS: dict[str, tuple[int, bool]] = {
    "bool": (8, False), "char": (8, True), "signed char": (8, True), "unsigned char": (8, False),
    "int8_t": (8, True), "uint8_t": (8, False), "short": (16, True), "int16_t": (16, True),
    "unsigned short": (16, False), "uint16_t": (16, False), "int": (32, True), "int32_t": (32, True),
    "unsigned": (32, False), "unsigned int": (32, False), "uint32_t": (32, False),
    "long": (64, True), "long long": (64, True), "int64_t": (64, True), "ptrdiff_t": (64, True), "intptr_t": (64, True),
    "unsigned long": (64, False), "unsigned long long": (64, False), "uint64_t": (64, False), "size_t": (64, False),
    "uintptr_t": (64, False), "ssize_t": (64, True),
}  # fmt: skip
# types of one name: the others are aliases
_CANONICAL = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned", "unsigned int": "unsigned", "int64_t": "long", "ptrdiff_t": "long",
    "intptr_t": "long", "ssize_t": "long", "uint64_t": "unsigned long", "size_t": "unsigned long",
    "uintptr_t": "unsigned long",
}  # fmt: skip
LARGE, LARGEST = (1 << 32) - 1, (1 << 64) - 1  # a number with no end below may stem from one that was negative
_WIDE = 32  # bits from which on naturals are taken to fit
_MADE = re.compile(r"[#~?@]")  # in names of numbers that are no parameters
_SMALL = 1 << 16  # bound of variables of which a sum is not: it is known how large it may become


def canonical(name: str) -> str:
    """The type that a name is an alias of, on the 64-bit hosts of CUDA."""
    return _CANONICAL.get(name, name)


def domain_of(name: str) -> Domain:
    """The values of a type, as far as they are used: the upper end of a wide one is not."""
    bits, signed = INTEGERS.get(name, (64, not name.startswith("u")))
    if bits >= _WIDE:
        return ANY if signed else NATURAL
    return Domain(-(1 << bits - 1), (1 << bits - 1) - 1) if signed else Domain(0, (1 << bits) - 1)


def whole_domain_of(name: str) -> Domain:
    """All values of a type without sign; else those of ``domain_of``."""
    bits, signed = INTEGERS.get(name, (64, not name.startswith("u")))
    return domain_of(name) if signed else Domain(0, (1 << bits) - 1)


def is_narrow(name: str) -> bool:
    """A type of which the range is known: an integer of 8 or 16 bits."""
    return INTEGERS.get(name, (_WIDE, True))[0] < _WIDE


def common_type(left: str, right: str) -> str:
    """The type of ``left op right`` after the usual arithmetic conversions."""
    if left == right and INTEGERS.get(left, (32, True))[0] >= 32:
        return left
    for name in ("double", "float"):
        if name in (left, right):
            return name
    if left not in INTEGERS or right not in INTEGERS:
        return left if left not in INTEGERS else right
    (lb, ls), (rb, rs) = INTEGERS[left], INTEGERS[right]
    if max(lb, rb) < 32:
        return "int"
    if lb != rb:
        return left if lb > rb else right
    longer_left, longer_right = ("long long" in name for name in (left, right))
    if ls == rs:
        return left if longer_left or not longer_right else right
    if longer_left != longer_right:
        return "unsigned long long"
    return left if not ls else right


def promoted(name: str) -> str:
    """The type of ``+x``."""
    return common_type(name, "int") if INTEGERS.get(name, (32, True))[0] < 32 else name


def wrapped(value: int, ctype: str) -> int:
    """A number as a type represents it."""
    if ctype == "bool":
        return int(value != 0)
    bits, signed = INTEGERS.get(ctype, (64, True))
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def converted(value: Int, source: str, target: str) -> Int:
    """A number of one integer type converted to another, which is not ``bool``."""
    if not isinstance(value, Dyn):
        return wrapped(value, target) if isinstance(value, int) else value  # an open static integer is taken to fit
    if value.value is not None:
        return Dyn.of(wrapped(value.value, target))
    (had, was_signed), (bits, signed) = (INTEGERS.get(t, (64, True)) for t in (source, target))
    if (had <= bits and was_signed == signed) or (had < bits and not was_signed):
        return value
    if bits < _WIDE:
        return Dyn(_cut(value.expr, bits, signed))
    if not _masks(value.expr, bits):
        if signed and _beyond(value.expr, bits):  # `int x = c ? -8 : threadIdx.x` was unsigned on the way
            stripped = _stripped(value.expr, bits)
            return Dyn(_cut(stripped, bits, True) if _beyond(stripped, bits) else stripped)
        fits = signed or (_natural(value.expr) and _fits(value.expr, bits))
        return value if fits else Dyn(_masked(value.expr, bits))
    if not signed:
        return Dyn(_masked(value.expr, bits))
    stripped = _stripped(value.expr, bits)
    return Dyn(_cut(stripped, bits, True) if _masks(stripped, bits) else stripped)


def calculated(value: Int, ctype: str, natural: bool) -> Int:
    """The result of an operation on numbers of a promoted type; ``natural``: it makes no negative ones of naturals."""
    if not isinstance(value, Dyn):
        return wrapped(value, ctype) if isinstance(value, int) else value
    if value.value is not None:
        return Dyn.of(wrapped(value.value, ctype))
    bits, signed = INTEGERS.get(ctype, (64, True))
    if signed or (natural and _fits(value.expr, bits)):
        return value
    return Dyn(_masked(value.expr, bits))


def dividend(value: Int, ctype: str, by: Int) -> Int:
    """What is divided by a constant that is no power of two: ``u * 24u / 3u`` is no multiple of 8 once 24 * u wraps.

    Powers of two divide 2^bits, so what a multiple loses by wrapping around leaves it a multiple. It has no value that
    could refute anything: programs mean numbers that do not wrap.
    """
    bits, signed = INTEGERS.get(ctype, (64, True))
    if signed or bits > _WIDE or not isinstance(value, Dyn) or not isinstance(by, int) or by & (by - 1) == 0:
        return value
    _, top = ex.bounds(value.expr)
    if (top is not None and top < 1 << bits) or _alone(value.expr) or value.value is not None:
        return value
    return Dyn(ex.op("opaque", value.expr, label="unsigned"))


def address(value: Int) -> Int:
    """A number that a pointer is moved by: addresses are modulo 2^64."""
    if isinstance(value, int):
        return wrapped(value, "int64_t") if value >> 63 else value
    return Dyn(_stripped(value.expr, 64)) if isinstance(value, Dyn) and _masks(value.expr, 64) else value


def _fits(e: Expr, bits: int) -> bool:
    """Whether a natural is taken to be less than 2^bits."""
    _, top = ex.bounds(e)
    if top is not None and top < 1 << bits:
        return True
    if any(abs(c) >> (bits - 1) for _, c in e.terms):
        return False  # a factor that stands for a negative one
    if top is not None and all((v.domain.bounds()[1] or 1 << bits) <= _SMALL for v in e.variables()):
        return False
    return _alone(e) or not _masks(e, bits)


def _beyond(e: Expr, bits: int) -> bool:
    """Whether it has numbers that stand for negative ones: factors, or values of what was joined."""
    if any(abs(c) >> (bits - 1) for _, c in e.terms):
        return True
    return any((v.domain.bounds()[1] or 0) >> (bits - 1) > 0 for v in e.variables())


def _alone(e: Expr) -> bool:
    """One atom: what it stands for is what it was when it was made."""
    return len(e.terms) == 1 and e.terms[0][1] == 1 and len(e.terms[0][0]) == 1


def _masked(e: Expr, bits: int) -> Expr:
    e = _stripped(e, bits)
    if _natural(e) and not _masks(e, bits) and _fits(e, bits):
        return e
    return ex.op("and", e, ex.const((1 << bits) - 1))


def _cut(e: Expr, bits: int, signed: bool) -> Expr:
    """To a narrow type."""
    low, top = ex.bounds(e)
    half = 1 << (bits - 1) if signed else 0
    if low is not None and top is not None and low >= -half and top < (1 << bits) - half:
        return e
    e = ex.add(_stripped(e, bits), ex.const(half))
    return ex.sub(ex.op("and", e, ex.const((1 << bits) - 1)), ex.const(half))


def _inside(atom: ex.Atom, bits: int) -> Expr | None:
    """What an atom cuts off to ``bits`` bits or more: the same modulo 2^bits."""
    if not isinstance(atom, Op) or atom.kind not in ("and", "mod"):
        return None
    inside, by = atom.args
    number = by.constant
    if number is None:
        return None
    modulus = number + 1 if atom.kind == "and" else number
    return inside if modulus >= 1 << bits and modulus & (modulus - 1) == 0 else None


@lru_cache(maxsize=1 << 14)
def _natural(e: Expr) -> bool:
    """Whether a number is no less than 0 if the program's parameters are."""
    if ex.at_least(e, 0):
        return True
    open_ = {v.name: ex.var(v.name, NATURAL) for v in e.variables() if v.domain == ANY and not _MADE.search(v.name)}
    return bool(open_) and ex.at_least(e.substitute(open_), 0)


@lru_cache(maxsize=1 << 14)
def _masks(e: Expr, bits: int) -> bool:
    """Whether it is made of numbers that are cut off to ``bits`` or more, which may be as large as any."""
    return any(
        _inside(atom, bits) is not None or _sets(atom, bits) or any(_masks(a, bits) for a in atom.args)
        if isinstance(atom, Op)
        else (atom.domain.bounds()[1] or 0) >= (1 << bits) - 1
        for monomial, _ in e.terms
        for atom in monomial
    )


def _sets(atom: Op, bits: int) -> bool:
    """``0xFFFFFFFFu ^ n``: a constant that stands for a negative number sets the highest bit."""
    return atom.kind in ("or", "xor") and any((a.constant or 0) >> (bits - 1) > 0 for a in atom.args)


def _bare(atom: ex.Atom, bits: int) -> Expr:
    inside = _inside(atom, bits)
    if inside is not None:
        return _stripped(inside, bits)
    if isinstance(atom, Op) and atom.kind in ("and", "or", "xor") and _masks(ex.atom_expr(atom), bits):
        return ex.op(atom.kind, *(_stripped(a, bits) for a in atom.args))
    return ex.atom_expr(atom)


@lru_cache(maxsize=1 << 14)
def _stripped(e: Expr, bits: int) -> Expr:
    """A number that is the same modulo 2^bits, without masks in its terms and with the least factors."""
    terms: dict[ex.Monomial, int] = {}
    for monomial, factor in e.terms:
        part = ex.const((factor + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))
        for atom in monomial:
            part = ex.mul(part, _bare(atom, bits))
        for made, times in part.terms:
            terms[made] = terms.get(made, 0) + times
    return build(terms)


__all__ = [
    "INTEGERS",
    "LARGE",
    "LARGEST",
    "address",
    "calculated",
    "canonical",
    "common_type",
    "converted",
    "dividend",
    "domain_of",
    "promoted",
    "whole_domain_of",
    "wrapped",
]
