"""Shared-memory layout atoms of GMMA and UMMA, and the selectors that choose operations and layouts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span
from cutecheck.model import algebra as alg
from cutecheck.model.composed import get_swizzle_portion
from cutecheck.model.dtype import DType
from cutecheck.model.layout import Swizzle
from cutecheck.model.tiled import selectors, smem_atoms
from cutecheck.source.eval.intrinsics.registry import TYPES, Call, Unsupported, function
from cutecheck.source.eval.intrinsics.types import element, static_value
from cutecheck.source.eval.values import CuteOp, Scalar, ScalarType, Tag, Value, ValueType, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_ATOM = re.compile(r"Layout_(K|MN)_(INTER|SW32|SW64|SW128|SW128_32B)_Atom$")
_SPARSE_ATOM = re.compile(r"Layout_(K|MN)_(INTER|SW32|SW64|SW128)_SpAtom$")


def _element(v: Value) -> DType:
    found = element(v)
    if found is None:
        raise Unsupported("the element type is not known")
    return found


def _major(v: Value) -> Any:
    if isinstance(v, ValueType):
        v = v.value
    if not isinstance(v, Tag) or "::Major::" not in v.name:
        raise Unsupported("the major mode is not known")
    return v.name.rsplit("::", 1)[-1]


def is_layout_atom(key: str) -> bool:
    """True for ``GMMA::Layout_K_SW128_Atom`` and its kin, in any of their namespaces."""
    name = key.rsplit("::", 1)[-1]
    return bool(_ATOM.match(name) or _SPARSE_ATOM.match(name))


def layout_atom(m: Machine, key: str, targs: tuple[Value, ...], span: Span) -> Value:
    """A layout atom for an element type."""
    name = key.rsplit("::", 1)[-1]
    plain = _ATOM.match(name)
    if plain:
        return ValueType(smem_atoms.smem_layout_atom(plain.group(1), plain.group(2), _element(targs[0])))  # type: ignore[arg-type]
    sparse = _SPARSE_ATOM.match(name)
    assert sparse is not None
    n = constant(targs[1])
    if n is None:
        raise Unsupported("the sparsity is not a known number")
    return ValueType(smem_atoms.smem_sparse_layout_atom(sparse.group(1), sparse.group(2), _element(targs[0]), n))  # type: ignore[arg-type]


def register_layout_atom(key: str) -> None:
    """Make a layout atom a type template of the table."""
    TYPES[key] = lambda m, targs, span: layout_atom(m, key, targs, span)


def _operation(name: str, args: tuple[object, ...]) -> CuteOp:
    """An atom's operation as a value of the evaluator."""
    values: list[Value] = []
    for a in args:
        if isinstance(a, DType):
            values.append(ScalarType(a))
        else:
            values.append(Scalar(a, "int") if isinstance(a, int) else Tag(str(a)))
    return CuteOp(name, tuple(values))


@function(
    "ss_op_selector", "rs_op_selector", "ss_op_selector_sparse", "rs_op_selector_sparse",
    "ss_op_selector_extended", "rs_op_selector_extended",
    "ss_op_selector_sparse_extended", "rs_op_selector_sparse_extended",
)  # fmt: skip
def _op_selector(c: Call) -> Value:
    kinds = (_element(c.targs[0]), _element(c.targs[1]), _element(c.targs[2]))
    shape = static_value(c.m, c.targs[3])
    rest = [t.value if isinstance(t, ValueType) else t for t in c.targs[4:]]
    names = [t.name if isinstance(t, Tag) else str(constant(t)) for t in rest]
    majors = [n.replace("SM90::", "").replace("cute::", "") for n in names if "::Major::" in n]
    scales = tuple(n for n in names if "::Major::" not in n)
    while len(majors) < 2:
        majors.append("GMMA::Major::K")
    atom = selectors.gmma_op_selector(
        "SS" if c.name.startswith("ss") else "RS", kinds, shape, (majors[0], majors[1]), scales,
        sparse="_sparse" in c.name, extended=c.name.endswith("_extended"),
    )  # fmt: skip
    return _operation(atom.op, atom.args)


@function("ss_smem_selector", "rs_smem_selector", "sm100_smem_selector")
def _smem_selector(c: Call) -> Value:
    major, kind = _major(c.targs[0]), _element(c.targs[1])
    mn, k = static_value(c.m, c.targs[2]), static_value(c.m, c.targs[3])
    if c.name == "rs_smem_selector" and len(c.targs) > 4:
        return smem_atoms.rs_smem_selector(major, kind, mn, k, bool(constant(c.targs[4])))
    return getattr(smem_atoms, c.name)(major, kind, mn, k)


@function("sm90_cluster_shape_to_tma_atom")
def _cluster_shape_to_tma_atom(c: Call) -> Value:
    """cutlass/gemm/collective/builders/sm90_common.inl: what one mode of the cluster is loaded by."""
    blocks = alg.size(static_value(c.m, c.args[0]))
    if not isinstance(blocks, int):
        raise Unsupported("the cluster's shape is not known")
    return CuteOp("SM90_TMA_LOAD" if blocks == 1 else "SM90_TMA_LOAD_MULTICAST", ())


@function("alignment_for_swizzle")
def _alignment_for_swizzle(c: Call) -> Value:
    """cutlass/detail/layout.hpp, of a layout or a swizzle."""
    of = static_value(c.m, c.args[0])
    swizzle = of if isinstance(of, Swizzle) else get_swizzle_portion(of)
    return Scalar(1 << (swizzle.bits + swizzle.base + abs(swizzle.shift)), "size_t")


@function("tile_to_mma_shape", configuring=True)
def _tile_to_mma_shape(c: Call) -> Value:
    return smem_atoms.tile_to_mma_shape(*c.args)


# (plain, block-scaled with elements of 4, 6 and 8 bits in 8, block-scaled with elements of 4 bits)
_SM120 = {
    "": ("SM120_16x8x32_TN", "SM120::BLOCKSCALED::SM120_16x8x32_TN_VS", "SM120::BLOCKSCALED::SM120_16x8x64_TN_VS"),
    "sparse_": (
        "SM120::SPARSE::SM120_SPARSE_16x8x64_TN",
        "SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x64_TN_VS",
        "SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x128_TN_VS",
    ),
}


@function(
    "rr_op_selector_sm120", "rr_sparse_op_selector_sm120",
    "rr_blockscaled_op_selector_sm120", "rr_blockscaled_sparse_op_selector_sm120",
)  # fmt: skip
def _sm120_selector(c: Call) -> Value:
    """cute/arch/mma_sm120.hpp, mma_sm120_sparse.hpp: A, B, C; block-scaled ones the factors, their vector, the kind."""
    plain, mixed, narrow = _SM120["sparse_" if "sparse_" in c.name else ""]
    if "blockscaled" not in c.name:
        return _operation(plain, tuple(map(_element, c.targs[:3])))
    vector, eight = constant(c.targs[4]), c.m.dialect.truth(c.targs[5])
    if vector is None or eight is None:
        raise Unsupported("how the operands are scaled is not known")
    return _operation(mixed if eight else narrow, (*map(_element, c.targs[:4]), vector))
