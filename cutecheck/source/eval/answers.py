"""What ``const`` methods that are declared alone answer: one number as long as nothing may have changed the object."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.model.integers import INTEGERS
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.overloads import Candidate
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.values import Object, ScalarType, Value, constant

LOST = Unknown("the object may have changed since")


def answer(m: Machine, best: Candidate, obj: Object | None, args: list[Value], span: Span) -> Value:
    """The number that ``tensor.size(1)`` is in host code, of a class without the bodies; None of other calls."""
    fn = best.fn
    if obj is None or obj.pointer is not None or "const" not in fn.flags or fn.ret is None or not m.recorder.on_host():
        return None
    given = [constant(a) for a in args]
    typed = m.eval(fn.ret, best.env)
    whole = isinstance(typed, ScalarType) and typed.dtype.name in INTEGERS and typed.dtype.name != "bool"
    if not whole or None in given:
        return None
    key = f"{fn.name}({', '.join(map(str, given))})"
    if isinstance(obj.fields.get(key, LOST), Unknown):
        m.journal.set(obj.fields, key, symbolic(m, typed, f"{obj.name}.{key}#{m.number()}", span))
    return obj.fields[key]


def forget(m: Machine, obj: Object) -> None:
    """The object may have changed."""
    for key in [k for k in obj.fields if k.endswith(")")]:
        m.journal.set(obj.fields, key, LOST)
