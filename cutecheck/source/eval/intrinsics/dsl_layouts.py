"""Layout functions of the DSL: keyword arguments and tensors to the model's algebra."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import expr as ex
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import dsl
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.basis import ScaledBasis, Underscore, X
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.units import byte_count
from cutecheck.source.eval.intrinsics import tensors
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.threads import varies
from cutecheck.source.eval.undetermined import undetermined
from cutecheck.source.eval.values import EnumVal, Extern, Pointer, Scalar, ScalarType, Slice, TensorVal, Value

KNOWN = (
    int, Dyn, Sym, ScaledBasis, Underscore, Layout, ComposedLayout, Swizzle, TensorVal, TiledCopy, TiledMMA, CopyAtom,
    MMAAtom, Slice, ScalarType, Pointer, EnumVal, float, str, type(None),
)  # fmt: skip
MAX_MODES = 1024
_MOST_BLOCKS = 16  # of a cluster
_COUNTED = {"append": 2, "prepend": 2, "repeat": 1}  # the argument that says how many modes come out
_OPTIONAL = ("target_profile", "up_to_rank", "end", "stride", "order", "proj", "pred", "swizzle", "dtype")


def number(c: Call, v: Value) -> Any:
    """A value as part of a shape or coordinate: what is known at run time only becomes a run-time integer."""
    if isinstance(v, (tuple, list)):
        return tuple(number(c, x) for x in v)
    if isinstance(v, (Scalar, Extern)):
        if isinstance(v, Scalar) and isinstance(v.value, (int, Dyn)):
            return v.value
        if isinstance(v, Scalar) and v.ctype.endswith("_t"):  # an element, or a conversion to a type of the device
            return c.m.fresh("value")
        return undetermined(c.m, v.what if isinstance(v, Extern) and len(v.what) < 80 else "value")
    if isinstance(v, Unknown):
        raise Unsupported(v.reason)
    if not isinstance(v, KNOWN):
        raise Unsupported("a shape or coordinate that is not known")
    return v


def keywords(c: Call) -> dict[str, Any]:
    out = {}
    for k, v in c.kwargs.items():
        if k in ("loc", "ip"):
            continue
        out[k] = None if isinstance(v, Underscore) and k in _OPTIONAL else number(c, v)
    return out


def layout_of(v: Value) -> Any:
    if isinstance(v, TensorVal):
        if isinstance(v.layout, Unknown):
            raise Unsupported(v.layout.reason)
        return v.layout
    return v


def _extents(v: Any) -> Any:
    """A shape; a tile's layouts stand for their own."""
    if isinstance(v, tuple):
        return tuple(_extents(x) for x in v)
    return v.shape if isinstance(v, Layout) else v


def _run(name: str) -> Any:
    def run(c: Call) -> Value:
        args = [number(c, a) for a in c.args]
        kwargs = keywords(c)
        if name in _COUNTED:
            counts = (*args[_COUNTED[name] :], *(v for k, v in kwargs.items() if k != "elem"))
            _few(*(a for a in counts if isinstance(a, int)))
        if args and isinstance(args[0], TensorVal):
            t = args[0]
            rest = [layout_of(a) for a in args[1:]]
            result = dsl.call(name, [layout_of(t), *rest], {k: layout_of(v) for k, v in kwargs.items()})
            if isinstance(result, (Layout, ComposedLayout)):
                made = t.derive(result, t.offset, t.provenance)
                return replace(made, tile=layout_of(t)) if name == "composition" and _is_tile(t) else made
            return result
        plain = [layout_of(a) for a in args]
        if name in ("product_each", "product", "product_like"):
            plain = [_extents(a) for a in plain]
        if name == "complement" and len(plain) + len(kwargs) == 2:
            return dsl.traced_complement(plain[0], plain[1] if len(plain) > 1 else kwargs["cotarget"])
        return still_composed(plain, dsl.call(name, plain, {k: layout_of(v) for k, v in kwargs.items()}))

    return run


def _is_tile(t: TensorVal) -> bool:
    """A part of global memory, of so many elements: by a layout of threads and values each thread has a part of it."""
    if t.space != "gmem" or t.tile is not None or t.root is None:
        return False
    own, whole = (alg.size(layout) for layout in (layout_of(t), t.root))
    return isinstance(own, int) and own != whole


def _few(*counts: int) -> None:
    """Raises Unsupported for more modes than any layout of a kernel has."""
    if any(n > MAX_MODES for n in counts):
        raise Unsupported(f"a shape of over {MAX_MODES} modes")


def still_composed(args: list[Any], result: Any) -> Any:
    """What was composed with a swizzle that does nothing stays so, where C++ CuTe leaves the layout alone."""
    first = args[0] if args else None
    if isinstance(first, ComposedLayout) and isinstance(first.a, Swizzle) and first.a.bits == 0:
        return ComposedLayout(first.a, first.offset, result) if isinstance(result, Layout) else result
    return result


for _name in (
    "make_swizzle", "make_layout", "make_ordered_layout", "coalesce", "filter", "filter_zeros", "complement",
    "right_inverse", "left_inverse", "select", "group_modes", "append", "prepend", "rank", "get", "tiled_divide",
    "raked_product", "make_layout_tv", "tile_to_shape", "recast_layout",
    "composition", "crd2idx", "idx2crd", "logical_divide", "zipped_divide", "flat_divide", "logical_product",
    "zipped_product", "tiled_product", "flat_product", "blocked_product", "flatten", "depth", "nullspace",
    "make_identity_layout", "max_common_layout", "max_common_vector", "get_swizzle_portion", "get_nonswizzle_portion",
    "make_composed_layout", "round_up", "shape_div", "product", "product_each", "product_like", "repeat",
    "front", "dice", "is_congruent", "is_weakly_congruent", "make_layout_like",
):  # fmt: skip
    function(f"dsl.{_name}")(_run(_name))


@function("dsl.ceil_div")
def _ceil_div(c: Call) -> Value:
    return _ceil_divide(number(c, c.arg(0)), number(c, c.arg(1)))


def _ceil_divide(a: Any, b: Any) -> Any:
    """Mode by mode; a mode of several extents counts as their product against one number."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return (*(_ceil_divide(x, y) for x, y in zip(a, b, strict=False)), *a[len(b) :])
    return it.ceil_div(it.product(a) if isinstance(a, tuple) else a, b)


@function("dsl.size", "dsl.cosize", "dsl.shape")
def _size(c: Call) -> Value:
    first = c.arg(0)
    name = c.name[4:]
    mode = c.kwargs.get("mode", c.args[1] if len(c.args) > 1 else ())
    modes = mode if isinstance(mode, tuple) else (mode,)
    if isinstance(first, (TiledMMA, TiledCopy)):
        return first.size if isinstance(first, TiledMMA) else first.num_thr
    if isinstance(first, (CopyAtom, MMAAtom)):
        return alg.size(first.thr_id)
    first = number(c, layout_of(first))
    if name == "shape" and isinstance(first, tuple):
        first = _extents(first)
    if isinstance(modes, tuple) and modes == (X,):
        modes = ()
    return getattr(alg, name)(first, *modes)


@function("dsl.size_in_bytes")
def _size_in_bytes(c: Call) -> Value:
    from cutecheck.source.eval.values import ScalarType

    t, layout = c.arg(0), layout_of(c.arg(1))
    if not isinstance(t, ScalarType) or t.dtype.bits is None:
        raise Unsupported("size_in_bytes of an unknown element type")
    if isinstance(layout, ComposedLayout):
        layout = layout.b
    if isinstance(layout, Underscore):
        return 0  # no layout, no memory
    total = layout if isinstance(layout, (int, Dyn)) else alg.cosize(layout)
    size = byte_count(total, t.dtype.bits)
    return int(size) if isinstance(size, int) else size


@function("dsl.slice_")
def _slice(c: Call) -> Value:
    src, coord = c.arg(0), number(c, c.args[1] if len(c.args) > 1 else c.kwargs["coord"])
    if isinstance(src, TensorVal):
        return tensors.sliced(c, src, coord)
    part = alg.slice(coord, src)
    if isinstance(part, Layout) and isinstance(src, ComposedLayout) and isinstance(src.a, Swizzle):
        return ComposedLayout(Swizzle(0, 4, 3), 0, part)  # C++ CuTe leaves the layout alone
    return part


@function("dsl.slice_and_offset")
def _slice_and_offset(c: Call) -> Value:
    """The coordinate first, unlike ``slice_``."""
    coord, src = number(c, c.arg(0)), c.args[1] if len(c.args) > 1 else c.kwargs["src"]
    if not isinstance(src, Layout):
        raise Unsupported("slice_and_offset of what is no plain layout")
    return alg.slice(coord, src), alg.crd2idx(coord, src)


@function("dsl.domain_offset")
def _domain_offset(c: Call) -> Value:
    coord, t = number(c, c.arg(0)), c.arg(1)
    if isinstance(t, TensorVal):
        return tensors.moved(c, t, coord)
    return alg.domain_offset(coord, t)


@function("dsl.local_tile", "dsl.local_partition")
def _local(c: Call) -> Value:
    names = ("input", "tiler", "coord", "proj") if c.name == "dsl.local_tile" else ("target", "tiler", "index", "proj")
    given = dict(zip(names, c.args, strict=False))
    given.update({k: v for k, v in c.kwargs.items() if k in names})
    t = given[names[0]]
    tiler, coord = number(c, given["tiler"]), number(c, given[names[2]])
    proj = given.get("proj")
    if proj is not None and not isinstance(proj, Underscore):
        # a coordinate may name more modes than the tiler has: those are taken as they are
        extra = len(coord) - len(proj) if isinstance(coord, tuple) and isinstance(proj, tuple) else 0
        tiler = alg.dice(proj, tiler)
        if c.name == "dsl.local_tile":
            coord = alg.dice((*proj, *(1,) * extra), coord) if extra > 0 else alg.dice(proj, coord)
    args = [t, tiler, coord]
    if not isinstance(t, TensorVal):
        raise Unsupported(f"{c.name} of something that is not a tensor")
    from cutecheck.source.eval.intrinsics.registry import FUNCTIONS

    return FUNCTIONS[c.name[4:]](Call(c.m, c.name[4:], (), args, c.span, {}, list(args)))


@function("dsl.elem_less", tolerant=True)
def _elem_less(c: Call) -> Value:
    try:
        a, b = number(c, c.arg(0)), number(c, c.arg(1))
        if it.is_static((a, b)):
            return bool(alg.elem_less(a, b))
        if c.m.dialect.replaying is not None:
            return _all_less(c, it.flatten_to_tuple(a), it.flatten_to_tuple(b))
    except (Unsupported, TypeError, ValueError):
        pass
    return Scalar(None, "bool")


def _all_less(c: Call, a: tuple[Any, ...], b: tuple[Any, ...]) -> Value:
    """In a kernel that is run pass by pass: what is not decided keeps what it depends on."""
    found = [c.m.dialect.binary("<", x, y, c.span) for x, y in zip(a, b, strict=True)]
    known = [c.m.dialect.truth(v) for v in found]
    if False in known:
        return False
    open_ = [v for v, k in zip(found, known, strict=True) if k is None]
    return next((v for v in open_ if varies(v)), open_[0]) if open_ else True


@function("dsl.is_static")
def _is_static(c: Call) -> Value:
    v = layout_of(c.arg(0))
    if isinstance(v, Layout):
        v = (v.shape, v.stride)
    if isinstance(v, ComposedLayout):
        v = (v.b.shape, v.b.stride) if isinstance(v.b, Layout) else 0
    return it.is_static(v) if not isinstance(v, (Scalar, Extern)) else False


@function("dsl.rank_of", "dsl.has_underscore")
def _underscore(c: Call) -> Value:
    return alg.has_underscore(c.arg(0))


@function("dsl.flatten_to_tuple")
def _flatten_to_tuple(c: Call) -> Value:
    return tuple(it.leaves(c.arg(0))) if isinstance(c.arg(0), tuple) else (c.arg(0),)


@function("dsl.append_ones", "dsl.prepend_ones")
def _ones(c: Call) -> Value:
    t = c.arg(0)
    up = c.kwargs.get("up_to_rank", c.args[1] if len(c.args) > 1 else None)
    x = layout_of(t)
    if not isinstance(up, int):
        up = alg.rank(x) + 1
    _few(up)
    f = alg.append if c.name == "dsl.append_ones" else alg.prepend
    one: Any = Layout(1, 0) if isinstance(x, (Layout, ComposedLayout)) else 1
    result = f(x, one, rank=up)
    return t.derive(result, t.offset, t.provenance) if isinstance(t, TensorVal) else result


@function("dsl.is_major", "dsl.leading_dim")
def _leading(c: Call) -> Value:
    mode, stride = (c.arg(0), c.arg(1)) if c.name == "dsl.is_major" else (None, c.arg(1))
    found = alg.get(stride, mode) if mode is not None else stride
    if c.name == "dsl.is_major":
        return found == 1
    return leading_dim(c.arg(0), stride)


def leading_dim(shape: Any, stride: Any) -> Any:
    """The mode with unit stride; several nested give a tuple path; None when there is none."""
    if not isinstance(stride, tuple):
        return 0 if stride == 1 and shape != 1 else None
    for i, d in enumerate(stride):
        s = shape[i] if isinstance(shape, tuple) else shape
        if isinstance(d, tuple):
            inner = leading_dim(s, d)
            if inner is not None:
                return (i, *(inner if isinstance(inner, tuple) else (inner,)))
        elif isinstance(d, int) and d == 1 and not (isinstance(s, int) and s == 1):
            return i
    return None


@function("dsl.assume", tolerant=True)
def _assume(c: Call) -> Value:
    from cutecheck.model.expr import Domain

    v = c.arg(0)
    by = c.kwargs.get("divby", c.args[1] if len(c.args) > 1 else None)
    if isinstance(v, (Dyn, Scalar, Extern)) and isinstance(by, int) and by > 1:
        wide = isinstance(v, Dyn) and any(x.name.endswith(":i64") for x in v.expr.variables())
        made = c.m.fresh("assumed", Domain(step=by))
        if wide:
            return Dyn.named(f"assumed#{ex.divisor(made.expr)}#{c.m.number()}:i64", Domain(step=by))
        return made
    return v


@function("dsl.make_layout_image_mask", tolerant=True)
def _mask(c: Call) -> Value:
    """A bit for each block along one mode, at the coordinate's place along the others."""
    layout, coord = c.arg(0), number(c, c.arg(1))
    mode = c.args[2] if len(c.args) > 2 else c.kwargs.get("mode")
    flat = isinstance(layout, Layout) and isinstance(layout.shape, tuple) and isinstance(coord, tuple)
    if not flat or not isinstance(mode, int) or len(coord) != len(layout.shape) or not 0 <= mode < len(coord):
        return c.m.fresh("mask")
    many = alg.size(layout.shape[mode])
    if not isinstance(many, int) or many > _MOST_BLOCKS:
        return c.m.fresh("mask")
    places = [alg.crd2idx((*coord[:mode], i, *coord[mode + 1 :]), layout.shape, layout.stride) for i in range(many)]
    if not all(isinstance(place, (int, Dyn)) for place in places):
        return c.m.fresh("mask")
    bits = [ex.op("shl", ex.const(1), as_expr(place)) for place in places]
    whole = reduce(ex.add, bits)
    return Dyn(whole) if whole.constant is None else whole.constant


@function("dsl.E", "dsl.Swizzle")
def _unsupported(c: Call) -> Value:
    if c.name == "dsl.Swizzle":
        raise Unsupported("Swizzle(...)")
    from cutecheck.model.basis import ScaledBasis

    mode = c.arg(0)
    return ScaledBasis(1, mode if isinstance(mode, tuple) else (mode,))


@function("dsl.min", "dsl.max")
def _min_max(c: Call) -> Value:
    from cutecheck.model import ints

    f = ints.minimum if c.name == "dsl.min" else ints.maximum
    values = [number(c, a) for a in (c.args[0] if len(c.args) == 1 and isinstance(c.args[0], tuple) else c.args)]
    out = values[0]
    for v in values[1:]:
        if isinstance(out, (int, Dyn)) and isinstance(v, (int, Dyn)):
            out = f(out, v)
        else:
            return Scalar(None, "float")
    return out


def is_layout(v: object) -> bool:
    return isinstance(v, (Layout, ComposedLayout, Swizzle, Slice))
