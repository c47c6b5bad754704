"""What a program adds to the DSL's class of tensors, of which no source is run: ``_Tensor.clone = ...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.source.dsl import modules
from cutecheck.source.dsl.values import NONE, BuiltinType, Partial
from cutecheck.source.eval.values import Closure, Extern, FuncSet, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_TENSORS = ("cutlass.cute.tensor._Tensor", "cutlass.cute.tensor.Tensor")


def of_class(m: Machine, base: Value) -> dict[str, Value] | None:
    """What was set on a class, by name, where it is the class of tensors."""
    name = base.what if isinstance(base, Extern) else base.name if isinstance(base, BuiltinType) else ""
    return modules.patched(m, _TENSORS[0]) if name == "Tensor" or name in _TENSORS else None


def on_class(m: Machine, base: Value, name: str) -> Value | None:
    """An attribute of the class that a program has set, or all of them; None where it did not."""
    own = of_class(m, base)
    if own is None:
        return None
    if name == "__dict__":
        return own
    return None if name not in own else NONE if own[name] is None else own[name]


def on_tensor(m: Machine, tensor: Value, name: str) -> Value | None:
    """A method or constant of all tensors that a program has set; None where it did not."""
    own = modules.patched(m, _TENSORS[0])
    if name not in own:
        return None
    found = own[name]
    return Partial(found, (tensor,), ()) if isinstance(found, (FuncSet, Closure, Partial)) else found
