"""Replay of counterexamples about layouts and numbers; see ``replay``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecheck.model.ints import Rel, as_expr
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.domains import condition_value
from cutecheck.model.prove.obligation import Witness

Values = dict[str, int]


def number(value: Any, values: Values) -> int:
    return as_expr(value).evaluate(values)


def extent(shape: IntTuple, values: Values) -> int:
    if not isinstance(shape, tuple):
        return number(shape, values)
    result = 1
    for s in shape:
        result *= extent(s, values)
    return result


def place(shape: IntTuple, stride: IntTuple, index: int, values: Values) -> int:
    """Offset of a linear index by CuTe's rule: divide by the extents, first mode fastest, last mode unbounded."""
    if not isinstance(shape, tuple):
        return index * number(stride, values)
    if not isinstance(stride, tuple):
        raise ValueError("stride does not follow the shape")
    total = 0
    for i, (s, d) in enumerate(zip(shape, stride, strict=True)):
        size = extent(s, values)
        last = i == len(shape) - 1
        total += place(s, d, index if last else index % size, values)
        index //= size
    return total


def swizzle(sw: Swizzle, x: int) -> int:
    """Bit by bit: bit ``base + i`` takes the exclusive or with bit ``base + shift + i`` (or the reverse)."""
    result = x
    for i in range(sw.bits):
        source, target = sw.base + max(sw.shift, 0) + i, sw.base + max(-sw.shift, 0) + i
        result ^= ((x >> source) & 1) << target
    return result


def offset(layout: AnyLayout, index: int, values: Values, start: int = 0) -> int:
    if isinstance(layout, Layout):
        return start + place(layout.shape, layout.stride, index, values)
    if isinstance(layout.offset, SmemPtrFlag) or isinstance(layout.b, Swizzle):
        raise ValueError("a pointer swizzle acts on addresses")
    inner = start + number(layout.offset, values) + offset(layout.b, index, values)
    return swizzle(layout.a, inner) if isinstance(layout.a, Swizzle) else offset(layout.a, inner, values)


def size(layout: AnyLayout, values: Values) -> int:
    while isinstance(layout, ComposedLayout):
        if isinstance(layout.b, Swizzle):
            raise ValueError("a swizzle has no size")
        layout = layout.b
    return extent(layout.shape, values)


def coordinate(shape: IntTuple, index: int, values: Values) -> str:
    if not isinstance(shape, tuple):
        return str(index)
    parts = []
    for i, s in enumerate(shape):
        n = extent(s, values)
        parts.append(coordinate(s, index % n if i < len(shape) - 1 else index, values))
        index //= n
    return f"({','.join(parts)})"


def _given(values: Values, own: tuple[str, ...]) -> tuple[tuple[tuple[str, int], ...], str]:
    parameters = tuple((n, v) for n, v in sorted(values.items()) if n not in own)
    text = f" with {', '.join(f'{n} = {v}' for n, v in parameters)}" if parameters else ""
    return parameters, text


_COVERAGE = ("thread_a", "value_a", "thread_b", "value_b", "index")


def _copy_thread(shape: IntTuple, stride: IntTuple, index: int, values: Values) -> bool:
    """The thread has a non-zero digit in a stride-0 mode: it holds a copy."""
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        for s, d in zip(shape, stride, strict=True):
            n = extent(s, values)
            if _copy_thread(s, d, index % n, values):
                return True
            index //= n
        return False
    return number(stride, values) == 0 and index % extent(shape, values) != 0


def coverage(c: p.Coverage, values: Values) -> Witness | None:
    shape, stride = c.layout.shape, c.layout.stride
    if not isinstance(shape, tuple) or not isinstance(stride, tuple):
        return None
    threads, owned = extent(shape[0], values), extent(shape[1], values)
    total = extent(c.tile, values)
    parameters, given = _given(values, _COVERAGE)

    def image(t: int, v: int) -> int:
        return place(shape[0], stride[0], t, values) + place(shape[1], stride[1], v, values)

    def real(t: int) -> bool:
        return not c.replicated or not _copy_thread(shape[0], stride[0], t, values)

    index = values["index"]
    where = coordinate(c.tile, index, values) if 0 <= index < total else str(index)
    own = tuple((n, values[n]) for n in _COVERAGE if n in values)
    named: tuple[tuple[str, str | int], ...] = (*parameters, *own, ("coordinate", where))
    if "thread_a" not in values:
        if any(image(t, v) == index for t in range(threads) for v in range(owned)) or not 0 <= index < total:
            return None
        return Witness(f"element {where} of the tile belongs to no thread{given}", named)
    t, v = values["thread_a"], values["value_a"]
    if not (0 <= t < threads and 0 <= v < owned and image(t, v) == index and real(t)):
        return None
    if "thread_b" not in values:
        if 0 <= index < total:
            return None
        return Witness(f"thread {t} value {v} is at index {index}, outside the tile of {total}{given}", named)
    t2, v2 = values["thread_b"], values["value_b"]
    if (t, v) == (t2, v2) or not (0 <= t2 < threads and 0 <= v2 < owned and image(t2, v2) == index and real(t2)):
        return None
    return Witness(f"element {where} belongs to thread {t} (value {v}) and thread {t2} (value {v2}){given}", named)


_INDEXES = ("index_a", "index_b", "offset", "index", "left", "right", "item", "base", "byte")


def _pair_of(layout: AnyLayout, values: Values, given: str, named: tuple[tuple[str, int], ...]) -> Witness | None:
    a, b, x = values["index_a"], values["index_b"], values["offset"]
    if a == b or not all(0 <= i < size(layout, values) and offset(layout, i, values) == x for i in (a, b)):
        return None
    shape = layout.shape if isinstance(layout, Layout) else ()
    at = [coordinate(shape, i, values) if shape else str(i) for i in (a, b)]
    return Witness(f"coordinates {at[0]} and {at[1]} share offset {x}{given}", named)


def bijective(b: p.Bijective, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    named = (*parameters, *((n, values[n]) for n in _INDEXES if n in values))
    if "index_b" in values:
        return _pair_of(b.layout, values, given, named)
    total, x = number(b.size, values), values["offset"]
    if "index_a" in values:
        if offset(b.layout, values["index_a"], values) != x or 0 <= x < total:
            return None
        return Witness(f"index {values['index_a']} goes to {x}, outside [0, {total}){given}", named)
    if any(offset(b.layout, i, values) == x for i in range(size(b.layout, values))) or not 0 <= x < total:
        return None
    return Witness(f"no index goes to {x} of [0, {total}){given}", named)


def injective(i: p.Injective, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    return _pair_of(i.layout, values, given, (*parameters, *((n, values[n]) for n in _INDEXES if n in values)))


def cosize_fits(c: p.CosizeFits, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    index = values["index_a"]
    start = c.offset.evaluate(values)
    if isinstance(c.layout, Layout):
        x = start + offset(c.layout, index, values)
    elif isinstance(c.layout.a, Swizzle) and isinstance(c.layout.b, Layout):
        base = c.base.evaluate(values)
        inner = base + start + number(c.layout.offset, values) + offset(c.layout.b, index, values)
        x = swizzle(c.layout.a, inner) - base
    else:
        return None
    allocation = number(c.allocation, values)
    if not 0 <= index < size(c.layout, values) or 0 <= x < allocation:
        return None
    return Witness(
        f"index {index} is at element {x} of an allocation of {allocation}{given}",
        (*parameters, ("index", index), ("element", x), ("allocation", allocation)),
    )


def layout_equal(e: p.LayoutEqual, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    index = values["index"]
    sizes = size(e.left, values), size(e.right, values)
    if sizes[0] != sizes[1]:
        return Witness(
            f"sizes {sizes[0]} and {sizes[1]} differ{given}", (*parameters, ("left", sizes[0]), ("right", sizes[1]))
        )
    x, y = offset(e.left, index, values), offset(e.right, index, values)
    if x == y or not 0 <= index < sizes[0]:
        return None
    return Witness(
        f"index {index} is at offset {x} in one layout and {y} in the other{given}",
        (*parameters, ("index", index), ("left", x), ("right", y)),
    )


def contiguous(c: p.Contiguous, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    index = values["index"]
    total = size(c.layout, values)
    if index == 0:
        return Witness(f"the first {c.count} elements have run-time extents or strides{given}", parameters)
    if index >= total:
        return Witness(f"only {total} elements of {c.count}{given}", (*parameters, ("run", total)))
    first, x = offset(c.layout, 0, values), offset(c.layout, index, values)
    if x == first + index or index >= c.count:
        return None
    return Witness(
        f"element {index} is at offset {x}, not {first + index}: {index} consecutive elements of {c.count}{given}",
        (*parameters, ("index", index), ("offset", x), ("run", index)),
    )


def counts(a: p.AtomCounts, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    c = a.counts[values["item"]]
    actual, required = number(c.actual, values), number(c.required, values)
    if actual == required:
        return None
    return Witness(
        f"{c.name}: {actual}, the atom needs {required}{given}",
        (*parameters, ("name", c.name), ("actual", actual), ("required", required)),
    )


def divides(d: p.Divides, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    m = d.modes[values["item"]]
    dividend, divisor = number(m.dividend, values), number(m.divisor, values)
    if divisor != 0 and dividend % divisor == 0:
        return None
    rest = f"leaves {dividend % divisor}" if divisor else "has no divisor"
    return Witness(
        f"{m.name}: {dividend} by {divisor} {rest}{given}",
        (*parameters, ("name", m.name), ("dividend", dividend), ("divisor", divisor)),
    )


def holds(h: p.Holds, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    c = h.conditions[values["item"]]
    left, right = c.lhs.evaluate(values), c.rhs.evaluate(values)
    if condition_value(c.rel, left, right):
        return None
    named = (*parameters, ("left", left), ("right", right))
    if c.rel is Rel.DIVIDES:
        rest = f"{right} % {left} is {right % left}" if left else "the divisor is 0"
        return Witness(f"{c} does not hold: {rest}{given}", named)
    numbers = "" if c.lhs.constant is not None and c.rhs.constant is not None else f": {left} against {right}"
    return Witness(f"{c} does not hold{numbers}{given}", named)


def in_bounds(b: p.InBounds, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    item = values["item"]
    x, limit = b.coordinates[item].evaluate(values), number(b.extents[item], values)
    if 0 <= x < limit:
        return None
    return Witness(
        f"coordinate {item} is {x}, outside [0, {limit}){given}", (*parameters, ("coordinate", x), ("extent", limit))
    )


def alignment(a: p.Alignment, values: Values) -> Witness | None:
    parameters, given = _given(values, _INDEXES)
    base = values["base"]
    element = a.offset.evaluate(values) + place(a.rest.shape, a.rest.stride, values["index"], values)
    sw = a.swizzle
    if sw is not None and sw.unit is SwizzleUnit.ELEMENT:
        element = swizzle(sw, element)
    bits, width = element * int(a.element_bits), int(a.vector_bytes)
    byte = base + bits // 8
    if sw is not None and sw.unit is SwizzleUnit.BYTE:
        byte = swizzle(sw, byte)
    if base % int(a.base_alignment) or (byte % width == 0 and bits % 8 == 0):
        return None
    return Witness(
        f"a vector of {width} bytes starts at byte {byte}, {byte % width} past a multiple of {width}{given}",
        (*parameters, ("base", base), ("byte", byte), ("vector_bytes", width)),
    )


LAYOUT_REPLAYS: dict[type[object], Callable[[Any, Values], Witness | None]] = {
    p.Coverage: coverage,
    p.Bijective: bijective,
    p.Injective: injective,
    p.CosizeFits: cosize_fits,
    p.LayoutEqual: layout_equal,
    p.Contiguous: contiguous,
    p.AtomCounts: counts,
    p.Divides: divides,
    p.Holds: holds,
    p.InBounds: in_bounds,
    p.Alignment: alignment,
}
