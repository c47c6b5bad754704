"""Putting composed layouts together (``cute/layout_composed.hpp``, ``cute/swizzle_layout.hpp``)."""

from __future__ import annotations

from collections.abc import Callable

from cutecheck.model.ints import CuteError
from cutecheck.model.layout import ComposedLayout, Layout, Offset, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.swizzle import in_bytes, in_elements


def make_composed_layout(
    a: Swizzle | Layout | ComposedLayout, offset: Offset, b: Layout | Swizzle | ComposedLayout
) -> ComposedLayout:
    """``a o offset o b`` as it stands; a swizzle's unit follows from the middle (bytes for a pointer flag)."""
    if isinstance(a, Swizzle):
        if isinstance(offset, SmemPtrFlag):
            if a.unit is not SwizzleUnit.BYTE:
                a = in_bytes(a)
        elif a.unit is not SwizzleUnit.ELEMENT:
            a = in_elements(a)
    return ComposedLayout(a, offset, b)


class Unsigned(int):
    """A static integer of unsigned type (``C<0u>``), as recasting an offset leaves it.

    It equals the signed one, but CuTe's overload that drops an identity swizzle at ``Int<0>`` does not match it.
    """

    __slots__ = ()


def is_static_zero(offset: Offset) -> bool:
    """``is_constant<0, Offset>``: false for a pointer flag."""
    return isinstance(offset, int) and offset == 0


def compose3(
    a: Swizzle | Layout | ComposedLayout, offset: Offset, b: Layout | Swizzle | ComposedLayout
) -> Layout | ComposedLayout:
    """``composition(a, offset, b)``: drops an identity swizzle at a static offset 0 before a plain layout."""
    if isinstance(a, Swizzle) and a.bits == 0 and isinstance(b, Layout) and type(offset) is int and offset == 0:
        return b
    return make_composed_layout(a, offset, b)


def on_domain(layout: ComposedLayout, f: Callable[[Layout], Layout | ComposedLayout]) -> Layout | ComposedLayout:
    """Apply an operation on the domain: to ``b``, keeping ``a o offset``."""
    return compose3(layout.a, layout.offset, f(layout.b))  # type: ignore[arg-type]  # a composed b recurses in f


def get_swizzle_portion(layout: Layout | ComposedLayout) -> Swizzle:
    """The swizzle of a layout; ``Sw<0,4,3>`` for a plain one."""
    if isinstance(layout, Layout):
        return Swizzle(0, 4, 3)
    if not isinstance(layout.a, Swizzle):
        raise CuteError("get_swizzle_portion: no overload for this argument", layout)
    return layout.a


def get_nonswizzle_portion(layout: Layout | ComposedLayout) -> Layout | Swizzle | ComposedLayout:
    """The layout under the swizzle."""
    if isinstance(layout, Layout):
        return layout
    if not isinstance(layout.a, Swizzle):
        raise CuteError("get_nonswizzle_portion: no overload for this argument", layout)
    return layout.b
