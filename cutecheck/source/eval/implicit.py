"""How well an argument converts to the type of a parameter (C++ [over.best.ics]): not at all, or how far.

What is returned is above 0 for an exact match, 0 where it is not known, and below for conversions, the worse the less.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.facts import Unknown
from cutecheck.model.basis import Underscore
from cutecheck.model.constants import CUTE, Constant, base_of, type_of_constant
from cutecheck.model.integers import INTEGERS, canonical
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.source.eval import classes, conversions, ir
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.tensor_types import alike
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.types import same_type, type_key
from cutecheck.source.eval.values import (
    ArrayType,
    Closure,
    CuteOp,
    Extern,
    ExternType,
    Null,
    Object,
    PtrType,
    Scalar,
    ScalarType,
    Slice,
    TensorVal,
    TraitType,
    Value,
    ValueType,
    VoidType,
)

EXACT = 6
OPEN = 0
QUALIFIED = -1  # exact but for a ``const`` that the pointer gains
PROMOTED = -2
BASE = -3  # less by two for each class between
CONVERTED, TO_VOID, TO_BOOL = -20, -21, -23
BY_USER = -30  # less by what its result is converted by after it
ELLIPSIS = -60

_NO_NUMBER = (tuple, Layout, ComposedLayout, Swizzle, Underscore, CuteOp)
_FLOATS = ("float", "double")
_EXPLICIT = ("half_t", "bfloat16_t", "tfloat32_t", "float_e4m3_t", "float_e5m2_t")


def qualified(gain: int) -> int:
    """The same where the pointer gains a ``const``."""
    return QUALIFIED if gain > OPEN else gain - 1 if CONVERTED < gain <= BASE or gain == TO_VOID else gain


def worth(gain: int) -> int:
    """What one argument counts for where nothing but the sum decides."""
    if gain > CONVERTED:
        return max(gain, OPEN)
    return -1 if gain > BY_USER else -2 if gain > ELLIPSIS else -4


def accepts(m: Machine, wanted: Value, value: Value, actual: Value, literal: bool = True) -> int | None:
    """``literal``: whether the argument may be a literal, of which 0 is a null pointer."""
    if isinstance(wanted, Unknown):
        return OPEN
    if alike(wanted, actual):
        return EXACT
    if isinstance(wanted, ClassInst):
        if isinstance(value, Object) and classes.derives(m, value.cls, wanted):
            return BASE - _distance(m, value.cls, wanted)
        return BY_USER if isinstance(value, Extern) or _listed(value) or _converts(m, value, wanted) else None
    if isinstance(value, TensorVal) and isinstance(wanted, ValueType) and isinstance(wanted.value, TensorVal):
        close = (value.space, value.dtype) == (wanted.value.space, wanted.value.dtype)
        return CONVERTED if close else None  # the keys of tensors name their run-time numbers
    if isinstance(value, Object) and value.pointer is not None and isinstance(wanted, PtrType):
        this = _pointer(m, wanted, value, PtrType(value.cls), False)  # `this` of an object in memory is the object
        if this is not None:
            return this
    if isinstance(value, (Object, TensorVal)) and not isinstance(wanted, Unknown):
        return BY_USER if isinstance(value, Object) and _converts_itself(m, value, wanted) else None
    if isinstance(wanted, ValueType):  # tags: std::true_type takes what derives from it
        if any(type_key(base) == type_key(wanted) for base in above(m, actual)):
            return BASE
        own = actual.type if isinstance(actual, TraitType) else actual
        return None if isinstance(own, ValueType) and isinstance(own.value, int) else CONVERTED
    if isinstance(wanted, EnumRef) or (isinstance(actual, EnumRef) and not isinstance(wanted, PtrType)):
        return _enumeration(wanted, value, actual)
    if isinstance(wanted, PtrType):
        return _pointer(m, wanted, value, actual, literal)
    if isinstance(wanted, ScalarType):
        return _number(wanted, value, actual, literal)
    return CONVERTED


def _listed(value: Value) -> bool:
    """A braced list, or a tuple of CuTe's, and no array."""
    return isinstance(value, tuple) and not isinstance(value, Elements)


def _enumeration(wanted: Value, value: Value, actual: Value) -> int | None:
    """Numbers and other enumerations are no values of one, and values of a scoped one are no numbers."""
    if isinstance(wanted, EnumRef):
        never = isinstance(actual, (EnumRef, ScalarType, PtrType, ArrayType)) or isinstance(value, Closure)
        return None if never or _no_pointer(actual) else CONVERTED
    if not isinstance(wanted, ScalarType) or not isinstance(actual, EnumRef):
        return CONVERTED
    if actual.decl.scoped:
        return None
    return PROMOTED if canonical(wanted.dtype.name) == "int" else CONVERTED


def _pointer(m: Machine, wanted: PtrType, value: Value, actual: Value, literal: bool) -> int | None:
    """To a pointer: from one to what converts to its type, and from null."""
    if isinstance(actual, PtrType):
        to, of = wanted.inner, actual.inner
        if isinstance(to, VoidType):
            return TO_VOID
        if isinstance(to, ClassInst) and isinstance(of, ClassInst):
            if classes.derives(m, of, to):
                return BASE - _distance(m, of, to)
            return None if classes.complete(m, of) else CONVERTED
        known = (ScalarType, ClassInst, VoidType)
        return None if isinstance(to, known) and isinstance(of, known) else CONVERTED
    if isinstance(value, Scalar) and value.ctype == "nullptr_t" and not isinstance(value, Null):
        return CONVERTED
    if isinstance(actual, ScalarType):
        if isinstance(value, Scalar) and value.value == 0 and value.ctype in INTEGERS:
            return CONVERTED if literal else None
        return None if isinstance(value, Scalar) and isinstance(value.value, (int, float)) else CONVERTED
    data = isinstance(wanted.inner, (ScalarType, ClassInst, VoidType))
    if isinstance(actual, EnumRef) or (isinstance(value, Closure) and data) or _no_pointer(actual):
        return None
    return CONVERTED


def _no_pointer(actual: Value) -> bool:
    return isinstance(actual, ValueType) and isinstance(actual.value, (int, *_NO_NUMBER))


def _number(wanted: ScalarType, value: Value, actual: Value, literal: bool) -> int | None:
    """To an arithmetic type, or one of CUTLASS's numbers."""
    to = canonical(wanted.dtype.name)
    if to == "nullptr_t":
        return CONVERTED if literal and isinstance(value, Scalar) and value.value == 0 else None
    if isinstance(value, Scalar) and value.ctype == "nullptr_t" and not isinstance(value, Null):
        return None  # it is no number
    if isinstance(actual, ScalarType):
        return _arithmetic(canonical(actual.dtype.name), to)
    if isinstance(actual, PtrType) or (isinstance(actual, ArrayType) and not actual.name):
        return TO_BOOL if to == "bool" else None
    if isinstance(value, Closure):  # what captures nothing is a pointer to its function, at best
        plain = not value.node.captures and not value.node.default and not _generic(value)
        return BY_USER if to == "bool" and plain else None
    if isinstance(actual, ValueType) and isinstance(actual.value, int) and not isinstance(actual.value, bool):
        return _by_user(canonical(type_of_constant(actual.value)), to)
    return None if _no_pointer(actual) else CONVERTED


def _generic(fn: Closure) -> bool:
    return bool(fn.node.tparams) or any(isinstance(p.type, ir.Auto) or p.type is None for p in fn.node.params)


def _arithmetic(of: str, to: str) -> int | None:
    if to in _EXPLICIT and (of in INTEGERS or of in _FLOATS):
        return None  # these constructors are explicit
    if of in INTEGERS or of in _FLOATS or to not in (*INTEGERS, *_FLOATS):
        return PROMOTED if _promotes(of, to) else CONVERTED
    return _by_user("float", to)  # CUTLASS's numbers convert themselves to float


def _by_user(of: str, to: str) -> int:
    if of == to:
        return BY_USER
    return BY_USER - (1 if _promotes(of, to) else 2)


def _promotes(given: str, wanted: str) -> bool:
    """Whether a conversion of arithmetic types is a promotion, which is better than any other."""
    if given == "float":
        return wanted == "double"
    return wanted == "int" and given in INTEGERS and INTEGERS[given][0] < INTEGERS["int"][0]


def _converts(m: Machine, value: Value, wanted: ClassInst) -> bool:
    """Whether a constructor could make the class of a value; its own copies and moves are none."""
    if not classes.complete(m, wanted):
        return True
    for decl in wanted.decl.members:
        if isinstance(decl, ir.Using):
            return True  # perhaps the constructors of a base
        if not isinstance(decl, ir.Function) or decl.name != wanted.decl.name or not decl.params:
            continue
        if "explicit" in decl.flags:
            continue
        first, *others = decl.params
        if any(p.default is None and not p.pack for p in others):
            continue
        if first.pack or first.type is None or decl.tparams:
            return True
        taken = m.eval(first.type, wanted.env)
        if isinstance(taken, ClassInst):
            if taken is not wanted and isinstance(value, Object) and classes.derives(m, value.cls, taken):
                return True
        elif not isinstance(value, Object) or isinstance(taken, Unknown):
            return True
    made = conversions.functions(m, value.cls) if isinstance(value, Object) else []
    return any(isinstance(to, Unknown) or to is wanted for _, to, explicit in made if not explicit)


def _converts_itself(m: Machine, value: Object, wanted: Value) -> bool:
    """Whether an object could become a value that is none of a class of the tree."""
    if isinstance(wanted, ExternType):
        return True  # it may have constructors that nobody sees
    made = [to for _, to, explicit in conversions.functions(m, value.cls) if not explicit]
    if isinstance(wanted, ScalarType):
        return bool(made)
    if isinstance(wanted, PtrType) and isinstance(wanted.inner, VoidType):
        return any(isinstance(to, (Unknown, PtrType)) for to in made)
    return any(isinstance(to, Unknown) or same_type(to, wanted) for to in made)


def above(m: Machine, type_: Value) -> Iterator[Value]:
    """The bases of a class."""
    if isinstance(type_, TraitType):
        yield type_.type
    elif isinstance(type_, ValueType) and isinstance(type_.value, Constant) and type_.value.family == CUTE:
        yield ValueType(base_of(type_.value))
    elif isinstance(type_, ValueType) and isinstance(type_.value, (Slice, TiledMMA, TiledCopy)):
        v = type_.value  # `struct ThrMMA : TiledMMA`, `TiledMMA : MMA_Atom`, `TiledCopy : Copy_Atom`
        base = v.tiled if isinstance(v, Slice) else v.atom
        if not isinstance(base, TiledCopy):
            yield ValueType(base)
            yield from above(m, ValueType(base))
    for base in classes.bases(m, type_) if isinstance(type_, ClassInst) else ():
        yield base
        yield from above(m, base)


def _distance(m: Machine, cls: ClassInst, base: ClassInst) -> int:
    """How many classes lie between, a few at most."""
    if any(b is base for b in classes.bases(m, cls)):
        return 0
    found = [_distance(m, b, base) for b in classes.bases(m, cls) if classes.derives(m, b, base)]
    return min(2 + min(found, default=0), 12)
