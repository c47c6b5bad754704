"""``isinstance``, ``issubclass`` and what the patterns of ``match`` ask of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.dsl import enumerations, vectors
from cutecheck.source.dsl.builtins import PLAIN_TYPES, builtin
from cutecheck.source.dsl.values import (
    NONE,
    SPREAD,
    Builtin,
    BuiltinType,
    Distinct,
    Enumerator,
    HostTensor,
    Iterated,
    Module,
    OpValue,
    Partial,
    TorchType,
)
from cutecheck.source.eval.containers import unsure
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import (
    Closure,
    EnumVal,
    Extern,
    FuncSet,
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


def instance_of(m: Machine, v: Value, kind: Value) -> bool | None:
    """``isinstance(v, kind)``."""
    if isinstance(kind, (tuple, list)):
        answers = [instance_of(m, v, k) for k in kind]
        return True if True in answers else None if None in answers else False
    if vectors.type_of(v) is not None and isinstance(kind, (BuiltinType, ScalarType)):
        return isinstance(kind, BuiltinType) and kind.name == "TensorSSA"
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
        if isinstance(v, TorchType):
            return kind.name in ("Hashable", "object")
        if isinstance(v, Enumerator) and kind.name not in ("Enumerator", "Callable", "Hashable"):
            return enumerations.is_a(v, kind.name)
        plain: dict[str, Any] = {
            "int": int, "float": float, "str": (str, Str), "bool": bool, "tuple": tuple, "list": list, "dict": dict,
            "Tensor": TensorVal, "Layout": Layout, "ComposedLayout": ComposedLayout, "Pointer": Pointer,
            "Sequence": (list, tuple), "Callable": (FuncSet, Closure, Builtin, Partial), "Integer": (Dyn,),
            "NumericMeta": ScalarType,
            "Numeric": (Dyn, Scalar), "type": (ClassInst, ScalarType, BuiltinType), "set": Distinct,
            "frozenset": Distinct,
            "Iterable": (list, tuple),
        }  # fmt: skip
        if kind.name in plain:
            if kind.name == "tuple" and isinstance(v, Object):
                return bool(v.cls.memo.get("namedtuple"))
            if kind.name in ("int",) and isinstance(v, bool):
                return True
            if kind.name in ("list", "Sequence") and isinstance(v, Distinct):
                return False
            return isinstance(v, plain[kind.name])
        from cutecheck.model.atoms import CopyAtom, MMAAtom
        from cutecheck.model.tiled import TiledCopy, TiledMMA

        more: dict[str, Any] = {
            "TiledMma": TiledMMA, "TiledCopy": TiledCopy, "CopyAtom": CopyAtom, "MmaAtom": MMAAtom,
            "Enum": (Enumerator, EnumVal), "ModuleType": Module, "FunctionType": (FuncSet, Closure),
            "MethodType": (), "BuiltinFunctionType": Builtin, "MethodWrapperType": (), "partial": Partial,
            "torch.Tensor": HostTensor,
        }  # fmt: skip
        if kind.name == "TensorSSA":  # vectors that are known were answered above
            return None if isinstance(v, Scalar) and v.ctype == "vector" else False
        if kind.name in more:
            return isinstance(v, more[kind.name])
        return False if v is None or isinstance(v, (int, str, float, tuple, list, dict)) else None
    if isinstance(kind, Builtin) and kind.name.startswith("op "):
        return isinstance(v, OpValue) and v.name == kind.name.rpartition(".")[2]
    if isinstance(kind, Builtin):
        if kind.name == "torch.dtype":
            return isinstance(v, TorchType) or (isinstance(v, EnumVal) and v.enum == "torch.dtype")
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
    if isinstance(a, BuiltinType) and a.name in PLAIN_TYPES:
        plain = [PLAIN_TYPES.get(k.name) if isinstance(k, BuiltinType) else None for k in kinds]
        if None not in plain:
            return issubclass(PLAIN_TYPES[a.name], tuple(k for k in plain if k is not None))
    if isinstance(a, ScalarType):
        names = {k.name for k in kinds if isinstance(k, BuiltinType)}
        integer = "int" in a.dtype.name
        if "Numeric" in names or ("Integer" in names and integer) or ("Float" in names and not integer):
            return True
        return any(k == a for k in kinds)
    return Scalar(None, "bool")


# -------------------------------------------------------------------- match


@builtin("match sequence")
def _is_sequence(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Whether a value is a sequence, no text, of as many items, or of at least as many."""
    from cutecheck.source.dsl.classes import mro, unread

    value, count, exact = args
    if isinstance(value, Object) and value.cls.memo.get("namedtuple"):
        value = tuple(value.fields.values())
    if isinstance(value, (list, tuple, range)) and not isinstance(value, (Distinct, Iterated)):
        if unsure(value) is not None or (isinstance(value, tuple) and any(v is SPREAD for v in value)):
            return Scalar(None, "bool")
        return len(value) == count if exact else len(value) >= count
    if isinstance(value, Object):
        return Scalar(None, "bool") if any(unread(b) for c in mro(value.cls) for b in c.memo["foreign"]) else False
    plain = value is None or isinstance(value, (bool, int, float, str, dict, Distinct, Iterated, Dyn, Enumerator))
    return False if plain else Scalar(None, "bool")


@builtin("match position")
def _position(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """What the pattern at a position of ``Class(...)`` is held against."""
    from cutecheck.source.dsl.classes import attribute, fields

    value, kind, at = args
    if isinstance(kind, BuiltinType) and kind.name in ("int", "float", "str", "bool", "tuple", "list", "dict", "set"):
        return value
    if not isinstance(kind, ClassInst) or not isinstance(value, Object):
        return Unknown("a position of a pattern that is not known", span)
    own = attribute(m, kind, "__match_args__", span)
    names = own if isinstance(own, tuple) else tuple(n for n, _ in fields(kind))
    if not all(isinstance(n, str) for n in names) or at >= len(names):
        return Unknown("a position of a pattern that is not known", span)
    found = attribute(m, value, names[at], span)
    return None if found is NONE else found


@builtin("match rest")
def _rest(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A dictionary without the keys that a pattern names."""
    table, *keys = args
    if not isinstance(table, dict) or unsure(table) is not None:
        return Unknown("the rest of a dictionary that is not known", span)
    return {k: v for k, v in table.items() if k not in keys}
