"""``cooperative_copy``: how it spreads two tensors over threads, as ``cute/algorithm/cooperative_copy.hpp`` does.

What one thread copies is a copy of its own part, in elements as wide as the vector: an event like any other. Where the
threads do not divide the tensors evenly they take elements in turn; the first few take one more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.atoms import copy_op
from cutecheck.model.basis import X
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, known_value
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.units import Bits
from cutecheck.records import record
from cutecheck.source.eval.intrinsics.layouts import under_pointer
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported
from cutecheck.source.eval.intrinsics.tensors import recast_tensor, sliced
from cutecheck.source.eval.values import ScalarType, TensorVal, Value, ValueType, constant

_WIDTHS = (8, 16, 32, 64, 128)


@record(frozen=True, slots=True)
class Part:
    """What a thread copies; ``active``: by how many of the threads, from 0 on (None: all)."""

    source: TensorVal
    target: TensorVal
    active: int | None


def parts(c: Call, tid: Value, src: TensorVal, dst: TensorVal) -> Iterator[Part]:
    """The copies that thread ``tid`` makes. CuteError where CuTe stops compiling, Unsupported where it is not known."""
    threads, width = _arguments(c, src)
    for t in (src, dst):
        if isinstance(t.layout, Unknown):
            raise Unsupported(t.layout.reason)
        if t.space not in ("gmem", "smem"):
            raise CuteError("cooperative_copy expects shared gmem or smem tensors", t.space)
        if not alg.is_static(alg.shape(t.layout)):
            raise CuteError("cooperative_copy needs static shapes", t.layout)
    src, dst = (t.derive(t.layout, t.offset, t.provenance) for t in (src, dst))  # what the parts are parts of
    bits, total = _bits(src), _number(alg.size(src.layout))
    if total != _number(alg.size(dst.layout)):
        raise CuteError("cooperative_copy: size(src) == size(dst)", src.layout, dst.layout)
    if width != bits and width not in _WIDTHS:
        raise CuteError("cooperative_copy: MaxVecBits is that of the element, 8, 16, 32, 64 or 128", width)
    common = _common(src, dst)
    a, b = (_over(t, lambda x: alg.coalesce(alg.logical_divide(x, common), (1, 1))) for t in (src, dst))
    together = _number(alg.max_common_vector(_plain(a), _plain(b))) if bits >= 8 else 0
    if total % threads:
        yield from _in_turn(c, tid, _vectors(a, b, bits, width) if together > 1 and width > bits else (a, b), threads)
        return
    vector = max(bits, math.gcd(together * bits, width, total * bits // threads))
    if vector % bits or vector < 8:
        raise CuteError("cooperative_copy: No support for subbyte copying", vector)
    elements = vector // bits
    used = min(threads, total // elements)
    domains = [alg.domain_distribute(alg.shape(t.layout), elements * used) for t in (a, b)]
    if any(_number(alg.size(d)) != elements * used for d in domains):
        raise CuteError("cooperative_copy: size(common_domain) == vec_elem * vec_thrs", *domains)
    finer = alg.compatible(domains[0], domains[1])
    if not finer and not alg.compatible(domains[1], domains[0]):
        raise CuteError("cooperative_copy: compatible(common_domain_src, common_domain_dst)", *domains)
    tiler = alg.with_shape(domains[1] if finer else domains[0], elements, used)
    mine = []
    for t in (a, b):
        own = sliced(c, _over(t, lambda x: alg.logical_divide(x, tiler)), ((X, tid), X))
        assert isinstance(own, TensorVal)
        mine.append(_recast(own, vector))
    yield Part(mine[0], mine[1], None if used == threads else used)


def policy(c: Call, given: list[Value], part: Part) -> tuple[Value, Part]:
    """The atom that copies a part, and the part in the form that the atom takes."""
    name = getattr(given[0], "name", None) if given else "DefaultCopy"
    if name not in ("AutoCopyAsync", "DefaultCopy"):
        raise Unsupported("cooperative_copy with this policy")
    dtype = part.source.dtype
    assert dtype is not None and dtype.bits is not None
    size = int(dtype.bits) // 8
    if name == "AutoCopyAsync" and (part.source.space, part.target.space) == ("gmem", "smem") and size in (4, 8, 16):
        cached = "GLOBAL" if size == 16 else "ALWAYS"
        one = Part(_over(part.source, _single), _over(part.target, _single), part.active)
        return copy_op(f"SM80_CP_ASYNC_CACHE{cached}", (dtype, dtype), dtype), one
    return copy_op("DefaultCopy", (), dtype), part  # an element at a time


def _single(layout: Any) -> Any:
    """A mode of one element in front: of the instruction, which takes one."""
    one = Layout(1, 0)
    if isinstance(layout, ComposedLayout):
        return replace(layout, b=alg.make_layout(one, layout.b))
    return alg.make_layout(one, layout)


def _arguments(c: Call, src: TensorVal) -> tuple[int, int]:
    numbers = [constant(t.value if isinstance(t, ValueType) else t) for t in c.targs[:2]]
    if not numbers or None in numbers:
        raise Unsupported("the number of threads of this cooperative_copy is not known")
    threads = numbers[0]
    assert threads is not None
    return threads, numbers[1] if len(numbers) > 1 and numbers[1] is not None else _bits(src)


def _bits(t: TensorVal) -> int:
    if t.dtype is None or t.dtype.bits is None:
        raise Unsupported("the width of the copied elements is not known")
    return int(t.dtype.bits)


def _number(value: Any) -> int:
    known = known_value(value)
    if known is None:
        raise Unsupported("cooperative_copy of tensors whose size is not known")
    return known


def _over(t: TensorVal, part: Any) -> TensorVal:
    """The tensor with another layout over the same elements."""
    layout, _ = under_pointer(t.layout, lambda x: (part(x), 0))
    return replace(t, layout=layout)


def _plain(t: TensorVal) -> Any:
    """The layout without a swizzle that belongs to the pointer."""
    return under_pointer(t.layout, lambda x: (x, x))[1]


def _common(src: TensorVal, dst: TensorVal) -> Any:
    """The order in which the tensors are walked: that of the swizzled one, of shared memory, of the more compact."""
    inverses = [alg.right_inverse(alg.get_nonswizzle_portion(_plain(t))) for t in (src, dst)]
    sizes = [_number(alg.size(i)) for i in inverses]
    scores = [
        4 * _swizzled(t.layout) + 2 * (t.space == "smem") + (sizes[i] > sizes[1 - i]) for i, t in enumerate((src, dst))
    ]
    return inverses[0 if scores[0] >= scores[1] else 1]


def _swizzled(layout: Any) -> bool:
    return isinstance(layout, ComposedLayout) and isinstance(layout.a, Swizzle) and layout.a.bits > 0


def _recast(t: TensorVal, bits: int) -> TensorVal:
    return recast_tensor(t, ScalarType(DType(f"uint{bits}_t", Bits(bits))))


def _vectors(a: TensorVal, b: TensorVal, bits: int, width: int) -> tuple[TensorVal, TensorVal]:
    """As wide as the strides of both allow."""
    aligned = [bits * _number(alg.max_alignment(_plain(t))) for t in (a, b)]
    vector = math.gcd(*aligned, width)
    if vector % bits or vector < 8:
        raise CuteError("cooperative_copy: No support for subbyte copying", vector)
    return _recast(a, vector), _recast(b, vector)


def _in_turn(c: Call, tid: Any, pair: tuple[TensorVal, TensorVal], threads: int) -> Iterator[Part]:
    """Element ``tid`` of the first few, then every ``threads``-th; known where elements stand at equal distances."""
    strides = []
    for t in pair:
        flat = alg.coalesce(_plain(t))
        if not isinstance(flat, Layout) or isinstance(flat.shape, tuple):
            raise Unsupported("cooperative_copy takes the elements of these tensors in turn")
        strides.append(flat.stride)
    total = _number(alg.size(pair[0].layout))
    rest = total % threads
    if rest:
        few = [_strided(t, s, 1, 1, tid) for t, s in zip(pair, strides, strict=True)]
        yield Part(few[0], few[1], rest)
    if total // threads:
        each = [_strided(t, s, total // threads, threads, tid + rest) for t, s in zip(pair, strides, strict=True)]
        yield Part(each[0], each[1], None)


def _strided(t: TensorVal, stride: Any, count: int, step: int, first: Any) -> TensorVal:
    layout, _ = under_pointer(t.layout, lambda _: (Layout(count, step * stride), 0))
    offset = t.offset if isinstance(t.offset, Unknown) else t.offset + first * stride
    return replace(t, layout=layout, offset=offset)


__all__ = ["Part", "parts", "policy"]
