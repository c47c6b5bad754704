"""Where the data members of a class are, its size and alignment, as the Itanium C++ ABI says."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Int, maximum
from cutecheck.model.units import BYTE
from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.references import field_stands
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import ExternType, Value, constant

_POINTER = 8  # bytes


@dataclass(slots=True)
class ClassLayout:
    """``end``: bytes up to the end of the last member, before ``size`` is rounded up to the alignment.

    ``align`` is the least alignment that the class may have, ``most`` the largest.
    """

    offsets: dict[str, Int | Unknown] = field(default_factory=dict)
    bases: dict[int, Int | Unknown] = field(default_factory=dict)  # where each is, by ``ClassInst.ident``
    size: Int | Unknown = 0
    align: int = 1
    most: int | Unknown = 1
    end: Int | Unknown = 0

    limit: int = 0  # of ``#pragma pack``
    bit: int = 0  # where the last bit-field ends, 0 where what is last is none

    def aligned(self, align: int, most: int | Unknown) -> None:
        """A member has an alignment between these."""
        if self.limit:
            align, most = min(align, self.limit), most if isinstance(most, Unknown) else min(most, self.limit)
        self.align = max(self.align, align)
        self.most = (
            self.most if isinstance(self.most, Unknown) else most if isinstance(most, Unknown) else max(self.most, most)
        )


def class_layout(m: Machine, cls: ClassInst, span: Span) -> ClassLayout:
    key = ("layout",)
    if key in cls.memo:
        found: ClassLayout = cls.memo[key]
        return found
    refused = m.budget.refused
    made = _union(m, cls, span) if cls.decl.kind == "union" else _struct(m, cls, span)
    made.limit = 0
    if cls.decl.alignas_ is not None:
        made.aligned(*_asked(m, cls.decl.alignas_, cls))
    if cls.decl.forward:
        made.end = Unknown(f"`{cls.name}` is declared, and not defined there", span)
    if not isinstance(made.end, Unknown):
        made.size = _rounded(made.end, made.align, made.most, span)
        if isinstance(made.size, int) and made.size == 0 and not made.offsets:  # else of arrays without elements
            made.size = made.align
    else:
        made.size = made.end
    if m.budget.refused == refused:
        cls.memo[key] = made
    return made


def _struct(m: Machine, cls: ClassInst, span: Span) -> ClassLayout:
    made = ClassLayout(limit=cls.decl.pack)
    above = classes.bases(m, cls)
    for base in cls.known_bases:
        if isinstance(base, ExternType) and base.name == classes.ALIGNED:
            made.aligned(*_number(base.args[0]))
    if cls.decl.packed and (above or any(isinstance(p, ClassInst) for p in classes.parts(m, cls))):
        made.end = Unknown(f"where the parts of the packed `{cls.name}` are", span)
    elif not classes.complete(m, cls):
        made.end = Unknown(f"a base class of `{cls.name}` is not known", span)
    elif _polymorphic(m, cls):
        made.aligned(_POINTER, _POINTER)
        if not (above and _polymorphic(m, above[0])):
            made.end = _POINTER
    parts = classes.parts(m, cls)
    for at, base in enumerate(above):
        inner = class_layout(m, base, span)
        made.aligned(inner.align, inner.most)
        if inner.size == 1 and inner.end == 0:  # it takes no room of its own
            if any(other is base for other in above[:at]) or any(_has_first(m, p, cls, base) for p in parts[:1]):
                made.end = Unknown(f"where the empty base `{base.name}` is", span)
            continue
        start = _place(made, inner, span)
        for name, inside in ((base.ident, 0), *inner.bases.items()):
            twice = Unknown("it is a base of two bases", span) if name in made.bases else start
            bad = next((x for x in (twice, inside) if isinstance(x, Unknown)), None)
            made.bases[name] = start + inside if bad is None else bad  # type: ignore[operator]
        more = at + 1 < len(above) or bool(parts)
        if more and not isinstance(inner.end, Unknown) and inner.end != inner.size:
            made.end = Unknown(f"whether the end of the base `{base.name}` is used again", span)
    for part in _stored(m, cls, parts):
        if isinstance(part, ir.Variable) and "bits" in part.flags:
            _place_bits(m, made, cls, part, span)
            continue
        made.bit = 0
        if isinstance(part, ClassInst):
            _place(made, class_layout(m, part, span), span)
            continue
        size, align, most = _member(m, cls, part, span)
        made.aligned(align, most)
        start = _start(made, align, most, span)
        if "overlaps" in part.flags:
            start = Unknown(f"where `{part.name}` is, which may share its address", span)
        made.offsets[part.name] = start
        made.end = start if isinstance(start, Unknown) else size if isinstance(size, Unknown) else start + size
    return made


def _stored(m: Machine, cls: ClassInst, parts: list[ir.Variable | ClassInst]) -> list[ir.Variable | ClassInst]:
    """The parts of a class, with bit-fields that have no name."""
    nameless = [d for d in cls.decl.members if isinstance(d, ir.Variable) and "bits" in d.flags and not d.name]
    if not nameless:
        return parts
    own = {id(p): p for p in parts if isinstance(p, ir.Variable)}
    inner = iter([p for p in parts if isinstance(p, ClassInst)])
    found: list[ir.Variable | ClassInst] = []
    for d in cls.decl.members:
        if isinstance(d, ir.Variable) and (id(d) in own or d in nameless):
            found.append(d)
        elif isinstance(d, ir.Class) and not d.name:
            found.append(next(inner))
    return found


def _place_bits(m: Machine, made: ClassLayout, cls: ClassInst, part: ir.Variable, span: Span) -> None:
    """A bit-field lies in one unit of its type; one of no bits ends the unit."""
    from cutecheck.source.eval.memory import align_bytes, size_bytes

    t: Value = m.eval(part.type, cls.env) if part.type is not None else None
    width = None if part.width is None else constant(m.eval(part.width, cls.env))
    size, align = (f(m, t, span) for f in (size_bytes, align_bytes))
    packed = cls.decl.packed or made.limit or part.alignas_ is not None
    made.offsets[part.name] = Unknown("the place of a bit-field is not known", span)
    if packed or width is None or not isinstance(size, int) or not isinstance(align, int):
        made.end = Unknown("the place of a bit-field is not known", span)
    if not isinstance(made.end, int) or not isinstance(size, int) or not isinstance(align, int) or width is None:
        return
    unit = int(size) * BYTE
    at = made.bit or made.end * BYTE
    if width == 0 or at % unit + width > unit:
        at = -(-at // unit) * unit
    if part.name:
        made.aligned(align, align)
    made.bit = at + width
    made.end = -(-made.bit // BYTE)


def _union(m: Machine, cls: ClassInst, span: Span) -> ClassLayout:
    made = ClassLayout(limit=cls.decl.pack)
    for part in classes.parts(m, cls):
        if isinstance(part, ClassInst):
            inner = class_layout(m, part, span)
            made.offsets.update(inner.offsets)
            size, align, most = inner.size, inner.align, inner.most
        elif "bits" in part.flags:
            alone = ClassLayout(limit=cls.decl.pack)
            _place_bits(m, alone, cls, part, span)
            made.offsets.update(alone.offsets)
            size, align, most = alone.end, alone.align, alone.most
        else:
            made.offsets[part.name] = 0
            size, align, most = _member(m, cls, part, span)
        made.aligned(align, most)
        bad = next((s for s in (made.end, size) if isinstance(s, Unknown)), None)
        made.end = maximum(made.end, size) if bad is None else bad  # type: ignore[arg-type]
    return made


def _place(made: ClassLayout, inner: ClassLayout, span: Span) -> Int | Unknown:
    """A base, or an anonymous struct or union, whose members are those of the class; where it is."""
    made.aligned(inner.align, inner.most)
    start = _start(made, inner.align, inner.most, span)
    for name, offset in inner.offsets.items():
        bad = offset if isinstance(offset, Unknown) else start
        made.offsets[name] = bad if isinstance(bad, Unknown) or isinstance(offset, Unknown) else bad + offset
    size = inner.size
    made.end = start if isinstance(start, Unknown) else size if isinstance(size, Unknown) else start + size
    return start


def _member(m: Machine, cls: ClassInst, decl: ir.Variable, span: Span) -> tuple[Int | Unknown, int, int | Unknown]:
    """Bytes of a data member, its least alignment and its largest."""
    from cutecheck.source.eval.memory import alignments, size_bytes

    if field_stands(m, cls, decl):
        return _POINTER, _POINTER, _POINTER
    t: Value = m.eval(decl.type, cls.env) if decl.type is not None else Unknown("untyped member", span)
    own = ClassLayout()
    if not cls.decl.packed:
        own.aligned(*alignments(m, t, span))
    if decl.alignas_ is not None:
        own.aligned(*_asked(m, decl.alignas_, cls))
    size = size_bytes(m, t, span)
    return (int(size) if isinstance(size, int) else size), own.align, own.most


def _asked(m: Machine, alignas: ir.Expr, cls: ClassInst) -> tuple[int, int | Unknown]:
    from cutecheck.source.eval.memory import alignments

    asked = m.eval(alignas, cls.env)
    return alignments(m, asked, alignas.span) if is_type(asked) else _number(asked)


def _number(asked: Value) -> tuple[int, int | Unknown]:
    """The alignment that somebody asks for, twice."""
    found = constant(asked)
    return (
        (1, asked if isinstance(asked, Unknown) else Unknown("an alignment"))
        if found is None
        else (found or 1, found or 1)
    )


def _rounded(n: Int | Unknown, align: int, most: int | Unknown, span: Span) -> Int | Unknown:
    """The next multiple of an alignment that is between these."""
    if isinstance(n, Unknown) or (isinstance(n, int) and n == 0):
        return n
    if isinstance(most, Unknown):
        return most
    least, largest = ((n + a - 1) // a * a if a > 1 else n for a in (align, most))
    return least if align == most or least == largest else Unknown("which depends on CUDA's version", span)


def _start(made: ClassLayout, align: int, most: int | Unknown, span: Span) -> Int | Unknown:
    """Where the next member is."""
    if made.limit:
        align, most = min(align, made.limit), most if isinstance(most, Unknown) else min(most, made.limit)
    return _rounded(made.end, align, most, span)


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
