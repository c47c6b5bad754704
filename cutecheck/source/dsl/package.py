"""Functions of the package ``cutlass`` that are no layout algebra: storage, pointers, architecture, compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.dtype import DType
from cutecheck.model.expr import ANY, NATURAL
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.tiled import TiledMMA
from cutecheck.model.tiled.scale_factors import tmem_layout_sf
from cutecheck.model.units import Bits
from cutecheck.source.dsl import cute_values, reductions, replays, storage
from cutecheck.source.dsl import sites as dsl_sites
from cutecheck.source.dsl.builtins import FUNCTIONS as PYTHON
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.cute_attributes import OBJECT_METHODS, SLICE_METHODS
from cutecheck.source.dsl.values import Builtin, Compiled, TorchType
from cutecheck.source.eval.intrinsics import (  # noqa: F401  (the names register themselves)
    cuda,
    dsl_layouts,
    dsl_tensors,
    dsl_tiled,
    guarded,
    warps,
)
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.threads import some, varies
from cutecheck.source.eval.values import EnumVal, Extern, Pointer, Scalar, ScalarType, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


# -------------------------------------------------------------------- functions of the DSL that are no CuTe algebra


@builtin("cute.compile")
def _compile(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    kept = {k: v for k, v in kwargs.items() if k not in ("options", "dump_to_object", "no_jit_engine", "pipeline")}
    apply(m, args[0], args[1:], kept, span)
    return Compiled(args[0])


@builtin("cute.struct", "cute.union")
def _struct(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """As a decorator it is read off the class; called, it marks the class."""
    if isinstance(args[0], ClassInst):
        args[0].memo["struct"] = True
    return args[0]


@builtin("scalar.same")
def _same(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0]


@builtin("cute.torch_dtype")
def _torch_dtype(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The torch type of a CuTe element type; TFloat32 is stored as float."""
    v = args[0]
    if not isinstance(v, ScalarType):
        return v
    return TorchType(DType("float", Bits(32)) if v.dtype.name == "tfloat32_t" else v.dtype)


@builtin("BaseDSL._get_dsl")
def _get_dsl(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Builtin("BaseDSL")


@builtin("BaseDSL.get_arch_enum")
def _get_arch(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return EnumVal("Arch", m.arch, None)


@builtin("Arch.is_family_of")
def _family(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    own, other = (cute_values.arch_number(getattr(a, "name", "")) for a in args[:2])
    return own // 10 == other // 10


@builtin("torch.cuda.get_device_capability")
def _capability(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return divmod(cute_values.arch_number(m.arch), 10)


@builtin("torch.cuda.is_available")
def _available(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return True


@builtin("constant")
def _constant(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0]


@builtin("cute.SmemAllocator")
def _allocator(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return storage.Allocator()


for _what in ("allocate", "allocate_array", "allocate_tensor"):

    def _allocate(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span, what: str = _what) -> Value:
        return storage.allocate(m, args[0], args[1:], kwargs, span, what)

    PYTHON[f"smem.{_what}"] = _allocate


PYTHON["arch.alloc_smem"], PYTHON["arch.get_dyn_smem"] = storage.static, storage.dynamic


@builtin("struct.size_in_bytes", "struct.sizeof")
def _struct_size(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return storage.layout(m, args[0], span)[1]


@builtin("struct.allocate")
def _struct_allocate(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    allocator = args[1] if len(args) > 1 else None
    if not isinstance(allocator, storage.Allocator):
        return Unknown("an allocator that is not followed", span)
    return storage.allocate(m, allocator, [args[0], *args[2:]], kwargs, span, "allocate")


@builtin("struct.alignof")
def _struct_align(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return storage.layout(m, args[0], span)[2]


@builtin("pointer.get_tensor")
def _get_tensor(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.intrinsics.tensors import cast_pointer_to

    p, layout = args[0], args[1] if len(args) > 1 else kwargs.get("layout")
    swizzle = kwargs.get("swizzle", args[2] if len(args) > 2 else None)
    kind = kwargs.get("dtype", args[3] if len(args) > 3 else None)
    if isinstance(layout, Unknown):
        return layout
    if isinstance(swizzle, Unknown):
        return swizzle
    if isinstance(kind, ScalarType):
        p = cast_pointer_to(p, kind)
    if not isinstance(layout, (Layout, ComposedLayout)):
        layout = guarded(m, "make_layout", span, lambda: alg.make_layout(m.dialect.to_model(layout)))
        if isinstance(layout, Unknown):
            return layout
    return storage.tensor_on(m, p, layout, swizzle)


@builtin("pointer.data_ptr", "pointer.recast")
def _data_ptr(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0]


@builtin("pointer.align")
def _align(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from dataclasses import replace

    p, n = args[0], args[1] if len(args) > 1 else kwargs.get("min_align")
    if not isinstance(p, Pointer) or not isinstance(n, int):
        return p
    at = p.offset
    # the claim is about this address: it becomes a base of its own when an offset led here
    if isinstance(at, int) and at == 0:
        return replace(p, align=max(n, p.align or 1))
    return p


@builtin("pointer.toint")
def _toint(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return some(m, "address", ANY, varies(args[0]))


@builtin("tensor_value.nothing")
def _no_effect(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return None


@builtin("tensor_value.fill")
def _filled(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if isinstance(args[0], TensorVal):
        m.recorder.sets(args[0])
        m.recorder.filled(args[0], span)
        m.recorder.empties(args[0], span)
    replays.written(m, args[0], span)
    return None


@builtin("tensor_value.store")
def _stored(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if isinstance(args[0], TensorVal):
        m.recorder.computed(args[0], span)
    replays.written(m, args[0], span)
    return None


for _method in (*SLICE_METHODS, *OBJECT_METHODS):

    def _tiled(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span, method: str = _method) -> Value:
        rest = [*args[1:], *[v for k, v in kwargs.items() if k not in ("loc", "ip")]]
        return cute_values.tiled_method(m, args[0], method, rest, span)

    PYTHON[f"tiled.{_method}"] = _tiled


@builtin("layout.get_hier_coord")
def _coord(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _coordinate(m, args, span, "get_hier_coord")


@builtin("layout.get_flat_coord")
def _flat_coord(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _coordinate(m, args, span, "get_flat_coord")


def _coordinate(m: Machine, args: list[Value], span: Span, word: str) -> Value:
    base, at = args[0], args[1]
    if isinstance(base, Unknown) or isinstance(at, Unknown):
        return base if isinstance(base, Unknown) else at
    if isinstance(at, (Extern, Scalar)):
        at = m.fresh("index")
    return m.dialect.from_model(guarded(m, word, span, lambda: getattr(alg, word)(base, m.dialect.to_model(at))))


@builtin("LayoutEnum.from_tensor")
def _from_tensor(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.expressions.names import attribute

    t = args[0]
    if isinstance(t, (Unknown, Extern)):
        return t if isinstance(t, Unknown) else Unknown(f"the layout of `{t.what}`", span)
    found = attribute(m, t, "leading_dim", span)
    first = found[0] if isinstance(found, tuple) else found
    if first == 1:
        return EnumVal("LayoutEnum", "ROW_MAJOR", None)
    if first == 0:
        return EnumVal("LayoutEnum", "COL_MAJOR", None)
    return Unknown("a tensor that is neither row-major nor column-major", span)


def _capacity(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    table = {
        "sm_80": 163,
        "sm_86": 99,
        "sm_89": 99,
        "sm_90": 227,
        "sm_100": 227,
        "sm_103": 227,
        "sm_110": 227,
        "sm_120": 99,
    }
    given = args[0] if args else kwargs.get("compute_capability", m.arch)
    if not isinstance(given, str):
        return Unknown("the compute capability is not known", span)
    size = table.get(given.rstrip("af"))
    return Unknown(f"the shared memory of {given}", span) if size is None else size * 1024


PYTHON["utils.get_smem_capacity_in_bytes"] = _capacity


def _scale_factors(operand: Any) -> Callable[..., Value]:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        """The layout of scale factors in tensor memory, from the one in shared memory."""
        given = {
            **dict(zip(("tiled_mma", "mma_tiler_mnk", "sf_vec_size", "smem_layout"), args, strict=False)),
            **kwargs,
        }
        bad = next((v for v in given.values() if isinstance(v, Unknown)), None)
        mma, smem, tiler = given.get("tiled_mma"), given.get("smem_layout"), given.get("mma_tiler_mnk")
        value: Value = bad if bad is not None else Unknown("scale factors of an MMA that is not followed", span)
        if isinstance(mma, TiledMMA) and isinstance(smem, Layout) and isinstance(tiler, tuple):
            ctas = alg.size(mma.atom.thr_id)
            value = guarded(m, "scale factors", span, lambda: tmem_layout_sf(smem, tiler[0] // ctas, operand))
        dsl_sites.named(
            m, f"utils.blockscaled_layout.make_tmem_layout_sf{operand.lower()}", args, kwargs, value, None, span
        )
        return value

    return run


PYTHON["cute.make_tmem_layout_sfa"], PYTHON["cute.make_tmem_layout_sfb"] = _scale_factors("A"), _scale_factors("B")


@builtin("arch.retrieve_tmem_ptr")
def _tmem_pointer(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The address that an allocation of tensor memory left in shared memory."""
    kind = args[0] if args else kwargs.get("element_type")
    align = kwargs.get("alignment", args[1] if len(args) > 1 else None)
    if not isinstance(kind, ScalarType):
        return kind if isinstance(kind, Unknown) else Unknown("the element type of this pointer is not known", span)
    return Pointer("tmem", "tmem", kind, 0, align if isinstance(align, int) else None)


_TMEM_COLUMNS = {"sm_100": 512, "sm_103": 512, "sm_107": 576, "sm_120": 512}


def _tmem_columns(least: bool) -> Callable[..., Value]:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        """Columns of tensor memory that an allocation may have, at least or at most (``cute/arch/tmem.py``)."""
        named = args[0] if args else kwargs.get("compute_capability")
        if isinstance(named, str) and named in _TMEM_COLUMNS:
            return 32 if least else _TMEM_COLUMNS[named]
        return Unknown("the columns of tensor memory of an unknown architecture", span)

    return run


PYTHON["arch.get_min_tmem_alloc_cols"], PYTHON["arch.get_max_tmem_alloc_cols"] = (
    _tmem_columns(True),
    _tmem_columns(False),
)


def _index_triple(name: str) -> Callable[..., Value]:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        return tuple(cuda.thread_index(m, f"{name}.{x}") for x in "xyz")

    return run


for _py, _cuda in (("thread_idx", "threadIdx"), ("block_idx", "blockIdx"), ("grid_dim", "gridDim"),
                   ("block_dim", "blockDim"), ("cluster_idx", "clusterIdx"), ("cluster_dim", "clusterDim"),
                   ("block_in_cluster_idx", "clusterCtaIdx"), ("block_in_cluster_dim", "clusterCtaDim")):  # fmt: skip
    PYTHON[f"arch.{_py}"] = _index_triple(_cuda)


@builtin("arch.block_idx_in_cluster")
def _rank(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The same in all threads of a block, and each time."""
    return Dyn.named(warps.RANK, NATURAL)


@builtin("arch.make_warp_uniform")
def _uniform(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0]


@builtin(
    "arch.shuffle_sync", "arch.shuffle_sync_up", "arch.shuffle_sync_down", "arch.shuffle_sync_op", "arch.popc",
    "arch.warp_redux_sync",
)  # fmt: skip
def _of_other_lanes(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A number of the type of what is given, of each thread its own."""
    v = args[0] if args else kwargs.get("value", kwargs.get("val"))
    reductions.elsewhere(m, v, span)
    return _other_lanes_number(m, v, span)


def _other_lanes_number(m: Machine, v: Value, span: Span) -> Value:
    if isinstance(v, (int, Dyn)) and not isinstance(v, bool):
        return some(m, "shuffled", ANY, True)
    return Scalar(None, v.ctype) if isinstance(v, Scalar) else Extern("a shuffled value", span)


@builtin("arch.shuffle_sync_bfly")
def _of_the_lane_across(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    given = {**dict(zip(("value", "offset", "mask", "mask_and_clamp"), args, strict=False)), **kwargs}
    v = given.get("value", given.get("val"))
    whole = all(given.get(x, -1) in (-1, 31, 0xFFFFFFFF) for x in ("mask", "mask_and_clamp"))
    made = _other_lanes_number(m, v, span)
    return reductions.shuffled(m, made, v, given.get("offset") if whole else None, span)


@builtin("arch.warp_reduction", "arch.warp_reduction_max", "arch.warp_reduction_sum")
def _of_a_group_of_lanes(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0] if args else kwargs.get("val")
    return reductions.grouped(m, _other_lanes_number(m, v, span), v, kwargs.get("threads_in_group", 32), span)


@builtin("arch.vote_ballot_sync")
def _ballot(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return some(m, "ballot", ANY, True)


@builtin("arch.clc_response")
def _clc_response(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The first block of the cluster that this one takes over, and whether there is any: one answer for all."""
    return tuple(m.fresh("response", NATURAL) for _ in range(4))


@builtin("arch.load")
def _loaded(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``cute.arch.load(ptr, dtype)``: whatever memory holds."""
    kind = args[1] if len(args) > 1 else kwargs.get("dtype")
    if not isinstance(kind, ScalarType):
        return Extern("cute.arch.load(...)", span)
    return cute_values.element_of(m, kind.dtype.name)


@builtin("arch.warp_idx", "arch.lane_idx")
def _warp(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.model import ints

    return ints.div(cuda.thread_number(m), 32)


PYTHON["arch.lane_idx"] = lambda m, args, kwargs, span: m.dialect.binary("%", cuda.thread_number(m), 32, span)
for _quiet in (
    "sync_threads", "barrier", "cp_async_commit_group", "cp_async_wait_group", "sync_warp", "fence_proxy",
    "mbarrier_init", "mbarrier_init_fence", "cluster_arrive", "cluster_wait", "cluster_arrive_relaxed",
    "fence_view_async_shared", "cp_async_bulk_commit_group", "cp_async_bulk_wait_group", "warpgroup_reg_alloc",
    "warpgroup_reg_dealloc", "griddepcontrol_wait", "griddepcontrol_launch_dependents", "setmaxregister_increase",
    "setmaxregister_decrease", "barrier_arrive",
):  # fmt: skip
    PYTHON[f"arch.{_quiet}"] = lambda m, args, kwargs, span: None
