"""Attributes that a program sets: of objects, classes, functions and modules, ``setattr`` and patches among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import barriers, classes, cute_values, modules, patches, reclassed
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.reflection import function_attribute
from cutecheck.source.dsl.values import NONE, Builtin, Module, Namespace, Partial
from cutecheck.source.eval.containers import written
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Extern, FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def store(m: Machine, base: Value, name: str, value: Value, span: Span) -> None:
    """``base.name = value``."""
    if isinstance(base, Object) and name == reclassed.NAME:
        reclassed.reclass(m, base, value, span)
    elif isinstance(base, Extern) and name == reclassed.NAME:
        reclassed.reclass_foreign(m, base, value)
    elif isinstance(base, Object):
        classes.set_attribute(m, base, name, value, span)
    elif isinstance(base, ClassInst):
        m.journal.set(base.memo["space"], name, value)
    elif isinstance(base, Namespace):
        m.journal.set(base.fields, name, value)
    elif isinstance(base, FuncSet):
        m.journal.set(_of_function(m, base), name, value)
    elif isinstance(base, Module) and barriers.is_function(base.name, name):
        return  # one of the program's own in its place waits, or arrives, as well: that is what is known of it
    elif isinstance(base, Module):
        scope = modules.scope_of(m, base.name)
        own = scope.env.vars if scope is not None else modules.patched(m, base.name)
        m.journal.set(own, name, value)
    elif (added := patches.of_class(m, base)) is not None:
        m.journal.set(added, name, value)
    elif not isinstance(base, Unknown):
        cute_values.set_attribute(m, base, name, value)


def _of_function(m: Machine, fn: FuncSet) -> dict[str, Value]:
    """The attributes of a function, one set for each time that its definition was run."""
    entry = fn.entries[-1]
    known: dict[Any, Any] = modules.state(m).setdefault("attributes", {})
    attributes: dict[str, Value] = known.setdefault((id(entry.decl), id(entry.env)), (entry, {}))[1]
    return attributes


def of_function(m: Machine, fn: FuncSet, name: str) -> Value | None:
    """What a program set as an attribute of a function; None where it did not."""
    own = _of_function(m, fn) if "attributes" in modules.state(m) else {}
    return None if name not in own else NONE if own[name] is None else own[name]


@builtin("functools.wraps")
def _wraps(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Partial(Builtin("functools.update_wrapper"), (), (("wrapped", args[0] if args else kwargs.get("wrapped")),))


@builtin("functools.update_wrapper")
def _update_wrapper(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The function that wraps another, with the other's name and attributes."""
    wrapper, wrapped = args[0], args[1] if len(args) > 1 else kwargs.get("wrapped")
    if isinstance(wrapped, FuncSet) and isinstance(wrapper, (FuncSet, Object)):
        given = {
            name: function_attribute(m, wrapped, name, span) for name in ("__name__", "__qualname__", "__module__")
        }
        for name, value in {**given, **_of_function(m, wrapped), "__wrapped__": wrapped}.items():
            store(m, wrapper, name, value, span)
    return wrapper


@builtin("setattr", "object.__setattr__")
def _setattr(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    base, name, value = args
    if isinstance(name, str):
        store(m, base, name, value, span)
    elif isinstance(base, Object):  # any of its attributes
        for key in list(base.fields):
            m.journal.set(base.fields, key, Unknown("it may have been set by a name that is not known", span))
    else:
        written(m, base)
    return None
