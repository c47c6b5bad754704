"""Traits of types that tell constants and references from what they are without (``<type_traits>``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.constants import STD, truth_constant
from cutecheck.model.integers import INTEGERS, canonical
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.eval import qualified
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.intrinsics.registry import Unsupported, type_maker
from cutecheck.source.eval.intrinsics.types import is_integer
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import is_type, same_type, type_key
from cutecheck.source.eval.values import (
    TYPE_TAG,
    ArrayType,
    ExternType,
    Pack,
    PtrType,
    Qualified,
    Scalar,
    ScalarType,
    TensorVal,
    TraitType,
    Value,
    ValueType,
    VoidType,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_DEPTH = 8  # of classes in the arguments of classes
_FLOATS = ("float", "double", "long double")
Test = Callable[["Machine", Qualified], "bool | None"]


def boolean(v: bool, family: str = STD) -> Value:
    return TraitType(ValueType(truth_constant(v, family)), Scalar(int(v), "bool"))


@type_maker("conditional", "conditional_t", qualified=True)
def _conditional(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    if isinstance(targs[0], Unknown):
        return targs[0]
    known = m.dialect.truth(targs[0])
    if known is None:
        raise Unsupported("a condition that is not known")
    return targs[1] if known else targs[2]


def _tensors(a: Value, b: Value, span: Span) -> bool | Unknown:
    """Types that name tensors, whose keys name where these are, and not whether that is constant."""
    if not (_names_tensor(a) and _names_tensor(b)):
        return False
    one, other = getattr(a, "value", None), getattr(b, "value", None)
    if isinstance(one, TensorVal) and isinstance(other, TensorVal):
        kinds = [(t.space, t.dtype, type_key(t.layout), t.pointer is None) for t in (one, other)]
        if kinds[0] != kinds[1]:
            return False
        if _ctypes(one.layout) != _ctypes(other.layout):
            return False
        if one.pointer is None or other.pointer is None:
            return Unknown("whether two types of tensors of coordinates are the same is not known", span)
        if one.pointer.swizzle != other.pointer.swizzle:
            return False
        if one.pointer.buffer == other.pointer.buffer and one.space != "rmem" and one.layout == other.layout:
            return True
        if one.provenance == other.provenance == "fragment" and one.space == "rmem":
            return True
    return Unknown("whether two types of tensors are the same is not known", span)


def _ctypes(layout: Value) -> list[str]:
    """The types of the run-time numbers of a layout."""
    if isinstance(layout, tuple):
        return [c for part in layout for c in _ctypes(part)]
    if isinstance(layout, Layout):
        return [*_ctypes(layout.shape), *_ctypes(layout.stride)]
    if isinstance(layout, ComposedLayout):
        return [*_ctypes(layout.offset), *_ctypes(layout.b)]
    return [getattr(layout, "ctype", "int")] if isinstance(layout, Dyn) else []


def _names_tensor(v: Value, depth: int = 0) -> bool:
    if isinstance(v, TensorVal):
        return True
    if depth > _DEPTH:
        return True
    inside: tuple[Value, ...] = ()
    if isinstance(v, ValueType):
        inside = (v.value,)
    elif isinstance(v, ClassInst):
        inside = v.args
    elif isinstance(v, Pack):
        inside = v.items
    elif isinstance(v, tuple):
        inside = v
    return any(_names_tensor(x, depth + 1) for x in inside)


def _same(a: Value, b: Value, span: Span) -> bool | Unknown:
    one, other = qualified.plain(a), qualified.plain(b)
    if not same_type(one, other):
        return _tensors(one, other, span)
    if qualified.open_marks(a) or qualified.open_marks(b):
        return Unknown("whether a type is a constant or a reference is not known", span)
    return same_type(a, b)


@type_maker("is_same", "is_same_v", "is_any_of", "is_any_of_v", qualified=True)
def _is_same(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    for t in targs:
        if isinstance(t, Unknown):
            return t
        if isinstance(t, ExternType) and t.name.startswith("std::") and t.name.endswith(("_t", "::type")):
            return Unknown(f"the type that {t.name} gives is not known", span)
    answers = [_same(targs[0], t, span) for t in targs[1:]]
    if True in answers:
        return boolean(True)
    return next((a for a in answers if isinstance(a, Unknown)), boolean(False))


def _removing(*names: str, const: bool = False, volatile: bool = False, ref: bool = False) -> None:
    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        t = targs[0]
        if isinstance(t, ArrayType) and not t.name and (const or volatile):
            inner = run(m, (t.inner,), span)
            return ArrayType(inner, t.extent) if is_type(inner) else t
        if not isinstance(t, Qualified):
            return t
        if t.ref and not ref:
            return t
        if t.ref is None and not ref:  # it may be a reference, which stays one
            return t
        kept = (False if const else t.const, False if volatile else t.volatile, "" if ref else t.ref)
        return qualified.made(t.inner, *kept)

    type_maker(*names, *(f"{n}_t" for n in names), qualified=True)(run)


_removing("remove_const", const=True)
_removing("remove_volatile", volatile=True)
_removing("remove_cv", const=True, volatile=True)
_removing("remove_reference", ref=True)
_removing("remove_cvref", "unwrap_ref_decay", const=True, volatile=True, ref=True)


@type_maker("type_identity_t", qualified=True)
def _identity(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return targs[0]


@type_maker(TYPE_TAG, qualified=True)
def _tag(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """A type of its own: functions are called with one to say a type."""
    return ExternType(TYPE_TAG, targs[:1])


def _adding(name: str, *kinds: str) -> None:
    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        t = targs[0]
        if isinstance(t, VoidType) and kinds[0] in ("ref", "rref"):
            return t
        for kind in kinds:
            t = qualified.qualify(t, kind)
        return t

    type_maker(name, f"{name}_t", qualified=True)(run)


_adding("add_const", "const")
_adding("add_volatile", "volatile")
_adding("add_cv", "const", "volatile")
_adding("add_lvalue_reference", "ref")
_adding("add_rvalue_reference", "rref")


@type_maker("decay", "decay_t", qualified=True)
def _decay(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    t = targs[0].inner if isinstance(targs[0], Qualified) else targs[0]
    return PtrType(t.inner) if isinstance(t, ArrayType) and not t.name else t


@type_maker("add_pointer", "add_pointer_t", qualified=True)
def _add_pointer(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    t = targs[0]
    if isinstance(t, Unknown):
        return t
    return PtrType(qualified.made(t.inner, t.const, t.volatile, "") if isinstance(t, Qualified) else t)


@type_maker("remove_pointer", "remove_pointer_t", qualified=True)
def _remove_pointer(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    t = targs[0]
    inner = t.inner if isinstance(t, Qualified) and not t.ref else t
    return inner.inner if isinstance(inner, PtrType) else t


def _of_array(name: str, everything: bool) -> None:
    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        t = targs[0]
        while isinstance(t, ArrayType) and not t.name:
            t = t.inner
            if not everything:
                break
        return t

    type_maker(name, f"{name}_t", qualified=True)(run)


_of_array("remove_extent", False)
_of_array("remove_all_extents", True)


def _asks(name: str, test: Test, family: str = STD) -> None:
    """A trait of one type; what the test does not know is unknown."""

    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        if isinstance(targs[0], Unknown):
            return targs[0]
        t = targs[0].type if isinstance(targs[0], TraitType) and is_type(targs[0].type) else targs[0]
        known = test(m, qualified.parts(t))
        return Unknown(f"`{name}` of this type is not known", span) if known is None else boolean(known, family)

    type_maker(name, f"{name}_v", qualified=True)(run)


def _object(test: Callable[[Value], bool | None]) -> Test:
    """Of what is no reference."""

    def run(m: Machine, t: Qualified) -> bool | None:
        known = test(t.inner)
        return False if t.ref or known is False else None if t.ref is None else known

    return run


def _arithmetic(t: Value) -> bool:
    return isinstance(t, ScalarType) and (canonical(t.dtype.name) in INTEGERS or t.dtype.name in _FLOATS)


def _signed(t: Value, signed: bool) -> bool:
    if not isinstance(t, ScalarType):
        return False
    name = canonical(t.dtype.name)
    return INTEGERS[name][1] is signed if name in INTEGERS else signed and t.dtype.name in _FLOATS


def _class(t: Value) -> bool | None:
    if isinstance(t, ClassInst):
        return t.decl.keyword != "union" if hasattr(t.decl, "keyword") else None
    if isinstance(t, ScalarType):
        return None if not _arithmetic(t) else False
    if isinstance(t, (PtrType, VoidType, EnumRef)):
        return False
    return not isinstance(t, ArrayType) or bool(t.name) if isinstance(t, (ValueType, ArrayType)) else None


def _constant(m: Machine, t: Qualified) -> bool | None:
    if isinstance(t.inner, ArrayType) and not t.inner.name:
        return _constant(m, qualified.parts(t.inner.inner))
    return False if t.ref else None if t.const is None or t.ref is None else t.const


_asks("is_const", _constant)
_asks("is_volatile", lambda m, t: t.volatile and not t.ref)
_asks("is_reference", lambda m, t: None if t.ref is None else bool(t.ref))
_asks("is_lvalue_reference", lambda m, t: None if t.ref is None else t.ref == "ref")
_asks("is_rvalue_reference", lambda m, t: None if t.ref is None else t.ref == "rref")
_asks("is_pointer", _object(lambda t: isinstance(t, PtrType)))
_asks("is_array", _object(lambda t: isinstance(t, ArrayType) and not t.name))
_asks("is_enum", _object(lambda t: isinstance(t, EnumRef) or (None if isinstance(t, ExternType) else False)))
_asks("is_class", _object(_class))
_asks("is_arithmetic", _object(_arithmetic))
_asks("is_fundamental", _object(lambda t: _arithmetic(t) or isinstance(t, VoidType)))
_asks("is_floating_point", _object(lambda t: isinstance(t, ScalarType) and t.dtype.name in _FLOATS))
_asks("is_signed", _object(lambda t: _signed(t, True)))
_asks("is_unsigned", _object(lambda t: _signed(t, False)))


def _integral(t: Value) -> bool:
    """CuTe's answers for its own static integers, too."""
    t = t.value if isinstance(t, ValueType) else t
    return isinstance(t, int) or (isinstance(t, ScalarType) and is_integer(t.dtype))


_asks("is_integral", _object(_integral), "")
_asks("std::is_integral", _object(lambda t: _arithmetic(t) and _integral(t)))


@type_maker("is_convertible", "is_convertible_v", qualified=True)
def _convertible(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    given, wanted = (t.inner if isinstance(t, Qualified) else t for t in targs)
    bound = isinstance(targs[1], Qualified) and targs[1].ref is not None and not targs[1].const
    if bound and targs[1].ref == "ref":
        return Unknown("whether a reference may be bound is not known", span)
    if _arithmetic(given) and _arithmetic(wanted):
        return boolean(True)
    if type_key(given) == type_key(wanted) and isinstance(given, (ScalarType, ClassInst, ValueType)):
        return boolean(True)
    if isinstance(given, VoidType) != isinstance(wanted, VoidType):
        return boolean(False)
    if isinstance(given, PtrType) and isinstance(wanted, PtrType):
        one, other = qualified.plain(given.inner), qualified.plain(wanted.inner)
        numbers = isinstance(one, ScalarType) and isinstance(other, ScalarType)
        if numbers and not same_type(one, other):
            return boolean(False)
    if {type(given), type(wanted)} == {PtrType, ScalarType}:
        return boolean(isinstance(wanted, ScalarType) and wanted.dtype.name == "bool")
    if isinstance(given, ClassInst) and isinstance(wanted, ClassInst):
        from cutecheck.source.eval.classes import complete, derives

        if complete(m, given) and derives(m, given, wanted):
            return boolean(True)
    return Unknown("whether a type may be converted to another is not known", span)
