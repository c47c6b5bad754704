"""Type traits and scalar functions of the standard library, CuTe and CUTLASS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import inttuple as it
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.constants import STD, constant_of, truth_constant
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.ints import CuteError, Dyn, is_constant
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.eval.intrinsics.registry import CONSTANTS, Call, Unsupported, function, type_maker
from cutecheck.source.eval.intrinsics.types import bits_of, static_value
from cutecheck.source.eval.qualified import open_marks, plain
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import same_type
from cutecheck.source.eval.values import (
    ArrayType,
    ExternType,
    Intrinsic,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    SubstitutionFailure,
    Tag,
    TemplateRef,
    TensorVal,
    TraitType,
    Value,
    ValueType,
    VoidType,
    constant,
    is_variant,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def _truth(m: Machine, v: Value, span: Span) -> bool | None:
    """What a condition says; of a class of the tree (a trait as a type) its ``value``."""
    if isinstance(v, ClassInst):
        from cutecheck.source.eval.lookup import member, missing

        found = member(m, v, "value", None, span)
        return None if missing(found) else m.dialect.truth(found)
    return m.dialect.truth(v)


def truth_of(m: Machine, v: Value) -> bool:
    known = m.dialect.truth(v)
    if known is None:
        raise Unsupported("a condition that is not known")
    return known


def _boolean(v: bool, family: str = STD) -> Value:
    return TraitType(ValueType(truth_constant(v, family)), Scalar(int(v), "bool"))


@type_maker("enable_if", "enable_if_t")
def _enable_if(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    known = m.dialect.truth(targs[0])
    if known is False:
        raise SubstitutionFailure("enable_if")
    if known is None:
        return targs[0] if isinstance(targs[0], Unknown) else Unknown("a condition of enable_if is not known", span)
    return targs[1] if len(targs) > 1 else VoidType()


_DESCRIPTORS = ("GMMA::DescriptorIterator", "UMMA::DescriptorIterator")  # bases of fragments' types in shared memory
CONSTANTS.update((name, ValueType(Tag(name))) for name in _DESCRIPTORS)


def _tag(t: Value) -> str:
    return t.value.name if isinstance(t, ValueType) and isinstance(t.value, Tag) else ""


@type_maker("is_base_of", "is_base_of_v")
def _is_base_of(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    from cutecheck.source.eval.classes import bases, complete

    wanted, derived = targs
    if _tag(wanted) in _DESCRIPTORS and _tag(derived):
        engine, _, kind = _tag(derived).partition("<")[0].rpartition("::")
        described = kind in ("smem_desc", "sparse_smem_desc") and engine.endswith(_tag(wanted).partition("::")[0])
        return _boolean(described or derived == wanted)
    if not isinstance(derived, ClassInst):
        return _boolean(False)
    todo, seen = [derived], set()
    while todo:
        at = todo.pop()
        if same_type(wanted, at):
            return _boolean(True)
        if at not in seen:
            seen.add(at)
            if not complete(m, at):
                raise Unsupported(f"a base class of `{at.name}` is not known")
            todo += bases(m, at)
    return _boolean(False)


@type_maker("is_void", "is_void_v")
def _is_void(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return targs[0] if isinstance(targs[0], Unknown) else _boolean(isinstance(targs[0], VoidType))


def _logical_trait(name: str, stop: bool) -> None:
    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        truths = [_truth(m, t, span) for t in targs]
        if any(t is stop for t in truths):
            return _boolean(stop)
        if None in truths:
            raise Unsupported(f"{name} over a condition that is not known")
        return _boolean(not stop)

    type_maker(name, f"{name}_v")(run)


_logical_trait("conjunction", False)
_logical_trait("disjunction", True)


@type_maker("negation", "negation_v")
def _negation(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    known = _truth(m, targs[0], span)
    if known is None:
        raise Unsupported("negation of a condition that is not known")
    return _boolean(not known)


def _kind_trait(name: str, test: Any) -> None:
    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        t = targs[0]
        if isinstance(t, Unknown):
            return t
        return _boolean(bool(test(t.value if isinstance(t, ValueType) else t)), "")

    type_maker(name, f"{name}_v")(run)


def _is_complex(v: Value) -> bool:
    """``cutlass::complex<T>`` (cute/numeric/complex.hpp)."""
    name = v.name if isinstance(v, ClassInst) else v.dtype.name if isinstance(v, ScalarType) else ""
    return name.partition("<")[0] == "complex"


def _stores_nothing(v: Value) -> bool:
    """``is_static``: CuTe asks whether the class is empty."""
    if isinstance(v, tuple):
        return all(map(_stores_nothing, v))
    if isinstance(v, Layout):
        return it.is_static(v.shape) and it.is_static(v.stride)
    if isinstance(v, ComposedLayout):
        return all(map(_stores_nothing, (v.a, v.offset, v.b)))
    if isinstance(v, (ScalarType, PtrType, ArrayType, Pointer)):
        return False
    if isinstance(v, (TensorVal, ClassInst)):
        raise Unsupported("whether this class is empty")
    return it.is_static(v)


_kind_trait("is_layout", lambda v: isinstance(v, (Layout, ComposedLayout)))
_kind_trait("is_composed_layout", lambda v: isinstance(v, ComposedLayout))
_kind_trait("is_tensor", lambda v: isinstance(v, TensorVal))
_kind_trait("is_tuple", lambda v: isinstance(v, tuple))
_kind_trait("is_smem", lambda v: isinstance(v, (TensorVal, Pointer)) and v.space == "smem")
_kind_trait("is_gmem", lambda v: isinstance(v, (TensorVal, Pointer)) and v.space == "gmem")
_kind_trait("is_rmem", lambda v: isinstance(v, (TensorVal, Pointer)) and v.space == "rmem")
_kind_trait("is_tmem", lambda v: isinstance(v, (TensorVal, Pointer)) and v.space == "tmem")
_kind_trait("is_complex", _is_complex)
_kind_trait("is_static", _stores_nothing)


@type_maker("is_constant", "is_constant_v")
def _is_constant(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """``is_constant<n, T>``: T is a static integer of this value (cute/numeric/integral_constant.hpp)."""
    if len(targs) != 2:
        raise Unsupported("is_constant takes a number and a type")
    number = constant(targs[0])
    if number is None:
        raise Unsupported("is_constant of a number that is not known")
    return _boolean(is_constant(number, static_value(m, targs[1])), "")


@type_maker("declval")
def _declval(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return targs[0]


@type_maker("void_t")
def _void_t(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return VoidType()


@type_maker("tuple_size", "tuple_size_v")
def _tuple_size(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    v = static_value(m, targs[0])
    if isinstance(v, tuple):
        return TraitType(ValueType(constant_of(len(v), "size_t", STD)), Scalar(len(v), "size_t"))
    if isinstance(v, ArrayType) and v.name == "array" and isinstance(v.extent, int):
        return TraitType(ValueType(constant_of(v.extent, "size_t", STD)), Scalar(v.extent, "size_t"))
    raise Unsupported("tuple_size of something that is not a tuple")


@type_maker("tuple_element", "tuple_element_t", qualified=True)
def _tuple_element(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    if open_marks(targs[1]):
        raise Unsupported("a tuple of constants or references")
    targs = tuple(map(plain, targs))
    i, v = constant(targs[0]), static_value(m, targs[1])
    if isinstance(v, tuple) and i is not None:
        from cutecheck.source.eval.types import type_of

        return type_of(v[i])
    raise Unsupported("tuple_element of something that is not a tuple")


@type_maker("variant_size", "variant_size_v")
def _variant_size(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    if isinstance(targs[0], ExternType) and is_variant(targs[0]):
        count = len(targs[0].args)
        return TraitType(ValueType(constant_of(count, "size_t", STD)), Scalar(count, "size_t"))
    raise Unsupported("variant_size of something that is not a variant")


@type_maker("variant_alternative", "variant_alternative_t", qualified=True)
def _variant_alternative(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    i, of = constant(plain(targs[0])), plain(targs[1])
    if isinstance(of, ExternType) and is_variant(of) and i is not None and i < len(of.args):
        return of.args[i]
    raise Unsupported("variant_alternative of something that is not a variant")


def _extents(t: Value) -> list[Value]:
    """Of an array of arrays."""
    found = []
    while isinstance(t, ArrayType) and not t.name:
        found.append(t.extent)
        t = t.inner
    return found


def measure_variable(name: str) -> Any:
    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        v = targs[0]
        if isinstance(v, Unknown):
            return v
        if name == "rank" and isinstance(v, ArrayType) and not v.name:  # the standard library's
            return Scalar(len(_extents(v)), "size_t")
        v = static_value(m, v)
        if isinstance(v, TensorVal):
            v = v.layout
        if hasattr(v, "layout_tv") or hasattr(v, "thr_layout_vmnk"):
            return Scalar(v.size, "int")
        number = getattr(alg, name)(v)
        if isinstance(number, Dyn):
            raise Unsupported(f"{name}_v of a layout that is not static")
        return Scalar(number, "int")

    return run


for _name in ("cosize", "size", "rank", "depth"):
    type_maker(f"{_name}_v")(measure_variable(_name))


@type_maker("rank")
def _rank(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """``rank<T>``; ``rank<1>(x)`` is CuTe's function."""
    if targs and all(isinstance(t, (int, Scalar)) for t in targs):
        return Intrinsic("rank", targs)
    return cast("Value", measure_variable("rank")(m, targs, span))


def _sized_integer(name: str, prefix: str, bits_each: int) -> None:
    """``uint_bit_t<16>``, ``uint_byte_t<2>`` and the like: the unsigned or signed type of that width."""

    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        n = constant(static_value(m, targs[0]))
        if n is None:
            raise Unsupported("the width is not a known number")
        found = dtype(f"{prefix}{n * bits_each}_t")
        if found is None:
            raise CuteError(f"{name}: no type of this width", n)
        return ScalarType(found)

    type_maker(name, f"{name}_t")(run)


_sized_integer("uint_bit", "uint", 1)
_sized_integer("int_bit", "int", 1)
_sized_integer("uint_byte", "uint", 8)
_sized_integer("int_byte", "int", 8)


# ------------------------------------------------------------------ scalar functions


@function("ref", "cref")
def _wrapped(c: Call) -> Value:
    return Unknown("what a reference wrapper stands for is not followed", c.span)


@function("unwrap")
def _unwrap(c: Call) -> Value:
    return c.m.dialect.from_model(it.unwrap(c.arg(0)))


@function("forward", "move", "as_const", "addressof", "launder")
def _same(c: Call) -> Value:
    return c.raw[0]


@function("sizeof_bits")
def _sizeof_bits(c: Call) -> Value:
    bits = bits_of(c.m, c.targs[0], c.span) if c.targs else None
    return Unknown("sizeof_bits of an unknown type", c.span) if bits is None else Scalar(int(bits), "int")


@function("get_smem_size", "max_thread_per_block")
def _opaque(c: Call) -> Value:
    raise Unsupported(c.name)


# ------------------------------------------------------------------ atoms with traits in the scanned tree


def _user_traits(m: Machine, cls: ClassInst, which: str, span: Span) -> ClassInst:
    from cutecheck.source.eval.templates import apply_template

    for scope in (m.program.root.children.get("cute"), m.program.root):
        if scope is not None and which in scope.decls:
            found = apply_template(m, TemplateRef(which, tuple(scope.decls[which])), (cls,), span)
            if isinstance(found, ClassInst):
                return found
    raise Unsupported(f"no `{which}<{cls.name}>` in the scanned files")


def _member(m: Machine, traits: ClassInst, name: str, span: Span) -> Any:
    from cutecheck.source.eval.lookup import member, missing

    found = member(m, traits, name, None, span)
    if missing(found) or isinstance(found, Unknown):
        raise Unsupported(f"`{traits.name}::{name}` is not known")
    return found


def _dtype(v: Any) -> DType:
    return v.dtype if isinstance(v, ScalarType) else DType("unknown", None)


def user_mma_atom(m: Machine, op: ClassInst, span: Span) -> MMAAtom:
    """An MMA atom whose ``MMA_Traits`` are in the scanned tree."""
    t = _user_traits(m, op, "MMA_Traits", span)
    names = ("ThrID", "Shape_MNK", "ALayout", "BLayout", "CLayout")
    thr, shape, a, b, c = (static_value(m, _member(m, t, n, span)) for n in names)
    va, vb, vc, vd = (_dtype(_member(m, t, f"ValType{x}", span)) for x in "ABCD")
    return MMAAtom(op.name, (), thr, shape, a, b, c, (va, vb, vc, vd))


def user_copy_atom(m: Machine, op: ClassInst, value_type: DType | None, span: Span) -> CopyAtom:
    """A copy atom whose ``Copy_Traits`` are in the scanned tree."""
    if value_type is None:
        raise Unsupported("the value type of this copy atom is not known")
    t = _user_traits(m, op, "Copy_Traits", span)
    names = ("ThrID", "SrcLayout", "DstLayout", "RefLayout")
    thr, src, dst, ref = (static_value(m, _member(m, t, n, span)) for n in names)
    return CopyAtom(op.name, (), thr, src, dst, ref, value_type)
