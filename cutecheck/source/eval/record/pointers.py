"""The pointers that values are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cutecheck.source.eval.values import Address, Object, Pointer, Reference, TensorVal, Zipped


def pointers(values: Iterable[object]) -> Iterator[Pointer]:
    """Those of values, and of what they are made of: tuples, and members of objects."""
    stack, seen = list(values), set[int]()
    while stack:
        at = stack.pop()
        if isinstance(at, Pointer):
            yield at
        elif isinstance(at, TensorVal):
            stack.append(at.pointer)
        elif isinstance(at, Zipped):
            stack.extend(at.parts)
        elif isinstance(at, (tuple, list, set, frozenset)):
            stack.extend(at)
        elif isinstance(at, dict):
            stack.extend(at.values())
        elif isinstance(at, (Address, Reference)) and id(at) not in seen:
            seen.add(id(at))
            stack.extend(held.get(name) for held, name in at.cells if isinstance(held, dict))
        elif isinstance(at, Object) and id(at) not in seen:
            seen.add(id(at))
            stack.append(at.pointer)
            stack.extend(at.fields.values())
        elif hasattr(at, "fn") and hasattr(at, "kwargs"):  # what a ``partial`` is given
            stack.extend((*at.args, *(value for _, value in at.kwargs)))  # type: ignore[attr-defined]
        elif isinstance(getattr(at, "fields", None), dict) and id(at) not in seen:  # a namespace of the DSL's host
            seen.add(id(at))
            stack.extend(at.fields.values())  # type: ignore[attr-defined]
