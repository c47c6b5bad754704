"""The one table of names that the evaluator knows: CuTe's functions and types by their canonical names.

Front ends of any language end here: they resolve a spelling to a name of this table and pass normalised arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span
from cutecheck.source.eval.values import Value, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


class Unsupported(Exception):
    """An intrinsic does not model these operands; the message goes into the Unknown."""


@dataclass(slots=True)
class Call:
    """One call of an intrinsic: ``args`` in CuTe's terms (static ``int``, ``Dyn``, tuples, layouts ...)."""

    m: Machine
    name: str
    targs: tuple[Value, ...]
    args: list[Value]
    span: Span
    kwargs: dict[str, Value] = field(default_factory=dict)
    raw: list[Value] = field(default_factory=list)
    refused: Value = None  # why C++ CuTe would not take what the DSL takes

    def ints(self) -> tuple[int, ...]:
        """The template arguments as numbers (``size<0, 1>``)."""
        out = []
        for t in self.targs:
            n = constant(t.value if hasattr(t, "value") and not hasattr(t, "ctype") else t)
            if n is None:
                raise Unsupported(f"a template argument of `{self.name}` is not a known number")
            out.append(n)
        return tuple(out)

    def arg(self, position: int) -> Value:
        if position >= len(self.args):
            raise Unsupported(f"`{self.name}` takes more arguments than {len(self.args)}")
        return self.args[position]


Function = Callable[[Call], Value]
TypeMaker = Callable[["Machine", tuple[Value, ...], Span], Value]

FUNCTIONS: dict[str, Function] = {}
TOLERANT: set[str] = set()  # called even with Unknown arguments
CONFIGURING: set[str] = set()  # results are configuration sites
TYPES: dict[str, TypeMaker] = {}
KEEP_QUALIFIERS: set[str] = set()  # types made of types with their qualifiers and references
GIVES_TYPE: set[str] = set()  # traits whose member `type` is what they are evaluated to; there is one with `_t`, too
# elements of PyTorch's tensors that are classes, in at::, c10:: and torch::
TORCH_TYPES = frozenset({"Half", "BFloat16", "Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz"})
CONCEPTS: set[str] = set()  # of these the concepts of the standard library
CONSTANTS: dict[str, Any] = {}
METHODS: dict[tuple[str, str], Function] = {}  # (kind of value, name)


def function(*names: str, tolerant: bool = False, configuring: bool = False) -> Callable[[Function], Function]:
    def register(f: Function) -> Function:
        for name in names:
            FUNCTIONS[name] = f
            if tolerant:
                TOLERANT.add(name)
            if configuring:
                CONFIGURING.add(name)
        return f

    return register


def type_maker(*names: str, qualified: bool = False) -> Callable[[TypeMaker], TypeMaker]:
    def register(f: TypeMaker) -> TypeMaker:
        for name in names:
            TYPES[name] = f
        if qualified:
            KEEP_QUALIFIERS.update(names)
        GIVES_TYPE.update(n for n in names if f"{n}_t" in names)
        return f

    return register


def method_of(kind: str, *names: str) -> Callable[[Function], Function]:
    """A method; the value itself is the first argument."""

    def register(f: Function) -> Function:
        for name in names:
            METHODS[(kind, name)] = f
        return f

    return register
