"""Calls of known functions and methods, and constructions of known types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.ints import Sym
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.source.eval import std_arrays
from cutecheck.source.eval.barrier_types import is_barrier
from cutecheck.source.eval.fitting import fitted
from cutecheck.source.eval.intrinsics import cuda, layouts, pipeline, tensors, tuples
from cutecheck.source.eval.intrinsics.members import static_member
from cutecheck.source.eval.intrinsics.names import apply_type
from cutecheck.source.eval.intrinsics.refusals import describe, guarded
from cutecheck.source.eval.intrinsics.registry import (
    CONFIGURING,
    FUNCTIONS,
    METHODS,
    TOLERANT,
    TYPES,
    Call,
    Unsupported,
)
from cutecheck.source.eval.intrinsics.tuples import any_coordinate, iterates
from cutecheck.source.eval.tuples import FIRST_AND_SECOND, Pair
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import (
    CuteOp,
    Extern,
    ExternType,
    Intrinsic,
    ObjectPointer,
    Pointer,
    Scalar,
    Slice,
    Str,
    Tag,
    TemplateRef,
    TensorVal,
    TraitType,
    Value,
    ValueType,
    Zipped,
)
from cutecheck.source.eval.vectors import AXES

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


_CONTAINER_DATA = ("data", "get", "device_data", "host_data", "begin", "data_ptr", "device_ref", "host_ref")


def call(m: Machine, fn: Intrinsic, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Call a function of the table."""
    value = _call(m, fn, args, kwargs, span)
    if isinstance(value, Unknown):
        m.recorder.takes(args)
    return value


def _call(m: Machine, fn: Intrinsic, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    args = [_by_value(a) for a in args]
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
            if isinstance(a, Extern) and not (name == "make_tuple" and tuples.iterates(a)):
                return Unknown(f"`{name}` of `{a.what}`, whose type is not in the scanned files", span)
    model = [m.dialect.to_model(a) for a in args]
    c = Call(m, name, fn.targs or (), model, span, {k: m.dialect.to_model(v) for k, v in kwargs.items()}, args)
    value = guarded(m, name, span, lambda: run(c))
    m.recorder.called(m, c, value)
    if name in CONFIGURING or (name == "composition" and model and isinstance(model[0], Swizzle)):
        m.recorder.configured(m, name, span, value)
    return m.dialect.from_model(value)


def _by_value(v: Value) -> Value:
    return v.to if isinstance(v, ObjectPointer) else v


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
    if isinstance(base, Pair) and name in FIRST_AND_SECOND:
        return m.dialect.from_model(base[FIRST_AND_SECOND.index(name)])
    if isinstance(base, tuple) and name in AXES and AXES.index(name) < len(base):
        return m.dialect.from_model(base[AXES.index(name)])  # a `dim3` or vector type
    if isinstance(base, Scalar) and (part := cuda.part_of(m, base, name)) is not None:
        return part
    if isinstance(base, TraitType):
        return base.value if name == "value" else base.type
    if (kind_of(base), name) in METHODS:
        return Intrinsic(name, None, base)
    if isinstance(base, Extern) and pipeline.is_state(base) and name in pipeline.NUMBERS:
        return Intrinsic(name, None, base)
    if is_barrier(base):
        return Intrinsic(name, None, base)
    if name == "coord" and isinstance(base, Extern) and iterates(base) and isinstance(base.type, ExternType):
        return m.dialect.from_model(any_coordinate(m, base.type.args[0]))
    if isinstance(base, Extern):
        if name not in _CONTAINER_DATA:
            return Extern(f"{base.what}.{name}", span)
        made = base.span  # two containers of one type have memory of their own
        at = f"@{made.line}:{made.column}" if made is not None and "@" not in base.what else ""
        return Extern(f"{base.what}{at}.{name}", span, base.type)
    if isinstance(base, Str):
        return Extern(name, span)
    found = static_member(m, ValueType(base), name, span)
    if found is not None:
        return found
    m.recorder.takes((base,))
    return Unknown(f"no member `{name}` is known of {describe(base)}", span)


def call_method(m: Machine, fn: Intrinsic, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    value = _call_method(m, fn, args, kwargs, span)
    if isinstance(value, Unknown):
        m.recorder.takes((fn.self_, *args))
    return value


def _call_method(m: Machine, fn: Intrinsic, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    run = METHODS.get((kind_of(fn.self_), fn.name))
    if run is None:
        return Unknown(f"no method `{fn.name}` is known of {describe(fn.self_)}", span)
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
    if isinstance(fn, Zipped):
        parts = [call_value(m, part, args, span) for part in fn.parts]
        tensors_of = tuple(p for p in parts if isinstance(p, TensorVal))
        if len(tensors_of) == len(parts):
            return Zipped(tensors_of)
        return next((p for p in parts if isinstance(p, Unknown)), Unknown("an element of zipped tensors", span))
    if isinstance(fn, Swizzle) and len(model) == 1:
        return m.dialect.from_model(guarded(m, "swizzle", span, lambda: fn(model[0])))
    if isinstance(fn, (int, Sym)) and not args:
        return fn
    return Unknown(f"a call of {describe(fn)}", span)


def construct_value(m: Machine, template: Value, args: list[Value], span: Span) -> Value:
    """``T(args)`` for the type of a CuTe value."""
    if any(isinstance(a, Unknown) for a in args):
        return next(a for a in args if isinstance(a, Unknown))
    model = [m.dialect.to_model(a) for a in args]
    if isinstance(template, tuple):
        given = model[0] if len(model) == 1 and isinstance(model[0], tuple) and len(template) != 1 else tuple(model)
        return fitted(m, template, given)
    if isinstance(template, Layout):
        return fitted(m, template, tuple(model))
    if isinstance(template, TensorVal) and len(args) == 1 and isinstance(args[0], TensorVal):
        return args[0]
    return template


_COPIED: dict[str, type | tuple[type, ...]] = {
    "Tensor": TensorVal, "Layout": (Layout, ComposedLayout), "ComposedLayout": ComposedLayout,
}  # fmt: skip


def deduce_class(m: Machine, ref: TemplateRef, args: list[Value], span: Span) -> Value:
    """``Name(args)`` or ``Name{args}`` with deduced template arguments."""
    name = ref.name
    if not ref.entries:
        model = [m.dialect.to_model(a) for a in args]
        if name in ("Shape", "Stride", "Step", "Coord", "Tile", "tuple", "pair"):
            return Pair(model) if name == "pair" else tuple(model)
        if len(args) == 1 and name in _COPIED and isinstance(model[0], _COPIED[name]):
            return args[0]  # a copy of it
        if name in ("Layout", "Tensor", "ThrCopy"):
            return guarded(m, name, span, lambda: alg.make_layout(*model))
        if name == "ComposedLayout":
            return guarded(m, name, span, lambda: _composed(*model))
        if name == std_arrays.NAME and args and name in TYPES:
            return std_arrays.deduced(m, args, span)
        if name in FUNCTIONS:
            return call(m, Intrinsic(name), args, {}, span)
        if name in TYPES:
            found = apply_type(m, name, (), span)
            return found if not is_type(found) else m_construct(m, found, args, span)
        return ValueType(CuteOp(name)).value
    from cutecheck.source.eval.deduction import deduce_instance

    return deduce_instance(m, ref, args, span)


def _composed(a: Any, offset: Any, b: Any) -> ComposedLayout:
    """``ComposedLayout{a, offset, b}``; of another function than a layout or swizzle nothing is known."""
    if not isinstance(a, (Layout, ComposedLayout, Swizzle)) or not isinstance(b, (Layout, ComposedLayout, Swizzle)):
        raise Unsupported("a layout that is composed with a function of the program is not modelled")
    return ComposedLayout(a, offset, b)


def m_construct(m: Machine, type_: Value, args: list[Value], span: Span) -> Value:
    from cutecheck.source.eval.classes import construct

    return construct(m, type_, args, [None] * len(args), span)
