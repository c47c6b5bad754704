"""The layout algebra as the Python DSL has it (``nvidia-cutlass-dsl`` 4.8.1): names, parameters and differences.

Where a name is not defined here the DSL agrees with C++ and :func:`call` uses :mod:`cutecheck.model.algebra`.
The differences, seen by running the DSL:

* ``make_layout`` takes no extent below 1, and strides only that are nested as the shape is;
* ``make_swizzle`` turns parameters that make no swizzle into ``S<0,4,3>`` silently;
* ``tile_to_shape`` rounds up where the atom does not divide the target;
* ``recast_layout`` rounds strides up, and takes any ratio (a factor that is no power of two leaves a swizzle alone);
* ``raked_product`` coalesces each mode; ``left_inverse`` of an all-zero layout is ``1:0``;
* ``tiled_divide``, ``flat_divide``, ``tiled_product`` and ``flat_product`` take a rank-1 tuple apart too;
* ``complement`` needs its second argument; ``zipped_divide``, ``tiled_divide`` and ``flat_divide`` take no integer;
* ``logical_divide`` coalesces the rest where the tiler does not divide;
* ``right_inverse`` and ``left_inverse`` take no composed layout, ``select`` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from cutecheck.model import algebra, ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra.construct import stack
from cutecheck.model.basis import Underscore
from cutecheck.model.composed import compose3, on_domain
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, Swizzle
from cutecheck.model.swizzle import downcast_swizzle

NO_SWIZZLE = Swizzle(0, 4, 3)


def make_swizzle(b: int, m: int, s: int) -> Swizzle:
    """``S<b,m,s>``; ``S<0,4,3>``, which does nothing, where these are no swizzle's parameters, or one of no bits."""
    return Swizzle(b, m, s) if b > 0 and m >= 0 and abs(s) >= b else NO_SWIZZLE


def make_layout(shape: IntTuple, *, stride: IntTuple | None = None) -> Layout:
    """CuteError for extents below 1 and for strides that are nested otherwise, which C++ takes."""
    empty = next((n for n in it.leaves(shape) if isinstance(n, int) and n < 1), None)
    if empty is not None:
        raise CuteError(f"expects extents of at least 1, and got {empty}", shape)
    if stride is not None and _nested_otherwise(shape, stride):
        raise CuteError("expects a stride for each extent of the shape, and got", shape, stride)
    return Layout(shape, algebra.compact_major(shape) if stride is None else stride)


def _nested_otherwise(a: object, b: object) -> bool:
    """Two tuples differ in length, or a number stands where the other has a tuple; a run-time value may be either."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) != len(b) or any(map(_nested_otherwise, a, b))
    return any(isinstance(x, tuple) and isinstance(y, int) for x, y in ((a, b), (b, a)))


def make_ordered_layout(shape: IntTuple, order: IntTuple) -> Layout:
    if not algebra.weakly_congruent(order, shape):
        raise CuteError("order has to be weakly congruent to shape", order, shape)
    return algebra.make_ordered_layout(shape, order)


def coalesce(input: AnyLayout, *, target_profile: IntTuple | None = None) -> Any:
    return algebra.coalesce(input, target_profile)


def filter(input: AnyLayout, *, target_profile: IntTuple | None = None) -> Any:
    return algebra.filter(input, target_profile)


def filter_zeros(input: Any, *, target_profile: IntTuple | None = None) -> Any:
    return algebra.filter_zeros(input, target_profile)


def complement(input: AnyLayout, cotarget: Any) -> Layout:
    return algebra.complement(input, cotarget)


def traced_complement(input: AnyLayout, cotarget: Any) -> Layout:
    """What a traced ``complement`` types: of a layout that is not one-to-one too, a gap of 0 as a mode of extent 0.

    The compiler refuses that type when an operation uses it."""
    try:
        return algebra.complement(input, cotarget)
    except CuteError:
        filtered = algebra.filter(input)
        modes = list(zip(it.wrap(filtered.shape), it.wrap(filtered.stride), strict=True))
        known = [(s, d) for s, d in modes if isinstance(s, int) and isinstance(d, int) and s > 0 and d > 0]
        if len(modes) < 2 or len(known) < len(modes) or not isinstance(cotarget, int):
            raise
    shape, stride = [], [1]
    for s, d in sorted(known, key=lambda m: m[1]):
        shape.append(d // stride[-1])
        stride.append(d * s)
    kept = [(s, d) for s, d in zip([*shape, -(-cotarget // stride[-1])], stride, strict=True) if s != 1]
    return Layout(tuple(s for s, _ in kept), tuple(d for _, d in kept))


def right_inverse(input: Any) -> Any:
    if isinstance(input, ComposedLayout):
        raise CuteError("right_inverse expects a Layout", input)
    return algebra.right_inverse(input)


def left_inverse(layout: Any) -> Any:
    if isinstance(layout, ComposedLayout):
        raise CuteError("left_inverse expects a Layout", layout)
    if all(map(it.is_zero, it.leaves(algebra.coalesce(layout).stride))):
        return Layout(1, 0)
    return algebra.left_inverse(layout)


def select(input: Any, mode: Sequence[int]) -> Any:
    if isinstance(input, ComposedLayout):
        return on_domain(input, lambda b: cast(AnyLayout, select(b, mode)))
    return algebra.select(input, *mode)


def group_modes(input: Any, begin: int, end: int | None = None) -> Any:
    return algebra.group(input, begin, -1 if end is None else end)


def append(input: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    return algebra.append(input, elem, rank=up_to_rank)


def prepend(input: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    return algebra.prepend(input, elem, rank=up_to_rank)


def dice(src: Any, dicer: Any) -> Any:
    """The modes that ``dicer`` does not omit; C++ takes the coordinate first."""
    return algebra.dice(dicer, src)


def slice_(src: Any, coord: Any) -> Any:
    return algebra.slice(coord, src)


def _mode(mode: int | Sequence[int]) -> tuple[int, ...]:
    return (mode,) if isinstance(mode, int) else tuple(mode)


def size(a: Any, mode: int | Sequence[int] = ()) -> Any:
    return algebra.size(a, *_mode(mode))


def cosize(a: Any, mode: int | Sequence[int] = ()) -> Any:
    return algebra.cosize(a, *_mode(mode))


def rank(a: Any, mode: int | Sequence[int] = ()) -> int:
    return algebra.rank(a, *_mode(mode))


def get(input: Any, mode: int | Sequence[int]) -> Any:
    return algebra.get(input, *_mode(mode))


def _modes(half: Layout) -> list[Layout]:
    """The modes of one half of a zipped result; C++ leaves a rank-1 tuple whole, the DSL does not."""
    return (
        [cast(Layout, algebra.get(half, i)) for i in range(len(half.shape))]
        if isinstance(half.shape, tuple)
        else [half]
    )


def _unzipped(zipped: AnyLayout, *, first: bool) -> Any:
    """``((a...), b...)`` of ``((a...), (b...))``, and ``(a..., b...)`` if ``first``."""
    if isinstance(zipped, ComposedLayout):
        return on_domain(zipped, lambda b: cast(AnyLayout, _unzipped(b, first=first)))
    a, b = cast(Layout, algebra.get(zipped, 0)), cast(Layout, algebra.get(zipped, 1))
    return stack([*(_modes(a) if first else [a]), *_modes(b)])


def logical_divide(target: AnyLayout, tiler: Any) -> Any:
    """``(tile, rest)``; the rest is coalesced where the tiler does not divide."""
    result = algebra.logical_divide(target, tiler)
    if not isinstance(result, Layout) or isinstance(tiler, (tuple, Underscore)) or not isinstance(result.shape, tuple):
        return result
    had, has = ints.known_value(algebra.size(target)), ints.known_value(algebra.size(result))
    if had is None or has is None or had == has:
        return result
    first, rest = cast(Layout, algebra.get(result, 0)), cast(Layout, algebra.get(result, 1))
    return stack([first, cast(Layout, algebra.coalesce(rest))])


def zipped_divide(target: AnyLayout, tiler: Any) -> Any:
    """``((tile...), (rest...))``; an integer tiler is refused."""
    if isinstance(tiler, (int, ints.Dyn, Underscore)):
        raise CuteError("zipped_divide expects a tile or a layout as its tiler, but got an integer", tiler)
    return algebra.zipped_divide(target, tiler) if isinstance(tiler, tuple) else logical_divide(target, tiler)


def tiled_divide(target: AnyLayout, tiler: Any) -> Any:
    """``((tile...), rest...)``."""
    return _unzipped(zipped_divide(target, tiler), first=False)


def flat_divide(target: AnyLayout, tiler: Any) -> Any:
    """``(tile..., rest...)``."""
    return _unzipped(zipped_divide(target, tiler), first=True)


def tiled_product(block: AnyLayout, tiler: AnyLayout) -> Any:
    """``((block...), tiler...)``."""
    return _unzipped(algebra.zipped_product(block, tiler), first=False)


def flat_product(block: AnyLayout, tiler: AnyLayout) -> Any:
    """``(block..., tiler...)``."""
    return _unzipped(algebra.zipped_product(block, tiler), first=True)


def raked_product(block: AnyLayout, tiler: AnyLayout) -> Any:
    """The block interleaved with the tiler, coalesced mode by mode."""
    if isinstance(block, ComposedLayout):
        return on_domain(block, lambda b: cast(AnyLayout, raked_product(b, tiler)))
    raked = algebra.raked_product(block, tiler)
    return algebra.coalesce(raked, (1,) * algebra.rank(raked))


def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[tuple[Any, ...], Layout]:
    """``(tiler_mn, layout_tv)`` of thread and value layouts, as ``make_tiled_copy_tv`` builds them."""
    product = raked_product(thr_layout, val_layout)
    domain = make_layout((algebra.size(thr_layout), algebra.size(val_layout)))
    tv = algebra.composition(algebra.right_inverse(product), domain)
    return it.product_each(product.shape), tv


def tile_to_shape(atom: AnyLayout, trg_shape: IntTuple, order: IntTuple) -> Any:
    """As in C++, but a target that is no multiple of the atom is rounded up."""
    if isinstance(atom, ComposedLayout):
        return on_domain(atom, lambda b: cast(AnyLayout, tile_to_shape(b, trg_shape, order)))
    modes = it.tuple_rank(trg_shape)
    if algebra.rank(atom) > modes:
        raise CuteError("the atom has more modes than the target", atom, trg_shape)
    block = cast(Layout, algebra.append(atom, rank=modes))
    repeats = it.ceil_div(it.product_each(trg_shape), it.product_each(block.shape))
    return algebra.blocked_product(block, make_ordered_layout(repeats, order))


def recast_layout(new_type_bits: int, src_type_bits: int, src_layout: Any) -> Any:
    """A layout in elements of another width (bits); strides that do not divide round up."""
    common = math.gcd(new_type_bits, src_type_bits)
    up, down = new_type_bits // common, src_type_bits // common
    return _downcast(_upcast(src_layout, up), down)


def _upcast(x: Any, n: int) -> Any:
    if n == 1:
        return x
    if isinstance(x, Swizzle):
        return x if n & (n - 1) else algebra.upcast(x, n)
    if isinstance(x, ComposedLayout):
        offset = ints.ceil_div(x.offset, n) if isinstance(x.offset, int) else algebra.upcast(x.offset, n)
        return compose3(_upcast(x.a, n), offset, _upcast(x.b, n))
    if not isinstance(x, Layout):
        return algebra.upcast(x, n)
    return _upcast_mode(x.shape, x.stride, n)


def _upcast_mode(shape: IntTuple, stride: IntTuple, n: int) -> Layout:
    if isinstance(shape, tuple):
        return stack([_upcast_mode(s, d, n) for s, d in zip(shape, cast("tuple[IntTuple, ...]", stride), strict=True)])
    if it.is_zero(stride):
        return Layout(shape, stride)
    d = it.integer(stride)
    if isinstance(d, ints.Dyn):
        return Layout(shape, ints.div(d, n))
    distance = ints.absolute(d)
    return Layout(it.ceil_div(shape, ints.ceil_div(n, distance)), ints.signum(d) * ints.ceil_div(distance, n))


def _downcast(x: Any, n: int) -> Any:
    if n == 1:
        return x
    if isinstance(x, Swizzle):
        return x if n & (n - 1) else downcast_swizzle(x, n)
    if isinstance(x, ComposedLayout):
        return compose3(_downcast(x.a, n), algebra.downcast(x.offset, n), _downcast(x.b, n))
    return algebra.downcast(x, n)


_CPP_NAMES = {
    "composition", "crd2idx", "idx2crd", "crd2crd",
    "logical_product", "zipped_product", "blocked_product", "flatten", "depth",
    "nullspace", "make_identity_layout", "max_common_layout", "max_common_vector", "get_swizzle_portion",
    "get_nonswizzle_portion", "make_composed_layout", "ceil_div", "round_up", "shape_div", "product",
    "product_each", "product_like", "repeat", "repeat_like", "front", "is_static", "elem_less",
    "is_congruent", "is_weakly_congruent", "domain_offset", "make_layout_like", "upcast", "downcast", "shape",
}  # fmt: skip
_RENAMED = {"is_congruent": "congruent", "is_weakly_congruent": "weakly_congruent"}

_OWN: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        make_swizzle, make_layout, make_ordered_layout, coalesce, filter, filter_zeros, complement, right_inverse,
        left_inverse, select, group_modes, append, prepend, dice, slice_, size, cosize, rank, get, logical_divide,
        zipped_divide, tiled_divide, flat_divide, tiled_product, flat_product, raked_product, make_layout_tv,
        tile_to_shape, recast_layout,
    )
}  # fmt: skip


def call(func: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """``cute.func(*args, **kwargs)`` on model values.

    LookupError for an unknown name, TypeError for arguments that the DSL does not take, CuteError where it refuses.
    """
    own = _OWN.get(func)
    if own is not None:
        return own(*args, **kwargs)
    if func not in _CPP_NAMES:
        raise LookupError(f"no DSL function of this name: {func}")
    return getattr(algebra, _RENAMED.get(func, func))(*args, **kwargs)
