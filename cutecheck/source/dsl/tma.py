"""TMA descriptors of the DSL: the tensor of coordinates, the box, and ``tma_partition``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import inttuple as it
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import CuteError, Dyn, UndecidedError, known_value
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.swizzle import offset_value
from cutecheck.model.tiled import TiledMMA
from cutecheck.model.tiled import tma as model
from cutecheck.model.tiled.tensor_map import TensorMap, UnsupportedTmaError
from cutecheck.source.dsl import sites
from cutecheck.source.dsl.builtins import FUNCTIONS, builtin
from cutecheck.source.dsl.values import HostCute, OpValue, TmaAtom, TmaInfo
from cutecheck.source.eval.intrinsics import guarded
from cutecheck.source.eval.intrinsics.dsl_layouts import number
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported
from cutecheck.source.eval.values import Extern, Scalar, ScalarType, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

NAMES = frozenset({
    "make_tiled_tma_atom", "make_tiled_tma_atom_A", "make_tiled_tma_atom_B", "make_tiled_tma_atom_C", "tma_partition",
})  # fmt: skip
_FAILURES = (CuteError, UndecidedError, UnsupportedTmaError, Unsupported, TypeError, IndexError, AttributeError)
_PARAMETERS = {
    "": ("op", "gmem_tensor", "smem_layout", "cta_tiler", "num_multicast"),
    "A": ("op", "gmem_tensor", "smem_layout", "mma_tiler_mnk", "tiled_mma", "cluster_shape_vmnk"),
    "B": ("op", "gmem_tensor", "smem_layout", "mma_tiler_mnk", "tiled_mma", "cluster_shape_vmnk"),
    "C": ("op", "gmem_tensor", "smem_layout", "mma_tiler_mnk", "tiled_mma"),
}


def _maker(operand: str) -> Callable[..., Value]:
    call = f"cute.nvgpu.helpers.make_tiled_tma_atom_{operand}" if operand else (
        "cute.nvgpu.cpasync.helpers.make_tiled_tma_atom"
    )  # fmt: skip

    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        """The atom and the tensor of coordinates: its strides are basis vectors, the contiguous mode first."""
        from cutecheck.source.dsl.cute_values import tensor_of

        given = {**dict(zip(_PARAMETERS[operand], args, strict=False)), **kwargs}
        if "smem_layout_" in given:
            given["smem_layout"] = given["smem_layout_"]
        gmem = given.get("gmem_tensor")
        gmem = tensor_of(m, gmem, "tensor") if isinstance(gmem, HostCute) else gmem
        made: Value = Unknown("a TMA descriptor on a tensor that is not followed", span)
        atom: CopyAtom | None = None
        if isinstance(gmem, TensorVal) and isinstance(gmem.layout, Layout):
            atom = _box(m, operand, {**given, "gmem_tensor": gmem}, span)
            made = _coordinates(m, gmem, atom, given.get("internal_type"), span)
        value = TmaInfo(TmaAtom(given.get("op"), atom), made, given.get("smem_layout"))
        sites.named(m, call, args, kwargs, made if isinstance(made, Unknown) else value, "TmaInfo", span)
        return value

    return run


for _operand in _PARAMETERS:
    FUNCTIONS["cute.make_tiled_tma_atom" + (f"_{_operand}" if _operand else "")] = _maker(_operand)


def _box(m: Machine, operand: str, given: dict[str, Value], span: Span) -> CopyAtom | None:
    """CuTe's atom of the descriptor, None where its construction is not modelled."""
    gmem, smem, op = given["gmem_tensor"], given.get("smem_layout"), given.get("op")
    if not isinstance(op, OpValue) or gmem.dtype is None or not isinstance(smem, (Layout, ComposedLayout)):
        return None
    internal = given.get("internal_type")
    kind = internal.dtype if isinstance(internal, ScalarType) else None
    if kind is not None and gmem.dtype.bits is not None and gmem.dtype.bits < 8:
        return None  # elements are unpacked on the way to shared memory
    multicast = "Multicast" in op.name
    name = "SM90_TMA_STORE" if "S2G" in op.name else "SM90_TMA_LOAD_MULTICAST" if multicast else "SM90_TMA_LOAD"
    c = Call(m, "make_tma_atom", (), [], span)
    try:
        tiler = number(c, m.dialect.to_model(given.get("mma_tiler_mnk" if operand else "cta_tiler")))
        modes = 3 if operand else alg.rank(tiler)
        if alg.rank(smem) == modes + 1:
            smem = alg.take(smem, 0, modes)
        if not operand:
            _same_tile(m, smem, tiler, span)
            count = given.get("num_multicast", 1)
            made = model.make_tma_atom(
                name, gmem.layout, gmem.dtype, smem, tiler,
                cluster_size=count if isinstance(count, int) else 1, internal=kind,
            )  # fmt: skip
            return _of_op(made, op)
        mma, cluster = given.get("tiled_mma"), given.get("cluster_shape_vmnk")
        if not isinstance(mma, TiledMMA):
            return None
        vmnk = number(c, m.dialect.to_model(cluster)) if multicast and cluster is not None else (1, 1, 1, 1)
        made = model.make_tma_atom_sm100(
            operand, name, gmem.layout, gmem.dtype, smem, mma_tiler=tiler, mma=mma, cluster_vmnk=vmnk, internal=kind
        )  # fmt: skip
        return _of_op(made, op)
    except _FAILURES:
        return None


@builtin("cute.tma_of_map")
def _of_map(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """What programs call beneath ``make_tiled_tma_atom``: the descriptor of their own map from a CTA's values to the
    tensor; the atom, and the tensor of coordinates."""
    given = {**dict(zip(("gmem_tensor", "smem_layout", "cta_v_map", "kind"), args, strict=False)), **kwargs}
    gmem, smem, op = given.get("gmem_tensor"), given.get("smem_layout"), given.get("kind")
    if not isinstance(gmem, TensorVal) or not isinstance(gmem.layout, Layout) or gmem.dtype is None:
        return Unknown("a TMA descriptor on a tensor that is not followed", span)
    atom: CopyAtom | None = None
    count = given.get("num_multicast", 1)
    through = m.dialect.to_model(given.get("cta_v_map"))
    if isinstance(op, OpValue) and isinstance(smem, (Layout, ComposedLayout)) and isinstance(through, Layout):
        name = "SM90_TMA_LOAD_MULTICAST" if "Multicast" in op.name else "SM90_TMA_LOAD"
        try:
            made = model.atom_of_map(
                name, gmem.layout, gmem.dtype, smem, through,
                num_multicast=count if isinstance(count, int) else None, internal=gmem.dtype,
            )  # fmt: skip
            atom = _of_op(made, op)
        except _FAILURES:
            atom = None
    return (TmaAtom(op, atom), _coordinates(m, gmem, atom, given.get("internal_type"), span))


@builtin("CopyAtom()")
def _copy_atom(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``cute.CopyAtom(op, trait)`` of a descriptor."""
    given = {**dict(zip(("op", "trait"), args, strict=False)), **kwargs}
    trait = given.get("trait")
    return replace(trait, op=given.get("op")) if isinstance(trait, TmaAtom) else Extern("CopyAtom", span)


def _of_op(atom: CopyAtom, op: OpValue) -> CopyAtom:
    """An atom of ``CtaGroup.TWO`` says so: its loads tell the barrier of the first of two CTAs. So does one that adds
    to what is in memory."""
    if "Reduce" in op.name:
        return replace(atom, extra=(*atom.extra, ("adds", "1")))
    two = getattr(op.get("cta_group"), "name", "") == "TWO"
    return replace(atom, extra=(*atom.extra, ("ctas", "2"))) if two else atom


def _same_tile(m: Machine, smem: Layout | ComposedLayout, tiler: Any, span: Span) -> None:
    """The DSL refuses a box that is not the tile of shared memory, mode by mode."""
    if not isinstance(tiler, tuple) or alg.rank(smem) != len(tiler) or any(isinstance(n, Layout) for n in tiler):
        return
    sizes = [(known_value(alg.size(alg.get(smem, i))), known_value(it.product(n))) for i, n in enumerate(tiler)]
    if all(None not in pair for pair in sizes) and any(a != b for a, b in sizes):
        box, tile = (",".join(str(pair[k]) for pair in sizes) for k in (1, 0))
        reason = f"the DSL rejects make_tiled_tma_atom: a box of ({box}) for a tile of ({tile}) in shared memory"
        m.recorder.called(m, Call(m, "make_tiled_tma_atom", (), [], span), Unknown(reason, span, True))


def _coordinates(m: Machine, gmem: TensorVal, atom: CopyAtom | None, internal: Value, span: Span) -> Value:
    """The tensor of coordinates: as the descriptor's modes say, or each mode its own where no type is recast."""
    found = atom.tensor_map if atom is not None else None
    if isinstance(found, TensorMap):
        origin = tuple(0 for _ in range(alg.rank(found.basis)))
        return TensorVal(found.coordinates(alg.shape(gmem.layout)), None, "coord", None, origin)
    if isinstance(internal, ScalarType) and gmem.dtype is not None and internal.dtype.bits != gmem.dtype.bits:
        return Unknown("a TMA descriptor whose elements are recast is not modelled here", span)
    assert isinstance(gmem.layout, Layout)
    if any(isinstance(d, tuple) for d in it.wrap(gmem.layout.stride)):
        return Unknown("a TMA descriptor on a tensor of nested modes is not modelled here", span)
    return coordinates(gmem)


def coordinates(t: TensorVal) -> TensorVal:
    """The coordinate tensor of a TMA descriptor on a global tensor."""
    layout = t.layout
    assert isinstance(layout, Layout)
    shape, stride = layout.shape, layout.stride
    leaves = list(it.leaves(stride)) if isinstance(stride, tuple) else [stride]
    order = sorted(
        (i for i, d in enumerate(leaves) if not (isinstance(d, int) and d == 0)),
        key=lambda i: (0 if leaves[i] == 1 else 1, leaves[i] if isinstance(leaves[i], int) else 0, i),
    )
    position = {i: k for k, i in enumerate(order)}
    counter = iter(range(len(leaves)))

    def rebuild(d: Any) -> Any:
        if isinstance(d, tuple):
            return tuple(rebuild(x) for x in d)
        i = next(counter)
        return ScaledBasis(1, (position[i],)) if i in position else 0

    made = Layout(shape, rebuild(stride))
    return TensorVal(made, None, "coord", None, (0,) * len(order))


@builtin("cute.tma_partition")
def _tma_partition(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``(shared, global)``, each ((values of one transfer, transfers), rest ...)."""
    names = ("atom", "cta_coord", "cta_layout", "smem_tensor", "gmem_tensor")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    bad = next((v for v in given.values() if isinstance(v, Unknown)), None)
    if bad is not None:
        return (bad, bad)
    found = guarded(m, "tma_partition", span, lambda: _partition(m, given, span))
    sites.named(m, "cute.nvgpu.cpasync.helpers.tma_partition", args, kwargs, found, None, span)
    return (found, found) if isinstance(found, Unknown) else found


def _folded(offset: Any) -> Any:
    """As the DSL folds them: numbers that are known are no run-time numbers (where in its tile a CTA's part starts)."""
    if isinstance(offset, tuple):
        return tuple(map(_folded, offset))
    known = known_value(offset) if isinstance(offset, Dyn) else None
    return offset if known is None else known


def _partition(m: Machine, given: dict[str, Value], span: Span) -> Value:
    atom, smem, gmem = given["atom"], given["smem_tensor"], given["gmem_tensor"]
    if not isinstance(atom, TmaAtom) or not isinstance(atom.atom, CopyAtom):
        raise Unsupported("tma_partition with a TMA descriptor whose box is not modelled")
    for t in (smem, gmem):
        if not isinstance(t, TensorVal):
            raise Unsupported("tma_partition of a tensor that is not followed")
        if isinstance(t.layout, Unknown):
            return t.layout
    if not isinstance(smem.layout, Layout) or not isinstance(gmem.layout, Layout):
        raise Unsupported("tma_partition of a layout with a swizzle of its own")
    coord = given["cta_coord"]
    if isinstance(coord, (Scalar, Extern)):
        coord = m.fresh("cta")
    cta_layout = given["cta_layout"]
    if not isinstance(cta_layout, Layout):
        cta_layout = alg.make_layout(m.dialect.to_model(cta_layout))
    parts = model.tma_partition(atom.atom, m.dialect.to_model(coord), cta_layout, smem.layout, gmem.layout)
    out = []
    for t, (layout, offset) in zip((gmem, smem), parts, strict=True):
        start: Any = _folded(offset_value(offset))
        moved = t.offset if isinstance(t.offset, Unknown) else it.plus(t.offset, start)
        out.append(t.derive(layout, moved, "partition", atom.atom))
    return tuple(reversed(out))


__all__ = ["NAMES", "coordinates"]
