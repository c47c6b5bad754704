"""CuTe tensors of the host: ``from_dlpack``, marks, ``make_fake_tensor``, symbolic extents."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.dtype import DType
from cutecheck.model.expr import ANY, Domain
from cutecheck.model.ints import Dyn, Rel
from cutecheck.model.units import Bits, bytes_to_hold
from cutecheck.source.dsl.builtins import FUNCTIONS, builtin
from cutecheck.source.dsl.values import Builtin, HostCute, HostTensor
from cutecheck.source.eval.values import Extern, Pointer, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


_OF = re.compile(r"[\w.]*from_dlpack\(\s*([A-Za-z_][\w.]*)\s*[,)]")

# -------------------------------------------------------------------- CuTe tensors of the host


def _dynamic(name: str, wide: bool, div: int = 1) -> Dyn:
    domain = Domain(0, None, div) if div > 1 else (ANY if wide else Domain(0))
    return Dyn.named(name + (":i64" if wide else ""), domain)


def _count(m: Machine) -> int:
    return len(m.names) + int(str(m.fresh("").expr).rpartition("#")[2] or 0)


@builtin("cute.from_dlpack")
def _from_dlpack(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    t = args[0]
    if isinstance(t, HostCute):
        return t
    if not isinstance(t, HostTensor):
        return Extern("from_dlpack(...)", span) if not isinstance(t, Unknown) else t
    align = kwargs.get("assumed_align", args[1] if len(args) > 1 else None)
    kind = t.element_type
    if kwargs.get("force_tf32") is True and isinstance(kind, ScalarType) and kind.dtype.name == "float":
        kind = ScalarType(DType("tfloat32_t", Bits(32)))
    of = _OF.match(m.recorder.text(span))
    bytes_ = align if isinstance(align, int) else _element_bytes(t)
    return HostCute(t.shape, t.strides, kind, bytes_, t.strides, t.shape, of[1] if of is not None else "")


def _element_bytes(t: HostTensor) -> int | None:
    return int(bytes_to_hold(t.dtype.dtype.bits)) if isinstance(t.dtype, ScalarType) and t.dtype.dtype.bits else None


def as_dynamic(m: Machine, t: HostTensor) -> HostCute:
    """A torch tensor given to a device function as it is."""
    made = HostCute(t.shape, t.strides, t.element_type, _element_bytes(t), t.strides, t.shape)
    _mark_layout(m, made, None)
    return made


def _numbers(m: Machine, t: HostCute) -> Callable[[str, int], str]:
    """Names of a tensor's run-time extents and strides: as the source has them, where the tensor has a name of its own.

    Each time a tensor of a name is marked its numbers are others.
    """
    n = _count(m)
    if not t.name:
        return lambda what, mode: f"{what}{n}.{mode}"
    used: dict[str, int] = m.functions.setdefault("dsl tensor names", {})
    times = used[t.name] = used.get(t.name, 0) + 1
    base = t.name if times == 1 else f"{t.name}:{times}"
    return lambda what, mode: f"{base}.{what}[{mode}]"


def _mark_layout(m: Machine, t: HostCute, leading: int | None) -> None:
    name = _numbers(m, t)
    if leading is None:
        ones = [i for i, d in enumerate(t.concrete) if d == 1]
        if len(ones) > 1:
            ones = [i for i in ones if t.shape[i] != 1] or ones[-1:]
        leading = ones[0] if len(ones) == 1 else None
    elif leading < 0:
        leading += len(t.shape)
    t.shape = tuple(_dynamic(name("shape", i), False) for i in range(len(t.shape)))
    _as_asserted(m, t)
    t.stride = tuple(
        1 if i == leading else 0 if d == 0 else _dynamic(name("stride", i), True) for i, d in enumerate(t.concrete)
    )
    _as_given(m, t)


def _as_asserted(m: Machine, t: HostCute) -> None:
    """What the host asserts of a tensor's extents holds of those that its kernels are given: which divide them."""
    for extent, given in zip(t.extents, t.shape, strict=False):
        if not isinstance(extent, Dyn) or not isinstance(given, Dyn):
            continue
        m.recorder.hypotheses += [
            replace(h, condition=replace(h.condition, rhs=given.expr))
            for h in m.recorder.hypotheses
            if h.condition.rel is Rel.DIVIDES
            and h.condition.rhs == extent.expr
            and h.condition.lhs.constant is not None
        ]


def _as_given(m: Machine, t: HostCute) -> None:
    """What a tensor's run-time extents and strides are in this program."""
    known = numbers_of_host(m)
    for made, given in ((t.shape, t.extents), (t.stride, t.concrete)):
        for now, was in zip(made, given, strict=False):
            if isinstance(now, Dyn) and isinstance(was, int):
                known |= {v.name: was for v in now.expr.variables()}


def numbers_of_host(m: Machine) -> dict[str, int]:
    """Run-time extents and strides of tensors of the host, by their names, as far as the host has numbers."""
    found: dict[str, int] = m.functions.setdefault("dsl numbers of host", {})
    return found


@builtin("hostcute.mark_layout_dynamic")
def _mark_layout_dynamic(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    leading = kwargs.get("leading_dim", args[1] if len(args) > 1 else None)
    _mark_layout(m, args[0], leading if isinstance(leading, int) else None)
    return args[0]


@builtin("hostcute.mark_compact_shape_dynamic")
def _mark_compact(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """One mode of a compact tensor becomes dynamic; strides that its extent enters become multiples of it."""
    t = args[0]
    mode = kwargs.get("mode", args[1] if len(args) > 1 else None)
    order = kwargs.get("stride_order", args[2] if len(args) > 2 else None)
    div = kwargs.get("divisibility", args[3] if len(args) > 3 else 1)
    if not isinstance(mode, int) or not isinstance(div, int):
        return Unknown("a mode that is not known", span)
    mode %= len(t.shape)
    if order is None:
        order = tuple(sorted(range(len(t.shape)), key=lambda i: (-extent_or_zero(t.concrete[i]), i)))
    name = _numbers(m, t)
    shape = list(t.shape)
    shape[mode] = _dynamic(name("shape", mode), False, div)
    stride = list(t.stride)
    step: Any = 1
    wide = False
    factor = 1
    for i in reversed(list(order)):  # stride_order lists modes from the outermost to the innermost
        if isinstance(step, int) and not wide:
            stride[i] = step
        else:
            stride[i] = _dynamic(name("stride", i), True, factor)
        extent = shape[i]
        if isinstance(extent, Dyn):
            wide = True
            from cutecheck.model import expr as ex

            factor *= ex.divisor(extent.expr)
        elif isinstance(extent, int):
            step = step * extent if isinstance(step, int) else step
            factor *= extent
    t.shape, t.stride = tuple(shape), tuple(stride)
    _as_asserted(m, t)
    _as_given(m, t)
    return t


def extent_or_zero(v: Any) -> int:
    return v if isinstance(v, int) else 1 << 40


def cute_attribute(m: Machine, t: HostCute, ident: str, span: Span) -> Value:
    if ident in ("element_type", "dtype"):
        return t.dtype
    if ident == "shape":
        return t.extents or t.shape
    if ident == "stride":
        return t.concrete or t.stride
    if ident == "leading_dim":
        from cutecheck.source.eval.intrinsics.dsl_layouts import leading_dim

        return leading_dim(t.shape, t.stride)
    if ident == "iterator":
        return Pointer(f"tensor{_count(m)}", "gmem", t.dtype, 0, t.align)
    if f"hostcute.{ident}" in FUNCTIONS:
        return Builtin(f"hostcute.{ident}", t)
    return Extern(f"tensor.{ident}", span)


@builtin("cute.make_fake_tensor", "cute.make_fake_compact_tensor")
def _fake(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    kind = args[0] if args else kwargs.get("dtype")
    shape = args[1] if len(args) > 1 else kwargs.get("shape")
    stride = args[2] if len(args) > 2 else kwargs.get("stride")
    order = kwargs.get("stride_order")
    align = kwargs.get("assumed_align")
    shape = _fake_numbers(m, shape, False) if isinstance(shape, (tuple, list)) else (_fake_numbers(m, shape, False),)
    if isinstance(stride, (tuple, list)):
        full = tuple(_fake_numbers(m, d, True) for d in stride)
    else:
        ranks = list(order) if isinstance(order, (tuple, list)) else list(range(len(shape)))
        full = _compact_by(m, shape, ranks)
    size = kind.dtype.bits if isinstance(kind, ScalarType) else None
    bytes_ = align if isinstance(align, int) else int(bytes_to_hold(size)) if size else None
    return HostCute(shape, full, kind, bytes_, full)


def _compact_by(m: Machine, shape: tuple[Any, ...], ranks: list[int]) -> tuple[Any, ...]:
    from cutecheck.model import expr as ex

    stride: list[Any] = [0] * len(shape)
    step: Any = 1
    factor = 1
    n = _count(m)
    for i in sorted(range(len(shape)), key=lambda i: ranks[i]):
        stride[i] = step if isinstance(step, int) else _dynamic(f"stride{n}.{i}", True, factor)
        if isinstance(shape[i], Dyn):
            factor *= ex.divisor(shape[i].expr)
            step = None
        else:
            factor *= shape[i]
            step = step * shape[i] if isinstance(step, int) else None
    return tuple(stride)


def _fake_numbers(m: Machine, v: Value, wide: bool) -> Any:
    if isinstance(v, (tuple, list)):
        return tuple(_fake_numbers(m, x, wide) for x in v)
    if isinstance(v, (int, Dyn)):
        return v
    return _dynamic(f"size{_count(m)}", wide)


@builtin("cute.sym_int", "cute.sym_int32", "cute.sym_int64")
def _sym_int(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    div = kwargs.get("divisibility", 1)
    width = kwargs.get("width", args[0] if args else 32)
    return _dynamic(f"sym{_count(m)}", width == 64, div if isinstance(div, int) else 1)


def _sym64(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _sym_int(m, [64], kwargs, span)


FUNCTIONS["cute.sym_int64"] = _sym64
