"""Random arguments for every function of the algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecheck.model import algebra
from cutecheck.model import inttuple as it
from cutecheck.model.ints import known_value
from cutecheck.model.layout import Layout, Major
from cutecheck.tests.model.differential.generator import Generator
from cutecheck.tests.model.differential.spelling import Row


def _one(g: Generator, name: str) -> Row:
    return Row(name, (g.layout(),))


def _one_any(g: Generator, name: str) -> Row:
    return Row(name, (g.any_layout(),))


def _composition(g: Generator, name: str) -> Row:
    pick = g.rng.random()
    if pick < 0.25:
        a: Any = g.layout(4096, powers=True) if g.chance(0.5) else g.layout(1024)
        n = known_value(algebra.size(a)) or 1
        d = g.divisor(n)
        return Row(name, (a, Layout(g.integer(d), g.integer(g.divisor(n // d)))))
    if pick < 0.5:
        powers = g.chance(0.6)
        return Row(name, (g.layout(2048, powers=powers), g.layout(256, powers=powers)))
    if pick < 0.65:
        a = g.any_layout()
        return Row(name, (a, g.tiler(a)))
    if pick < 0.75:
        return Row(name, (g.swizzled(), g.layout(256, powers=True)))
    if pick < 0.83:
        return Row(name, (g.layout(256, powers=True), g.swizzle()))
    if pick < 0.9:
        return Row(name, (g.layout(256, powers=True), g.swizzled(256)))
    if pick < 0.93:
        return Row(name, (g.swizzle(), g.swizzle()))
    shape = g.shape(256)
    identity = algebra.make_identity_layout(shape)
    return Row(name, (identity, g.tiler(identity)))


def _complement(g: Generator, name: str) -> Row:
    a = g.any_layout()
    if g.chance(0.3):
        return Row(name, (a,))
    if g.chance(0.25):
        return Row(name, (a, g.shape(256)))
    return Row(name, (a, g.integer(g.rng.choice([1, 24, 64, 100, 128, 512, 1000]))))


def _divide(g: Generator, name: str) -> Row:
    a = g.identity() if g.chance(0.08) else g.any_layout()
    return Row(name, (a, g.tiler(a)))


def _product(g: Generator, name: str) -> Row:
    a = g.any_layout()
    if g.chance(0.15):
        return Row(name, (a, tuple(g.integer(g.extent()) for _ in range(g.rng.randint(1, algebra.rank(a))))))
    if g.chance(0.1):
        return Row(name, (g.layout(16, powers=True), g.swizzled(64, 0.0)))
    if g.chance(0.1):
        return Row(name, (a, g.integer(g.extent())))
    return Row(name, (a, g.layout(16)))


def _rank_product(g: Generator, name: str) -> Row:
    return Row(name, (g.any_layout(), g.layout(16)))


def _tile_to_shape(g: Generator, name: str) -> Row:
    a = g.any_layout()
    extents = [known_value(algebra.size(a, i)) or 1 for i in range(algebra.rank(a))]
    target: list[Any] = [g.integer(e * g.rng.choice([1, 1, 2, 3, 4])) for e in extents]
    if g.chance(0.15):
        target[0] = g.integer(g.extent())
    if g.chance(0.4):
        target.append(g.integer(g.rng.choice([1, 2, 3, 4])))
    shape: Any = tuple(target) if len(target) > 1 or g.chance(0.8) else target[0]
    if g.chance(0.5) and isinstance(shape, tuple):
        order = list(range(1, len(shape) + 1))
        g.rng.shuffle(order)
        return Row(name, (a, shape, tuple(order)))
    if g.chance(0.1):
        return Row(name, (a, shape, Major.RIGHT))
    return Row(name, (a, shape))


def _coalesce(g: Generator, name: str) -> Row:
    if g.chance(0.15):
        return Row(name, (g.shape(),))
    a = g.any_layout()
    return Row(name, (a, g.profile(a.shape))) if g.chance(0.4) else Row(name, (a,))


def _filter(g: Generator, name: str) -> Row:
    a = g.layout()
    return Row(name, (a, g.profile(a.shape))) if g.chance(0.3) else Row(name, (a,))


def _pair(g: Generator, name: str) -> Row:
    if g.chance(0.4):
        extents = g.shape(256, powers=True)
        return Row(name, (algebra.make_layout(extents), algebra.make_layout(extents, Major.RIGHT)))
    return Row(name, (g.any_layout(), g.any_layout()))


def _cast(g: Generator, name: str) -> Row:
    a = g.any_layout() if g.chance(0.9) else g.swizzle()
    return Row(name, (a,), (g.rng.choice([2, 2, 4, 4, 8, 3]),))


def _recast(g: Generator, name: str) -> Row:
    bits = [1, 4, 8, 16, 32, 64, 128]
    return Row(name, (g.any_layout(),), (g.rng.choice(bits), g.rng.choice(bits)))


def _modes(g: Generator, name: str) -> Row:
    a = g.any_layout()
    n = algebra.rank(a)
    if name in ("group", "take"):
        first = g.rng.randint(0, n)
        return Row(name, (a,), (first, g.rng.randint(first, n)))
    if name == "select":
        return Row(name, (g.layout(),), tuple(g.rng.randrange(n) for _ in range(g.rng.randint(1, 3))))
    if name == "append":
        return Row(name, (a, g.layout(8)), (n + g.rng.randint(0, 2),))
    if name == "prepend":
        a = g.layout()
        return Row(name, (a, g.layout(8)), (algebra.rank(a) + g.rng.randint(0, 2),))
    return Row(name, (a,), (g.rng.randrange(n),))


def _call(g: Generator, name: str) -> Row:
    a = g.any_layout() if g.chance(0.9) else g.identity()
    return Row(name, (a, g.coordinate(a.shape, g.rng.choice([0.0, 0.4]))))


def _slice_swizzled(g: Generator, name: str) -> Row:
    a = g.swizzled(1024, 0.1)
    g.dynamic = g.rng.choice([0.0, 0.5, 1.0])
    return Row("call", (a, g.coordinate(a.shape, 0.5)))


def _ordered(g: Generator, name: str) -> Row:
    shape = g.shape()
    if g.chance(0.15):
        return Row(name, (shape, g.rng.choice([Major.LEFT, Major.RIGHT])))
    order = it.transform_leaf(shape, lambda _s: g.integer(g.rng.randrange(6)))
    if isinstance(shape, tuple) and g.chance(0.5):
        order = tuple(g.integer(g.rng.randrange(6)) for _ in shape)
    return Row(name, (shape, order))


def _make(g: Generator, name: str) -> Row:
    pick = g.rng.random()
    if pick < 0.3:
        return Row(name, (g.shape(),))
    if pick < 0.6:
        return Row(name, (g.shape(), g.rng.choice([Major.LEFT, Major.RIGHT])))
    if pick < 0.9:
        return Row(name, tuple(g.layout(8) for _ in range(g.rng.randint(1, 4))))
    return Row(name, (g.swizzle(),))


def _crd(g: Generator, name: str) -> Row:
    shape = g.shape()
    n = known_value(it.product(shape)) or 1
    if name == "idx2crd":
        index = g.integer(g.rng.randrange(n))
        stride = (algebra.make_layout(shape).stride,) if g.chance(0.4) else ()
        return Row(name, (index, shape, *stride))
    if name == "crd2crd":
        return Row(name, (g.coordinate(shape), shape, g.shape()))
    return Row(name, (g.coordinate(shape), shape))


def _tuples(g: Generator, name: str) -> Row:
    a, b = g.shape(), g.shape()
    if g.chance(0.5):
        b = it.transform_leaf(a, lambda s: g.integer(g.divisor(known_value(s) or 1)))
    if g.chance(0.2):
        b = g.integer(g.extent())
    return Row(name, (a, b))


def _domain(g: Generator, name: str) -> Row:
    g.dynamic = 0.0
    return Row(name, (g.shape(), g.extent() * g.extent()))


def _with_shape(g: Generator, name: str) -> Row:
    return Row(name, (g.any_layout(), g.shape(64)))


def _coordinate_first(g: Generator, name: str) -> Row:
    a = g.any_layout()
    underscore = 0.0 if name == "domain_offset" else 0.5
    return Row(name, (g.coordinate(a.shape, underscore), a))


def _dice(g: Generator, name: str) -> Row:
    a = g.layout()
    return Row(name, (g.coordinate(a.shape, 0.5), a))


def _shape_only(g: Generator, name: str) -> Row:
    return Row(name, (g.shape(),))


def _congruent_tuples(g: Generator, name: str) -> Row:
    a = g.shape()
    return Row(name, (a, it.transform_leaf(a, lambda _s: g.integer(g.extent()))))


def _replace(g: Generator, name: str) -> Row:
    a = g.layout()
    return Row(name, (a, g.layout(8)), (g.rng.randrange(algebra.rank(a)),))


def _swizzle_of(g: Generator, name: str) -> Row:
    return Row("call", (g.swizzle(), g.integer(g.rng.randrange(4096))))


RECIPES: dict[str, Callable[[Generator, str], Row]] = {
    "composition": _composition,
    "coalesce": _coalesce,
    "complement": _complement,
    "right_inverse": _one_any,
    "left_inverse": _one_any,
    "logical_divide": _divide,
    "zipped_divide": _divide,
    "tiled_divide": _divide,
    "flat_divide": _divide,
    "ceil_div": _tuples,
    "shape_div": _tuples,
    "round_up": _tuples,
    "congruent": _tuples,
    "weakly_congruent": _tuples,
    "compatible": _tuples,
    "evenly_divides": _tuples,
    "elem_less": _tuples,
    "logical_product": _product,
    "zipped_product": _product,
    "tiled_product": _product,
    "flat_product": _product,
    "blocked_product": _rank_product,
    "raked_product": _rank_product,
    "tile_to_shape": _tile_to_shape,
    "upcast": _cast,
    "downcast": _cast,
    "recast_layout": _recast,
    "max_alignment": _one_any,
    "filter": _filter,
    "filter_zeros": _one,
    "nullspace": _one_any,
    "max_common_vector": _pair,
    "max_common_layout": _pair,
    "domain_distribute": _domain,
    "coshape": _one,
    "cosize": _one_any,
    "coprofile": _one,
    "rank": _one_any,
    "depth": _one_any,
    "flatten": _one_any,
    "group": _modes,
    "take": _modes,
    "select": _modes,
    "append": _modes,
    "prepend": _modes,
    "get": _modes,
    "layout": _modes,
    "size": _modes,
    "call": _call,
    "slice": _slice_swizzled,
    "swizzle": _swizzle_of,
    "make_ordered_layout": _ordered,
    "compact_order": _ordered,
    "make_layout": _make,
    "make_layout_like": _one,
    "make_fragment_like": _one_any,
    "idx2crd": _crd,
    "crd2idx": _crd,
    "crd2crd": _crd,
    "with_shape": _with_shape,
    "domain_offset": _coordinate_first,
    "slice_and_offset": _coordinate_first,
    "dice": _dice,
    "compact_col_major": _shape_only,
    "compact_row_major": _shape_only,
    "make_identity_layout": _shape_only,
    "product_each": _shape_only,
    "elem_scale": _congruent_tuples,
    "inner_product": _congruent_tuples,
    "zip": lambda g, name: Row(name, (g.layout(16), g.layout(16))),
    "replace": _replace,
    "get_swizzle_portion": _one_any,
    "get_nonswizzle_portion": _one_any,
}


def random_row(g: Generator, names: tuple[str, ...] = ()) -> Row:
    """A row of one of the named functions, of any without names."""
    g.dynamic = g.rng.choice([0.0, 0.0, 0.0, 0.2, 0.5, 1.0])
    name = g.rng.choice(names or tuple(RECIPES))
    return RECIPES[name](g, name)
