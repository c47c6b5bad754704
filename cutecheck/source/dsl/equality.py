"""``==`` and ``in`` of the values of a program."""

from __future__ import annotations

import re

from cutecheck.facts import Unknown
from cutecheck.model import ints
from cutecheck.model.ints import Condition, Dyn, Rel, Sym, Undecided
from cutecheck.source.dsl.values import Distinct, Enumerator
from cutecheck.source.eval.containers import OPEN, Lost, unsure
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import EnumVal, Extern, Object, Scalar, Value

_ARRAYS = ("torch.", "tensor.", "an array", "a reduction")  # what is made so is never None
_HELD = (Object, list, dict, tuple)
_PRIMITIVE = (int, str, bool, float, type(None))
# members of the package's enumerations of pipelines; in a run, whose pipelines are a prelude's, they are their names
_MEMBER = re.compile(r"cutlass\.pipeline\.(?:helpers\.)?(PipelineUserType|PipelineOp|Agent)\.(\w+)$")


def equal(a: Value, b: Value, identity: bool = False) -> bool | None:
    """``a == b``, or ``a is b``; None when that is not known."""
    if identity and a is not b and isinstance(a, _HELD) and isinstance(b, _HELD):
        return None if equal(a, b) is not False else False  # what is held in two places may have become two
    a, b = _as_tuple(a), _as_tuple(b)
    if not identity and (isinstance(a, Enumerator) or isinstance(b, Enumerator)):
        from cutecheck.source.dsl.enumerations import plain

        a, b = plain(a), plain(b)
    if a is b and not isinstance(a, (Unknown, Extern)):
        return True
    if type(a) in _PRIMITIVE and type(b) in _PRIMITIVE:
        return bool(a == b)
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return None
    if isinstance(a, Extern) or isinstance(b, Extern):
        one, other = _member(a), _member(b)
        if one is not None and other is not None:
            return one[1] == other[1] and (one[0] == other[0] or "" in (one[0], other[0]))
        given = (x.what for x in (a, b) if isinstance(x, Extern))
        return False if (a is None or b is None) and any(w.startswith(_ARRAYS) for w in given) else None
    if isinstance(a, Scalar) or isinstance(b, Scalar):
        return False if a is None or b is None else None
    if isinstance(a, (Dyn, Sym)) or isinstance(b, (Dyn, Sym)):
        if not isinstance(a, (int, Dyn, Sym)) or not isinstance(b, (int, Dyn, Sym)):
            return False if a is None or b is None else None
        answer = ints.decide(Condition(Rel.EQ, ints.as_expr(a), ints.as_expr(b)))
        return None if isinstance(answer, Undecided) else answer
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return _equal_items(a, b)
    if isinstance(a, EnumVal) and isinstance(b, EnumVal):
        return a.name == b.name and a.enum == b.enum
    if isinstance(a, Object) and isinstance(b, Object):
        return _equal_objects(a, b)
    if isinstance(a, (Object, ClassInst)) or isinstance(b, (Object, ClassInst)):
        return False
    try:
        return bool(a == b)
    except TypeError:
        return None


def _member(v: Value) -> tuple[str, str] | None:
    """The enumeration and the name of a member of one, of a run without the enumeration."""
    if isinstance(v, str):
        return "", v
    found = _MEMBER.match(v.what) if isinstance(v, Extern) else None
    return None if found is None else (found[1], found[2])


def _as_tuple(v: Value) -> Value:
    return tuple(v.fields.values()) if isinstance(v, Object) and v.cls.memo.get("namedtuple") else v


def _equal_items(a: tuple[Value, ...] | list[Value], b: tuple[Value, ...] | list[Value]) -> bool | None:
    if isinstance(a, Distinct) and isinstance(b, Distinct):
        return subset(a, b) if len(a) == len(b) else False
    if isinstance(a, list) != isinstance(b, list):
        return False
    if unsure(a) is not None or unsure(b) is not None:
        return None
    if len(a) != len(b):
        return False
    known = True
    for x, y in zip(a, b, strict=True):
        same = equal(x, y)
        if same is False:
            return False
        known = known and same is True
    return True if known else None


def _equal_objects(a: Object, b: Object) -> bool | None:
    """Records compare by their fields, others by who they are, unless their class has ``__eq__``."""
    from cutecheck.source.dsl.classes import compared, find

    if any(find(o.cls, "__eq__") is not None for o in (a, b)):
        return None
    if not a.cls.memo.get("dataclass") or a.cls is not b.cls:
        return False
    one, other = compared(a), compared(b)
    return _equal_items(tuple(one.values()), tuple(other.get(k) for k in one))


def subset(a: Distinct, b: Distinct) -> bool | None:
    """``a <= b`` of sets."""
    answers = [contains(x, b) for x in a]
    return False if False in answers else None if None in answers else True


def combined(op: str, a: Distinct, b: Distinct) -> Distinct | None:
    """``a - b`` and the other operators that make a set; None where it is not known what is in both."""
    both = [contains(x, b) for x in a]
    if None in both:
        return None
    if op == "|":
        return Distinct([*a, *(y for y in b if not contains(y, a))])
    kept = Distinct(x for x, there in zip(a, both, strict=True) if there == (op == "&"))
    return Distinct([*kept, *(y for y in b if not contains(y, a))]) if op == "^" else kept


def contains(item: Value, container: Value) -> bool | None:
    """``item in container``; None when that is not known."""
    if isinstance(item, Unknown) or isinstance(container, Unknown):
        return None
    if isinstance(container, str):
        return item in container if isinstance(item, str) else None
    if isinstance(container, range):
        return item in container if type(item) in _PRIMITIVE else None
    if not isinstance(container, (dict, list, tuple)):
        return None
    known = isinstance(container, dict) or unsure(container) is None
    if isinstance(container, dict):
        try:
            if item in container:
                return None if type(container[item]) is Lost else True
        except TypeError:
            return None
        known = OPEN not in container
    for x in container:
        same = equal(item, x)
        if same:
            return True
        known = known and same is False
    return False if known else None


__all__ = ["combined", "contains", "equal", "subset"]
