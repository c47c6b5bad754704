"""What two layouts have in common: max_common_layout, max_common_vector, domain_distribute (``cute/layout.hpp``)."""

from __future__ import annotations

from typing import Any

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra.compose import composition
from cutecheck.model.algebra.construct import compact_major
from cutecheck.model.algebra.inverse import right_inverse
from cutecheck.model.algebra.simplify import coalesce_layout
from cutecheck.model.algebra.structure import get, shape, size
from cutecheck.model.ints import CuteError, Int
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Swizzle
from cutecheck.model.swizzle import in_elements


def _contiguous(common: Layout) -> Layout | None:
    """Mode 0 when it is a static extent at static stride 1."""
    first = get(common, 0)
    if it.is_static(first.shape) and it.is_one(first.stride):
        return first  # type: ignore[no-any-return]
    return None


def max_common_layout(a: AnyLayout, b: AnyLayout) -> Any:
    """The longest run that is contiguous in both; for a swizzled layout no longer than its base."""
    if isinstance(b, ComposedLayout) and not isinstance(a, ComposedLayout):
        return max_common_layout(b, a)
    if isinstance(a, ComposedLayout):
        if not isinstance(a.a, Swizzle) or isinstance(b, ComposedLayout) or not isinstance(a.b, Layout):
            raise CuteError("max_common_layout: no overload for these arguments", a, b)
        common = max_common_layout(a.b, b)
        base = 1 << a.a.base
        return composition(common, base) if ints.less(base, size(common)) else common
    inverse = right_inverse(b)
    common = coalesce_layout(composition(a, inverse))
    first = _contiguous(common)
    return Layout(1, 0) if first is None else composition(inverse, first)


def max_common_vector(a: AnyLayout, b: AnyLayout) -> Int:
    """The number of elements that are contiguous in both layouts, as a static integer; 1 when nothing is known."""
    if isinstance(b, ComposedLayout) and not isinstance(a, ComposedLayout):
        return max_common_vector(b, a)
    if isinstance(a, ComposedLayout):
        if not isinstance(a.a, Swizzle) or not isinstance(a.b, Layout):
            raise CuteError("max_common_vector: no overload for these arguments", a, b)
        if not isinstance(b, ComposedLayout):
            return ints.minimum(max_common_vector(a.b, b), 1 << a.a.base)
        if not isinstance(b.a, Swizzle) or not isinstance(b.b, Layout):
            raise CuteError("max_common_vector: no overload for these arguments", a, b)
        vector = max_common_vector(a.b, b.b)
        if in_elements(a.a) == in_elements(b.a):
            return vector
        return ints.minimum(vector, ints.minimum(1 << a.a.base, 1 << b.a.base))
    first = _contiguous(coalesce_layout(composition(a, right_inverse(b))))
    return 1 if first is None else it.integer(first.shape)


def domain_distribute(a: Any, b: Int) -> Layout:
    """A layout of up to ``b`` elements spread over the modes of shape ``a``."""
    if not it.is_static(b) or isinstance(b, tuple):
        raise CuteError("domain_distribute: a static size is needed", b)
    flat = it.flatten(shape(a))
    if not it.is_static(flat):
        raise CuteError("domain_distribute: a static shape is needed", a)
    extents: list[Int] = []
    rest = b
    for s in it.wrap(flat):
        common = ints.gcd(it.integer(s), rest)
        extents.append(common)
        rest = ints.div(rest, common)
    strides = compact_major(flat)
    return coalesce_layout(Layout(tuple(extents), it.wrap(strides)))
