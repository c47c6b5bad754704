"""Where the data members of a class are, its size and alignment, as the Itanium C++ ABI says."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Int, maximum
from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.references import field_stands
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import ExternType, Value, constant

_POINTER = 8  # bytes


@dataclass(slots=True)
class ClassLayout:
    """``end``: bytes up to the end of the last member, before ``size`` is rounded up to the alignment."""

    offsets: dict[str, Int | Unknown] = field(default_factory=dict)
    size: Int | Unknown = 0
    align: int = 1
    end: Int | Unknown = 0


def class_layout(m: Machine, cls: ClassInst, span: Span) -> ClassLayout:
    key = ("layout",)
    if key in cls.memo:
        found: ClassLayout = cls.memo[key]
        return found
    refused = m.budget.refused
    made = _union(m, cls, span) if cls.decl.kind == "union" else _struct(m, cls, span)
    if cls.decl.alignas_ is not None:
        made.align = max(made.align, constant(m.eval(cls.decl.alignas_, cls.env)) or 1)
    if not isinstance(made.end, Unknown):
        made.size = _rounded(made.end, made.align)
        if isinstance(made.size, int) and made.size == 0:
            made.size = 1
    else:
        made.size = made.end
    if m.budget.refused == refused:
        cls.memo[key] = made
    return made


def _struct(m: Machine, cls: ClassInst, span: Span) -> ClassLayout:
    made = ClassLayout()
    above = classes.bases(m, cls)
    for base in cls.known_bases:
        if isinstance(base, ExternType) and base.name == classes.ALIGNED:
            made.align = max(made.align, constant(base.args[0]) or 1)
    if not classes.complete(m, cls):
        made.end = Unknown(f"a base class of `{cls.name}` is not known", span)
    elif _polymorphic(m, cls):
        made.align = max(made.align, _POINTER)
        if not (above and _polymorphic(m, above[0])):
            made.end = _POINTER
    parts = classes.parts(m, cls)
    for at, base in enumerate(above):
        inner = class_layout(m, base, span)
        made.align = max(made.align, inner.align)
        if inner.size == 1 and inner.end == 0:  # it takes no room of its own
            if any(other is base for other in above[:at]) or any(_has_first(m, p, cls, base) for p in parts[:1]):
                made.end = Unknown(f"where the empty base `{base.name}` is", span)
            continue
        _place(made, inner)
        more = at + 1 < len(above) or bool(parts)
        if more and not isinstance(inner.end, Unknown) and inner.end != inner.size:
            made.end = Unknown(f"whether the end of the base `{base.name}` is used again", span)
    for part in parts:
        if isinstance(part, ClassInst):
            _place(made, class_layout(m, part, span))
            continue
        size, align = _member(m, cls, part, span)
        made.align = max(made.align, align)
        start = _rounded(made.end, align)
        if "overlaps" in part.flags:
            start = Unknown(f"where `{part.name}` is, which may share its address", span)
        made.offsets[part.name] = start
        made.end = start if isinstance(start, Unknown) else size if isinstance(size, Unknown) else start + size
    return made


def _union(m: Machine, cls: ClassInst, span: Span) -> ClassLayout:
    made = ClassLayout()
    for part in classes.parts(m, cls):
        if isinstance(part, ClassInst):
            inner = class_layout(m, part, span)
            made.offsets.update(inner.offsets)
            size, align = inner.size, inner.align
        else:
            made.offsets[part.name] = 0
            size, align = _member(m, cls, part, span)
        made.align = max(made.align, align)
        bad = next((s for s in (made.end, size) if isinstance(s, Unknown)), None)
        made.end = maximum(made.end, size) if bad is None else bad  # type: ignore[arg-type]
    return made


def _place(made: ClassLayout, inner: ClassLayout) -> None:
    """A base, or an anonymous struct or union, whose members are those of the class."""
    made.align = max(made.align, inner.align)
    start = _rounded(made.end, inner.align)
    for name, offset in inner.offsets.items():
        bad = offset if isinstance(offset, Unknown) else start
        made.offsets[name] = bad if isinstance(bad, Unknown) or isinstance(offset, Unknown) else bad + offset
    size = inner.size
    made.end = start if isinstance(start, Unknown) else size if isinstance(size, Unknown) else start + size


def _member(m: Machine, cls: ClassInst, decl: ir.Variable, span: Span) -> tuple[Int | Unknown, int]:
    """Bytes and alignment of a data member."""
    from cutecheck.source.eval.memory import align_bytes, size_bytes

    if field_stands(m, cls, decl):
        return _POINTER, _POINTER
    t: Value = m.eval(decl.type, cls.env) if decl.type is not None else Unknown("untyped member", span)
    own = align_bytes(m, t, span)
    align = own if isinstance(own, int) else 1
    if decl.alignas_ is not None:
        align = max(align, constant(m.eval(decl.alignas_, cls.env)) or 1)
    if "bits" in decl.flags:
        return Unknown("the place of a bit-field is not known", span), align
    size = size_bytes(m, t, span) if isinstance(own, int) else own
    return (int(size) if isinstance(size, int) else size), align


def _rounded(n: Int | Unknown, align: int) -> Int | Unknown:
    return n if isinstance(n, Unknown) or align <= 1 else (n + align - 1) // align * align


def _polymorphic(m: Machine, cls: ClassInst) -> bool:
    """Whether objects start with a pointer to a table of virtual functions."""
    own = any(isinstance(d, ir.Function) and "virtual" in d.flags for d in cls.decl.members)
    return own or any(_polymorphic(m, base) for base in classes.bases(m, cls))


def _has_first(m: Machine, part: ir.Variable | ClassInst, cls: ClassInst, empty: ClassInst) -> bool:
    """Whether a member may start with an object of the class of an empty base, which then has another address."""
    kind = part if isinstance(part, ClassInst) else m.eval(part.type, cls.env) if part.type is not None else None
    if not isinstance(kind, ClassInst):
        return False
    inner = classes.parts(m, kind)[:1]
    return classes.derives(m, kind, empty) or any(_has_first(m, p, kind, empty) for p in inner)
