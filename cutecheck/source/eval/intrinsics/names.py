"""What a name of CuTe, CUTLASS, the standard library or CUDA means."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import atoms
from cutecheck.model.dtype import dtype
from cutecheck.source.eval import matrix_descriptors
from cutecheck.source.eval.chosen import FunctionType
from cutecheck.source.eval.intrinsics import cuda, launch, selectors
from cutecheck.source.eval.intrinsics.refusals import guarded
from cutecheck.source.eval.intrinsics.registry import (
    CONSTANTS,
    FUNCTIONS,
    GIVES_TYPE,
    KEEP_QUALIFIERS,
    TORCH_TYPES,
    TYPES,
)
from cutecheck.source.eval.qualified import plain
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import (
    TMA_DESCRIPTOR,
    TYPE_TAG,
    CuteOp,
    ExternType,
    Intrinsic,
    PtrType,
    Scalar,
    ScalarType,
    Tag,
    TemplateRef,
    TraitType,
    Value,
    ValueType,
    VoidType,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


TMEM_ALLOCATORS = {"Allocator1Sm": 512, "Allocator2Sm": 512}  # columns (cute/arch/tmem_allocator_sm100.hpp)
# pointers to structures that nobody defines
_HANDLES = {"cudaStream_t": "CUstream_st", "CUstream": "CUstream_st", "cudaEvent_t": "CUevent_st"}
_DESCRIPTORS = frozenset({TMA_DESCRIPTOR, "TmaDescriptor", "Im2ColTmaDescriptor"})
# of TMA, as a class with a function: what CuTe's own copies pick by the tensor map
_INSTRUCTION = re.compile(r"SM90_TMA_(?:LOAD|STORE|REDUCE_ADD)(?:_IM2COL)?(?:_MULTICAST)?_[1-5]D$")
_STATIC_INT = re.compile(r"_(\d+)$")


# What these libraries call so is no function of CuTe (`thrust::copy`, `std::fill`).
_FOREIGN = frozenset({"std", "thrust", "cub", "torch", "at", "c10"})
# constants of types that others name so, too; CUTLASS's `platform` has the standard library's
OF_SEVERAL = frozenset({"integral_constant", "bool_constant", "true_type", "false_type"})
_FAMILIES = {"std": "std", "cutlass::platform": "std", "platform": "std", "cuda::std": "cuda::std"}
# namespaces that do not tell names apart
_PLAIN = ("", "cute", "std", "cutlass", "cuda", "SM90", "SM100", "cooperative_groups")
_CUTE_ONLY = frozenset({
    "copy", "copy_if", "fill", "clear", "transform", "gemm", "axpby", "prefetch", "size", "Tensor", "Layout",
    "any_of", "all_of", "none_of", "find_if", "inner_product", "fold", "wrap", "for_each", "reverse", "replace",
    "insert", "remove",
})  # fmt: skip
_FUNCTORS = frozenset({
    "identity", "negate", "plus", "minus", "multiplies", "max_fn", "min_fn", "conjugate", "absolute_value", "abs_fn",
})  # fmt: skip


def find(m: Machine, path: str, name: str, span: Span) -> Value | None:
    """What a name of CuTe, CUTLASS, the standard library or CUDA means, None when it is not known."""
    key = (path, name)
    if key not in m.names:
        m.names[key] = _find(m, path, name)
    return m.names[key]


def _find(m: Machine, path: str, name: str) -> Value | None:
    number = _STATIC_INT.match(name)
    if number:
        return ValueType(int(number.group(1)))
    if name in OF_SEVERAL and (family := _FAMILIES.get(path)):
        key = f"{family}::{name}"
        return CONSTANTS[key] if key in CONSTANTS else TemplateRef(key)
    if path == "std" and name == "size":
        return Intrinsic("std::size")
    if path == "std" and f"std::{name}" in TYPES:  # which CuTe's own of the name says of more types
        return TemplateRef(f"std::{name}")
    if path.split("::", 1)[0] in _FOREIGN and name in _CUTE_ONLY:
        return None
    if path in ("at", "c10", "torch") and name in TORCH_TYPES:
        return ScalarType(dtype(f"c10::{name}"))  # type: ignore[arg-type]
    short = "::".join(p for p in path.split("::") if p not in _PLAIN)
    if short and name in _CUTE_ONLY and not short.islower():
        return None  # `SM90_TMA_LOAD_2D::copy`
    for key in dict.fromkeys((f"{short}::{name}" if short else name, name)):
        if key in CONSTANTS:
            return CONSTANTS[key]
        if key in TYPES:
            return TemplateRef(key)
        if key in FUNCTIONS:
            return Intrinsic(key)
        if selectors.is_layout_atom(key):
            selectors.register_layout_atom(key)
            return TemplateRef(key)
    if name in cuda.BUILTINS:
        return Tag(name)
    if name == "void":
        return VoidType()
    element = dtype(name)
    if element is not None:
        return ScalarType(element)
    for key in dict.fromkeys((f"{short}::{name}" if short else name, name)):
        if atoms.is_mma_op(key) or atoms.is_copy_op(key):
            return ValueType(CuteOp(key))
    if name in _FUNCTORS:
        return ValueType(Tag(name))
    if not short and name in ("GMMA", "UMMA", "TMEM", "SM90", "SM100", "SM103", "SM120", "TMA"):
        return m.library_namespace(f"cute::{name}")
    if not short and _INSTRUCTION.match(name):
        return ExternType(f"cute::{name}")
    if name in _HANDLES:
        return PtrType(ExternType(_HANDLES[name]))
    if name in _DESCRIPTORS:
        return ExternType(TMA_DESCRIPTOR)
    if name in matrix_descriptors.NAMES:
        return ScalarType(dtype(matrix_descriptors.TYPE))  # type: ignore[arg-type]
    if name == "dim3" or name in TMEM_ALLOCATORS:
        return ExternType(name)
    return launch.record_type(m, name)


def apply_type(m: Machine, name: str, targs: tuple[Value, ...], span: Span) -> Value:
    """A type template of CuTe under arguments."""
    maker = TYPES.get(name)
    if maker is None:
        return ValueType(CuteOp(name, targs))
    if name not in KEEP_QUALIFIERS:
        targs = tuple(map(plain, targs))
    if name not in ("conditional", "conditional_t", "is_void", "is_void_v", "enable_if", "enable_if_t", "declval"):
        for t in targs:
            if isinstance(t, Unknown) and not (name == "array" and isinstance(t, FunctionType)):
                return t
    value = guarded(m, name, span, lambda: maker(m, targs, span))
    if name in ("TiledMMA", "TiledCopy", "MMA_Atom", "Copy_Atom") or selectors.is_layout_atom(name):
        m.recorder.configured(m, name, span, value)
    if isinstance(value, TraitType):
        if name.endswith("_v"):
            return value.value
        if name.endswith("_t"):
            return value.type
    if name.endswith("_v") and isinstance(value, ValueType):
        return value.value if isinstance(value.value, Fraction) else Scalar(value.value, "int")
    return value


def as_trait(name: str, made: Value) -> Value:
    """What ``name<...>`` gave as the class that it is, where the type stands in its member ``type``."""
    return ExternType(TYPE_TAG, (made,)) if name in GIVES_TYPE and is_type(plain(made)) else made
