"""Copy and MMA atoms: their type spellings and what makes one of an operation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span
from cutecheck.model import atoms
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.dtype import DType
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.source.eval.intrinsics.registry import Unsupported, type_maker
from cutecheck.source.eval.intrinsics.types import array_element, fixed_array, operation, stored
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import CuteOp, Object, ScalarType, Tag, Value, ValueType, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


_GMMA_ALIAS = re.compile(r"SM90_64x\d+x\d+_")


def atom_args(m: Machine, op: CuteOp) -> tuple[object, ...]:
    """Template arguments of an operation in the atom data's terms: DType, int, or the spelling of an enumerator."""
    out: list[object] = []
    for a in op.args:
        if isinstance(a, ScalarType):
            out.append(a.dtype)
        elif isinstance(a, Tag):
            out.append(a.name)
        elif (array := fixed_array(a)) is not None:
            wide = array_element(array)
            if wide is None:
                raise Unsupported("the width of an array is not known")
            out.append(wide)
        elif isinstance(a, ClassInst) and (narrow := stored(m, a)) is not None:
            out.append(narrow)
        elif constant(a) is not None:
            out.append(constant(a))
        elif isinstance(a, ValueType) and constant(a.value) is not None:
            out.append(constant(a.value))
        else:
            raise Unsupported(f"the template arguments of {op.name} are not known")
    return tuple(out)


def mma_atom(m: Machine, v: Value, span: Span) -> Any:
    if isinstance(v, ValueType):
        v = v.value
    if isinstance(v, MMAAtom):
        return v
    if isinstance(v, TiledMMA):
        return v.atom
    if isinstance(v, CuteOp):
        args = atom_args(m, v)
        if _GMMA_ALIAS.match(v.name) and len(args) == 2:
            args = (*args, "GMMA::ScaleIn::One", "GMMA::ScaleIn::One")  # the alias template passes its own defaults
        return atoms.mma_op(v.name, args, via_traits=bool(v.traits))
    if isinstance(v, Object):
        v = v.cls
    if isinstance(v, ClassInst):
        from cutecheck.source.eval.intrinsics.traits import user_mma_atom

        return user_mma_atom(m, v, span)
    raise Unsupported("this is not an MMA operation cutecheck knows")


def copy_atom(m: Machine, v: Value, value_type: DType | None, span: Span) -> Any:
    if isinstance(v, ValueType):
        v = v.value
    if isinstance(v, CopyAtom):
        return v
    if isinstance(v, TiledCopy):
        return v.atom
    if isinstance(v, CuteOp):
        return atoms.copy_op(v.name, atom_args(m, v), value_type, via_traits=bool(v.traits))
    if isinstance(v, Object):
        v = v.cls
    if isinstance(v, ClassInst):
        from cutecheck.source.eval.intrinsics.traits import user_copy_atom

        return user_copy_atom(m, v, value_type, span)
    raise Unsupported("this is not a copy operation cutecheck knows")


@type_maker("MMA_Traits", "Copy_Traits")
def _traits(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    op = operation(targs[0])
    if op is None:
        return targs[0]
    kind = "MMA" if len(targs) and _is_mma(op) else "Copy"
    bits = targs[1:2] if op.name.startswith("SM90_BULK_COPY") else ()  # NumBitsPerTMA is the traits' own parameter
    return ValueType(CuteOp(op.name, (*op.args, *bits), kind))


def _is_mma(op: CuteOp) -> bool:
    return atoms.is_mma_op(op.name)


@type_maker("MMA_Atom")
def _mma_atom_type(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(mma_atom(m, targs[0], span))


@type_maker("Copy_Atom")
def _copy_atom_type(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    if len(targs) < 2:
        raise Unsupported("Copy_Atom without a value type")
    value_type = stored(m, targs[1])
    if value_type is None:
        raise Unsupported("the value type of this Copy_Atom is not known")
    return ValueType(copy_atom(m, targs[0], value_type, span))
