"""Arrays of the host: shapes and strides of torch tensors, and the CuTe tensors made of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.dtype import dtype
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Sym, mul
from cutecheck.model.units import bytes_to_hold
from cutecheck.source.dsl import torch_ops  # noqa: F401  (registers them)
from cutecheck.source.dsl.builtins import FUNCTIONS, builtin
from cutecheck.source.dsl.host_tensors import as_dynamic, cute_attribute, extent_or_zero
from cutecheck.source.dsl.torch_shapes import compact, computed, floating, place, shape_of, type_named
from cutecheck.source.dsl.torch_views import permuted
from cutecheck.source.dsl.values import Builtin, HostCute, HostTensor, TorchType
from cutecheck.source.eval.expressions.displays import OPEN_SLICE
from cutecheck.source.eval.values import EnumVal, Extern, Scalar, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

DTYPES = {
    "float16": "half_t", "half": "half_t", "bfloat16": "bfloat16_t", "float32": "float", "float": "float",
    "float64": "double", "double": "double", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t",
    "int32": "int32_t", "int": "int32_t", "int64": "int64_t", "long": "int64_t", "bool": "bool",
    "float8_e4m3fn": "float_e4m3_t", "float8_e5m2": "float_e5m2_t", "float8_e8m0fnu": "float_ue8m0_t",
    "uint32": "uint32_t", "uint16": "uint16_t", "uint64": "uint64_t",
}  # fmt: skip
_OTHER_DTYPES = frozenset({"float4_e2m1fn_x2", "complex64", "complex128", "quint8", "qint8"})
_CUDA = EnumVal("torch.device", "cuda", None)
_FLOAT = type_named("float")
_LISTED = 64  # items of an array whose numbers are kept apart
_MAKERS = (
    "empty", "zeros", "ones", "randn", "rand", "full", "randint", "arange", "randperm", "empty_strided", "normal",
)  # fmt: skip
_LIKE = ("empty_like", "zeros_like", "ones_like", "randn_like", "rand_like", "full_like")


def torch_type_name(kind: TorchType) -> str:
    """``torch.float16``, as Python writes it."""
    return "torch." + next((word for word, name in DTYPES.items() if name == kind.dtype.name), kind.dtype.name)


def torch_name(full: str) -> Value | None:
    """``torch.x``."""
    word = full.rpartition(".")[2]
    if full.startswith("torch.") and full.count(".") == 1:
        if word in DTYPES:
            found = dtype(DTYPES[word])
            return None if found is None else TorchType(found)
        if f"torch.{word}" in FUNCTIONS:
            return Builtin(f"torch.{word}")
        if word in ("Tensor", "dtype"):
            return Builtin(f"torch.{word}")
        if word in _OTHER_DTYPES:
            return EnumVal("torch.dtype", word, None)
    if full.startswith("torch.nn.functional.") and full in FUNCTIONS:
        return Builtin(full)
    return None


def _make(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        kind = kwargs.get("dtype", _FLOAT)
        if word in ("arange", "randperm"):
            whole = [a for a in args if isinstance(a, int)]
            count = len(range(*whole)) if whole and len(whole) == len(args) else m.fresh("n")
            return HostTensor((count,), (1,), kwargs.get("dtype") or type_named("int64_t"))
        if word == "full":
            value = args[1] if len(args) > 1 else kwargs.get("fill_value")
            whole_number = type_named("bool" if isinstance(value, bool) else "int64_t")
            kind = kwargs.get("dtype") or (whole_number if isinstance(value, int) else _FLOAT)
            args = [args[0] if args else kwargs.get("size")]
        if word == "empty_strided":
            size, strides = tuple(args[0]), tuple(args[1])
            return HostTensor(size, strides, kind)
        if word in ("randint", "normal"):
            args = [kwargs.get("size", args[-1] if args else None)]
            kind = kwargs.get("dtype") or (type_named("int64_t") if word == "randint" else _FLOAT)
        if "size" in kwargs:
            args = [kwargs["size"]]
        shape = shape_of(m, args, span)
        return shape if isinstance(shape, Unknown) else HostTensor(shape, compact(shape), kind)

    FUNCTIONS[f"torch.{word}"] = run


def _make_like(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        t = args[0]
        if not isinstance(t, HostTensor):
            return t
        return replace(computed(t), dtype=kwargs.get("dtype") or t.dtype)

    FUNCTIONS[f"torch.{word}"] = run


for _word in _MAKERS:
    _make(_word)
for _word in _LIKE:
    _make_like(_word)


def _nested(data: Any) -> tuple[tuple[int, ...], Value]:
    """The shape of nested lists, and their first number."""
    shape: list[int] = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        data = data[0] if data else 0.0
    return tuple(shape), data


@builtin("torch.tensor", "torch.as_tensor", "torch.asarray")
def _tensor(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if isinstance(args[0], HostTensor):
        return _to(m, [args[0], *args[1:]], kwargs, span)
    shape, first = _nested(args[0])
    kind = type_named("bool" if isinstance(first, bool) else "int64_t" if isinstance(first, int) else "float")
    return HostTensor(shape, compact(shape), kwargs.get("dtype") or kind)


@builtin("torch.eye")
def _eye(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    shape = shape_of(m, [args[0], args[-1]], span)
    return shape if isinstance(shape, Unknown) else HostTensor(shape, compact(shape), kwargs.get("dtype") or _FLOAT)


@builtin("torch.linspace", "torch.logspace")
def _linspace(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    shape = shape_of(m, [args[2] if len(args) > 2 else kwargs.get("steps")], span)
    return shape if isinstance(shape, Unknown) else HostTensor(shape, (1,), kwargs.get("dtype") or _FLOAT)


FUNCTIONS["torch.device"] = lambda m, args, kwargs, span: _CUDA


def _arrays(parts: Any) -> bool:
    return all(isinstance(p, HostTensor) for p in parts)


@builtin("torch.cat", "torch.concat", "torch.concatenate")
def _joined(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Arrays one behind the other along a mode."""
    parts, at = args[0], kwargs.get("dim", args[1] if len(args) > 1 else 0)
    if not isinstance(parts, (list, tuple)) or not parts or not isinstance(at, int) or not _arrays(parts):
        return Extern("torch.cat(...)", span)
    first: HostTensor = parts[0]
    at = place(first, at)
    total: Any = 0
    for p in parts:
        total = total + p.shape[at]
    shape = (*first.shape[:at], total, *first.shape[at + 1 :])
    return HostTensor(shape, compact(shape), first.dtype)


def _stacked(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    parts, at = args[0], kwargs.get("dim", args[1] if len(args) > 1 else 0)
    if not isinstance(parts, (list, tuple)) or not parts or not isinstance(at, int) or not _arrays(parts):
        return Extern("torch.stack(...)", span)
    first = parts[0]
    at %= len(first.shape) + 1
    shape = (*first.shape[:at], len(parts), *first.shape[at:])
    return HostTensor(shape, compact(shape), first.dtype)


FUNCTIONS["torch.stack"] = _stacked
FUNCTIONS["torch.vstack"] = lambda m, args, kwargs, span: _joined(m, [args[0], 0], {}, span)
FUNCTIONS["torch.hstack"] = lambda m, args, kwargs, span: _joined(m, [args[0], len(args[0][0].shape) > 1], {}, span)
for _word in (
    "torch.cumsum",
    "tensor.cumsum",
    "torch.tril",
    "torch.triu",
    "torch.nn.Parameter",
    "torch.nn.parameter.Parameter",
):
    FUNCTIONS[_word] = lambda m, args, kwargs, span: args[0]
FUNCTIONS["torch.manual_seed"] = lambda m, args, kwargs, span: None
FUNCTIONS["torch.compile"] = lambda m, args, kwargs, span: args[0] if args else Builtin("id_")

_SAME = ("cuda", "cpu", "detach", "data", "pin_memory")  # and what works in place, but for what changes the shape
_RESHAPES = frozenset({
    "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "resize_", "resize_as_", "set_",
    "as_strided_",
})  # fmt: skip


def tensor_attribute(m: Machine, t: Value, ident: str, span: Span) -> Value:
    if isinstance(t, HostCute):
        return cute_attribute(m, t, ident, span)
    if ident == "shape":
        return t.shape
    if ident in ("dtype",):
        return t.dtype
    if ident in ("is_cuda",):
        return True
    if ident == "ndim":
        return len(t.shape)
    if ident in ("T", "mT"):
        order = range(len(t.shape))
        return permuted(t, [*order[: -2 if ident == "mT" else 0], *reversed(order[-2 if ident == "mT" else 0 :])])
    if ident == "itemsize":
        return _bytes(t.dtype, span)
    if ident == "device":
        return _CUDA
    if ident == "grad":
        return Extern("tensor.grad", span)
    if f"tensor.{ident}" in FUNCTIONS:
        return Builtin(f"tensor.{ident}", t)
    in_place = ident.endswith("_") and not ident.endswith("__") and ident not in _RESHAPES
    return Builtin("tensor.same", t) if ident in _SAME or in_place else Extern(f"tensor.{ident}", span)


@builtin("tensor.same")
def _same(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0]


@builtin("tensor.to", "tensor.type", "tensor.astype")
def _to(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    for v in (*args[1:], *kwargs.values()):
        if isinstance(v, (ScalarType, HostTensor)):
            return _converted(args[0], v.dtype if isinstance(v, HostTensor) else v)
    if "dtype" in kwargs and kwargs["dtype"] is not None and not isinstance(kwargs["dtype"], str):
        return replace(computed(args[0]), dtype=Unknown("an element type that is not known", span))
    return args[0]


def _converted(t: HostTensor, kind: Value) -> HostTensor:
    """The array itself where it has the type, else one of its own."""
    return t if t.dtype == kind else replace(computed(t), dtype=kind)


def _as_type(word: str, name: str) -> None:
    kind = type_named(name)
    FUNCTIONS[f"tensor.{word}"] = lambda m, args, kwargs, span: _converted(args[0], kind)


for _word, _name in (("half", "half_t"), ("float", "float"), ("bfloat16", "bfloat16_t"), ("int", "int32_t"),
                     ("long", "int64_t"), ("double", "double"), ("bool", "bool")):  # fmt: skip
    _as_type(_word, _name)


FUNCTIONS["tensor.size"] = lambda m, args, kwargs, span: args[0].shape[args[1]] if len(args) > 1 else args[0].shape
FUNCTIONS["tensor.stride"] = lambda m, args, kwargs, span: (
    args[0].strides[args[1]] if len(args) > 1 else args[0].strides
)
FUNCTIONS["tensor.dim_order"] = lambda m, args, kwargs, span: tuple(
    sorted(range(len(args[0].shape)), key=lambda i: (-extent_or_zero(args[0].strides[i]), i))
)


@builtin("tensor.item", "tensor.__int__", "tensor.__index__")
def _item(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The number in an array: any of its type."""
    kind = args[0].dtype
    if not isinstance(kind, ScalarType) or floating(kind) or kind.dtype.name == "bool":
        return Scalar(None, "bool" if isinstance(kind, ScalarType) and kind.dtype.name == "bool" else "float")
    return Sym.named(f"item#{m.number()}")


@builtin("tensor.tolist")
def _to_list(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The numbers in an array of few items, in lists as its modes are."""
    t = args[0]
    if not all(isinstance(n, int) for n in t.shape) or math.prod(t.shape) > _LISTED:
        return Extern("tensor.tolist(...)", span)

    def listed(shape: tuple[int, ...]) -> Value:
        return [listed(shape[1:]) for _ in range(shape[0])] if shape else _item(m, [t], {}, span)

    return listed(t.shape)


FUNCTIONS["tensor.is_floating_point"] = lambda m, args, kwargs, span: floating(args[0].dtype)
FUNCTIONS["torch.is_tensor"] = lambda m, args, kwargs, span: isinstance(args[0], HostTensor)
FUNCTIONS["tensor.dim"] = lambda m, args, kwargs, span: len(args[0].shape)
FUNCTIONS["tensor.numel"] = FUNCTIONS["tensor.nelement"] = lambda m, args, kwargs, span: math.prod(args[0].shape)
FUNCTIONS["tensor.element_size"] = lambda m, args, kwargs, span: _bytes(args[0].dtype, span)
FUNCTIONS["tensor.is_contiguous"] = lambda m, args, kwargs, span: args[0].strides == compact(args[0].shape)
FUNCTIONS["tensor.data_ptr"] = lambda m, args, kwargs, span: Extern("tensor.data_ptr()", span)


def _bytes(kind: Value, span: Span) -> Value:
    """What an element takes in memory; types without a counterpart in the DSL have their widths here."""
    if isinstance(kind, EnumVal):
        wide = {"complex64": 8, "complex128": 16}.get(kind.name, 1)
        return wide if kind.enum == "torch.dtype" else Unknown("an element type that is not known", span)
    found = getattr(kind, "dtype", None)
    return Unknown("an element type that is not known", span) if found is None else int(bytes_to_hold(found.bits))


def index(t: HostTensor, key: Value, span: Span) -> Value:
    """``t[key]``."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if "..." in [k for k in keys if isinstance(k, str)]:
        at = keys.index("...")
        keys[at : at + 1] = [slice(None)] * (len(t.shape) - len([k for k in keys if k is not None]) + 1)
    shape: list[Any] = []
    strides: list[Any] = []
    mode = 0
    for k in keys:
        if k is None:
            shape.append(1)
            strides.append(mul(t.shape[mode], t.strides[mode]) if mode < len(t.shape) else 1)
            continue
        if mode == len(t.shape):
            return Unknown("an index of a tensor", span)
        if isinstance(k, slice) and k == slice(None):
            shape.append(t.shape[mode])
            strides.append(t.strides[mode])
        elif isinstance(k, slice) and isinstance(t.shape[mode], int) and t.shape[mode] >= 0:
            shape.append(len(range(*k.indices(t.shape[mode]))))
            strides.append(t.strides[mode] * (k.step or 1))
        elif isinstance(k, slice) or (isinstance(k, Unknown) and k.reason == OPEN_SLICE):
            shape.append(Dyn.named(f"slice{span.line}.{mode}", Domain(0)))
            strides.append(t.strides[mode])
        elif isinstance(k, (HostTensor, list)):
            return _gathered(t, keys, span)
        elif not isinstance(k, (int, Dyn)):
            return Unknown("an index of a tensor", span)
        mode += 1
    return HostTensor((*shape, *t.shape[mode:]), (*strides, *t.strides[mode:]), t.dtype)


def _gathered(t: HostTensor, keys: list[Any], span: Span) -> Value:
    """``t[rows]`` or ``t[..., rows]`` with one array of positions, or a mask: a copy."""
    at = next(i for i, k in enumerate(keys) if isinstance(k, (HostTensor, list)))
    k = keys[at]
    if any(i != at and not (isinstance(o, slice) and o == slice(None)) for i, o in enumerate(keys)):
        return Unknown("an index of a tensor", span)
    if isinstance(k, list):
        taken: tuple[Any, ...] = _nested(k)[0]
        through = 1
    elif isinstance(k.dtype, ScalarType) and k.dtype.dtype.name == "bool":
        taken = (Dyn.named(f"mask{span.line}.{span.column}", Domain(0)),)
        through = len(k.shape)
    else:
        taken, through = k.shape, 1
    shape = (*t.shape[:at], *taken, *t.shape[at + through :])
    return HostTensor(shape, compact(shape), t.dtype)


__all__ = ["as_dynamic", "index", "tensor_attribute", "torch_name"]
