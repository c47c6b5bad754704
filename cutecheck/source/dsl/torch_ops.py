"""Arrays that torch computes from others: copies, reductions, products."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Sym, mul
from cutecheck.source.dsl.builtins import FUNCTIONS
from cutecheck.source.dsl.torch_shapes import (
    bound,
    broadcast,
    compact,
    computed,
    floating,
    fresh,
    items,
    operation,
    place,
    promoted,
    shape_of,
    type_named,
)  # fmt: skip
from cutecheck.source.dsl.torch_views import flatten, part
from cutecheck.source.dsl.values import HostTensor
from cutecheck.source.eval.values import Extern, Scalar, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_INDEX = "int64_t"


def _open(m: Machine) -> Sym:
    return Sym.named(f"extent#{m.fresh('').expr}", Domain(0))


@operation("contiguous")
def _contiguous(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return replace(t, strides=compact(t.shape))


def _new(name: str) -> None:
    @operation(name)
    def run(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        size = [kwargs["size"]] if "size" in kwargs else args[:1] if name == "new_full" else args
        shape = shape_of(m, size, span)
        return shape if isinstance(shape, Unknown) else fresh(shape, kwargs.get("dtype") or t.dtype)


for _name in ("new_empty", "new_zeros", "new_ones", "new_full"):
    _new(_name)


@operation("repeat", "tile")
def _repeat(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    times = items([*args, *kwargs.values()])
    shape = (*[1] * (len(times) - len(t.shape)), *t.shape)
    times = (*[1] * (len(shape) - len(times)), *times)
    return fresh(tuple(mul(s, n) for s, n in zip(shape, times, strict=True)), t.dtype)


@operation("repeat_interleave")
def _interleaved(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    times, at = bound(args, kwargs, repeats=None, dim=None)
    if not isinstance(times, int):
        return Extern("torch.repeat_interleave(...)", span)
    if at is None:
        return fresh((mul(flatten(m, t, [], {}, span).shape[0], times),), t.dtype)
    at = place(t, at)
    return fresh(part(t, at, mul(t.shape[at], times)).shape, t.dtype)


@operation("pad")
def _pad(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    by = list(bound(args[:1], kwargs, pad=None)[0])
    shape = list(t.shape)
    for i in range(0, len(by), 2):
        shape[-1 - i // 2] = shape[-1 - i // 2] + by[i] + by[i + 1]
    return fresh(tuple(shape), t.dtype)


FUNCTIONS["torch.nn.functional.pad"] = FUNCTIONS["torch.pad"]


def _reduction(name: str, kind: str | None, pair: bool = False) -> None:
    @operation(name)
    def run(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        if name == "norm" and args:
            args = args[1:]  # the order
        at, keep = bound(args, kwargs, dim=kwargs.get("axis"), keepdim=False)
        made = type_named(kind) if kind else kwargs.get("dtype") or t.dtype
        if isinstance(at, HostTensor):  # torch.max(a, b)
            return broadcast(t, at) or Extern(f"torch.{name}(...)", span)
        asked = range(len(t.shape)) if at is None else [place(t, i) for i in items([at])]
        shape = tuple(1 if i in asked else s for i, s in enumerate(t.shape) if keep or i not in asked)
        result = fresh(shape, made)
        return (result, replace(result, dtype=type_named(_INDEX))) if pair and at is not None else result


for _name, _kind, _both in (
    ("sum", None, False), ("mean", None, False), ("prod", None, False), ("amax", None, False), ("amin", None, False),
    ("max", None, True), ("min", None, True), ("argmax", _INDEX, False), ("argmin", _INDEX, False),
    ("logsumexp", None, False), ("norm", None, False), ("all", "bool", False), ("any", "bool", False),
    ("std", None, False), ("var", None, False), ("median", None, True),
):  # fmt: skip
    _reduction(_name, _kind, _both)


@operation("topk")
def _topk(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    k, at = bound(args[:2], kwargs, k=None, dim=-1)
    values = fresh(part(t, place(t, at), k).shape, t.dtype)
    return values, replace(values, dtype=type_named(_INDEX))


@operation("sort")
def _sort(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return t, replace(t, dtype=type_named(_INDEX))


@operation("argsort")
def _argsort(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return replace(t, dtype=type_named(_INDEX))


@operation("one_hot")
def _one_hot(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    (count,) = bound(args, kwargs, num_classes=-1)
    return fresh((*t.shape, count if count != -1 else _open(m)), t.dtype)


FUNCTIONS["torch.nn.functional.one_hot"] = FUNCTIONS["torch.one_hot"]


@operation("index_select")
def _index_select(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    at, index = bound(args, kwargs, dim=None, index=None)
    return fresh(part(t, place(t, at), index.shape[0]).shape, t.dtype)


@operation("gather", "take_along_dim")
def _gather(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    index = next((a for a in (*args, *kwargs.values()) if isinstance(a, HostTensor)), None)
    return fresh(index.shape, t.dtype) if index is not None else Extern("torch.gather(...)", span)


@operation("nonzero")
def _nonzero(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return replace(fresh((_open(m), len(t.shape)), type_named(_INDEX)), strides=(1, Unknown("a stride", span)))


@operation("type_as")
def _type_as(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return replace(t, dtype=args[0].dtype)


@operation("matmul", "mm", "bmm")
def matmul(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``a @ b``; modes before the last two are broadcast."""
    other = args[0] if args else next(iter(kwargs.values()), None)
    if not isinstance(other, HostTensor) or not t.shape or not other.shape:
        return Extern("torch.matmul(...)", span)
    a = t.shape if len(t.shape) > 1 else (1, *t.shape)
    b = other.shape if len(other.shape) > 1 else (*other.shape, 1)
    if all(isinstance(n, int) for n in (a[-1], b[-2])) and a[-1] != b[-2]:
        return Unknown(f"torch multiplies no {t.shape} with {other.shape}", span, True)
    lead = broadcast(fresh(a[:-2], t.dtype), fresh(b[:-2], t.dtype))
    if lead is None:
        return Extern("torch.matmul(...)", span)
    rows = a[-2:-1] if len(t.shape) > 1 else ()
    return fresh((*lead.shape, *rows, *(b[-1:] if len(other.shape) > 1 else ())), t.dtype)


@operation("linear")
def _linear(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    (weight, _) = bound(args, kwargs, weight=None, bias=None)
    return fresh((*t.shape[:-1], weight.shape[0]), t.dtype)


FUNCTIONS["torch.nn.functional.linear"] = FUNCTIONS["torch.linear"]


def _added(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return matmul(m, args[1], [args[2]], {}, span)


for _name in ("addmm", "baddbmm"):
    FUNCTIONS[f"torch.{_name}"] = FUNCTIONS[f"tensor.{_name}"] = _added


def _einsum(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Extents by the letters of the equation; ``...`` is not followed."""
    text, operands = args[0], items(args[1:])
    if not isinstance(text, str) or "." in text or not all(isinstance(o, HostTensor) for o in operands):
        return Extern("torch.einsum(...)", span)
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = left.split(",")
    letters = "".join(inputs)
    if not arrow:
        right = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    extents = {c: s for word, o in zip(inputs, operands, strict=True) for c, s in zip(word, o.shape, strict=True)}
    return fresh(tuple(extents[c] for c in right), operands[0].dtype)


FUNCTIONS["torch.einsum"] = _einsum


def binary(m: Machine, op: str, left: Value, right: Value, span: Span) -> Value:
    """``left op right``, one of them an array."""
    if op == "@":
        both = isinstance(left, HostTensor) and isinstance(right, HostTensor)
        return matmul(m, left, [right], {}, span) if both else Extern("a product", span)
    if isinstance(left, HostTensor) and isinstance(right, HostTensor):
        made = broadcast(left, right)
        if made is None:
            return Extern(f"operator {op} on arrays", span)
        made = replace(made, dtype=promoted(left, right))
    else:
        other = right if isinstance(left, HostTensor) else left
        made = computed(left if isinstance(left, HostTensor) else right)
        real = isinstance(other, float) or (isinstance(other, Scalar) and other.ctype in ("float", "double"))
        if (real or op == "/") and isinstance(made.dtype, ScalarType) and not floating(made.dtype):
            made = replace(made, dtype=type_named("float"))
    return replace(made, dtype=type_named("bool")) if op in ("<", "<=", ">", ">=", "==", "!=") else made


def _where(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    arrays = [a for a in args if isinstance(a, HostTensor)]
    if len(args) != 3 or not arrays:
        return Extern("torch.where(...)", span)
    made: HostTensor | None = arrays[0]
    for a in arrays[1:]:
        made = broadcast(made, a) if made is not None else None
    kinds = [a for a in args[1:] if isinstance(a, HostTensor)]
    kind = promoted(kinds[0], kinds[-1]) if kinds else type_named("float")
    return replace(made, dtype=kind) if made is not None else Extern("torch.where(...)", span)


FUNCTIONS["torch.where"] = _where


@operation(
    "clone", "abs", "neg", "exp", "exp2", "log", "log2", "relu", "clamp", "clip", "clamp_min", "clamp_max", "round",
    "floor", "ceil", "trunc", "sqrt", "rsqrt", "softmax", "log_softmax", "tanh", "sigmoid", "silu", "gelu", "softplus",
    "masked_fill", "square", "pow", "erf", "sin", "cos", "sign", "cumsum", "tril", "triu", "flip", "roll", "bernoulli",
    "normalize", "dropout", "layer_norm", "rms_norm", "scatter", "index_fill", "nan_to_num", "logical_not",
)  # fmt: skip
def _alike(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Functions of one array whose result has its shape."""
    kind = kwargs.get("dtype") if isinstance(kwargs.get("dtype"), ScalarType) else t.dtype
    return replace(computed(t), dtype=kind)


@operation("maximum", "minimum", "mul", "div", "add", "sub", "true_divide", "fmod", "remainder", "logical_and")
def _elementwise(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    other = args[0] if args else next(iter(kwargs.values()), None)
    return binary(m, "+", t, other, span)


for _name in (
    "relu", "silu", "gelu", "softmax", "log_softmax", "softplus", "sigmoid", "tanh", "normalize", "dropout",
    "layer_norm", "rms_norm",
):  # fmt: skip
    FUNCTIONS[f"torch.nn.functional.{_name}"] = FUNCTIONS[f"torch.{_name}"]


@operation("scaled_dot_product_attention")
def _attention(m: Machine, t: HostTensor, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    _, value = bound(args, kwargs, key=None, value=None)
    return fresh((*t.shape[:-1], value.shape[-1]), t.dtype)


FUNCTIONS["torch.nn.functional.scaled_dot_product_attention"] = FUNCTIONS["torch.scaled_dot_product_attention"]

__all__ = ["binary", "matmul"]
