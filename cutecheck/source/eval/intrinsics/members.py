"""Static members of types that are not classes of the tree."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import atoms
from cutecheck.model import inttuple as it
from cutecheck.model.constants import Constant, type_of_constant
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import Sym
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.source.eval.intrinsics import refusals, std_numbers, tiled_members
from cutecheck.source.eval.intrinsics.names import TMEM_ALLOCATORS
from cutecheck.source.eval.intrinsics.registry import TYPES
from cutecheck.source.eval.intrinsics.sparse import sparse_member
from cutecheck.source.eval.tuples import IntegerSequence
from cutecheck.source.eval.values import (
    TYPE_TAG,
    ArrayType,
    CuteOp,
    EnumConstant,
    ExternType,
    PtrType,
    Scalar,
    ScalarType,
    TemplateRef,
    TensorVal,
    Tiler,
    TraitType,
    Value,
    ValueType,
    VoidType,
)

_ARCHITECTURE = re.compile(r"(?:^|::)arch::Sm(\d+)$")

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def static_member(m: Machine, t: Value, name: str, span: Span) -> Value | None:
    """``T::name`` for types that are not classes of the tree."""
    v = t.value if isinstance(t, ValueType) else t
    if isinstance(v, TraitType):
        return v.value if name == "value" else v.type if name == "type" else None
    if isinstance(v, EnumConstant) and name in ("value", "operator()", "value_type"):
        return v.enumerator.of if name == "value_type" else v.enumerator
    if isinstance(v, (int, Sym)) and not isinstance(v, bool):
        if name in ("value", "operator()"):
            return Scalar(int(v) if isinstance(v, Constant) else v, type_of_constant(v))
        if name == "value_type":
            return ScalarType(dtype(type_of_constant(v)))  # type: ignore[arg-type]
        return ValueType(v) if name == "type" else None
    if isinstance(v, (Scalar, Fraction)) and name == "value":
        return v
    if isinstance(v, Scalar) and name == "coord" and m.dialect.replaying is not None:
        return v  # what iterates over coordinates is the number it points to
    if type(v) is IntegerSequence and name == "value_type":
        return ScalarType(dtype(v.ctype))  # type: ignore[arg-type]
    if isinstance(v, (Layout, ComposedLayout)):
        if name == "rank":
            return Scalar(it.tuple_rank(v.shape) if isinstance(v, Layout) else alg.rank(v), "int")
        if name == "Shape" and isinstance(v, Layout):
            return ValueType(v.shape)
        if name == "Stride" and isinstance(v, Layout):
            return ValueType(v.stride)
    if isinstance(v, CuteOp) and name == "fma" and not v.traits and atoms.is_mma_op(v.name):
        return ExternType(f"cute::{v.name}::fma")
    if isinstance(v, Swizzle):
        own = {"num_bits": v.bits, "num_base": v.base, "num_shft": v.shift}.get(name)
        return v if name == "apply" else None if own is None else Scalar(own, "int")
    if isinstance(v, TensorVal):
        if name in ("value_type", "element_type") and v.dtype is not None:
            return ScalarType(v.dtype)
        if name in ("layout_type", "Layout") and not isinstance(v.layout, Unknown):
            return ValueType(v.layout)
        if name == "rank" and not isinstance(v.layout, Unknown):
            return Scalar(alg.rank(v.layout), "int")
        if name in ("engine_type", "iterator"):
            return ExternType("Engine", (v,))
    if isinstance(v, Tiler):
        return {"TiledLayout_TV": ValueType(v.layout_tv), "Tiler_MN": ValueType(v.tiler_mn)}.get(name)
    if isinstance(v, ExternType) and v.name == "Engine" and name in ("value_type", "element_type"):
        tensor = v.args[0]
        return ScalarType(tensor.dtype) if tensor.dtype is not None else None
    if isinstance(v, ExternType) and v.name == TYPE_TAG and name == "type":
        return v.args[0]
    if isinstance(v, (ScalarType, PtrType, ArrayType, VoidType)) and name == "type":
        return v
    if isinstance(v, ScalarType):
        return sparse_member(v, name)
    if isinstance(v, ExternType) and v.name == std_numbers.LIMITS:
        found = std_numbers.of_limits(v, name)
        return Unknown(f"numeric_limits::{name}", span) if found is None else found
    if isinstance(v, ExternType) and v.name in TMEM_ALLOCATORS and name == "Sm100TmemCapacityColumns":
        return Scalar(TMEM_ALLOCATORS[v.name], "int")
    if isinstance(v, ExternType) and name == "kMinComputeCapability" and (tag := _ARCHITECTURE.search(v.name)):
        return Scalar(int(tag[1]), "int")  # cutlass/arch/arch.h
    if isinstance(v, ExternType):
        known = v.name == "c10::impl" and name in TYPES
        return TemplateRef(name) if known else ExternType(f"{v.name}::{name}")
    if isinstance(v, CuteOp) and name == "copy":
        return ExternType(f"cute::{v.name}::copy", v.args)  # the instruction itself
    if isinstance(v, ArrayType) and name in ("value_type", "element_type", "Element"):
        return v.inner
    return refusals.guarded(m, name, span, lambda: tiled_members.tiled_type_member(m, v, name, span))
