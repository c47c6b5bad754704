"""Values of one type: layouts, atoms and copies that differ in run-time integers alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from cutecheck.model.identity import once
from cutecheck.model.ints import Dyn, Int
from cutecheck.model.tiled.tensor_map import TensorMap
from cutecheck.records import field_names, record

Leaf = Callable[[Sequence[Int], str], Int]


class _Apart(Exception):
    """The values are of different types."""


def alike(values: Sequence[Any], leaf: Leaf, name: str, whole: bool = False) -> Any | None:
    """A value of the type that all have: ``leaf`` of the run-time integers that differ, all else as it is.

    A variable has one type, and what is static of its value is part of that. ``whole``: ``leaf`` of every run-time
    integer. None for values that are not of one such type.
    """
    if not all(map(_is_model, values)):
        return None
    try:
        return _Meeting(leaf, whole).of(values, name)
    except _Apart:
        return None


def _is_model(value: Any) -> bool:
    return is_dataclass(value) and type(value).__module__.startswith("cutecheck.model.")


def _is_static(value: Any) -> bool:
    """Whether no run-time integer is in a value of the model, or in a part of one."""
    if isinstance(value, tuple):
        return all(map(_is_static, value))
    return not isinstance(value, Dyn) and (not _is_model(value) or _parts_are_static(value))


@once
def _parts_are_static(value: Any) -> bool:
    return all(_is_static(getattr(value, field)) for field in field_names(type(value)))


@record(frozen=True, slots=True)
class _Meeting:
    leaf: Leaf
    whole: bool

    def of(self, values: Sequence[Any], name: str) -> Any:
        first = values[0]
        same = all(v is first or (type(v) is type(first) and v == first) for v in values)
        if same and (not self.whole or _is_static(first)):
            return first
        if all(isinstance(v, Dyn) for v in values):
            return self.leaf(values, name)
        if any(type(v) is not type(first) for v in values):
            raise _Apart
        if isinstance(first, tuple) and all(len(v) == len(first) for v in values):
            return tuple(self.of([v[i] for v in values], f"{name}.{i}") for i in range(len(first)))
        if isinstance(first, TensorMap):
            typed: TensorMap = self._fields([replace(v, gmem_shape=(), gmem_stride_bytes=()) for v in values], name)
            # what no type says, None where it is not known
            extents = self._told([v.gmem_shape for v in values], name)
            return replace(
                typed, gmem_shape=extents, gmem_stride_bytes=self._told([v.gmem_stride_bytes for v in values], name)
            )
        if _is_model(first):
            return self._fields(values, name)
        if not same:
            raise _Apart
        return first

    def _fields(self, values: Sequence[Any], name: str) -> Any:
        first = values[0]
        names = field_names(type(first))
        new = [self.of([getattr(v, field) for v in values], name) for field in names]
        if all(value is getattr(first, field) for field, value in zip(names, new, strict=True)):
            return first
        made = object.__new__(type(first))  # of the same type, whose checks the first has passed
        for field, value in zip(names, new, strict=True):
            object.__setattr__(made, field, value)
        return made

    def _told(self, values: Sequence[tuple[Any, ...]], name: str) -> tuple[Any, ...]:
        """What is known of the extents or strides of the tensors of several tensor maps, of one rank."""
        if any(len(v) != len(values[0]) for v in values):
            raise _Apart
        made = []
        for parts in zip(*values, strict=True):
            if not self.whole and all(p == parts[0] for p in parts):
                made.append(parts[0])
            else:
                made.append(self.leaf(parts, name) if all(isinstance(p, Dyn) for p in parts) else None)
        return tuple(made)
