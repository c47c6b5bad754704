"""Composition (``cute/layout.hpp``, ``cute/layout_composed.hpp``, ``cute/swizzle_layout.hpp``)."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import legacy
from cutecheck.model.algebra.construct import make_layout, stack
from cutecheck.model.algebra.coordinates import crd2idx
from cutecheck.model.algebra.simplify import coalesce_x
from cutecheck.model.algebra.structure import coprofile, get, rank
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.composed import compose3, is_static_zero, on_domain
from cutecheck.model.ints import CuteError, Dyn, Int
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, SmemPtrFlag, Swizzle
from cutecheck.model.memo import memoised
from cutecheck.model.swizzle import compose_swizzles, make_swizzle
from cutecheck.model.version import cute_version, of_the_dsl


def composition(*args: Any) -> Any:
    """``composition(a, b)``: the layout with values ``a(b(c))``, with the shape of ``b``.

    ``a`` and ``b`` may be layouts, composed layouts or swizzles; ``b`` may be a tiler (by mode; modes it lacks are
    dropped), an extent or ``_``. ``composition(a, offset, b)`` builds a composed layout. CuteError when an extent or
    stride does not divide.
    """
    if len(args) == 3:
        return compose3(args[0], args[1], args[2])
    a, b = args
    if isinstance(a, Swizzle):
        if isinstance(b, Swizzle):
            return compose_swizzles(a, b)
        if isinstance(b, Layout):
            return compose3(a, 0, b)
        raise CuteError("composition: no overload for these arguments", a, b)
    if isinstance(a, ComposedLayout):
        return on_domain(a, lambda x: cast(AnyLayout, composition(x, b)))
    if isinstance(b, Swizzle):
        return _with_swizzle(a, b)
    if isinstance(b, ComposedLayout):
        if not is_static_zero(b.offset) and not isinstance(b.offset, SmemPtrFlag):
            raise CuteError("composition: Require offset == 0", b)
        return composition(composition(a, b.a), b.b)
    return compose_layouts(a, b)


def _with_swizzle(a: Layout, b: Swizzle) -> AnyLayout:
    """``Layout o Swizzle``: a swizzle that acts on the values of the layout."""
    y, z = crd2idx(b.yyy_mask, a), crd2idx(b.zzz_mask, a)
    if not isinstance(y, int) or not isinstance(z, int):
        raise CuteError("composition with a swizzle needs static values at its masks", a, b)
    return compose3(make_swizzle(y, z), 0, a)


@memoised
def compose_layouts(a: Layout, b: Any) -> Layout:
    """``composition`` of a plain layout with a layout or a tiler."""
    if isinstance(b, Layout):
        stride = b.stride
        flat = coalesce_x(a, 0 if type(stride) is int or _plain(stride) else coprofile(b))
        implementation = _compose if cute_version() >= (3, 9) else legacy.compose
        return implementation(flat.shape, flat.stride, b.shape, b.stride)
    if isinstance(b, tuple):
        if len(b) > rank(a):
            raise CuteError("composition: the tiler has more modes than the layout", a, b)
        modes = [composition(get(a, i), t) for i, t in enumerate(b)]
        for m in modes:
            if not isinstance(m, Layout):
                raise CuteError("make_layout: no overload for a composed layout", m)
        return stack(modes)
    if isinstance(b, Underscore):
        return a
    flat = coalesce_x(a)
    implementation = _compose if cute_version() >= (3, 9) else legacy.compose
    return implementation(flat.shape, flat.stride, it.integer(b), 1)


def _plain(stride: IntTuple) -> bool:
    """No basis element among the leaves."""
    if type(stride) is tuple:
        return all(type(d) is int or _plain(d) for d in stride)
    return not isinstance(stride, ScaledBasis)


def _compose(lhs_shape: IntTuple, lhs_stride: IntTuple, shape: IntTuple, stride: IntTuple) -> Layout:
    if isinstance(shape, tuple):
        if not isinstance(stride, tuple) or len(stride) != len(shape):
            raise CuteError("composition: shape and stride are not congruent", shape, stride)
        return stack([_compose(lhs_shape, lhs_stride, s, d) for s, d in zip(shape, stride, strict=True)])
    if type(stride) is int and type(shape) is int and stride != 0:
        if type(lhs_shape) is tuple:
            return _compose_mode(lhs_shape, cast("tuple[Any, ...]", lhs_stride), shape, stride)
        if type(lhs_stride) is int:
            return Layout(shape, stride * lhs_stride)
    if isinstance(stride, ScaledBasis):
        return _compose(it.get(lhs_shape, *stride.path), it.get(lhs_stride, *stride.path), shape, stride.value)
    if isinstance(stride, tuple):
        raise CuteError("composition: shape and stride are not congruent", shape, stride)
    if it.is_zero(stride):
        return Layout(shape, stride)
    if not isinstance(lhs_shape, tuple):
        return Layout(shape, it.times(stride, lhs_stride))
    return _compose_mode(lhs_shape, cast("tuple[Any, ...]", lhs_stride), it.integer(shape), stride)


def _compose_mode(shapes: tuple[Any, ...], strides: tuple[Any, ...], shape: Int, stride: Int) -> Layout:
    """One integral mode ``shape:stride`` on the right of several modes. The DSL merges what came of it again."""
    found = _compose_flat(shapes, strides, shape, stride)
    return coalesce_x(found) if of_the_dsl() and isinstance(found.shape, tuple) else found


def _compose_flat(shapes: tuple[Any, ...], strides: tuple[Any, ...], shape: Int, stride: Int) -> Layout:
    result_shape: list[IntTuple] = []
    result_stride: list[IntTuple] = []
    for s, d in zip(shapes[:-1], strides[:-1], strict=True):
        if type(s) is int and isinstance(stride, int) and isinstance(shape, int) and s > 0 and stride > 0:
            if stride % s and stride >= s:
                raise CuteError("composition: Stride Divisibility Condition", stride, s)
            inner = -(-s // stride)
            if inner != 1 and shape != 1:
                inner = min(inner, shape)
                if shape % inner:
                    raise CuteError("composition: Shape Divisibility Condition", shape, inner)
                result_shape.append(inner)
                result_stride.append(stride * d if type(d) is int else it.times(stride, d))
                shape //= inner
            stride = -(-stride // s)
            continue
        s = it.integer(s)
        if (
            it.is_static(s)
            and it.is_static(stride)
            and not (ints.equal(ints.mod(stride, s), 0) or ints.less(stride, s))
        ):
            raise CuteError("composition: Stride Divisibility Condition", stride, s)
        next_shape = ints.ceil_div(s, ints.absolute(stride))
        next_stride = ints.ceil_div(ints.absolute(stride), s) * ints.signum(stride)
        if not it.is_one(next_shape) and not it.is_one(shape):
            new_shape = ints.minimum(next_shape, shape)
            if it.is_static(new_shape) and it.is_static(shape) and not ints.equal(ints.mod(shape, new_shape), 0):
                raise CuteError("composition: Shape Divisibility Condition", shape, new_shape)
            result_shape.append(new_shape)
            result_stride.append(it.times(stride, d))
            shape = ints.div(shape, new_shape)
        stride = next_stride
    if not result_shape:
        return Layout(shape, it.times(stride, strides[-1]))
    if it.is_one(shape):
        return Layout(it.unwrap(tuple(result_shape)), it.unwrap(tuple(result_stride)))
    return Layout((*result_shape, shape), (*result_stride, it.times(stride, strides[-1])))


def with_shape(layout: AnyLayout, *shapes: Any) -> Any:
    """``layout.with_shape(shape)``: the same values under another shape.

    CuteError for a plain layout and a single run-time integer: the member function comes before ``make_layout``, and
    no namespace lookup finds that for an ``int``. ``with_shape(make_shape(n))`` compiles.
    """
    if isinstance(layout, Layout) and len(shapes) == 1 and isinstance(shapes[0], Dyn):
        raise CuteError("with_shape: make_layout is not found for a bare run-time integer", shapes[0])
    return composition(layout, make_layout(shapes[0] if len(shapes) == 1 else shapes))
