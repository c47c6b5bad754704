"""What is supposed of the arguments of a call: ranks, extents, element types, numbers, words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from cutecheck.model.dtype import DType, dtype
from cutecheck.source.dsl.host_tensors import as_dynamic
from cutecheck.source.dsl.torch_shapes import compact
from cutecheck.source.dsl.values import HostTensor, TorchType
from cutecheck.source.eval import ir
from cutecheck.source.eval.intrinsics.dsl_show import NAMES
from cutecheck.source.eval.values import Extern, Scalar, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.facts import Span
    from cutecheck.source.eval.machine import Machine

EXTENT = (
    4096  # of each mode, until something refuses it: all equal, as whatever must agree with something else then does
)
ELEMENT = "bfloat16_t"
ALIGNED = 16  # bytes at which a tensor of torch starts at least
UNTOLD = ""  # a text of which nothing says what it may be, until the program refuses it
_RANK = 2

Sort = Literal[
    "tensor", "cute", "dtype", "type", "int", "bool", "float", "str", "none", "stream", "tuple", "default", "unclear"
]
Key = tuple[str, str | int]  # a parameter, and what of it: "rank", "dtype", "order", "value", "is", or a mode


@dataclass(frozen=True, slots=True)
class Wanted:
    """One parameter: what it takes; ``optional``: None, too; ``words`` are the values that its type lists."""

    name: str
    sort: Sort
    optional: bool = False
    words: tuple[Value, ...] = ()
    count: int = 0  # of a tuple
    rank: int = 0  # of a tensor, where its function says so
    default: bool | None = None  # of a flag that need not be given
    kind: ir.Expr | None = None  # a type that is none of the DSL's, of Python's or of torch's


@dataclass(frozen=True, slots=True)
class Guess:
    """One set of suppositions. What is in no table is as :func:`value` has it; ``full``: optional ones are given."""

    told: tuple[tuple[Key, Value], ...] = ()
    element: str = ELEMENT
    extent: int = EXTENT
    full: bool = False
    flipped: bool = False  # flags are the other way round
    blind: bool = False  # some of it was tried for want of anything better

    def get(self, key: Key, default: Value) -> Value:
        return next((v for k, v in self.told if k == key), default)

    def but(self, *told: tuple[Key, Value]) -> Guess:
        """The guess with these instead."""
        keys = {k for k, _ in told}
        kept = (t for t in self.told if t[0] not in keys)
        return replace(self, told=tuple(sorted((*kept, *told), key=lambda t: (t[0][0], str(t[0][1])))))


@dataclass(slots=True)
class Given:
    """The values that were made of a guess, by what they are of: told by identity, as each is an object of its own."""

    guess: Guess
    tensors: dict[int, tuple[str, Value]] = field(default_factory=dict)  # tensors of the host, and their shapes
    numbers: dict[int, tuple[Key, int]] = field(default_factory=dict)
    elements: dict[int, tuple[Key, Value]] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)

    def number(self, key: Key, value: int) -> int:
        """This number as an object that no other is."""
        made = int(str(value))
        self.numbers[id(made)] = (key, made)
        return made


def value(m: Machine, given: Given, p: Wanted, span: Span) -> Value:
    """What a parameter is given; raises LookupError where nothing says what it takes."""
    guess = given.guess
    absent = p.optional and not guess.get((p.name, "is"), guess.full and p.sort not in ("str", "unclear"))
    if p.sort == "none" or absent:
        given.shown[p.name] = "None"
        return None
    if p.sort in ("tensor", "cute"):
        return _tensor(m, given, p)
    if p.sort in ("dtype", "type"):
        kind = _element(guess.get((p.name, "dtype"), guess.element))
        made: Value = TorchType(kind) if p.sort == "dtype" else ScalarType(kind)
        given.elements[id(made)] = ((p.name, "dtype"), made)
        given.shown[p.name] = _spelled(kind)
        return made
    if p.sort == "stream":
        return Extern("a stream", span)
    found = _plain(given, p)
    given.shown[p.name] = repr(found) if not isinstance(found, Scalar) else "..."
    return found


def _plain(given: Given, p: Wanted) -> Value:
    known = given.guess.get((p.name, "value"), _UNSAID)
    if p.sort == "float":
        return Scalar(None, "float")
    if known is _UNSAID:
        known = p.words[0] if p.words else _usual(p, given.guess)
    if p.sort == "int" and isinstance(known, int):
        return given.number((p.name, "value"), known)
    return known


_UNSAID = object()
_USUAL = (("stage", 2), ("warp", 4), ("thread", 256), ("cluster", 1), ("split", 1), ("tile", 128), ("block", 128),
          ("dim", 128))  # fmt: skip


def _usual(p: Wanted, guess: Guess) -> Value:
    """A number that is common for what a parameter is called."""
    if p.sort == "bool":
        return bool(p.default) is not guess.flipped
    if p.sort == "str":
        return UNTOLD
    word = p.name.lower()
    common = next(
        (n for part, n in _USUAL if part in word), guess.extent if len(word) == 1 and p.name.isupper() else 128
    )
    if p.sort == "int":
        return common
    if p.sort == "tuple" and p.count:
        return tuple(64 if common == 128 and i == 2 else common for i in range(p.count))
    raise LookupError(f"nothing says what `{p.name}` takes")


def _tensor(m: Machine, given: Given, p: Wanted) -> Value:
    guess = given.guess
    rank = guess.get((p.name, "rank"), p.rank or _RANK)
    given.ranks[p.name] = rank
    extents = tuple(
        given.number((p.name, i), guess.get((p.name, i), guess.get(("", f"{rank}.{i}"), guess.extent)))
        for i in range(rank)
    )
    at = guess.get((p.name, "order"), rank - 1)
    order = [i for i in range(rank) if i != at] + ([at] if rank else [])
    strides = compact(tuple(extents[i] for i in order))
    by_mode = dict(zip(order, strides, strict=True))
    kind = TorchType(_element(guess.get((p.name, "dtype"), guess.element)))
    given.elements[id(kind)] = ((p.name, "dtype"), kind)
    made = HostTensor(extents, tuple(by_mode[i] for i in range(rank)), kind)
    given.tensors[id(made)] = (p.name, made)
    given.tensors[id(made.shape)] = (p.name, made.shape)
    parts = [*map(str, extents), _spelled(kind.dtype)]
    parts += [f"stride 1 of mode {at}"] if rank > 1 and at != rank - 1 else []
    given.shown[p.name] = f"Tensor({', '.join(parts)})"
    if p.sort == "tensor":
        return made
    cute = as_dynamic(m, made)
    cute.align = ALIGNED
    return cute


def _element(name: str) -> DType:
    found = dtype(name)
    assert found is not None
    return found


def _spelled(kind: DType) -> str:
    return NAMES[kind.name][0] if kind.name in NAMES else kind.name


__all__ = ["EXTENT", "Given", "Guess", "Key", "Wanted", "value"]
