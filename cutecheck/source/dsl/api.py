"""The names of the package ``cutlass``, and calls of CuTe's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import inttuple as it
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.units import Bits
from cutecheck.source.dsl import cute_values, hopper, tma, vectors
from cutecheck.source.dsl import sites as dsl_sites
from cutecheck.source.dsl.builtins import FUNCTIONS as PYTHON
from cutecheck.source.dsl.values import Builtin, BuiltinType, HostCute
from cutecheck.source.eval.intrinsics import (  # noqa: F401  (the names register themselves)
    cuda,
    dsl_copies,
    dsl_layouts,
    dsl_tensors,
    dsl_tiled,
    guarded,
)
from cutecheck.source.eval.intrinsics.dsl_legality import illegal
from cutecheck.source.eval.intrinsics.dsl_ops import OPERATIONS, make_op
from cutecheck.source.eval.intrinsics.dsl_show import NAMES
from cutecheck.source.eval.intrinsics.registry import FUNCTIONS, TOLERANT, Call, Unsupported
from cutecheck.source.eval.undetermined import part as open_part
from cutecheck.source.eval.undetermined import undetermined
from cutecheck.source.eval.values import Extern, Intrinsic, Object, ScalarType, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_TYPES: dict[str, Value] = {}
for _cutlass, (_dsl, _) in NAMES.items():
    _found = dtype(_cutlass) or DType(_cutlass, Bits(128))
    _TYPES[_dsl] = ScalarType(_found)
_TYPES["Uint8"], _TYPES["Float8E4M3B11FNUZ"] = (
    ScalarType(DType("uint8_t", Bits(8))),
    ScalarType(DType("float_e4m3_t", Bits(8))),
)
_MARKERS = frozenset({
    "Numeric", "Integer", "Float", "Tensor", "Pointer", "Layout", "ComposedLayout", "TiledCopy", "TiledMma", "CopyAtom",
    "MmaAtom", "ThrMma", "ThrCopy", "Shape", "Stride", "Coord", "Tile", "Tiler", "IntTuple", "TensorSSA", "SymInt",
    "XTuple", "Constexpr", "Atom", "Swizzle", "FastDivmodDivisor", "NumericMeta", "IntValue",
})  # fmt: skip
_DEVICE = frozenset({
    "range", "range_dynamic", "range_constexpr", "const_expr", "dynamic_expr", "as_numeric", "static", "any_", "all_",
    "select_",
})  # fmt: skip
_RENAMED = {"make_fragment": "make_rmem_tensor", "slice": "slice_", "rmem_tensor": "make_rmem_tensor"}
_TMA_OF_4_0 = "make_tma_tile_atom"  # with the parameters that its successor has
_ARCH_NUMBERS = {
    "WARP_SIZE": 32, "WARPS_PER_WARPGROUP": 4, "THREADS_PER_WARPGROUP": 128,
    "SM100_TMEM_CAPACITY_COLUMNS": 512, "SM100_TMEM_MIN_ALLOC_COLUMNS": 32,  # deprecated since 4.4
}  # fmt: skip
_STRUCTURES = (Layout, ComposedLayout, TiledCopy, TiledMMA, TensorVal)
_SHAPED = frozenset({  # all of their numbers are extents and strides of the result
    "make_layout", "make_ordered_layout", "make_composed_layout", "make_swizzle", "make_identity_layout",
    "tile_to_shape", "make_layout_tv", "make_tiled_mma", "make_tiled_copy", "make_tiled_copy_tv", "make_cotiled_copy",
    "composition", "complement", "recast_layout", "make_rmem_tensor", "make_identity_tensor", "logical_divide",
    "zipped_divide", "tiled_divide", "flat_divide", "logical_product", "zipped_product", "tiled_product",
    "flat_product", "raked_product", "blocked_product", "make_copy_atom",
})  # fmt: skip
_SELF_TYPES = ("struct", "union")
_NVGPU_MODULES = ("warp", "warpgroup", "cpasync", "tcgen05")


# bytes of a block that helpers of the package told in a table until 4.2
_SMEM_OF_4_0: dict[str, dict[str, int]] = {
    "ampere_helpers": {"sm80": 163 * 1024, "sm86": 99 * 1024, "sm89": 99 * 1024},
    "hopper_helpers": {"sm90": 227 * 1024},
    "blackwell_helpers": {"sm100": 227 * 1024, "sm120": 99 * 1024},
}


def library_name(m: Machine, module: str, name: str) -> Value | None:
    """``module.name`` of the package ``cutlass``, None where its source has to say."""
    if name.startswith(_TMA_OF_4_0):
        name = name.replace(_TMA_OF_4_0, "make_tiled_tma_atom")
    if module == "cutlass._mlir.dialects.cute_nvgpu":
        return Builtin("cute.tma_of_map") if name == "atom_make_non_exec_tiled_tma_load" else None
    if name.endswith("NonExecTrait") and ".nvgpu" in module:
        return Builtin("id_")
    if name in _TYPES:
        return _TYPES[name]
    if name in cute_values.ENUMERATIONS:
        return BuiltinType(name)
    if name == "LayoutEnum":
        return BuiltinType("LayoutEnum")
    if name in (
        "SmemAllocator",
        "from_dlpack",
        "make_fake_tensor",
        "make_fake_compact_tensor",
        "sym_int",
        "sym_int32",
        "sym_int64",
        "make_tiled_tma_atom",
        "make_tiled_tma_atom_A",
        "make_tiled_tma_atom_B",
        "make_tiled_tma_atom_C",
    ):
        return Builtin(f"cute.{name}")
    if name == "SMEM_CAPACITY" and (known := _SMEM_OF_4_0.get(module.rpartition(".")[2])) is not None:
        return dict(known)
    if name == "BaseDSL":
        return Builtin("BaseDSL")
    if module in ("cutlass.torch", "cutlass.base_dsl.torch") and name == "dtype":
        return Builtin("cute.torch_dtype")
    if name == "make_smem_layout_atom" and ".nvgpu" in module:
        kind = "tcgen05" if "tcgen05" in module else "warpgroup"
        return Intrinsic(f"dsl.make_smem_layout_atom {kind}")
    if name == "commit" and ".tcgen05" in module:
        return Extern(f"{module}.{name}")  # a step at a barrier: its source takes the address apart
    if name in ("make_tmem_layout_sfa", "make_tmem_layout_sfb"):
        return Builtin(f"cute.{name}")
    if name in ("make_tmem_copy", "make_s2t_copy", "get_s2t_smem_desc_tensor"):
        return Intrinsic(f"dsl.{name} tcgen05")
    if module == "cutlass" or module.startswith(("cutlass.cutlass_dsl", "cutlass.base_dsl")):
        if name in _DEVICE:
            return Builtin(f"dsl.{name}")
        if name in ("min", "max"):
            return Intrinsic(f"dsl.{name}")
        if name == "dsl_user_op":
            return Builtin("id_")
    if name in _MARKERS:
        return BuiltinType(name)
    if module.startswith("cutlass.cute.experimental") and name == "allocate":
        return Builtin("cute_ext.allocate")
    if module.startswith("cutlass.cute.experimental.iket") and name in ("mark", "range_push", "range_pop"):
        return Builtin("iket.mark")
    if module == "cutlass.cute.core" and f"cute.core.{name}" in PYTHON:
        return Builtin(f"cute.core.{name}")
    if module in ("cutlass.cute", "cutlass.cute.core", "cutlass.cute.tensor") and name in vectors.FUNCTIONS:
        return Builtin(f"cute.{name}")
    if module.startswith("cutlass.cute"):
        found = _cute_name(module, name)
        if found is not None:
            return found
    hoppers = module.startswith("cutlass.utils") and "blackwell" not in module  # others' helpers have the same names
    if hoppers and _without_source(m) and hopper.known(name) is not None:
        return Builtin(f"hopper.{name.removeprefix('sm90_')}")
    if module.startswith("cutlass.utils") and name == "get_smem_capacity_in_bytes":
        return Builtin("utils.get_smem_capacity_in_bytes")
    if module == "cutlass.cute.arch":
        if name in _ARCH_NUMBERS:
            return _ARCH_NUMBERS[name]
        return Builtin(f"arch.{name}") if f"arch.{name}" in PYTHON else Extern(f"cute.arch.{name}")
    return None


def _without_source(m: Machine) -> bool:
    return m.dialect.library.cutlass is None  # type: ignore[attr-defined]


def _cute_name(module: str, name: str) -> Value | None:
    if name == "tile_to_mma_shape":
        return Intrinsic("dsl.tile_to_mma_shape")
    if ".nvgpu" in module:
        part = module.rpartition(".nvgpu")[2].strip(".").split(".")[0]
        for where in (part, "") if part in _NVGPU_MODULES else ("", "cpasync", "warp"):
            if (where, name) in OPERATIONS:
                return Builtin(f"op {where}.{name}")
        if f"cute.{name}" in PYTHON and name in tma.NAMES:
            return Builtin(f"cute.{name}")
        if name in ("create_tma_multicast_mask", "prefetch_descriptor"):
            return Extern(f"cpasync.{name}")
        return None
    if module.startswith("cutlass.cute.arch"):
        return None
    own = _RENAMED.get(name, name)
    if f"dsl.{own}" in FUNCTIONS:
        return Intrinsic(f"dsl.{own}")
    if name in _SELF_TYPES:
        return Builtin(f"cute.{name}")
    if f"cute.{name}" in PYTHON:
        return Builtin(f"cute.{name}")
    if name in ("jit", "kernel"):
        return Builtin("id_")
    if (("", name)) in OPERATIONS:
        return Builtin(f"op .{name}")
    return None


def _operation(where: str, name: str) -> Callable[..., Value]:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        try:
            op = make_op(where, name, args, kwargs)
        except Unsupported as error:
            return Unknown(str(error), span)
        reason = illegal(op, m.arch if m.functions.get("dsl architecture is certain") else "")
        return op if reason is None else Unknown(f"the DSL rejects {name}: {reason}", span, True)

    return run


for _where, _name in OPERATIONS:
    PYTHON[f"op {_where}.{_name}"] = _operation(_where, _name)


# -------------------------------------------------------------------- calls


def call_api(m: Machine, fn: Intrinsic, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Call a function of CuTe and leave the site behind."""
    name, _, kind = fn.name.partition(" ")
    run = FUNCTIONS.get(name)
    if run is None:
        return Unknown(f"`{name}` is not modelled", span)
    args = [_host(m, a) for a in args]
    kwargs = {k: _host(m, v) for k, v in kwargs.items()}
    value: Value = None
    if name not in TOLERANT:
        bad = next((a for a in (*args, *kwargs.values()) if isinstance(a, Unknown)), None)
        if bad is not None:
            value = bad
        elif args and isinstance(args[0], Extern):
            value = _of_foreign(m, name, args[0], span)
        elif (
            name.removeprefix("dsl.") in _SHAPED
            and (open_ := open_part([*args, *(v for k, v in kwargs.items() if k not in ("loc", "ip"))])) is not None
        ):
            value = _open(open_, span)
    if value is None:
        model = [m.dialect.to_model(a) for a in args]
        c = Call(m, name, (), model, span, {k: m.dialect.to_model(v) for k, v in kwargs.items()}, args)
        value = guarded(m, name.removeprefix("dsl."), span, lambda: _in_range(run(c)))
        if name not in TOLERANT:
            c.name = name.removeprefix("dsl.")
            c.args = _in_order(c.name, model, c.kwargs)
            if isinstance(value, _STRUCTURES) and (open_ := open_part(value)) is not None:
                value = _open(open_, span)
            m.recorder.called(m, c, value if c.refused is None else c.refused)
    dsl_sites.api_called(m, name.removeprefix("dsl."), kind, args, kwargs, value, span)
    return m.dialect.from_model(value)


def _open(name: str, span: Span) -> Unknown:
    return Unknown(f"which number `{name}` is, is not known", span)


def _in_range(value: Value) -> Value:
    """The value, where its numbers fit the DSL's integers: others are no layout, and their text may have no end."""
    parts: tuple[object, ...] = value.permutation_mnk if isinstance(value, TiledMMA) else (value,)
    for part in parts:
        numbers = (*it.leaves(part.shape), *it.leaves(part.stride)) if isinstance(part, Layout) else (part,)
        if len(numbers) > 2 * dsl_layouts.MAX_MODES:
            raise Unsupported(f"a layout of over {dsl_layouts.MAX_MODES} modes")
        for n in numbers if isinstance(part, Layout) or isinstance(value, TiledMMA) else ():
            if isinstance(n, int) and n.bit_length() > 64:
                raise Unsupported("a number of over 64 bits")
            if isinstance(n, (float, str)):
                raise Unsupported(f"`{n}` is no extent or stride")
    return value


_PARAMETERS = {
    "make_tiled_copy_tv": ("atom", "thr_layout", "val_layout"), "make_tiled_copy": ("atom", "layout_tv", "tiler_mn"),
    "make_cotiled_copy": ("atom", "atom_layout_tv", "data_layout"), "tile_to_shape": ("atom", "trg_shape", "order"),
    "make_tiled_mma": ("op_or_atom", "atom_layout_mnk", "permutation_mnk"), "composition": ("lhs", "rhs"),
    "make_tiled_copy_A": ("atom", "tiled_mma"), "make_tiled_copy_B": ("atom", "tiled_mma"),
    "make_tiled_copy_C": ("atom", "tiled_mma"), "make_tiled_copy_S": ("atom", "tiled_copy"),
    "make_tiled_copy_D": ("atom", "tiled_copy"), "local_tile": ("input", "tiler", "coord", "proj"),
    "local_partition": ("target", "tiler", "index", "proj"), "make_tensor": ("iterator", "layout"),
    "logical_divide": ("target", "tiler"), "zipped_divide": ("target", "tiler"), "tiled_divide": ("target", "tiler"),
    "flat_divide": ("target", "tiler"), "make_swizzle": ("b", "m", "s"), "complement": ("input", "cotarget"),
}  # fmt: skip


def _in_order(name: str, args: list[Value], kwargs: dict[str, Value]) -> list[Value]:
    """The arguments of a call as positional ones: what was given by name behind what was given by place."""
    out = list(args)
    for parameter in _PARAMETERS.get(name, ())[len(args) :]:
        if parameter not in kwargs:
            break
        out.append(kwargs[parameter])
    return out


def _host(m: Machine, v: Value) -> Value:
    """An argument as CuTe's functions take it: tensors of the host, and named tuples for the tuples that they are."""
    if isinstance(v, HostCute):
        return cute_values.tensor_of(m, v, "tensor")
    if isinstance(v, Object) and v.cls.memo.get("namedtuple"):
        return tuple(_host(m, x) for x in v.fields.values())
    return tuple(_host(m, x) for x in v) if type(v) is tuple and any(isinstance(x, Object) for x in v) else v


def _of_foreign(m: Machine, name: str, v: Extern, span: Span) -> Value:
    if name in ("dsl.size", "dsl.ceil_div", "dsl.round_up", "dsl.cosize", "dsl.size_in_bytes"):
        return undetermined(m, name[4:])
    if name in ("dsl.make_layout", "dsl.min", "dsl.max", "dsl.make_identity_tensor"):
        return (
            undetermined(m, name[4:])
            if name in ("dsl.min", "dsl.max")
            else Unknown(f"`{name[4:]}` of `{v.what}`", span)
        )
    return Unknown(f"`{name.removeprefix('dsl.')}` of `{v.what}`, which is not followed", span)
