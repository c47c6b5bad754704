"""Values of Python programs that the evaluator's own classes do not cover."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from cutecheck.records import record
from cutecheck.source.eval.intrinsics.dsl_ops import OpValue
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.values import FuncSet, Object, ScalarType, Value


@record(frozen=True, slots=True)
class Module:
    """A Python module by its dotted name: of the tree or of a library read as source, or known by name only."""

    name: str


Table = dict[Any, Value]


class Distinct(list[Value]):
    """A set: its items in the order they came."""


class Iterated(list[Value]):
    """An iterator: the items that it has still to give; ``result`` is what a generator returns after them."""

    result: Value = None


class Environment(dict[Any, Value]):
    """``os.environ`` of a run without variables for the program: what it sets itself."""


class Deque(list[Value]):
    """``collections.deque``: ``most`` items, None for any number."""

    __slots__ = ("most",)

    def __init__(self, items: Iterable[Value] = (), most: int | None = None) -> None:
        super().__init__(items)
        self.most = most


class Defaults(dict[Any, Value]):
    """``collections.defaultdict``: what makes the value of a key that is missing; ``counts``: a ``Counter``."""

    __slots__ = ("counts", "factory")

    def __init__(self, factory: Value = None, items: Table | None = None, counts: bool = False) -> None:
        super().__init__(items or {})
        self.factory, self.counts = factory, counts


@record(frozen=True, slots=True)
class Builtin:
    """A function or method of Python or its libraries, by name; ``self_`` for a method."""

    name: str
    self_: Value = field(default=None, hash=False)


SPREAD = Builtin("spread")  # stands for the unknown items of ``*x`` in an index
NONE = Builtin("None")  # stands for the value None where None says that there is nothing


@record(frozen=True, slots=True)
class BuiltinType:
    """``int``, ``str``, ``tuple`` ... and markers such as ``Enum`` or ``cute.Tensor``."""

    name: str


@record(frozen=True, slots=True)
class Enumerator:
    """A member of an enumeration of the tree."""

    cls: ClassInst
    name: str
    value: Value = field(default=None, hash=False, compare=False)


@record(frozen=True, slots=True)
class TmaAtom:
    """The atom of a TMA descriptor: its operation, and CuTe's atom with the box where that is modelled."""

    op: Value
    atom: Value = field(default=None, hash=False)


@record(frozen=True, slots=True)
class TmaInfo:
    """What makes a TMA descriptor: the atom, the tensor of coordinates, the shared-memory layout; unpacks to two."""

    atom: TmaAtom
    tma_tensor: Value = field(hash=False)
    smem_layout: Value = field(default=None, hash=False)


@record(frozen=True, slots=True)
class KernelCall:
    """``kernel(args)`` before ``.launch(...)``."""

    function: FuncSet
    args: tuple[Value, ...] = field(hash=False)
    kwargs: tuple[tuple[str, Value], ...] = field(hash=False)


@record(frozen=True, slots=True)
class Super:
    """``super()`` in a method of ``cls``."""

    obj: Object | ClassInst
    cls: ClassInst


@record(frozen=True, slots=True)
class RunTimeRange:
    """The iterations of a loop that runs on the device; ``unrolled``: the compiler writes them one after the other."""

    start: Any
    stop: Any
    step: Any
    unrolled: bool = False


@record(frozen=True, slots=True)
class TorchType(ScalarType):
    """An element type of the host (``torch.float16``), which is not equal to the DSL's (``cutlass.Float16``)."""


@record(frozen=True, slots=True)
class HostTensor:
    """A torch, NumPy, CuPy or JAX array: shape and strides in elements."""

    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    dtype: Value

    def __post_init__(self) -> None:
        if self.dtype.__class__ is ScalarType:
            object.__setattr__(self, "dtype", TorchType(self.dtype.dtype))

    @property
    def element_type(self) -> Value:
        """The same type as the DSL names it."""
        return ScalarType(self.dtype.dtype) if isinstance(self.dtype, TorchType) else self.dtype


@dataclass(eq=False, slots=True)
class HostCute:
    """A CuTe tensor made on the host (``from_dlpack``, ``make_fake_tensor``); its marks change it in place."""

    shape: tuple[Any, ...]
    stride: tuple[Any, ...]
    dtype: Value
    align: int | None = None
    concrete: tuple[Any, ...] = ()  # strides of the data
    extents: tuple[Any, ...] = ()  # of the data: what its shape is for host code, whatever is marked
    name: str = ""  # of what it is made of, where the source has one


@record(frozen=True, slots=True)
class Partial:
    """``functools.partial(fn, *args, **kwargs)``."""

    fn: Value = field(hash=False)
    args: tuple[Value, ...] = field(hash=False)
    kwargs: tuple[tuple[str, Value], ...] = field(hash=False)


@record(frozen=True, slots=True)
class Property:
    """``property(get, put)``: a member of a class that is asked and written by functions."""

    get: Value = field(hash=False)
    put: Value = field(default=None, hash=False)


@record(frozen=True, slots=True)
class Dispatch:
    """A function of ``singledispatch``: others by the class of the first argument; ``self_`` for a method."""

    default: Value = field(hash=False)
    table: dict[Any, Value] = field(hash=False)
    self_: Value = field(default=None, hash=False)


@record(frozen=True, slots=True)
class Manager:
    """A call of a function that ``contextlib.contextmanager`` decorates, before ``with`` enters it."""

    fn: FuncSet = field(hash=False)
    args: tuple[Value, ...] = field(hash=False)
    kwargs: tuple[tuple[str, Value], ...] = field(hash=False)


@dataclass(eq=False, slots=True)
class Sink:
    """What takes the values that a function yields."""

    put: Callable[[Value], None]


@record(frozen=True, slots=True)
class TextMatch:
    """What a regular expression found: all of it and its groups, those with names, and where."""

    groups: tuple[str | None, ...]
    names: tuple[tuple[str, str | None], ...]
    at: tuple[int, int]


@record(frozen=True, slots=True)
class Compiled:
    """The result of ``cute.compile``."""

    fn: Value = field(hash=False)


@dataclass(eq=False, slots=True)
class Namespace:
    """An object with attributes only: ``argparse`` results, ``types.SimpleNamespace``."""

    fields: dict[str, Value]


@dataclass(eq=False, slots=True)
class Parser:
    """``argparse.ArgumentParser``: what ``add_argument`` collected."""

    fields: dict[str, Value]


__all__ = [
    "NONE",
    "Builtin",
    "BuiltinType",
    "ClassInst",
    "Compiled",
    "Distinct",
    "Enumerator",
    "Env",
    "HostCute",
    "HostTensor",
    "KernelCall",
    "Module",
    "Namespace",
    "OpValue",
    "Parser",
    "Partial",
    "RunTimeRange",
    "Super",
    "TmaAtom",
    "TmaInfo",
]  # fmt: skip
