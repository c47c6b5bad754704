"""Member types and template spellings of atoms and tiled objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import atoms
from cutecheck.model.atoms import CopyAtom, MMAAtom, fragment_type
from cutecheck.model.dtype import DType
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.version import REFERENCE, cute_version
from cutecheck.source.eval.intrinsics.atoms import atom_args
from cutecheck.source.eval.intrinsics.block_scaled import scale_factor_member
from cutecheck.source.eval.intrinsics.sparse import metadata_member
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import CuteOp, Intrinsic, Scalar, ScalarType, Slice, Tag, Value, ValueType

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def tiled_type_member(m: Machine, v: Any, name: str, span: Span) -> Value | None:
    """Types and constants inside atoms and tiled objects (``TiledMma::ValTypeA``, ``TiledCopy::Tiler_MN``)."""
    if isinstance(v, Slice):
        if name == "thr_vmnk_" and isinstance(v.tiled, TiledMMA):
            index = m.dialect.to_model(v.index)
            return index if isinstance(index, Unknown) else alg.get_flat_coord(v.tiled.thr_layout_vmnk, index)
        return tiled_type_member(m, v.tiled, name, span)
    if isinstance(v, CuteOp):
        return _operation_member(m, v, name, span)
    if isinstance(v, TiledMMA):
        own = {
            "Atom": v.atom, "AtomThrID": v.atom.thr_id, "ThrLayoutVMNK": v.thr_layout_vmnk,
            "AtomLayoutMNK": v.atom_layout_mnk, "PermutationMNK": v.permutation_mnk,
        }  # fmt: skip
        if name in own:
            return ValueType(own[name])
        if name == "thr_layout_vmnk_":
            return v.thr_layout_vmnk
        if name == "TiledShape_MNK" and cute_version() == REFERENCE:  # up to 3.3 there was one, as of layouts of values
            return ValueType(v.tile_shape)
        if name in ("make_fragment_A", "make_fragment_B", "make_fragment_C"):  # static: `TiledMma::make_fragment_A(sA)`
            return Intrinsic(name, None, v)
        return tiled_type_member(m, v.atom, name, span)
    if isinstance(v, MMAAtom):
        table = {
            "ThrID": v.thr_id, "AtomThrID": v.thr_id, "Shape_MNK": v.shape_mnk, "AtomShape_MNK": v.shape_mnk,
            "LayoutA_TV": v.a_tv, "LayoutB_TV": v.b_tv, "LayoutC_TV": v.c_tv, "ALayout": v.a_tv, "BLayout": v.b_tv,
            "CLayout": v.c_tv, "AtomLayoutA_TV": v.a_tv, "AtomLayoutB_TV": v.b_tv, "AtomLayoutC_TV": v.c_tv,
        }  # fmt: skip
        if name in table:
            return ValueType(table[name])
        kinds = {"A": 0, "B": 1, "C": 2, "D": 3}
        special = scale_factor_member(v, name) or metadata_member(v, name, span)
        if special is not None:
            return special
        if name[:-1] == "FrgType" and name[-1] in "ABC":
            kind = v.frg_types["ABC".index(name[-1])]
            if kind.startswith("UMMA::tmem") or "smem_desc<" in kind:
                return ValueType(Tag(kind))
            return ScalarType(fragment_type(v, "ABC".index(name[-1])))
        if name.startswith("ValType") and name[len("ValType") :] in kinds:
            return ScalarType(v.val_types[kinds[name[len("ValType") :]]])
        if name in ("MMA_Op", "Traits", "MMA_Traits"):
            return ValueType(operation_of(v, "" if name == "MMA_Op" else "MMA"))
    if isinstance(v, TiledCopy):
        own_copy = {"Tiler_MN": v.tiler_mn, "TiledLayout_TV": v.layout_tv, "Atom": v.atom}
        if name in own_copy:
            return ValueType(own_copy[name])
        if name in ("TiledNumThr", "TiledNumVal"):
            return ValueType(alg.size(v.layout_tv, 0 if name.endswith("Thr") else 1))
        return tiled_type_member(m, v.atom, name.removeprefix("Atom") if name.startswith("AtomLayout") else name, span)
    if isinstance(v, CopyAtom):
        layouts = {
            "ThrID": v.thr_id, "AtomThrID": v.thr_id, "ValLayoutSrc": v.val_layout_src,
            "ValLayoutDst": v.val_layout_dst,
            "ValLayoutRef": v.val_layout_ref, "LayoutSrc": v.val_layout_src, "LayoutDst": v.val_layout_dst,
            "LayoutRef": v.val_layout_ref, "SrcLayout": v.src_bits, "DstLayout": v.dst_bits, "RefLayout": v.ref_bits,
            "BitLayoutSrc": v.src_bits, "BitLayoutDst": v.dst_bits, "BitLayoutRef": v.ref_bits,
        }  # fmt: skip
        if name in layouts:
            return ValueType(layouts[name])
        if name == "ValType":
            return ScalarType(v.value_type)
        if name in ("NumValSrc", "NumValDst"):
            n = v.num_val_src if name == "NumValSrc" else v.num_val_dst
            return Scalar(n, "int")
        if name in ("CopyOp", "Copy_Op", "Traits", "CopyOperation"):
            return ValueType(operation_of(v, "Copy" if name == "Traits" else ""))
    return None


def _operation_member(m: Machine, v: CuteOp, name: str, span: Span) -> Value | None:
    """``MMA_Traits<Op>::Shape_MNK``, ``Copy_Traits<Op>::SrcLayout`` and what an operation itself declares."""
    if atoms.is_mma_op(v.name):
        atom: Any = atoms.mma_op(v.name, atom_args(m, v))
        registers = re.match(r"([ABCD])RegCount$|([ABCD])Registers$", name)
        return None if registers else tiled_type_member(m, atom, name, span)
    if atoms.is_copy_op(v.name):
        atom = atoms.copy_op(v.name, atom_args(m, v), None)
        return tiled_type_member(m, atom, name, span)
    return None


def operation_of(atom: MMAAtom | CopyAtom, traits: str = "") -> CuteOp:
    """The operation of an atom, with its template arguments as values of the evaluator."""
    values: list[Value] = []
    for a in atom.args:
        if isinstance(a, DType):
            values.append(ScalarType(a))
        else:
            values.append(Scalar(a, "int") if isinstance(a, int) else Tag(a) if isinstance(a, str) else a)
    return CuteOp(atom.op, tuple(values), traits)


def _with_defaults(op: CuteOp) -> CuteOp:
    """With the arguments that nobody wrote: a pattern such as ``Op<tA, tB, scaleA, scaleB>`` is matched to these."""
    args = atoms.full_arguments(op.name, op.args)[1]
    return CuteOp(op.name, tuple(Tag(a) if isinstance(a, str) else a for a in args), op.traits)


def decompose_tiled(v: Any) -> list[tuple[str, tuple[Value, ...]]]:
    """Template spellings of atoms and tiled objects, for deduction."""
    if isinstance(v, TiledMMA):
        return [("TiledMMA", (ValueType(v.atom), ValueType(v.atom_layout_mnk), ValueType(v.permutation_mnk)))]
    if isinstance(v, TiledCopy):
        return [("TiledCopy", (ValueType(v.atom), ValueType(v.layout_tv), ValueType(v.tiler_mn)))]
    if isinstance(v, MMAAtom):
        return [("MMA_Atom", (ValueType(_with_defaults(operation_of(v, traits))),)) for traits in ("", "MMA")]
    if isinstance(v, CopyAtom):
        return [("Copy_Atom", (ValueType(operation_of(v)), ScalarType(v.value_type)))]
    if isinstance(v, Slice):
        return [("ThrMMA" if isinstance(v.tiled, TiledMMA) else "ThrCopy", (ValueType(v.tiled), type_of(v.index)))]
    return []
