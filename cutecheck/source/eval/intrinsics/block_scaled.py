"""Block-scaled MMAs of sm_100 and sm_120: what their traits say of scale factors, and the copies that fill these."""

from __future__ import annotations

import re
from typing import Any, cast

from cutecheck.facts import Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.atoms import MMAAtom, element_type
from cutecheck.model.dtype import DType
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag
from cutecheck.model.notation import parse
from cutecheck.model.tiled.tmem import tmem_fragment
from cutecheck.model.units import Bits
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.values import Scalar, ScalarType, Tag, TensorVal, Value, ValueType

_SCALED = re.compile(r"SM100_MMA_MXF\w+?(_2x1SM)?_SS(_SPARSE)?")
_ULTRA = re.compile(r"SM103::SM103_MXF4_ULTRA(_2x1SM)?_SS_VS")  # scaled as the operation of sm_100 is
_VECTOR = re.compile(r"UMMA::tmem_sf_frg<\w+,(\d+),")
_IN_REGISTERS = re.compile(r"SM120::BLOCKSCALED::(SPARSE::)?SM120_\w+_TN_VS")  # their last arguments: type, vector
_M, _N = 4, 5  # positions among the arguments of the operations
_IN_TMEM = "UMMA::tmem_"
_METADATA = "UMMA::tmem_e_frg"
_STANDS_FOR = {32: 4, 16: 8, 8: 8, 4: 16}  # elements of so many bits a byte of metadata (mma_traits_sm100_frag.hpp)


def scale_factor_member(atom: MMAAtom, name: str) -> Value | None:
    """Members of the traits that say how operands are scaled; None for any other."""
    told = dict(atom.extra)
    depth = atom.shape_mnk[2] if isinstance(atom.shape_mnk, tuple) else None
    if name == "K" and (atom.op.startswith("SM100_MMA_") or _ULTRA.fullmatch(atom.op)) and isinstance(depth, int):
        return Scalar(depth, "int")
    if name in ("SFALayout", "SFBLayout"):
        return ValueType(parse(told[name])) if name in told else None
    if _IN_REGISTERS.fullmatch(atom.op) and len(atom.args) > _N - 1:
        kind, length = atom.args[_N - 2 : _N]
        if name == "SFVecSize" and isinstance(length, int):
            return Scalar(length, "int")
        if name == "ValTypeSF" and isinstance(kind, DType):
            return ScalarType(kind)
    if "FrgTypeSFA" not in told:
        return None
    vector = _VECTOR.match(told["FrgTypeSFA"])
    if name == "SFVecSize" and vector is not None:
        return Scalar(int(vector[1]), "int")
    if name in ("ValTypeSFA", "ValTypeSFB"):
        found = element_type(told[name])
        return ScalarType(found) if found is not None else None
    if name in ("FrgTypeSFA", "FrgTypeSFB"):
        return ValueType(Tag(told[name]))
    if name == "MMA_ScaleFactor":
        return _of_one_sm(atom)
    return None


def _of_one_sm(atom: MMAAtom) -> Value | None:
    """The operation that scale factors are partitioned by: of one SM, its columns in whole blocks of 128."""
    from cutecheck.source.eval.intrinsics.tiled_members import operation_of

    m, n = (atom.args[i] if len(atom.args) > i else None for i in (_M, _N))
    ultra = _ULTRA.fullmatch(atom.op)
    kind = ultra or _SCALED.fullmatch(atom.op)
    if kind is None or not isinstance(m, int) or not isinstance(n, int):
        return None
    op = operation_of(atom)
    rows = m if kind[1] is None else m // 2 if m // 2 > 64 else m
    sizes = (Scalar(rows, "int"), Scalar((n + 127) // 128 * 128, "int"))
    name = "SM100_MMA_MXF4_SS" if ultra is not None else op.name.replace("_2x1SM", "")
    return ValueType(type(op)(name, (*op.args[:_M], *sizes, *op.args[_N + 1 :])))


def in_tensor_memory(targ: Value) -> str | None:
    """The fragment type that a template argument is, where it stands for tensor memory (``TiledMma::FrgTypeC``)."""
    kind = targ.value if isinstance(targ, ValueType) else targ
    return kind.name if isinstance(kind, Tag) and kind.name.startswith(_IN_TMEM) else None


def fragment_of(c: Call, kind: str, shape: Any) -> TensorVal:
    """``make_tensor<FrgType>(shape)``: a tensor in tensor memory."""
    layout = tmem_fragment(kind, shape)
    element = element_type(kind.partition("<")[2].rstrip(">").split(",")[0])
    if kind.startswith(_METADATA) and element is not None and element.bits is not None:
        element = element_type(f"sparse_elem<{_STANDS_FOR.get(int(element.bits))},uint8_t>")
    return c.m.recorder.registers(c.m, layout, element, c.span, "fragment", None, "tmem")


@function("dsl.get_s2t_smem_desc_tensor", configuring=True)
@function("get_utccp_smem_desc_tensor")
def _descriptors_to_copy(c: Call) -> Value:
    """The descriptors of the part of shared memory that a copy to tensor memory reads, 16 bytes each."""
    from cutecheck.source.eval.intrinsics.tiled import descriptors

    part = c.arg(0)
    if c.name.startswith("dsl."):
        part = c.args[1] if len(c.args) > 1 else c.kwargs.get("smem_tensor")
    if not isinstance(part, TensorVal) or part.dtype is None or part.dtype.bits is None:
        raise Unsupported("get_utccp_smem_desc_tensor of a tensor that is not followed")
    if isinstance(part.layout, Unknown):
        return part.layout
    own = part.layout
    if isinstance(own, ComposedLayout) and isinstance(own.offset, SmemPtrFlag) and getattr(own.a, "bits", 1) == 0:
        own = cast(Layout, own.b)  # a pointer that swizzles nothing
    if not isinstance(own, Layout):
        raise Unsupported("get_utccp_smem_desc_tensor of a swizzled tensor")
    layout = alg.recast_layout(own, part.dtype.bits, Bits(128))
    return descriptors(part, layout, None, part.dtype.bits)
