"""Strides that are named after the pointers they belong to: ``params.k_ptr`` and ``params.k_row_stride``.

What a name says counts only where the other tensors of the kernel go by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from cutecheck.facts import Event, TensorFact
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr, Op, Var
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import variables_of
from cutecheck.rules.derive.vectors import leaves

_POINTER = ("ptr", "pointer")
_FEWEST = 2  # other tensors that go by their names
_BLOCK = "blockIdx."


@record(frozen=True, slots=True)
class Stride:
    """``key`` and ``role`` of its name (k, row_stride), and the block indices that it is multiplied by."""

    name: str
    key: str
    role: str
    indices: frozenset[str]


@record(frozen=True, slots=True)
class Misnamed:
    """A tensor goes by this stride; its ``own`` would be named so. ``indices``: what others multiply, and this one."""

    stride: Stride
    own: str
    like: str
    indices: tuple[str, str] | None = None


Used = dict[str, tuple[str, list[Stride]]]  # of each buffer: the key of its name, and its strides


def misnamed(tensor: TensorFact, event: Event, context: Context) -> Misnamed | None:
    """A stride of another pointer, where all other tensors of the kernel go by their own; or a block index by which one
    multiplies another stride than in all of them."""
    used = _used(event, context)
    if tensor.space != "gmem" or tensor.buffer is None or tensor.buffer not in used:
        return None
    key, _ = used[tensor.buffer]
    mine = list(_strides(tensor, {k for k, _ in used.values()}))
    others = [(k, strides) for b, (k, strides) in used.items() if b != tensor.buffer and strides]
    right = dict(others)
    if len(right) < max(_FEWEST, len(others)) or any(s.key != k for k, strides in others for s in strides):
        return None
    for stride in mine:
        same = [k for k, strides in right.items() if any(s.role == stride.role for s in strides)]
        if stride.key != key and stride.key in same and len(same) >= _FEWEST and any(s.key == key for s in mine):
            prefix = stride.name.removesuffix(_member(stride.name))
            own = _member(stride.name).replace(stride.key, key, 1)
            return Misnamed(stride, prefix + own, stride.key)
        if stride.key == key:
            theirs = {s.indices for k in same for s in right[k] if s.role == stride.role}
            found = _other_index(stride, theirs, right, len(same))
            if found is not None:
                return Misnamed(stride, stride.name, same[0], found)
    return None


def _other_index(
    stride: Stride, theirs: set[frozenset[str]], right: dict[str, list[Stride]], many: int
) -> tuple[str, str] | None:
    """All others multiply one index by strides of this role, and the one that is here by those of another role."""
    if many < _FEWEST or len(theirs) != 1 or len(stride.indices) != 1 or len(expected := next(iter(theirs))) != 1:
        return None
    (index,), (mine,) = expected, stride.indices
    elsewhere = [s for strides in right.values() for s in strides if s.indices == stride.indices]
    if mine == index or len({s.key for s in elsewhere}) < _FEWEST or len({s.role for s in elsewhere}) != 1:
        return None
    return index, mine


def _used(event: Event, context: Context) -> Used:
    memo = cast("dict[tuple[str, str], Used]", context.memo.setdefault("named strides", {}))
    where = (event.kernel or event.enclosing, event.arch)
    if where not in memo:
        tensors = [
            t for e in context.facts.events if e.kind == "copy" and (e.kernel or e.enclosing, e.arch) == where
            for t in e.operands if t.space == "gmem" and t.buffer is not None
        ]  # fmt: skip
        keys = {t.buffer: key for t in tensors if t.buffer is not None and (key := _key(t.buffer)) is not None}
        found: Used = {b: (k, []) for b, k in keys.items()}
        for t in tensors:
            if t.buffer in found:
                known = found[t.buffer][1]
                known += [s for s in _strides(t, set(keys.values())) if s not in known]
        memo[where] = found
    return memo[where]


def _member(name: str) -> str:
    return re.split(r"\.|->|::", name)[-1]


def _key(buffer: str) -> str | None:
    """What a pointer is called, without that it is one; None where its name does not say so."""
    parts = _member(buffer).split("_")
    key = "_".join(p for p in parts if p not in _POINTER)
    return key if key and len(key) < len(_member(buffer)) and "@" not in buffer else None


def _strides(tensor: TensorFact, keys: set[str]) -> Iterator[Stride]:
    root = tensor.root_layout
    numbers = [s for _, s in leaves(root.shape, root.stride) or ()] if isinstance(root, Layout) else []
    parts = [as_expr(s) for s in numbers if isinstance(s, (int, Dyn))]
    prefix = (tensor.buffer or "").removesuffix(_member(tensor.buffer or ""))
    offset = tensor.offset
    whole = as_expr(offset) if isinstance(offset, (int, Dyn)) and not isinstance(offset, ScaledBasis) else Expr(())
    names = {v.name for part in (*parts, whole) for v in part.variables()}
    for name in sorted(names):
        told = _told(_member(name), keys) if name.startswith(prefix) and "stride" in name else None
        if told is not None and name == prefix + _member(name):
            by = [v.name for factors, _ in whole.terms if _has(factors, name) for f in factors for v in variables_of(f)]
            yield Stride(name, *told, frozenset(n for n in by if n.startswith(_BLOCK)))


def _told(name: str, keys: set[str]) -> tuple[str, str] | None:
    """The key that a stride's name begins with, the longest one, and the rest of the name."""
    key = max((k for k in keys if name.startswith(k + "_")), key=len, default=None)
    return None if key is None else (key, name[len(key) + 1 :])


def _has(factors: tuple[Var | Op, ...], name: str) -> bool:
    return any(isinstance(f, Var) and f.name == name for f in factors)


__all__ = ["Misnamed", "misnamed"]
