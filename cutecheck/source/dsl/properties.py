"""``property`` that is called, not a decorator: ``threads = property(lambda self: 32 * self.warps)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.values import NONE, Property
from cutecheck.source.eval.values import Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


@builtin("property")
def _property(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    given = dict(zip(("fget", "fset"), args, strict=False)) | kwargs
    return Property(given.get("fget"), given.get("fset"))


def asked(m: Machine, found: Property, obj: Value, span: Span) -> Value:
    """The attribute of an object; of a class it is the property itself."""
    from cutecheck.source.eval.calls import apply

    if not isinstance(obj, Object):
        return found
    made = apply(m, found.get, [obj], {}, span)
    return NONE if made is None else made


def written(m: Machine, found: Value, obj: Object, value: Value, span: Span) -> bool:
    """Whether an attribute is written by a property's function."""
    from cutecheck.source.eval.calls import apply

    if not isinstance(found, Property):
        return False
    apply(m, found.put, [obj, value], {}, span)
    return True
