"""The algebra of CUTLASS 3.5 to 3.8, where it differs from today's (see ``docs/cute-versions.md``)."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra.construct import compact_major, stack
from cutecheck.model.algebra.simplify import coalesce_layout, merge_from_the_back
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import CuteError, Dyn, Int
from cutecheck.model.layout import IntTuple, Layout


def compose(lhs_shape: IntTuple, lhs_stride: IntTuple, shape: IntTuple, stride: IntTuple) -> Layout:
    """``composition_impl`` before 3.9: shape_div by the stride, then by the shape, then coalesce."""
    if isinstance(shape, tuple):
        if not isinstance(stride, tuple) or len(stride) != len(shape):
            raise CuteError("composition: shape and stride are not congruent", shape, stride)
        return stack([compose(lhs_shape, lhs_stride, s, d) for s, d in zip(shape, stride, strict=True)])
    if isinstance(stride, ScaledBasis):
        return compose(it.get(lhs_shape, *stride.path), it.get(lhs_stride, *stride.path), shape, stride.value)
    if it.is_zero(stride):
        return Layout(shape, stride)
    shapes: list[Int] = [it.integer(s) for s in it.wrap(lhs_shape)[:-1]]
    strides: list[Any] = list(it.wrap(lhs_stride)[:-1])
    rest_stride: Int | ScaledBasis = it.integer(stride)
    if not it.is_one(rest_stride):
        divided: list[Int] = []
        for s in shapes:
            divided.append(_shape_div(s, it.integer(rest_stride)))
            rest_stride = _shape_div(it.integer(rest_stride), s)
        strides = [it.times(d, _shape_div(s, n)) for d, s, n in zip(strides, shapes, divided, strict=True)]
        shapes = divided
    kept: list[Int] = []
    rest_shape = it.integer(shape)
    for s in shapes:
        extent = ints.absolute(s)
        kept.append(1 if it.is_one(extent) or it.is_one(rest_shape) else ints.minimum(extent, rest_shape))
        rest_shape = _shape_div(rest_shape, extent)
    last = it.wrap(lhs_stride)[-1]
    if not it.is_one(stride):
        last = it.times(rest_stride, last)
    return merge_from_the_back((*kept, rest_shape), (*strides, last), rest_shape)


def _shape_div(a: Int, b: Int) -> Int:
    return it.integer(it.shape_div(a, b))


def right_inverse(layout: Layout) -> Layout:
    """Follows the strides 1, s, s*t ... by absolute value; signs stay."""
    flat = coalesce_layout(layout)
    shapes, strides = it.wrap(flat.shape), it.wrap(flat.stride)
    sizes = [_absolute(d) for d in strides]
    order: list[int] = []
    wanted: IntTuple = 1
    while True:
        found = next((i for i, d in enumerate(sizes) if it.constant_equal(d, wanted)), None)
        if found is None:
            break
        order.append(found)
        following = it.times(shapes[found], sizes[found])
        if not it.is_static(following) or it.constant_equal(following, wanted):
            break
        wanted = following
    if not order:
        return Layout(1, 0)
    compact = it.wrap(compact_major(flat.shape))
    return Layout(
        it.unwrap(tuple(shapes[i] for i in order)),
        it.unwrap(tuple(it.times(ints.signum(it.integer(strides[i])), compact[i]) for i in order)),
    )


def _absolute(d: IntTuple) -> IntTuple:
    return ScaledBasis(ints.absolute(d.value), d.path) if isinstance(d, ScaledBasis) else ints.absolute(it.integer(d))


def upcast_mode(shape: IntTuple, stride: Int, n: int) -> Layout:
    """One mode with a static stride."""
    return Layout(it.shape_div(shape, _shape_div(n, ints.absolute(stride))), _shape_div(stride, n))


def shape_div(a: Int, b: Int) -> Int:
    """Division of extents before 3.9: towards zero, but never to zero; CuteError when static ones do not divide."""
    if not isinstance(a, Dyn) and not isinstance(b, Dyn):
        divides = ints.equal(ints.mod(a, b), 0) or ints.equal(ints.mod(b, a), 0)
        if not divides:
            raise CuteError("Static shape_div failure", a, b)
    x, y = ints.known_value(a), ints.known_value(b)
    if x is None or y is None:
        return ints.maximum(ints.div(a, b), ints.mul(ints.signum(a), ints.signum(b)))
    quotient = cast(int, ints.div(x, y)) or ((x > 0) - (x < 0)) * ((y > 0) - (y < 0))
    return Dyn.of(quotient) if isinstance(a, Dyn) or isinstance(b, Dyn) else quotient
