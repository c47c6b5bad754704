"""Python's own functions and methods, and the standard modules that configurations use."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.dsl.values import (
    Builtin,
    BuiltinType,
    Compiled,
    Enumerator,
    HostCute,
    HostTensor,
    KernelCall,
    Module,
    Namespace,
    Parser,
    Partial,
    RunTimeRange,
    Super,
)
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import (
    Closure,
    EnumVal,
    Extern,
    FuncSet,
    Intrinsic,
    Object,
    Pointer,
    Scalar,
    ScalarType,
    Str,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

Function = Callable[["Machine", list[Value], dict[str, Value], Span], Value]
FUNCTIONS: dict[str, Function] = {}
NAMES = frozenset({"int", "float", "str", "bool", "tuple", "list", "dict", "set", "frozenset", "object", "type", "bytes"})
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
    if module.startswith("torch"):
        from cutecheck.source.dsl.torch import torch_name

        return torch_name(full)
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


def call(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if isinstance(fn, ScalarType):
        from cutecheck.source.dsl import cute_values

        return cute_values.to_device(fn, args[0]) if args else Scalar(None, fn.dtype.name)
    if isinstance(fn, BuiltinType):
        convert = _CONVERT.get(fn.name)
        if convert is not None:
            return convert(m, args, kwargs, span)
        return Extern(fn.name, span)
    if isinstance(fn, Builtin):
        run = FUNCTIONS.get(fn.name)
        if run is None and fn.name.startswith("operator."):
            return _operator(m, fn.name[9:], args, span)
        if run is None:
            return Extern(f"{fn.name}(...)", span)
        given = args if fn.self_ is None else [fn.self_, *args]
        try:
            return run(m, given, kwargs, span)
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError, OverflowError) as error:
            bad = known(m, given, span)
            return bad if bad is not None else Unknown(f"`{fn.name}`: {error}", span)
    return Unknown(f"a call of {describe(fn)}", span)


def _operator(m: Machine, word: str, args: list[Value], span: Span) -> Value:
    signs = {"mul": "*", "add": "+", "sub": "-", "floordiv": "//", "mod": "%", "truediv": "/"}
    from cutecheck.source.eval.expressions import binary

    if word in signs and len(args) == 2:
        return binary(m, signs[word], args[0], args[1], span)
    return Extern(f"operator.{word}(...)", span)


# -------------------------------------------------------------------- conversions


def _int(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0] if args else 0
    if isinstance(v, (int, float, str)):
        try:
            return int(v, *args[1:]) if isinstance(v, str) else int(v)
        except (ValueError, OverflowError) as error:
            return Unknown(str(error), span)
    if isinstance(v, Enumerator):
        return _int(m, [v.value], kwargs, span)
    return v


def _float(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0] if args else 0.0
    if isinstance(v, (int, float, str)):
        try:
            return float(v)
        except (ValueError, OverflowError) as error:
            return Unknown(str(error), span)
    return Scalar(None, "float") if isinstance(v, (Dyn, Scalar)) else v


def _str(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0] if args else ""
    if isinstance(v, (str, int, float, bool)) or v is None:
        return str(v)
    return Unknown("text that is not known", span) if not isinstance(v, Unknown) else v


def _bool(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    found = m.dialect.truth(args[0]) if args else False
    return Scalar(None, "bool") if found is None else found


def sequence(m: Machine, v: Value, span: Span) -> list[Value] | Unknown:
    """The items of an iterable."""
    from cutecheck.source.eval.statements import iterate

    if isinstance(v, RunTimeRange):
        start, stop, step = v.start, v.stop, v.step
        if all(isinstance(x, int) for x in (start, stop, step)):
            return list(range(start, stop, step))
    if isinstance(v, HostTensor):
        return Unknown("the items of a tensor", span)
    found = iterate(m, v, span)
    return found if isinstance(found, (list, Unknown)) else list(found)


def _sequence_of(kind: str) -> Function:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        items = sequence(m, args[0], span) if args else []
        if isinstance(items, Unknown):
            return args[0] if isinstance(args[0], Extern) else items
        return tuple(items) if kind == "tuple" else list(items)

    return run


def _dict(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    out: dict[Any, Value] = {}
    if args:
        if isinstance(args[0], dict):
            out.update(args[0])
        else:
            items = sequence(m, args[0], span)
            if isinstance(items, Unknown):
                return items
            out.update(dict(items))
    out.update(kwargs)
    return out


def _type(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0]
    if isinstance(v, Object):
        return v.cls
    for kind in (bool, int, float, str, tuple, list, dict):
        if isinstance(v, kind):
            return BuiltinType(kind.__name__)
    return Extern("type(...)", span)


_CONVERT: dict[str, Function] = {
    "int": _int, "float": _float, "str": _str, "bool": _bool, "tuple": _sequence_of("tuple"),
    "list": _sequence_of("list"), "set": _sequence_of("set"), "frozenset": _sequence_of("set"), "dict": _dict,
    "type": _type, "OrderedDict": _dict,
}  # fmt: skip


# -------------------------------------------------------------------- functions


@builtin("len")
def _len(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0]
    if isinstance(v, (list, tuple, str, dict, range)):
        return len(v)
    if isinstance(v, Object) and v.cls.memo.get("namedtuple"):
        return len(v.fields)
    if isinstance(v, (Layout, ComposedLayout)):
        from cutecheck.model import algebra

        return algebra.rank(v)
    if isinstance(v, HostTensor):
        return v.shape[0]
    return v if isinstance(v, Unknown) else Unknown("the length of this value", span)


def limits(args: list[Value]) -> tuple[Any, Any, Any]:
    start: Any = 0
    step: Any = 1
    if len(args) == 1:
        stop = args[0]
    else:
        start, stop = args[0], args[1]
        step = args[2] if len(args) > 2 else 1
    return start, stop, step


@builtin("range")
def _range(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.dsl.functions import in_device_body

    bad = known(m, args, span)
    if bad is not None:
        return bad
    start, stop, step = limits(args)
    static = all(isinstance(x, int) for x in (start, stop, step))
    if static and not in_device_body(m):
        return range(start, stop, step)
    return RunTimeRange(start, stop, step)


@builtin("dsl.range", "dsl.range_dynamic")
def _device_range(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    bad = known(m, args, span)
    return bad if bad is not None else RunTimeRange(*limits(args))


@builtin("dsl.range_constexpr")
def _static_range(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    bad = known(m, args, span)
    if bad is not None:
        return bad
    start, stop, step = limits(args)
    if all(isinstance(x, int) for x in (start, stop, step)):
        return range(start, stop, step)
    return Unknown("the number of iterations is not known", span)


@builtin("dsl.const_expr", "dsl.dynamic_expr", "dsl.as_numeric", "dsl.static", "copy.copy", "copy.deepcopy", "id_")
def _same(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0]
    return list(v) if isinstance(v, list) else dict(v) if isinstance(v, dict) else v


@builtin("min", "max")
def _min_max(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    raise NotImplementedError


def _extreme(which: str) -> Function:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        items = sequence(m, args[0], span) if len(args) == 1 else args
        if isinstance(items, Unknown):
            return items
        bad = known(m, items, span)
        if bad is not None:
            return bad
        if "key" in kwargs:
            from cutecheck.source.eval.calls import apply

            keys = [apply(m, kwargs["key"], [i], {}, span) for i in items]
            if not all(isinstance(k, (int, float, str, tuple)) for k in keys):
                return Unknown(f"{which} by keys that are not known", span)
            chosen = (min if which == "min" else max)(range(len(items)), key=lambda i: keys[i])
            return items[chosen]
        if not items:
            return kwargs.get("default", Unknown(f"{which} of nothing", span))
        if all(isinstance(v, (int, float, str)) for v in items):
            return (min if which == "min" else max)(items)
        if all(isinstance(v, (int, Dyn, Sym)) for v in items):
            f = ints.minimum if which == "min" else ints.maximum
            return functools.reduce(f, items)
        return Scalar(None, "float")

    return run


FUNCTIONS["min"], FUNCTIONS["max"] = _extreme("min"), _extreme("max")


@builtin("sum")
def _sum(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.expressions import binary

    items = sequence(m, args[0], span)
    if isinstance(items, Unknown):
        return items
    out: Value = args[1] if len(args) > 1 else kwargs.get("start", 0)
    for v in items:
        out = binary(m, "+", out, v, span)
    return out


@builtin("abs", "round")
def _abs(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0]
    return abs(v) if isinstance(v, (int, float)) else ints.absolute(v) if isinstance(v, Dyn) else v


FUNCTIONS["round"] = lambda m, args, kwargs, span: (
    round(*args) if isinstance(args[0], (int, float)) else args[0]
)


@builtin("pow")
def _pow(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return m.dialect.binary("**", args[0], args[1], span)


@builtin("divmod")
def _divmod(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return (m.dialect.binary("//", args[0], args[1], span), m.dialect.binary("%", args[0], args[1], span))


@builtin("zip")
def _zip(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    parts = [sequence(m, a, span) for a in args]
    bad = next((p for p in parts if isinstance(p, Unknown)), None)
    return bad if bad is not None else list(zip(*parts))  # type: ignore[arg-type] # noqa: B905


@builtin("enumerate")
def _enumerate(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = sequence(m, args[0], span)
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    return items if isinstance(items, Unknown) else list(enumerate(items, start))


@builtin("reversed", "sorted", "iter", "any", "all")
def _whole(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    raise NotImplementedError


FUNCTIONS["iter"] = _sequence_of("list")


def _reversed(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = sequence(m, args[0], span)
    return items if isinstance(items, Unknown) else list(reversed(items))


FUNCTIONS["reversed"] = _reversed


def _sorted(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    items = sequence(m, args[0], span)
    if isinstance(items, Unknown):
        return items
    key = kwargs.get("key")
    keys = [apply(m, key, [i], {}, span) for i in items] if key is not None else items
    if any(not isinstance(k, (int, float, str, tuple)) for k in keys):
        return Unknown("an order that is not known", span)
    order = sorted(range(len(items)), key=lambda i: keys[i], reverse=bool(kwargs.get("reverse", False)))
    return [items[i] for i in order]


FUNCTIONS["sorted"] = _sorted


def _quantifier(which: str) -> Function:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        items = sequence(m, args[0], span)
        if isinstance(items, Unknown):
            return Scalar(None, "bool")
        answers = [m.dialect.truth(i) for i in items]
        stop = which == "any"
        if stop in answers:
            return stop
        return Scalar(None, "bool") if None in answers else not stop

    return run


FUNCTIONS["any"], FUNCTIONS["all"] = _quantifier("any"), _quantifier("all")
FUNCTIONS["dsl.any_"], FUNCTIONS["dsl.all_"] = FUNCTIONS["any"], FUNCTIONS["all"]


@builtin("map", "filter")
def _map(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    parts = [sequence(m, a, span) for a in args[1:]]
    bad = next((p for p in parts if isinstance(p, Unknown)), None)
    if bad is not None:
        return bad
    return [apply(m, args[0], list(row), {}, span) for row in zip(*parts)]  # type: ignore[arg-type] # noqa: B905


@builtin("filter")
def _filter(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    items = sequence(m, args[1], span)
    if isinstance(items, Unknown):
        return items
    kept = []
    for i in items:
        keep = m.dialect.truth(i if args[0] is None else apply(m, args[0], [i], {}, span))
        if keep is None:
            return Unknown("a filter that is not known", span)
        if keep:
            kept.append(i)
    return kept


@builtin("print", "breakpoint", "setattr_", "os.makedirs", "sys.exit", "warnings.warn", "exit")
def _nothing(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return None


@builtin("repr", "format", "str_")
def _text(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _str(m, args, kwargs, span)


@builtin("getattr")
def _getattr(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.expressions import attribute

    if not isinstance(args[1], str):
        return Unknown("an attribute whose name is not known", span)
    found = attribute(m, args[0], args[1], span)
    if isinstance(found, Unknown) and len(args) > 2 and not isinstance(args[0], Unknown):
        return args[2]
    return found


@builtin("hasattr")
def _hasattr(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.expressions import attribute

    if isinstance(args[0], (Unknown, Extern)) or not isinstance(args[1], str):
        return Scalar(None, "bool")
    found = attribute(m, args[0], args[1], span)
    return not isinstance(found, Unknown)


@builtin("setattr")
def _setattr(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if isinstance(args[0], Object) and isinstance(args[1], str):
        m.journal.set(args[0].fields, args[1], args[2])
    return None


@builtin("object.__setattr__")
def _object_setattr(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _setattr(m, args, kwargs, span)


@builtin("object.__init__", "super_init")
def _object_init(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return None


@builtin("callable")
def _callable(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0]
    if isinstance(v, (FuncSet, Closure, Intrinsic, Builtin, BuiltinType, ClassInst, Partial, ScalarType)):
        return True
    return Scalar(None, "bool") if isinstance(v, (Unknown, Extern, Object)) else False


@builtin("id", "hash")
def _id(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return m.fresh("id")


@builtin("locals", "globals", "vars")
def _locals(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if args and isinstance(args[0], Namespace):
        return dict(args[0].fields)
    return {}


@builtin("super")
def _super(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    cls, obj = args[1:3] if len(args) > 2 else args[0] if isinstance(args[0], tuple) else args
    if isinstance(cls, ClassInst) and isinstance(obj, (Object, ClassInst)):
        return Super(obj, cls)
    return Unknown("super() outside a method", span)


def instance_of(m: Machine, v: Value, kind: Value) -> bool | None:
    """``isinstance(v, kind)``."""
    if isinstance(kind, (tuple, list)):
        answers = [instance_of(m, v, k) for k in kind]
        return True if True in answers else None if None in answers else False
    if isinstance(v, (Unknown, Extern)) or isinstance(kind, (Unknown, Extern)):
        return None
    if isinstance(kind, ClassInst):
        from cutecheck.source.dsl.classes import derives

        if isinstance(v, Object):
            return derives(v.cls, kind)
        return isinstance(v, Enumerator) and v.cls is kind
    if isinstance(kind, ScalarType):
        if isinstance(v, Dyn):
            bits = 64 if any(x.name.endswith(":i64") for x in v.expr.variables()) else 32
            return "int" in kind.dtype.name and kind.dtype.bits == bits
        return isinstance(v, Scalar) and v.ctype == kind.dtype.name
    if isinstance(kind, BuiltinType):
        plain: dict[str, Any] = {
            "int": int, "float": float, "str": (str, Str), "bool": bool, "tuple": tuple, "list": list, "dict": dict,
            "Tensor": TensorVal, "Layout": Layout, "ComposedLayout": ComposedLayout, "Pointer": Pointer,
            "Sequence": (list, tuple), "Callable": (FuncSet, Closure, Builtin, Partial), "Integer": (Dyn,),
            "Numeric": (Dyn, Scalar), "type": (ClassInst, ScalarType, BuiltinType), "set": list, "Iterable": (list, tuple),
        }  # fmt: skip
        if kind.name in plain:
            if kind.name == "tuple" and isinstance(v, Object):
                return bool(v.cls.memo.get("namedtuple"))
            if kind.name in ("int",) and isinstance(v, bool):
                return True
            return isinstance(v, plain[kind.name])
        from cutecheck.model.atoms import CopyAtom, MMAAtom
        from cutecheck.model.tiled import TiledCopy, TiledMMA

        more: dict[str, Any] = {
            "TiledMma": TiledMMA, "TiledCopy": TiledCopy, "CopyAtom": CopyAtom, "MmaAtom": MMAAtom,
            "Enum": (Enumerator, EnumVal), "torch.Tensor": HostTensor,
        }  # fmt: skip
        if kind.name in more:
            return isinstance(v, more[kind.name])
        return False if v is None or isinstance(v, (int, str, float, tuple, list, dict)) else None
    if isinstance(kind, Builtin):
        return isinstance(v, HostTensor) if kind.name == "torch.Tensor" else None
    return None


@builtin("isinstance")
def _isinstance(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    answer = instance_of(m, args[0], args[1])
    return Scalar(None, "bool") if answer is None else answer


@builtin("issubclass")
def _issubclass(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.dsl.classes import derives

    a, kinds = args[0], args[1] if isinstance(args[1], tuple) else (args[1],)
    if isinstance(a, ClassInst) and all(isinstance(k, ClassInst) for k in kinds):
        return any(derives(a, k) for k in kinds)
    if isinstance(a, ScalarType):
        names = {k.name for k in kinds if isinstance(k, BuiltinType)}
        integer = "int" in a.dtype.name
        if "Numeric" in names or ("Integer" in names and integer) or ("Float" in names and not integer):
            return True
        return any(k == a for k in kinds)
    return Scalar(None, "bool")


# -------------------------------------------------------------------- methods


def _method(kind: type, *names: str) -> None:
    for word in names:
        def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span, word: str = word) -> Value:
            bad = known(m, args, span)
            if bad is not None:
                return bad
            result = getattr(args[0], word)(*args[1:], **kwargs)
            return list(result) if word in ("keys", "values", "items") else result

        FUNCTIONS[f"{kind.__name__}.{word}"] = run


_method(str, "upper", "lower", "split", "strip", "lstrip", "rstrip", "startswith", "endswith", "replace", "isdigit",
        "rsplit", "title", "capitalize", "count", "find", "index", "zfill", "isalpha", "partition", "rpartition",
        "removeprefix", "removesuffix", "splitlines", "ljust", "rjust")  # fmt: skip
_method(dict, "get", "keys", "values", "items", "copy", "update", "setdefault", "pop")
_method(list, "append", "extend", "insert", "pop", "index", "count", "reverse", "copy", "remove", "clear")
_method(tuple, "index", "count")
_method(int, "bit_length")
_method(float, "is_integer")


def _list_append(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    args[0].append(args[1])
    return None


def _dict_update(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if len(args) > 1 and isinstance(args[1], dict):
        args[0].update(args[1])
    args[0].update(kwargs)
    return None


FUNCTIONS["list.append"] = _list_append
FUNCTIONS["list.add"] = _list_append
FUNCTIONS["dict.update"] = _dict_update
FUNCTIONS["dict.get"] = lambda m, args, kwargs, span: args[0].get(args[1], args[2] if len(args) > 2 else None)
FUNCTIONS["str.format"] = lambda m, args, kwargs, span: Unknown("a formatted string", span)


@builtin("str.join")
def _join(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = sequence(m, args[1], span)
    if isinstance(items, Unknown) or any(not isinstance(i, str) for i in items):
        return Unknown("text that is not known", span)
    return args[0].join(items)


@builtin("object._replace", "dataclasses.replace")
def _replace(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    old = args[0]
    if not isinstance(old, Object):
        return Unknown("replace of a value that is not known", span)
    made = Object(old.cls)
    for key, value in {**old.fields, **kwargs}.items():
        m.journal.set(made.fields, key, value)
    return made


def attribute(m: Machine, base: Value, ident: str, span: Span) -> Value | None:
    for kind in (bool, str, dict, list, tuple, int, float):
        if isinstance(base, kind):
            word = f"{'int' if kind is bool else kind.__name__}.{ident}"
            if word in FUNCTIONS:
                return Builtin(word, base)
            return _number_attribute(base, ident)
    if isinstance(base, Namespace):
        return base.fields.get(ident, Unknown(f"no attribute `{ident}`", span))
    if isinstance(base, Parser):
        return Builtin(f"argparse.{ident}", base)
    if isinstance(base, FuncSet):
        if ident == "__name__":
            return base.name
        if ident in ("__wrapped__", "func"):
            return base
        return Extern(f"{base.name}.{ident}", span)
    if isinstance(base, KernelCall) and ident == "launch":
        return Builtin("kernel.launch", base)
    if isinstance(base, (Builtin, BuiltinType)):
        full = f"{base.name}.{ident}"
        if full in FUNCTIONS:
            return Builtin(full)
        if base.name.startswith("torch"):
            from cutecheck.source.dsl.torch import torch_name

            return torch_name(full)
        if ident == "__name__":
            return base.name
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
    if isinstance(base, (Compiled, Closure)):
        return Extern(f"compiled.{ident}", span)
    if base is None:
        return Unknown(f"`{ident}` of None", span)
    return None


def _number_attribute(base: Value, ident: str) -> Value | None:
    if isinstance(base, (int, float)) and not isinstance(base, bool) and ident in ("value", "real"):
        return base
    return None


@builtin("kernel.launch")
def _launch(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.dsl.functions import launch

    return launch(m, args[0], args[1:], kwargs, span)


# -------------------------------------------------------------------- standard modules


def _math(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        bad = known(m, args, span)
        if bad is not None:
            return bad
        if all(isinstance(a, (int, float)) for a in args):
            return getattr(math, word)(*args)
        if word == "prod":
            return it.product(tuple(args[0])) if isinstance(args[0], (tuple, list)) else Unknown("math.prod", span)
        return Scalar(None, "float")

    FUNCTIONS[f"math.{word}"] = run


for _word in ("log2", "log", "sqrt", "ceil", "floor", "gcd", "lcm", "prod", "exp", "isqrt", "pow", "fabs", "trunc",
              "exp2", "isnan", "isinf"):  # fmt: skip
    _math(_word)


@builtin("functools.partial")
def _partial(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Partial(args[0], tuple(args[1:]), tuple(kwargs.items()))


@builtin("functools.reduce")
def _reduce(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    items = sequence(m, args[1], span)
    if isinstance(items, Unknown):
        return items
    items = [args[2], *items] if len(args) > 2 else items
    out = items[0]
    for v in items[1:]:
        out = apply(m, args[0], [out, v], {}, span)
    return out


@builtin("functools.lru_cache", "functools.cache", "functools.wraps")
def _decorator(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0] if args and isinstance(args[0], (FuncSet, Closure)) else Builtin("id_")


@builtin("itertools.product")
def _product(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    parts = [sequence(m, a, span) for a in args]
    bad = next((p for p in parts if isinstance(p, Unknown)), None)
    if bad is not None:
        return bad
    repeat = kwargs.get("repeat", 1)
    total = math.prod(len(p) for p in parts) ** repeat
    if total > m.budget.limits.loop_iterations:
        return Unknown(f"a product of {total} items", span)
    return list(itertools.product(*parts, repeat=repeat))  # type: ignore[arg-type]


@builtin("itertools.chain")
def _chain(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    parts = [sequence(m, a, span) for a in args]
    bad = next((p for p in parts if isinstance(p, Unknown)), None)
    return bad if bad is not None else [x for p in parts for x in p]  # type: ignore[union-attr]


@builtin("dataclasses.field")
def _field(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Builtin("dataclasses.field", dict(kwargs))


@builtin("dataclasses.dataclass", "enum.unique", "typing.cast_")
def _mark(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0] if args else Builtin("id_")


@builtin("typing.cast")
def _cast(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[1]


@builtin("enum.auto")
def _auto(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Builtin("enum.auto")


@builtin("types.SimpleNamespace", "argparse.Namespace")
def _namespace(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Namespace(dict(kwargs))


FUNCTIONS["argparse.ArgumentParser"] = lambda m, args, kwargs, span: Parser({})
FUNCTIONS["argparse.add_argument_group"] = lambda m, args, kwargs, span: args[0]
FUNCTIONS["argparse.add_mutually_exclusive_group"] = lambda m, args, kwargs, span: args[0]
FUNCTIONS["argparse.error"] = lambda m, args, kwargs, span: None
FUNCTIONS["argparse.set_defaults"] = lambda m, args, kwargs, span: args[0].fields.update(kwargs)


@builtin("argparse.add_argument")
def _add_argument(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """An option's value when nobody gives it: what the script's own driver runs with."""
    parser = args[0]
    flags = [a for a in args[1:] if isinstance(a, str)]
    long = [f for f in flags if f.startswith("--")]
    dest = kwargs.get("dest") or (long[0] if long else flags[0] if flags else "").lstrip("-").replace("-", "_")
    action = kwargs.get("action")
    if "default" in kwargs:
        value = kwargs["default"]
        if isinstance(value, str) and "type" in kwargs:
            from cutecheck.source.eval.calls import apply

            value = apply(m, kwargs["type"], [value], {}, span)
    elif action == "store_true":
        value = False
    elif action == "store_false":
        value = True
    elif kwargs.get("required") or not long:
        choices = kwargs.get("choices")
        value = Unknown(f"argument `{dest}` has no default", span) if not choices else choices[0]
    else:
        value = None
    parser.fields[dest] = value
    return None


@builtin("argparse.parse_args", "argparse.parse_known_args")
def _parse_args(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Namespace(dict(args[0].fields))


FUNCTIONS["argparse.parse_known_args"] = lambda m, args, kwargs, span: (Namespace(dict(args[0].fields)), [])
FUNCTIONS["os.path.join"] = lambda m, args, kwargs, span: Extern("a path", span)
FUNCTIONS["os.getenv"] = lambda m, args, kwargs, span: args[1] if len(args) > 1 else None
