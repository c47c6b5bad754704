"""A type as the template it is an instance of, and its arguments."""

from __future__ import annotations

import re

from cutecheck.facts import Unknown
from cutecheck.model.constants import CUTE, Constant, family_of, type_of_constant
from cutecheck.model.dtype import dtype
from cutecheck.model.integers import canonical
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle
from cutecheck.source.eval.intrinsics import decompose_tiled
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.tuples import IntegerSequence, Pair
from cutecheck.source.eval.types import is_type, type_of
from cutecheck.source.eval.values import (
    ArrayType,
    CuteOp,
    EnumConstant,
    ExternType,
    Pack,
    Scalar,
    ScalarType,
    TensorVal,
    Value,
    ValueType,
)

_ARRAY = re.compile(r"(Array|array)<([^,]+),(\d+)(?:,(true|false))?>")


def element_type(v: Value) -> Value:
    return v if is_type(v) or isinstance(v, Unknown) else type_of(v)


def _array(name: str) -> list[tuple[str, tuple[Value, ...]]]:
    """A fixed-size array that is the element of a tensor, whose last argument follows from the first."""
    found = _ARRAY.fullmatch(name)
    inner = dtype(found[2]) if found is not None else None
    if found is None or inner is None:
        return []
    args = (ScalarType(inner), Scalar(int(found[3]), "int"))
    return [(found[1], args), *([(found[1], (*args, Scalar(int(found[4] == "true"), "bool")))] if found[4] else [])]


def _constant(v: int) -> list[tuple[str, tuple[Value, ...]]]:
    """``C`` of an ``int`` is ``Int`` as well, of a ``bool`` ``bool_constant``; those of libraries have their own."""
    family = family_of(v)
    if isinstance(v, Constant) and v.of is not None:
        return [("C", (v.of,))]
    number = Scalar(int(v), type_of_constant(v))
    both = (type_of(number), number)
    prefix = "" if family in ("", CUTE) else f"{family}::"
    found: list[tuple[str, tuple[Value, ...]]]
    found = [("C", (number,)), ("constant", both)] if not family else [(f"{prefix}integral_constant", both)]
    if family != CUTE and number.ctype == "bool":
        found.append((f"{prefix}bool_constant", (number,)))
    if not family and canonical(number.ctype) == "int":
        found.insert(0, ("Int", (number,)))
    return found


def decompose(value: Value) -> list[tuple[str, tuple[Value, ...]]]:
    """The template spellings of a type: its name and arguments."""
    if isinstance(value, ClassInst):
        return [(value.decl.name, tuple(x for a in value.args for x in (a.items if isinstance(a, Pack) else (a,))))]
    if isinstance(value, (ExternType, CuteOp)):
        return [(value.name, value.args)]
    if isinstance(value, ArrayType):
        extent = value.extent if isinstance(value.extent, Unknown) else Scalar(value.extent, "size_t")
        return [(value.name, (value.inner, extent))] if value.name else []
    if isinstance(value, ScalarType):
        return _array(value.dtype.name)
    if not isinstance(value, ValueType):
        return []
    v = value.value
    if isinstance(v, EnumConstant):
        typed = (v.enumerator.of, v.enumerator)
        prefix = "" if v.family in ("", CUTE) else f"{v.family}::"
        return [(f"{prefix}integral_constant", typed)] if v.family else [("C", (v.enumerator,)), ("constant", typed)]
    if isinstance(v, int):
        return _constant(v)
    if type(v) is IntegerSequence:
        numbers = tuple(Scalar(n, v.ctype) for n in v)
        element = type_of(Scalar(0, v.ctype))
        names = {"int": ("seq", "int_sequence"), "size_t": ("index_sequence",)}.get(v.ctype, ())
        return [("integer_sequence", (element, *numbers)), *((name, numbers) for name in names)]
    if isinstance(v, tuple):
        return [("pair" if type(v) is Pair else "tuple", tuple(element_type(x) for x in v))]
    if isinstance(v, Layout):
        return [("Layout", (element_type(v.shape), element_type(v.stride)))]
    if isinstance(v, ComposedLayout):
        return [("ComposedLayout", (element_type(v.a), element_type(v.offset), element_type(v.b)))]
    if isinstance(v, Swizzle):
        return [("Swizzle", (Scalar(v.bits), Scalar(v.base), Scalar(v.shift)))]
    if isinstance(v, SmemPtrFlag):
        return [("smem_ptr_flag_bits", (Scalar(v.bits),))]
    if isinstance(v, TensorVal):
        return [("Tensor", (ExternType("Engine", (v,)), element_type(v.layout)))]
    if isinstance(v, CuteOp):
        return [(v.name, v.args)]
    return decompose_tiled(v)
