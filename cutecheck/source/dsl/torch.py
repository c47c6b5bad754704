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
from cutecheck.source.dsl.builtins import FUNCTIONS, builtin
from cutecheck.source.dsl.host_tensors import as_dynamic, cute_attribute, extent_or_zero
from cutecheck.source.dsl.values import Builtin, HostCute, HostTensor
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
_FLOAT = ScalarType(dtype("float"))  # type: ignore[arg-type]
_MAKERS = ("empty", "zeros", "ones", "randn", "rand", "full", "randint", "arange", "randperm", "empty_strided")
_LIKE = ("empty_like", "zeros_like", "ones_like", "randn_like", "rand_like", "full_like")


def torch_name(full: str) -> Value | None:
    """``torch.x``."""
    word = full.rpartition(".")[2]
    if full.startswith("torch.") and full.count(".") == 1:
        if word in DTYPES:
            found = dtype(DTYPES[word])
            return None if found is None else ScalarType(found)
        if f"torch.{word}" in FUNCTIONS:
            return Builtin(f"torch.{word}")
        if word == "Tensor":
            return Builtin("torch.Tensor")
        if word in _OTHER_DTYPES:
            return EnumVal("torch.dtype", word, None)
    if full.startswith("torch.nn.functional.") and full in FUNCTIONS:
        return Builtin(full)
    return None


def compact(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Row-major strides."""
    out: list[Any] = []
    step: Any = 1
    for s in reversed(shape):
        out.append(step)
        step = mul(step, s) if isinstance(s, (int, Dyn, Sym)) and not isinstance(step, Unknown) else Unknown("a stride")
    return tuple(reversed(out))


def _shape(m: Machine, args: list[Value], span: Span) -> tuple[Any, ...] | Unknown:
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = list(args[0])
    extents: list[Any] = []
    for a in args:
        if isinstance(a, (Scalar, Extern)) or (isinstance(a, HostTensor) and not a.shape):
            # read out of an array, or drawn: the same in one run, and open here
            a = Sym.named(f"extent#{len(m.names)}#{m.fresh('').expr}", Domain(0))
        if not isinstance(a, (int, Dyn, Sym)):
            return a if isinstance(a, Unknown) else Unknown("a shape that is not known", span)
        extents.append(a)
    return tuple(extents)


def _make(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        kind = kwargs.get("dtype", _FLOAT)
        if word in ("arange", "randperm"):
            whole = [a for a in args if isinstance(a, int)]
            count = len(range(*whole)) if whole and len(whole) == len(args) else m.fresh("n")
            return HostTensor((count,), (1,), kwargs.get("dtype", ScalarType(dtype("int64_t"))))  # type: ignore[arg-type]
        if word == "full":
            args = [args[0] if args else kwargs.get("size")]
        if word == "empty_strided":
            size, strides = tuple(args[0]), tuple(args[1])
            return HostTensor(size, strides, kind)
        if word == "randint":
            args = [kwargs.get("size", args[-1] if args else None)]
        if "size" in kwargs:
            args = [kwargs["size"]]
        shape = _shape(m, args, span)
        return shape if isinstance(shape, Unknown) else HostTensor(shape, compact(shape), kind)

    FUNCTIONS[f"torch.{word}"] = run


def _make_like(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        t = args[0]
        if not isinstance(t, HostTensor):
            return t
        return replace(t, dtype=kwargs.get("dtype") or t.dtype)

    FUNCTIONS[f"torch.{word}"] = run


for _word in _MAKERS:
    _make(_word)
for _word in _LIKE:
    _make_like(_word)

FUNCTIONS["torch.tensor"] = lambda m, args, kwargs, span: (
    HostTensor((len(args[0]),), (1,), kwargs.get("dtype", _FLOAT))
    if isinstance(args[0], (list, tuple))
    else HostTensor((), (), kwargs.get("dtype", _FLOAT))
)


def _elementwise(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Functions whose result has the shape of their first array."""
    return next((a for a in args if isinstance(a, HostTensor)), Extern("an array", span))


for _word in (
    "exp", "abs", "neg", "sigmoid", "softplus", "relu", "silu", "gelu", "softmax", "log_softmax", "tanh", "sqrt",
    "rsqrt", "clamp", "clip", "round", "floor", "trunc", "log", "log2", "exp2", "maximum", "minimum", "mul", "div",
    "add", "sub", "bernoulli", "sign", "square", "normalize",
):  # fmt: skip
    FUNCTIONS[f"torch.{_word}"] = FUNCTIONS[f"torch.nn.functional.{_word}"] = _elementwise


@builtin("torch.max", "torch.min", "torch.sum", "torch.prod", "torch.amax", "torch.amin")
def _reduced(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Over the whole array; along one of its modes it is not followed."""
    t = args[0]
    if len(args) == 1 and not kwargs and isinstance(t, HostTensor):
        return HostTensor((), (), t.dtype)
    return Extern("a reduction", span)


FUNCTIONS["torch.device"] = lambda m, args, kwargs, span: _CUDA


def _arrays(parts: Any) -> bool:
    return all(isinstance(p, HostTensor) for p in parts)


@builtin("torch.cat", "torch.concat")
def _joined(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Arrays one behind the other along a mode."""
    parts, at = args[0], kwargs.get("dim", args[1] if len(args) > 1 else 0)
    if not isinstance(parts, (list, tuple)) or not parts or not isinstance(at, int) or not _arrays(parts):
        return Extern("torch.cat(...)", span)
    first: HostTensor = parts[0]
    at %= len(first.shape) or 1
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
FUNCTIONS["torch.cumsum"] = lambda m, args, kwargs, span: args[0]
FUNCTIONS["tensor.cumsum"] = lambda m, args, kwargs, span: args[0]
FUNCTIONS["torch.manual_seed"] = lambda m, args, kwargs, span: None
FUNCTIONS["torch.compile"] = lambda m, args, kwargs, span: args[0] if args else Builtin("id_")

_SAME = (
    "cuda", "cpu", "clone", "detach", "random_", "normal_", "fill_", "zero_", "copy_", "requires_grad_", "uniform_",
    "contiguous_", "pin_memory", "data", "mul_", "add_", "div_", "abs", "neg", "exp", "relu", "clamp_", "clamp",
    "round", "trunc", "sqrt", "half_",
)  # fmt: skip


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
        return _transposed(t, len(t.shape) - 2, len(t.shape) - 1) if len(t.shape) > 1 else t
    if ident == "device":
        return _CUDA
    if ident == "grad":
        return Extern("tensor.grad", span)
    if f"tensor.{ident}" in FUNCTIONS:
        return Builtin(f"tensor.{ident}", t)
    return Builtin("tensor.same", t) if ident in _SAME else Extern(f"tensor.{ident}", span)


def _transposed(t: HostTensor, a: int, b: int) -> HostTensor:
    order = list(range(len(t.shape)))
    order[a], order[b] = order[b], order[a]
    return _permuted(t, order)


def _permuted(t: HostTensor, order: Any) -> HostTensor:
    return replace(t, shape=tuple(t.shape[i] for i in order), strides=tuple(t.strides[i] for i in order))


@builtin("tensor.same")
def _same(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0]


@builtin("tensor.permute")
def _permute(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    order = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
    return _permuted(args[0], order)


@builtin("tensor.transpose")
def _transpose(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _transposed(args[0], args[1], args[2])


FUNCTIONS["tensor.t"] = lambda m, args, kwargs, span: _transposed(args[0], 0, 1)


@builtin("tensor.to", "tensor.type")
def _to(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    for v in (*args[1:], *kwargs.values()):
        if isinstance(v, ScalarType):
            return replace(args[0], dtype=v)
        if isinstance(v, HostTensor):
            return replace(args[0], dtype=v.dtype)
    if "dtype" in kwargs and kwargs["dtype"] is not None and not isinstance(kwargs["dtype"], str):
        return replace(args[0], dtype=Unknown("an element type that is not known", span))
    return args[0]


def _as_type(word: str, name: str) -> None:
    found = dtype(name)
    assert found is not None
    kind = ScalarType(found)
    FUNCTIONS[f"tensor.{word}"] = lambda m, args, kwargs, span: replace(args[0], dtype=kind)


for _word, _name in (("half", "half_t"), ("float", "float"), ("bfloat16", "bfloat16_t"), ("int", "int32_t"),
                     ("long", "int64_t"), ("double", "double"), ("bool", "bool")):  # fmt: skip
    _as_type(_word, _name)


@builtin("tensor.view", "tensor.reshape")
def _view(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    t = args[0]
    given = [*args[1:], *kwargs.values()]
    if len(given) == 1 and isinstance(given[0], ScalarType):
        return replace(t, dtype=given[0])
    shape = _shape(m, given, span)
    if isinstance(shape, Unknown):
        return shape
    shape = _filled(m, t, shape)
    return HostTensor(shape, compact(shape), t.dtype)


def _filled(m: Machine, t: HostTensor, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """A new shape with the extent in the place of -1: what is left of the elements, open where they are not counted."""
    at = [i for i, s in enumerate(shape) if isinstance(s, int) and s == -1]
    if len(at) != 1:
        return shape
    others = [s for i, s in enumerate(shape) if i != at[0]]
    left: Any = Sym.named(f"extent#{m.fresh('').expr}", Domain(0))
    if all(isinstance(s, int) for s in (*t.shape, *others)) and math.prod(others):
        left = math.prod(t.shape) // math.prod(others)
    return (*shape[: at[0]], left, *shape[at[0] + 1 :])


@builtin("tensor.unsqueeze")
def _unsqueeze(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    t, at = args[0], args[1]
    at = at if at >= 0 else at + len(t.shape) + 1
    step = t.shape[at] * t.strides[at] if at < len(t.shape) else 1
    return replace(t, shape=(*t.shape[:at], 1, *t.shape[at:]), strides=(*t.strides[:at], step, *t.strides[at:]))


@builtin("tensor.squeeze")
def _squeeze(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    t = args[0]
    keep = [i for i, s in enumerate(t.shape) if s != 1 or (len(args) > 1 and i != args[1] % len(t.shape))]
    return _permuted(t, keep)


@builtin("tensor.contiguous")
def _contiguous(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return replace(args[0], strides=compact(args[0].shape))


@builtin("tensor.expand")
def _expand(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    t, shape = args[0], _shape(m, args[1:], span)
    if isinstance(shape, Unknown):
        return shape
    lead = len(shape) - len(t.shape)
    strides = [0] * lead + [
        0 if s == 1 and n != 1 else d for s, d, n in zip(t.shape, t.strides, shape[lead:], strict=True)
    ]
    full = tuple(t.shape[i - lead] if n == -1 else n for i, n in enumerate(shape))
    return HostTensor(full, tuple(strides), t.dtype)


FUNCTIONS["tensor.size"] = lambda m, args, kwargs, span: args[0].shape[args[1]] if len(args) > 1 else args[0].shape
FUNCTIONS["tensor.stride"] = lambda m, args, kwargs, span: (
    args[0].strides[args[1]] if len(args) > 1 else args[0].strides
)
FUNCTIONS["tensor.dim_order"] = lambda m, args, kwargs, span: tuple(
    sorted(range(len(args[0].shape)), key=lambda i: (-extent_or_zero(args[0].strides[i]), i))
)
FUNCTIONS["tensor.item"] = lambda m, args, kwargs, span: Scalar(None, "int")
for _word in ("max", "min", "sum", "amax", "amin", "prod"):
    FUNCTIONS[f"tensor.{_word}"] = _reduced
FUNCTIONS["tensor.dim"] = lambda m, args, kwargs, span: len(args[0].shape)
FUNCTIONS["tensor.numel"] = lambda m, args, kwargs, span: math.prod(args[0].shape)
FUNCTIONS["tensor.element_size"] = lambda m, args, kwargs, span: int(bytes_to_hold(args[0].dtype.dtype.bits))
FUNCTIONS["tensor.is_contiguous"] = lambda m, args, kwargs, span: args[0].strides == compact(args[0].shape)
FUNCTIONS["tensor.data_ptr"] = lambda m, args, kwargs, span: Extern("tensor.data_ptr()", span)


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
            strides.append(0)
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
        elif not isinstance(k, (int, Dyn)):
            return Unknown("an index of a tensor", span)
        mode += 1
    return HostTensor((*shape, *t.shape[mode:]), (*strides, *t.strides[mode:]), t.dtype)


__all__ = ["as_dynamic", "index", "tensor_attribute", "torch_name"]
