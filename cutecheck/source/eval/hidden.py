"""Data members that have another one's name: what a class hides of a base, or two bases have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Int
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.eval import classes
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.values import Object, Pointer, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_KEY = ("members of one name",)


def is_one(m: Machine, cls: ClassInst, name: str) -> bool:
    """Whether several data members of an object have this name."""
    if _KEY not in cls.memo:
        names = [decl.name for _, decl in classes.fields(m, cls)]
        cls.memo[_KEY] = frozenset(n for n in names if names.count(n) > 1) if len(set(names)) < len(names) else ()
    return name in cls.memo[_KEY]


def key(owner: ClassInst, name: str) -> str:
    return f"{_shown(owner)}::{name}"


def _shown(cls: ClassInst) -> str:
    args = ",".join(str(a) for a in cls.args)
    return f"{cls.name}<{args}>" if cls.args else cls.name


def get_field(m: Machine, obj: Object, owner: ClassInst, name: str, span: Span) -> Value:
    """The member that ``owner``, the class of the object or one of its bases, declares; numbers are not followed."""
    declared = [decl for cls, decl in classes.fields(m, obj.cls) if cls is owner and decl.name == name]
    if len(declared) != 1:
        return Unknown(f"which of several members `{name}` this is", span)
    decl = declared[0]
    if obj.pointer is None:
        typed = m.eval(decl.type, owner.env) if decl.type is not None else None
        return symbolic(m, typed, f"{name}{PER_THREAD}{m.number()}", span)
    own = key(owner, name)
    if own not in obj.fields:
        from cutecheck.source.eval.memory import member_view

        value = member_view(m, obj, owner, decl, span)
        if not isinstance(value, (Object, Pointer)):
            typed = m.eval(decl.type, owner.env) if decl.type is not None else None
            return symbolic(m, typed, f"{name}{PER_THREAD}{m.number()}", span)
        obj.fields[own] = value
    return obj.fields[own]


def offset(m: Machine, cls: ClassInst, owner: ClassInst, name: str, span: Span) -> Int | Unknown:
    """Where the member is that ``owner`` declares."""
    from cutecheck.source.eval.class_layout import class_layout

    at = class_layout(m, owner, span).offsets.get(name, Unknown(f"where `{name}` is", span))
    if cls is owner or isinstance(at, Unknown):
        return at
    base = class_layout(m, cls, span).bases.get(owner.ident, Unknown(f"where `{name}` is", span))
    return base if isinstance(base, Unknown) else base + at


def of_one_base(
    m: Machine, cls: ClassInst, base: ClassInst, name: str, obj: Object | None, found: Value, span: Span
) -> Value:
    """What a base class has by a name, unless another one has such a member, too.

    C++ refuses the name then: the object was named as one of its bases, and which one is not known any more.
    """
    if obj is None or not is_one(m, cls, name):
        return found
    others = [b for b in classes.bases(m, cls) if b is not base]
    if not any(d.name == name for b in others for _, d in classes.fields(m, b)):
        return found
    return Unknown(f"which of several members `{name}` this is", span)
