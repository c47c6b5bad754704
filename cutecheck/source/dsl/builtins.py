"""Python's own functions and methods, and the standard modules that configurations use."""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import CuteError, Dyn, NotModelledError, UndecidedError
from cutecheck.source.dsl.equality import contains
from cutecheck.source.dsl.values import (
    NONE,
    Builtin,
    BuiltinType,
    Compiled,
    Dispatch,
    Distinct,
    Enumerator,
    HostCute,
    HostTensor,
    KernelCall,
    Module,
    Namespace,
    Parser,
    Partial,
    RunTimeRange,
    TextMatch,
)
from cutecheck.source.eval.containers import Lost
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Closure, EnumVal, Extern, FuncSet, Object, Scalar, ScalarType, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

Function = Callable[["Machine", list[Value], dict[str, Value], Span], Value]
FUNCTIONS: dict[str, Function] = {}
CONSTANTS: dict[str, Value] = {}  # attributes of functions and types of the libraries
NAMES = frozenset(
    {"int", "float", "str", "bool", "tuple", "list", "dict", "set", "frozenset", "object", "type", "bytes"}
)
PLAIN_TYPES: dict[str, type] = {
    t.__name__: t
    for t in (int, float, str, bool, tuple, list, dict, type, type(None), types.FunctionType, types.ModuleType)
}
MARKERS = {
    "typing": {"NamedTuple", "Protocol", "Generic"}, "enum": {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"},
    "abc": {"ABC"}, "collections": {"OrderedDict"},
}  # fmt: skip


def builtin(*names: str) -> Callable[[Function], Function]:
    def register(f: Function) -> Function:
        for name in names:
            FUNCTIONS[name] = f
        return f

    return register


def name(ident: str) -> Value | None:
    """A name of Python's builtins module."""
    if ident in NAMES:
        return BuiltinType(ident)
    if ident in FUNCTIONS:
        return Builtin(ident)
    if ident.endswith(("Error", "Exception", "Warning")) or ident in ("StopIteration", "KeyboardInterrupt"):
        return BuiltinType(ident)
    return Builtin("NotImplemented") if ident in ("NotImplemented", "Ellipsis") else None


def module_name(m: Machine, module: str, ident: str, span: Span) -> Value | None:
    """``module.ident`` of a standard library."""
    full = f"{module}.{ident}"
    if module == "math" and ident in ("pi", "e", "inf", "tau"):
        return getattr(math, ident)
    if ident in MARKERS.get(module, ()):
        return BuiltinType(ident)
    if full in FUNCTIONS:
        return Builtin(full)
    if full == "os.sep":
        return "/"
    if full == "sys.modules":
        return Builtin(full)
    if full == "os.environ":
        from cutecheck.source.dsl.stdlib import environment

        return environment(m)
    if module.startswith("torch"):
        from cutecheck.source.dsl.torch import torch_name

        return torch_name(full)
    if module.startswith("typing") and ident == "TYPE_CHECKING":
        return False
    if module == "operator" and hasattr(operator, ident):
        return Builtin(full)
    if module in ("typing", "typing_extensions", "types", "collections.abc"):
        return BuiltinType(ident)
    return None


def describe(v: Value) -> str:
    if isinstance(v, Object):
        return f"an object of `{v.cls.name}`"
    if isinstance(v, Builtin):
        return f"`{v.name}`"
    if isinstance(v, Module):
        return f"module `{v.name}`"
    return {Scalar: "a run-time scalar", TensorVal: "a tensor", type(None): "None"}.get(type(v), type(v).__name__)


def known(m: Machine, args: list[Value], span: Span) -> Value | None:
    """The first argument that is not known."""
    return next((a for a in args if isinstance(a, Unknown)), None)


FAILURES = (
    TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError, OverflowError, CuteError,
    NotModelledError, UndecidedError,
)  # fmt: skip


# members of the DSL's enumerations by what they are made of
_BY_VALUE: dict[str, dict[Any, str]] = {
    "OperandMajorMode": {"mn": "MN", "k": "K", "m": "MN", "n": "MN"}, "CtaGroup": {1: "ONE", 2: "TWO"},
    "LayoutEnum": {"row_major": "ROW_MAJOR", "col_major": "COL_MAJOR"},
}  # fmt: skip


def call(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if isinstance(fn, ScalarType):
        from cutecheck.source.dsl import cute_values

        return cute_values.to_device(fn, args[0], m.dialect.replaying) if args else Scalar(None, fn.dtype.name)
    if isinstance(fn, BuiltinType):
        if fn.name == "NamedTuple":
            return FUNCTIONS["typing.NamedTuple()"](m, args, kwargs, span)
        if fn.name == "Repetition" and len(args) == 1 and isinstance(args[0], int):
            return EnumVal("Repetition", f"x{args[0]}", None)
        if fn.name in _BY_VALUE and len(args) == 1:
            name = (
                _BY_VALUE[fn.name].get(args[0]) if isinstance(args[0], (str, int)) else getattr(args[0], "name", None)
            )
            return EnumVal(fn.name, name, None) if name else Unknown(f"no member of `{fn.name}` has this value", span)
        convert = _CONVERT.get(fn.name, FUNCTIONS.get(f"{fn.name}()"))
        return _tried(m, fn.name, convert, args, kwargs, span) if convert is not None else Extern(fn.name, span)
    if isinstance(fn, Builtin):
        run = FUNCTIONS.get(fn.name)
        if run is None and fn.name.startswith("operator."):
            return _operator(m, fn.name[9:], args, span)
        if run is None:
            return Extern(f"{fn.name}(...)", span)
        return _tried(m, fn.name, run, args if fn.self_ is None else [fn.self_, *args], kwargs, span)
    return Unknown(f"a call of {describe(fn)}", span)


def _tried(m: Machine, called: str, run: Function, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    try:
        return run(m, args, kwargs, span)
    except FAILURES as error:
        from cutecheck.source.dsl.flow import fails

        bad = known(m, args, span)
        if bad is not None:
            return bad
        if isinstance(error, (ValueError, LookupError)) and all(map(_plain, (*args, *kwargs.values()))):
            return fails(m, type(error).__name__, f"`{called}`: {error}", span)
        return Unknown(f"`{called}`: {error}", span)


def _plain(v: Value) -> bool:
    """Whether it is Python's own, so that what it refuses Python refuses."""
    if isinstance(v, (tuple, list)):
        return all(map(_plain, v))
    return v is None or isinstance(v, (int, float, str))


def _operator(m: Machine, word: str, args: list[Value], span: Span) -> Value:
    signs = {
        "mul": "*", "add": "+", "sub": "-", "floordiv": "//", "mod": "%", "truediv": "/", "and_": "&", "or_": "|",
        "xor": "^", "lshift": "<<", "rshift": ">>", "pow": "**", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
        "gt": ">", "ge": ">=",
    }  # fmt: skip
    from cutecheck.source.eval.expressions.operators import binary

    if word in signs and len(args) == 2:
        return binary(m, signs[word], args[0], args[1], span)
    return Extern(f"operator.{word}(...)", span)


# -------------------------------------------------------------------- conversions


def _int(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.dsl.flow import fails
    from cutecheck.source.dsl.protocol import number

    v = args[0] if args else 0
    if isinstance(v, (int, float, str)):
        try:
            return int(v, *args[1:], **kwargs) if isinstance(v, str) else int(v)
        except (ValueError, OverflowError) as error:
            return fails(m, "ValueError", str(error), span)
    if isinstance(v, Enumerator):
        return _int(m, [v.value], kwargs, span)
    if isinstance(v, HostTensor):
        return FUNCTIONS["tensor.item"](m, [v], {}, span)
    return number(m, v, span)


def _float(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0] if args else 0.0
    if isinstance(v, (int, float, str)):
        try:
            return float(v)
        except (ValueError, OverflowError) as error:
            return Unknown(str(error), span)
    if isinstance(v, (Object, Enumerator)):
        from cutecheck.source.dsl.protocol import asked

        said = asked(m, v, "__float__", [], span)
        return said if said is not None else Unknown("a number that is not known", span)
    return Scalar(None, "float") if isinstance(v, (Dyn, Scalar)) else v


def _str(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.dsl.text import to_text

    return to_text(m, args[0] if args else "", span)


def _bool(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    found = m.dialect.truth(args[0]) if args else False
    return Scalar(None, "bool") if found is None else found


def sequence(m: Machine, v: Value, span: Span) -> list[Value] | Unknown:
    """The items of an iterable."""
    from cutecheck.source.eval.statements.loops import iterate

    if isinstance(v, RunTimeRange):
        start, stop, step = v.start, v.stop, v.step
        if all(isinstance(x, int) for x in (start, stop, step)):
            v = range(start, stop, step)
    found = iterate(m, v, span)
    return found if isinstance(found, (list, Unknown)) else list(found)


def unique(items: list[Value]) -> Distinct:
    """The items of a set in the order they come."""
    out = Distinct()
    for item in items:
        there = contains(item, out)
        if there is None:
            return Distinct([Lost("a set of what may be equal to one another")])
        if not there:
            out.append(item)
    return out


def _sequence_of(kind: str) -> Function:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        items = sequence(m, args[0], span) if args else []
        if isinstance(items, Unknown):
            return args[0] if isinstance(args[0], Extern) else items
        return tuple(items) if kind == "tuple" else unique(items) if kind == "set" else list(items)

    return run


def _dict(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    out: dict[Any, Value] = {}
    if args:
        if isinstance(args[0], dict):
            out.update(args[0])
        elif isinstance(args[0], (Extern, Unknown)):
            return args[0]
        else:
            items = sequence(m, args[0], span)
            if isinstance(items, Unknown):
                return items
            out.update(dict(items))
    out.update(kwargs)
    return out


FUNCTIONS["dict()"] = _dict


def _type(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if len(args) == 3:
        from cutecheck.source.dsl.made_classes import type_of_three

        return type_of_three(m, args, kwargs, span)
    v = args[0]
    if isinstance(v, (Object, Enumerator)):
        return v.cls
    if isinstance(v, Distinct):
        return BuiltinType("set")
    for kind in (bool, int, float, str, tuple, list, dict):
        if isinstance(v, kind):
            return BuiltinType(kind.__name__)
    if v is None or isinstance(v, (FuncSet, Closure, ClassInst, Module)):
        kinds = {FuncSet: "function", Closure: "function", ClassInst: "type", Module: "module"}
        return BuiltinType(kinds.get(type(v), "NoneType"))
    return Extern("type(...)", span)


_CONVERT: dict[str, Function] = {
    "int": _int, "float": _float, "str": _str, "bool": _bool, "tuple": _sequence_of("tuple"),
    "list": _sequence_of("list"), "set": _sequence_of("set"), "frozenset": _sequence_of("set"), "dict": _dict,
    "type": _type, "OrderedDict": _dict,
}  # fmt: skip


_OF_PAIRS = {"values": 0, "indices": 1}  # of what `torch.topk`, `sort` and `max` give


def attribute(m: Machine, base: Value, ident: str, span: Span) -> Value | None:
    for kind in (bool, str, dict, list, tuple, int, float):
        if isinstance(base, kind):
            word = f"{'int' if kind is bool else kind.__name__}.{ident}"
            if word in FUNCTIONS:
                return Builtin(word, base)
            if ident in _OF_PAIRS and isinstance(base, tuple) and base and all(isinstance(v, HostTensor) for v in base):
                return base[_OF_PAIRS[ident]]
            return _number_attribute(base, ident)
    if isinstance(base, (range, slice)) and ident in ("start", "stop", "step", "indices"):
        return Builtin("slice.indices", base) if ident == "indices" else _or_none(getattr(base, ident))
    if isinstance(base, range) and ident in ("index", "count"):
        return Builtin(f"list.{ident}", list(base)) if len(base) < 1 << 12 else None
    if isinstance(base, Namespace):
        if ident == "__dict__":
            return base.fields
        found = base.fields.get(ident, Unknown(f"no attribute `{ident}`", span))
        return NONE if found is None else found
    if isinstance(base, Parser):
        return Builtin(f"argparse.{ident}", base)
    if isinstance(base, TextMatch):
        return Builtin(f"match.{ident}", base)
    if isinstance(base, FuncSet):
        from cutecheck.source.dsl.attributes import of_function
        from cutecheck.source.dsl.reflection import function_attribute

        own = of_function(m, base, ident)
        said = own if own is not None else function_attribute(m, base, ident, span)
        return said if said is not None else Extern(f"{base.name}.{ident}", span)
    if isinstance(base, KernelCall) and ident == "launch":
        return Builtin("kernel.launch", base)
    if isinstance(base, (Builtin, BuiltinType)):
        full = f"{base.name}.{ident}"
        if full in CONSTANTS:
            return CONSTANTS[full]
        if full in FUNCTIONS:
            return Builtin(full, base.self_ if isinstance(base, Builtin) else None)
        if base.name.startswith("torch"):
            from cutecheck.source.dsl.torch import torch_name

            return torch_name(full)
        if ident in ("__name__", "__qualname__"):
            return base.name
        if ident == "__module__" and base.name in PLAIN_TYPES:
            return "builtins"
        if base.name in PLAIN_TYPES and not hasattr(PLAIN_TYPES[base.name], ident):
            return Unknown(f"`{base.name}` has no attribute `{ident}`", span)
        if base.name in ("cute.struct", "struct") and ident in ("MemRange", "Align"):
            return BuiltinType(ident)
        if base.name == "object":
            return Builtin(full)
        return Extern(full, span)
    if isinstance(base, Partial) and ident in ("func", "args", "keywords"):
        return {"func": base.fn, "args": base.args, "keywords": dict(base.kwargs)}[ident]
    if isinstance(base, (HostTensor, HostCute)):
        from cutecheck.source.dsl.torch import tensor_attribute

        return tensor_attribute(m, base, ident, span)
    if isinstance(base, Dispatch):
        return Builtin(f"dispatch.{ident}", base) if f"dispatch.{ident}" in FUNCTIONS else Extern(ident, span)
    if isinstance(base, (Compiled, Closure)):
        return Extern(f"compiled.{ident}", span)
    if base is None:
        return Unknown(f"`{ident}` of None", span)
    return None


def _or_none(v: Value) -> Value:
    return NONE if v is None else v


def _number_attribute(base: Value, ident: str) -> Value | None:
    if isinstance(base, (int, float)) and not isinstance(base, bool) and ident in ("value", "real"):
        return base
    return None
