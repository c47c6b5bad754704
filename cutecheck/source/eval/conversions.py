"""What objects convert themselves to: ``operator int() const``, and conditions that ask for ``operator bool``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.dtype import dtype
from cutecheck.model.integers import INTEGERS, canonical
from cutecheck.source.eval import classes, initialisation, ir
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import same_type
from cutecheck.source.eval.values import FuncSet, Object, PtrType, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Env

_NAME = re.compile(r"operator\s+(?:const\s+)?([A-Za-z_][\w:\s]*?)(?:\s+const)?\s*(\*?)(?:\s*const)?\s*&{0,2}$")
_BOOL = "bool"


def functions(m: Machine, cls: ClassInst) -> list[tuple[str, Value, bool]]:
    """The conversion functions of a class and its bases: name, type, whether it is explicit."""
    key = ("conversions",)
    if key not in cls.memo:
        found: list[tuple[str, Value, bool]] = []
        for d in cls.decl.members:
            if isinstance(d, ir.Function) and d.name.startswith("operator ") and not d.params:
                found.append((d.name, _type(m, d, cls), "explicit" in d.flags))
        own = {name for name, _, _ in found}
        for base in classes.bases(m, cls):
            found += [f for f in functions(m, base) if f[0] not in own]
        cls.memo[key] = found
    made: list[tuple[str, Value, bool]] = cls.memo[key]
    return made


def _type(m: Machine, fn: ir.Function, cls: ClassInst) -> Value:
    known = _NAME.match(fn.name)
    inner = _named(m, fn, cls)
    return PtrType(inner) if known is not None and known[2] and not isinstance(inner, Unknown) else inner


def _named(m: Machine, fn: ir.Function, cls: ClassInst) -> Value:
    """The type that is written, but for a ``*`` behind it."""
    written = _NAME.match(fn.name)
    if written is None or fn.tparams is not None:
        return Unknown("the type of a conversion", fn.span)
    text = " ".join(written[1].split())
    known = dtype(canonical(text)) if canonical(text) in INTEGERS or text in ("float", "double") else None
    if known is not None:
        return ScalarType(known)
    first, *inner = text.removeprefix("typename ").split("::")
    if not all(part.isidentifier() for part in (first, *inner)):
        return Unknown("the type of a conversion", fn.span)
    named: ir.Expr = ir.Name(first, None, fn.span)
    for part in inner:  # `operator typename Impl::Arguments() const`
        named = ir.Scoped(named, part, None, fn.span)
    return m.eval(named, cls.env)


def converted(m: Machine, value: Object, to: Value, span: Span, explicit: bool = False) -> Value | None:
    """An object as a value of an arithmetic type or a class; None where no function of its own says how."""
    if value.pointer is not None or not m.dialect.by_value:
        return None
    can = [f for f in functions(m, value.cls) if explicit or not f[2]]
    exact = [f for f in can if not isinstance(f[1], Unknown) and same_type(f[1], to)]
    if not exact and isinstance(to, ScalarType):
        exact = [f for f in can if isinstance(f[1], ScalarType)]
        if len(exact) != 1 or any(isinstance(f[1], Unknown) for f in can):
            return None
    if len({f[0] for f in exact}) != 1:
        return None
    made = _call(m, value, exact[0][0], span)
    if isinstance(made, tuple):
        return initialisation.convert(m, to, made, span)  # `return {{alpha}, {beta}};`
    return m.dialect.cast(to, made, span) if isinstance(to, ScalarType) and not isinstance(made, Unknown) else made


def number(m: Machine, value: Value, span: Span) -> Value:
    """An operand of a built-in operator: an object that converts itself to one arithmetic type is that number."""
    if not isinstance(value, Object) or value.pointer is not None or not m.dialect.by_value:
        return value
    can = [f for f in functions(m, value.cls) if not f[2]]
    if len(can) != 1 or not isinstance(can[0][1], ScalarType):
        return value
    return _call(m, value, can[0][0], span)


def coordinate(m: Machine, value: Value, span: Span) -> Value:
    """A coordinate of a layout or tensor, which CuTe multiplies by strides: objects in it as numbers."""
    if type(value) is tuple and any(isinstance(v, (Object, tuple)) for v in value):
        return tuple(coordinate(m, v, span) for v in value)
    return number(m, value, span)


def condition(m: Machine, value: Value, span: Span) -> Value:
    """What a condition asks of an object: its ``operator bool``, explicit or not, or the one other it has."""
    if not isinstance(value, Object) or value.pointer is not None or not m.dialect.by_value:
        return value
    bool_ = dtype(_BOOL)
    made = None if bool_ is None else converted(m, value, ScalarType(bool_), span, True)
    if made is None:
        plain = number(m, value, span)
        return value if plain is value else plain
    return made


def tested(m: Machine, node: ir.Expr, env: Env) -> Value:
    """The value of a condition."""
    value = m.eval(node, env)
    return condition(m, value, node.span) if isinstance(value, Object) else value


def _call(m: Machine, value: Object, name: str, span: Span) -> Value:
    from cutecheck.source.eval.calls import apply
    from cutecheck.source.eval.lookup import member

    method = member(m, value.cls, name, value, span)
    if not isinstance(method, FuncSet):
        return Unknown(f"`{name}` of `{value.cls.name}`", span)
    return apply(m, method, [], {}, span)
