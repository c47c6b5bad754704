"""Names the evaluator knows: lookup, calls, methods, operators."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import atoms
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import Major
from cutecheck.model.atoms import CopyAtom, MMAAtom, UnknownAtomError
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import CuteError, Dyn, NotModelledError, Sym, UndecidedError, assuming
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.source.eval.intrinsics import (
    cuda,
    events,
    launch,
    layouts,
    pipeline,
    selectors,
    tensors,
    tiled,
    tma,
    traits,
)
from cutecheck.source.eval.intrinsics.registry import (
    CONFIGURING,
    CONSTANTS,
    FUNCTIONS,
    METHODS,
    TOLERANT,
    TYPES,
    Call,
    Unsupported,
)
from cutecheck.source.eval.intrinsics.tiled import decompose_tiled
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import (
    ArrayType,
    CuteOp,
    EnumVal,
    Extern,
    ExternType,
    Intrinsic,
    Object,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    Slice,
    Str,
    SubstitutionFailure,
    Tag,
    TemplateRef,
    TensorVal,
    TraitType,
    Value,
    ValueType,
    VoidType,
    constant,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_CONTAINER_DATA = ("data", "get", "device_data", "host_data", "begin", "data_ptr", "device_ref", "host_ref")
_STATIC_INT = re.compile(r"_(\d+)$")
_FAILURES = (TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError, AssertionError)


# What these libraries call so is no function of CuTe (`thrust::copy`, `std::fill`).
_FOREIGN = frozenset({"std", "thrust", "cub", "torch", "at", "c10"})
_CUTE_ONLY = frozenset({"copy", "copy_if", "fill", "clear", "transform", "gemm", "axpby", "prefetch", "size"})
_FUNCTORS = frozenset({
    "identity", "negate", "plus", "minus", "multiplies", "max_fn", "min_fn", "conjugate", "absolute_value", "abs_fn",
})  # fmt: skip


def find(m: Machine, path: str, name: str, span: Span) -> Value | None:
    """What a name of CuTe, CUTLASS, the standard library or CUDA means, None when it is not known."""
    key = (path, name)
    if key not in m.names:
        m.names[key] = _find(m, path, name)
    return m.names[key]


def _find(m: Machine, path: str, name: str) -> Value | None:
    number = _STATIC_INT.match(name)
    if number:
        return ValueType(int(number.group(1)))
    if path.split("::", 1)[0] in _FOREIGN and name in _CUTE_ONLY:
        return None
    short = "::".join(p for p in path.split("::") if p not in ("", "cute", "std", "cutlass", "cuda"))
    for key in dict.fromkeys((f"{short}::{name}" if short else name, name)):
        if key in CONSTANTS:
            return CONSTANTS[key]
        if key in TYPES:
            return TemplateRef(key)
        if key in FUNCTIONS:
            return Intrinsic(key)
        if selectors.is_layout_atom(key):
            selectors.register_layout_atom(key)
            return TemplateRef(key)
    if name in cuda.BUILTINS:
        return Tag(name)
    if name == "void":
        return VoidType()
    element = dtype(name)
    if element is not None:
        return ScalarType(element)
    if atoms.is_mma_op(name) or atoms.is_copy_op(name):
        return ValueType(CuteOp(name))
    if name in _FUNCTORS:
        return ValueType(Tag(name))
    if not short and name in ("GMMA", "UMMA", "SM90", "SM100", "TMA"):
        return m.library_namespace(f"cute::{name}")
    if name == "dim3":
        return ExternType("dim3")
    return launch.record_type(m, name)


def apply_type(m: Machine, name: str, targs: tuple[Value, ...], span: Span) -> Value:
    """A type template of CuTe under arguments."""
    maker = TYPES.get(name)
    if maker is None:
        return ValueType(CuteOp(name, targs))
    if name not in ("conditional", "conditional_t", "is_void", "is_void_v", "enable_if", "enable_if_t", "declval"):
        for t in targs:
            if isinstance(t, Unknown):
                return t
    value = guarded(m, name, span, lambda: maker(m, targs, span))
    if name in ("TiledMMA", "TiledCopy", "MMA_Atom", "Copy_Atom"):
        m.recorder.configured(m, name, span, value)
    if isinstance(value, TraitType):
        if name.endswith("_v"):
            return value.value
        if name.endswith("_t"):
            return value.type
    if name.endswith("_v") and isinstance(value, ValueType):
        return Scalar(value.value, "int")
    return value


def guarded(m: Machine, name: str, span: Span, run: Any) -> Value:
    """Run a model function; what it refuses or cannot do becomes Unknown with the reason."""
    try:
        if m.recorder.hypotheses:
            with assuming([h.condition for h in m.recorder.hypotheses if h.origin == "static_assert"]):
                return run()
        return run()
    except CuteError as error:
        return Unknown(f"CuTe rejects {name}: {error}", span, True)
    except UndecidedError as error:
        return Unknown(f"{name} {error}", span)
    except NotModelledError as error:
        return Unknown(f"{name}: {error}", span)
    except UnknownAtomError as error:
        return Unknown(str(error), span)
    except Unsupported as error:
        return Unknown(str(error), span)
    except _FAILURES as error:
        m.recorder.internal(name, span, error)
        return Unknown(f"`{name}` on these operands is not modelled", span)


def call(m: Machine, fn: Intrinsic, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Call a function of the table."""
    if fn.self_ is not None:
        return call_method(m, fn, args, kwargs, span)
    name = fn.name
    run = FUNCTIONS.get(name)
    if run is None:
        return Unknown(f"`{name}` is not modelled", span)
    if name not in TOLERANT or any(isinstance(t, Unknown) for t in fn.targs or ()):
        for a in (*args, *(fn.targs or ())):
            if isinstance(a, Unknown):
                m.recorder.configured(m, name, span, a) if name in CONFIGURING else None
                return a
            if isinstance(a, Extern):
                return Unknown(f"`{name}` of `{a.what}`, whose type is not in the scanned files", span)
    model = [m.dialect.to_model(_by_value(a)) for a in args]
    c = Call(m, name, fn.targs or (), model, span, {k: m.dialect.to_model(v) for k, v in kwargs.items()}, args)
    value = guarded(m, name, span, lambda: run(c))
    m.recorder.called(m, c, value)
    if name in CONFIGURING:
        m.recorder.configured(m, name, span, value)
    return m.dialect.from_model(value)


def _by_value(v: Value) -> Value:
    return v


def kind_of(v: Value) -> str:
    if isinstance(v, (Layout, ComposedLayout)):
        return "layout"
    if isinstance(v, TensorVal):
        return "tensor"
    if isinstance(v, (TiledCopy, TiledMMA)):
        return "tiled"
    if isinstance(v, (CopyAtom, MMAAtom)):
        return "copy_atom" if isinstance(v, CopyAtom) else "tiled"
    if isinstance(v, Slice):
        return "slice"
    if isinstance(v, Pointer):
        return "pointer"
    return type(v).__name__


def method(m: Machine, base: Value, name: str, span: Span) -> Value:
    """``base.name`` of a value that is not an object of the tree."""
    if isinstance(base, Tag) and base.name in cuda.BUILTINS and name in ("x", "y", "z"):
        return cuda.component(m, base.name, name)
    if isinstance(base, TraitType):
        return base.value if name == "value" else base.type
    if (kind_of(base), name) in METHODS:
        return Intrinsic(name, None, base)
    if isinstance(base, Extern) and pipeline.is_state(base) and name in pipeline.NUMBERS:
        return Intrinsic(name, None, base)
    if isinstance(base, Extern):
        return Extern(f"{base.what}.{name}", span, base.type if name in _CONTAINER_DATA else None)
    if isinstance(base, Str):
        return Extern(name, span)
    found = static_member(m, ValueType(base), name, span)
    if found is not None:
        return found
    return Unknown(f"no member `{name}` is known of {_describe(base)}", span)


def _describe(v: Value) -> str:
    return {Scalar: "a scalar", TensorVal: "a tensor", tuple: "a tuple"}.get(type(v), f"{type(v).__name__}")


def call_method(m: Machine, fn: Intrinsic, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    run = METHODS.get((kind_of(fn.self_), fn.name))
    if run is None:
        return Unknown(f"no method `{fn.name}` is known of {_describe(fn.self_)}", span)
    for a in args:
        if isinstance(a, Unknown) and fn.name not in ("get_slice", "get_thread_slice", "with"):
            return a
        if isinstance(a, Extern) and fn.name not in ("with",):
            return Unknown(f"`{fn.name}` of `{a.what}`, whose type is not in the scanned files", span)
    model = [fn.self_, *(m.dialect.to_model(a) for a in args)]
    c = Call(m, fn.name, fn.targs or (), model, span, kwargs, [fn.self_, *args])
    value = guarded(m, fn.name, span, lambda: run(c))
    m.recorder.called(m, c, value)
    return m.dialect.from_model(value)


def call_value(m: Machine, fn: Value, args: list[Value], span: Span) -> Value:
    """``layout(coord)``, ``tensor(coord)``, ``swizzle(offset)``, ``_8{}()``."""
    for a in args:
        if isinstance(a, Unknown):
            return a
    model = [m.dialect.to_model(a) for a in args]
    if isinstance(fn, (Layout, ComposedLayout)):
        return m.dialect.from_model(guarded(m, "layout", span, lambda: layouts.call_layout(fn, model)))
    if isinstance(fn, TensorVal):
        coord = model[0] if len(model) == 1 else tuple(model)
        c = Call(m, "tensor", (), model, span, {}, args)
        return guarded(m, "tensor", span, lambda: tensors.sliced(c, fn, coord))
    if isinstance(fn, Swizzle) and len(model) == 1:
        return m.dialect.from_model(guarded(m, "swizzle", span, lambda: fn(model[0])))
    if isinstance(fn, (int, Sym)) and not args:
        return fn
    return Unknown(f"a call of {_describe(fn)}", span)


def construct_value(m: Machine, template: Value, args: list[Value], span: Span) -> Value:
    """``T(args)`` for the type of a CuTe value."""
    if any(isinstance(a, Unknown) for a in args):
        return next(a for a in args if isinstance(a, Unknown))
    model = [m.dialect.to_model(a) for a in args]
    if isinstance(template, tuple):
        if len(model) == 1 and isinstance(model[0], tuple):
            model = list(model[0])
        return tuple(
            t if isinstance(t, int) and not isinstance(v, tuple) else v for t, v in zip(template, model, strict=False)
        )
    if isinstance(template, Layout):
        if len(model) == 1 and isinstance(model[0], (Layout, ComposedLayout)):
            return model[0]
        return guarded(m, "Layout", span, lambda: alg.make_layout(*model))
    if isinstance(template, int):
        return template
    return template


def deduce_class(m: Machine, ref: TemplateRef, args: list[Value], span: Span) -> Value:
    """``Name(args)`` or ``Name{args}`` with deduced template arguments."""
    name = ref.name
    if not ref.entries:
        model = [m.dialect.to_model(a) for a in args]
        if name in ("Shape", "Stride", "Step", "Coord", "Tile", "tuple", "pair"):
            return tuple(model)
        if name in ("Layout", "Tensor", "ThrCopy"):
            return guarded(m, name, span, lambda: alg.make_layout(*model))
        if name in FUNCTIONS:
            return call(m, Intrinsic(name), args, {}, span)
        if name in TYPES:
            found = apply_type(m, name, (), span)
            return found if not is_type(found) else m_construct(m, found, args, span)
        return ValueType(CuteOp(name)).value
    from cutecheck.source.eval.calls import deduce_instance

    return deduce_instance(m, ref, args, span)


def m_construct(m: Machine, type_: Value, args: list[Value], span: Span) -> Value:
    from cutecheck.source.eval.classes import construct

    return construct(m, type_, args, [None] * len(args), span)


def static_member(m: Machine, t: Value, name: str, span: Span) -> Value | None:
    """``T::name`` for types that are not classes of the tree."""
    v = t.value if isinstance(t, ValueType) else t
    if isinstance(v, TraitType):
        return v.value if name == "value" else v.type if name == "type" else None
    if isinstance(v, (int, Sym)) and not isinstance(v, bool):
        if name in ("value", "operator()"):
            return Scalar(v, "int")
        if name == "value_type":
            return ScalarType(dtype("int"))  # type: ignore[arg-type]
        return ValueType(v) if name == "type" else None
    if isinstance(v, Scalar) and name == "value":
        return v
    if isinstance(v, (Layout, ComposedLayout)):
        if name == "rank":
            return Scalar(it.tuple_rank(v.shape) if isinstance(v, Layout) else alg.rank(v), "int")
        if name == "Shape" and isinstance(v, Layout):
            return ValueType(v.shape)
        if name == "Stride" and isinstance(v, Layout):
            return ValueType(v.stride)
    if isinstance(v, TensorVal):
        if name in ("value_type", "element_type") and v.dtype is not None:
            return ScalarType(v.dtype)
        if name in ("layout_type", "Layout") and not isinstance(v.layout, Unknown):
            return ValueType(v.layout)
        if name in ("engine_type", "iterator"):
            return ExternType("Engine", (v,))
    if isinstance(v, ExternType) and v.name == "Engine" and name in ("value_type", "element_type"):
        tensor = v.args[0]
        return ScalarType(tensor.dtype) if tensor.dtype is not None else None
    if isinstance(v, (ScalarType, PtrType, ArrayType)) and name == "type":
        return v
    if isinstance(v, ExternType):
        return ExternType(f"{v.name}::{name}")
    if isinstance(v, ArrayType) and name in ("value_type", "element_type", "Element"):
        return v.inner
    return tiled.tiled_type_member(m, v, name, span)


def index(m: Machine, base: Value, args: list[Value], span: Span) -> Value:
    """``base[args]``."""
    bad = next((a for a in args if isinstance(a, Unknown)), None)
    if bad is not None:
        return bad
    if isinstance(base, TensorVal):
        return call_value(m, base, args, span)
    if isinstance(base, Pointer):
        if isinstance(base.type, ArrayType) and args:
            return advance(m, Pointer(base.buffer, base.space, base.type.inner, base.offset, base.align), args[0], span)
        return dereference(m, base, span)
    if isinstance(base, (list, tuple, dict)) and len(args) == 1:
        key = args[0]
        try:
            if isinstance(base, dict):
                return base[key]
            number = constant(key)
            if number is None and not isinstance(key, slice):
                return Unknown("an index that is not known", span)
            return m.dialect.from_model(base[key if isinstance(key, slice) else cast(int, number)])
        except (KeyError, IndexError, TypeError):
            return Unknown("an index that is not known or out of range", span)
    if isinstance(base, Extern):
        return Extern(f"{base.what}[...]", span)
    if is_type(base):
        return base
    return Unknown(f"indexing {_describe(base)}", span)


def advance(m: Machine, p: Value, by: Value, span: Span) -> Value:
    """``pointer + n``."""
    if not isinstance(p, Pointer):
        return p
    n = m.dialect.to_model(Scalar(by, "int") if isinstance(by, int) else by)
    if isinstance(p.offset, Unknown) or not isinstance(n, (int, Dyn, Sym)):
        return Pointer(p.buffer, p.space, p.type, Unknown("pointer arithmetic with an unknown operand", span), p.align)
    from cutecheck.model.ints import as_expr

    total = p.offset + n
    return Pointer(
        p.buffer, p.space, p.type, total if isinstance(total, int) else Dyn(as_expr(total)), p.align, p.swizzle
    )


def dereference(m: Machine, v: Value, span: Span) -> Value:
    """``*pointer``."""
    from cutecheck.source.eval.classes import symbolic
    from cutecheck.source.eval.memory import get_object
    from cutecheck.source.eval.scope import ClassInst

    if isinstance(v, Pointer):
        if isinstance(v.type, ClassInst):
            return get_object(m, v)
        if isinstance(v.type, ScalarType):
            return symbolic(m, v.type, f"*{v.buffer}#{m.fresh('').expr}", span)
        return v
    return v


def cast_pointer(m: Machine, p: Pointer, inner: Value, span: Span) -> Value:
    return tensors.cast_pointer_to(p, inner)


def binary(m: Machine, op: str, left: Value, right: Value, span: Span) -> Value | None:
    """Operators on values that are not scalars; None when scalars decide."""
    if op in ("+", "-") and isinstance(left, Pointer) and isinstance(right, (Scalar, int, Dyn, Sym)):
        by = right if op == "+" else m.dialect.unary("-", right, span)
        return advance(m, left, by, span)
    if op == "+" and isinstance(right, Pointer):
        return advance(m, right, left, span)
    if isinstance(left, Pointer) or isinstance(right, Pointer):
        return Scalar(None, "bool" if op in ("==", "!=", "<", ">") else "ptrdiff_t")
    if op in ("+", "*", "-") and (isinstance(left, (ScaledBasis, tuple)) or isinstance(right, (ScaledBasis, tuple))):
        a, b = m.dialect.to_model(left), m.dialect.to_model(right)
        f = it.plus if op == "+" else it.times
        return guarded(m, f"operator {op}", span, lambda: f(a, b))
    if isinstance(left, TensorVal) or isinstance(right, TensorVal):
        return Unknown(f"operator {op} on a tensor", span)
    if isinstance(left, (Major, Underscore, Tag, Str)) or isinstance(right, (Major, Underscore, Tag, Str)):
        if op in ("==", "!=") and type(left) is type(right):
            return Scalar(int((left == right) == (op == "==")), "bool")
        return Scalar(None, "bool")
    if is_type(left) and is_type(right) and op in ("==", "!="):
        from cutecheck.source.eval.types import same_type

        return Scalar(int(same_type(left, right) == (op == "==")), "bool")
    if isinstance(left, (Object, Extern)) or isinstance(right, (Object, Extern)):
        return None
    if isinstance(left, ValueType):
        return binary(m, op, left.value, right, span) or m.dialect.binary(op, left.value, right, span)
    return None


__all__ = [
    "EnumVal",
    "SubstitutionFailure",
    "advance",
    "apply_type",
    "binary",
    "call",
    "call_value",
    "cast_pointer",
    "construct_value",
    "decompose_tiled",
    "deduce_class",
    "dereference",
    "events",
    "find",
    "index",
    "method",
    "static_member",
    "tma",
    "traits",
]
