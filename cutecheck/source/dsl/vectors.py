"""``TensorSSA``: the values of a tensor of registers that were loaded, of which shape and element type are known.

The values themselves are not followed. What a program makes of them by operators, ``to``, ``reshape`` or functions of
``cute.math`` has a shape, too, by which loops go and buffers are made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.ints import Dyn
from cutecheck.records import record
from cutecheck.source.dsl import reductions
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.cute_values import element_of
from cutecheck.source.dsl.values import Builtin
from cutecheck.source.eval.values import Extern, Scalar, ScalarType, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_FLOAT = "float"
_COMPARES = ("<", "<=", ">", ">=")
FUNCTIONS = frozenset(("where", "full", "full_like", "zeros_like", "ones_like", "empty_like"))
_METHODS = ("to", "reshape", "broadcast_to", "reduce")


@record(frozen=True, slots=True)
class VectorType:
    """``shape`` as Python has it; ``dtype`` None where the type of the elements is not known."""

    shape: Value
    dtype: DType | None


def type_of(value: Value) -> VectorType | None:
    return value.type if isinstance(value, Extern) and isinstance(value.type, VectorType) else None


@builtin("tensor_value.load")
def _load(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    t = args[0]
    if not isinstance(t, TensorVal) or isinstance(t.layout, Unknown):
        m.recorder.takes((t,))
        return Extern("vector", span)
    m.recorder.loads(t, span)
    made = Extern("vector", span, VectorType(m.dialect.from_model(alg.shape(t.layout)), t.dtype))
    return reductions.made(m, made, reductions.Lanes(t) if t.space == "rmem" else None)


def attribute(m: Machine, base: Value, name: str, span: Span) -> Value | None:
    kind = type_of(base)
    if kind is None:
        return None
    if name == "shape":
        return kind.shape
    if name in ("dtype", "element_type"):
        return ScalarType(kind.dtype) if kind.dtype is not None else Unknown("the element type is not known", span)
    return Builtin(f"vector.{name}", base) if name in _METHODS else None


@builtin("vector.to")
def _to(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    kind, to = type_of(args[0]), args[1] if len(args) > 1 else kwargs.get("dtype")
    assert kind is not None
    made = Extern("vector", span, replace(kind, dtype=to.dtype if isinstance(to, ScalarType) else None))
    return reductions.passed(m, made, args[:1], span)


@builtin("vector.reshape", "vector.broadcast_to")
def _reshaped(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    kind, shape = type_of(args[0]), args[1] if len(args) > 1 else kwargs.get("shape", kwargs.get("target_shape"))
    assert kind is not None
    made = Extern("vector", span, replace(kind, shape=shape) if isinstance(shape, (int, tuple)) else None)
    return reductions.passed(m, made, args[:1], span)


@builtin("vector.reduce")
def _reduced(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    kind, profile = type_of(args[0]), args[3] if len(args) > 3 else kwargs.get("reduction_profile")
    assert kind is not None
    if isinstance(profile, int) and kind.dtype is not None:
        return reductions.reduced(m, element_of(m, kind.dtype.name), args[0], span)
    if isinstance(profile, tuple) and (shape := _kept(profile, kind.shape)) is not None:
        return Extern("vector", span, replace(kind, shape=shape))
    made = Extern("vector.reduce(...)", span)
    return reductions.reduced(m, made, args[0], span) if isinstance(profile, int) else made


def _kept(profile: Value, shape: Value) -> tuple[Value, ...] | None:
    """The modes of a shape where a profile has ``None``; None where one does not go with the other."""
    if profile is None:
        return (shape,)
    if not isinstance(profile, tuple):
        return () if isinstance(profile, int) else None
    if not isinstance(shape, tuple) or len(profile) != len(shape):
        return None
    parts = [_kept(p, s) for p, s in zip(profile, shape, strict=True)]
    return tuple(x for part in parts for x in part or ()) if None not in parts else None


def operator(op: str, left: Value, right: Value, span: Span) -> Value | None:
    """Of two vectors of one shape, or of one and a number that is spread over it."""
    a, b = type_of(left), type_of(right)
    kind = a or b
    if kind is None:
        return None
    if a is not None and b is not None:
        if a.shape != b.shape:
            return None  # one may be spread over the other
        made = a.dtype if a.dtype == b.dtype else None
    else:
        other = right if a is not None else left
        if not isinstance(other, (int, float, Dyn, Scalar)):
            return None
        plain = isinstance(other, (int, float, Dyn)) or other.ctype in (_FLOAT, "int")
        made = kind.dtype if plain and kind.dtype is not None and kind.dtype.name == _FLOAT else None
    if op in _COMPARES:
        made = dtype("bool")
    return Extern("vector", span, VectorType(kind.shape, made))


def computed(fn: Extern, args: list[Value], span: Span) -> Value | None:
    """What a function of the DSL makes of a vector, element by element."""
    kind = type_of(args[0]) if args else None
    element_wise = kind is not None and fn.what.startswith(("cute.math.", "cutlass.cute.math."))
    return Extern("vector", span, kind) if element_wise else None


@builtin("cute.where")
def _where(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    given = [*args, *kwargs.values()]
    kinds = [k for k in map(type_of, given) if k is not None]
    if not kinds or type_of(given[0]) is None or any(k.shape != kinds[0].shape for k in kinds):
        return reductions.passed(m, Extern("cute.where(...)", span), given, span)
    made = kinds[-1].dtype if len({k.dtype for k in kinds[1:]}) == 1 else None
    return reductions.passed(m, Extern("vector", span, replace(kinds[0], dtype=made)), given, span)


@builtin("cute.full")
def _full(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    given = {**dict(zip(("shape", "fill_value", "dtype"), args, strict=False)), **kwargs}
    shape, of = given.get("shape"), given.get("dtype")
    known = isinstance(shape, (int, tuple)) and isinstance(of, ScalarType)
    return Extern("vector", span, VectorType(shape, of.dtype) if known and isinstance(of, ScalarType) else None)


@builtin("cute.full_like", "cute.zeros_like", "cute.ones_like", "cute.empty_like")
def _like(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    t = args[0] if args else kwargs.get("a")
    of = next((x for x in args[1:] if isinstance(x, ScalarType)), kwargs.get("dtype"))
    kind = type_of(_load(m, [t], {}, span)) if isinstance(t, TensorVal) else type_of(t)
    if kind is None or (of is not None and not isinstance(of, ScalarType)):
        return Extern("vector", span)
    return Extern("vector", span, replace(kind, dtype=of.dtype) if isinstance(of, ScalarType) else kind)
