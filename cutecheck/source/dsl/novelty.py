"""Configurations of a kernel that differ from those walked before in numbers alone: of many, the last are left out.

The tests of a kernel launch it in hundreds of configurations, and a file has so many steps. Once a kernel has had a
third of them, and all kernels half, it is walked in those configurations that have something none before had: a class,
an element type, a flag or word that is another, something that was None or was not, a 0 or 1 where there was more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span
from cutecheck.model.algebra.structure import rank
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.dsl import modules
from cutecheck.source.dsl.values import HostCute, HostTensor, Module
from cutecheck.source.eval import calls
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.values import Closure, FuncSet, Object, Pointer, ScalarType, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval import ir
    from cutecheck.source.eval.machine import Machine

_MOST = 5_000  # parts of one configuration
_DEEP = 10
_WORD = 16  # letters: what is longer is a name that something was made under
_FEW = 2  # numbers that say whether there is something, or several
_OF_A_KERNEL = 3  # share of the steps of a file
_OF_A_FILE = 2

Feature = tuple[tuple[Hashable, ...], Hashable]


def is_left_out(m: Machine, entry: Entry, values: Iterable[Value]) -> bool:
    """Whether a launch differs from those of the kernel before in numbers alone, and these took many steps."""
    state, decl = modules.state(m), entry.decl
    known: set[Feature] = state.setdefault("features", {}).setdefault(id(decl), set())
    found = set(_features(values))
    nothing_new = found <= known
    known |= found
    most = m.budget.limits.steps_per_root
    spent = state.get("steps of kernels", {}).get(id(decl), 0)
    if not nothing_new or _OF_A_KERNEL * spent < most or _OF_A_FILE * (m.budget.total + m.budget.used) < most:
        return False
    leave_out(m, calls.instance_symbol(entry, decl, ()))
    return True


def leave_out(m: Machine, what: str) -> None:
    """A configuration of this kernel, or the rest of this root, is not walked."""
    dropped(m)[what] = dropped(m).get(what, 0) + 1


def spent(m: Machine, decl: ir.Function, steps: int) -> None:
    """A walk of the kernel took so many steps."""
    table: dict[int, int] = modules.state(m).setdefault("steps of kernels", {})
    table[id(decl)] = table.get(id(decl), 0) + steps


def dropped(m: Machine) -> dict[str, int]:
    """Kernels and roots, and how many of their configurations were left out."""
    found: dict[str, int] = modules.state(m).setdefault("left out", {})
    return found


def _features(values: Iterable[Value]) -> Iterator[Feature]:
    """What tells configurations apart, each with the way to it."""
    todo: list[tuple[tuple[Hashable, ...], Value]] = [((i,), v) for i, v in enumerate(values)]
    met: set[int] = set()
    count = 0
    while todo and count < _MOST:
        count += 1
        at, v = todo.pop()
        yield at, _told(v)
        if len(at) > _DEEP:
            continue
        if isinstance(v, (tuple, list)):
            todo += [((*at, i), x) for i, x in enumerate(v)]
        elif isinstance(v, dict):
            todo += [((*at, k), x) for k, x in v.items() if isinstance(k, (str, int))]
        elif isinstance(v, Object):
            if id(v) not in met:
                met.add(id(v))
                todo += [((*at, k), x) for k, x in v.fields.items()]
        elif isinstance(v, FuncSet):
            todo.append(((*at, "self"), v.self_))
        elif is_dataclass(v) and not isinstance(v, (type, *_WHOLE)):
            todo += [((*at, f.name), getattr(v, f.name)) for f in fields(v)]


_WHOLE = (
    Closure, ClassInst, ComposedLayout, Env, HostCute, HostTensor, Layout, Module, Pointer, ScalarType, Span, TensorVal,
)  # fmt: skip


def _told(v: Value) -> Hashable:
    if v is None or isinstance(v, bool):
        return v
    if isinstance(v, int):
        return ("int", max(-1, min(v, _FEW)))
    if isinstance(v, str):
        return v if len(v) <= _WORD else "a long word"
    if isinstance(v, (Object, ClassInst)):
        return id((v.cls if isinstance(v, Object) else v).decl)
    if isinstance(v, FuncSet):
        return tuple(id(e.decl) for e in v.entries)
    if isinstance(v, Closure):
        return id(v.node)
    if isinstance(v, ScalarType):
        return v.dtype.name
    if isinstance(v, (TensorVal, HostCute, HostTensor)):
        kind: Any = v.dtype
        dtype = kind.dtype if isinstance(kind, ScalarType) else kind
        return (type(v).__name__, getattr(dtype, "name", None), _modes(v))
    if isinstance(v, (Layout, ComposedLayout)):
        return type(v).__name__
    if isinstance(v, (tuple, list, dict)):
        return (type(v).__name__, len(v))
    name = getattr(v, "name", None)
    return (type(v).__name__, name if isinstance(name, str) and len(name) <= _WORD else None)


def _modes(v: TensorVal | HostCute | HostTensor) -> int:
    shape = v.layout.shape if isinstance(v, TensorVal) and isinstance(v.layout, Layout) else getattr(v, "shape", ())
    return rank(shape) if isinstance(shape, tuple) else 1


__all__ = ["dropped", "is_left_out", "leave_out", "spent"]
