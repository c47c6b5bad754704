"""Type values: the type of a value, equality of types, and their spelling."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, cast

from cutecheck.facts import Unknown
from cutecheck.model.atoms import CopyAtom, MMAAtom, full_arguments
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.constants import Constant, truth_constant
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.expr import Var
from cutecheck.model.integers import canonical
from cutecheck.model.ints import Dyn, Sym, Typed
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.tiled.tensor_map import TensorMap
from cutecheck.model.units import Bits
from cutecheck.source.eval.containers import NoValue
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.held_fields import Settled
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.slots import Slots
from cutecheck.source.eval.tuples import Elements, Held, IntegerSequence, Pair, Vector
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    Closure,
    CuteOp,
    EnumConstant,
    Enumeral,
    Enumerated,
    EnumVal,
    Extern,
    ExternType,
    FuncSet,
    Null,
    Object,
    ObjectPointer,
    Pack,
    Pointer,
    PtrType,
    Qualified,
    Scalar,
    ScalarType,
    Str,
    Tag,
    TemplateRef,
    TensorVal,
    TraitType,
    Value,
    ValueType,
    VoidType,
)

TYPES = (ScalarType, ValueType, PtrType, ArrayType, VoidType, ExternType, TraitType, ClassInst, EnumRef, Qualified)


def is_type(v: Value) -> bool:
    return isinstance(v, TYPES)


def pointed_to(t: Value) -> Value:
    """The type of a pointer's target: a pointer to an array goes on to the next one, and is one to several."""
    return ArrayType(t, Unknown("how many arrays a pointer points to")) if isinstance(t, ArrayType) else t


def type_of(v: Value) -> Value:
    """``decltype(v)`` without references."""
    if isinstance(v, Null):
        return PtrType(v.to)
    if isinstance(v, Enumeral):
        return cast("Value", v.enum)
    if isinstance(v, (Scalar, Vector)):
        found = dtype(v.ctype)
        return ScalarType(found if found is not None else DType(v.ctype, None))
    if isinstance(v, Enumerated):
        return type_of(v.enumerator)
    if isinstance(v, Dyn):
        own = dtype(v.ctype) if isinstance(v, Typed) else None
        return ScalarType(own or _declared_type(v) or DType("int", Bits(32)))
    if isinstance(v, Object):
        return v.cls
    if isinstance(v, Elements) and v:
        return ArrayType(type_of(v[0]), len(v), name="array" if isinstance(v, Held) else "")
    if isinstance(v, Pointer):
        return PtrType(v.type)
    if isinstance(v, ObjectPointer):
        return PtrType(v.to.cls)
    if isinstance(v, Address):
        where, name = v.cells[0]
        aimed = type_of(where.get(0 if type(where) is Slots else name))
        if isinstance(aimed, (ScalarType, PtrType)) or (type(where) is Slots and is_type(aimed)):
            return PtrType(aimed)
    if isinstance(v, EnumVal):
        return ExternType(v.enum) if v.of is None else v.of
    if isinstance(v, Extern):
        return v.type if v.type is not None else ExternType(v.what)
    if isinstance(v, Str):
        return PtrType(ScalarType(DType("char", Bits(8))))
    if isinstance(v, NoValue):
        return VoidType()
    if isinstance(v, (Unknown, TraitType)) or is_type(v):
        return v
    return ValueType(v)


def _declared_type(v: Dyn) -> DType | None:
    """The type behind an element of a tuple type (``Stride<int64_t, _1>``), which is a fresh integer of its name."""
    terms = v.expr.terms
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        return None
    (leaf,) = terms[0][0]
    return dtype(leaf.name.partition("#")[0]) if isinstance(leaf, Var) else None


def type_key(v: Value) -> Any:
    """A hashable that is equal for equal types: run-time values are erased."""
    if isinstance(v, ValueType):
        return ("type", type_key(v.value))
    if isinstance(v, Vector):
        return ("scalar", v.ctype)
    if isinstance(v, tuple):
        own = tuple(type_key(x) for x in v)
        if type(v) is IntegerSequence:
            return ("sequence", canonical(v.ctype), own)
        return ("pair", own) if type(v) is Pair else own
    if isinstance(v, Scalar):
        return ("const", v.value) if isinstance(v.value, (int, Sym)) else ("scalar", canonical(v.ctype))
    if isinstance(v, ScalarType):
        return ("type", canonical(v.dtype.name))
    if isinstance(v, EnumRef):
        return ("enum", v.name, v.decl.span)
    if isinstance(v, EnumVal) and v.value is not None:
        return ("enumerator", v.enum if v.of is None else v.of.decl.span, v.value)
    if isinstance(v, Dyn):
        return "run-time"
    if isinstance(v, EnumConstant):
        return ("constant", v.family, type_key(v.enumerator))
    if isinstance(v, Constant):
        held = v.of.enum if v.of is not None and v.of.of is None else v.of and v.of.of.decl.span
        return ("constant", v.family, held or canonical(v.ctype), int(v))
    if isinstance(v, bool):
        return type_key(truth_constant(v))
    if isinstance(v, Layout):
        return ("Layout", type_key(v.shape), type_key(v.stride))
    if isinstance(v, ComposedLayout):
        return ("ComposedLayout", type_key(v.a), type_key(v.offset), type_key(v.b))
    if isinstance(v, ScaledBasis):
        return ("E", type_key(v.value), v.path)
    if isinstance(v, Pack):
        return ("pack", type_key(v.items))
    if isinstance(v, ClassInst):
        return ("class", v.ident)
    if isinstance(v, Qualified):
        return ("qualified", v.const, v.volatile, v.ref, type_key(v.inner))
    if isinstance(v, (PtrType,)):
        return ("ptr", type_key(v.inner))
    if isinstance(v, ArrayType):
        return ("array", v.name, type_key(v.inner), type_key(v.extent))
    if isinstance(v, Object):
        return ("object", id(v))
    if isinstance(v, ObjectPointer):
        return ("pointer", id(v.to))
    if isinstance(v, CuteOp):
        name, args = full_arguments(v.name, v.args)
        return ("op", name, tuple(_argument_key(a) for a in args), v.traits)
    if isinstance(v, TiledCopy):
        return ("TiledCopy", type_key(v.atom), type_key(v.layout_tv), type_key(v.tiler_mn))
    if isinstance(v, CopyAtom) and isinstance(v.tensor_map, TensorMap):
        return ("TmaAtom", replace(v, tensor_map=None), type_key(v.tensor_map.tensor_stride))
    try:
        hash(v)
    except TypeError:
        return ("id", id(v))
    return v


def _argument_key(a: Any) -> Any:
    """Of an operation; texts are enumerators that nobody wrote."""
    return ("const", a) if isinstance(a, int) else type_key(Tag(a) if isinstance(a, str) else a)


def same_type(a: Value, b: Value) -> bool:
    return bool(type_key(a) == type_key(b))


_CUTLASS = ("half_t", "bfloat16_t", "tfloat32_t", "float_e4m3_t", "float_e5m2_t", "int4b_t", "uint4b_t", "float_e2m1_t")


def spell(v: Value) -> str:
    """A type or template argument as its author would write it, canonical."""
    if isinstance(v, Scalar):
        if v.ctype == "bool" and isinstance(v.value, int):
            return "true" if v.value else "false"
        return str(v.value)
    if isinstance(v, ScalarType):
        return f"cutlass::{v.dtype.name}" if v.dtype.name in _CUTLASS else v.dtype.name
    if isinstance(v, ClassInst):
        return class_name(v)
    if isinstance(v, ValueType):
        return spell(v.value)
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, int):
        return f"_{v}"
    if isinstance(v, Dyn):
        return _FRESH.sub("", str(v))
    if isinstance(v, Sym):
        return str(v)
    if isinstance(v, (Layout, ComposedLayout)):
        return _FRESH.sub("", str(v))
    if isinstance(v, TiledMMA):
        return f"TiledMMA<{_spell_op(v.atom)},{v.atom_layout_mnk},{spell(v.permutation_mnk)}>"
    if isinstance(v, TiledCopy):
        return f"TiledCopy<{_spell_op(v.atom)},{v.layout_tv},{spell(v.tiler_mn)}>"
    if isinstance(v, (MMAAtom, CopyAtom)):
        return _spell_op(v)
    if isinstance(v, TensorVal):
        return f"Tensor<{v.space},{v.dtype.name if v.dtype is not None else '?'},{spell(v.layout)}>"
    if isinstance(v, Underscore):
        return "_"
    if isinstance(v, tuple):
        return f"({','.join(spell(x) for x in v)})"
    if isinstance(v, Pack):
        return ",".join(spell(x) for x in v.items)
    if isinstance(v, Qualified):
        marks = " const" * bool(v.const) + " volatile" * v.volatile
        return spell(v.inner) + marks + {"ref": "&", "rref": "&&"}.get(v.ref or "", "")
    if isinstance(v, PtrType):
        return f"{spell(v.inner)}*"
    if isinstance(v, ArrayType) and v.name:
        shown = [spell(v.inner), _spell_extent(v), *([] if v.align is None else [str(v.align)])]
        return f"{v.name}<{','.join(shown)}>"
    if isinstance(v, ArrayType):
        extents = ""
        while isinstance(v, ArrayType) and not v.name:
            extents, v = f"{extents}[{_spell_extent(v)}]", v.inner
        return spell(v) + extents
    if isinstance(v, VoidType):
        return "void"
    if isinstance(v, (Tag, TemplateRef, DType, FuncSet, EnumRef)):
        return v.name
    if isinstance(v, Closure):
        return f"lambda at {v.node.span}"
    if isinstance(v, EnumVal):
        return f"{v.enum}::{v.name}" if v.enum else v.name
    if isinstance(v, (ExternType, CuteOp)):
        return f"{v.name}<{','.join(spell(a) for a in v.args)}>" if v.args else v.name
    if isinstance(v, Object) and type(v.fields) is Settled:
        return f"{class_name(v.cls)}{{{','.join(spell(x) for x in v.fields.values())}}}"
    if isinstance(v, Unknown):
        return "?"
    return str(v)


def _spell_extent(v: ArrayType) -> str:
    return str(v.extent) if isinstance(v.extent, int) else spell(v.extent)


_FRESH = re.compile(r"#\d+")


def _spell_op(atom: MMAAtom | CopyAtom) -> str:
    args = ",".join(a.name if isinstance(a, DType) else str(a) for a in atom.args)
    op = f"{atom.op}<{args}>" if args else atom.op
    return f"Copy_Atom<{op},{atom.value_type.name}>" if isinstance(atom, CopyAtom) else op


def class_name(inst: ClassInst) -> str:
    """``ns::Outer<..>::Name<args>`` with the arguments that were written."""
    if inst.outer is not None:
        prefix = class_name(inst.outer) + "::"
    else:
        scope = inst.env.namespace()
        prefix = f"{scope.path}::" if scope is not None and scope.path else ""
    shown = inst.shown if inst.shown is not None else ()
    args = f"<{','.join(spell(a) for a in shown)}>" if inst.decl.tparams is not None else ""
    return f"{prefix}{inst.decl.name}{args}"
