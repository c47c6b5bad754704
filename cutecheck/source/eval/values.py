"""Values the evaluator computes with.

Static integers, tuples, layouts, atoms and tiled objects are the model's own values. The classes here are what a
program needs besides: scalars of the scanned language, types, pointers, tensors, objects and callables.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from cutecheck.facts import Provenance, Space, Span, Unknown
from cutecheck.model.constants import Constant
from cutecheck.model.dtype import DType
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.model.layout import AnyLayout
from cutecheck.records import record
from cutecheck.source.eval.held_fields import Fields

if TYPE_CHECKING:
    from cutecheck.source.eval import ir
    from cutecheck.source.eval.scope import ClassInst, Entry, Env

# Any of: model values, the classes below, ClassInst, Unknown, and for the DSL plain Python scalars and containers.
Value: TypeAlias = Any


@record(frozen=True, slots=True)
class Scalar:
    """A scalar of the scanned language: a number whose C++ type is ``ctype``.

    ``value``: an ``int`` or ``Sym`` is a constant expression, a ``Dyn`` is known at run time only, None a float
    (or another scalar) that is not tracked. ``bool`` is 0 or 1.
    """

    value: Int | float | None
    ctype: str = "int"


@record(frozen=True, slots=True)
class Shared(Scalar):
    """A scalar that is not tracked and that is the same in all threads; ``of`` tells it from others."""

    of: str = ""


@record(frozen=True, slots=True)
class Null(Scalar):
    """A pointer of a type that is null."""

    to: Value = None  # what it would point to


@record(frozen=True, slots=True)
class Enumeral(Scalar):
    """One of an enumeration's values, as the integer that it is kept as: which one is not known."""

    enum: Any = None


def null(to: Value) -> Null:
    return Null(0, "nullptr_t", to)


def is_zero(v: Value) -> bool:
    """``nullptr``, or a constant that a pointer may be made of."""
    return isinstance(v, Scalar) and (v.ctype == "nullptr_t" or (isinstance(v.value, int) and v.value == 0))


@record(frozen=True, slots=True)
class ScalarType:
    """An arithmetic or element type."""

    dtype: DType


@record(frozen=True, slots=True)
class ValueType:
    """The type of a CuTe value: ``decltype(v)``. Static parts of the value are parts of the type."""

    value: Value


@record(frozen=True, slots=True)
class PtrType:
    inner: Value


@record(frozen=True, slots=True)
class Qualified:
    """A type with qualifiers, which template arguments alone keep; ``None`` where one of them is not known.

    ``inner`` has none itself; of a reference ``const`` is of what it refers to.
    """

    inner: Value
    const: bool | None = False
    volatile: bool = False
    ref: str | None = ""  # "ref" or "rref"


@record(frozen=True, slots=True)
class ArrayType:
    """``T[n]``, ``cute::array<T, n>``, ``array_aligned<T, n, align>``: ``align`` in bytes, None the element's own.

    ``name`` is the class template's, empty for a plain array.
    """

    inner: Value
    extent: Int | Unknown
    align: int | None = None
    name: str = ""


@record(frozen=True, slots=True)
class VoidType:
    pass


@record(frozen=True, slots=True)
class ExternType:
    """A class that is not in the tree and that the evaluator does not model."""

    name: str
    args: tuple[Value, ...] = ()


TYPE_TAG = "type_identity"  # of the standard library: a class whose member ``type`` is its argument
TMA_DESCRIPTOR = "CUtensorMap"  # of the driver's header; CuTe's names for it mean this type
LAUNCH_ATTRIBUTE = "cudaLaunchAttribute"


@record(frozen=True, slots=True)
class TraitType:
    """A type trait: members ``type`` and ``value``."""

    type: Value = None
    value: Value = None


@record(frozen=True, slots=True)
class CuteOp:
    """An operation tag of CuTe (``SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>``), or its traits when ``traits``."""

    name: str
    args: tuple[Value, ...] = ()
    traits: str = ""


@record(frozen=True, slots=True)
class Tag:
    """An empty tag value of a library (``LayoutRight``, ``cute::false_type`` has none); printed by its name."""

    name: str


@record(frozen=True, slots=True)
class TemplateRef:
    """The name of a class or alias template, not applied: entries of the tree, or an intrinsic's name."""

    name: str
    entries: tuple[Entry, ...] = ()


@record(frozen=True, slots=True)
class EnumVal:
    """An enumerator, or another value of its type; ``ctype``: the type of its promotion, ``of``: its enumeration."""

    enum: str
    name: str
    value: int | None
    ctype: str = "int"
    of: Any = field(default=None, compare=False)


class EnumConstant(Constant):
    """``std::integral_constant<E, E::a>{}``: a static integer that has its enumerator."""

    enumerator: EnumVal

    @staticmethod
    def of(enumerator: EnumVal, family: str) -> EnumConstant:
        made = EnumConstant(enumerator.value or 0)
        made.ctype, made.enumerator, made.family = enumerator.ctype, enumerator, family
        return made


class Enumerated(Dyn):
    """An enumerator in a tuple, where it is a run-time integer; equal to one."""

    __slots__ = ("enumerator",)
    enumerator: EnumVal

    def __init__(self, enumerator: EnumVal) -> None:
        super().__init__(Dyn.of(enumerator.value or 0).expr)
        object.__setattr__(self, "enumerator", enumerator)

    def __eq__(self, other: object) -> bool:
        return self.expr == other.expr if isinstance(other, Dyn) else NotImplemented

    def __hash__(self) -> int:
        return super().__hash__()

    def __reduce__(self) -> tuple[type[Dyn], tuple[Any]]:
        return Dyn, (self.expr,)  # facts say nothing of it


@record(frozen=True, slots=True)
class Pack:
    items: tuple[Value, ...]


@record(frozen=True, slots=True)
class Str:
    """A string of the scanned program that is not data of interest."""

    text: str


@record(frozen=True, slots=True)
class Pointer:
    """A pointer or iterator: ``offset`` in elements of ``dtype`` from the start of ``buffer`` (a buffer id).

    ``align`` is the alignment in bytes that is known of the address ``buffer + offset == 0``; ``type`` the pointee.
    ``swizzled``: a byte swizzle carried by the pointer type.
    """

    buffer: str
    space: Space
    type: Value
    offset: Int | Unknown = 0
    align: int | None = None
    swizzle: object | None = None


@record(frozen=True, slots=True)
class TensorVal:
    """A CuTe tensor. ``pointer`` is None for coordinate tensors, whose ``offset`` is a coordinate."""

    layout: AnyLayout | Unknown
    pointer: Pointer | None
    space: Space
    dtype: DType | None
    offset: Any = 0
    provenance: Provenance = "view"
    source: Value = None
    root: AnyLayout | None = None
    name: str = ""
    tile: AnyLayout | None = None  # the layout that a tiled object partitioned
    thread: Int | None = None  # the index of its thread slice
    start: tuple[Any, int] | None = None  # of ``root``: bits from the pointer to its first element, bits of an element
    past: tuple[int, int] | None = None  # of a run pass by pass: a coordinate, and the extent that has no such one

    def begins(self) -> tuple[Any, int] | None:
        """Of the whole tensor: bits from the pointer to its first element, bits of an element; None where not known."""
        if self.root is not None:
            return self.start
        if not isinstance(self.offset, (int, Dyn, Sym)) or self.dtype is None or not self.dtype.bits:
            return None
        return self.offset * int(self.dtype.bits), int(self.dtype.bits)

    def derive(
        self, layout: AnyLayout | Unknown, offset: Any, provenance: Provenance, source: Value = None
    ) -> TensorVal:
        return replace(
            self,
            layout=layout,
            offset=offset,
            provenance=provenance,
            source=source if source is not None else self.source,
            root=self.root if self.root is not None else (None if isinstance(self.layout, Unknown) else self.layout),
            start=self.begins(),
        )


@record(frozen=True, slots=True)
class Zipped:
    """``make_zip_tensor(a, scales)``: tensors that one coordinate indexes; an MMA's operand is the first of them."""

    parts: tuple[TensorVal, ...]


@record(frozen=True, slots=True)
class Slice:
    """``tiled.get_slice(index)``: a ThrCopy or ThrMMA."""

    tiled: Value
    index: Value


@record(frozen=True, slots=True)
class Tiler:
    """A ``TV_Tiler``: a layout of threads and values over a tile."""

    layout_tv: Value
    tiler_mn: Value


@dataclass(eq=False, slots=True)
class Object:
    """An instance of a class of the tree. Fields are set through the journal only."""

    cls: ClassInst
    fields: dict[str, Value] = field(default_factory=dict)
    pointer: Pointer | None = None  # a view of memory, for shared-storage structs
    name: str = ""
    initial: dict[str, Value] = field(default_factory=dict)  # of fields: what they hold from the start, in copies too
    zeroed: bool = False  # members that nothing else initialises are zeros (`T{}`)

    def __post_init__(self) -> None:
        if not isinstance(self.fields, Fields):
            self.fields = Fields(self.fields)

    def __str__(self) -> str:
        return self.cls.name


@record(frozen=True, slots=True)
class FuncSet:
    """Overloads of a function of the tree, perhaps bound to an object and explicit template arguments."""

    name: str
    entries: tuple[Entry, ...]
    self_: Object | None = None
    cls: ClassInst | None = None
    targs: tuple[Value, ...] | None = None


@record(frozen=True, slots=True)
class Intrinsic:
    """A function of CuTe (or the standard library) that the evaluator knows; ``self_`` for a method."""

    name: str
    targs: tuple[Value, ...] | None = None
    self_: Value = None


@dataclass(eq=False, slots=True)
class Closure:
    """A lambda; ``own``: the innermost frame of its scope holds copies of what it captured.

    ``targs``: template arguments of its operator that are written out.
    """

    node: ir.Lambda
    env: Env
    own: bool = False
    targs: tuple[Value, ...] = ()
    called: bool = False  # outside of rehearsals

    def takes(self, count: int) -> bool:
        """Whether it may be called with so many arguments."""
        params = self.node.params
        if any(p.pack or p.kind != "normal" for p in params):
            return True
        return sum(p.default is None for p in params) <= count <= len(params)


VARIANT = "std::variant"
TAKES_OTHERS = "a lambda that does not take"  # how the reason of a call begins that no program makes

Cell = tuple[dict[Any, Any], Any]  # of variables or fields, and a name


@dataclass(eq=False, slots=True)
class Reference:
    """What a variable or field of reference type holds: the cells it stands for, one of them if there are several."""

    cells: tuple[Cell, ...]


@dataclass(eq=False, slots=True)
class Address:
    """A pointer to a variable or field."""

    cells: tuple[Cell, ...]


@dataclass(eq=False, slots=True)
class ObjectPointer:
    """A pointer to an object that is a variable, a member or ``this``."""

    to: Object


@record(frozen=True, slots=True)
class Bound:
    """Alternatives of a value after a join: one a guard."""

    alternatives: tuple[tuple[str, Value], ...]


@record(frozen=True, slots=True)
class Extern:
    """A value of a type outside the tree, with the expression it came from."""

    what: str
    span: Span | None = None
    type: Value = None


class SubstitutionFailure(Exception):
    """A template argument that removes an overload (``enable_if``)."""


class BudgetExceeded(Exception):
    """The evaluation of one root used its budget; the message names the limit."""


def is_variant(type_: Value) -> TypeGuard[ExternType]:
    return isinstance(type_, ExternType) and type_.name == VARIANT


def is_unknown(v: Value) -> bool:
    return isinstance(v, Unknown)


def constant(v: Value) -> int | None:
    """The number behind a constant expression or static integer, else None."""
    if isinstance(v, bool):
        return int(v)
    if isinstance(v, int):
        return v
    if isinstance(v, Scalar):
        if isinstance(v.value, int):
            return v.value
        if isinstance(v.value, Dyn):
            return v.value.value
    if isinstance(v, EnumVal):
        return v.value
    if isinstance(v, Dyn):
        return v.value
    return None
