"""What functions that are declared alone answer in host code.

``const`` methods answer one number as long as nothing may have changed the object. What else is returned by value is
some value of its type: ``at::Tensor y = at::empty(...)`` is a tensor of which ``y.data_ptr()`` is a pointer.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.facts import Span, Unknown
from cutecheck.model.integers import INTEGERS
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import qualifiers
from cutecheck.source.eval.held_fields import Fields
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.overloads import Candidate
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.symbolic import called, symbolic
from cutecheck.source.eval.values import Object, PtrType, Scalar, ScalarType, Value, constant

LOST = Unknown("the object may have changed since")
DEPTH = 4  # of objects in objects


def answer(m: Machine, best: Candidate, obj: Object | None, args: list[Value], span: Span) -> Value:
    """What ``tensor.size(1)`` is in host code, of a class without the bodies; None where no type is known."""
    fn = best.fn
    if fn.ret is None or not m.recorder.on_host() or not m.dialect.by_value:
        return None
    key = _asked(m, best, obj, args)
    if obj is None or key is None:
        return _some(m, best, span)
    if isinstance(obj.fields.get(key, LOST), Unknown):
        m.journal.set(obj.fields, key, symbolic(m, m.eval(fn.ret, best.env), f"{obj.name}.{key}#{m.number()}", span))
    return obj.fields[key]


def _asked(m: Machine, best: Candidate, obj: Object | None, args: list[Value]) -> str | None:
    """The name of what a ``const`` method of an object is asked for: a whole number under constants."""
    fn = best.fn
    if obj is None or obj.pointer is not None or "const" not in fn.flags or fn.ret is None or not m.dialect.by_value:
        return None
    if len(args) > 2 or not m.recorder.on_host():
        return None
    given = [constant(a) for a in args]
    typed = None if None in given else m.eval(fn.ret, best.env)
    whole = isinstance(typed, ScalarType) and typed.dtype.name in INTEGERS and typed.dtype.name != "bool"
    return f"{fn.name}({', '.join(map(str, given))})" if whole else None


def again(m: Machine, best: Candidate, obj: Object | None, args: list[Value]) -> tuple[str | None, Value]:
    """What a method with a body is asked for, and what it answered while the object held the same."""
    key = _asked(m, best, obj, args)
    if obj is None:
        return None, None
    if key is None:
        if "const" not in best.fn.flags:
            forget(m, obj)
        return None, None
    value = obj.fields.get(key, LOST)
    held = obj.fields.answered.get(key) if isinstance(obj.fields, Fields) else None
    return key, None if held is None or isinstance(value, Unknown) or not _holds(obj, held) else value


def remember(m: Machine, obj: Object | None, key: str, value: Value) -> Value:
    """``return impl->sizes()[dim];``: of what is not followed the method would make another number each time."""
    if obj is None or not isinstance(value, Scalar) or not isinstance(value.value, Dyn) or constant(value) is not None:
        return value
    value = called(value, f"{obj.name}.{key}")
    if isinstance(obj.fields, Fields):
        obj.fields.answered[key] = tuple(_held(obj))
        m.journal.set(obj.fields, key, value)
    return value


def _held(obj: Object, depth: int = 0) -> Iterator[tuple[dict[str, Value], str, Value]]:
    """What an object and those in it hold, but for answers."""
    for name, value in obj.fields.items():
        if not name.endswith(")"):
            yield obj.fields, name, value
            if isinstance(value, Object) and depth < DEPTH:
                yield from _held(value, depth + 1)


def _holds(obj: Object, held: tuple[tuple[dict[str, Value], str, Value], ...]) -> bool:
    return all(fields.get(name) is value for fields, name, value in held)


def _some(m: Machine, best: Candidate, span: Span) -> Value:
    """Some value of the type that is returned."""
    fn = best.fn
    if fn.ret is None or qualifiers.is_auto(fn.ret) or qualifiers.refers(fn.ret):
        return None
    typed = m.eval(fn.ret, best.env)
    kinds = (ClassInst, PtrType, ScalarType)
    return symbolic(m, typed, f"{fn.name}()#{m.number()}", span) if isinstance(typed, kinds) else None


def forget(m: Machine, obj: Object) -> None:
    """The object may have changed."""
    for key in [k for k in obj.fields if k.endswith(")")]:
        m.journal.set(obj.fields, key, LOST)
