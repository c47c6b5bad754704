"""Operations of ``cute.nvgpu``: their fields, and the CuTe atoms they stand for."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from cutecheck.model import atoms
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.dtype import DType
from cutecheck.model.layout import Layout
from cutecheck.model.units import Bits
from cutecheck.records import record
from cutecheck.source.eval.intrinsics.registry import Unsupported
from cutecheck.source.eval.values import EnumVal, ScalarType, Value, constant


@record(frozen=True, slots=True)
class OpValue:
    """An operation of ``cute.nvgpu``: its class name, the module it is of, and its fields in order."""

    name: str
    module: str = ""
    fields: tuple[tuple[str, Value], ...] = field(default=())

    def get(self, name: str, default: Value = None) -> Value:
        return dict(self.fields).get(name, default)


_REQUIRED = object()


def _needed(*names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((n, _REQUIRED) for n in names)


_UMMA = ("instruction_shape", "cta_group", "a_src", "a_major_mode", "b_major_mode")
_SCALED = _needed("ab_dtype", "acc_dtype", "sf_type")
_WARPGROUP = ("a_dtype", "b_dtype", "acc_dtype", "shape_mnk", "a_src", "a_major_mode", "b_major_mode")
_TCGEN05 = (
    "a_dtype", "b_dtype", "acc_dtype", "sf_dtype", "sf_vec_size", "shape_mnk", "cta_group", "a_src", "a_major_mode",
    "b_major_mode", "sparse_metadata_format",
)  # fmt: skip
_DEPTH = {  # the K of an instruction whose shape names M and N alone
    "MmaF16BF16Op": 16, "MmaTF32Op": 8, "MmaMXF4Op": 64, "MmaMXF4NVF4Op": 64, "SM103MmaMXF4Op": 96,
    "SM103MmaMXF4NVF4Op": 96, "MmaF16BF16SparseOp": 32, "MmaFP8SparseOp": 64,
}  # fmt: skip
_WARP_SCALED = {"MmaMXF4Op": (64, 32), "MmaMXF4NVF4Op": (64, 16), "MmaMXF8Op": (32, 32)}  # K, elements a scale factor
_MATRIX = (("transpose", False), ("num_matrices", 1), ("unpack_bits", None))
_ONE = EnumVal("CtaGroup", "ONE", None)

# operation: parameters with their defaults, by the module it is of
OPERATIONS: dict[tuple[str, str], tuple[tuple[str, Any], ...]] = {
    ("", "CopyUniversalOp"): (),
    ("", "CopyG2ROp"): (), ("", "CopyR2GOp"): (), ("", "CopyS2ROp"): (), ("", "CopyR2SOp"): (),
    ("", "MmaUniversalOp"): (("abacc_dtype", _REQUIRED),),
    ("cpasync", "CopyG2SOp"): (("cache_mode", EnumVal("LoadCacheMode", "ALWAYS", None)),),
    ("warp", "MmaF16BF16Op"): (("ab_dtype", _REQUIRED), ("acc_dtype", _REQUIRED), ("shape_mnk", _REQUIRED)),
    ("warp", "MmaFP8Op"): (("ab_dtype", _REQUIRED), ("acc_dtype", _REQUIRED), ("shape_mnk", _REQUIRED)),
    ("warp", "MmaTF32Op"): (("shape_mnk", _REQUIRED),),
    ("warp", "MmaMXF4Op"): _SCALED, ("warp", "MmaMXF4NVF4Op"): _SCALED, ("warp", "MmaMXF8Op"): _SCALED,
    ("warp", "MmaMXF8F6F4Op"): _needed("a_dtype", "b_dtype", "acc_dtype", "sf_type"),
    ("warp", "MmaF16BF16SparseOp"): _needed("ab_dtype", "acc_dtype", "shape_mnk", "sparse_metadata_format"),
    ("warp", "LdMatrix8x8x16bOp"): _MATRIX, ("warp", "LdMatrix8x16x8bOp"): _MATRIX,
    ("warp", "LdMatrix16x8x8bOp"): _MATRIX, ("warp", "LdMatrix16x16x8bOp"): _MATRIX,
    ("warp", "StMatrix8x8x16bOp"): _MATRIX, ("warp", "StMatrix16x8x8bOp"): _MATRIX,
    ("warpgroup", "MmaF16BF16Op"): (
        ("ab_dtype", _REQUIRED), ("acc_dtype", _REQUIRED), ("instruction_shape", _REQUIRED), ("a_src", _REQUIRED),
        ("a_major_mode", _REQUIRED), ("b_major_mode", _REQUIRED),
    ),
    ("warpgroup", "MmaF8Op"): tuple((n, _REQUIRED) for n in (
        "a_dtype", "b_dtype", "acc_dtype", "instruction_shape", "a_src", "a_major_mode", "b_major_mode")),
    ("warpgroup", "MmaI8Op"): tuple((n, _REQUIRED) for n in (
        "a_dtype", "b_dtype", "acc_dtype", "instruction_shape", "a_src", "a_major_mode", "b_major_mode")),
    ("tcgen05", "MmaF16BF16Op"): _needed("ab_dtype", "acc_dtype", *_UMMA),
    ("tcgen05", "MmaTF32Op"): _needed(*_UMMA),
    ("tcgen05", "MmaFP8Op"): _needed("ab_dtype", "acc_dtype", *_UMMA),
    ("tcgen05", "MmaF8F6F4Op"): _needed("a_dtype", "b_dtype", "acc_dtype", *_UMMA),
    ("tcgen05", "MmaI8Op"): _needed("ab_dtype", *_UMMA),
    ("tcgen05", "MmaF16BF16SparseOp"): _needed("ab_dtype", "acc_dtype", *_UMMA, "sparse_metadata_format"),
    ("tcgen05", "MmaFP8SparseOp"): _needed("ab_dtype", "acc_dtype", *_UMMA, "sparse_metadata_format"),
    ("tcgen05", "MmaMXF8Op"): _needed("ab_dtype", *_UMMA),
    ("tcgen05", "MmaMXF8F6F4Op"): _needed("a_dtype", "b_dtype", *_UMMA),
    ("tcgen05", "MmaMXF4Op"): _needed(*_UMMA[:3]), ("tcgen05", "SM103MmaMXF4Op"): _needed(*_UMMA[:3]),
    ("tcgen05", "MmaMXF4NVF4Op"): _needed("sf_dtype", *_UMMA[:3]),
    ("tcgen05", "SM103MmaMXF4NVF4Op"): _needed("sf_dtype", *_UMMA[:3]),
}  # fmt: skip
for _name in (
    "CopyBulkTensorTileG2SOp", "CopyBulkTensorTileG2SMulticastOp", "CopyBulkTensorIm2ColG2SOp",
    "CopyBulkTensorIm2ColG2SMulticastOp",
):  # fmt: skip
    OPERATIONS[("cpasync", _name)] = (("cta_group", _ONE),)
for _name in (
    "CopyBulkTensorTileS2GOp", "CopyBulkTensorIm2ColS2GOp", "CopyBulkG2SOp", "CopyBulkS2GOp", "CopyBulkG2SMulticastOp",
    "CopyBulkS2SOp", "CopyBulkS2GByteMaskOp", "CopyDsmemStoreOp",
):  # fmt: skip
    OPERATIONS[("cpasync", _name)] = ()
_REPEAT = EnumVal("Repetition", "x1", None)
TMEM = ("16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2")
for _name in TMEM:
    OPERATIONS[("tcgen05", f"Ld{_name}Op")] = (("repeat", _REPEAT), ("pack", EnumVal("Pack", "NONE", None)))
    OPERATIONS[("tcgen05", f"St{_name}Op")] = (("repeat", _REPEAT), ("unpack", EnumVal("Unpack", "NONE", None)))
_REDUCED = (
    ("repeat", _REPEAT), ("pack", EnumVal("Pack", "NONE", None)), ("redOp", EnumVal("TmemLoadRedOp", "MAX", None)),
    ("nan", False),
)  # fmt: skip
OPERATIONS[("tcgen05", "LdRed32x32bOp")] = _REDUCED
OPERATIONS[("tcgen05", "LdRed16x32bx2Op")] = (*_REDUCED, ("half_split_off", 0))
UTCCP = {  # shared to tensor memory: CuTe's name, and how the compiler's type spells it
    "Cp128x256bOp": ("128dp256bit", "128 DP, 256 bit"), "Cp128x128bOp": ("128dp128bit", "128 DP, 128 bit"),
    "Cp4x256bOp": ("4dp256bit", "4 DP, 256 bit"), "Cp4x32x128bOp": ("4x32dp128bit", "32 DP, 128 bit"),
    "Cp2x64x128b0213Op": ("2x64dp128bitlw0213", "64 DP, 128 bit"),
    "Cp2x64x128b0123Op": ("2x64dp128bitlw0123", "64 DP, 128 bit"),
}  # fmt: skip
for _name in UTCCP:
    OPERATIONS[("tcgen05", _name)] = (("cta_group", _REQUIRED),)
OPERATIONS[("cpasync", "CopyReduceBulkTensorTileS2GOp")] = (("reduction_kind", EnumVal("ReductionKind", "ADD", None)),)


def make_op(module: str, name: str, args: list[Value], kwargs: dict[str, Value]) -> OpValue:
    """``cute.nvgpu.<module>.<name>(args)`` with the fields the DSL's own object has."""
    params = OPERATIONS[(module, name)]
    given = dict(zip((p for p, _ in params), args, strict=False))
    given.update(kwargs)
    for p, default in params:
        if p not in given:
            if default is _REQUIRED:
                raise Unsupported(f"{name} without `{p}`")
            given[p] = default
    if module == "warp" and name == "MmaTF32Op":
        given = {"ab_dtype": ScalarType(DType("tfloat32_t", Bits(32))), "acc_dtype": _FLOAT, **given}
    if module == "warp" and name in _WARP_SCALED:
        depth, vec = _WARP_SCALED[name]
        given |= {"shape_mnk": (16, 8, depth), "sf_vec_size": vec, "use_sf_layout_TV": False}
    if module in ("warpgroup", "tcgen05") and "Mma" in name:
        shape = given.pop("instruction_shape")
        k = _DEPTH.get(name, 32)
        if "MX" in name:
            scales = given.pop("sf_dtype", _UE8M0)
            given |= {"sf_dtype": scales, "sf_vec_size": 16 if "NVF4" in name else 32}
            if "MXF4" in name:
                given |= {"a_dtype": _E2M1, "b_dtype": _E2M1, "a_major_mode": _K, "b_major_mode": _K}
        elif name == "MmaI8Op" and module == "tcgen05":
            given["acc_dtype"] = _INT
        shape = (*shape, k) if isinstance(shape, tuple) and len(shape) == 2 else shape
        both = given.pop("ab_dtype", ScalarType(DType("tfloat32_t", Bits(32))))
        given = {"a_dtype": both, "b_dtype": both, "acc_dtype": _FLOAT, **given, "shape_mnk": shape}
        order = _WARPGROUP if module == "warpgroup" else _TCGEN05
        given = {n: given[n] for n in order if n in given}
    return OpValue(name, module, tuple(given.items()))


_FLOAT = ScalarType(DType("float", Bits(32)))
_INT = ScalarType(DType("int32_t", Bits(32)))
_UE8M0, _E2M1 = ScalarType(DType("float_ue8m0_t", Bits(8))), ScalarType(DType("float_e2m1_t", Bits(4)))
_K = EnumVal("OperandMajorMode", "K", None)
_MMA_NAMES = {
    "half_t": "F16", "bfloat16_t": "BF16", "float": "F32", "tfloat32_t": "TF32", "float_e4m3_t": "E4M3",
    "float_e5m2_t": "E5M2", "int8_t": "S8", "uint8_t": "U8", "int32_t": "S32",
}  # fmt: skip


def _code(v: Value) -> str:
    if not isinstance(v, ScalarType) or v.dtype.name not in _MMA_NAMES:
        raise Unsupported("the element type of this MMA is not known")
    return _MMA_NAMES[v.dtype.name]


def _numbers(v: Value) -> tuple[int, ...]:
    if not isinstance(v, tuple) or any(not isinstance(x, int) for x in v):
        raise Unsupported("the instruction shape is not known")
    return v


def mma_atom(op: Value) -> MMAAtom:
    """The MMA atom of an operation; UnknownAtomError or Unsupported where CuTe has none."""
    if isinstance(op, MMAAtom):
        return op
    if not isinstance(op, OpValue):
        raise Unsupported("this is not an MMA operation")
    if op.name == "MmaUniversalOp":
        t = op.get("abacc_dtype")
        if not isinstance(t, ScalarType):
            raise Unsupported("the element type of this MMA is not known")
        return atoms.mma_op("UniversalFMA", (t.dtype, t.dtype, t.dtype, t.dtype))
    if op.module == "warp" and op.name in ("MmaF16BF16Op", "MmaFP8Op", "MmaTF32Op"):
        ab, acc = _code(op.get("ab_dtype")), _code(op.get("acc_dtype"))
        m, n, k = _numbers(op.get("shape_mnk"))
        sm = "SM89" if op.name == "MmaFP8Op" else "SM80"
        return atoms.mma_op(f"{sm}_{m}x{n}x{k}_{acc}{ab}{ab}{acc}_TN")
    if op.module == "warp" and "MX" in op.name:
        return _warp_scaled(op)
    if op.module == "warpgroup":
        a, b, acc = _code(op.get("a_dtype")), _code(op.get("b_dtype")), _code(op.get("acc_dtype"))
        m, n, k = _numbers(op.get("shape_mnk"))
        source = getattr(op.get("a_src"), "name", "SMEM")
        kind = "RS" if source == "RMEM" else "SS"
        majors = [getattr(op.get(f"{x}_major_mode"), "name", None) for x in "ab"]
        if None in majors:
            raise Unsupported("the major mode of this MMA is not known")
        name = f"SM90_{m}x{n}x{k}_{acc}{a}{b}_{kind}"
        if op.name == "MmaF16BF16Op":
            return atoms.mma_op(name, (f"GMMA::Major::{majors[0]}", f"GMMA::Major::{majors[1]}"))
        return atoms.mma_op(f"{name}_TN")
    if op.module == "tcgen05":
        return _tensor_memory_mma(op)
    raise Unsupported(f"{op.module}.{op.name} is not modelled")


_TENSOR_MEMORY = {
    "MmaF16BF16Op": "F16BF16", "MmaTF32Op": "TF32", "MmaI8Op": "S8", "MmaFP8Op": "F8F6F4", "MmaF8F6F4Op": "F8F6F4",
    "MmaMXF8Op": "MXF8", "MmaMXF8F6F4Op": "MXF8", "MmaMXF4Op": "MXF4", "MmaMXF4NVF4Op": "MXF4",
    "SM103MmaMXF4Op": "ULTRA_F4", "SM103MmaMXF4NVF4Op": "ULTRA_F4", "MmaF16BF16SparseOp": "F16BF16",
    "MmaFP8SparseOp": "F8F6F4",
}  # fmt: skip


def _scale_type(t: Value) -> ScalarType:
    """CuTe's unsigned type of a scale factor: the DSL writes ``Float8E4M3FN`` for ``float_ue4m3_t``."""
    if not isinstance(t, ScalarType):
        raise Unsupported("the type of the scale factors is not known")
    return ScalarType(DType("float_ue4m3_t", Bits(8))) if t.dtype.name == "float_e4m3_t" else t


def _warp_scaled(op: OpValue) -> MMAAtom:
    """``mma.sync`` with block scaling (sm_120)."""
    a, b = op.get("a_dtype", op.get("ab_dtype")), op.get("b_dtype", op.get("ab_dtype"))
    acc, scales = op.get("acc_dtype"), _scale_type(op.get("sf_type"))
    if not all(isinstance(t, ScalarType) for t in (a, b, acc)):
        raise Unsupported("the element types of this MMA are not known")
    types = (a.dtype, b.dtype, acc.dtype, scales.dtype)
    vec = constant(op.get("sf_vec_size")) or 32
    depth = 64 if op.name in ("MmaMXF4Op", "MmaMXF4NVF4Op") else 32
    return atoms.mma_op(f"SM120::BLOCKSCALED::SM120_16x8x{depth}_TN_VS", (*types, vec))


def _tensor_memory_mma(op: OpValue) -> MMAAtom:
    """An MMA that accumulates in tensor memory."""
    types = [op.get(n) for n in ("a_dtype", "b_dtype", "acc_dtype")]
    m, n, _ = _numbers(op.get("shape_mnk"))
    majors = [getattr(op.get(f"{x}_major_mode"), "name", None) for x in "ab"]
    if None in majors or not all(isinstance(t, ScalarType) for t in types):
        raise Unsupported("the element types or major modes of this MMA are not known")
    kind = _TENSOR_MEMORY.get(op.name)
    if kind is None:
        raise Unsupported(f"tcgen05.{op.name} is not modelled")
    pair = "_2x1SM" if getattr(op.get("cta_group"), "name", "") == "TWO" else ""
    source = "TS" if getattr(op.get("a_src"), "name", "SMEM") == "TMEM" else "SS"
    scales = op.get("sf_dtype")
    if isinstance(scales, ScalarType):
        factor = _scale_type(scales)
        shown = (*(t.dtype for t in types), factor.dtype, m, n)
        k_majors = tuple(f"UMMA::Major::{x}" for x in majors)
        if "F4" in kind:
            vec = constant(op.get("sf_vec_size")) or 32
            name = f"SM103::SM103_MXF4_ULTRA{pair}_SS_VS" if kind == "ULTRA_F4" else f"SM100_MMA_MXF4{pair}_SS"
            return atoms.mma_op(name, (*shown, vec, *k_majors))
        name = f"SM100_MMA_MXF8F6F4{pair}_SS"
        if pair and m == 128:  # the DSL has it, CuTe's traits ask for 256; the layouts are those without scaling
            plain = atoms.mma_op("SM100_MMA_F8F6F4_2x1SM_SS", (*(t.dtype for t in types), m, n, *k_majors))
            return replace(plain, op=name)
        return atoms.mma_op(name, (*shown, *k_majors))
    arguments = (*(t.dtype for t in types), m, n, *(f"UMMA::Major::{x}" for x in majors))
    name = f"SM100_MMA_{kind}{pair}_{source}"
    if "Sparse" in op.name:
        return _sparse(atoms.mma_op(name, arguments))
    if m == 128 and n % 16 == 8 and not pair:
        return _narrow(atoms.mma_op(name, (*arguments[:3], m, n + 8, *arguments[5:])), arguments)
    return atoms.mma_op(name, arguments)


def _narrow(wide: MMAAtom, arguments: tuple[Any, ...]) -> MMAAtom:
    """128 rows by an odd multiple of 8, which the DSL has and CuTe's traits refuse: a wider MMA with fewer columns."""
    m, n = arguments[3:5]
    _, _, k = _numbers(wide.shape_mnk)
    return replace(
        wide, args=arguments, shape_mnk=(m, n, k),
        b_tv=Layout((1, (n, k)), (0, (1, n))), c_tv=Layout((1, (m, n)), (0, (1, m))),
    )  # fmt: skip


def _sparse(dense: MMAAtom) -> MMAAtom:
    """With 2 of 4 elements of A in use: twice the K of the instruction for dense operands, by the DSL's layouts."""
    m, n, k = _numbers(dense.shape_mnk)

    def deeper(tv: Any) -> Layout:
        (threads, (rows, _)), stride = tv.shape, tv.stride
        return Layout((threads, (rows, 2 * k)), stride)

    return replace(
        dense, op=f"{dense.op}_SPARSE", shape_mnk=(m, n, 2 * k), a_tv=deeper(dense.a_tv), b_tv=deeper(dense.b_tv)
    )


def copy_atom(op: Value, dtype: DType, bits: int | None) -> CopyAtom:
    """The copy atom of an operation on elements of a type; ``bits`` is ``num_bits_per_copy`` (None or 0: automatic)."""
    if not isinstance(op, OpValue):
        raise Unsupported("this is not a copy operation")
    if op.name in ("CopyUniversalOp", "CopyG2ROp", "CopyR2GOp", "CopyS2ROp", "CopyR2SOp"):
        if not bits:
            return _automatic(dtype)
        return atoms.copy_op("UniversalCopy", (_unsigned(Bits(bits)),), dtype)
    if op.name in ("CopyBulkG2SOp", "CopyBulkS2GOp") and not bits:
        made = _automatic(dtype)  # one thread, a size that each copy says
        return replace(made, op=f"SM90_BULK_COPY_AUTO_{op.name[8:11]}")
    if op.name == "CopyG2SOp":
        if not bits:
            raise Unsupported("cp.async without num_bits_per_copy")
        cache = "CACHEGLOBAL" if getattr(op.get("cache_mode"), "name", "") == "GLOBAL" else "CACHEALWAYS"
        return atoms.copy_op(f"SM80_CP_ASYNC_{cache}", (_unsigned(Bits(bits)),), dtype)
    if op.name in ("LdMatrix8x8x16bOp", "StMatrix8x8x16bOp"):
        n, transposed = constant(op.get("num_matrices")), op.get("transpose")
        if n not in (1, 2, 4) or not isinstance(transposed, bool):
            raise Unsupported("the number of matrices is not known")
        sm, verb = ("SM75", "LDSM") if op.name.startswith("Ld") else ("SM90", "STSM")
        name = f"{sm}_U16x{2 * n}_{verb}_T" if transposed else f"{sm}_U32x{n}_{verb}_N"
        return atoms.copy_op(name, (), dtype)
    if op.name == "LdMatrix8x16x8bOp":
        n = constant(op.get("num_matrices"))
        if n not in (1, 2, 4):
            raise Unsupported("the number of matrices is not known")
        return atoms.copy_op(f"SM75_U32x{n}_LDSM_N", (), dtype)  # what it unpacks lies padded to bytes
    if op.name == "LdMatrix16x16x8bOp":
        return _transposed_bytes(constant(op.get("num_matrices")), dtype)
    if op.name == "StMatrix16x8x8bOp":
        n = constant(op.get("num_matrices"))
        return atoms.copy_op(f"SM100_U8x{4 * (n or 0)}_STSM_T", (), dtype)
    if op.name in UTCCP:
        ctas = 2 if getattr(op.get("cta_group"), "name", "") == "TWO" else 1
        return atoms.copy_op(f"SM100::TMEM::UTCCP::SM100_UTCCP_{UTCCP[op.name][0]}_{ctas}cta", (), dtype)
    shape = op.name[2:-2].removeprefix("Red")  # what it reduces, too, lands where the load alone puts it
    if op.module == "tcgen05" and shape in TMEM:
        times = getattr(op.get("repeat"), "name", "x1")[1:]
        rows, _, width = shape.removesuffix("x2").rstrip("b").partition("x")
        packed = getattr(op.get("pack", op.get("unpack")), "name", "NONE") != "NONE"
        verb = "LOAD" if op.name.startswith("Ld") else "STORE"
        name = f"SM100_TMEM_{verb}_{rows}dp{width}b{times}x"
        return atoms.copy_op(name + ("_16b" if packed else ""), (), dtype)
    raise Unsupported(f"{op.name} is not modelled")


def _automatic(dtype: DType) -> CopyAtom:
    """A copy whose width the compiler chooses later: one value a thread until then.

    C++'s UniversalCopy moves whole bytes; the DSL takes elements of 4 and 6 bits as well.
    """
    if dtype.bits is None or dtype.bits >= 8:
        return atoms.copy_op("UniversalCopy", (dtype,), dtype)
    one = Layout((1, int(dtype.bits)), (0, 1))
    byte = atoms.copy_op("UniversalCopy", (_unsigned(Bits(8)),), dtype)
    return replace(byte, args=(dtype,), src_bits=one, dst_bits=one, ref_bits=one)


def _transposed_bytes(matrices: int | None, dtype: DType) -> CopyAtom:
    """``ldmatrix.m16n16.trans.b8``: threads and registers in another order than C++ CuTe's traits have."""
    atom = atoms.copy_op(f"SM100_U8x{8 * (matrices or 0)}_LDSM_T", (), dtype)
    if matrices == 1:
        rows = Layout(((16, 2), 128), ((128, 0), 1))
        registers = Layout(((4, 8), (8, 4, 2)), ((512, 8), (1, 128, 64)))
    else:
        rows = Layout((32, 128), (128, 1))
        registers = Layout(((4, 8), (8, 4, 2, 2)), ((512, 8), (1, 128, 64, 2048)))
    return replace(atom, src_bits=rows, dst_bits=registers, ref_bits=registers)


def _unsigned(bits: Bits) -> DType:
    return DType({8: "uint8_t", 16: "uint16_t", 32: "uint32_t", 64: "uint64_t", 128: "uint128_t"}.get(
        bits, f"uint{bits}_t"), bits)  # fmt: skip
