"""Layout functions: canonical CuTe name to the model's algebra."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from cutecheck.model import algebra as alg
from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.constants import truth_constant
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError
from cutecheck.model.layout import ComposedLayout, Layout, Major, SmemPtrFlag, Swizzle
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function, method_of
from cutecheck.source.eval.tuples import Pair
from cutecheck.source.eval.values import Pointer, Scalar, Slice, TensorVal, Value, ValueType

LAYOUTS = (Layout, ComposedLayout)


def on_tensor(c: Call, f: Callable[..., Any]) -> Value:
    """Apply a layout function to the layout of a tensor (or to the layout itself)."""
    first = c.arg(0)
    rest = [x.layout if isinstance(x, TensorVal) else x for x in c.args[1:]]
    if isinstance(first, TensorVal):
        if not isinstance(first.layout, LAYOUTS):
            return first.layout
        return first.derive(f(first.layout, *rest), first.offset, first.provenance)
    return f(first, *rest)


@function(
    "make_shape",
    "make_stride",
    "make_step",
    "make_coord",
    "make_tile",
    "make_tuple",
    "make_int_tuple",
    "make_arithmetic_tuple",
    "make_pair",
)
def _make_tuple(c: Call) -> Value:
    return Pair(c.args) if c.name == "make_pair" else tuple(c.args)


@function("make_layout")
def _make_layout(c: Call) -> Value:
    return alg.make_layout(*c.args)


@function("make_ordered_layout")
def _ordered(c: Call) -> Value:
    return alg.make_ordered_layout(c.arg(0), c.arg(1))


@function("tile_to_shape", configuring=True)
def _tile_to_shape(c: Call) -> Value:
    return alg.tile_to_shape(*c.args)


@function("composition")
def _composition(c: Call) -> Value:
    return on_tensor(c, alg.composition)


@function("make_composed_layout")
def _composed(c: Call) -> Value:
    return alg.composition(*c.args)


def _plain(name: str) -> Callable[[Call], Value]:
    def run(c: Call) -> Value:
        f = getattr(alg, name)
        if c.args and isinstance(c.arg(0), Pointer):
            raise Unsupported(f"{name} of an array whose elements are not known")
        modes = c.ints() if c.targs else ()
        if modes:
            return on_tensor(c, lambda first, *rest: f(first, *modes, *rest))
        return on_tensor(c, f)

    return run


for _name in (
    "coalesce", "complement", "right_inverse", "left_inverse", "logical_divide", "zipped_divide", "tiled_divide",
    "flat_divide", "logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product",
    "raked_product", "filter_zeros", "filter", "nullspace", "flatten", "make_layout_like", "make_identity_layout",
    "max_common_layout", "max_common_vector", "max_alignment", "domain_distribute", "coprofile", "compact_order",
    "compact_col_major", "compact_row_major", "with_shape", "shape_div", "idx2crd", "crd2crd", "unflatten", "zip",
    "get_swizzle_portion", "upcast", "downcast", "group", "take", "select",
    "product", "product_each", "product_like", "coalesce_x",
):  # fmt: skip
    function(_name)(_plain(_name))


@function("compact_major")
def _compact_major(c: Call) -> Value:
    """``compact_major<LayoutRight>(shape)``: strides of a compact layout, in that order."""
    major = c.targs[0] if c.targs else None
    major = major.value if isinstance(major, ValueType) else major
    if not isinstance(major, Major):
        raise Unsupported("`compact_major` in an order that is not known")
    return alg.compact_major(c.arg(0), c.arg(1) if len(c.args) > 1 else 1, major)


@function("recast_layout")
def _recast_layout(c: Call) -> Value:
    from cutecheck.source.eval.intrinsics.types import element

    old, new = (element(t) for t in c.targs)
    if old is None or new is None:
        raise Unsupported("recast_layout between types whose widths are not known")
    return on_tensor(c, lambda x: alg.recast_layout(x, old, new))


@function("append", "prepend")
def _extend(c: Call) -> Value:
    f = alg.append if c.name == "append" else alg.prepend
    rank = c.ints()[0] if c.targs else None
    return on_tensor(c, lambda x, *rest: f(x, *rest, rank=rank) if rank is not None else f(x, *rest))


@function("replace")
def _replace(c: Call) -> Value:
    """``replace<N>(x, y)``: the Nth element of a tuple, or mode of a layout, is another."""
    x, y = c.arg(0), c.arg(1)
    if not c.targs or not isinstance(x, (tuple, Layout)) or isinstance(x, Layout) != isinstance(y, Layout):
        raise Unsupported("replace of something that is no tuple and no layout")
    (n,) = c.ints()

    def exchanged(whole: Any, part: Any) -> Any:
        if not 0 <= n < (len(whole) if isinstance(whole, tuple) else 1):
            raise CuteError("replace of an element that is not there", n, whole)
        return (*whole[:n], part, *whole[n + 1 :]) if isinstance(whole, tuple) else part

    if isinstance(x, Layout) and isinstance(y, Layout):
        return Layout(exchanged(x.shape, y.shape), exchanged(x.stride, y.stride))
    return exchanged(x, y)


@function("group_modes")
def _group_modes(c: Call) -> Value:
    b, e = c.ints()
    return on_tensor(c, lambda x: alg.group(x, b, e))


@function("get_nonswizzle_portion")
def _nonswizzle(c: Call) -> Value:
    return on_tensor(c, alg.get_nonswizzle_portion)


@function("size", "cosize", "coshape", "rank", "depth", "shape", "stride", "get", "layout")
def _measure(c: Call) -> Value:
    modes = c.ints()
    first = c.arg(0)
    if c.name == "layout" and isinstance(first, TensorVal) and modes:
        return alg.layout(without_pointer_swizzle(first.layout), *modes)
    if isinstance(first, TensorVal):
        if c.name == "get":
            raise Unsupported("get<> of a tensor")
        if not isinstance(first.layout, LAYOUTS):
            return first.layout
        first = without_pointer_swizzle(first.layout)
    if c.name == "layout":
        return alg.layout(first, *modes)
    if hasattr(first, "layout_tv") or hasattr(first, "thr_layout_vmnk"):
        if c.name == "size":
            return first.num_thr if hasattr(first, "layout_tv") else first.size
        if c.name == "shape":
            raise Unsupported("shape of a tiled object")
    if isinstance(first, Slice):
        raise Unsupported(f"{c.name} of a slice")
    if isinstance(first, Swizzle):
        raise Unsupported(f"{c.name} of a swizzle")
    return getattr(alg, c.name)(first, *modes)


@function("size_v", "cosize_v", "rank_v", "depth_v")
def _measure_v(c: Call) -> Value:
    return getattr(alg, c.name[:-2])(c.arg(0))


@function("crd2idx")
def _crd2idx(c: Call) -> Value:
    return alg.crd2idx(*c.args)


@function("ceil_div")
def _ceil_div(c: Call) -> Value:
    return it.ceil_div(c.arg(0), c.arg(1))


@function("round_up", "round_nearest")
def _round_up(c: Call) -> Value:
    return it.round_up(c.arg(0), c.arg(1))


@function("front", "back")
def _ends(c: Call) -> Value:
    return it.front(c.arg(0)) if c.name == "front" else it.back(c.arg(0))


@function("as_arithmetic_tuple")
def _coordinate(c: Call) -> Value:
    """A tuple that can be added to; so can every tuple here."""
    if not isinstance(c.arg(0), (tuple, int, Dyn)):
        raise Unsupported("as_arithmetic_tuple of something that is not a tuple")
    return c.arg(0)


@function("repeat_like")
def _repeat_like(c: Call) -> Value:
    return it.repeat_like(c.arg(0), c.arg(1))


@function("repeat")
def _repeat(c: Call) -> Value:
    return it.repeat(c.arg(0), c.ints()[0])


@function("reverse")
def _reverse(c: Call) -> Value:
    return it.reverse(c.arg(0))


@function("conditional_return")
def _conditional_return(c: Call) -> Value:
    if c.targs:
        return c.arg(0) if c.ints()[0] else c.arg(1)
    known = c.m.dialect.truth(c.arg(0))
    if known is None:
        raise Unsupported("conditional_return on an unknown condition")
    return c.arg(1) if known else c.arg(2)


@function("slice", "dice", "slice_and_offset", "domain_offset")
def _slice(c: Call) -> Value:
    coord, x = c.arg(0), c.arg(1)
    if isinstance(x, TensorVal):
        from cutecheck.source.eval.intrinsics.tensors import moved, sliced

        return moved(c, x, coord) if c.name == "domain_offset" else sliced(c, x, coord)
    return getattr(alg, c.name)(coord, x)


_ORDERS = {"elem": alg.elem_less, "lex": alg.lex_less, "colex": alg.colex_less}


@function("compatible", "congruent", "weakly_compatible", "weakly_congruent", "evenly_divides")
def _relations(c: Call) -> Value:
    a, b = c.arg(0), c.arg(1)
    return _answer(c, getattr(alg, c.name)(a, b), c.name.endswith("congruent"))


@function(*(f"{order}_{way}" for order in _ORDERS for way in ("less", "leq", "gtr", "geq")))
def _in_order(c: Call) -> Value:
    order, _, way = c.name.rpartition("_")
    a, b = (c.arg(1), c.arg(0)) if way in ("leq", "gtr") else (c.arg(0), c.arg(1))
    less = way in ("less", "gtr")
    try:
        return _answer(c, _ORDERS[order](a, b) is less)
    except UndecidedError:
        found = _compared(c, a, b, less) if order == "elem" and c.m.dialect.by_value else None
        if found is None:
            raise
        return found


def _compared(c: Call, a: Any, b: Any, less: bool) -> Value:
    """What ``elem_less`` of run-time numbers is, as ``<`` and ``&&`` have it; of one number also that it is not. None
    of others."""
    left, right = it.flatten_to_tuple(a), it.flatten_to_tuple(b)
    numbers = all(isinstance(n, (int, Dyn, Sym)) for n in (*left, *right))
    if not numbers or not alg.congruent(a, b) or not (less or len(left) == 1):
        return None
    from cutecheck.source.eval.expressions.operators import both_or_either

    sides = [tuple(map(c.m.dialect.from_model, pair)) for pair in zip(left, right, strict=True)]
    if not less:
        return c.m.dialect.binary("<=", sides[0][1], sides[0][0], c.span)
    said = [c.m.dialect.binary("<", x, y, c.span) for x, y in sides]
    if any(c.m.dialect.truth(v) is False for v in said):
        return Scalar(0, "bool")
    return reduce(partial(both_or_either, c.m, True), [v for v in said if c.m.dialect.truth(v) is None])


def _answer(c: Call, known: bool, static: bool = False) -> Value:
    """A constant where what is compared is one."""
    static = static or (it.is_static(c.arg(0)) and it.is_static(c.arg(1)))
    return truth_constant(known) if static else Scalar(int(known), "bool")


@function("as_position_independent_swizzle_layout")
def _position_independent(c: Call) -> Value:
    layout = c.arg(0)
    if not isinstance(layout, ComposedLayout) or not isinstance(layout.offset, SmemPtrFlag):
        raise Unsupported("a layout without a flag of its pointer")
    return alg.as_position_independent_swizzle_layout(layout)


@function("is_static", "is_static_v")
def _is_static(c: Call) -> Value:
    return truth_constant(it.is_static(c.arg(0)))


# ------------------------------------------------------------------ methods and calls of layout values


@method_of("layout", "shape", "stride", "size", "cosize", "rank", "depth")
def _layout_part(c: Call) -> Value:
    return getattr(alg, c.name)(c.arg(0), *(c.ints() if c.targs else ()))


@method_of(
    "layout", "layout", "layout_fn", "compose", "with_shape", "tile", "get_1d_coord", "get_hier_coord", "get_flat_coord"
)
def _layout_other(c: Call) -> Value:
    first, rest = c.arg(0), c.args[1:]
    if c.name in ("layout", "layout_fn"):
        return first
    if c.name == "compose":
        return alg.composition(first, rest[0] if len(rest) == 1 else tuple(rest))
    if c.name == "with_shape":
        return alg.with_shape(first, rest[0] if len(rest) == 1 else tuple(rest))
    if c.name == "tile":
        return alg.tiled_divide(first, rest[0] if len(rest) == 1 else tuple(rest))
    return getattr(alg, c.name)(first, *rest)


@method_of("layout", "layout_a", "layout_b", "offset")
def _composed_part(c: Call) -> Value:
    first = c.arg(0)
    if not isinstance(first, ComposedLayout):
        raise Unsupported(f"{c.name}() of a plain layout")
    return {"layout_a": first.a, "layout_b": first.b, "offset": first.offset}[c.name]


def call_layout(x: Any, args: list[Value]) -> Value:
    """``layout(coord)``: an index, or a sub-layout where the coordinate has ``_``."""
    coord = args[0] if len(args) == 1 else tuple(args)
    if alg.has_underscore(coord):
        return alg.slice(coord, x)
    return alg.apply_layout(x, coord)


def is_int(v: object) -> bool:
    return isinstance(v, (int, Dyn, Sym)) and not isinstance(v, bool)


def is_leaf(v: object) -> bool:
    return is_int(v) or isinstance(v, (ScaledBasis, Underscore))


def multiply(a: Any, b: Any) -> Any:
    return ints.mul(a, b)


def under_pointer(layout: Any, part: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Take part of a tensor's layout; a swizzle on shared-memory addresses belongs to its pointer and stays as it is.

    ``make_tensor`` moves it there (``cute/pointer_flagged.hpp``), so slices and partitions see the plain layout under
    it, and their offsets count before the swizzle.
    """
    if isinstance(layout, ComposedLayout) and isinstance(layout.offset, SmemPtrFlag) and isinstance(layout.b, Layout):
        inner, offset = part(layout.b)
        return ComposedLayout(layout.a, layout.offset, inner), offset
    return part(layout)


def without_pointer_swizzle(layout: Any) -> Any:
    """A tensor of a flagged layout has the swizzle in its pointer and a plain layout (``cute/pointer_flagged.hpp``)."""
    if isinstance(layout, ComposedLayout) and isinstance(layout.offset, SmemPtrFlag):
        return layout.b
    return layout
